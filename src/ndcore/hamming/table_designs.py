"""Designs of tables: which blocks of bits lead each table (Manku, Jain, Das Sarma 2007, §3.1).

Split f bits into r > k blocks. Two fingerprints that differ in at most k bits agree in at least r - k blocks, so C(r, k)
tables find all near fingerprints: one for each choice of r - k blocks, which lead its keys. The bits that do not lead can
be split again, table by table, until the prefix has the p bits that are wanted. Where all blocks have the same size, the
least number of tables whose prefixes have at least p bits is

    X(f, k, p) = 1                                                          where p <= 0,
    X(f, k, p) = min over r > k of C(r, k) · X(f·k/r, k, p - f·(r - k)/r)   otherwise.

`count_tables` is this recurrence over whole bits, where blocks differ in size by one bit and the sum over all choices
replaces the product; `make_tables` makes the tables. Among 2^d random fingerprints a probe finds 2^(d - p) that share its
prefix, so that longer prefixes mean fewer comparisons and more tables. `table_plan` weighs the two.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

MAX_TABLES = 1024  # tables of a plan; these take 8 KiB per fingerprint
SEARCH_STEPS = 20000


class PermutedTable(NamedTuple):
    """One table: a permutation of the bits, and the length of the prefix that a query must match.

    Attributes
    ----------
    prefix : int
        p_i: leading bits of the permuted key that equal those in the key of the query.
    runs : tuple of (low, width)
        The permutation as runs of neighbouring bits, from the highest bits of the permuted key to the lowest: `width`
        bits of the fingerprint from bit `low` up.
    """

    prefix: int
    runs: tuple[tuple[int, int], ...]

    @property
    def leading(self) -> int:
        """Mask of the bits of a fingerprint that make the prefix."""
        mask, left = 0, self.prefix
        for low, width in self.runs:
            taken = min(width, left)
            mask |= (1 << taken) - 1 << low + width - taken
            left -= taken
        return mask

    def permute(self, fingerprint: int) -> int:
        """Return the key of a fingerprint in this table."""
        key = 0
        for low, width in self.runs:
            key = key << width | fingerprint >> low & (1 << width) - 1
        return key


def checked_tables(bits: int, tables: Iterable[PermutedTable]) -> tuple[PermutedTable, ...]:
    """Check the tables of a plan for `bits` bits, and return them as immutable values. O(tables · runs).

    Raises ValueError if a table does not permute the bits, if the first one changes their order, and if there are no tables
    or more than MAX_TABLES. Raises TypeError if a table is not a pair of a prefix and runs.
    """
    try:
        as_int = operator.index
        checked = tuple(PermutedTable(as_int(prefix), tuple((as_int(low), as_int(width)) for low, width in runs))
                        for prefix, runs in tables)
    except (TypeError, ValueError) as error:
        raise TypeError(f"tables are pairs of a prefix and runs, and a run is (low, width), all ints: {error}") from error
    if not 1 <= len(checked) <= MAX_TABLES:
        raise ValueError(f"a plan has 1 to {MAX_TABLES} tables, got {len(checked)}")
    every = (1 << bits) - 1
    for t, (prefix, runs) in enumerate(checked):
        inside = all(0 <= low < low + width <= bits for low, width in runs)
        covered = sum(((1 << width) - 1) << low for low, width in runs) if inside else 0
        if covered != every or sum(width for _, width in runs) != bits:
            raise ValueError(f"table {t} is not a permutation of {bits} bits: its runs are {runs!r:.200}")
        if not 0 <= prefix <= bits:
            raise ValueError(f"table {t} leads with {prefix} bits; it has {bits}")
    if checked[0].runs != ((0, bits),):
        raise ValueError(f"the first table does not keep the bits in their order: its runs are {checked[0].runs!r:.200}, "
                         f"not {((0, bits),)}")
    return checked


@lru_cache(maxsize=64)
def find_missed_bits(bits: int, k: int, tables: tuple[PermutedTable, ...]) -> tuple[int, ...] | None:
    """Find at most k bits such that the prefix of every table has one of them: fingerprints that differ in these are missed.

    None if there are no such bits, or if SEARCH_STEPS steps find none: the question is a set cover. The search is
    complete for all designs of this module, except three of two levels for 9 and 10 bits of 64. At most about a second.
    """
    led: dict[int, int] = {}  # mask of the tables that a bit leads: the lowest such bit
    for position in reversed(range(bits)):
        led[sum(1 << t for t, table in enumerate(tables) if table.leading >> position & 1)] = position
    masks = [mask for mask in led if not any(mask | other == other for other in led if other != mask)]
    seen: set[tuple[int, int]] = set()

    def cover(left: int, k: int) -> tuple[int, ...] | None:
        """Find k bits such that each table left is led by one of them."""
        if not left:
            return ()
        if k == 0 or (left, k) in seen or len(seen) == SEARCH_STEPS:
            return None
        seen.add((left, k))
        covered = sorted(((mask & left).bit_count(), mask) for mask in masks)[::-1]
        if sum(count for count, _ in covered[:k]) < left.bit_count():
            return None
        for _, mask in covered:
            if mask & left & -left and (more := cover(left & ~mask, k - 1)) is not None:
                return led[mask], *more
        return None

    return cover((1 << len(tables)) - 1, k)


@cache
def count_tables(left: int, k: int, needed: int) -> int:
    """Count the fewest tables for `left` bits, each to lead with `needed` more: X(left, k, needed) over whole bits.

    More than MAX_TABLES where it takes more.
    """
    if needed <= 0:
        return 1
    return min((_count_first_split(left, k, needed, r) for r in _block_counts(left, k)), default=MAX_TABLES + 1)


def _block_counts(left: int, k: int) -> Iterator[int]:
    r = k + 1
    while r <= left and math.comb(r, k) <= MAX_TABLES:
        yield r
        r += 1


def _count_first_split(left: int, k: int, needed: int, r: int) -> int:
    """Count the fewest tables where the first split is into r blocks."""
    size, larger = divmod(left, r)
    total = 0
    for big in range(max(0, larger - k), min(larger, r - k) + 1):  # number of larger blocks among the r − k that lead
        small = r - k - big
        chosen = size * (r - k) + big
        total += math.comb(larger, big) * math.comb(r - larger, small) * count_tables(left - chosen, k, needed - chosen)
    return total


_Positions = tuple[int, ...]


def make_tables(bits: int, k: int, prefix: int) -> list[PermutedTable]:
    """Make the tables that `count_tables` counts."""

    def refine(leading: _Positions, rest: _Positions) -> Iterator[PermutedTable]:
        needed = prefix - len(leading)
        if needed <= 0:
            yield _table(leading, rest)
            return
        r = min(_block_counts(len(rest), k), key=lambda r: _count_first_split(len(rest), k, needed, r))
        for picked, others in _yield_choices(rest, r, k):
            yield from refine(leading + picked, others)

    return list(refine((), tuple(range(bits - 1, -1, -1))))


@cache
def list_designs(bits: int, k: int) -> list[list[PermutedTable]]:
    """List the design with the longest prefix for each number of tables that is the least for some prefix."""
    longest = {count_tables(bits, k, prefix): prefix for prefix in range(bits - k + 1)}
    return [make_tables(bits, k, prefix) for tables, prefix in longest.items() if tables <= MAX_TABLES]


def split_evenly(bits: int, k: int, splits: Sequence[int]) -> Iterator[PermutedTable]:
    """Make tables where every part of a level is split into the same number of blocks."""
    counts = [operator.index(r) for r in splits]
    tables = math.prod(math.comb(max(r, 0), k) for r in counts)
    if any(r <= k for r in counts):
        raise ValueError(f"splits is {tuple(splits)}; with max_distance {k} every level needs at least {k + 1} blocks, "
                         f"for {k} differing bits can lie in {k} of them")
    if tables > MAX_TABLES:
        raise ValueError(f"splits is {tuple(splits)}: {tables} tables; at most {MAX_TABLES} are checked")
    parts: list[tuple[_Positions, _Positions]] = [((), tuple(range(bits - 1, -1, -1)))]
    for r in counts:
        for _, rest in parts:
            if len(rest) < r:
                raise ValueError(f"splits is {tuple(splits)}; {len(rest)} bits are left for a level of {r} blocks")
        parts = [(leading + picked, others) for leading, rest in parts for picked, others in _yield_choices(rest, r, k)]
    return (_table(leading, rest) for leading, rest in parts)


def _yield_choices(rest: _Positions, r: int, k: int) -> Iterator[tuple[_Positions, _Positions]]:
    """Yield each choice of r − k of r blocks to lead: (their positions, the other positions)."""
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
