"""Verified pairs of documents."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore.readonly import rebuilt

__all__ = ["Pairs"]


class Pairs(NamedTuple):
    """Pairs of documents a[i] < b[i] and their resemblances, sorted by a, then b."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    resemblance: NDArray[np.float64]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (Pairs, *self)

    def where(self, mask: NDArray[np.bool_]) -> Pairs:
        """Select the pairs of a mask."""
        return Pairs(self.a[mask], self.b[mask], self.resemblance[mask])
