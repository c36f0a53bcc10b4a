"""Read the documents of a run, then those to compare against, and find equal ones.

The first pass makes the signature of every document, or its shingle set if a rule needs the sets of all documents. Digests
are made if they may be needed: documents with equal tokens have equal signatures, and equal sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._batch import Batch
from ndcore._candidates import row_hashes
from ndcore._sets import distinct
from ndcore._types import AnyArray, Bools, Ints, Text, UInts
from ndcore.checks import check_numbered
from ndcore.pairs.keep_order import KeepOrder, Labels, Leaders, number_labels
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.recipe import Recipe
from ndcore.sketch.cardinality import sizes_of_rows
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketches import Sketches
from ndcore.storage.spill import SpooledArray, column_limit
from ndcore.text.agreement import Agreement
from ndcore.text.corpus import Corpus, as_corpus, corpus_pieces, indexed_texts
from ndcore.text.digests import (
    OF_BYTES,
    OF_TOKENS,
    byte_digests,
    digest_again,
    first_among,
    first_equal,
    original_digests,
    repeated,
)
from ndcore.text.inputs import Extracted, lengths, take
from ndcore.text.shingling import Shingling

HEAD, HEAD_BYTES = 1024, 1 << 20  # documents, or bytes of text, that are read before deciding how to read the rest


# ---- a piece of texts


class Reading(NamedTuple):
    """The results of the first pass for n documents.

    Attributes
    ----------
    hashes : uint64 (n,)
        Hashes of the signatures, or sums of the shingle sets: documents with equal tokens have equal values.
    digests : uint8 (n, 32)
        Writable. BLAKE2b-128 of the bytes (of the original, for a document without shingles), then of the canonical tokens.
    known : bool (n,)
        Whether the digests of each document are set.
    lengths : int64 (n,)
        Lengths in bytes; None for sketches.
    valid : bool (n,)
        Documents with shingles.
    invalid_bytes : int
        Number of bytes outside well-formed UTF-8 sequences, in all documents together.
    keys : uint8 (n, 16) or None
        Digests of the keys that near-duplicates must agree in.
    rows : uint32 or uint64 (n, num_perm) or None
        Signatures; None if sets were formed.
    sets : (int64, uint64, int64) or None
        For a piece: the documents that have a set, and these sets, as values and offsets.
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
"""Decides whether to form sets of further documents, given the readings of the first ones, with a set each, and whether more
follow."""


@dataclass(frozen=True)
class FirstPass:
    """The way in which the first pass reads texts.

    Attributes
    ----------
    sketcher : MinHasher
    agreement : Agreement or None
    form_sets : bool
        Form shingle sets in place of signatures.
    shared : bool
        Only the first of documents with equal bytes in a piece gets a set.
    later : bool
        Digest only documents that need no further reading: those without shingles, and equal ones of a piece.
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
            done: Any = self.sketcher.sketch_batch(batch, first, every)
            rows, valid, invalid_bytes, canonical = done.rows, done.valid, done.invalid_bytes, done.digests
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
                canonical = shingling.shingler.digests(batch, which)
            for part, made in ((OF_BYTES, byte_digests(raw, texts, which, valid)), (OF_TOKENS, canonical)):
                digests[which, 16 * part : 16 * part + 16] = made
        return Reading(hashes, digests, known, None, valid, invalid_bytes, None, rows, sets)

    def _read_repeats(self, texts: Sequence[Text], firsts: Ints) -> Reading:
        """Read the first of each group of same texts, digest those with repeats, and copy the results to the repeats."""
        own = firsts == np.arange(len(texts))
        number = (np.cumsum(own) - 1)[firsts]
        different, others = (take(texts, np.flatnonzero(which)) for which in (own, ~own))
        wanted = (np.bincount(number) > 1) | (not self.later)
        read = self._read(0, different, Batch(different), wanted)
        digests, valid, invalid_bytes = read.digests[number], read.valid[number], read.invalid_bytes
        if invalid_bytes:
            shingling = self.sketcher.shingling
            invalid_bytes += shingling.shingler.fingerprints(shingling.batch(others))[2]
        empty = np.flatnonzero(~own & ~valid)
        empty = empty[[isinstance(texts[i], Extracted) for i in empty.tolist()]]  # the bytes of their originals may differ
        digests[empty, :16] = original_digests(texts, empty)
        rows = None if read.rows is None else read.rows[number]
        sets = None if read.sets is None else (np.flatnonzero(own), *read.sets[1:])
        return Reading(read.hashes[number], digests, read.known[number], None, valid, invalid_bytes, None, rows, sets)


def _as_signatures(reading: Reading, sketcher: MinHasher) -> Reading:
    """Replace the sets of a piece, one for each document, by signatures."""
    assert reading.sets is not None
    _, values, offsets = reading.sets
    rows = sketcher.sketch_hashes(values, offsets).values
    return reading._replace(rows=rows, hashes=row_hashes(rows), sets=None)


def _read_sides(
    sides: Sequence[Corpus | Sketches], how: FirstPass, choose: Choice | None, digest_all: bool, threads: int | None
) -> Iterator[tuple[int, Reading]]:
    """Yield the readings of every side, with its number; the next batch is read while threads process the last.

    Digests tell apart documents with the same signature, and documents without shingles. If single documents can be
    read again at low cost (`Corpus`), only documents without shingles and equal documents of one piece are digested
    here, otherwise all, as with `digest_all`. A callable unit may return different tokens for the same bytes, so all are
    digested. Raises RecipeMismatch for sketches of another recipe.
    """
    sketcher = how.sketcher
    for number, side in enumerate(sides):
        if isinstance(side, Sketches):
            sketcher.recipe.check(side.recipe)
            rows, digests = np.ascontiguousarray(side.values), side.digests
            known = np.full(len(rows), digests is not None)
            digests = np.zeros((len(rows), 32), np.uint8) if digests is None else digests
            yield number, Reading(row_hashes(rows), digests, known, None, side.valid, 0, None, rows, None)
            continue
        later = not digest_all and getattr(side, "random_access", False) and not callable(sketcher.shingling.unit)
        pieces = corpus_pieces(side)
        if choose is not None:
            first, documents, size = [], 0, 0
            while documents < HEAD and size < HEAD_BYTES and (piece := next(pieces, None)) is not None:
                documents, size = documents + len(piece[1]), size + int(lengths(piece[1]).sum())
                first.append(piece)
            following = next(pieces, None)
            pieces = chain([] if following is None else [following], pieces)
            head = list(map_pieces(replace(how, shared=False, later=later), first, threads))
            if not choose(head, following is not None):
                how, head = replace(how, form_sets=False), [_as_signatures(reading, sketcher) for reading in head]
            yield from ((number, reading) for reading in head)
            choose = None
        yield from ((number, reading) for reading in map_pieces(replace(how, later=later), pieces, threads))


# ---- all documents


@dataclass(frozen=True)
class Documents:
    """The known data of documents by position: 0 … n − 1 are the documents, the others come from `against`.

    `corpora` are the texts of either side, None for sketches. Other columns are as for `Reading`; digests are set only
    where `known`, and `digest` adds more. `keys` exist if near-duplicates must agree in any. `given` are the sketches in
    place of the first side's texts.
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
        """Read the documents that have texts again: yield (positions, texts) in pieces of work for threads."""
        return indexed_texts(self.corpora, (0, self.n), wanted)

    def digest(self, wanted: Bools, *, threads: int | None, report: Progress) -> None:
        """Read the wanted documents again to set their digests."""
        digest_again(self.corpora, (0, self.n), wanted, self.shingling, self.digests, self.known, self.valid,
                     threads=threads, report=report)

    def form_sets(self, wanted: Bools, *, tokens: bool, threads: int | None, report: Progress) -> ShingleSets:
        """Read the wanted documents that have texts again, and form their shingle sets."""
        readable = wanted & self.has_text(np.arange(len(self)))
        sets = ShingleSets(self.shingling, len(self), tokens=tokens, threads=threads)
        if readable.any():
            sets.read(self.texts(wanted), int(np.count_nonzero(readable)), report)
        return sets

    def sketches(self, *, report: Progress) -> Sketches:
        """Return signatures and digests of the first side; those that the first pass did not need are made now."""
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


def as_sides(given: Sequence[Any]) -> list[Corpus | Sketches]:
    """Convert texts, and those to compare them against, to corpora; sketches stand for texts that are gone."""
    return [side if isinstance(side, Sketches) else as_corpus(side, name)
            for side, name in zip(given, ("texts", "against"), strict=False)]


def read_documents(
    sides: Sequence[Corpus | Sketches], sketcher: MinHasher, agreement: Agreement | None, *, form_sets: bool | Choice,
    shared: bool, digest_all: bool = False, threads: int | None, memory_limit: int | None, report: Progress,
) -> tuple[Documents, Ints | None, ShingleSets | None]:
    """Read the documents of both sides, concatenated; sketches stand for texts that are gone.

    Parameters
    ----------
    form_sets : bool or callable
        Form shingle sets in place of signatures; a callable decides this by the readings of the first documents.
    shared : bool
        Documents with equal bytes may share a set: no rule keeps them apart, and the first one is also the first in keep
        order.
    digest_all : bool
        Digest every document now, not only documents that may be equal.

    Returns
    -------
    Documents, the lengths of the first side's texts in bytes, and the sets that were formed

    Raises
    ------
    RecipeMismatch
        Sketches of another recipe.
    """
    choose, formed = (form_sets, False) if callable(form_sets) else (None, form_sets)
    how = FirstPass(sketcher, agreement, bool(form_sets), shared)
    readings = _read_sides(sides, how, choose, digest_all, threads)
    limit = column_limit(memory_limit)
    columns = {
        "hashes": SpooledArray(np.uint64, limit), "digests": SpooledArray(np.uint8, limit, (32,)),
        "known": SpooledArray(np.bool_), "lengths": SpooledArray(np.int64, limit), "valid": SpooledArray(np.bool_),
        "keys": SpooledArray(np.uint8, limit, (16,)),
        "rows": SpooledArray(f"uint{sketcher.bits}", memory_limit, (sketcher.num_perm,)),
    }
    sets, total = ShingleSets(sketcher.shingling, 0, tokens=False, threads=threads) if form_sets else None, 0
    sizes, invalid_bytes = [0] * len(sides), [0] * len(sides)
    for side, reading in readings:
        formed = reading.sets is not None
        if reading.sets is not None and sets is not None:
            owners, values, offsets = reading.sets
            sets.append(total + owners, values, offsets)
        for name, column in columns.items():
            if (rows := getattr(reading, name)) is not None:
                column.append(rows)
        total += len(reading.valid)
        sizes[side] += len(reading.valid)
        invalid_bytes[side] += reading.invalid_bytes
        report("sketching", total, None)
    check_numbered(total, "documents", "remove near-duplicates in parts, each --against those before it")
    n = sizes[0]
    if sets is not None:
        sets.n = total
    read = {name: column.array("r+" if name == "digests" else "r") for name, column in columns.items()}
    corpora = [None if isinstance(side, Sketches) else side for side in (*sides, None)]
    documents = Documents(
        (corpora[0], corpora[1]), n, read["hashes"], read["digests"], read["known"], read["valid"],
        None if agreement is None else read["keys"], None if formed else read["rows"], invalid_bytes[0], sketcher,
        sides[0] if isinstance(sides[0], Sketches) else None,
    )
    return documents, None if corpora[0] is None else read["lengths"][:n], sets if formed else None


def sketch_corpus(
    corpus: Corpus, sketcher: MinHasher, *, threads: int | None = None, report: Progress
) -> tuple[Sketches, int]:
    """Sketch a collection for later runs without its texts; return (sketches with digests, invalid bytes)."""
    documents = read_documents([corpus], sketcher, None, form_sets=False, shared=False, digest_all=True, threads=threads,
                               memory_limit=None, report=report)[0]
    return documents.sketches(report=report), documents.invalid_bytes


# ---- equal documents


def find_leaders(
    documents: Documents, keep: KeepOrder, by: Labels | None, one_per: Labels | None, *, threads: int | None,
    report: Progress,
) -> Leaders:
    """Find versions, then identical and lexically equivalent documents.

    by, one_per: a label for each document of the first side, or a callable that returns them; see `near_duplicates`.
    Lexically equivalent documents have equal signatures and sets, so texts are digested again only if hashes of these are
    equal.
    """
    positions, order, rank = np.arange(len(documents)), keep.order, keep.rank
    digestible = documents.valid & (documents.known | documents.has_text(positions))
    labels, versions = number_labels("by", by, documents.n), number_labels("one_per", one_per, documents.n)
    version = positions
    if versions is not None:  # documents without a label are their own version
        labelled = order[order < len(versions)]
        first = labelled[np.unique(versions[labelled], return_index=True)[1]]  # the numbers of labels have no gaps
        version = np.concatenate([first[versions], positions[len(versions) :]])
    live = version == positions
    suspects = repeated(documents.hashes, live & digestible)
    documents.digest(suspects & ~documents.known, threads=threads, report=report)
    if not callable(documents.shingling.unit):  # a callable may return other tokens for the same bytes
        live &= suspects | ~documents.valid
    known, group = np.flatnonzero(documents.known & live), labels
    alike: list[AnyArray] = [documents.valid]
    digests, valid = documents.digests[known], documents.valid[known]
    if labels is not None:
        alike.append(labels)
    if documents.keys is not None:
        identical = first_among(digests[:, :16], known, alike, rank)
        keys = first_equal(documents.keys)[identical]  # taken from the first of identical documents
        group = keys if labels is None else first_equal(np.stack([labels, keys], axis=1).view(np.uint8))
        alike.append(np.where(documents.valid, keys, 0))  # without shingles only the bytes decide
    deciding = np.where(valid[:, None], digests[:, 16:], digests[:, :16])
    return Leaders(keep, version, first_among(deciding, known, alike, rank), labels, group)
