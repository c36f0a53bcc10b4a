"""Chains in connected components, and the guard against them (DESIGN.md, section 5).

Resemblance is not transitive: version 100 of a paper may be quite different from version 1 (Broder et al. 1997, section 2).
``labels`` come from :func:`clustering.components` of ``pairs``, (a, b, resemblance) of the pairs that resemble each other
sufficiently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import NamedTuple

from . import clustering
from .clustering import Pair


class Chain(NamedTuple):
    """A component of which some members do not resemble their representative sufficiently.

    size, apart: all members, and these members.  least: the lowest resemblance of a member to the representative that is a
    number.  bottleneck: the highest threshold at which the pairs still make it one component.  hops: the most pairs that
    the shortest way from the representative to a member takes.
    """

    representative: int
    size: int
    apart: int
    least: float
    bottleneck: float
    hops: int


def to_representatives(
    labels: Sequence[int], pairs: Sequence[Pair], measure: Callable[[int, int], float]
) -> list[float]:
    """Return the resemblance of every document to its representative: from the pairs, else measured; 1 to itself."""
    known = {frozenset((a, b)): weight for a, b, weight in pairs}
    return [
        1.0 if i == label else known[frozenset((i, label))] if frozenset((i, label)) in known else measure(i, label)
        for i, label in enumerate(labels)
    ]


def chains(labels: Sequence[int], pairs: Sequence[Pair], similar: Sequence[float], threshold: float) -> list[Chain]:
    """List the chains, by representative; ``similar`` as in :func:`to_representatives`."""
    found = []
    for representative in sorted(set(labels)):
        members = [i for i, label in enumerate(labels) if label == representative]
        apart = [i for i in members if not similar[i] >= threshold]
        if apart:
            least = min(similar[i] for i in members if not isnan(similar[i]))
            inner = [pair for pair in pairs if labels[pair[0]] == representative]
            found.append(Chain(
                representative, len(members), len(apart), least, _bottleneck(members, inner),
                _hops(representative, len(members), inner),
            ))
    return found


def guarded(
    labels: Sequence[int],
    pairs: Sequence[Pair],
    similar: Sequence[float],
    guard: float,
    order: Sequence[int] | None = None,
) -> list[int]:
    """Return labels in which components become stars if a member resembles its representative less than ``guard``."""
    broken = {label for i, label in enumerate(labels) if not similar[i] >= guard}
    stars = clustering.star(len(labels), [pair for pair in pairs if labels[pair[0]] in broken], order)
    return [star if label in broken else label for star, label in zip(stars, labels, strict=True)]


def _bottleneck(members: Sequence[int], pairs: Sequence[Pair]) -> float:
    """Find the highest resemblance such that the pairs at or above it connect the members."""
    for height in sorted({weight for _, _, weight in pairs}, reverse=True):
        sets = clustering.UnionFind(max(members) + 1)
        for a, b, weight in pairs:
            if weight >= height:
                sets.union(a, b)
        if len({sets.find(i) for i in members}) == 1:
            return height
    raise ValueError(f"no pairs connect the {len(members)} members of {members[0]}; give the components of the pairs")


def _hops(representative: int, size: int, pairs: Sequence[Pair]) -> int:
    """Count the rounds until every member is reached."""
    reached = {representative}
    rounds = 0
    while len(reached) < size:
        reached |= {end for a, b, _ in pairs for end in (a, b) if a in reached or b in reached}
        rounds += 1
    return rounds
