"""All pairs of near fingerprints of one collection, a table at a time (Manku, Jain, Das Sarma 2007, §3.1)."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcore import _hamming
from ndcore.hamming.fingerprints import checked_fingerprints, mapped_fingerprints
from ndcore.hamming.ids import RowIds
from ndcore.hamming.index import MAX_PAIRS, Pairs
from ndcore.hamming.join import hamming_join
from ndcore.hamming.plain_tables import orders
from ndcore.hamming.row_pairs import collected, near_pairs, row_pairs
from ndcore.hamming.table_plan import TablePlan, checked_search, plan_pairs
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress, reporting
from ndcore.readonly import frozen

__all__ = ["hamming_pairs"]

PIECE = 1 << 20  # fingerprints that are read at a time
LEAST_KEYS = 1 << 25  # that a thread sorts at a time where there are so many; never less than fit
COUNTED_BITS = 14  # leading bits by which a table is cut into ranges

Fingerprints = NDArray[np.uint64]


def hamming_pairs(
    fingerprints: ArrayLike | str | os.PathLike[str],
    ids: ArrayLike | None = None,
    max_distance: int = 3,
    *,
    bits: int = 64,
    plan: TablePlan | Literal["auto"] = "auto",
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Pairs:
    """All pairs of fingerprints within max_distance bits of each other, equal ones included. Exact.

    What `HammingIndex(fingerprints).pairs()` finds, without keeping an index: one table after another is made, searched for
    pairs and dropped, and a large one range by range.

    Parameters
    ----------
    fingerprints : array of uint64, shape (n,), or path
        A path: an array saved by NumPy (.npy), else uint64 in little-endian order without a header. Mapped, not read.
    ids : array of int, str or bytes, shape (n,), optional
        None: positions.
    max_distance, bits
        As of `HammingIndex`.
    plan : "auto" or TablePlan
        "auto": the tables of least expected time.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total), in fingerprints times tables.

    Returns
    -------
    Pairs
        Ids and distances; the earlier one is `a`, and pairs come in that order.

    Raises
    ------
    TypeError, ValueError
        No fingerprints of `bits` bits, a file that is none, ids of another number or kind, a plan for something else, or
        more than 2^28 pairs; it says how many come from equal fingerprints.
    OSError
        The file cannot be read.

    Notes
    -----
    O(tables · n · (1 + n / 2^p)), p the plan's prefix. Memory: 8 bytes a different fingerprint; 16 bytes a fingerprint for
    2^25 of them on each thread, 4 bytes for all where that is more; and the pairs.

    >>> hamming_pairs([0b0110, 0b1000, 0b0111], max_distance=1, bits=4)
    Pairs(a=array([0]), b=array([2]), distance=array([1]))
    """
    bits, max_distance = checked_search(bits, max_distance, plan)
    collection = mapped_fingerprints(fingerprints) if isinstance(fingerprints, (str, os.PathLike)) else \
        checked_fingerprints(fingerprints, bits)
    names = RowIds(ids is None).extended(ids, len(collection))
    if plan == "auto":
        plan = plan_pairs(bits, max_distance, math.log2(max(1, len(collection))))
    with reporting(progress) as report:
        near, repeated = _Search(collection, plan, threads, report).run()
    asked = np.unique(np.concatenate([near.ravel(), repeated]))
    held = hamming_join(asked, collection, 0, bits=bits, threads=threads)
    starts = np.searchsorted(held.query, np.arange(len(asked) + 1))
    x, y = (np.searchsorted(asked, column) for column in near.T)
    a, b, distance = row_pairs(held.id, starts, x, y, _hamming.distances(*map(np.ascontiguousarray, near.T)), MAX_PAIRS)
    return frozen(Pairs(names[a], names[b], distance))


class _Range(NamedTuple):
    """Keys of one table, from low to high: so many, and no prefix is cut in two."""

    table: int
    low: int
    high: int
    size: int


class _Search:
    """One search for the pairs of different fingerprints.

    The first table, whose keys are the fingerprints, also tells which of them are repeated; the others are made of the
    different ones.
    """

    def __init__(self, collection: Fingerprints, plan: TablePlan, threads: int | None, report: Progress) -> None:
        self.collection, self.plan, self.threads, self.report = collection, plan, threads, report
        self.orders = orders(plan)
        self.searcher = _hamming.Orders(plan.bits, plan.max_distance, self.orders)
        self.different: list[Fingerprints] = []
        self.repeated: list[Fingerprints] = []
        self._buffers: SimpleQueue[tuple[Fingerprints, Fingerprints]] = SimpleQueue()  # those that no thread uses

    def run(self) -> tuple[Fingerprints, Fingerprints]:
        """(pairs of different fingerprints, shape (m, 2), fingerprints that come several times)."""
        near = collected(self._found(), MAX_PAIRS)
        return near, np.concatenate([np.empty(0, np.uint64), *self.repeated])

    def _found(self) -> Iterator[Fingerprints]:
        """The pairs, range by range."""
        done, total = 0, len(self.collection) * len(self.plan.tables)
        self.report("pairing", 0, total)
        for part in map_pieces(self._of_first, self._ranges(0), self.threads):
            pairs, different, repeated, count = part
            self.different.append(different)
            self.repeated.append(repeated)
            yield pairs
            done += count
            self.report("pairing", done, total)
        total = done + sum(map(len, self.different)) * (len(self.plan.tables) - 1)
        later = (each for t in range(1, len(self.plan.tables)) for each in self._ranges(t))
        for pairs, count in map_pieces(self._of_other, later, self.threads):
            yield pairs
            done += count
            self.report("pairing", done, total)

    def _pieces(self, table: int) -> Iterator[Fingerprints]:
        """The fingerprints that a table is made of."""
        if table:
            yield from self.different
            return
        for at in range(0, len(self.collection), PIECE):
            yield checked_fingerprints(self.collection[at:at + PIECE], self.plan.bits)

    def _ranges(self, table: int) -> Iterator[_Range]:
        """The ranges of a table: of as many keys as a thread may sort at a time, unless more have the same leading bits."""
        count = sum(map(len, self.different)) if table else len(self.collection)
        most = max(LEAST_KEYS, count // (4 * thread_count(self.threads)))
        if count <= most:
            yield _Range(table, 0, (1 << self.plan.bits) - 1, count)
            return
        leading = min(COUNTED_BITS, self.plan.tables[table].prefix)
        shift = self.plan.bits - leading
        counts = np.zeros(1 << leading, np.uint64)
        for piece in self._pieces(table):
            _hamming.histogram(self.orders[table][0], piece, shift, counts)
        for begin, end, here in _cut(counts.tolist(), most):
            yield _Range(table, begin << shift, (end << shift) - 1, here)

    @contextlib.contextmanager
    def _sorted(self, each: _Range) -> Iterator[Fingerprints]:
        """The keys of a range, ascending by their prefix, those of the first table by all their bits."""
        keys = scratch = np.empty(0, np.uint64)
        with contextlib.suppress(Empty):
            keys, scratch = self._buffers.get_nowait()
        if len(keys) <= each.size:
            keys = scratch = np.empty(0, np.uint64)  # the old ones go before the new ones come
            keys, scratch = np.empty(each.size + 1, np.uint64), np.empty(each.size, np.uint64)
        runs, prefix, _ = self.orders[each.table]
        at = 0
        for piece in self._pieces(each.table):
            at = _hamming.gather(runs, piece, each.low, each.high, keys[:each.size + 1], at)
            if at > each.size:
                break
        if at != each.size:
            raise ValueError("fingerprints changed while they were read: "
                             f"from {each.low} to {each.high} there were {each.size}, then {at}")
        _hamming.sort(keys[:at], self.plan.bits - prefix if each.table else 0, scratch)
        yield keys[:at]
        self._buffers.put((keys, scratch))

    def _of_first(self, each: _Range) -> tuple[Fingerprints, Fingerprints, Fingerprints, int]:
        """(pairs, different fingerprints, those that come several times, how many all are) of a range of the first table."""
        with self._sorted(each) as keys:
            new = np.concatenate([[True], keys[1:] != keys[:-1]])[:len(keys)]
            different = keys[new]
            repeated = np.unique(keys[~new])
        return near_pairs(self.searcher, self.plan, 0, different, MAX_PAIRS), different, repeated, each.size

    def _of_other(self, each: _Range) -> tuple[Fingerprints, int]:
        """(pairs, how many the keys are) of a range of another table."""
        with self._sorted(each) as keys:
            return near_pairs(self.searcher, self.plan, each.table, keys, MAX_PAIRS), each.size


def _cut(counts: Sequence[int], most: int) -> Iterator[tuple[int, int, int]]:
    """(begin, end, sum) of neighbouring counts, together at most `most` where one alone is not more."""
    begin = total = 0
    for i, count in enumerate(counts):
        if total and total + count > most:
            yield begin, i, total
            begin, total = i, 0
        total += count
    yield begin, len(counts), total
