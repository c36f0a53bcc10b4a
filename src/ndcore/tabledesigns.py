"""Designs of tables: which blocks of bits lead, so that some table finds whatever differs in k bits (MJS07 §3.1)."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, pairwise
from typing import NamedTuple

__all__ = ["MAX_TABLES", "Table", "designs", "evenly_split", "fewest_tables", "least_count"]

MAX_TABLES = 1024  # more would take 8 KiB a fingerprint


class Table(NamedTuple):
    """One table: what is moved to the front, and how much of it a query must match.

    Attributes
    ----------
    prefix : int
        p_i: the leading bits of the permuted key that are those of the query.
    runs : tuple of (low, width)
        The permutation as runs of neighbouring bits, from the highest bits of the permuted key to the lowest: `width`
        bits of the fingerprint from bit `low` up.
    """

    prefix: int
    runs: tuple[tuple[int, int], ...]

    @property
    def leading(self) -> int:
        """The bits of a fingerprint that the prefix is made of, as a mask."""
        mask, left = 0, self.prefix
        for low, width in self.runs:
            taken = min(width, left)
            mask |= (1 << taken) - 1 << low + width - taken
            left -= taken
        return mask

    def permute(self, fingerprint: int) -> int:
        """The key of a fingerprint in this table."""
        key = 0
        for low, width in self.runs:
            key = key << width | fingerprint >> low & (1 << width) - 1
        return key


@cache
def least_count(left: int, k: int, needed: int) -> int:
    """X over whole bits: the least number of tables for `left` bits, each to lead with `needed` more; above MAX_TABLES
    where it takes more than that."""
    if needed <= 0:
        return 1
    return min((_total(left, k, needed, r) for r in _block_counts(left, k)), default=MAX_TABLES + 1)


def _block_counts(left: int, k: int) -> Iterator[int]:
    r = k + 1
    while r <= left and math.comb(r, k) <= MAX_TABLES:
        yield r
        r += 1


def _total(left: int, k: int, needed: int, r: int) -> int:
    """The least number of tables where the first split is into r blocks."""
    size, larger = divmod(left, r)
    total = 0
    for big in range(max(0, larger - k), min(larger, r - k) + 1):  # the larger blocks among the r − k that lead
        small = r - k - big
        chosen = size * (r - k) + big
        total += math.comb(larger, big) * math.comb(r - larger, small) * least_count(left - chosen, k, needed - chosen)
    return total


_Positions = tuple[int, ...]


def fewest_tables(bits: int, k: int, prefix: int) -> list[Table]:
    """The tables that `least_count` counts."""

    def refine(leading: _Positions, rest: _Positions) -> Iterator[Table]:
        needed = prefix - len(leading)
        if needed <= 0:
            yield _table(leading, rest)
            return
        r = min(_block_counts(len(rest), k), key=lambda r: _total(len(rest), k, needed, r))
        for picked, others in _choices(rest, r, k):
            yield from refine(leading + picked, others)

    return list(refine((), tuple(range(bits - 1, -1, -1))))


@cache
def designs(bits: int, k: int) -> list[list[Table]]:
    """Of every number of tables that is the least for some prefix, the tables of the longest such prefix."""
    longest = {least_count(bits, k, prefix): prefix for prefix in range(bits - k + 1)}
    return [fewest_tables(bits, k, prefix) for tables, prefix in longest.items() if tables <= MAX_TABLES]


def evenly_split(bits: int, k: int, splits: Sequence[int]) -> Iterator[Table]:
    """Tables where every part of a level is split into the same number of blocks."""
    counts = [operator.index(r) for r in splits]
    tables = math.prod(math.comb(max(r, 0), k) for r in counts)
    if any(r <= k for r in counts):
        raise ValueError(f"splits is {tuple(splits)}; with max_distance {k} every level needs at least {k + 1} blocks, "
                         f"for {k} differing bits can lie in {k} of them")
    if tables > MAX_TABLES:
        raise ValueError(f"splits is {tuple(splits)}: {tables} tables; at most {MAX_TABLES} are made")
    parts: list[tuple[_Positions, _Positions]] = [((), tuple(range(bits - 1, -1, -1)))]
    for r in counts:
        for _, rest in parts:
            if len(rest) < r:
                raise ValueError(f"splits is {tuple(splits)}; {len(rest)} bits are left for a level of {r} blocks")
        parts = [(leading + picked, others) for leading, rest in parts for picked, others in _choices(rest, r, k)]
    return (_table(leading, rest) for leading, rest in parts)


def _choices(rest: _Positions, r: int, k: int) -> Iterator[tuple[_Positions, _Positions]]:
    """Every choice of r − k of r blocks to lead: (their positions, the other positions)."""
    size, larger = divmod(len(rest), r)
    ends = [i * size + min(i, larger) for i in range(r + 1)]
    blocks = [rest[a:b] for a, b in pairwise(ends)]
    for chosen in combinations(range(r), r - k):
        yield (tuple(p for i in chosen for p in blocks[i]),
               tuple(p for i in range(r) if i not in chosen for p in blocks[i]))


def _table(leading: _Positions, rest: _Positions) -> Table:
    runs: list[tuple[int, int]] = []
    for position in leading + rest:
        if runs and position == runs[-1][0] - 1:
            runs[-1] = (position, runs[-1][1] + 1)
        else:
            runs.append((position, 1))
    return Table(len(leading), tuple(runs))
