"""Search a collection for windows of tokens that occur at several places, by fingerprints; tokens confirm them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ndcore._entries import sort_entries
from ndcore._repeats import RANGE_BITS, Windows, differing, firsts, join, shared, units
from ndcore._types import AnyArray, Ints, UInts
from ndcore.parallel import behind, beside, cut, map_pieces
from ndcore.progress import Progress
from ndcore.spans.reading import CHANGED, TokenReading, UInt32s, check_all_seen
from ndcore.spans.repeats_layout import MAX_PLACES, Layout, bases_of, merge_ranges, merge_steps, split_ranges
from ndcore.spans.repeats_work import RecurringAnchors, RepeatsWork
from ndcore.spans.window_entries import SpooledEntries, WindowEntries
from ndcore.storage.spill import ScratchArrays, SpooledArray

JOINED = 1 << 20  # bytes to which short arrays are joined
ATTEMPTS = 8  # each with other secret polynomials

STEP = 1 << 19  # values of tokens whose windows are fingerprinted together
LONG = 8 * STEP  # more values of a piece are a long document, whose entries are made one step after another
RUNS = 1 << 18  # runs that are processed together

Entries: TypeAlias = Iterable[tuple[UInts, Ints]]  # grouped entries, and the starts of the groups
# Positions of documents and their checksums; for new documents also numbers of tokens, and entries.
Read: TypeAlias = tuple[Ints, UInt32s, tuple[Ints, Entries] | None]


@dataclass(frozen=True)
class WindowCounts:
    """The windows that count: their tokens, their fewest and most places; and the memory for their entries, in bytes."""

    tokens: int
    fewest: int
    most: int
    limit: int | None


def find_units(
    reading: TokenReading, counted: WindowCounts, lay_out: Callable[[Ints], Layout], work: RepeatsWork,
    scratch: ScratchArrays, meanwhile: Callable[[Layout, UInts], object], *, threads: int | None, report: Progress,
) -> tuple[Layout, UInts]:
    """Find the runs of windows that occur at several places, and cut them into units: see `units` of `_repeats`.

    Parameters
    ----------
    reading : TokenReading
    counted : WindowCounts
    lay_out : callable
        Makes the layout, from the number of tokens of each document, int64 (n,).
    work : RepeatsWork
        The finished steps of an interrupted search, to which this one adds its own.
    scratch : ScratchArrays
        Makes the array of the units.
    meanwhile : callable
        Is called with the layout and the units while tokens confirm them; not if an earlier call has confirmed them.

    Returns
    -------
    layout : Layout
    units : ndarray of uint64, shape (units, 3)
        (place, first, windows), ascending: for 0 <= i < windows, the window at place + i occurs first at first + i.

    Raises
    ------
    OverflowError
        There are too many tokens.

    Notes
    -----
    Fingerprints have 64 bits and secret polynomials. If different windows turn out to have the same fingerprint, the search
    starts again with other polynomials.
    """
    layout: Layout | None = None
    for _ in range(ATTEMPTS):
        finder = Finder(reading, counted, work, threads, report)
        sizes, anchors = finder.anchors()
        layout = layout or lay_out(sizes)
        work.fix(layout)
        runs = finder.windows(layout, anchors)
        together = units(runs, int(layout.bases[-1]) + 1, scratch.empty)
        del runs  # they take as much memory as the units
        if work.confirmed():
            return layout, together
        with beside(partial(meanwhile, layout, together), threads):
            is_same = finder.confirm(layout, together)
        if is_same:
            work.put_confirmed()
            return layout, together
        work.clear()
    raise RuntimeError(f"different windows had the same fingerprints under {ATTEMPTS} pairs of random polynomials, which "
                       f"happens only where random numbers are not random, or documents change; {CHANGED}")


class Finder:
    """One attempt of the search, with its secret polynomials."""

    def __init__(
        self, reading: TokenReading, counted: WindowCounts, work: RepeatsWork, threads: int | None, report: Progress
    ) -> None:
        self.reading, self.counted, self.work, self.threads, self.report = reading, counted, work, threads, report
        self.width = (counted.tokens + 1) // 2
        self.secrets = work.secrets()

    def anchors(self) -> tuple[Ints, RecurringAnchors]:
        """Read all documents; return their numbers of tokens, int64 (n,), and the anchors that recur."""
        gathered, read = self.work.anchors(self.counted.limit)
        made = map_pieces(self._anchors_of(gathered, read.known), self._pieces_after(read.known), self.threads)
        with behind(self.threads) as call:
            for done, (positions, sums, new) in enumerate(made, 1):
                if new is None:
                    read.compare(positions, sums)
                else:
                    own, grouped = new
                    for anchors, starts in grouped:
                        anchors[:, 1] += np.uint64(read.places << RANGE_BITS)
                        gathered.append(anchors, starts)
                    read.append(own, sums)
                    if gathered.keep({}, read.unsaved, call):
                        read.saved()
                self.report("reading", done, None)
                if read.places >= MAX_PLACES:
                    raise OverflowError(f"there are more than {MAX_PLACES} tokens; take the documents in parts")
        read.end()
        recurring = self.work.recurring(read)
        if recurring is None:
            if self.counted.tokens == 1:
                both = _join_all(gathered.sorted(self.threads, shared), (2,), self.counted.limit)
                sort_entries(both)
                recurring = RecurringAnchors(*both.T)
            else:
                of_groups = gathered.sorted(self.threads, lambda entries: shared(entries)[:, 0])
                ranges = _join_all(of_groups, (), self.counted.limit)
                ranges.sort()
                recurring = RecurringAnchors(ranges, ranges[:0])
            self.work.put_recurring(read, recurring)
        return read.sizes, recurring

    def _anchors_of(self, entries: WindowEntries, known: int) -> Callable[[Any], Read]:
        """Make the function that reads a piece; of the `known` documents, read before, it computes only checksums."""
        slide, window = Windows(self.width, self.secrets.polynomial), self.counted.tokens - self.width + 1

        def work(piece: Any) -> Read:
            positions = self.reading.positions(piece)
            new = None
            if positions[0] >= known:
                _, values, offsets = self.reading.symbols(piece, self.secrets.symbols)
                own = np.diff(offsets)
                bases = bases_of(own).astype(np.uint64)
                grouped = []
                for step in _cut_values(offsets, self.counted.tokens - 1):
                    places = bases[step.documents] + step.skipped
                    grouped.append(entries.group(slide.anchors(
                        values[step.values], step.offsets, np.zeros_like(places), places, window, self.secrets.key)))
                new = own, grouped
            sums = self.reading.checksums(piece) if self.work.keeps else np.empty(0, np.uint32)
            return positions, sums, new

        return work

    def _pieces_after(self, known: int) -> Iterator[Any]:
        """Yield all documents in pieces, so that a piece begins at document `known`."""
        for piece in self.reading.pieces(None):
            yield from self.reading.cut(piece, known)

    def windows(self, layout: Layout, anchors: RecurringAnchors) -> UInts:
        """Return the runs of windows that occur at several places, all of which have anchors that recur.

        If a window is one token, anchors are its fingerprints; else the documents of the ranges are read again.
        """
        runs = self.work.runs(layout)
        if runs is None:
            is_token = self.counted.tokens == 1
            entries = self._entries_of(layout, anchors) if is_token else self._read_entries(layout, anchors.ranges)
            runs = self._runs(layout, entries)
            self.work.put_runs(layout, runs)
        return runs

    def _entries_of(self, layout: Layout, anchors: RecurringAnchors) -> WindowEntries:
        """Make the entries (fingerprint, place) of windows of one token from their anchors."""
        gathered, bases, places = SpooledEntries(64, self.counted.limit), bases_of(layout.sizes), layout.places
        labels = self._labels(layout)

        def work(some: slice) -> tuple[UInts, Ints]:
            firsts, windows = split_ranges(anchors.ranges[some])
            behind_first = np.arange(windows.sum()) - np.repeat(windows.cumsum() - windows, windows)
            documents = np.repeat(np.searchsorted(bases, firsts, "right") - 1, windows)
            inside = np.repeat(firsts, windows) + behind_first - bases[documents]
            entries = np.empty((len(documents), 2), np.uint64)
            entries[:, 0] = np.repeat(anchors.keys[some], windows) ^ labels[documents]
            entries[:, 1] = places[documents] + inside.view(np.uint64)
            return gathered.group(entries)

        for grouped in map_pieces(work, _cut_ranges(anchors.ranges), self.threads):
            gathered.append(*grouped)
        return gathered

    def _labels(self, layout: Layout) -> UInts:
        """Return what is added to the fingerprints of the windows of each document: equal exactly if the labels are."""
        return layout.labels * np.uint64(self.secrets.key | 1)  # an odd factor keeps different labels different

    def _read_entries(self, layout: Layout, ranges: UInts) -> WindowEntries:
        """Collect the entries (fingerprint, place) of windows in ranges."""
        bases = bases_of(layout.sizes).astype(np.uint64)
        bounds = np.append(np.searchsorted(ranges, bases << np.uint64(RANGE_BITS)), len(ranges))
        gathered, done = self.work.windows(layout, self.counted.limit)
        wanted, seen = np.diff(bounds) > 0, np.zeros(len(bases), np.bool_)
        wanted[:done] = False
        slide, places = Windows(self.counted.tokens, self.secrets.polynomial), layout.places
        labels = self._labels(layout)

        def group(positions: Ints, values: UInts, offsets: Ints) -> Entries:
            for step in _cut_values(offsets, self.counted.tokens - 1 + (1 << RANGE_BITS)):
                documents = positions[step.documents]
                begins = bases[documents] + step.skipped
                packed = np.append(begins, bases[documents[-1]] + np.uint64(step.end)) << np.uint64(RANGE_BITS)
                limits = np.searchsorted(ranges, packed)
                own = ranges[limits[0] : limits[-1]] - np.repeat(packed[:-1], np.diff(limits))
                yield gathered.group(slide.taken(
                    values[step.values], step.offsets, labels[documents], places[documents] + step.skipped, own,
                    limits - limits[0]))

        def work(piece: Any) -> tuple[int, Entries]:
            positions, values, offsets = self.reading.symbols(piece, self.secrets.symbols)
            _check_unchanged(positions, np.diff(offsets), layout.sizes)
            seen[positions] = True
            grouped = group(positions, values, offsets)
            return int(positions[-1]), grouped if len(values) > LONG else list(grouped)

        pieces = self.reading.pieces(wanted) if wanted.any() else iter(())
        with behind(self.threads) as call:
            for number, (last, grouped) in enumerate(map_pieces(work, pieces, self.threads), 1):
                for entries, starts in grouped:
                    gathered.append(entries, starts)
                gathered.keep({"documents": last + 1}, dict, call)
                self.report("reading passages", number, None)
        check_all_seen(seen, wanted)
        return gathered

    def _runs(self, layout: Layout, entries_of_windows: WindowEntries) -> UInts:
        """Sort the entries of all windows, and join windows that occur at several places into runs."""
        by_place = SpooledEntries(int(layout.bases[-1]).bit_length(), self.counted.limit)

        def find_firsts(entries: UInts) -> Entries:
            known = firsts(entries, self.counted.fewest, self.counted.most, layout.exempt)
            grouped = (by_place.group(known[start : start + RUNS]) for start in range(0, len(known), RUNS))
            return list(grouped) if len(known) <= RUNS else grouped  # many windows may be equal; they are not copied at once

        for found in entries_of_windows.sorted(self.threads, find_firsts):
            for grouped in found:
                by_place.append(*grouped)
        last = np.zeros(3, np.uint64)

        def runs() -> Iterator[UInts]:
            for entries in by_place.sorted(self.threads, np.asarray):
                yield join(entries, last)
            yield last.reshape(1, 3)[: int(last[2] > 0)]

        return _join_all(runs(), (3,), self.counted.limit)

    def confirm(self, layout: Layout, runs: UInts) -> bool:
        """Read the documents of runs again; tell whether windows with equal fingerprints have equal tokens."""
        if not len(runs):
            return True
        size = np.uint64(self.counted.tokens - 1)
        begins, ends = merge_steps(merge_ranges(some[:, 0], some[:, 0] + some[:, 2] + size) for some in _yield_runs(runs))
        ranks = np.searchsorted(layout.bases, begins.astype(np.int64), "right") - 1
        sequence = np.argsort(layout.order[ranks], kind="stable")
        base = layout.bases[ranks[sequence]]
        cover = (layout.order[ranks[sequence]], begins[sequence].astype(np.int64) - base,
                 ends[sequence].astype(np.int64) - base)
        numbers = SpooledArray(np.uint8, self.counted.limit)
        nbytes = 1
        for some in _join_short(self.reading.numbers(cover, len(layout.sizes), self.threads)):
            numbers.append(some.view(np.uint8))
            nbytes = some.itemsize
        at = np.empty(len(begins), np.int64)  # index of the first number of each range
        lengths = (ends - begins)[sequence].astype(np.int64)
        at[sequence] = np.cumsum(lengths) - lengths
        known = numbers.array()
        for some in _yield_runs(runs):
            later = some[some[:, 0] != some[:, 1]]
            own, other = (self._index(places, begins, at) for places in (later[:, 0], later[:, 1]))
            if differing(known, nbytes, own, other, (later[:, 2] + size).astype(np.int64)) >= 0:
                return False
        return True

    @staticmethod
    def _index(places: UInts, begins: UInts, at: Ints) -> Ints:
        """Find the indexes, among the numbers, of the tokens at these places."""
        which = np.searchsorted(begins, places, "right") - 1
        index: Ints = at[which] + (places - begins[which]).astype(np.int64)
        return index


def _cut_ranges(ranges: UInts) -> Iterator[slice]:
    """Cut ranges into slices of about `STEP` windows at most."""
    for start in range(0, len(ranges), STEP):
        for some in cut(split_ranges(ranges[start : start + STEP])[1], STEP):
            yield slice(start + some.start, start + some.stop)


def _join_short(arrays: Iterable[AnyArray]) -> Iterator[AnyArray]:
    """Join short arrays into ones of about `JOINED` bytes, because the objects take more memory than their few numbers."""
    some, nbytes = list[AnyArray](), 0
    for array in arrays:
        some.append(array)
        nbytes += array.nbytes
        if nbytes >= JOINED:
            yield np.concatenate(some) if len(some) > 1 else array
            some, nbytes = [], 0
    if some:
        yield np.concatenate(some)


def _check_unchanged(positions: Ints, now: Ints, sizes: Ints) -> None:
    """Raise ValueError if a document has another number of tokens than at the first reading."""
    changed = np.flatnonzero(now != sizes[positions])
    if len(changed):
        at = int(positions[changed[0]])
        raise ValueError(f"document {at} had {sizes[at]} tokens when it was read first, and has {now[changed[0]]} now; "
                         f"{CHANGED}")


def _yield_runs(runs: UInts) -> Iterator[UInts]:
    """Yield runs in steps; at least one step, which may be empty."""
    return (runs[start : start + RUNS] for start in range(0, max(1, len(runs)), RUNS))


def _join_all(arrays: Iterable[UInts], shape: tuple[int, ...], limit: int | None) -> UInts:
    """Concatenate arrays with rows of this shape, freeing each once it is copied; beyond the limit, in a temporary file."""
    joined = SpooledArray(np.uint64, limit, shape)
    for array in arrays:
        joined.append(array)
    return np.asarray(joined.array("r+"))


class _Step(NamedTuple):
    """Consecutive values of a piece, whose windows are fingerprinted together.

    documents, values: slices of the piece's. offsets: where the values of each document begin and end. skipped: number of
    values of each document before the step, uint64. end: the value of the last document with which the next step begins.
    """

    documents: slice
    values: slice
    offsets: Ints
    skipped: UInts
    end: int


def _cut_values(offsets: Ints, overlap: int) -> Iterator[_Step]:
    """Split the values of a piece into steps; each step but the last overlaps the next by `overlap` values."""
    total = int(offsets[-1])
    for start in range(0, total, STEP):
        stop = min(start + STEP, total)
        some = slice(int(np.searchsorted(offsets[1:], start, "right")), int(np.searchsorted(offsets[:-1], stop)))
        bounds = np.clip(offsets[some.start : some.stop + 1], start, min(stop + overlap, total))
        begins = offsets[some]
        yield _Step(some, slice(start, int(bounds[-1])), bounds - start, np.maximum(start - begins, 0).astype(np.uint64),
                    min(stop, int(offsets[some.stop])) - int(begins[-1]))
