"""Which permuted sorted tables find all fingerprints within k bits (Manku, Jain, Das Sarma 2007, §3.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ndcore.checks import checked_int
from ndcore.hamming.table_designs import (
    MAX_TABLES,
    PermutedTable,
    checked_tables,
    designs,
    evenly_split,
    fewest_tables,
    least_count,
    missed_bits,
)
from ndcore.human import counted

__all__ = [
    "MAX_DISTANCE", "TablePlan", "checked_search", "directory_bits", "plan_join", "plan_pairs", "plan_tables",
    "presence_bits",
]

MAX_DISTANCE = 10
KEY_BYTES = 8
ENTRY_BYTES = 4  # of a directory
PROBE_NS = 60.0  # of looking a prefix up in memory
PRESENCE_NS = 30.0  # of seeing first that no fingerprint has it
PASSING_NS = 6.0  # the same where a block of queries asks one table after another, so that this stays in the cache,
CACHE = 8 << 20  # which holds so many bytes
CANDIDATE_NS = 0.5  # of comparing one fingerprint with the query
DIGIT_NS = 1.3  # of sorting a key by one of its bytes
MOVING_NS = 4.0  # of permuting a key, and of reading it again for pairs
NEIGHBOUR_NS = 0.08  # of one of the keys with the same prefix, where pairs are searched
PRESENCE_ROOM = 3  # log2 of the bits a fingerprint that tell which prefixes are there
JOIN_ROOM = 5  # the same for queries of a join, whose tables are not kept


@dataclass(frozen=True)
class TablePlan:
    """Tables that together find every fingerprint within `max_distance` bits of any query, and what they cost.

    However the differing bits lie, one table at least leads with none of them: searches refuse a plan that misses some.

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
        Numbers outside their ranges, or tables that are no permutations of the bits; the message names the table.
    """

    bits: int
    max_distance: int
    log2_count: float
    tables: tuple[PermutedTable, ...]

    def __post_init__(self) -> None:
        numbers = _checked(self.bits, self.max_distance, self.log2_count)
        for name, value in zip(("bits", "max_distance", "log2_count"), numbers, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "tables", checked_tables(self.bits, self.tables))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def counting(self, log2_count: float) -> TablePlan:
        """Return the plan of the same tables, which are not checked again, for 2^log2_count fingerprints."""
        made = object.__new__(TablePlan)
        vars(made).update(vars(self), log2_count=log2_count)
        return made

    @property
    def prefixes(self) -> tuple[int, ...]:
        """p_i of every table, in bits."""
        return tuple(table.prefix for table in self.tables)

    @property
    def prefix(self) -> int:
        """The least p_i: the p of the plan."""
        return min(self.prefixes)

    @property
    def matches(self) -> float:
        """Random fingerprints that a probe of the table of least p_i meets, on average: 2^(d − p)."""
        return math.exp2(self.log2_count - self.prefix)

    @property
    def candidates(self) -> float:
        """Random fingerprints that a query meets in all tables, on average."""
        return math.fsum(math.exp2(self.log2_count - p) for p in self.prefixes)

    @property
    def memory(self) -> float:
        """Bytes of the tables and what is found by, the fingerprints included, ids apart."""
        return math.fsum(KEY_BYTES * math.exp2(self.log2_count) + ENTRY_BYTES * 2 ** directory_bits(p, self.log2_count)
                         + 2 ** presence_bits(p, self.log2_count) // 8 for p in self.prefixes)

    @property
    def nanoseconds(self) -> float:
        """Expected time of a query in memory: a model to compare plans by, of 60 ns a probe, 0.5 ns a candidate, and
        30 ns to see first whether any fingerprint has the prefix, where a table knows."""
        return self._expected(PRESENCE_ROOM, lambda _: PRESENCE_NS)

    @property
    def join_nanoseconds(self) -> float:
        """Expected time of a fingerprint that passes by as many queries as the plan is for, in `hamming_join`."""
        return self._expected(JOIN_ROOM, lambda bits: PASSING_NS if 2**bits // 8 <= CACHE else PRESENCE_NS)

    @property
    def pair_nanoseconds(self) -> float:
        """Expected time of a fingerprint in `hamming_pairs`, which makes the tables and looks for pairs in each."""
        return math.fsum(DIGIT_NS * ((self.bits + 7) // 8 - (self.bits - p) // 8) + MOVING_NS
                         + NEIGHBOUR_NS * math.exp2(self.log2_count - p) for p in self.prefixes)

    def _expected(self, room: int, presence_ns: Callable[[int], float]) -> float:
        """Time of a query on random fingerprints; presence_ns(bits) of looking at so many bits of presence."""
        total = 0.0
        for p in self.prefixes:
            probe = PROBE_NS + CANDIDATE_NS * math.exp2(self.log2_count - p)
            if bits := presence_bits(p, self.log2_count, room):
                probe = presence_ns(bits) - math.expm1(-math.exp2(self.log2_count - bits)) * probe
            total += probe
        return total

    def __str__(self) -> str:
        count = f"2^{self.log2_count:g}"
        least, most = min(self.prefixes), max(self.prefixes)
        bits = f"{least} bits" if least == most else f"{least} to {most} bits"
        return "\n".join([
            f"{counted(len(self.tables), 'table')} of {count} fingerprints of {self.bits} bits: "
            f"exact within {self.max_distance}",
            f"  prefix      {bits}",
            f"  a probe     meets at most {_short(self.matches)} fingerprints on average",
            f"  a query     {counted(len(self.tables), 'probe')}, {_short(self.candidates)} fingerprints, "
            f"about {_time(self.nanoseconds)}",
            f"  memory      {_bytes(self.memory)}, {self.memory / math.exp2(self.log2_count):.1f} bytes a fingerprint, "
            "ids apart",
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
    """Choose the tables for a collection: of least expected time, unless one of the designs below is asked for.

    A block is a run of bits. Split into r > k blocks, a fingerprint within k bits agrees in r − k of them at least, so
    a table for every choice of r − k blocks to lead finds it. What does not lead can be split again.

    Parameters
    ----------
    bits : int
        f, 1 to 64.
    max_distance : int
        k, 0 to 10, below `bits`.
    log2_count : float
        d: there are 2^d fingerprints, 0 to 64.
    min_prefix : int, optional
        The fewest tables whose prefixes have at least so many bits: X(f, k, d) of §3.1.2 over whole bits. A part is
        split no further once its prefix is that long.
    max_tables : int, optional
        The longest least prefix with at most so many tables.
    splits : sequence of int, optional
        The numbers of blocks of every level: (6,), (4, 4), (5,) and (4,) are the designs of Example 3.1.
    memory : float, optional
        Bytes that tables and directories may take; of the designs within, the one of least expected time.

    Returns
    -------
    TablePlan
        Blocks of one split differ in size by one bit at most, larger ones first.

    Raises
    ------
    TypeError, ValueError
        For parameters outside their ranges, more than one of min_prefix, max_tables, splits and memory, and where no
        plan can be what is asked; the message says why. A plan has at most 1024 tables (8 KiB a fingerprint): what needs
        more is refused.

    Notes
    -----
    O(bits² · max_tables) at most, of exact search with memory; milliseconds.

    >>> plan = plan_tables(64, 3, 34, splits=(6,))
    >>> len(plan.tables), sorted(set(plan.prefixes)), plan.matches
    (20, [31, 32, 33], 8.0)
    """
    bits, max_distance, log2_count = _checked(bits, max_distance, log2_count)
    asked = [name for name, value in (("min_prefix", min_prefix), ("max_tables", max_tables), ("splits", splits),
                                      ("memory", memory)) if value is not None]
    if len(asked) > 1:
        raise ValueError(f"give one of {' and '.join(asked)}: each decides the design")

    def planned(tables: Sequence[PermutedTable]) -> TablePlan:
        return TablePlan(bits, max_distance, log2_count, tuple(tables))

    if splits is not None:
        if not isinstance(splits, Iterable) or isinstance(splits, (str, bytes)):
            raise TypeError(f"splits is {splits!r:.80}; it must be a sequence of numbers of blocks")
        counts = [_whole("a number of blocks in splits", r) for r in splits]
        return planned(list(evenly_split(bits, max_distance, counts)))
    if min_prefix is not None:
        return planned(fewest_tables(bits, max_distance, _checked_prefix(min_prefix, bits, max_distance)))
    plans = _plans(bits, max_distance, log2_count)
    if max_tables is not None:
        most = _whole("max_tables", max_tables)
        if most < 1:
            raise ValueError(f"max_tables is {max_tables}; it must be at least 1")
        return max((plan for plan in plans if len(plan.tables) <= most), key=lambda plan: plan.prefix)
    if memory is not None and (isinstance(memory, str) or not hasattr(memory, "__float__")):
        raise TypeError(f"memory is {memory!r:.80}; it must be a number of bytes")
    allowed = [plan for plan in plans if memory is None or plan.memory <= memory]
    if not allowed:
        least = min(plans, key=lambda plan: plan.memory)
        raise ValueError(f"memory is {memory}; 2^{log2_count:g} fingerprints in one table take {least.memory:.0f} bytes: "
                         "allow more, or scan them in a file with hamming_join")
    return min(allowed, key=lambda plan: plan.nanoseconds)


def checked_search(bits: int, max_distance: int, plan: object) -> tuple[int, int]:
    """(bits, max_distance) of a search; TypeError or ValueError where they cannot be, or the plan is not "auto" and for
    something else, or misses fingerprints."""
    bits, max_distance, _ = _checked(bits, max_distance, 0)
    if not isinstance(plan, TablePlan):
        if not isinstance(plan, str) or plan != "auto":
            raise TypeError(f'plan is "auto" or a TablePlan, got {plan!r:.80}')
    elif (plan.bits, plan.max_distance) != (bits, max_distance):
        raise ValueError(f"the plan is for {plan.bits} bits within {plan.max_distance}; "
                         f"asked are {bits} within {max_distance}")
    elif (missed := missed_bits(bits, max_distance, checked_tables(bits, plan.tables))) is not None:
        raise ValueError(f"the plan does not find all fingerprints within {max_distance} bits: every table leads with one "
                         f"of the bits {', '.join(map(str, sorted(missed)))}; plan_tables makes plans that do")
    return bits, max_distance


def plan_join(bits: int, max_distance: int, log2_count: float) -> TablePlan:
    """The tables of so many queries of least expected time for a fingerprint that looks them up."""
    return min(_plans(bits, max_distance, log2_count), key=lambda plan: plan.join_nanoseconds)


def plan_pairs(bits: int, max_distance: int, log2_count: float) -> TablePlan:
    """The tables of least expected time where all pairs are wanted, and each table once."""
    return min(_plans(bits, max_distance, log2_count), key=lambda plan: plan.pair_nanoseconds)


def _plans(bits: int, max_distance: int, log2_count: float) -> list[TablePlan]:
    """Of every number of tables the best design."""
    bits, max_distance, log2_count = _checked(bits, max_distance, log2_count)
    return [plan.counting(log2_count) for plan in _designed(bits, max_distance)]


@cache
def _designed(bits: int, max_distance: int) -> list[TablePlan]:
    return [TablePlan(bits, max_distance, 0.0, tuple(tables)) for tables in designs(bits, max_distance)]


def directory_bits(prefix: int, log2_count: float) -> int:
    """Leading bits that the directory of a table resolves: 4 to 8 fingerprints an entry, never more than the prefix."""
    return max(0, min(prefix, math.floor(log2_count) - 2))


def presence_bits(prefix: int, log2_count: float, room: int = PRESENCE_ROOM) -> int:
    """Leading bits of which a table knows, value by value, whether a fingerprint has them: about 2^room bits a fingerprint,
    never more than the prefix. 0 where half the prefixes are taken: then it is not worth knowing."""
    return min(prefix, math.floor(log2_count) + room) if prefix >= max(3.0, log2_count + 1) else 0


def _checked(bits: int, max_distance: int, log2_count: float) -> tuple[int, int, float]:
    bits, max_distance = _whole("bits", bits), _whole("max_distance", max_distance)
    if isinstance(log2_count, str) or not hasattr(log2_count, "__float__"):
        raise TypeError(f"log2_count is {log2_count!r:.80}; it must be a number")
    log2_count = float(log2_count)
    if not 1 <= bits <= 64:
        raise ValueError(f"bits is {bits}; fingerprints have 1 to 64")
    if not 0 <= max_distance <= MAX_DISTANCE:
        raise ValueError(f"max_distance is {max_distance}; 0 to {MAX_DISTANCE} bits are searched for")
    if max_distance >= bits:
        raise ValueError(f"max_distance is {max_distance} of {bits} bits: every fingerprint is that near")
    if not 0.0 <= log2_count <= 64.0:
        raise ValueError(f"log2_count is {log2_count}; 0 to 64, for 1 to 2^64 fingerprints")
    return bits, max_distance, log2_count


def _whole(name: str, value: Any) -> int:
    return checked_int(name, value)


def _checked_prefix(min_prefix: int, bits: int, k: int) -> int:
    prefix = _whole("min_prefix", min_prefix)
    if prefix < 0:
        raise ValueError(f"min_prefix is {min_prefix}; it must be at least 0")
    if prefix > bits - k:
        raise ValueError(f"min_prefix is {min_prefix}; with {k} of {bits} bits free to differ, no more than {bits - k} can "
                         "be sure to match")
    if least_count(bits, k, prefix) > MAX_TABLES:
        longest = max(p for p in range(bits - k + 1) if least_count(bits, k, p) <= MAX_TABLES)
        raise ValueError(f"min_prefix is {min_prefix}; that takes more than {MAX_TABLES} tables: {longest} is the most")
    return prefix


def _short(x: float) -> str:
    return f"{x:.3g}" if x < 1000 else f"{x:,.0f}"


def _bytes(n: float) -> str:
    power = min(5, int(math.log2(n) / 10))
    return f"{n / 1024**power:.4g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[power]}"


def _time(ns: float) -> str:
    for unit in ("ns", "µs", "ms"):
        if ns < 1000:
            return f"{ns:.3g} {unit}"
        ns /= 1000
    return f"{ns:.3g} s"
