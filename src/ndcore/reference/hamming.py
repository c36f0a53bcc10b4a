"""The Hamming distance problem by permuted sorted tables (Manku, Jain, Das Sarma 2007, §3)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import combinations, pairwise
from math import comb, inf

Permutation = tuple[int, ...]  # bit positions of the fingerprint, from the highest of the permuted key to the lowest


def distance(a: int, b: int) -> int:
    """Number of bits in which a and b differ."""
    return (a ^ b).bit_count()


def split(positions: Sequence[int], blocks: int) -> list[tuple[int, ...]]:
    """Split the positions into blocks whose sizes differ by at most one, larger blocks first."""
    size, larger = divmod(len(positions), blocks)
    ends = [i * size + min(i, larger) for i in range(blocks + 1)]
    return [tuple(positions[a:b]) for a, b in pairwise(ends)]


def least_tables(bits: int, k: int, prefix: int) -> float:
    """Compute X(f, k, d) of §3.1.2 over whole bits: the smallest number of tables that lead with `prefix` bits or more."""

    @cache
    def least(left: int, needed: int) -> float:
        if needed <= 0:
            return 1
        return min((total(left, needed, r) for r in range(k + 1, left + 1)), default=inf)

    def total(left: int, needed: int, r: int) -> float:
        size, larger = divmod(left, r)
        found: float = 0
        for of_larger in range(max(0, larger - k), min(larger, r - k) + 1):  # how many larger blocks are chosen
            of_smaller = r - k - of_larger
            if of_smaller > r - larger:
                continue
            chosen = of_larger * (size + 1) + of_smaller * size
            ways = comb(larger, of_larger) * comb(r - larger, of_smaller)
            if ways:
                found += ways * least(left - chosen, needed - chosen)
        return found

    return least(bits, prefix)


def tables_of(bits: int, k: int, splits: Sequence[int]) -> list[tuple[int, Permutation]]:
    """List (p_i, permutation) of every table if all branches split into the same numbers of blocks.

    Example 3.1: (6,), (4, 4), (5,) and (4,)."""
    tables: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), tuple(range(bits - 1, -1, -1)))]
    for r in splits:
        refined = []
        for leading, rest in tables:
            blocks = split(rest, r)
            for chosen in combinations(range(r), r - k):
                picked = tuple(p for i in chosen for p in blocks[i])
                others = tuple(p for i in range(r) if i not in chosen for p in blocks[i])
                refined.append((leading + picked, others))
        tables = refined
    return [(len(leading), leading + rest) for leading, rest in tables]


def permute(value: int, permutation: Permutation) -> int:
    """Return the fingerprint with its bits in the order of the permutation."""
    permuted = 0
    for position in permutation:
        permuted = permuted << 1 | value >> position & 1
    return permuted


class Tables:
    """Sorted tables of permuted fingerprints, probed as §3.1 says."""

    def __init__(self, fingerprints: Sequence[int], bits: int, k: int, tables: Sequence[tuple[int, Permutation]]) -> None:
        self.fingerprints, self.bits, self.k = list(fingerprints), bits, k
        self.tables = [
            (p, permutation, sorted((permute(f, permutation), i) for i, f in enumerate(fingerprints)))
            for p, permutation in tables
        ]

    def query(self, fingerprint: int) -> list[tuple[int, int]]:
        """Find (position, distance) of every fingerprint within k bits, ascending."""
        found = set()
        for p, permutation, rows in self.tables:
            key, free = permute(fingerprint, permutation), self.bits - p
            low = key >> free << free
            first = bisect_left(rows, (low, -1))
            last = bisect_right(rows, (low | (1 << free) - 1, len(rows)))
            for row, i in rows[first:last]:
                if distance(row, key) <= self.k:
                    found.add((i, distance(row, key)))
        return sorted(found)


def within(fingerprints: Sequence[int], fingerprint: int, k: int) -> list[tuple[int, int]]:
    """Find (position, distance) of every fingerprint within k bits, by comparing all."""
    return [(i, distance(f, fingerprint)) for i, f in enumerate(fingerprints) if distance(f, fingerprint) <= k]
