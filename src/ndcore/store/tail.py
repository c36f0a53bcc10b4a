"""What a reader knows beyond the index that the writer has on disk: the same searches, with a part in memory."""

from __future__ import annotations

import os

import numpy as np

from ndcore import _postings
from ndcore._lookup import Postings
from ndcore._postings import Recent
from ndcore._types import Ints, UInts
from ndcore.store.index import RECENT, SHARED_BITS, SINGLE_BITS, Index
from ndcore.store.levels import Bitmap

__all__ = ["TailedIndex"]

FIRST = 16  # documents for which the first table has room


class TailedIndex:
    """An index that is only read, or none, and documents in memory behind it; the methods of `Index` that a state uses."""

    def __init__(self, index: Index | None, groups: int, need: int = 1) -> None:
        self._index, self._groups = index, groups
        self._bits, self._key = SINGLE_BITS if need == 1 else SHARED_BITS, os.urandom(_postings.KEY_BYTES)
        self._tables = [Recent(groups, FIRST, self._bits, self._key)]
        self._look()

    def _look(self) -> None:
        self._view = Postings(self._groups, self._bits, self._key, (), tuple(self._tables))

    @property
    def covered(self) -> int:
        """As `Index.covered`; 0 without one."""
        return 0 if self._index is None else self._index.covered

    def add(self, documents: Ints, values: UInts, covered: int | None = None) -> None:
        """Add documents, in memory only."""
        documents, values = np.ascontiguousarray(documents, np.int64), np.ascontiguousarray(values, np.uint64)
        at = 0
        while at < len(documents):
            last = self._tables[-1]
            at = last.add(documents, values, at)
            if at < len(documents):
                if len(last) == last.capacity < RECENT:
                    self._tables[-1] = last.grown(min(4 * last.capacity, RECENT))
                else:
                    self._tables.append(Recent(self._groups, RECENT, self._bits, self._key))
                self._look()

    def search(self, values: UInts, need: int = 1, wanted: Bitmap | None = None) -> Ints:
        """Find documents as `Index.search`."""
        found = self._view.search(np.ascontiguousarray(values, np.uint64), need, wanted)
        below = [] if self._index is None else [self._index.search(values, need, wanted)]
        return np.unique(np.concatenate([found, *below]))

    def search_many(
        self, values: UInts, need: int = 1, wanted: Bitmap | None = None, threads: int | None = None
    ) -> tuple[Ints, Ints]:
        """Find documents as `Index.search_many`."""
        found = [self.search(row, need, wanted) for row in values]
        return np.cumsum([0, *map(len, found)]), np.concatenate([np.empty(0, np.int64), *found])

    def flush(self) -> None:
        """Do nothing: readers write nothing."""

    def close(self) -> None:
        """Close the index."""
        if self._index is not None:
            self._index.close()
