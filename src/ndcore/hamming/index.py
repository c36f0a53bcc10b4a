"""An exact index of fingerprints: every one within a few bits of a query (Manku, Jain, Das Sarma 2007, §3)."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import ndcore._hamming as _hamming
from ndcore._hamming import near_rows
from ndcore._types import AnyArray, AnyPath, Bools, Ints, UInts
from ndcore.hamming.fingerprints import WIDE, bits_of, checked_fingerprints, checked_query, word_shape
from ndcore.hamming.ids import NO_ROWS, RowIds
from ndcore.hamming.index_file import StoredIndex, read_index, write_index
from ndcore.hamming.results import MAX_PAIRS, Matches, Pairs
from ndcore.hamming.sorted_tables import RowMatches, SortedTables, joined
from ndcore.hamming.substring_plan import SubstringPlan
from ndcore.hamming.table_plan import TablePlan, checked_search, plan_tables
from ndcore.notebook import fact_table, show_result
from ndcore.parallel import map_pieces
from ndcore.readonly import frozen
from ndcore.recipe import Recipe
from ndcore.storage.container import CorruptFile
from ndcore.storage.packed_ids import PackedStrings

QUERIES_AT_ONCE = 1 << 14  # of one thread


class HammingIndex:
    """Exact index of fingerprints: find every one that differs from a query in at most max_distance bits.

    Sorted tables hold the fingerprints with their bits permuted, and a query looks up one prefix in each (Manku et al.
    2007, §3.1). Fingerprints of 128 and 256 bits are found by their substrings (multi-index hashing; Norouzi et al. 2012).
    Recent additions are scanned until there are enough to sort; queries always see all fingerprints.

    Parameters
    ----------
    fingerprints : array of uint64, shape (n,)
        Repeats are kept, each with its id. Of 128 and 256 bits: uint64, shape (n, 2) or (n, 4), the most significant word
        first; big-endian bytes, uint8, shape (n, 16) or (n, 32); or a list of ints; the last two with `bits`.
    ids : array of int, str or bytes, shape (n,), optional
        None: positions, continued by `add`. Several fingerprints may have the same id.
    max_distance : int
        Greatest Hamming distance k to find: 0 to 10 bits, or 31 of 128 and 256 bits.
    plan : "auto" or TablePlan
        Tables to build. "auto": those with the least expected query time, see `plan_tables`.
    bits : int, optional
        Bits of a fingerprint: 1 to 64, where higher bits are zero, 128 or 256. None: 64 for each word of the fingerprints.
    threads : int, optional
        Threads that sort. None: one per CPU.
    compress : bool
        Compress the sorted tables (§3.2): 2^20 random fingerprints take 6 bytes a table, and 2^26 take 5.2, instead of 8
        and a directory. A query takes five to ten times as long, because a probe decodes half a block of 2 KiB; a large
        batch decodes each block once for all its queries. The answers are the same. Not for 128 and 256 bits.
    recipe : Recipe, optional
        Recipe of the simhashes, saved with the index: ``SimHasher.from_recipe(index.recipe)`` makes its queries.

    Raises
    ------
    TypeError, ValueError
        A fingerprint is not an unsigned integer of `bits` bits, the ids differ in number or kind, or the plan is for
        another distance or other bits.

    Notes
    -----
    Building takes O(n) per table. A query takes O(tables · (1 + n / 2^p)) on random fingerprints, where p is the prefix of
    the plan. Of 128 and 256 bits it takes as many lookups as `tables` says, and compares what they find: 2,900 of each for
    10 million random fingerprints of 256 bits within 31. If more than an eighth of all fingerprints would be compared,
    because many share substrings, a query compares all in their order, which takes no longer. Several threads may query at
    the same time; `add`, `remove`, `pairs` and `save` need exclusive use.

    References
    ----------
    Manku, Jain, Das Sarma (2007), Detecting near-duplicates for web crawling, §3, DOI 10.1145/1242572.1242592. Norouzi,
    Punjani, Fleet (2012), Fast search in Hamming space with multi-index hashing, DOI 10.1109/CVPR.2012.6248043.

    Examples
    --------
    >>> index = HammingIndex([0b0000, 0b0111, 0b1111], max_distance=1, bits=4)
    >>> index.query(0b0110)
    (array([1]), array([1]))
    """

    bits: int
    max_distance: int
    compress: bool
    recipe: Recipe | None

    def __init__(
        self,
        fingerprints: ArrayLike = (),
        ids: ArrayLike | None = None,
        max_distance: int = 3,
        plan: TablePlan | Literal["auto"] = "auto",
        bits: int | None = None,
        threads: int | None = None,
        compress: bool = False,
        recipe: Recipe | None = None,
    ) -> None:
        self.bits, self.max_distance = checked_search(bits_of(fingerprints, bits), max_distance, plan)
        if compress and self.bits in WIDE:
            raise ValueError(f"tables of {self.bits} bits are not compressed; leave compress out")
        if recipe is not None and not isinstance(recipe, Recipe):
            raise TypeError(f"recipe is the Recipe of sketches, or None, got {recipe!r}")
        self.plan, self.compress, self.recipe = plan, bool(compress), recipe
        self._ids = RowIds(ids is None)
        self._levels: list[SortedTables] = []  # largest first, see `take_small_levels`
        self._buffer = np.empty((BUFFER, *word_shape(self.bits)), np.uint64)
        self._buffered = 0  # fingerprints in the buffer: the last rows, in their order
        self._removed: Bools | None = None  # by row
        self._unverified: str | None = None  # path of the file, until its tables are known to be sound
        self.add(fingerprints, ids, threads)

    def __len__(self) -> int:
        """Return the number of fingerprints; removed ones do not count."""
        return self._ids.count - (0 if self._removed is None else int(np.count_nonzero(self._removed)))

    def __repr__(self) -> str:
        compress = ", compress=True" if self.compress else ""
        return f"HammingIndex({len(self)} fingerprints of {self.bits} bits, max_distance={self.max_distance}{compress})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what is in the index, and its tables."""
        return show_result(repr(self), fact_table(
            ("fingerprints", len(self)), ("bits", self.bits), ("max_distance", self.max_distance), ("nbytes", self.nbytes),
            ("tables", "" if self.tables is None else str(self.tables))))

    def __copy__(self) -> HammingIndex:
        """Copy the index. Both share the sorted tables, which are immutable."""
        copied = object.__new__(HammingIndex)
        ids = RowIds.of(self._ids.stored, self._ids.count, self._ids.following)
        removed = None if self._removed is None else self._removed.copy()
        vars(copied).update(vars(self), _levels=[*self._levels], _buffer=self._buffer.copy(), _ids=ids, _removed=removed)
        return copied

    @property
    def nbytes(self) -> int:
        """Bytes of the tables, their directories and the buffer; without ids and rows."""
        return sum(level.nbytes for level in self._levels) + self._buffer[:self._buffered].nbytes

    @property
    def tables(self) -> TablePlan | SubstringPlan | None:
        """Plan of the largest level; None while all fingerprints are in the buffer."""
        return self._levels[0].plan if self._levels else None

    # ---- queries

    def query(self, fingerprint: int | ArrayLike) -> tuple[AnyArray, Ints]:
        """Find all fingerprints within max_distance bits of one fingerprint.

        Parameters
        ----------
        fingerprint : int
            Of 128 and 256 bits also its words or its bytes, as in `HammingIndex`.

        Returns
        -------
        ids, distances : arrays of shape (m,)
            Nearest first; at the same distance, the fingerprint added first comes first.

        Raises
        ------
        TypeError, ValueError
            The query is not an unsigned integer of `bits` bits.

        Notes
        -----
        O(tables · (1 + n / 2^p)) on random fingerprints.
        """
        if self.bits in WIDE:
            _, ids, near = self.query_many(checked_query(fingerprint, self.bits), 1)
            return ids, near
        recent = self._recent if self._buffered else None
        rows, distances = near_rows(self._levels, recent, fingerprint, self.bits, self.max_distance, self._removed)
        if not rows:
            return self._ids[NO_ROWS], NO_ROWS
        return self._ids[np.array(rows, np.int64)], np.array(distances, np.int64)

    @property
    def _recent(self) -> Recent | None:
        """The fingerprints in the buffer; None if it is empty."""
        used = self._buffered
        return Recent(self._buffer[:used], self._ids.count - used) if used else None

    def query_many(self, fingerprints: ArrayLike, threads: int | None = None) -> Matches:
        """Find all fingerprints within max_distance bits of each query.

        Parameters
        ----------
        fingerprints : array of uint64, shape (m,)
            The queries, as in `HammingIndex`.
        threads : int, optional
            None: one per CPU. The result does not depend on it.

        Returns
        -------
        Matches

        Raises
        ------
        TypeError, ValueError
            A query is not an unsigned integer of `bits` bits.
        """
        queries = checked_fingerprints(fingerprints, self.bits)

        def matched(at: int) -> RowMatches:
            some = queries[at:at + QUERIES_AT_ONCE]
            return near_many(self._levels, self._recent, some, at, self.max_distance, self._removed)

        near = joined(map_pieces(matched, range(0, len(queries), QUERIES_AT_ONCE), threads))
        return frozen(Matches(near.query, self._ids[near.row], near.distance))

    def pairs(self, threads: int | None = None) -> Pairs:
        """Find all pairs of fingerprints within max_distance bits of each other, repeated ones included.

        Parameters
        ----------
        threads : int, optional
            None: one per CPU. The result does not depend on it.

        Returns
        -------
        Pairs

        Raises
        ------
        ValueError
            There are more than 2^28 pairs; the message says how many come from repeated fingerprints.

        Notes
        -----
        Scans every table once: O(tables · n · (1 + n / 2^p)). The buffer and all levels are merged first.
        """
        self._gather(threads)
        if not self._levels:
            return frozen(Pairs(self._ids[NO_ROWS], self._ids[NO_ROWS], NO_ROWS))
        a, b, distance = self._levels[0].pairs(threads, MAX_PAIRS)
        return frozen(Pairs(self._ids[a], self._ids[b], distance))

    # ---- changes

    def add(self, fingerprints: ArrayLike, ids: ArrayLike | None = None, threads: int | None = None) -> None:
        """Add fingerprints, with ids if the index has ids. Queries find them at once.

        Parameters
        ----------
        fingerprints, ids, threads
            As in `HammingIndex`.

        Raises
        ------
        TypeError, ValueError
            As in `HammingIndex`; nothing is added then.

        Notes
        -----
        Amortised O(tables · log n) per fingerprint, by a log-structured merge: one at a time 5.8 µs each up to 200,000,
        merges included (Intel Xeon, 2 vCPU, 2026-11-22).
        """
        values = checked_fingerprints(fingerprints, self.bits)
        more = self._ids.extended(ids, len(values))
        if self._buffered + len(values) > BUFFER:
            self._merge(values, more, threads)
            return
        removed = self._removed_mask(more.count)
        self._buffer[self._buffered:self._buffered + len(values)] = values
        self._buffered, self._ids, self._removed = self._buffered + len(values), more, removed

    def _removed_mask(self, rows: int) -> Bools | None:
        """Return the mask of removed rows, at least `rows` long. Spare room may follow."""
        if self._removed is None or len(self._removed) >= rows:
            return self._removed
        return np.append(self._removed, np.zeros(rows, np.bool_))

    def _merge(self, values: UInts, ids: RowIds, threads: int | None, everything: bool = False) -> None:
        """Merge the buffer, these values (the last rows of `ids`) and all small levels into a new level.

        This is the log-structured merge of `take_small_levels`. Removed rows are dropped on the way. The index is assigned
        last, so that an error or an interruption leaves it as it was.
        """
        self._verify(threads)
        removed = self._removed_mask(ids.count)
        values = np.concatenate([self._buffer[:self._buffered], values])
        rows = np.arange(ids.count - len(values), ids.count)
        levels, values, rows = take_small_levels(self._levels, values, rows, everything)
        if removed is not None:
            kept = ~removed[rows]
            values, rows = values[kept], rows[kept]
            if not levels:  # no other rows are left: renumber them
                order = np.argsort(rows)
                ids, values, rows, removed = ids.kept(rows[order]), values[order], np.arange(len(rows)), None
        if len(values):
            levels.append(self._sort(values, rows, threads))
        self._levels, self._buffered, self._ids, self._removed = levels, 0, ids, removed

    def _gather(self, threads: int | None) -> None:
        """Merge all levels into one, without removed rows and verified."""
        self._verify(threads)
        if self._buffered or len(self._levels) > 1 or self._removed is not None:
            self._merge(self._buffer[:0], self._ids, threads, everything=True)

    def _sort(self, values: UInts, rows: Ints, threads: int | None) -> SortedTables:
        """Sort fingerprints into a level of their own."""
        if self.bits in WIDE:
            return SortedTables.of_wide(values, rows, self.max_distance, threads)
        plan = self.plan if isinstance(self.plan, TablePlan) else \
            plan_tables(self.bits, self.max_distance, math.log2(len(values)))
        return SortedTables.of(values, rows, plan, threads, self.compress)

    def remove(self, ids: ArrayLike) -> int:
        """Remove all fingerprints that have one of these ids.

        Parameters
        ----------
        ids : id, or array of ids

        Returns
        -------
        int
            Number of fingerprints removed.

        Raises
        ------
        KeyError
            No fingerprint has one of the ids; nothing is removed then.
        TypeError
            The index has ids of another kind.

        Notes
        -----
        O(log n) per id after the first call, which sorts the ids.
        """
        self._verify(None)
        rows = self._ids.rows_of(ids, self._removed)
        if self._removed is None:
            self._removed = np.zeros(self._ids.count, np.bool_)
        self._removed[rows] = True
        return len(rows)

    # ---- files

    def save(self, path: AnyPath) -> None:
        """Write the index to one checksummed file, atomically. All levels are merged into one first."""
        self._gather(None)
        write_index(path, StoredIndex(self.bits, self.max_distance, self.compress, self.plan, self.recipe, self._ids,
                                      self._levels[0] if self._levels else None))

    @classmethod
    def open(cls, path: AnyPath, verify: bool = True) -> HammingIndex:
        """Open a saved index, mapped into memory. Changes to the index do not change the file.

        Parameters
        ----------
        path : str or path
        verify : bool
            Read the whole file once: compare the checksums, and check that the tables are sound, O(tables · n). False is
            for files verified before. Then `pairs`, `save`, `remove` and merges check the tables, and queries raise
            CorruptFile where they find an impossible value.

        Returns
        -------
        HammingIndex

        Raises
        ------
        CorruptFile
            The file is damaged, of a newer version, or does not hold an index.
        ValueError, OSError
            The file is of another kind, or cannot be opened.

        Notes
        -----
        Nobody may write to the file or truncate it while it is mapped: queries would give wrong answers, and reading past
        the end of a truncated file ends the process (SIGBUS). `save` replaces files, which is safe.
        """
        stored = read_index(path, verify)
        index = cls(ids=None if stored.ids.counted else (), max_distance=stored.max_distance, bits=stored.bits,
                    compress=stored.compress, recipe=stored.recipe)
        index.plan, index._ids, index._levels = stored.plan, stored.ids, [stored.tables] if stored.tables else []
        index._unverified = os.fspath(path)
        if verify:
            index._verify(None)
        return index

    def _verify(self, threads: int | None) -> None:
        """Raise CorruptFile if the file of this index is unsound, unless it was verified. O(tables · n)."""
        if self._unverified is None:
            return
        try:
            for level in self._levels:
                level.check(threads)
            if isinstance(ids := self._ids.stored, PackedStrings):
                ids.check()
        except ValueError as error:
            raise CorruptFile(f"{self._unverified}: no sound index: {error}") from error
        self._unverified = None


class Recent(NamedTuple):
    """The buffer: fingerprints from row `first` on, which are in no table yet."""

    values: UInts
    first: int

    def near(self, value: int, max_distance: int) -> tuple[list[int], list[int]]:
        """Scan the buffer: (rows, distances) within max_distance bits of a value, by row."""
        at = _hamming.scan(self.values, value, max_distance)
        if not len(at):
            return [], []
        return (at + self.first).tolist(), [(near ^ value).bit_count() for near in self.values[at].tolist()]

    def many(self, queries: UInts, max_distance: int) -> list[tuple[Ints, ...]]:
        """Scan the buffer for several queries: parts of (positions of queries, rows, distances)."""
        if self.values.ndim == 2:
            near = _hamming.SubstringSearcher(self.values, max_distance, []).probe(queries)
            query, rank, distance = (near[name].astype(np.int64) for name in ("query", "rank", "distance"))
            return [(query, rank + self.first, distance)]
        parts: list[tuple[Ints, ...]] = []
        for i, value in enumerate(queries.tolist()):
            rows, distances = self.near(value, max_distance)
            if rows:
                parts.append((np.full(len(rows), i), np.array(rows), np.array(distances)))
        return parts


def near_many(
    levels: Sequence[SortedTables], recent: Recent | None, queries: UInts, first: int, max_distance: int,
    removed: Bools | None,
) -> RowMatches:
    """Find the matches of some queries, by query, then as `_near.near_rows` sorts. `first`: position of the first query."""
    parts: list[tuple[Ints, ...]] = [level.many(queries) for level in levels]
    if recent is not None:
        parts += recent.many(queries, max_distance)
    near = joined(parts)
    if removed is not None:
        kept = ~removed[near.row]
        near = RowMatches(*(column[kept] for column in near))
    query, row, distance = near.ordered()
    return RowMatches(query + first, row, distance)


# ---- the log-structured merge that keeps an index sorted while it grows
#
# The naive way sorts all n fingerprints again whenever some are added. Here an addition goes to a buffer, which queries
# scan. A full buffer becomes a level: sorted tables of its own. Levels are ordered largest first, and a level that is too
# small beside the new one is merged into it:
#
#     new ← the buffer
#     while the last level has fewer than GROWTH · |new| fingerprints:
#         new ← new and the last level;  drop the last level
#     sort new;  append it as the last level
#
# Bounds: each level is at least GROWTH = 8 times as large as the next, so n fingerprints are in at most
# 1 + log_8(n / BUFFER) levels, and a query searches all of them. A level is sorted again only together with more than 1/8 as
# many new fingerprints, so each sorting moves a fingerprint to a level more than 9/8 times as large. Hence a fingerprint is
# sorted O(log n) times, and adding it takes O(tables · log n) amortised.
#
# O'Neil, Cheng, Gawlick, O'Neil (1996), The log-structured merge-tree (LSM-tree), Acta Informatica 33(4),
# DOI 10.1007/s002360050048.

BUFFER = 4096  # fingerprints that queries scan before they become a level
GROWTH = 8  # the least ratio of the sizes of neighbouring levels


def take_small_levels(
    levels: Sequence[SortedTables], values: UInts, rows: Ints, everything: bool = False,
) -> tuple[list[SortedTables], UInts, Ints]:
    """Split off the levels to merge with new fingerprints: the ones too small to stay, or all.

    Returns the levels that stay, then the fingerprints and rows to sort into a new level.
    """
    left = [*levels]
    while left and (everything or left[-1].count < GROWTH * len(values)):
        level = left.pop()
        values, rows = np.concatenate([level.values(), values]), np.concatenate([level.rows.astype(np.int64), rows])
    return left, values, rows
