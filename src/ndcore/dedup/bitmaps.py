"""Bitmaps of the shingle sets of documents: they reject most pairs below a threshold at the cost of a cache line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ndcore._candidates import Bitmaps
from ndcore._types import Bools, Ints
from ndcore.dedup.shingle_sets import ShingleSets

__all__ = ["SetBitmaps"]

PAIRS = 1 << 20  # pairs that are looked at together


class SetBitmaps:
    """A row for each document with a set, and for each of `others`, in the order of `rank`.

    No pair of a document without a set is rejected, for nothing is known of it.

    Attributes
    ----------
    kernel : Bitmaps
        With one row more, which stands for all other documents.
    row : uint32 (documents,)
    documents : int64 (rows,)
    """

    def __init__(self, sets: ShingleSets, others: Ints, rank: Ints, *, contained: bool) -> None:
        wanted = np.zeros(len(rank), np.bool_)
        wanted[others] = True
        for positions, _, _ in sets.chunks():
            wanted[positions] = True
        positions = np.flatnonzero(wanted)
        self.documents = positions = positions[np.argsort(rank[positions], kind="stable")]
        self.row = np.full(len(rank), len(positions), np.uint32)
        self.row[positions] = np.arange(len(positions), dtype=np.uint32)
        sizes = np.zeros(len(positions) + 1, np.uint32)
        has_set = sets.has(positions)
        sizes[:-1][has_set] = sets.sizes(positions[has_set])
        self.kernel = Bitmaps(sizes, contained)
        for documents, values, offsets in sets.chunks():
            self.kernel.add(self.row[documents], values, offsets)

    def near(self, a: Ints, b: Ints, threshold: float) -> Bools:
        """Tell which pairs of documents may reach the threshold; all that do are among them."""
        out = np.empty(len(a), np.bool_)
        for start in range(0, len(a), PAIRS):
            part = slice(start, start + PAIRS)
            near: NDArray[np.uint8] = self.kernel.near(self.row[a[part]], self.row[b[part]], threshold)
            out[part] = near.view(np.bool_)
        return out
