"""Pairs to clusters, and the guard against chains (DESIGN.md, section 5; Broder et al. 1997; Broder 1997, section 4.4).

Documents are the positions 0 … n - 1. ``pairs`` holds (a, b, resemblance) for the pairs that resemble each other
sufficiently, in any order; ``order`` lists every position once, first kept first (None: 0 … n - 1). Every function that
clusters returns, for each position, the position of its cluster's representative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
from typing import NamedTuple

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
    """
    return stars(*_neighbours(n, pairs, order))


def stars(order: Sequence[int], near: Sequence[Mapping[int, float]]) -> list[int]:
    """Join each document, in keep order, to the representative that it has the highest score with, or make it one.

    ``near[a]``: the documents that a may join, with the score of a with each. Scores of containment have a direction:
    a may join b although b may not join a. Of equal scores the first representative in keep order counts.
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

    Broder 1997, section 4.4, with the first member as the representative. Errors as :func:`star`.
    """
    order, near = _neighbours(n, pairs, order)
    representatives: list[int] = []
    labels = [-1] * n
    for i in order:
        labels[i] = next((representative for representative in representatives if representative in near[i]), i)
        if labels[i] == i:
            representatives.append(i)
    return labels


def components(n: int, pairs: Iterable[Pair], order: Sequence[int] | None = None) -> list[int]:
    """Find connected components by union-find; the first member in keep order represents its component.

    The final phase of Broder et al. 1997, section 4.1. Errors as :func:`star`.
    """
    order, near = _neighbours(n, pairs, order)
    sets = UnionFind(n)
    for i in order:
        for j in near[i]:
            sets.union(i, j)
    first: dict[int, int] = {}
    for i in order:
        first.setdefault(sets.find(i), i)
    return [first[sets.find(i)] for i in range(n)]


def _neighbours(n: int, pairs: Iterable[Pair], order: Sequence[int] | None) -> tuple[list[int], list[dict[int, float]]]:
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


# ---------------------------------------------------------------------------------------------- chains


class Chain(NamedTuple):
    """A component of which some members do not resemble their representative sufficiently.

    Resemblance is not transitive: version 100 of a paper may be quite different from version 1 (Broder et al. 1997, section
    2). size, apart: all members, and these members. least: the lowest resemblance of a member to the representative that is
    a number. bottleneck: the highest threshold at which the pairs still make it one component. hops: the most pairs that the
    shortest way from the representative to a member takes.
    """

    representative: int
    size: int
    apart: int
    least: float
    bottleneck: float
    hops: int


def to_representatives(labels: Sequence[int], pairs: Sequence[Pair], measure: Callable[[int, int], float]) -> list[float]:
    """Return the resemblance of every document to its representative: from the pairs, else measured; 1 to itself.

    ``labels`` come from :func:`components` of ``pairs``.
    """
    known = {frozenset((a, b)): weight for a, b, weight in pairs}
    return [
        1.0 if i == label else known[frozenset((i, label))] if frozenset((i, label)) in known else measure(i, label)
        for i, label in enumerate(labels)
    ]


def chains(labels: Sequence[int], pairs: Sequence[Pair], similar: Sequence[float], threshold: float) -> list[Chain]:
    """List the chains, by representative; ``similar`` as in :func:`to_representatives`."""
    chained = []
    for representative in sorted(set(labels)):
        members = [i for i, label in enumerate(labels) if label == representative]
        apart = [i for i in members if not similar[i] >= threshold]
        if apart:
            least = min(similar[i] for i in members if not isnan(similar[i]))
            inner = [pair for pair in pairs if labels[pair[0]] == representative]
            bottleneck, hops = _find_bottleneck(members, inner), _count_hops(representative, len(members), inner)
            chained.append(Chain(representative, len(members), len(apart), least, bottleneck, hops))
    return chained


def guarded(
    labels: Sequence[int], pairs: Sequence[Pair], similar: Sequence[float], guard: float, order: Sequence[int] | None = None
) -> list[int]:
    """Return labels in which components become stars if a member resembles its representative less than ``guard``."""
    broken = {label for i, label in enumerate(labels) if not similar[i] >= guard}
    stars = star(len(labels), [pair for pair in pairs if labels[pair[0]] in broken], order)
    return [star if label in broken else label for star, label in zip(stars, labels, strict=True)]


def _find_bottleneck(members: Sequence[int], pairs: Sequence[Pair]) -> float:
    """Find the highest resemblance such that the pairs at or above it connect the members."""
    for height in sorted({weight for _, _, weight in pairs}, reverse=True):
        sets = UnionFind(max(members) + 1)
        for a, b, weight in pairs:
            if weight >= height:
                sets.union(a, b)
        if len({sets.find(i) for i in members}) == 1:
            return height
    raise ValueError(f"no pairs connect the {len(members)} members of {members[0]}; give the components of the pairs")


def _count_hops(representative: int, size: int, pairs: Sequence[Pair]) -> int:
    """Count the rounds until every member is reached."""
    reached = {representative}
    rounds = 0
    while len(reached) < size:
        reached |= {end for a, b, _ in pairs for end in (a, b) if a in reached or b in reached}
        rounds += 1
    return rounds
