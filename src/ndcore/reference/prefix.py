"""The complete filter in plain Python, from its definition (DESIGN.md, section 5, "The complete filter")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations

Pairs = set[tuple[int, int]]
Score = Callable[[AbstractSet[int], AbstractSet[int]], float]


def least_common(n: int, threshold: float) -> int:
    """Return the least c with float64(c) / float64(n) >= threshold; 0 for n = 0."""
    return next((c for c in range(1, n + 1) if float(c) / float(n) >= threshold), 0)


def holders(sets: Iterable[AbstractSet[int]]) -> dict[int, int]:
    """Count the sets that have each shingle."""
    count: dict[int, int] = {}
    for members in sets:
        for shingle in members:
            count[shingle] = count.get(shingle, 0) + 1
    return count


def rare_first(members: AbstractSet[int], count: dict[int, int]) -> list[int]:
    """Order shingles by the number of their holders, then by value."""
    return sorted(members, key=lambda shingle: (count[shingle], shingle))


def probes(members: AbstractSet[int], count: dict[int, int], threshold: float) -> list[int]:
    """List the rarest n - c(n) + 1 shingles of a set: a set whose score with it reaches the threshold has one of them."""
    return rare_first(members, count)[: len(members) - least_common(len(members), threshold) + 1]


def indexed(members: AbstractSet[int], count: dict[int, int], threshold: float) -> list[int]:
    """List the rarest n - c'(n) + 1 shingles of a set: a set that is not smaller and reaches the threshold has one of them.

    c'(n) is the least number of shingles that sets of n members have in common at the threshold.
    """
    n = len(members)
    least = next((c for c in range(1, n + 1) if float(c) / float(2 * n - c) >= threshold), 0)
    return rare_first(members, count)[: n - least + 1]


def resembling(sets: Sequence[AbstractSet[int]], threshold: float) -> Pairs:
    """Find the candidate pairs of the complete filter by resemblance: prefix, size and positional filter.

    The first shingle that two sets share must be a probe of both, and one of them must have it among its indexed ones.
    """
    count = holders(sets)
    order = [rare_first(members, count) for members in sets]
    found = set()
    for a, b in combinations(range(len(sets)), 2):
        shared = set(probes(sets[a], count, threshold)) & set(probes(sets[b], count, threshold))
        if not shared & {*indexed(sets[a], count, threshold), *indexed(sets[b], count, threshold)}:
            continue
        first = min(shared, key=lambda shingle: (count[shingle], shingle))
        after = min(len(order[x]) - order[x].index(first) - 1 for x in (a, b))
        most = 1 + after
        if most / (len(sets[a]) + len(sets[b]) - most) >= threshold:
            found.add((a, b))
    return found


def contained(sets: Sequence[AbstractSet[int]], threshold: float) -> Pairs:
    """Find the candidate pairs of the complete filter by containment, either way: probes of one, all of the other."""
    count = holders(sets)
    found = set()
    for a, members in enumerate(sets):
        wanted = set(probes(members, count, threshold))
        for b, others in enumerate(sets):
            if a != b and wanted & others and min(len(others), len(members)) / len(members) >= threshold:
                found.add((min(a, b), max(a, b)))
    return found


def passing(sets: Sequence[AbstractSet[int]], threshold: float, score: Score) -> Pairs:
    """Find the pairs of sets that are not empty whose score, one way or the other, reaches the threshold."""
    return {(a, b) for a, b in combinations(range(len(sets)), 2) if sets[a] and sets[b]
            and max(score(sets[a], sets[b]), score(sets[b], sets[a])) >= threshold}
