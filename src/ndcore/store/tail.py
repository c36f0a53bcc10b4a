"""An index in memory, made again from the log when a store is opened."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Ints, UInts

__all__ = ["TailedIndex"]


class TailedIndex:
    """Finds the documents that share values, by a dict."""

    def __init__(self) -> None:
        self._holders: dict[tuple[int, int], list[int]] = {}

    @property
    def covered(self) -> int:
        """What is on disk: nothing."""
        return 0

    def add(self, documents: Ints, values: UInts, covered: int | None = None) -> None:
        """Add documents, in memory only."""
        for document, row in zip(documents.tolist(), values.tolist(), strict=True):
            for group, value in enumerate(row):
                self._holders.setdefault((group, value), []).append(document)

    def search(self, values: UInts, need: int = 1, wanted: NDArray[np.uint8] | None = None) -> Ints:
        """Find documents as `Index.search`."""
        counts: dict[int, int] = {}
        for group, value in enumerate(values.tolist()):
            for document in set(self._holders.get((group, value), ())):
                counts[document] = counts.get(document, 0) + 1
        found = np.array([document for document, count in counts.items() if count >= need], np.int64)
        if wanted is not None and len(found):
            inside = found[found >> 3 < len(wanted)]
            found = inside[wanted[inside >> 3] >> (inside & 7).astype(np.uint8) & 1 == 1]
        return np.sort(found)

    def close(self) -> None:
        """Do nothing."""
