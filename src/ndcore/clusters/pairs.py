"""Verified pairs of documents."""

from __future__ import annotations

from typing import Any, NamedTuple

from ndcore._types import Bools, Floats, Ints
from ndcore.readonly import rebuilt

__all__ = ["Pairs"]


class Pairs(NamedTuple):
    """Pairs of documents a[i] < b[i] and their resemblances, sorted by a, then b."""

    a: Ints
    b: Ints
    resemblance: Floats

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (Pairs, *self)

    def where(self, mask: Bools) -> Pairs:
        """Select the pairs of a mask."""
        return Pairs(self.a[mask], self.b[mask], self.resemblance[mask])
