"""Sorted tables of permuted fingerprints, and the rows that have each fingerprint (Manku, Jain, Das Sarma 2007, §3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore import _hamming
from ndcore._pairs import sort_entries
from ndcore.planning import MAX_TABLES, Table, TablePlan, directory_bits
from ndcore.texts import map_pieces

__all__ = ["Found", "SortedTables", "joined"]

MAX_FINGERPRINTS = (1 << 32) - 1
RANGES_PER_TABLE = 16  # that pairs are searched in, one after another, so that threads share a table

Ints = NDArray[np.int64]


class Found(NamedTuple):
    """Matches: position of the query, row of the fingerprint, distance; int64 (m,) each."""

    query: Ints
    row: Ints
    distance: Ints


def joined(parts: Iterable[tuple[Ints, ...]]) -> Found:
    """The matches of all parts, one after another."""
    listed = list(parts)
    if len(listed) == 1:
        return Found(*listed[0])
    return Found(*(np.concatenate([np.empty(0, np.int64), *arrays]) for arrays in zip(*listed, strict=True)) if listed
                 else (np.empty(0, np.int64),) * 3)


class SortedTables:
    """The different fingerprints of some rows in the tables of a plan. Immutable.

    Attributes
    ----------
    rows : unsigned integers, shape (count,)
        Rows by ascending fingerprint, those of one fingerprint ascending.
    starts : int64, shape (different + 1,), or None
        Where the rows of each fingerprint begin; None where every fingerprint has one row.
    keys : list of uint64 arrays, shape (different,)
        Per table, ascending; the first are the fingerprints.
    directories : list of uint32 arrays
        Per table, where each value of the leading bits begins.
    """

    def __init__(self, plan: TablePlan, rows: NDArray[Any], starts: Ints | None, keys: list[NDArray[np.uint64]],
                 directories: list[NDArray[np.uint32]]) -> None:
        self.plan, self.rows, self.starts, self.keys, self.directories = plan, rows, starts, keys, directories
        self._searcher = _hamming.Searcher(plan.bits, plan.max_distance, [
            (_runs(table), table.prefix, table.leading, sorted_keys, begins, (len(begins) - 1).bit_length() - 1)
            for table, sorted_keys, begins in zip(plan.tables, keys, directories, strict=True)
        ])

    @classmethod
    def of(cls, values: NDArray[np.uint64], rows: NDArray[Any], plan: TablePlan, threads: int | None) -> SortedTables:
        """Sort fingerprints. O(n · tables), on several threads."""
        entries = np.empty((len(values), 2), np.uint64)
        entries[:, 0], entries[:, 1] = values, rows
        sort_entries(entries)
        first = np.concatenate([[True], entries[1:, 0] != entries[:-1, 0]])
        different = np.ascontiguousarray(entries[first, 0])
        starts = None if len(different) == len(entries) else np.append(np.flatnonzero(first), len(entries))
        sorted_rows = entries[:, 1].astype(np.uint32 if int(rows.max()) < 1 << 32 else np.int64)
        del entries, first
        if len(different) > MAX_FINGERPRINTS:
            raise ValueError(f"{len(different)} different fingerprints; an index holds {MAX_FINGERPRINTS}: split them, or "
                             "search them in a file with hamming_join")
        bits = [directory_bits(table.prefix, float(np.log2(len(different)))) for table in plan.tables]

        def made(t: int) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
            keys = different
            if t:
                keys = _hamming.permuted(_runs(plan.tables[t]), different)
                _hamming.sort(keys)
            return keys, _hamming.directory(keys, plan.bits, bits[t])

        keys, directories = zip(*map_pieces(made, range(len(plan.tables)), threads), strict=True)
        return cls(plan, sorted_rows, starts, list(keys), list(directories))

    @classmethod
    def restored(cls, plan: TablePlan, arrays: Mapping[str, NDArray[Any]], rows: int) -> SortedTables:
        """Tables from `arrays` of a file; ValueError where they do not fit each other. Nothing is read but `starts`."""
        every = (1 << plan.bits) - 1
        for t, table in enumerate(plan.tables):
            covered = sum(((1 << width) - 1) << low for low, width in table.runs)
            if covered != every or sum(width for _, width in table.runs) != plan.bits or not 0 <= table.prefix <= plan.bits:
                raise ValueError(f"table {t} is no permutation of {plan.bits} bits")
        if not plan.tables or len(plan.tables) > MAX_TABLES or plan.tables[0].runs != ((0, plan.bits),):
            raise ValueError("the first table does not keep the bits in their order")
        keys = [arrays[f"keys{t}"] for t in range(len(plan.tables))]
        directories = [arrays[f"directory{t}"] for t in range(len(plan.tables))]
        starts, numbers = arrays.get("starts"), arrays["rows"]
        n = len(keys[0])
        sound = all(k.dtype == np.uint64 and k.shape == (n,) for k in keys) and all(
            d.dtype == np.uint32 and d.ndim == 1 and (len(d) - 1).bit_count() == 1 and len(d) - 1 <= 1 << table.prefix
            for d, table in zip(directories, plan.tables, strict=True))
        sound &= numbers.ndim == 1 and numbers.dtype in (np.uint32, np.int64) and len(numbers) <= rows
        if starts is None:
            sound &= len(numbers) == n
        else:
            sound &= starts.dtype == np.int64 and starts.shape == (n + 1,) and starts[0] == 0
            sound = sound and starts[-1] == len(numbers) and bool((np.diff(starts) > 0).all())
        if not sound:
            raise ValueError("its arrays do not fit each other")
        return cls(plan, numbers, starts, keys, directories)

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """Bytes of keys and directories."""
        return sum(keys.nbytes for keys in self.keys) + sum(begins.nbytes for begins in self.directories)

    def values(self) -> NDArray[np.uint64]:
        """The fingerprint of each of `rows`; uint64 (count,)."""
        return self.keys[0] if self.starts is None else np.repeat(self.keys[0], np.diff(self.starts))

    def one(self, query: int) -> tuple[Ints, Ints] | None:
        """(rows, distances) of the fingerprints within the plan's distance, or None."""
        matches = self._searcher.probe_one(query)
        return None if matches is None else self._expanded(matches)[1:]

    def many(self, queries: NDArray[np.uint64]) -> Found:
        """All matches of several queries."""
        return self._expanded(self._searcher.probe(queries))

    def _expanded(self, matches: NDArray[Any]) -> Found:
        """The rows of every fingerprint found."""
        query, rank, distance = (matches[name].astype(np.int64) for name in ("query", "rank", "distance"))
        if self.starts is None:
            return Found(query, self.rows[rank].astype(np.int64), distance)
        begin = self.starts[rank]
        counts = self.starts[rank + 1] - begin
        rows = self.rows[_ranges(begin, counts)].astype(np.int64)
        return Found(np.repeat(query, counts), rows, np.repeat(distance, counts))

    def pairs(self, threads: int | None, most: int) -> tuple[Ints, Ints, Ints]:
        """(a, b, distance) of all pairs of rows within the plan's distance, a < b, ascending.

        ValueError where there are more than `most`.
        """
        found = np.concatenate([*map_pieces(lambda task: self._searcher.pairs(*task), self._tasks(), threads)])
        a, b = (np.ascontiguousarray(column) for column in found.T)
        x, y = self._searcher.ranks(a), self._searcher.ranks(b)
        sizes = np.ones(len(self.keys[0]), np.int64) if self.starts is None else np.diff(self.starts)
        equal = float((sizes * (sizes - 1.0) / 2).sum())
        total = equal + float((sizes[x] * sizes[y].astype(np.float64)).sum())
        if total > most:
            raise ValueError(f"there are {total:.0f} pairs, {equal:.0f} of them of equal fingerprints (one has "
                             f"{sizes.max()} rows); at most {most} are listed: leave equal fingerprints out first, or "
                             "ask query_many")
        near = self._products(x, y, sizes, _hamming.distances(a, b))
        same = self._products(*(np.flatnonzero(sizes > 1),) * 2, sizes, None)
        first, second, distance = (np.concatenate(arrays) for arrays in zip(near, same, strict=True))
        order = np.lexsort((second, first))
        return first[order], second[order], distance[order]

    def _tasks(self) -> Iterable[tuple[int, int, int]]:
        """(table, begin, end) of ranges of keys that cut no prefix in two."""
        for t, directory in enumerate(self.directories):
            ends = directory[np.linspace(0, len(directory) - 1, RANGES_PER_TABLE + 1).astype(np.int64)].astype(np.int64)
            for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                if end > begin:
                    yield t, begin, end

    def _products(self, x: Ints, y: Ints, sizes: Ints, distance: Ints | None) -> tuple[Ints, Ints, Ints]:
        """Every row of fingerprint x[i] with every row of y[i]; without distances, x is y and each pair comes once."""
        begins = np.arange(len(sizes)) if self.starts is None else self.starts
        counts = sizes[x] * sizes[y]
        which = np.repeat(np.arange(len(x)), counts)
        within = _ranges(np.zeros(len(x), np.int64), counts)
        width = sizes[y][which]
        a = self.rows[begins[x][which] + within // width].astype(np.int64)
        b = self.rows[begins[y][which] + within % width].astype(np.int64)
        if distance is None:
            once = a < b
            return a[once], b[once], np.zeros(int(np.count_nonzero(once)), np.int64)
        return np.minimum(a, b), np.maximum(a, b), distance[which]

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """What a file holds of this, by name."""
        named: dict[str, NDArray[Any]] = {"rows": self.rows}
        if self.starts is not None:
            named["starts"] = self.starts
        for t, (keys, directory) in enumerate(zip(self.keys, self.directories, strict=True)):
            named[f"keys{t}"], named[f"directory{t}"] = keys, directory
        return named


def _runs(table: Table) -> NDArray[np.uint8]:
    """The permutation as the kernel takes it: lows and widths."""
    return np.ascontiguousarray(np.array(table.runs, np.uint8).T)


def _ranges(begins: Ints, counts: Ints) -> Ints:
    """begins[0], begins[0] + 1, … (counts[0] of them), begins[1], …"""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total) + np.repeat(begins - (ends - counts), counts))
