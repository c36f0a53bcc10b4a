"""All pairs of near fingerprints in one collection, one table at a time (Manku, Jain, Das Sarma 2007, §3.1)."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import ndcore._hamming as _hamming
import ndcore._keys as _keys
from ndcore._types import UInts
from ndcore.hamming.fingerprints import WIDE, bits_of, checked_fingerprints, mapped_fingerprints
from ndcore.hamming.ids import NO_ROWS, RowIds
from ndcore.hamming.join import hamming_join
from ndcore.hamming.plain_tables import orders
from ndcore.hamming.results import MAX_PAIRS, Pairs
from ndcore.hamming.row_pairs import collected, near_pairs, row_pairs
from ndcore.hamming.sorted_tables import SortedTables
from ndcore.hamming.substring_tables import SubstringTables
from ndcore.hamming.table_plan import TablePlan, checked_search, plan_pairs
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress, reporting
from ndcore.readonly import frozen

PIECE = 1 << 20  # fingerprints read at a time
LEAST_KEYS = 1 << 25  # least number of keys that a thread sorts at a time, if a table has more
COUNTED_BITS = 14  # leading bits by which a table is split into ranges


def hamming_pairs(
    fingerprints: ArrayLike | str | os.PathLike[str],
    ids: ArrayLike | None = None,
    max_distance: int = 3,
    *,
    bits: int | None = None,
    plan: TablePlan | Literal["auto"] = "auto",
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Pairs:
    """Find all pairs of fingerprints within max_distance bits of each other, repeated ones included. Exact.

    The result equals ``HammingIndex(fingerprints, ids, max_distance).pairs()``, without keeping an index: each table is
    built, searched for pairs and dropped; a large table is handled range by range. For 128 and 256 bits the tables of an
    index are built, and every fingerprint is looked up.

    Parameters
    ----------
    fingerprints : array of uint64, shape (n,), or path
        Of 128 and 256 bits as in `HammingIndex`. A path names an array saved by NumPy (.npy), or a file of little-endian
        uint64 without a header. It is mapped into memory.
    ids : array of int, str or bytes, shape (n,), optional
        None: positions.
    max_distance, bits
        As in `HammingIndex`.
    plan : "auto" or TablePlan
        "auto": the tables of least expected time.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total), in fingerprints times tables.

    Returns
    -------
    Pairs
        Ids and distances. `a` has the smaller position, and pairs are sorted by the positions of `a`, then `b`.

    Raises
    ------
    TypeError, ValueError
        A fingerprint is not an unsigned integer of `bits` bits, the file holds something else, the ids differ in number or
        kind, the plan is for another distance or other bits, or there are more than 2^28 pairs; the message says how many
        come from repeated fingerprints.
    OSError
        The file cannot be read.

    Notes
    -----
    O(tables · n · (1 + n / 2^p)), where p is the prefix of the plan. Memory: 8 bytes per different fingerprint; 16 bytes
    for each of 2^25 fingerprints on each thread, or 4 bytes for each of all n where that is more; and the pairs.

    References
    ----------
    Manku, Jain, Das Sarma (2007), Detecting near-duplicates for web crawling, §3.1, DOI 10.1145/1242572.1242592.

    Examples
    --------
    >>> hamming_pairs([0b0110, 0b1000, 0b0111], max_distance=1, bits=4)
    <Pairs: 1 row of (a, b, distance): (0, 2, 1)>
    """
    bits, max_distance = checked_search(bits_of(fingerprints, bits), max_distance, plan)
    collection = mapped_fingerprints(fingerprints, bits) if isinstance(fingerprints, (str, os.PathLike)) else \
        checked_fingerprints(fingerprints, bits)
    row_ids = RowIds(ids is None).extended(ids, len(collection))
    if bits in WIDE:
        return _find_wide_pairs(checked_fingerprints(collection, bits), row_ids, max_distance, threads, progress)
    if plan == "auto":
        plan = plan_pairs(bits, max_distance, math.log2(max(1, len(collection))))
    with reporting(progress) as report:
        near, repeated = _Search(collection, plan, threads, report).run()
    paired = np.unique(np.concatenate([near.ravel(), repeated]))
    rows = hamming_join(paired, collection, 0, bits=bits, threads=threads)  # of each fingerprint that is in a pair
    starts = np.searchsorted(rows.query, np.arange(len(paired) + 1))
    x, y = (np.searchsorted(paired, column) for column in near.T)
    a, b, distance = row_pairs(rows.id, starts, x, y, _hamming.distances(*map(np.ascontiguousarray, near.T)), MAX_PAIRS)
    return frozen(Pairs(row_ids[a], row_ids[b], distance))


def _find_wide_pairs(collection: UInts, ids: RowIds, max_distance: int, threads: int | None,
                     progress: bool | Progress | None) -> Pairs:
    """Find all pairs of fingerprints of 128 or 256 bits, by tables of their substrings."""
    if not len(collection):
        return frozen(Pairs(ids[NO_ROWS], ids[NO_ROWS], NO_ROWS))
    tables = SortedTables.of_wide(collection, np.arange(len(collection)), max_distance, threads)
    assert isinstance(tables.keys, SubstringTables)  # as all of 128 and 256 bits are
    near = tables.keys.rank_pairs(threads, MAX_PAIRS, progress)
    a, b, distance = row_pairs(tables.rows, tables.starts, *near, MAX_PAIRS)
    return frozen(Pairs(ids[a], ids[b], distance))


class _KeyRange(NamedTuple):
    """A range of keys of one table, from low to high, that does not split a prefix; `size` is their number."""

    table: int
    low: int
    high: int
    size: int


class _Search:
    """One search for the pairs of different fingerprints.

    The keys of the first table are the fingerprints themselves, so its ranges also tell which are repeated. The other
    tables are built from the different fingerprints only.
    """

    def __init__(self, collection: UInts, plan: TablePlan, threads: int | None, report: Progress) -> None:
        self.collection, self.plan, self.threads, self.report = collection, plan, threads, report
        self.orders = orders(plan)
        self.searcher = _hamming.Orders(plan.bits, plan.max_distance, self.orders)
        self.different: list[UInts] = []
        self.repeated: list[UInts] = []
        self._buffers: SimpleQueue[tuple[UInts, UInts]] = SimpleQueue()  # free buffers

    def run(self) -> tuple[UInts, UInts]:
        """Search all tables: (pairs of different fingerprints, shape (m, 2), repeated fingerprints)."""
        near = collected(self._yield_pairs(), MAX_PAIRS)
        return near, np.concatenate([np.empty(0, np.uint64), *self.repeated])

    def _yield_pairs(self) -> Iterator[UInts]:
        """Yield the pairs of one range after another, and report progress."""
        done, total = 0, len(self.collection) * len(self.plan.tables)
        self.report("pairing", 0, total)
        for pairs, different, repeated, count in map_pieces(self._search_first_table, self._cut_ranges(0), self.threads):
            self.different.append(different)
            self.repeated.append(repeated)
            yield pairs
            done += count
            self.report("pairing", done, total)
        total = done + sum(map(len, self.different)) * (len(self.plan.tables) - 1)
        later = (keys for t in range(1, len(self.plan.tables)) for keys in self._cut_ranges(t))
        for pairs, count in map_pieces(self._search_later_table, later, self.threads):
            yield pairs
            done += count
            self.report("pairing", done, total)

    def _yield_pieces(self, table: int) -> Iterator[UInts]:
        """Yield the fingerprints from which a table is built, in pieces."""
        if table:
            yield from self.different
            return
        for at in range(0, len(self.collection), PIECE):
            yield checked_fingerprints(self.collection[at:at + PIECE], self.plan.bits)

    def _cut_ranges(self, table: int) -> Iterator[_KeyRange]:
        """Cut a table into ranges that a thread may sort at a time, by the leading bits of its keys.

        A range is larger only where all its keys have the same leading bits.
        """
        count = sum(map(len, self.different)) if table else len(self.collection)
        most = max(LEAST_KEYS, count // (4 * thread_count(self.threads)))
        if count <= most:
            yield _KeyRange(table, 0, (1 << self.plan.bits) - 1, count)
            return
        leading = min(COUNTED_BITS, self.plan.tables[table].prefix)
        shift = self.plan.bits - leading
        counts = np.zeros(1 << leading, np.uint64)
        for piece in self._yield_pieces(table):
            _keys.histogram(self.orders[table][0], piece, shift, counts)
        for begin, end, here in _group_counts(counts.tolist(), most):
            yield _KeyRange(table, begin << shift, (end << shift) - 1, here)

    @contextlib.contextmanager
    def _sort_range(self, wanted: _KeyRange) -> Iterator[UInts]:
        """Gather the keys of a range and sort them by their prefix; keys of the first table by all their bits."""
        keys = scratch = np.empty(0, np.uint64)
        with contextlib.suppress(Empty):
            keys, scratch = self._buffers.get_nowait()
        if len(keys) <= wanted.size:
            keys = scratch = np.empty(0, np.uint64)  # free the old buffers before allocating new ones
            keys, scratch = np.empty(wanted.size + 1, np.uint64), np.empty(wanted.size, np.uint64)
        runs, prefix, _ = self.orders[wanted.table]
        count = 0
        for piece in self._yield_pieces(wanted.table):
            count = _keys.gather(runs, piece, wanted.low, wanted.high, keys[:wanted.size + 1], count)
            if count > wanted.size:
                break
        if count != wanted.size:
            raise ValueError("fingerprints changed while they were read: "
                             f"from {wanted.low} to {wanted.high} there were {wanted.size}, then {count}")
        _keys.sort(keys[:count], self.plan.bits - prefix if wanted.table else 0, scratch)
        yield keys[:count]
        self._buffers.put((keys, scratch))

    def _search_first_table(self, wanted: _KeyRange) -> tuple[UInts, UInts, UInts, int]:
        """Search a range of the first table: (pairs, different fingerprints, repeated fingerprints, number of keys)."""
        with self._sort_range(wanted) as keys:
            new = np.concatenate([[True], keys[1:] != keys[:-1]])[:len(keys)]
            different = keys[new]
            repeated = np.unique(keys[~new])
        return near_pairs(self.searcher, self.plan, 0, different, MAX_PAIRS), different, repeated, wanted.size

    def _search_later_table(self, wanted: _KeyRange) -> tuple[UInts, int]:
        """Search a range of another table: (pairs, number of keys)."""
        with self._sort_range(wanted) as keys:
            return near_pairs(self.searcher, self.plan, wanted.table, keys, MAX_PAIRS), wanted.size


def _group_counts(counts: Sequence[int], most: int) -> Iterator[tuple[int, int, int]]:
    """Group neighbouring counts into (begin, end, sum), with sums of at most `most` where no single count is more."""
    begin = total = 0
    for i, count in enumerate(counts):
        if total and total + count > most:
            yield begin, i, total
            begin, total = i, 0
        total += count
    yield begin, len(counts), total
