"""Sorted tables of permuted fingerprints, and the rows that have each fingerprint (Manku, Jain, Das Sarma 2007, §3.1).

`SortedTables` adds rows to `PlainTables` or `CompressedTables`, which hold every different fingerprint once per table, or to
`SubstringTables`, for 128 and 256 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ndcore._entries import sort_entries
from ndcore._hamming import Level
from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.hamming.compressed_tables import CompressedTables
from ndcore.hamming.plain_tables import PlainTables
from ndcore.hamming.row_pairs import ranges, row_pairs
from ndcore.hamming.substring_plan import SubstringPlan
from ndcore.hamming.substring_tables import SubstringTables, order_rows
from ndcore.hamming.table_plan import MAX_WIDE_DISTANCE, PRESENCE_ROOM, TablePlan
from ndcore.storage.container import CorruptFile

MAX_FINGERPRINTS = (1 << 32) - 1
DISTANCE_BITS = MAX_WIDE_DISTANCE.bit_length()
Keys = PlainTables | CompressedTables | SubstringTables


class RowMatches(NamedTuple):
    """Matches: position of the query, row of the fingerprint, and distance; int64 (m,) each."""

    query: Ints
    row: Ints
    distance: Ints

    def ordered(self) -> RowMatches:
        """Sort by query, then distance, then row."""
        row_bits = int(self.row.max(initial=0)).bit_length()
        if int(self.query.max(initial=0)).bit_length() + DISTANCE_BITS + row_bits < 64:  # one number sorts faster
            order = np.argsort((self.query << DISTANCE_BITS | self.distance) << row_bits | self.row)
        else:
            order = np.lexsort((self.row, self.distance, self.query))
        return RowMatches(*(column[order] for column in self))


def joined(parts: Iterable[tuple[Ints, ...]]) -> RowMatches:
    """Concatenate the matches of all parts."""
    listed = list(parts)
    if len(listed) == 1:
        return RowMatches(*listed[0])
    return RowMatches(*(np.concatenate([np.empty(0, np.int64), *arrays]) for arrays in zip(*listed, strict=True)) if listed
                 else (np.empty(0, np.int64),) * 3)


def refused(place: str | None, what: str, n: int) -> CorruptFile:
    """Return the error for a position in a file that is out of range."""
    return CorruptFile(f"{place}: a {what} is not one of {n}: open it with verify=True to see what is wrong")


class SortedTables:
    """The different fingerprints of some rows, in the tables of a plan. Immutable.

    Attributes
    ----------
    rows : unsigned integers, shape (count,)
        Rows by ascending fingerprint; rows with the same fingerprint ascend.
    starts : int64, shape (different + 1,), or None
        Where the rows of each fingerprint begin; None if every fingerprint has one row.
    keys : PlainTables, CompressedTables or SubstringTables
        The tables of the different fingerprints.
    level : _near.Level or None
        The search for one query of up to 64 bits.
    """

    rows: AnyArray
    starts: Ints | None
    keys: Keys
    level: Level | None

    def __init__(self, rows: AnyArray, starts: Ints | None, keys: Keys, place: str | None = None) -> None:
        self.rows, self.starts, self.keys = rows, starts, keys
        self._place = place  # the file of rows and keys, which may be unsound; None: sorted here
        self.level = None if isinstance(keys, SubstringTables) else Level(
            keys.searcher, rows, starts, None if place is None else len(rows), partial(refused, place))

    def __reduce__(self) -> tuple[Any, ...]:
        return SortedTables, (self.rows, self.starts, self.keys, self._place)

    @property
    def plan(self) -> TablePlan | SubstringPlan:
        """The plan of the tables."""
        return self.keys.plan

    @classmethod
    def of(cls, values: UInts, rows: AnyArray, plan: TablePlan, threads: int | None,
           compress: bool = False, room: int = PRESENCE_ROOM) -> SortedTables:
        """Sort fingerprints of up to 64 bits. O(n · tables), on several threads. `room` is as in `PlainTables.of`."""
        entries = np.empty((len(values), 2), np.uint64)
        entries[:, 0], entries[:, 1] = values, rows
        sort_entries(entries)
        first = np.concatenate([[True], entries[1:, 0] != entries[:-1, 0]])
        different = np.ascontiguousarray(entries[first, 0])
        sorted_rows, starts = _group_rows(entries[:, 1], first)
        del entries, first
        keys = CompressedTables.of(plan, different, threads) if compress else PlainTables.of(plan, different, threads, room)
        return cls(sorted_rows, starts, keys)

    @classmethod
    def of_wide(cls, values: UInts, rows: AnyArray, max_distance: int, threads: int | None) -> SortedTables:
        """Sort fingerprints of 128 or 256 bits, uint64 (n, words). O(n · bits), on several threads."""
        order = order_rows(values, rows)
        values = values[order]
        first = np.concatenate([[True], (values[1:] != values[:-1]).any(axis=1)])
        sorted_rows, starts = _group_rows(rows[order], first)
        different = values if starts is None else values[first]
        del values, order, first
        return cls(sorted_rows, starts, SubstringTables.of(max_distance, different, threads))

    @classmethod
    def restored(
        cls, plan: TablePlan | SubstringPlan, arrays: Mapping[str, AnyArray], rows: int, compress: bool, place: str,
    ) -> SortedTables:
        """Wrap the arrays of a file, named by `place`. Raises ValueError if their shapes do not fit; `check` reads them."""
        keys: Keys = SubstringTables.restored(plan, arrays) if isinstance(plan, SubstringPlan) else (
            CompressedTables if compress else PlainTables).restored(plan, arrays)
        starts, numbers = arrays.get("starts"), arrays["rows"]
        sound = numbers.ndim == 1 and numbers.dtype in (np.uint32, np.int64) and len(numbers) == rows
        if starts is None:
            sound &= len(numbers) == keys.count
        else:
            sound &= starts.dtype == np.int64 and starts.shape == (keys.count + 1,) and starts[0] == 0
            sound = sound and starts[-1] == len(numbers) and bool((np.diff(starts) > 0).all())
        if not sound:
            raise ValueError("its arrays do not fit each other")
        return cls(numbers, starts, keys, place)

    def check(self, threads: int | None) -> None:
        """Raise ValueError if the tables hold different fingerprints, or a row is missing. O(n · tables)."""
        self.keys.check(threads)
        seen = np.zeros(self.count, np.bool_)
        if int(self.rows.min()) < 0 or int(self.rows.max()) >= self.count:
            raise ValueError("it has rows that have no id")
        seen[self.rows] = True
        if not seen.all():
            raise ValueError("it has a row twice")
        repeated = np.ones(self.count, np.bool_)  # rows with the same fingerprint as the row before
        repeated[slice(None) if self.starts is None else self.starts[:-1]] = False
        if (self.rows[1:] <= self.rows[:-1])[repeated[1:]].any():
            raise ValueError("the rows of a fingerprint do not ascend")

    def _among(self, positions: AnyArray, n: int, what: str) -> Ints:
        """Convert positions to int64. Raises CorruptFile if one is not among n, as in an unverified file."""
        if self._place is not None and len(positions) and (int(positions.min()) < 0 or int(positions.max()) >= n):
            raise refused(self._place, what, n)
        return positions.astype(np.int64)

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """Bytes of the tables, without rows and starts."""
        return self.keys.nbytes

    def values(self) -> UInts:
        """Return the fingerprint of each of `rows`; uint64 (count,) or (count, words)."""
        fingerprints = self.keys.fingerprints(0, self.keys.count)
        return fingerprints if self.starts is None else np.repeat(fingerprints, np.diff(self.starts), axis=0)

    def many(self, queries: UInts) -> RowMatches:
        """Find all matches of several queries."""
        matches = self.keys.searcher.probe(queries)
        return self.expanded(*(matches[name].astype(np.int64) for name in ("query", "rank", "distance")))

    def expanded(self, query: Ints, rank: Ints, distance: Ints) -> RowMatches:
        """Replace each fingerprint, given by its rank among the ascending ones, by its rows."""
        rank = self._among(rank, self.keys.count, "fingerprint that was found")
        if self.starts is None:
            return RowMatches(query, self._among(self.rows[rank], self.count, "row"), distance)
        begin = self.starts[rank]
        counts = self.starts[rank + 1] - begin
        rows = self._among(self.rows[ranges(begin, counts)], self.count, "row")
        return RowMatches(np.repeat(query, counts), rows, np.repeat(distance, counts))

    def pairs(self, threads: int | None, most: int) -> tuple[Ints, Ints, Ints]:
        """Find (a, b, distance) of all pairs of rows within the plan's distance; a < b, ascending.

        ValueError where there are more than `most`.
        """
        return row_pairs(self.rows, self.starts, *self.keys.rank_pairs(threads, most), most)

    def arrays(self) -> Mapping[str, AnyArray]:
        """Name the arrays that a file holds."""
        named: dict[str, AnyArray] = {"rows": self.rows}
        if self.starts is not None:
            named["starts"] = self.starts
        return named | self.keys.arrays()


def _group_rows(rows: AnyArray, first: Bools) -> tuple[AnyArray, Ints | None]:
    """Return (rows, starts) of `SortedTables` for rows by fingerprint; first: whether it differs from the one before."""
    different = int(np.count_nonzero(first))
    if different > MAX_FINGERPRINTS:
        raise ValueError(f"{different} different fingerprints; an index holds {MAX_FINGERPRINTS}: split them, or "
                         "search them in a file with hamming_join")
    starts = None if different == len(rows) else np.append(np.flatnonzero(first), len(rows))
    return rows.astype(np.uint32 if int(rows.max()) < 1 << 32 else np.int64), starts
