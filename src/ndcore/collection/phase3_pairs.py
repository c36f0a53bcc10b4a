"""Phase three of Broder et al. 1997, §4.1: list the pairs (document, document, common) that hold a value in common.

In: the slots ``slabs`` and ``runs/…``. Out: the slots ``ranges``, ``pairs/…`` and ``paired``.

Every run proposes all its pairs, and a pair is proposed once for each value that both documents hold. The repeated pairs do
not fit in memory, so documents are cut into ranges with about the same number of pairs. The pairs (a, b), a < b, whose first
document is in a range are counted together. A pair is kept if one document is contained in the other at or above the floor
of the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

import ndcore._entries as _entries
import ndcore._sets as _sets
from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.collection import slots
from ndcore.collection.parts import cut_into_parts
from ndcore.collection.segments import Overlaps, Segments
from ndcore.collection.settings import Settings
from ndcore.collection.shelf import Shelf, part_name
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress
from ndcore.readonly import NamedColumns

__all__ = ["CommonValues", "CountedPairs", "common_values", "count_pairs", "counted_pairs", "finish_pairs",
           "is_paired", "measure_of"]

PAIR_BYTES = 24  # a place in a list, and what is made of it
RANGE = 1 << 24  # pairs, repeats counted, that are counted at a time, at least
ROOM = 1 << 20  # counted pairs that are judged at a time
JUDGED_BYTES = 100

Measure = Callable[[Ints, Ints, Ints], tuple[Bools, Overlaps]]
"""Of pairs (a, b, common): which of them to look at, and what these have in common."""


class _CountedPairs(NamedTuple):
    a: Ints
    b: Ints
    overlaps: Overlaps


class CountedPairs(NamedColumns, _CountedPairs):  # type: ignore[misc]
    """Pairs a < b of documents, ascending, and what their samples have in common."""

    __slots__ = ()

    def _arrays(self) -> dict[str, AnyArray]:
        return {"a": self.a, "b": self.b, **vars(self.overlaps), "resemblance": self.overlaps.resemblance}

    @classmethod
    def joined(cls, parts: Sequence[CountedPairs]) -> CountedPairs:
        """Concatenate parts, or none."""
        nothing = np.empty(0, np.int64)
        rows = [(nothing,) * 5, *((p.a, p.b, p.overlaps.common, p.overlaps.in_a, p.overlaps.in_b) for p in parts)]
        a, b, *overlaps = (np.concatenate(column) for column in zip(*rows, strict=True))
        return cls(a, b, Overlaps(*overlaps))

    def where(self, which: Bools) -> CountedPairs:
        """Select the pairs of a mask."""
        return CountedPairs(self.a[which], self.b[which], self.overlaps.where(which))


class _CommonValues(NamedTuple):
    value: UInts
    holders: Ints
    example: Ints


class CommonValues(NamedColumns, _CommonValues):  # type: ignore[misc]
    """Values held by more documents than max_holders, most holders first: how many, and the first that holds each."""

    __slots__ = ()


# ---- how a pair is measured


def measure_of(settings: Settings, segments: Segments, shelf: Shelf) -> Measure:
    """Return how pairs are measured: shingles are counted by the runs; by other methods, sketches are compared."""
    if settings.method == "shingles":
        count_common = _common_counter(shelf, len(segments))

        def counted(a: Ints, b: Ints, common: Ints) -> tuple[Bools, Overlaps]:
            return np.ones(len(a), np.bool_), segments.overlaps(a, b, common + count_common(a, b))

        return counted

    def compared(a: Ints, b: Ints, common: Ints) -> tuple[Bools, Overlaps]:
        which = common >= settings.needed
        return which, segments.compared(a[which], b[which], 1)

    return compared


def _common_counter(shelf: Shelf, n: int) -> Callable[[Ints, Ints], Ints]:
    """Return a function that counts the common values that both documents of each pair hold.

    Common values propose no pairs, but they count in the pairs that other values propose.
    """
    runs = [arrays for _, arrays in slots.read_parts(shelf, slots.RUNS, n)]
    documents = np.concatenate([np.empty(0, np.uint32), *(run["crowd"] for run in runs)])
    if not len(documents):
        return lambda a, b: np.zeros(len(a), np.int64)
    holders = np.concatenate([np.empty(0, np.uint64), *(run["common"][:, 1] for run in runs)]).astype(np.int64)
    numbers = np.repeat(np.arange(len(holders), dtype=np.uint64), holders)
    values = numbers[np.argsort(documents, kind="stable")]  # numbers of common values, by document
    sizes = np.bincount(documents, minlength=n)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def count(a: Ints, b: Ints) -> Ints:
        out = np.zeros(len(a), np.int64)
        which = np.flatnonzero((sizes[a] > 0) & (sizes[b] > 0))
        out[which] = _sets.common(values, offsets, a[which], b[which])
        return out

    return count


# ---- counting


def count_pairs(
    n: int, shelf: Shelf, measure: Measure, *, floor: float, memory_limit: int | None, threads: int | None, report: Progress,
) -> None:
    """Count the pairs of n documents that the runs propose, range by range; keep those contained at or above `floor`.

    The shelf gets ``ranges`` and ``pairs/…``; parts that are there already are not made again.
    """
    runs = [(arrays["holders"], arrays["ends"]) for _, arrays in slots.read_parts(shelf, slots.RUNS, n)]
    volume = np.zeros(n, np.int64)  # pairs, repeats counted, by their first document
    for holders, ends in runs:
        _entries.volume(holders, ends, volume)
    if not shelf.has(slots.RANGES):
        slots.drop_parts(shelf, slots.PAIRS)  # of other ranges
        shelf.put(slots.RANGES, {}, {"ranges": _cut_into_ranges(volume, memory_limit, threads)})
    ranges = slots.read(shelf, slots.RANGES, n)[1]["ranges"]
    room = ROOM if memory_limit is None else max(1, min(ROOM, memory_limit // (JUDGED_BYTES * thread_count(threads))))

    def work(number: int) -> int:
        first, last, size = ranges[number].tolist()
        if not shelf.has(part_name(slots.PAIRS, number)):
            counts = _entries.Counts(runs, first, last, volume[first:last], n)
            a, b, found = CountedPairs.joined(list(_kept(counts, measure, floor, room)))
            columns = {"a": a, "b": b, "common": found.common, "in_a": found.in_a, "in_b": found.in_b}
            arrays = {name: column.astype(np.uint32) for name, column in columns.items()}
            shelf.reserve(sum(array.nbytes for array in arrays.values()), "the pairs of documents")
            shelf.put(part_name(slots.PAIRS, number), {}, arrays)
        return int(size)

    done, total = 0, int(ranges[:, 2].sum())
    for size in map_pieces(work, range(len(ranges)), threads):
        done += size
        report("counting pairs", done, total)


def _cut_into_ranges(volume: Ints, memory_limit: int | None, threads: int | None) -> Ints:
    """Compute (first document, last, pairs) of each range of documents; the last is not included."""
    cuts = cut_into_parts(volume, RANGE, PAIR_BYTES, memory_limit, threads)
    sizes = np.add.reduceat(volume, cuts[:-1]) if len(volume) else np.empty(0, np.int64)
    return np.column_stack([cuts[:-1], cuts[1:], sizes]).astype(np.int64)


def _kept(counts: _entries.Counts, measure: Measure, floor: float, room: int) -> Iterator[CountedPairs]:
    """Yield the pairs of a range that are kept, in batches of about `room` counted pairs."""
    while (counted := counts.next(room)) is not None:
        a, b, common = (column.astype(np.int64) for column in counted)
        which, overlaps = measure(a, b, common)
        found = CountedPairs(a[which], b[which], overlaps)
        yield found.where(found.overlaps.contained >= floor)


# ---- what was counted


def is_paired(shelf: Shelf, n: int, keep: bool) -> bool:
    """Tell whether phases two and three of n documents are complete; without `keep`, entries may be missing."""
    if not all(shelf.has(name) for name in (slots.PAIRED, slots.SLABS, slots.RANGES)):
        return False
    slabs, ranges = (len(slots.read(shelf, name, n)[1][name]) for name in (slots.SLABS, slots.RANGES))
    wanted = [part_name(slots.PAIRS, number) for number in range(ranges)]
    wanted += [part_name(slots.ENTRIES, number) for number in range(slabs) if keep]
    return all(shelf.has(name) for name in wanted)


def finish_pairs(shelf: Shelf, n: int) -> None:
    """End phase three: gather the common values of all runs in ``paired``."""
    common = [slots.opened(shelf, name, n)[1]["common"] for name in shelf.names(slots.RUNS)]
    shelf.put(slots.PAIRED, {}, {"common": np.concatenate([np.empty((0, 3), np.uint64), *common])})


def common_values(shelf: Shelf, n: int) -> CommonValues:
    """Read the values that more than max_holders of n documents hold, most holders first."""
    common = slots.read(shelf, slots.PAIRED, n)[1]["common"]
    order = np.lexsort((common[:, 0], -common[:, 1].astype(np.int64)))
    return CommonValues(common[order, 0], common[order, 1].astype(np.int64), common[order, 2].astype(np.int64))


def counted_pairs(shelf: Shelf, n: int) -> Iterator[CountedPairs]:
    """Yield the pairs of n documents on the shelf, part by part, ascending. CorruptFile where they are not."""
    last = -1
    for name, arrays in slots.read_parts(shelf, slots.PAIRS, n):
        columns = {key: column.astype(np.int64) for key, column in arrays.items()}
        a, b = columns.pop("a"), columns.pop("b")
        if len(a):
            if a[0] <= last:
                raise slots.corrupt(shelf, name, f"its pairs do not follow the pairs of document {last}, in the part before")
            last = int(a[-1])
        yield CountedPairs(a, b, Overlaps(**columns))
