"""Verified pairs of documents."""

from __future__ import annotations

from typing import NamedTuple

from ndcore._types import Bools, Floats, Ints
from ndcore.readonly import NamedColumns

__all__ = ["Pairs"]


class _Pairs(NamedTuple):
    a: Ints
    b: Ints
    resemblance: Floats


class Pairs(NamedColumns, _Pairs):  # type: ignore[misc]
    """Pairs of documents a[i] < b[i] and their resemblances, sorted by a, then b."""

    __slots__ = ()

    def where(self, mask: Bools) -> Pairs:
        """Select the pairs of a mask."""
        return Pairs(self.a[mask], self.b[mask], self.resemblance[mask])
