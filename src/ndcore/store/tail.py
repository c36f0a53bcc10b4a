"""What a reader knows beyond the index that the writer has on disk: the same searches, with a part in memory."""

from __future__ import annotations

import numpy as np

from ndcore._types import Ints, UInts
from ndcore.store.index import Index
from ndcore.store.levels import Bitmap

__all__ = ["TailedIndex"]


class TailedIndex:
    """An index that is only read, or none, and documents in memory behind it; the methods of `Index` that a state uses."""

    def __init__(self, index: Index | None) -> None:
        self._index = index
        self._holders: dict[tuple[int, int], list[int]] = {}

    @property
    def covered(self) -> int:
        """As `Index.covered`; 0 without one."""
        return 0 if self._index is None else self._index.covered

    def add(self, documents: Ints, values: UInts, covered: int | None = None) -> None:
        """Add documents, in memory only."""
        for document, row in zip(documents.tolist(), values.tolist(), strict=True):
            for group, value in enumerate(row):
                self._holders.setdefault((group, value), []).append(document)

    def search(self, values: UInts, need: int = 1, wanted: Bitmap | None = None) -> Ints:
        """Find documents as `Index.search`."""
        counts: dict[int, int] = {}
        for group, value in enumerate(values.tolist()):
            for document in set(self._holders.get((group, value), ())):
                counts[document] = counts.get(document, 0) + 1
        found = np.array([document for document, count in counts.items() if count >= need], np.int64)
        if wanted is not None and len(found):
            inside = found[found >> 3 < len(wanted)]
            found = inside[wanted[inside >> 3] >> (inside & 7).astype(np.uint8) & 1 == 1]
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
