"""Shingles that two documents share, of all pairs of documents: brute force by products of sparse matrices.

Row i of the matrix A has a one for every shingle of document i, so entry (i, j) of A·Aᵀ counts the shingles that i and j
share. No pair is left out, and neither sketches nor a filter nor the kernels for pairs take part. O(sum of the squared
document frequencies); shingles of a single document are left out first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from joining import Sets
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ROWS = 128  # of a product at a time


class Overlaps(NamedTuple):
    """Pairs a < b in order, the shingles that both have, and the shingles that each has."""

    a: Ints
    b: Ints
    shared: Ints
    size_a: Ints
    size_b: Ints

    @property
    def resemblance(self) -> Floats:
        """|A∩B| / |A∪B|, as ndcore computes it: the quotient of two float64."""
        return self.shared.astype(np.float64) / (self.size_a + self.size_b - self.shared).astype(np.float64)

    @property
    def a_in_b(self) -> Floats:
        """Containment of a in b."""
        return self.shared.astype(np.float64) / self.size_a.astype(np.float64)

    @property
    def b_in_a(self) -> Floats:
        """Containment of b in a."""
        return self.shared.astype(np.float64) / self.size_b.astype(np.float64)

    def where(self, chosen: NDArray[np.bool_]) -> Overlaps:
        """Select pairs."""
        return Overlaps(*(column[chosen] for column in self))


def overlaps(sets: Sets, resemblance: float, containment: float | None = None) -> Overlaps:
    """Find every pair that reaches the resemblance or, if given, a containment one way or the other."""
    import scipy.sparse

    n = len(sets.sizes)
    _, number, count = np.unique(sets.values, return_inverse=True, return_counts=True)
    ones = np.ones(len(number), np.int32)
    matrix = scipy.sparse.csr_matrix((ones, number, sets.offsets), shape=(n, len(count)))[:, count > 1]
    turned = matrix.T.tocsr()
    found = []
    for first in range(0, n, ROWS):
        part = (matrix[first : first + ROWS] @ turned).tocoo()
        above = part.col > part.row + first
        a, b = part.row[above].astype(np.int64) + first, part.col[above].astype(np.int64)
        some = Overlaps(a, b, part.data[above].astype(np.int64), sets.sizes[a], sets.sizes[b])
        wanted = some.resemblance >= resemblance
        if containment is not None:
            wanted |= np.maximum(some.a_in_b, some.b_in_a) >= containment
        found.append(some.where(wanted))
    if not found:
        return Overlaps(*(np.empty(0, np.int64) for _ in Overlaps._fields))
    every = Overlaps(*(np.concatenate(columns) for columns in zip(*found, strict=True)))
    order = np.lexsort((every.b, every.a))
    return Overlaps(*(column[order] for column in every))
