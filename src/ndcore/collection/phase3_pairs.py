"""The phases of clustering a collection, each on its own and resumable (Broder et al. 1997, §4.1).

Phase one, the sketches, are `Segments`; `collapse` finds documents that are the same. `sort_entries` is phase two, sorted
entries (value, document); `count_pairs` phase three, (document, document, common); phase four is `clusterings.group`. What a
phase makes goes to a `Shelf` in parts of bounded size; parts that are there already are not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore import _entries, _pairs
from ndcore._types import Ints
from ndcore.checks import check_numbered
from ndcore.collection import slots
from ndcore.collection.segments import Overlaps, Segments
from ndcore.collection.shelf import Shelf, part_name
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress

__all__ = [
    "CommonHeld", "CountedPairs", "Marks", "collapse", "count_pairs", "counted_pairs", "find_alike", "is_paired",
    "sort_entries", "unmarked",
]


DIGITS = 12  # leading bits of values by which they are cut into slabs
SLAB = 1 << 22  # entries that are sorted at a time, at least
PARTS = 16  # of entries, or of pairs, where memory is not limited
ENTRY_BYTES = 60  # an entry, its scratch, key, document and run
PAIR_BYTES = 24  # a place in a list, and what is made of it
RANGE = 1 << 24  # pairs, repeats counted, that are counted at a time, at least
ROOM = 1 << 20  # counted pairs that are judged at a time
JUDGED_BYTES = 100

KEPT, IDENTICAL, LEXICAL, SHINGLE = range(4)


class Marks(NamedTuple):
    """What documents are paired by: document i of a part has the ascending set values[offsets[i] : offsets[i + 1]]."""

    values: NDArray[np.uint64]
    offsets: Ints


class CountedPairs(NamedTuple):
    """Pairs a < b of documents, ascending, and what their samples have in common."""

    a: Ints
    b: Ints
    overlaps: Overlaps

    def where(self, which: NDArray[np.bool_]) -> CountedPairs:
        """Those of a mask."""
        return CountedPairs(self.a[which], self.b[which], self.overlaps.where(which))


# ---- the same documents


def unmarked(segments: Segments) -> NDArray[np.bool_]:
    """Documents without shingles, or whose sample is empty: they never meet another."""
    empty: NDArray[np.bool_] = ~segments.valid | (segments.members == 0)
    return empty


def find_alike(segments: Segments, threads: int | None) -> tuple[Ints, Ints]:
    """(documents, leaders): those whose sketch is that of an earlier document, or empty as it, and the first such one."""
    n = len(segments)
    entries = np.empty((n, 2), np.uint64)
    entries[:, 0], entries[:, 1] = np.where(unmarked(segments), np.uint64(0), segments.keys), np.arange(n)
    _pairs.sort_entries(entries)
    keys, documents = entries[:, 0], entries[:, 1].astype(np.int64)
    first = np.concatenate([[True], keys[1:] != keys[:-1]]) if n else np.empty(0, np.bool_)
    leaders = documents[np.maximum.accumulate(np.where(first, np.arange(n), 0))] if n else documents
    later, before = documents[~first], leaders[~first]
    alike = segments.compared(later, before, threads)
    equal = (alike.common == alike.in_a) & (alike.common == alike.in_b)  # keys may be equal by chance
    order = np.argsort(later[equal], kind="stable")
    return later[equal][order], before[equal][order]


def collapse(
    segments: Segments, alike: tuple[Ints, Ints], digests: NDArray[np.uint8] | None
) -> tuple[Ints, NDArray[np.uint8]]:
    """The leader of every document, and how it is the same: 0 itself, 1 identical, 2 lexical, 3 shingle.

    Digests of the documents that are alike, and of their leaders, tell how; without, sketches do: shingle. Documents
    without a sample have a leader only by digests, and those without shingles only an identical one.
    """
    n = len(segments)
    leader, how = np.arange(n), np.zeros(n, np.uint8)
    documents, firsts = alike
    empty = unmarked(segments)[documents]
    leader[documents[~empty]], how[documents[~empty]] = firsts[~empty], SHINGLE
    if digests is None:
        return leader, how
    bare = np.unique(np.concatenate([documents[empty], firsts[empty]]))
    valid = segments.valid[bare]
    for part, among in ((slice(16), bare[~valid]), (slice(16, 32), bare[valid])):
        _, first, group = np.unique(_as_keys(digests[among, part]), return_index=True, return_inverse=True, axis=0)
        leader[among] = among[first[group.reshape(-1)]]
    same = np.flatnonzero(leader != np.arange(n))
    for part, kind in ((slice(16, 32), LEXICAL), (slice(16), IDENTICAL)):
        equal = (digests[same, part] == digests[leader[same], part]).all(axis=1)
        how[same[equal]] = kind
    return leader, how


def _as_keys(digests: NDArray[np.uint8]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(digests).view(np.uint64)


# ---- phase two


def sort_entries(
    marks: Sequence[Marks], taken: NDArray[np.bool_], shelf: Shelf, *, max_holders: int, keep: bool,
    memory_limit: int | None, threads: int | None, report: Progress,
) -> None:
    """Entries (value, document) of the documents taken, sorted, in slabs of consecutive values.

    Put on the shelf: ``entries/…`` (keys, documents), where they are to be kept; ``runs/…``: of values that 2 to
    max_holders documents hold, these documents (holders) and where each run of them ends; of values held by more,
    ``common``: value, holders, example; and ``crowd``, their holders one after the other.
    """
    flags = _cut(taken.astype(np.uint8), marks)
    found = shelf.has("slabs")
    if not found:
        made = _slabs(marks, flags, memory_limit, threads)
        if keep:
            shelf.reserve(18 * int(made[:, 2].sum()), "the sorted entries")
        _drop_all(shelf, "entries", "runs")  # of other slabs
        shelf.put("slabs", {}, {"slabs": made})
    slabs = slots.read(shelf, "slabs", len(taken))[1]["slabs"]
    if sum(slabs[:, 2].tolist()) > sum(len(part.values) for part in marks):
        raise slots.corrupt(shelf, "slabs", "its slabs have more entries than the sketches have members")
    max_holders = min(max_holders, len(taken))

    def work(number: int) -> int:
        entries, runs = part_name("entries", number), part_name("runs", number)
        low, high, size = slabs[number].tolist()
        if shelf.has(runs) and (not keep or shelf.has(entries)):
            return int(size)
        if keep and shelf.has(entries):
            arrays = slots.read(shelf, entries, len(taken))[1]
            keys, documents = arrays["keys"], arrays["documents"]
        else:
            try:
                keys, documents = _sorted(marks, flags, low, high, size)
            except ValueError as error:
                if not found:
                    raise
                raise slots.corrupt(shelf, "slabs", str(error)) from error
            if keep:
                shelf.put(entries, {}, {"keys": keys, "documents": documents})
        holders, ends, common = _entries.runs(keys, documents, max_holders)
        starts = np.searchsorted(keys, common[:, 0])
        crowd = [documents[start : start + size] for start, size in zip(starts, common[:, 1].astype(np.int64), strict=True)]
        shelf.put(runs, {}, {
            "holders": holders, "ends": ends, "common": common, "crowd": np.concatenate([documents[:0], *crowd]),
        })
        return int(size)

    done, total = 0, int(slabs[:, 2].sum())
    for size in map_pieces(work, range(len(slabs)), threads):
        done += size
        report("sorting entries", done, total)


def _cut(flags: NDArray[np.uint8], marks: Sequence[Marks]) -> list[NDArray[np.uint8]]:
    ends = np.cumsum([len(part.offsets) - 1 for part in marks])
    return [np.ascontiguousarray(part) for part in np.split(flags, ends[:-1])]


def _slabs(
    marks: Sequence[Marks], flags: Sequence[NDArray[np.uint8]], memory_limit: int | None, threads: int | None
) -> NDArray[np.uint64]:
    """(lowest value, highest value, entries) of each slab, ascending; one at least."""
    shift = 64 - DIGITS
    histogram = np.zeros(1 << DIGITS, np.int64)
    for part, taken in zip(marks, flags, strict=True):
        _entries.histogram(part.values, part.offsets, taken, shift, histogram)
    total = int(histogram.sum())
    most = max(SLAB, -(-total // PARTS))
    if memory_limit is not None:
        most = max(1, min(most, memory_limit // (ENTRY_BYTES * thread_count(threads))))
    cuts = _cuts(histogram, most)
    slabs = np.empty((len(cuts) - 1, 3), np.uint64)
    slabs[:, 0] = cuts[:-1].astype(np.uint64) << np.uint64(shift)
    slabs[:, 1] = ((cuts[1:] - 1).astype(np.uint64) << np.uint64(shift)) | np.uint64((1 << shift) - 1)
    slabs[:, 2] = np.add.reduceat(histogram, cuts[:-1])
    check_numbered(int(slabs[:, 2].max()), "members of sketches in one part", "give a memory_limit, or a larger modulus")
    return slabs


def _cuts(sizes: Ints, most: int) -> Ints:
    """Where consecutive items are cut so that each part has at most so much, or one item; from 0 to their number."""
    ends = np.cumsum(sizes)
    cuts = [0]
    while cuts[-1] < len(sizes):
        before = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, before + most, "right"))))
    return np.array(cuts)


def _sorted(
    marks: Sequence[Marks], flags: Sequence[NDArray[np.uint8]], low: int, high: int, size: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    entries = np.empty((size, 2), np.uint64)
    at = first = 0
    for part, taken in zip(marks, flags, strict=True):
        at = _entries.gather(part.values, part.offsets, taken, first, low, high, entries, at)
        first += len(taken)
    if at != size:
        raise ValueError(f"there are {at} members from {low} to {high} where {size} were counted: sketches do not ascend")
    _pairs.sort_entries(entries)
    return entries[:, 0].copy(), entries[:, 1].astype(np.uint32)


# ---- phase three


class CommonHeld:
    """Which common values each document holds: they propose no pairs, and count in those that others propose."""

    def __init__(self, shelf: Shelf, n: int) -> None:
        runs = [slots.read(shelf, name, n)[1] for name in shelf.names("runs")]
        documents = np.concatenate([np.empty(0, np.uint32), *(run["crowd"] for run in runs)])
        holders = np.concatenate([np.empty(0, np.uint64), *(run["common"][:, 1] for run in runs)]).astype(np.int64)
        numbers = np.repeat(np.arange(len(holders), dtype=np.uint64), holders)
        self._values = numbers[np.argsort(documents, kind="stable")]
        self._held = np.bincount(documents, minlength=n) if len(documents) else np.empty(0, np.int64)
        self._offsets = np.concatenate([[0], np.cumsum(self._held)]).astype(np.int64)

    def of_both(self, a: Ints, b: Ints) -> Ints:
        """How many common values both documents of each pair hold."""
        out = np.zeros(len(a), np.int64)
        if len(self._held):
            which = np.flatnonzero((self._held[a] > 0) & (self._held[b] > 0))
            out[which] = _pairs.common(self._values, self._offsets, a[which], b[which])
        return out


def count_pairs(
    n: int, shelf: Shelf, measure: Callable[[Ints, Ints, Ints], tuple[NDArray[np.bool_], Overlaps]], *, floor: float,
    memory_limit: int | None, threads: int | None, report: Progress,
) -> None:
    """Pairs (a, b, common) of documents that hold values in common, of the runs on the shelf.

    `measure` says which pairs to look at, by how many values they have in common, and what these have in common; those whose
    containment one way or the other is at least `floor` go to the shelf as ``pairs/…``.
    """
    runs = [slots.read(shelf, name, n)[1] for name in shelf.names("runs")]
    volume = np.zeros(n, np.int64)
    for run in runs:
        _entries.volume(run["holders"], run["ends"], volume)
    if not shelf.has("ranges"):
        _drop_all(shelf, "pairs")
        shelf.put("ranges", {}, {"ranges": _ranges(volume, memory_limit, threads)})
    ranges = slots.read(shelf, "ranges", n)[1]["ranges"]
    all_runs = [(run["holders"], run["ends"]) for run in runs]
    room = ROOM if memory_limit is None else max(1, min(ROOM, memory_limit // (JUDGED_BYTES * thread_count(threads))))

    def work(number: int) -> int:
        first, last, size = ranges[number].tolist()
        name = part_name("pairs", number)
        if not shelf.has(name):
            counts = _entries.Counts(all_runs, first, last, volume[first:last], n)
            kept = list(_judged(counts, measure, floor, room))
            arrays = _packed(kept)
            shelf.reserve(sum(array.nbytes for array in arrays.values()), "the pairs of documents")
            shelf.put(name, {}, arrays)
        return int(size)

    done, total = 0, int(ranges[:, 2].sum())
    for size in map_pieces(work, range(len(ranges)), threads):
        done += size
        report("counting pairs", done, total)


def _drop_all(shelf: Shelf, *folders: str) -> None:
    for folder in folders:
        for name in shelf.names(folder):
            shelf.drop(name)


def is_paired(shelf: Shelf, n: int, keep: bool) -> bool:
    """Whether all parts of phases two and three, of n documents, are there; without `keep`, entries need not be."""
    if not (shelf.has("slabs") and shelf.has("ranges")):
        return False
    slabs, ranges = (len(slots.read(shelf, name, n)[1][name]) for name in ("slabs", "ranges"))
    wanted = [part_name("pairs", k) for k in range(ranges)] + [part_name("entries", k) for k in range(slabs) if keep]
    return all(shelf.has(name) for name in wanted)


def _ranges(volume: Ints, memory_limit: int | None, threads: int | None) -> Ints:
    """(first document, last, pairs) of each range of documents; the last is not included."""
    most = max(RANGE, int(volume.sum()) // PARTS)
    if memory_limit is not None:
        most = max(1, min(most, memory_limit // (PAIR_BYTES * thread_count(threads))))
    cuts = _cuts(volume, most)
    sizes = np.add.reduceat(volume, cuts[:-1]) if len(volume) else np.empty(0, np.int64)
    return np.column_stack([cuts[:-1], cuts[1:], sizes]).astype(np.int64)


def _judged(
    counts: _entries.Counts, measure: Callable[[Ints, Ints, Ints], tuple[NDArray[np.bool_], Overlaps]], floor: float,
    room: int,
) -> Iterator[CountedPairs]:
    while (counted := counts.next(room)) is not None:
        a, b, common = (column.astype(np.int64) for column in counted)
        which, overlaps = measure(a, b, common)
        found = CountedPairs(a[which], b[which], overlaps)
        yield found.where(found.overlaps.contained >= floor)


def _packed(kept: Sequence[CountedPairs]) -> dict[str, NDArray[np.uint32]]:
    columns: list[list[Any]] = [
        [pairs.a, pairs.b, pairs.overlaps.common, pairs.overlaps.in_a, pairs.overlaps.in_b] for pairs in kept
    ]
    joined = [np.concatenate(column) for column in zip(*columns, strict=True)] or [np.empty(0, np.int64)] * 5
    names = ("a", "b", "common", "in_a", "in_b")
    return {name: column.astype(np.uint32) for name, column in zip(names, joined, strict=True)}


def counted_pairs(shelf: Shelf, n: int) -> Iterator[CountedPairs]:
    """The pairs of n documents on the shelf, part by part, ascending. CorruptFile where they are not."""
    last = -1
    for name in shelf.names("pairs"):
        columns = {key: column.astype(np.int64) for key, column in slots.read(shelf, name, n)[1].items()}
        a, b = columns.pop("a"), columns.pop("b")
        if len(a):
            if a[0] <= last:
                raise slots.corrupt(shelf, name, f"its pairs do not follow those of document {last}, in the part before")
            last = int(a[-1])
        yield CountedPairs(a, b, Overlaps(**columns))
