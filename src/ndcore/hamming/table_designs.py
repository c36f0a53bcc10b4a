"""Designs of tables: which blocks of bits lead, so that some table finds whatever differs in k bits (MJS07 §3.1)."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

__all__ = ["MAX_TABLES", "PermutedTable", "checked_tables", "designs", "evenly_split", "fewest_tables", "least_count",
           "missed_bits"]

MAX_TABLES = 1024  # more would take 8 KiB a fingerprint
SEARCH_STEPS = 20000


class PermutedTable(NamedTuple):
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


def checked_tables(bits: int, tables: Iterable[PermutedTable]) -> tuple[PermutedTable, ...]:
    """Return the tables of a plan for `bits` bits as immutable values.

    ValueError where a table does not permute the bits, where the first one changes their order, and where there is none or
    more than MAX_TABLES. TypeError where they are no tables. O(tables · runs).
    """
    try:
        as_int = operator.index
        made = tuple(PermutedTable(as_int(prefix), tuple((as_int(low), as_int(width)) for low, width in runs))
                     for prefix, runs in tables)
    except (TypeError, ValueError) as error:
        raise TypeError(f"tables are pairs of a prefix and runs, and a run is (low, width), all ints: {error}") from error
    if not 1 <= len(made) <= MAX_TABLES:
        raise ValueError(f"a plan has 1 to {MAX_TABLES} tables, got {len(made)}")
    every = (1 << bits) - 1
    for t, (prefix, runs) in enumerate(made):
        inside = all(0 <= low < low + width <= bits for low, width in runs)
        covered = sum(((1 << width) - 1) << low for low, width in runs) if inside else 0
        if covered != every or sum(width for _, width in runs) != bits:
            raise ValueError(f"table {t} is no permutation of {bits} bits: its runs are {runs!r:.200}")
        if not 0 <= prefix <= bits:
            raise ValueError(f"table {t} leads with {prefix} bits; it has {bits}")
    if made[0].runs != ((0, bits),):
        raise ValueError(f"the first table does not keep the bits in their order: its runs are {made[0].runs!r:.200}, "
                         f"not {((0, bits),)}")
    return made


@lru_cache(maxsize=64)
def missed_bits(bits: int, k: int, tables: tuple[PermutedTable, ...]) -> tuple[int, ...] | None:
    """Find at most k bits such that every table leads with one of them, so that what differs in them is found in none.

    None where there are no such bits, and where SEARCH_STEPS steps find none: a set cover is decided. All designs of this
    module are within it but three of two levels for 9 and 10 bits of 64. At most about a second.
    """
    led: dict[int, int] = {}  # the tables that lead with a bit, as a mask: the lowest such bit
    for position in reversed(range(bits)):
        led[sum(1 << t for t, table in enumerate(tables) if table.leading >> position & 1)] = position
    masks = [mask for mask in led if not any(mask | other == other for other in led if other != mask)]
    seen: set[tuple[int, int]] = set()

    def search(left: int, k: int) -> tuple[int, ...] | None:
        """Bits that lead all tables that are left, or None."""
        if not left:
            return ()
        if k == 0 or (left, k) in seen or len(seen) == SEARCH_STEPS:
            return None
        seen.add((left, k))
        met = sorted(((mask & left).bit_count(), mask) for mask in masks)[::-1]
        if sum(count for count, _ in met[:k]) < left.bit_count():
            return None
        for _, mask in met:
            if mask & left & -left and (more := search(left & ~mask, k - 1)) is not None:
                return led[mask], *more
        return None

    return search((1 << len(tables)) - 1, k)


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


def fewest_tables(bits: int, k: int, prefix: int) -> list[PermutedTable]:
    """The tables that `least_count` counts."""

    def refine(leading: _Positions, rest: _Positions) -> Iterator[PermutedTable]:
        needed = prefix - len(leading)
        if needed <= 0:
            yield _table(leading, rest)
            return
        r = min(_block_counts(len(rest), k), key=lambda r: _total(len(rest), k, needed, r))
        for picked, others in _choices(rest, r, k):
            yield from refine(leading + picked, others)

    return list(refine((), tuple(range(bits - 1, -1, -1))))


@cache
def designs(bits: int, k: int) -> list[list[PermutedTable]]:
    """Of every number of tables that is the least for some prefix, the tables of the longest such prefix."""
    longest = {least_count(bits, k, prefix): prefix for prefix in range(bits - k + 1)}
    return [fewest_tables(bits, k, prefix) for tables, prefix in longest.items() if tables <= MAX_TABLES]


def evenly_split(bits: int, k: int, splits: Sequence[int]) -> Iterator[PermutedTable]:
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


def _table(leading: _Positions, rest: _Positions) -> PermutedTable:
    runs: list[tuple[int, int]] = []
    for position in leading + rest:
        if runs and position == runs[-1][0] - 1:
            runs[-1] = (position, runs[-1][1] + 1)
        else:
            runs.append((position, 1))
    return PermutedTable(len(leading), tuple(runs))
