"""The first pass over a collection: the signature of every document, and digests where they may be needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._batch import Batch
from ndcore._candidates import row_hashes
from ndcore._types import AnyArray, Bools, Ints, Text
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.sketch.cardinality import sizes_of_rows
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketches import Sketches
from ndcore.storage.spill import SpooledArray, column_limit
from ndcore.text.agreement import Agreement
from ndcore.text.corpus import Corpus, corpus_pieces
from ndcore.text.digests import OF_BYTES, OF_TOKENS, byte_digests, digest_rows
from ndcore.text.inputs import Extracted, digest, original_digest, take

__all__ = ["Reading", "alike", "read_corpus", "read_piece", "sketch_corpus"]


class Reading(NamedTuple):
    """The results of the first pass over n documents.

    Attributes
    ----------
    rows : uint32 or uint64 (n, num_perm)
        Signatures.
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
    """

    rows: AnyArray
    digests: NDArray[np.uint8]
    known: Bools
    lengths: Ints | None
    valid: Bools
    invalid_bytes: int
    keys: NDArray[np.uint8] | None


def alike(rows: AnyArray, among: Bools) -> Bools:
    """Tell which documents among these share their signature with another of them, by hashes. O(n log n)."""
    which = np.flatnonzero(among)
    hashes = row_hashes(rows)[which]
    order = hashes.argsort()
    hashes = hashes[order]
    follows = hashes[1:] == hashes[:-1]
    found = np.zeros(len(rows), np.bool_)
    found[which[order[1:][follows]]] = found[which[order[:-1][follows]]] = True
    return found


def read_piece(
    sketcher: MinHasher, later: bool, agreement: Agreement | None, piece: tuple[int, Sequence[Text]]
) -> Reading:
    """Sketch and digest a piece (position of the first document, texts); `later`: digest only what costs no more reading.

    Texts with the same bytes are sketched once, and digested, unless the unit is a callable: it may return other tokens.
    """
    first, texts = piece
    shingling = sketcher.shingling
    raw = Batch(texts)
    firsts = None if callable(shingling.unit) or shingling.short == "error" else raw.firsts()
    if firsts is None:
        reading = _read_texts(sketcher, first, texts, raw, np.full(len(texts), not later))
    else:
        reading = _read_repeats(sketcher, texts, firsts, later)
    keys = None if agreement is None else agreement.digests(texts, first)
    return reading._replace(lengths=raw.lengths(), keys=keys)


def _read_texts(sketcher: MinHasher, first: int, texts: Sequence[Text], raw: Batch, wanted: Bools) -> Reading:
    """Sketch texts, and digest the wanted ones and those without shingles; `raw` holds their bytes."""
    shingling = sketcher.shingling
    batch = raw if shingling.reads_bytes else shingling.batch(texts)
    every = bool(wanted.all())
    done: Any = sketcher.sketch_batch(batch, first, digest if every else None)
    rows, valid = done.rows, done.valid
    known = wanted | ~valid
    digests = np.zeros((len(texts), 32), np.uint8)
    which = np.flatnonzero(known)
    if len(which):
        canonical = done.hashed if every else shingling.shingler.canonical(batch, digest, which)
        for part, hashed in ((OF_BYTES, byte_digests(raw, texts, which, valid)), (OF_TOKENS, canonical)):
            digests[which, 16 * part : 16 * part + 16] = digest_rows(hashed)
    return Reading(rows, digests, known, None, valid, done.invalid_bytes, None)


def _read_repeats(sketcher: MinHasher, texts: Sequence[Text], firsts: Ints, later: bool) -> Reading:
    """Sketch the texts that are their own first, digest those that others repeat, and give each text what its first has."""
    own = firsts == np.arange(len(texts))
    number = (np.cumsum(own) - 1)[firsts]
    different, others = (take(texts, np.flatnonzero(which)) for which in (own, ~own))
    wanted = (np.bincount(number) > 1) | (not later)
    rows, digests, known, _, valid, invalid_bytes, _ = _read_texts(sketcher, 0, different, Batch(different), wanted)
    rows, digests, known, valid = rows[number], digests[number], known[number], valid[number]
    if invalid_bytes:
        invalid_bytes += sketcher.shingling.shingler.fingerprints(sketcher.shingling.batch(others))[2]
    for i in np.flatnonzero(~own & ~valid).tolist():
        if isinstance(text := texts[i], Extracted):  # the bytes of its original may be others
            digests[i, :16] = np.frombuffer(original_digest(text), np.uint8)
    return Reading(rows, digests, known, None, valid, invalid_bytes, None)


def read_corpus(
    corpus: Corpus, sketcher: MinHasher, *, threads: int | None, memory_limit: int | None, report: Progress,
    digest_all: bool = False, agreement: Agreement | None = None,
) -> Reading:
    """Sketch every document; the next batch is read while threads sketch the last.

    Digests tell apart documents with the same signature, and documents without shingles. If single documents can be read
    again at low cost (`Corpus`), only documents without shingles and equal documents of one piece are digested here,
    otherwise all, as with `digest_all`. A callable unit may return different tokens for the same bytes, so all are digested.
    """
    rows, limit = SpooledArray(f"uint{sketcher.bits}", memory_limit, (sketcher.num_perm,)), column_limit(memory_limit)
    digests, keys = SpooledArray(np.uint8, limit, (32,)), SpooledArray(np.uint8, limit, (16,))
    known, lengths, valid = SpooledArray(np.bool_), SpooledArray(np.int64, limit), SpooledArray(np.bool_)
    invalid_bytes = 0
    later = not digest_all and getattr(corpus, "random_access", False) and not callable(sketcher.shingling.unit)
    work = partial(read_piece, sketcher, later, agreement)
    for piece in map_pieces(work, corpus_pieces(corpus), threads):
        rows.append(piece.rows)
        digests.append(piece.digests)
        known.append(piece.known)
        assert piece.lengths is not None  # as they are of texts
        lengths.append(piece.lengths)
        valid.append(piece.valid)
        invalid_bytes += piece.invalid_bytes
        if piece.keys is not None:
            keys.append(piece.keys)
        report("sketching", len(valid), None)
    return Reading(rows.array(), digests.array("r+"), known.array(), lengths.array(), valid.array(), invalid_bytes,
                   None if agreement is None else keys.array())


def sketch_corpus(
    corpus: Corpus, sketcher: MinHasher, *, threads: int | None = None, report: Progress
) -> tuple[Sketches, int]:
    """Sketch a collection for later runs without its texts; return (sketches with digests, invalid bytes)."""
    read = read_corpus(corpus, sketcher, threads=threads, memory_limit=None, report=report, digest_all=True)
    sketches = Sketches(
        read.rows, sketcher.recipe, sizes=sizes_of_rows(read.rows, read.valid, sketcher.recipe), sizes_exact=~read.valid,
        valid=read.valid, digests=read.digests,
    )
    return sketches, read.invalid_bytes
