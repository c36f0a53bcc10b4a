"""The first pass over a collection: the signature of every document, and digests where they may be needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._feature import features
from ndcore._types import AnyArray, Bools, Ints, Text, UInts
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.sketch.cardinality import sizes_of_rows
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketches import Sketches
from ndcore.storage.spill import SpooledArray
from ndcore.text.agreement import Agreement
from ndcore.text.corpus import Corpus, corpus_pieces
from ndcore.text.digests import OF_BYTES, OF_TOKENS, byte_digests, digest_rows, raw_batch
from ndcore.text.inputs import digest
from ndcore.text.shingling import FEATURE_POLYNOMIAL

__all__ = ["Reading", "alike", "read_corpus", "sketch_corpus"]

CACHED = 1 << 20  # recent signatures, 8 bytes each


class Reading(NamedTuple):
    """The results of the first pass over n documents.

    Attributes
    ----------
    rows : uint32 or uint64 (n, num_perm)
        Signatures.
    digests : uint8 (n, 32)
        BLAKE2b-128 of the bytes (of the original, for a document without shingles), then of the canonical tokens.
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


class _RecentSignatures:
    """A fixed-size cache of recent signatures; never affects results."""

    def __init__(self) -> None:
        self._table = np.zeros(CACHED, np.uint64)

    def repeats(self, rows: AnyArray) -> Bools:
        """Tell which of these signatures are in the cache, or repeated among these; add them all."""
        keys = _keys(rows)
        slots = keys % np.uint64(CACHED)
        cached = self._table[slots] == keys
        self._table[slots] = keys
        repeats = np.ones(len(keys), np.bool_)
        first = np.unique(keys, return_index=True)[1]
        repeats[first] = cached[first]
        return repeats


def _keys(rows: AnyArray) -> UInts:
    """Compute a fingerprint of each signature."""
    return features(rows, rows.shape[1], 0, 1, FEATURE_POLYNOMIAL)[:, 0]


def alike(rows: AnyArray, among: Bools) -> Bools:
    """Tell which documents among these share their signature with another of them, by fingerprints. O(n log n)."""
    which = np.flatnonzero(among)
    _, number, count = np.unique(_keys(rows)[which], return_inverse=True, return_counts=True)
    found = np.zeros(len(rows), np.bool_)
    found[which] = count[number] > 1
    return found


def _read_piece(
    sketcher: MinHasher, recent: _RecentSignatures | None, agreement: Agreement | None, piece: tuple[int, Sequence[Text]]
) -> Reading:
    """Sketch a piece (position of the first document, texts); digest documents whose signature is recent, None: all."""
    first, texts = piece
    shingling = sketcher.shingling
    batch = shingling.batch(texts)
    raw = raw_batch(shingling, batch, texts)
    done = sketcher.sketch_batch(batch, first, digest if recent is None else None)
    rows, valid = done.sink.rows, done.valid
    known = np.ones(len(texts), np.bool_) if recent is None else ~valid | recent.repeats(rows)
    which = np.flatnonzero(known)
    canonical = done.hashed if recent is None else shingling.shingler.canonical(batch, digest, which)
    digests = np.zeros((len(texts), 32), np.uint8)
    for part, hashed in ((OF_BYTES, byte_digests(raw, texts, which, valid)), (OF_TOKENS, canonical)):
        digests[which, 16 * part : 16 * part + 16] = digest_rows(hashed)
    keys = None if agreement is None else agreement.digests(texts, first)
    return Reading(rows, digests, known, raw.lengths(), valid, done.invalid_bytes, keys)


def read_corpus(
    corpus: Corpus, sketcher: MinHasher, *, threads: int | None, memory_limit: int | None, report: Progress,
    digest_all: bool = False, agreement: Agreement | None = None,
) -> Reading:
    """Sketch every document; the next batch is read while threads sketch the last.

    Digests tell apart documents with the same signature, and documents without shingles. If single documents can be read
    again at low cost (`Corpus`), only documents without shingles or with a recent signature are digested here, otherwise
    all, as with `digest_all`. A callable unit may return different tokens for the same bytes, so all are digested.
    """
    rows = SpooledArray(f"uint{sketcher.bits}", memory_limit)
    digests, known, lengths, valid, keys = map(SpooledArray, (np.uint8, np.bool_, np.int64, np.bool_, np.uint8))
    invalid_bytes = 0
    rows.append(np.empty((0, sketcher.num_perm), rows.dtype))
    digests.append(np.empty((0, 32), np.uint8))
    keys.append(np.empty((0, 16), np.uint8))
    later = not digest_all and getattr(corpus, "random_access", False) and not callable(sketcher.shingling.unit)
    work = partial(_read_piece, sketcher, _RecentSignatures() if later else None, agreement)
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
    return Reading(rows.array(), digests.array(), known.array(), lengths.array(), valid.array(), invalid_bytes,
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
