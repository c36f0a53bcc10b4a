"""The first pass over a collection: signatures of every document, and digests where they may be needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore import _feature
from ndcore._types import Text
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.sketch.cardinality import sizes_of_rows
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketches import Sketches
from ndcore.storage.spill import SpooledArray
from ndcore.text.corpus import Corpus
from ndcore.text.digests import OF_BYTES, OF_TOKENS, byte_digests, digest_rows, raw_batch
from ndcore.text.inputs import digest, pieces
from ndcore.text.shingling import FEATURE_POLYNOMIAL

__all__ = ["Reading", "alike", "read_corpus", "sketch_corpus"]

REMEMBERED = 1 << 20  # signatures, in 8 bytes each


class Reading(NamedTuple):
    """What is kept of n documents.

    rows (n, num_perm); digests uint8 (n, 32): BLAKE2b-128 of the bytes (of a document without shingles: of what its text was
    extracted from), then of the canonical tokens, where known bool (n,) is set; lengths in bytes; valid: has shingles;
    invalid_bytes: bytes in no well-formed UTF-8 sequence, in all.
    """

    rows: NDArray[Any]
    digests: NDArray[np.uint8]
    known: NDArray[np.bool_]
    lengths: NDArray[np.int64] | None
    valid: NDArray[np.bool_]
    invalid_bytes: int


class _Remembered:
    """Signatures met lately, as far as a table of fixed size holds them: a hint, which no result depends on."""

    def __init__(self) -> None:
        self._table = np.zeros(REMEMBERED, np.uint64)

    def again(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these signatures were met before, or are repeated here."""
        keys = _keys(rows)
        slots = keys % np.uint64(REMEMBERED)
        met = self._table[slots] == keys
        self._table[slots] = keys
        again = np.ones(len(keys), np.bool_)
        first = np.unique(keys, return_index=True)[1]
        again[first] = met[first]
        return again


def _keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """A fingerprint of each signature."""
    return _feature.features(rows, rows.shape[1], 0, 1, FEATURE_POLYNOMIAL)[:, 0]


def alike(rows: NDArray[Any], among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which documents among these have the signature of another one of them; possibly, at random, one more. O(n log n)."""
    which = np.flatnonzero(among)
    _, number, count = np.unique(_keys(rows)[which], return_inverse=True, return_counts=True)
    found = np.zeros(len(rows), np.bool_)
    found[which] = count[number] > 1
    return found


def _read_piece(sketcher: MinHasher, piece: tuple[int, Sequence[Text]], remembered: _Remembered | None) -> Reading:
    first, texts = piece
    shingling = sketcher.shingling
    batch = shingling.batch(texts)
    raw = raw_batch(shingling, batch, texts)
    done = sketcher.sketch_batch(batch, first, digest if remembered is None else None)
    rows, valid = done.sink.rows, done.valid
    known = np.ones(len(texts), np.bool_) if remembered is None else ~valid | remembered.again(rows)
    which = np.flatnonzero(known)
    canonical = done.hashed if remembered is None else shingling.shingler.canonical(batch, digest, which)
    digests = np.zeros((len(texts), 32), np.uint8)
    for part, hashed in ((OF_BYTES, byte_digests(raw, texts, which, valid)), (OF_TOKENS, canonical)):
        digests[which, 16 * part : 16 * part + 16] = digest_rows(hashed)
    return Reading(rows, digests, known, raw.lengths(), valid, done.invalid_bytes)


def read_corpus(
    corpus: Corpus, sketcher: MinHasher, *, threads: int | None, memory_limit: int | None, report: Progress,
    digest_all: bool = False,
) -> Reading:
    """Sketch every document; the next batch is read while threads sketch the last.

    Digests tell apart documents of equal signatures, and those without shingles. So where single documents can be read
    again at no great cost (`Corpus`), only those are digested here that have no shingles or a signature met before; all
    where `digest_all`. By a callable unit documents of equal bytes may differ, and all are digested.
    """
    def all_pieces() -> Iterator[tuple[int, Sequence[Text]]]:
        start = 0
        for batch in corpus.batches():
            yield from ((start + first, part) for first, part in pieces(batch))
            start += len(batch)

    rows = SpooledArray(f"uint{sketcher.bits}", memory_limit)
    digests, known, lengths, valid = (SpooledArray(dtype) for dtype in (np.uint8, np.bool_, np.int64, np.bool_))
    invalid_bytes = 0
    rows.append(np.empty((0, sketcher.num_perm), rows.dtype))
    digests.append(np.empty((0, 32), np.uint8))
    later = not digest_all and getattr(corpus, "random_access", False) and not callable(sketcher.shingling.unit)
    remembered = _Remembered() if later else None
    for piece in map_pieces(lambda piece: _read_piece(sketcher, piece, remembered), all_pieces(), threads):
        rows.append(piece.rows)
        digests.append(piece.digests)
        known.append(piece.known)
        assert piece.lengths is not None  # as they are of texts
        lengths.append(piece.lengths)
        valid.append(piece.valid)
        invalid_bytes += piece.invalid_bytes
        report("sketching", len(valid), None)
    return Reading(rows.array(), digests.array(), known.array(), lengths.array(), valid.array(), invalid_bytes)


def sketch_corpus(
    corpus: Corpus, sketcher: MinHasher, *, threads: int | None = None, report: Progress
) -> tuple[Sketches, int]:
    """(sketches with digests, invalid bytes): what `near_duplicates` needs of a collection when its texts are gone."""
    read = read_corpus(corpus, sketcher, threads=threads, memory_limit=None, report=report, digest_all=True)
    sketches = Sketches(
        read.rows, sketcher.recipe, sizes=sizes_of_rows(read.rows, read.valid, sketcher.recipe), sizes_exact=~read.valid,
        valid=read.valid, digests=read.digests,
    )
    return sketches, read.invalid_bytes
