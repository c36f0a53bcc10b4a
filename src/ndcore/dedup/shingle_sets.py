"""Exact resemblances of pairs of documents, in bounded memory for collections of any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ndcore._cluster import components
from ndcore._sets import common, distinct
from ndcore._types import Floats, Ints, Text, UInts
from ndcore.parallel import cut, map_pieces
from ndcore.progress import Progress
from ndcore.storage.spill import SpooledSets
from ndcore.text.shingling import Shingling

__all__ = ["ShingleSets"]

SETS_IN_MEMORY = 64 << 20  # bytes of shingle sets that are in memory at a time
PAIRS = 256  # pairs that a thread compares at a time


_Piece = tuple[Ints, Sequence[Text]]
_Sets = tuple[Ints, UInts, Ints]


class ShingleSets:
    """The sets of distinct shingles of some documents, to compare pairs of them exactly.

    With ``tokens=True`` shingles are compared as tuples of tokens: each distinct tuple gets a number of its own, in a
    dictionary, so that colliding fingerprints cannot forge a resemblance. Slower, and in memory.
    """

    def __init__(self, shingling: Shingling, n: int, *, tokens: bool, threads: int | None, limit: int = SETS_IN_MEMORY
                 ) -> None:
        self.shingling = shingling
        self.threads = threads
        self.limit = limit
        self._number = np.full(n, -1, np.int64)  # of a document's set
        self._count = 0
        self._sets = SpooledSets(limit)
        self._known: dict[tuple[Any, ...], int] | None = {} if tokens else None

    def read(self, documents: Iterable[_Piece], total: int, report: Progress) -> None:
        """Form the sets of these documents, given in pieces."""
        work, threads = (self._tuple_sets, 1) if self._known is not None else (self._fingerprint_sets, self.threads)
        for positions, values, offsets in map_pieces(work, documents, threads):
            self._sets.append(values, offsets)
            self._number[positions] = np.arange(self._count, self._count + len(positions))
            self._count += len(positions)
            report("reading candidates", self._count, total)

    def _fingerprint_sets(self, piece: _Piece) -> _Sets:
        """Return the positions of a piece with its sets of fingerprints (values, offsets)."""
        positions, texts = piece
        values, offsets = distinct(*self.shingling.fingerprints_many(texts, threads=1))
        return positions, values.copy(), offsets

    def _tuple_sets(self, piece: _Piece) -> _Sets:
        """Return the positions of a piece with its sets of numbered tuples (values, offsets)."""
        positions, texts = piece
        known = self._known
        assert known is not None
        sets = [{known.setdefault(shingle, len(known)) for shingle in self.shingling.shingles(text)} for text in texts]
        offsets = np.concatenate([[0], np.cumsum([len(members) for members in sets])]).astype(np.int64)
        return positions, np.array([number for members in sets for number in sorted(members)], np.uint64), offsets

    def resemblance(self, a: Ints, b: Ints, report: Progress | None = None) -> Floats:
        """Compute float64(common) / float64(union) for each pair (a[i], b[i]) of documents that have been read."""
        out = np.empty(len(a), np.float64)
        for done, which in self._batches(a, b):
            out[which] = self._of_batch(a[which], b[which])
            if report is not None:
                report("verifying", done, len(a))
        return out

    def _of_batch(self, a: Ints, b: Ints) -> Floats:
        """Compute the resemblances of pairs whose sets fit in memory together."""
        documents, ends = np.unique(np.concatenate([a, b]), return_inverse=True)
        values, offsets = self._sets.gather(self._number[documents])
        sizes = np.diff(offsets)
        x, y = ends[: len(a)].astype(np.int64), ends[len(a) :].astype(np.int64)
        parts = [slice(i, i + PAIRS) for i in range(0, len(x), PAIRS)]
        shared = np.concatenate(list(map_pieces(lambda p: common(values, offsets, x[p], y[p]), parts, self.threads)))
        exact: Floats = shared.astype(np.float64) / (sizes[x] + sizes[y] - shared).astype(np.float64)
        return exact

    def _batches(self, a: Ints, b: Ints) -> Iterator[tuple[int, Ints]]:
        """Yield (pairs done, which pairs), batches whose sets fit in memory; a component of candidates stays together."""
        if not len(a):
            return
        sizes_a, sizes_b = self._sets.sizes(self._number[a]), self._sets.sizes(self._number[b])
        roots = components(a, b, np.arange(len(self._number)))
        order = np.lexsort((b, a, roots[a]))
        weights = 8 * np.where(np.diff(a[order], prepend=-1) != 0, sizes_a[order] + sizes_b[order], sizes_b[order])
        for part in cut(weights, self.limit):
            yield part.stop, order[part]
