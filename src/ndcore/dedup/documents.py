"""The documents of a run, then those to compare against: what the first pass finds out about each, and which are equal.

The first pass makes the signature of every document, or, where a rule needs the shingle sets of all documents, these sets.
Digests are made where they may be needed: documents with equal tokens have equal signatures, and equal sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._batch import Batch
from ndcore._candidates import row_hashes
from ndcore._sets import distinct
from ndcore._types import AnyArray, Bools, Ints, Text, UInts
from ndcore.checks import check_numbered
from ndcore.pairs.representatives import KeepOrder
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.recipe import Recipe
from ndcore.sketch.cardinality import sizes_of_rows
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketches import Sketches
from ndcore.storage.spill import SpooledArray, column_limit
from ndcore.text.agreement import Agreement
from ndcore.text.corpus import Corpus, corpus_pieces, indexed_texts
from ndcore.text.digests import OF_BYTES, OF_TOKENS, byte_digests, digest_rows, first_equal, read_digests, repeated
from ndcore.text.inputs import Extracted, digest, lengths, original_digest, take
from ndcore.text.shingling import Shingling

__all__ = [
    "Choice", "Columns", "Documents", "FirstPass", "Leaders", "Reading", "find_leaders", "read_documents", "sketch_corpus",
]

HEAD, HEAD_BYTES = 1024, 1 << 20  # documents, or bytes of text, that are read before it is decided how to read the rest


# ---- a piece of texts


class Reading(NamedTuple):
    """What the first pass found out about n documents.

    Attributes
    ----------
    hashes : uint64 (n,)
        Of the signatures, or sums of the shingle sets: documents with equal tokens have equal ones.
    digests : uint8 (n, 32)
        Writable. BLAKE2b-128 of the bytes (of the original, for a document without shingles), then of the canonical tokens.
    known : bool (n,)
        Documents whose digests are set.
    lengths : int64 (n,)
        In bytes; None for sketches.
    valid : bool (n,)
        Documents with shingles.
    invalid_bytes : int
        Bytes outside well-formed UTF-8 sequences, of all documents together.
    keys : uint8 (n, 16) or None
        Digests of the keys that near-duplicates must agree in.
    rows : uint32 or uint64 (n, num_perm) or None
        Signatures; None where sets were formed.
    sets : (int64, uint64, int64) or None
        Of a piece: the documents that have a set, and these sets, as values and offsets.
    """

    hashes: UInts
    digests: NDArray[np.uint8]
    known: Bools
    lengths: Ints | None
    valid: Bools
    invalid_bytes: int
    keys: NDArray[np.uint8] | None
    rows: AnyArray | None
    sets: tuple[Ints, UInts, Ints] | None


Choice = Callable[[list[Reading], bool], bool]
"""Of the readings of the first documents, with a set each, and whether more follow: whether to form sets of these too."""


@dataclass(frozen=True)
class FirstPass:
    """How the first pass reads texts.

    Attributes
    ----------
    sketcher : MinHasher
    agreement : Agreement or None
    form_sets : bool
        Form shingle sets in place of signatures.
    shared : bool
        Of documents with equal bytes in a piece, the first one alone gets a set.
    later : bool
        Digest only what costs no more reading: documents without shingles, and equal ones of a piece.
    """

    sketcher: MinHasher
    agreement: Agreement | None = None
    form_sets: bool = False
    shared: bool = False
    later: bool = False

    def __call__(self, piece: tuple[int, Sequence[Text]]) -> Reading:
        """Read a piece: the position of its first document, and its texts.

        Texts with the same bytes are sketched once, and digested, unless the unit is a callable: it may return other tokens.
        """
        first, texts = piece
        shingling = self.sketcher.shingling
        raw = Batch(texts)
        firsts = None
        if not callable(shingling.unit) and shingling.short != "error" and (self.shared or not self.form_sets):
            firsts = raw.firsts()
        if firsts is None:
            reading = self._read(first, texts, raw, np.full(len(texts), not self.later))
        else:
            reading = self._read_repeats(texts, firsts)
        keys = None if self.agreement is None else self.agreement.digests(texts, first)
        return reading._replace(lengths=raw.lengths(), keys=keys)

    def _read(self, first: int, texts: Sequence[Text], raw: Batch, wanted: Bools) -> Reading:
        """Read texts, and digest the wanted ones and those without shingles; `raw` holds their bytes."""
        shingling = self.sketcher.shingling
        batch = raw if shingling.reads_bytes else shingling.batch(texts)
        rows = sets = canonical = None
        if not self.form_sets:
            every = bool(wanted.all())
            done: Any = self.sketcher.sketch_batch(batch, first, digest if every else None)
            rows, valid, invalid_bytes, canonical = done.rows, done.valid, done.invalid_bytes, done.hashed if every else None
            hashes = row_hashes(rows)
        else:
            bags, bounds, invalid_bytes = shingling.shingler.fingerprints(batch, first)
            values, offsets = distinct(bags, bounds)
            ends = np.zeros(len(values) + 1, np.uint64)
            values.cumsum(out=ends[1:])
            hashes, valid = np.diff(ends[offsets]), np.diff(offsets) > 0
            sets = np.arange(len(texts)), values.copy(), offsets
        known = wanted | ~valid
        digests = np.zeros((len(texts), 32), np.uint8)
        which = np.flatnonzero(known)
        if len(which):
            if canonical is None:
                canonical = shingling.shingler.canonical(batch, digest, which)
            for part, hashed in ((OF_BYTES, byte_digests(raw, texts, which, valid)), (OF_TOKENS, canonical)):
                digests[which, 16 * part : 16 * part + 16] = digest_rows(hashed)
        return Reading(hashes, digests, known, None, valid, invalid_bytes, None, rows, sets)

    def _read_repeats(self, texts: Sequence[Text], firsts: Ints) -> Reading:
        """Read the texts that are their own first, digest those that others repeat, and give each what its first has."""
        own = firsts == np.arange(len(texts))
        number = (np.cumsum(own) - 1)[firsts]
        different, others = (take(texts, np.flatnonzero(which)) for which in (own, ~own))
        wanted = (np.bincount(number) > 1) | (not self.later)
        read = self._read(0, different, Batch(different), wanted)
        digests, valid, invalid_bytes = read.digests[number], read.valid[number], read.invalid_bytes
        if invalid_bytes:
            shingling = self.sketcher.shingling
            invalid_bytes += shingling.shingler.fingerprints(shingling.batch(others))[2]
        for i in np.flatnonzero(~own & ~valid).tolist():
            if isinstance(text := texts[i], Extracted):  # the bytes of its original may be others
                digests[i, :16] = np.frombuffer(original_digest(text), np.uint8)
        rows = None if read.rows is None else read.rows[number]
        sets = None if read.sets is None else (np.flatnonzero(own), *read.sets[1:])
        return Reading(read.hashes[number], digests, read.known[number], None, valid, invalid_bytes, None, rows, sets)


def _head(pieces: Iterator[tuple[int, Sequence[Text]]]) -> Iterator[tuple[int, Sequence[Text]]]:
    """Take the first pieces, of at least HEAD documents or HEAD_BYTES."""
    documents = size = 0
    while documents < HEAD and size < HEAD_BYTES and (piece := next(pieces, None)) is not None:
        documents, size = documents + len(piece[1]), size + int(lengths(piece[1]).sum())
        yield piece


def _as_signatures(reading: Reading, sketcher: MinHasher) -> Reading:
    """Replace the sets of a piece, one for each document, by signatures."""
    assert reading.sets is not None
    _, values, offsets = reading.sets
    rows = sketcher.sketch_hashes(values, offsets).values
    return reading._replace(rows=rows, hashes=row_hashes(rows), sets=None)


class Columns:
    """The readings of documents, end to end; shingle sets are added to `sets`."""

    def __init__(self, how: FirstPass, sets: ShingleSets | None, memory_limit: int | None) -> None:
        limit = column_limit(memory_limit)
        self.how, self.sets = how, sets
        self.rows = SpooledArray(f"uint{how.sketcher.bits}", memory_limit, (how.sketcher.num_perm,))
        self.digests, self.keys = SpooledArray(np.uint8, limit, (32,)), SpooledArray(np.uint8, limit, (16,))
        self.hashes, self.lengths = SpooledArray(np.uint64, limit), SpooledArray(np.int64, limit)
        self.known, self.valid = SpooledArray(np.bool_), SpooledArray(np.bool_)
        self.invalid_bytes = 0

    def __len__(self) -> int:
        return len(self.valid)

    def read(
        self, corpus: Corpus, *, threads: int | None, report: Progress, digest_all: bool = False,
        choose: Choice | None = None,
    ) -> None:
        """Read every document of a corpus; the next batch is read while threads work on the last.

        Digests tell apart documents with the same signature, and documents without shingles. If single documents can be
        read again at low cost (`Corpus`), only documents without shingles and equal documents of one piece are digested
        here, otherwise all, as with `digest_all`. A callable unit may return different tokens for the same bytes, so all are
        digested.

        choose: tells of the readings of the first documents, with a set each, whether to form sets of the rest, or
        signatures.
        """
        later = not digest_all and getattr(corpus, "random_access", False) and not callable(self.how.sketcher.shingling.unit)
        how = replace(self.how, later=later)
        pieces = corpus_pieces(corpus)
        if choose is not None:
            first = list(_head(pieces))
            following = next(pieces, None)
            pieces = chain([] if following is None else [following], pieces)
            head = list(map_pieces(replace(how, shared=False), first, threads))
            if not choose(head, following is not None):
                self.how, self.sets, how = replace(self.how, form_sets=False), None, replace(how, form_sets=False)
                head = [_as_signatures(reading, how.sketcher) for reading in head]
            for reading in head:
                self.append(reading)
        for reading in map_pieces(how, pieces, threads):
            self.append(reading)
            report("sketching", len(self), None)

    def take(self, sketches: Sketches) -> None:
        """Append what sketches say about their documents; RecipeMismatch where they are of another recipe."""
        self.how.sketcher.recipe.check(sketches.recipe)
        rows, digests = np.ascontiguousarray(sketches.values), sketches.digests
        known = np.full(len(rows), digests is not None)
        digests = np.zeros((len(rows), 32), np.uint8) if digests is None else digests
        self.append(Reading(row_hashes(rows), digests, known, None, sketches.valid, 0, None, rows, None))

    def append(self, reading: Reading) -> None:
        """Append the reading of the next piece."""
        if reading.sets is not None and self.sets is not None:
            owners, values, offsets = reading.sets
            self.sets.append(self.sets.n + owners, values, offsets)
            self.sets.n += len(reading.valid)
        for column, part in ((self.rows, reading.rows), (self.hashes, reading.hashes), (self.digests, reading.digests),
                             (self.known, reading.known), (self.lengths, reading.lengths), (self.valid, reading.valid),
                             (self.keys, reading.keys)):
            if part is not None:
                column.append(part)
        self.invalid_bytes += reading.invalid_bytes

    def reading(self) -> Reading:
        """Return the columns."""
        return Reading(
            self.hashes.array(), self.digests.array("r+"), self.known.array(), self.lengths.array(), self.valid.array(),
            self.invalid_bytes, None if self.how.agreement is None else self.keys.array(),
            None if self.how.form_sets else self.rows.array(), None,
        )


def sketch_corpus(
    corpus: Corpus, sketcher: MinHasher, *, threads: int | None = None, report: Progress
) -> tuple[Sketches, int]:
    """Sketch a collection for later runs without its texts; return (sketches with digests, invalid bytes)."""
    columns = Columns(FirstPass(sketcher), None, None)
    columns.read(corpus, threads=threads, report=report, digest_all=True)
    read = columns.reading()
    assert read.rows is not None
    sketches = Sketches(
        read.rows, sketcher.recipe, sizes=sizes_of_rows(read.rows, read.valid, sketcher.recipe), sizes_exact=~read.valid,
        valid=read.valid, digests=read.digests,
    )
    return sketches, read.invalid_bytes


# ---- all documents


@dataclass(frozen=True)
class Documents:
    """What is known of documents by position: 0 … n − 1 are the documents, the others come from `against`.

    `corpora` are the texts of either side, None for sketches. Other columns are as in `Reading`; digests are set only where
    `known`, and `digest` adds more. `keys` are there if near-duplicates must agree in any. `given` are the sketches that
    stand for the first side.
    """

    corpora: tuple[Corpus | None, Corpus | None]
    n: int
    hashes: UInts
    digests: NDArray[np.uint8]
    known: Bools
    valid: Bools
    keys: NDArray[np.uint8] | None
    rows: AnyArray | None
    invalid_bytes: int
    sketcher: MinHasher
    given: Sketches | None

    def __len__(self) -> int:
        return len(self.valid)

    @property
    def recipe(self) -> Recipe:
        """Recipe of the signatures; made at the first access."""
        return self.sketcher.recipe

    @property
    def shingling(self) -> Shingling:
        """The shingling of the signatures."""
        return self.sketcher.shingling

    def has_text(self, positions: Ints) -> Bools:
        """Tell which of these documents can be read again."""
        new, old = (corpus is not None for corpus in self.corpora)
        return np.where(positions < self.n, new, old)

    def texts(self, wanted: Bools) -> Iterator[tuple[Ints, Sequence[Text]]]:
        """Read documents again: yield (positions, texts) in pieces of work for threads."""
        return indexed_texts(self.corpora, (0, self.n), wanted)

    def digest(self, wanted: Bools, *, threads: int | None, report: Progress) -> None:
        """Read documents again to fill in their digests; of documents with the same bytes, tokens are digested once."""
        which = np.flatnonzero(wanted)
        if not len(which):
            return
        read = partial(read_digests, self.corpora, (0, self.n), shingling=self.shingling, digests=self.digests,
                       valid=self.valid, threads=threads, report=report)
        read(wanted=wanted, parts=(OF_BYTES,))
        firsts, own = which, np.ones(len(which), np.bool_)
        if not callable(self.shingling.unit):  # which may return other tokens
            firsts = which[first_equal(self.digests[which, :16], [np.where(self.valid[which], -1, which)])]
            own = firsts == which
        tokens = np.zeros(len(self), np.bool_)
        tokens[which[own]] = True
        read(wanted=tokens, parts=(OF_TOKENS,))
        self.digests[which, 16:] = self.digests[firsts, 16:]
        self.known[which] = True

    def sketches(self, *, report: Progress) -> Sketches:
        """Return signatures and digests of the first side, made now as far as the first pass needed none."""
        if self.given is not None:
            return self.given
        first, n = self.corpora[0], self.n
        assert first is not None
        if self.rows is None:
            return sketch_corpus(first, self.sketcher, report=report)[0]
        self.digest(~self.known & (np.arange(len(self)) < n), threads=None, report=report)
        rows, valid = self.rows[:n], self.valid[:n]
        return Sketches(rows, self.recipe, sizes=sizes_of_rows(rows, valid, self.recipe), sizes_exact=~valid, valid=valid,
                        digests=self.digests[:n])


def read_documents(
    sides: Sequence[Corpus | Sketches], sketcher: MinHasher, agreement: Agreement | None, *, form_sets: bool | Choice,
    shared: bool, threads: int | None, memory_limit: int | None, report: Progress,
) -> tuple[Documents, Ints | None, ShingleSets | None]:
    """Read the documents of both sides, end to end; sketches stand for texts that are gone.

    Parameters
    ----------
    form_sets : bool or callable
        Form shingle sets in place of signatures; a callable decides it by the readings of the first documents.
    shared : bool
        Documents with equal bytes may share a set: no rule keeps them apart, and the first in order is the first to keep.

    Returns
    -------
    Documents, the lengths of the first side's texts in bytes, and the sets that were formed

    Raises
    ------
    RecipeMismatch
        Sketches of another recipe.
    """
    sets = ShingleSets(sketcher.shingling, 0, tokens=False, threads=threads) if form_sets else None
    columns = Columns(FirstPass(sketcher, agreement, bool(form_sets), shared), sets, memory_limit)
    choose = form_sets if callable(form_sets) else None
    ends, invalid_bytes = list[int](), list[int]()
    for side in sides:
        if isinstance(side, Sketches):
            columns.take(side)
        else:
            columns.read(side, threads=threads, report=report, choose=None if ends else choose)
        ends.append(len(columns))
        invalid_bytes.append(columns.invalid_bytes)
    check_numbered(len(columns), "documents", "remove near-duplicates in parts, each --against those before it")
    read, corpora = columns.reading(), [None if isinstance(side, Sketches) else side for side in (*sides, None)]
    documents = Documents(
        (corpora[0], corpora[1]), ends[0], read.hashes, read.digests, read.known, read.valid, read.keys, read.rows,
        invalid_bytes[0], sketcher, sides[0] if isinstance(sides[0], Sketches) else None,
    )
    return documents, None if read.lengths is None or corpora[0] is None else read.lengths[: ends[0]], columns.sets


# ---- equal documents


@dataclass(frozen=True)
class Leaders:
    """The keep order, and the document that each one is collapsed to.

    Attributes
    ----------
    keep : KeepOrder
        The documents of `against` come first, and are never dropped.
    version : int64 (documents,)
        The first document in keep order with the same label of ``one_per``. Only documents that are their own version
        are compared with others.
    leader : int64 (documents,)
        The first of the compared documents that is identical or lexically equivalent.
    by : int64 (documents,) or None
        The label of ``by`` of each, as a number.
    group : int64 (documents,) or None
        The same for ``by`` and ``must_agree`` together: only documents of one group are compared.
    """

    keep: KeepOrder
    version: Ints
    leader: Ints
    by: Ints | None
    group: Ints | None

    @property
    def compared(self) -> Bools:
        """bool (documents,): their own version and their own leader."""
        own = np.arange(len(self.version))
        compared: Bools = (self.version == own) & (self.leader == own)
        return compared


def find_leaders(
    documents: Documents, keep: KeepOrder, by: Ints | None, one_per: Ints | None, *, threads: int | None, report: Progress
) -> Leaders:
    """Find versions, then identical and lexically equivalent documents.

    Lexically equivalent documents have equal signatures and sets, so digests are read again only where hashes of these are.
    """
    positions = np.arange(len(documents))
    version = _find_versions(one_per, keep.order)
    live = version == positions
    digestible = live & documents.valid & (documents.known | documents.has_text(positions))
    suspects = repeated(documents.hashes, digestible)
    documents.digest(suspects & ~documents.known, threads=threads, report=report)
    if not callable(documents.shingling.unit):  # which may return other tokens for the same bytes
        live &= suspects | ~documents.valid
    known = np.flatnonzero(documents.known & live)
    valid, digests = documents.valid[known], documents.digests[known]
    keys, group = None, by
    if documents.keys is not None:
        identical = _first_of_class(digests[:, :16], [documents.valid, by], known, keep.rank)
        keys = _number_rows(documents.keys)[identical]  # of the first of identical documents
        group = keys if by is None else _number_rows(np.stack([by, keys], axis=1).view(np.uint8))
        keys = np.where(documents.valid, keys, 0)  # without shingles the bytes alone decide
    deciding = np.where(valid[:, None], digests[:, 16:], digests[:, :16])
    leader = _first_of_class(deciding, [documents.valid, by, keys], known, keep.rank)
    return Leaders(keep, version, leader, by, group)


def _find_versions(codes: Ints | None, order: Ints) -> Ints:
    """Find the first document in keep order with the code of each; documents without a code are their own version."""
    version = np.arange(len(order))
    if codes is not None:
        coded = order[order < len(codes)]
        found, first = np.unique(codes[coded], return_index=True)
        version[: len(codes)] = coded[first][np.searchsorted(found, codes)]
    return version


def _number_rows(rows: AnyArray) -> Ints:
    """Number the rows of bytes, equal rows alike."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1])))[:, 0]
    return np.unique(whole, return_inverse=True)[1].astype(np.int64)


def _first_of_class(digests: AnyArray, others: Sequence[AnyArray | None], known: Ints, rank: Ints) -> Ints:
    """Find the first document by rank with the same digest and the same of each of the other columns.

    digests : uint8 (known, 16), of the documents `known`; all others stay alone.
    """
    leader = np.arange(len(rank))
    leader[known] = known[first_equal(digests, [column[known] for column in others if column is not None], rank[known])]
    return leader
