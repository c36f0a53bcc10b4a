"""Pairs to clusters (DESIGN.md, section 5; Broder et al. 1997, section 4.1; Broder 1997, section 4.4).

Documents are the positions 0 … n - 1.  ``pairs`` holds (a, b, resemblance) for the pairs that resemble each other
sufficiently, in any order; ``order`` lists every position once, first kept first (None: 0 … n - 1).  Every
function returns, for each position, the position of its cluster's representative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Pair = tuple[int, int, float]


class UnionFind:
    """Disjoint sets of 0 … n - 1, joined by size, paths halved."""

    def __init__(self, n: int) -> None:
        self.parent = list(range(n))
        self.size = [1] * n

    def find(self, i: int) -> int:
        """Find the root of the set of ``i``."""
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def union(self, i: int, j: int) -> bool:
        """Join the sets of ``i`` and ``j``; return True if they were different."""
        i, j = self.find(i), self.find(j)
        if i == j:
            return False
        if self.size[i] < self.size[j]:
            i, j = j, i
        self.parent[j] = i
        self.size[i] += self.size[j]
        return True


def star(n: int, pairs: Iterable[Pair], order: Sequence[int] | None = None) -> list[int]:
    """Join each document, in keep order, to the representative that it resembles most, or make it one.

    Of representatives that it resembles equally it joins the first in keep order.

    Raises
    ------
    ValueError
        If ``order`` is not a permutation of 0 … n - 1, or a pair is outside it, of a document with itself, or double.
    """
    return stars(*_prepare(n, pairs, order))


def stars(order: Sequence[int], near: Sequence[Mapping[int, float]]) -> list[int]:
    """Join each document, in keep order, to the representative that it has the highest score with, or make it one.

    ``near[a]``: the documents that a may join, with the score of a with each.  Scores of containment have a direction:
    a may join b although b may not join a.  Of equal scores the first representative in keep order counts.
    """
    representatives: list[int] = []
    labels = [-1] * len(order)
    for i in order:
        best = i
        for representative in representatives:
            score = near[i].get(representative)
            if score is not None and (best == i or score > near[i][best]):
                best = representative
        labels[i] = best
        if best == i:
            representatives.append(i)
    return labels


def greedy(n: int, pairs: Iterable[Pair], order: Sequence[int] | None = None) -> list[int]:
    """Join each document, in keep order, to the first cluster whose first member it resembles, or start one.

    Broder 1997, section 4.4, with the first member as the representative.  Errors as :func:`star`.
    """
    order, near = _prepare(n, pairs, order)
    representatives: list[int] = []
    labels = [-1] * n
    for i in order:
        labels[i] = next((representative for representative in representatives if representative in near[i]), i)
        if labels[i] == i:
            representatives.append(i)
    return labels


def components(n: int, pairs: Iterable[Pair], order: Sequence[int] | None = None) -> list[int]:
    """Find connected components by union-find; the first member in keep order represents its component.

    The final phase of Broder et al. 1997, section 4.1.  Errors as :func:`star`.
    """
    order, near = _prepare(n, pairs, order)
    sets = UnionFind(n)
    for i in order:
        for j in near[i]:
            sets.union(i, j)
    first: dict[int, int] = {}
    for i in order:
        first.setdefault(sets.find(i), i)
    return [first[sets.find(i)] for i in range(n)]


def _prepare(n: int, pairs: Iterable[Pair], order: Sequence[int] | None) -> tuple[list[int], list[dict[int, float]]]:
    """Return the order as a list, and the resemblance of every document to each of its neighbours."""
    positions = list(range(n)) if order is None else [int(i) for i in order]
    if sorted(positions) != list(range(n)):
        raise ValueError(f"order has {len(positions)} positions; give each of 0 to {n - 1} once")
    near: list[dict[int, float]] = [{} for _ in range(n)]
    for a, b, resemblance in pairs:
        if not (0 <= a < n and 0 <= b < n) or a == b:
            raise ValueError(f"pair is ({a}, {b}); give two different positions in [0, {n})")
        if b in near[a]:
            raise ValueError(f"pair ({a}, {b}) is there twice; give every pair once")
        near[a][b] = resemblance
        near[b][a] = resemblance
    return positions, near
