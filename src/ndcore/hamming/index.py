"""Search of fingerprints within a few bits, exact, online and in batches (Manku, Jain, Das Sarma 2007, §3)."""

from __future__ import annotations

import math
import operator
import os
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcore import _hamming
from ndcore._types import AnyPath
from ndcore.hamming.fingerprints import checked_fingerprints, hamming_distances
from ndcore.hamming.ids import RowIds
from ndcore.hamming.sorted_tables import Found, SortedTables, joined
from ndcore.hamming.table_designs import PermutedTable
from ndcore.hamming.table_plan import TablePlan, checked_search, plan_tables
from ndcore.parallel import map_pieces
from ndcore.readonly import frozen, rebuilt
from ndcore.recipe import Recipe
from ndcore.storage import container
from ndcore.storage.container import CorruptFile
from ndcore.storage.packed_ids import PackedStrings

__all__ = ["HammingIndex", "Matches", "Pairs", "SavedFingerprints"]

BUFFER = 4096  # fingerprints that are scanned, before they become sorted tables
GROWTH = 8  # sorted parts, each at least so many times as large as the next
QUERIES_AT_ONCE = 1 << 14  # of one thread
MAX_PAIRS = 1 << 28

KIND = "hamming"
NOTHING = np.empty(0, np.int64)
NOTHING.setflags(write=False)


class Matches(NamedTuple):
    """What queries found: per match the position of the query, the id of the fingerprint and their distance. Read-only.

    Attributes
    ----------
    query : int64 (m,), ascending
    id : array (m,), of the ids' dtype
    distance : int64 (m,), ascending for each query; of equal ones the fingerprint added first comes first
    """

    query: NDArray[np.int64]
    id: NDArray[Any]
    distance: NDArray[np.int64]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (Matches, *self)


class Pairs(NamedTuple):
    """Pairs of fingerprints: ids and distance; the one added first is `a`, and pairs come in that order. Read-only."""

    a: NDArray[Any]
    b: NDArray[Any]
    distance: NDArray[np.int64]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (Pairs, *self)


class HammingIndex:
    """Fingerprints, to be found by any query that differs in at most max_distance bits. Exact.

    Sorted tables hold the fingerprints with their bits permuted; a query looks up one prefix in each (§3.1). What was
    added last is scanned until it is enough to sort: queries always see everything.

    Parameters
    ----------
    fingerprints : array of uint64, shape (n,)
        Repeats are kept, each with its id.
    ids : array of int, str or bytes, shape (n,), optional
        None: positions, counted on by `add`. An id may stand for several fingerprints.
    max_distance : int
        k, 0 to 10.
    plan : "auto" or TablePlan
        "auto": the tables of least expected time for as many fingerprints as there are, see `plan_tables`.
    bits : int
        Of a fingerprint, 1 to 64; the bits above are zero.
    threads : int, optional
        None: one per CPU; for sorting.
    compress : bool
        Keep the sorted tables compressed (§3.2): 2^20 random fingerprints take 6 bytes a table, 2^26 take 5.2, instead of 8
        and a directory. A probe decodes half a block of 2 KiB, so a query takes five to ten times as long; in large batches
        a block is decoded once for all queries that need it. The answers are the same.
    recipe : Recipe, optional
        That of simhashes, to be saved with the index: ``SimHasher.from_recipe(index.recipe)`` makes the queries for it.

    Raises
    ------
    TypeError, ValueError
        Fingerprints that are no unsigned integers of `bits` bits, ids of another number or kind, or a plan for another
        distance or other bits.

    Notes
    -----
    O(n) per table to build. A query takes O(tables · (1 + n / 2^p)) on random fingerprints, p the plan's prefix. Several
    threads may query at the same time; `add`, `remove`, `pairs` and `save` want the index for themselves.

    >>> index = HammingIndex([0b0000, 0b0111, 0b1111], max_distance=1, bits=4)
    >>> index.query(0b0110)
    (array([1]), array([1]))
    """

    def __init__(
        self,
        fingerprints: ArrayLike = (),
        ids: ArrayLike | None = None,
        max_distance: int = 3,
        plan: TablePlan | Literal["auto"] = "auto",
        bits: int = 64,
        threads: int | None = None,
        compress: bool = False,
        recipe: Recipe | None = None,
    ) -> None:
        self.bits, self.max_distance = checked_search(bits, max_distance, plan)
        if recipe is not None and not isinstance(recipe, Recipe):
            raise TypeError(f"recipe is that of sketches, or None, got {recipe!r}")
        self.plan, self.compress, self.recipe = plan, bool(compress), recipe
        self._ids = RowIds(ids is None)
        self._parts: list[SortedTables] = []
        self._buffer = np.empty(BUFFER, np.uint64)
        self._buffered = 0  # the last rows, in their order
        self._removed: NDArray[np.bool_] | None = None  # along the rows
        self._unread: str | None = None  # the file that the first part is from, as long as nobody looked whether it is sound
        self.add(fingerprints, ids, threads)

    def __len__(self) -> int:
        """Number of fingerprints, removed ones not counted."""
        return self._ids.count - (0 if self._removed is None else int(np.count_nonzero(self._removed)))

    def __repr__(self) -> str:
        compress = ", compress=True" if self.compress else ""
        return f"HammingIndex({len(self)} fingerprints of {self.bits} bits, max_distance={self.max_distance}{compress})"

    def __copy__(self) -> HammingIndex:
        """An index that changes by itself; both have the same sorted tables, which never change."""
        made = object.__new__(HammingIndex)
        ids = RowIds.of(self._ids.stored, self._ids.count, self._ids.following)
        removed = None if self._removed is None else self._removed.copy()
        vars(made).update(vars(self), _parts=[*self._parts], _buffer=self._buffer.copy(), _ids=ids, _removed=removed)
        return made

    @property
    def nbytes(self) -> int:
        """Bytes of the tables with all that searches them, and of the fingerprints not yet sorted; ids and rows apart."""
        return sum(part.nbytes for part in self._parts) + self._buffer[:self._buffered].nbytes

    @property
    def tables(self) -> TablePlan | None:
        """The plan of the largest sorted part; None while all is scanned."""
        return self._parts[0].plan if self._parts else None

    # ---- queries

    def query(self, fingerprint: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """(ids, distances) of all fingerprints within max_distance bits, nearest first, of equal ones the first added.

        O(tables · (1 + n / 2^p)). TypeError or ValueError for what is no fingerprint of `bits` bits.
        """
        try:
            value = operator.index(fingerprint)
        except TypeError:
            raise TypeError(f"fingerprints are unsigned 64-bit integers, got {fingerprint!r:.80}; query_many takes several"
                            ) from None
        if value < 0 or value >> self.bits:
            raise ValueError(f"{fingerprint} is no fingerprint of {self.bits} bits")
        found = [match for part in self._parts if (match := part.one(value)) is not None]
        if self._buffered:
            found.append(self._scanned(value))
        if not found:
            return self._ids[NOTHING], NOTHING
        rows, distance = found[0] if len(found) == 1 else (np.concatenate(columns) for columns in zip(*found, strict=True))
        if self._removed is not None:
            rows, distance = rows[~self._removed[rows]], distance[~self._removed[rows]]
        if len(rows) > 1:
            order = np.lexsort((rows, distance))
            rows, distance = rows[order], distance[order]
        return self._ids[rows], distance

    def query_many(self, fingerprints: ArrayLike, threads: int | None = None) -> Matches:
        """All fingerprints within max_distance bits of each query. The result does not depend on `threads`."""
        queries = checked_fingerprints(fingerprints, self.bits)
        starts = range(0, len(queries), QUERIES_AT_ONCE)
        found = joined(map_pieces(lambda at: self._matched(queries[at:at + QUERIES_AT_ONCE], at), starts, threads))
        return frozen(Matches(found.query, self._ids[found.row], found.distance))

    def _matched(self, queries: NDArray[np.uint64], first: int) -> Found:
        """Matches of some queries, sorted; the position of the first is `first`."""
        parts: list[tuple[NDArray[np.int64], ...]] = [part.many(queries) for part in self._parts]
        if self._buffered:
            for i, value in enumerate(queries.tolist()):
                rows, distance = self._scanned(value)
                parts.append((np.full(len(rows), i), rows, distance))
        found = joined(parts)
        if self._removed is not None:
            kept = ~self._removed[found.row]
            found = Found(*(column[kept] for column in found))
        query, row, distance = found.ordered()
        return Found(query + first, row, distance)

    def _scanned(self, value: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(rows, distances) among the fingerprints that are not sorted yet."""
        at = _hamming.scan(self._buffer[:self._buffered], value, self.max_distance)
        return at + (self._ids.count - self._buffered), hamming_distances(self._buffer[at], value)

    def pairs(self, threads: int | None = None) -> Pairs:
        """All pairs of fingerprints within max_distance bits of each other, equal ones included.

        Every table is scanned once, no query is made: O(tables · n · (1 + n / 2^p)). What was added since the last sorting
        is sorted in first. ValueError where there are more than 2^28 pairs; it says how many come from equal fingerprints.
        """
        self._gather(threads)
        if not self._parts:
            return frozen(Pairs(self._ids[NOTHING], self._ids[NOTHING], NOTHING))
        a, b, distance = self._parts[0].pairs(threads, MAX_PAIRS)
        return frozen(Pairs(self._ids[a], self._ids[b], distance))

    # ---- changes

    def add(self, fingerprints: ArrayLike, ids: ArrayLike | None = None, threads: int | None = None) -> None:
        """Add fingerprints, with ids where the index has ids.

        Queries see them at once. Amortised O(tables · log n) each. Errors as of the class; nothing is added then.
        """
        values = checked_fingerprints(fingerprints, self.bits)
        more = self._ids.extended(ids, len(values))
        if self._buffered + len(values) > BUFFER:
            self._merge(values, more, threads)
            return
        removed = self._removed_of(more.count)
        self._buffer[self._buffered:self._buffered + len(values)] = values
        self._buffered, self._ids, self._removed = self._buffered + len(values), more, removed

    def _removed_of(self, rows: int) -> NDArray[np.bool_] | None:
        """Which of so many rows are removed: at least so many, for there is room at the end."""
        if self._removed is None or len(self._removed) >= rows:
            return self._removed
        return np.append(self._removed, np.zeros(rows, np.bool_))

    def _merge(self, values: NDArray[np.uint64], ids: RowIds, threads: int | None, everything: bool = False) -> None:
        """Sort these values, the last rows of `ids`, what is buffered, and the parts that are not GROWTH times as large.
        Nothing of the index changes before all is done, so that nothing is lost where something is refused or interrupted.
        """
        self._read(threads)
        parts, removed = [*self._parts], self._removed_of(ids.count)
        values = np.concatenate([self._buffer[:self._buffered], values])
        rows = np.arange(ids.count - len(values), ids.count)
        while parts and (everything or parts[-1].count < GROWTH * len(values)):
            older = parts.pop()
            values, rows = np.concatenate([older.values(), values]), np.concatenate([older.rows.astype(np.int64), rows])
        if removed is not None:
            kept = ~removed[rows]
            values, rows = values[kept], rows[kept]
            if not parts:  # no other rows are left, so that they can be numbered anew
                order = np.argsort(rows)
                ids, values, rows, removed = ids.kept(rows[order]), values[order], np.arange(len(rows)), None
        if len(values):
            parts.append(SortedTables.of(values, rows, self._planned(len(values)), threads, self.compress))
        self._parts, self._buffered, self._ids, self._removed = parts, 0, ids, removed

    def _gather(self, threads: int | None) -> None:
        """One set of tables, of all that is not removed, and sound."""
        self._read(threads)
        if self._buffered or len(self._parts) > 1 or self._removed is not None:
            self._merge(np.empty(0, np.uint64), self._ids, threads, everything=True)

    def _planned(self, n: int) -> TablePlan:
        return self.plan if isinstance(self.plan, TablePlan) else plan_tables(self.bits, self.max_distance, math.log2(n))

    def remove(self, ids: ArrayLike) -> int:
        """Remove all fingerprints that have one of these ids; how many they were.

        O(log n) each after the first. KeyError where an id has none, and nothing is removed then.
        """
        self._read(None)
        rows = self._ids.rows_of(ids, self._removed)
        if self._removed is None:
            self._removed = np.zeros(self._ids.count, np.bool_)
        self._removed[rows] = True
        return len(rows)

    # ---- files

    def save(self, path: AnyPath) -> None:
        """Write the index to one checksummed file, atomically. It is sorted into one set of tables first, as by `pairs`."""
        self._gather(None)
        arrays: dict[str, NDArray[Any]] = {}
        plan, tables = self.plan, None
        if self._parts:
            arrays.update(self._parts[0].arrays())
            plan = self._parts[0].plan
        if isinstance(plan, TablePlan):
            tables = [[table.prefix, [list(run) for run in table.runs]] for table in plan.tables]
        ids = self._ids.stored
        if isinstance(ids, PackedStrings):
            arrays.update(id_bytes=ids.data, id_ends=ids.ends)
        elif ids is not None:
            arrays["ids"] = ids
        container.write(path, KIND, {
            "version": 1, "bits": self.bits, "max_distance": self.max_distance, "planned": self.plan != "auto",
            "compress": self.compress, "tables": tables, "count": self._ids.count, "following": self._ids.following,
            "str": isinstance(ids, PackedStrings) and ids.text,
            "recipe": None if self.recipe is None else self.recipe.to_json(),
        }, arrays)

    @classmethod
    def open(cls, path: AnyPath, verify: bool = True) -> HammingIndex:
        """An index that was saved, mapped into memory: it takes memory as it is used, and may be changed (the file is not).

        Nobody may write to the file or truncate it meanwhile: what is changed gives other answers, and reading what is gone
        ends the process (SIGBUS). `save` replaces files, which is safe.

        Parameters
        ----------
        path : str or path
        verify : bool
            Read everything once, compare the checksums, and see that the tables hold together: O(tables · n). False is for
            files verified before; then `pairs`, `save`, `remove` and whatever sorts the tables again do that, and queries
            raise CorruptFile where they meet what cannot be.

        Raises
        ------
        CorruptFile
            The file is damaged, of a newer version, or no index.
        ValueError, OSError
            It holds something else, or cannot be opened.
        """
        header, arrays = container.read(path, KIND, mmap=True, verify=verify)
        try:
            index = cls._restored(header, arrays, os.fspath(path))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise CorruptFile(f"{os.fspath(path)}: no sound index: {error}") from error
        index._unread = os.fspath(path)
        if verify:
            index._read(None)
        return index

    def _read(self, threads: int | None) -> None:
        """CorruptFile where the file that this is from was not verified, and does not hold together. O(tables · n)."""
        if self._unread is None:
            return
        try:
            for part in self._parts:
                part.check(threads)
            if isinstance(ids := self._ids.stored, PackedStrings):
                ids.check()
        except ValueError as error:
            raise CorruptFile(f"{self._unread}: no sound index: {error}") from error
        self._unread = None

    @classmethod
    def _restored(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], place: str) -> HammingIndex:
        if header["version"] != 1:
            raise ValueError(f"version {header['version']!r}; this ndcore reads version 1")
        recipe, count = header.get("recipe"), operator.index(header["count"])
        following = None if header["following"] is None else operator.index(header["following"])
        index = cls(ids=None if following is not None else (), max_distance=header["max_distance"], bits=header["bits"],
                    compress=header["compress"], recipe=Recipe.from_json(recipe) if recipe is not None else None)
        ids: NDArray[Any] | PackedStrings | None = arrays.get("ids")
        if "id_bytes" in arrays:
            ids = PackedStrings.restored(bool(header["str"]), arrays["id_bytes"], arrays["id_ends"], count, place)
        index._ids = RowIds.restored(ids, count, following)
        if count and (header["tables"] is None or "rows" not in arrays):
            raise ValueError(f"it has {count} fingerprints and no tables")
        if header["tables"] is not None:
            plan = TablePlan(index.bits, index.max_distance, math.log2(max(1, count)), tuple(
                PermutedTable(prefix, tuple((low, width) for low, width in runs)) for prefix, runs in header["tables"]))
            index.plan = plan if header["planned"] else "auto"
            index._parts = [SortedTables.restored(plan, arrays, count, index.compress, place)] if count else []
        return index


class SavedFingerprints:
    """The different fingerprints of a saved index, ascending, and the ids that each has. Checksums are not compared."""

    def __init__(self, path: AnyPath) -> None:
        index = HammingIndex.open(path, verify=False)
        self.bits, self._ids, self._place = index.bits, index._ids, os.fspath(path)
        self._tables = index._parts[0] if index._parts else None

    def __len__(self) -> int:
        """Number of different fingerprints."""
        return self._tables.keys.count if self._tables else 0

    def fingerprints(self, begin: int, end: int) -> NDArray[np.uint64]:
        """Those from one position up to another."""
        found = self._tables.keys.fingerprints(begin, end) if self._tables else np.empty(0, np.uint64)
        if int(found.max(initial=0)) >> self.bits:
            raise CorruptFile(f"{self._place}: a fingerprint, {found.max()}, has more than {self.bits} bits")
        return found

    def matches(self, found: Found) -> Matches:
        """Matches of which `row` is the position of the fingerprint, by query, then distance, then in order of addition."""
        query, row, distance = (self._tables.expanded(*found) if self._tables else found).ordered()
        return frozen(Matches(query, self._ids[row], distance))
