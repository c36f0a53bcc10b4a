"""Choose the tables of a search, by a model of its time. `table_designs` says which tables are exact, with the formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ndcore.checks import checked_int
from ndcore.hamming.fingerprints import WIDE
from ndcore.hamming.table_designs import (
    MAX_TABLES,
    PermutedTable,
    checked_tables,
    count_tables,
    find_missed_bits,
    list_designs,
    make_tables,
    split_evenly,
)
from ndcore.human import counted

MAX_DISTANCE = 10
MAX_WIDE_DISTANCE = 31  # of 128 and 256 bits
KEY_BYTES = 8
ENTRY_BYTES = 4  # of a directory
PROBE_NS = 60.0  # look a prefix up in memory
PRESENCE_NS = 30.0  # see first that no fingerprint has the prefix
CACHED_PRESENCE_NS = 6.0  # the same where many queries ask one table, whose presence bits fit into the cache
CACHE = 8 << 20  # bytes of that cache
CANDIDATE_NS = 0.5  # compare one fingerprint with the query
DIGIT_NS = 1.3  # sort a key by one of its bytes
MOVING_NS = 4.0  # permute a key, and read it again for pairs
NEIGHBOUR_NS = 0.08  # compare with one key of the same prefix in a search for pairs
PRESENCE_ROOM = 3  # log2 of the presence bits per fingerprint
JOIN_ROOM = 5  # the same in a join, which does not keep its tables


@dataclass(frozen=True)
class TablePlan:
    """Tables that together find every fingerprint within `max_distance` bits of any query, and their cost.

    For any choice of differing bits, the prefix of some table has none of them: searches refuse a plan that misses some.

    Attributes
    ----------
    bits, max_distance : int
        f and k.
    log2_count : float
        d: the collection has 2^d fingerprints.
    tables : tuple of PermutedTable
        The first keeps the bits in their order.

    Raises
    ------
    TypeError, ValueError
        A number is outside its range, or a table does not permute the bits; the message names the table.

    References
    ----------
    Manku, Jain, Das Sarma (2007), Detecting near-duplicates for web crawling, §3.1, DOI 10.1145/1242572.1242592.
    """

    bits: int
    max_distance: int
    log2_count: float
    tables: tuple[PermutedTable, ...]

    def __post_init__(self) -> None:
        numbers = _check_plan(self.bits, self.max_distance, self.log2_count)
        for name, value in zip(("bits", "max_distance", "log2_count"), numbers, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "tables", checked_tables(self.bits, self.tables))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def for_count(self, log2_count: float) -> TablePlan:
        """Return a plan with the same tables for 2^log2_count fingerprints. The tables are not checked again."""
        plan = object.__new__(TablePlan)
        vars(plan).update(vars(self), log2_count=log2_count)
        return plan

    @property
    def prefixes(self) -> tuple[int, ...]:
        """Length p_i of the prefix of every table, in bits."""
        return tuple(table.prefix for table in self.tables)

    @property
    def prefix(self) -> int:
        """Length p of the shortest prefix, in bits."""
        return min(self.prefixes)

    @property
    def matches(self) -> float:
        """Random fingerprints that share the shortest prefix with a query, on average: 2^(d − p)."""
        return math.exp2(self.log2_count - self.prefix)

    @property
    def candidates(self) -> float:
        """Random fingerprints that share a prefix with a query in all tables together, on average: Σ 2^(d − p_i)."""
        return math.fsum(math.exp2(self.log2_count - p) for p in self.prefixes)

    @property
    def memory(self) -> float:
        """Bytes of keys, directories and presence bits of all tables, without ids."""
        return math.fsum(KEY_BYTES * math.exp2(self.log2_count) + ENTRY_BYTES * 2 ** directory_bits(p, self.log2_count)
                         + 2 ** presence_bits(p, self.log2_count) // 8 for p in self.prefixes)

    @property
    def nanoseconds(self) -> float:
        """Expected time of a query in memory: a model to compare plans by.

        60 ns per probe, 0.5 ns per candidate, and 30 ns per look at presence bits, where a table has them.
        """
        return self._estimate_time(PRESENCE_ROOM, lambda _: PRESENCE_NS)

    @property
    def join_nanoseconds(self) -> float:
        """Expected time per fingerprint of the collection in `hamming_join`; the plan is for the queries."""
        return self._estimate_time(JOIN_ROOM, lambda bits: CACHED_PRESENCE_NS if 2**bits // 8 <= CACHE else PRESENCE_NS)

    @property
    def pair_nanoseconds(self) -> float:
        """Expected time per fingerprint in `hamming_pairs`, which builds the tables and searches each for pairs."""
        return math.fsum(DIGIT_NS * ((self.bits + 7) // 8 - (self.bits - p) // 8) + MOVING_NS
                         + NEIGHBOUR_NS * math.exp2(self.log2_count - p) for p in self.prefixes)

    def _estimate_time(self, room: int, presence_ns: Callable[[int], float]) -> float:
        """Estimate the time of a query; presence_ns(bits) is the time of a look at 2^bits presence bits."""
        total = 0.0
        for p in self.prefixes:
            probe = PROBE_NS + CANDIDATE_NS * math.exp2(self.log2_count - p)
            if bits := presence_bits(p, self.log2_count, room):
                probe = presence_ns(bits) - math.expm1(-math.exp2(self.log2_count - bits)) * probe
            total += probe
        return total

    def __str__(self) -> str:
        count = f"2^{self.log2_count:g}"
        shortest, longest = min(self.prefixes), max(self.prefixes)
        bits = f"{shortest} bits" if shortest == longest else f"{shortest} to {longest} bits"
        return "\n".join([
            f"{counted(len(self.tables), 'table')} of {count} fingerprints of {self.bits} bits: "
            f"exact within {self.max_distance}",
            f"  prefix      {bits}",
            f"  a probe     meets at most {_short(self.matches)} fingerprints on average",
            f"  a query     {counted(len(self.tables), 'probe')}, {_short(self.candidates)} fingerprints, "
            f"about {format_time(self.nanoseconds)}",
            f"  memory      {format_memory(self.memory)}, {self.memory / math.exp2(self.log2_count):.1f} bytes a "
            "fingerprint, ids apart",
        ])


def plan_tables(
    bits: int = 64,
    max_distance: int = 3,
    log2_count: float = 34,
    *,
    min_prefix: int | None = None,
    max_tables: int | None = None,
    splits: Sequence[int] | None = None,
    memory: float | None = None,
) -> TablePlan:
    """Choose the tables for a collection: the design of least expected time, unless an argument asks for another.

    Parameters
    ----------
    bits : int
        Bits of a fingerprint, f: 1 to 64.
    max_distance : int
        Greatest Hamming distance to find, k: 0 to 10, below `bits`.
    log2_count : float
        There are 2^d fingerprints, d from 0 to 64.
    min_prefix : int, optional
        Least bits of every prefix: the fewest tables with such prefixes, X(f, k, p) of §3.1.2 over whole bits. A part is
        not split again once its prefix is long enough.
    max_tables : int, optional
        Most tables: the design with the longest shortest prefix.
    splits : sequence of int, optional
        Number of blocks at every level: (6,), (4, 4), (5,) and (4,) are the designs of Example 3.1.
    memory : float, optional
        Most bytes of tables and directories: the design of least expected time within.

    Returns
    -------
    TablePlan
        Blocks of one split differ in size by one bit at most; larger blocks come first.

    Raises
    ------
    TypeError, ValueError
        A parameter is outside its range, more than one of min_prefix, max_tables, splits and memory is given, or no design
        fits; the message says why. A plan has at most 1024 tables, 8 KiB per fingerprint.

    Notes
    -----
    O(bits² · max_tables) at most, by exact search with memory; milliseconds. The module `ndcore.hamming.table_designs`
    states the formula.

    References
    ----------
    Manku, Jain, Das Sarma (2007), Detecting near-duplicates for web crawling, §3.1, DOI 10.1145/1242572.1242592.

    Examples
    --------
    >>> plan = plan_tables(64, 3, 34, splits=(6,))
    >>> len(plan.tables), sorted(set(plan.prefixes)), plan.matches
    (20, [31, 32, 33], 8.0)
    """
    bits, max_distance, log2_count = _check_plan(bits, max_distance, log2_count)
    asked = [name for name, value in (("min_prefix", min_prefix), ("max_tables", max_tables), ("splits", splits),
                                      ("memory", memory)) if value is not None]
    if len(asked) > 1:
        raise ValueError(f"give one of {' and '.join(asked)}: each decides the design")

    def planned(tables: Sequence[PermutedTable]) -> TablePlan:
        return TablePlan(bits, max_distance, log2_count, tuple(tables))

    if splits is not None:
        if not isinstance(splits, Iterable) or isinstance(splits, (str, bytes)):
            raise TypeError(f"splits is {splits!r:.80}; it must be a sequence of numbers of blocks")
        counts = [checked_int("a number of blocks in splits", r) for r in splits]
        return planned(list(split_evenly(bits, max_distance, counts)))
    if min_prefix is not None:
        return planned(make_tables(bits, max_distance, _check_prefix(min_prefix, bits, max_distance)))
    plans = _list_plans(bits, max_distance, log2_count)
    if max_tables is not None:
        most = checked_int("max_tables", max_tables)
        if most < 1:
            raise ValueError(f"max_tables is {max_tables}; it must be at least 1")
        return max((plan for plan in plans if len(plan.tables) <= most), key=lambda plan: plan.prefix)
    if memory is not None and (isinstance(memory, str) or not hasattr(memory, "__float__")):
        raise TypeError(f"memory is {memory!r:.80}; it must be a number of bytes")
    allowed = [plan for plan in plans if memory is None or plan.memory <= memory]
    if not allowed:
        smallest = min(plans, key=lambda plan: plan.memory)
        raise ValueError(f"memory is {memory}; 2^{log2_count:g} fingerprints in one table take {smallest.memory:.0f} bytes: "
                         "allow more, or scan them in a file with hamming_join")
    return min(allowed, key=lambda plan: plan.nanoseconds)


def checked_search(bits: int, max_distance: int, plan: object) -> tuple[int, int]:
    """Check the parameters of a search and return (bits, max_distance).

    TypeError or ValueError where a number is outside its range, or the plan is neither "auto" nor a TablePlan for these
    numbers that finds all fingerprints; of 128 and 256 bits, where it is not "auto".
    """
    if bits in WIDE:
        return _check_wide_search(bits, max_distance, plan)
    bits, max_distance, _ = _check_plan(bits, max_distance, 0)
    if not isinstance(plan, TablePlan):
        if not isinstance(plan, str) or plan != "auto":
            raise TypeError(f'plan is "auto" or a TablePlan, got {plan!r:.80}')
    elif (plan.bits, plan.max_distance) != (bits, max_distance):
        raise ValueError(f"the plan is for {plan.bits} bits within {plan.max_distance}; "
                         f"asked are {bits} within {max_distance}")
    elif (missed := find_missed_bits(bits, max_distance, checked_tables(bits, plan.tables))) is not None:
        raise ValueError(f"the plan does not find all fingerprints within {max_distance} bits: every table leads with one "
                         f"of the bits {', '.join(map(str, sorted(missed)))}; plan_tables makes plans that do")
    return bits, max_distance


def _check_wide_search(bits: int, max_distance: int, plan: object) -> tuple[int, int]:
    max_distance = checked_int("max_distance", max_distance)
    if not 0 <= max_distance <= MAX_WIDE_DISTANCE:
        raise ValueError(f"max_distance is {max_distance}; 0 to {MAX_WIDE_DISTANCE} of {bits} bits are searched for")
    if not isinstance(plan, str) or plan != "auto":
        raise ValueError(f'plan is {plan!r:.80}; fingerprints of {bits} bits are searched by substrings, with plan="auto"')
    return int(bits), max_distance


def plan_join(bits: int, max_distance: int, log2_count: float) -> TablePlan:
    """Choose tables of 2^log2_count queries for the least expected time per fingerprint of the collection."""
    return min(_list_plans(bits, max_distance, log2_count), key=lambda plan: plan.join_nanoseconds)


def plan_pairs(bits: int, max_distance: int, log2_count: float) -> TablePlan:
    """Choose tables for the least expected time of `hamming_pairs`, which uses each table once."""
    return min(_list_plans(bits, max_distance, log2_count), key=lambda plan: plan.pair_nanoseconds)


def _list_plans(bits: int, max_distance: int, log2_count: float) -> list[TablePlan]:
    """List the best design for each number of tables."""
    bits, max_distance, log2_count = _check_plan(bits, max_distance, log2_count)
    return [plan.for_count(log2_count) for plan in _plan_design(bits, max_distance)]


@cache
def _plan_design(bits: int, max_distance: int) -> list[TablePlan]:
    return [TablePlan(bits, max_distance, 0.0, tuple(tables)) for tables in list_designs(bits, max_distance)]


def directory_bits(prefix: int, log2_count: float) -> int:
    """Compute the leading bits of a table's directory: 4 to 8 fingerprints per entry, never more than the prefix."""
    return max(0, min(prefix, math.floor(log2_count) - 2))


def presence_bits(prefix: int, log2_count: float, room: int = PRESENCE_ROOM) -> int:
    """Compute the leading bits of a table's presence: about 2^room bits per fingerprint, never more than the prefix.

    0 if half of the prefixes occur: then presence would not save time.
    """
    return min(prefix, math.floor(log2_count) + room) if prefix >= max(3.0, log2_count + 1) else 0


def _check_plan(bits: int, max_distance: int, log2_count: float) -> tuple[int, int, float]:
    bits, max_distance = checked_int("bits", bits), checked_int("max_distance", max_distance)
    if isinstance(log2_count, str) or not hasattr(log2_count, "__float__"):
        raise TypeError(f"log2_count is {log2_count!r:.80}; it must be a number")
    log2_count = float(log2_count)
    if not 1 <= bits <= 64:
        raise ValueError(f"bits is {bits}; fingerprints have 1 to 64 in permuted tables; searches also take 128 and 256")
    if not 0 <= max_distance <= MAX_DISTANCE:
        raise ValueError(f"max_distance is {max_distance}; 0 to {MAX_DISTANCE} of up to 64 bits are searched for, and 0 to "
                         f"{MAX_WIDE_DISTANCE} with bits=128 or bits=256")
    if max_distance >= bits:
        raise ValueError(f"max_distance is {max_distance} of {bits} bits: every fingerprint is that near")
    if not 0.0 <= log2_count <= 64.0:
        raise ValueError(f"log2_count is {log2_count}; 0 to 64, for 1 to 2^64 fingerprints")
    return bits, max_distance, log2_count


def _check_prefix(min_prefix: int, bits: int, k: int) -> int:
    prefix = checked_int("min_prefix", min_prefix)
    if prefix < 0:
        raise ValueError(f"min_prefix is {min_prefix}; it must be at least 0")
    if prefix > bits - k:
        raise ValueError(f"min_prefix is {min_prefix}; with {k} of {bits} bits free to differ, no more than {bits - k} can "
                         "be sure to match")
    if count_tables(bits, k, prefix) > MAX_TABLES:
        longest = max(p for p in range(bits - k + 1) if count_tables(bits, k, p) <= MAX_TABLES)
        raise ValueError(f"min_prefix is {min_prefix}; that takes more than {MAX_TABLES} tables: {longest} is the most")
    return prefix


def _short(x: float) -> str:
    return f"{x:.3g}" if x < 1000 else f"{x:,.0f}"


def format_memory(n: float) -> str:
    """Return a number of bytes with a binary unit."""
    power = min(5, int(math.log2(n) / 10))
    return f"{n / 1024**power:.4g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[power]}"


def format_time(ns: float) -> str:
    """Return nanoseconds with the unit that suits them."""
    for unit in ("ns", "µs", "ms"):
        if ns < 1000:
            return f"{ns:.3g} {unit}"
        ns /= 1000
    return f"{ns:.3g} s"
