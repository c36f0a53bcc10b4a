"""Families of documents: how large they are, and where their members stand in a collection."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from phrases import draw, draws

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]


def power_law(families: int, members: int, largest: int) -> tuple[Ints, Ints]:
    """(sizes, how many families of each): of 2 to `largest`, the share of those of s or more proportional to s^-a.

    a is the least for which they have no more than `members` members in all; what is missing is less than a family each of
    the sizes where one more is rounded up. O(largest).
    """
    sizes = np.arange(2, largest + 1)

    def at_least(a: float) -> Ints:
        shares = families * (2 / sizes) ** a
        counts: Ints = np.append(np.rint(shares), 0).astype(np.int64)
        return counts

    low, high = 0.0, 64.0
    for _ in range(64):
        middle = (low + high) / 2
        if at_least(middle).sum() + families > members:
            low = middle
        else:
            high = middle
    counts = -np.diff(at_least(high))
    return sizes[counts > 0], counts[counts > 0]


class Scattered:
    """A permutation of 0 ... n - 1: a Feistel network on numbers of an even number of bits, repeated until it is below n."""

    def __init__(self, n: int, key: int) -> None:
        self.n = n
        self.half = np.uint64(max(1, -(-(n - 1).bit_length() // 2)))
        self.mask = (np.uint64(1) << self.half) - np.uint64(1)
        self.keys = [np.full(1, draw(key, i), np.uint64) for i in range(4)]

    def slots(self, documents: Ints) -> Ints:
        """Where these go."""
        return self._walked(documents, self._forth)

    def documents(self, slots: Ints) -> Ints:
        """What comes from there."""
        return self._walked(slots, self._back)

    def _walked(self, numbers: Ints, step: Callable[[Keys], Keys]) -> Ints:
        if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < self.n:
            raise ValueError(f"there is no document {numbers.min()} or none {numbers.max()}; there are {self.n}")
        x = step(numbers.astype(np.uint64))
        while (outside := x >= np.uint64(self.n)).any():
            x[outside] = step(x[outside])
        return x.astype(np.int64)

    def _forth(self, x: Keys) -> Keys:
        left, right = x >> self.half, x & self.mask
        for key in self.keys:
            left, right = right, left ^ (draws(key, right) & self.mask)
        return (left << self.half) | right

    def _back(self, x: Keys) -> Keys:
        left, right = x >> self.half, x & self.mask
        for key in reversed(self.keys):
            left, right = right ^ (draws(key, left) & self.mask), left
        return (left << self.half) | right
