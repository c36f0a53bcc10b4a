"""Search a collection for windows of tokens that occur at several places: by fingerprints, confirmed by tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ndcore._repeats import RANGE_BITS, Windows, differing, firsts, join, shared
from ndcore._types import AnyArray, Ints, UInts
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.spans.reading import TokenReading, UInt32s
from ndcore.spans.repeats_layout import MAX_PLACES, Layout, bases_of
from ndcore.spans.repeats_work import RepeatsWork
from ndcore.spans.window_entries import SpooledEntries, WindowEntries
from ndcore.storage.spill import SpooledArray

JOINED = 1 << 20  # bytes of short arrays
ATTEMPTS = 8  # with other secret polynomials each
CHANGED = "each time the collection is read, it must have the same documents"

# Positions of documents and their checksums; for new documents also numbers of tokens, entries, and starts of their groups.
Read: TypeAlias = tuple[Ints, UInt32s, tuple[Ints, UInts, Ints] | None]


@dataclass(frozen=True)
class WindowCounts:
    """Which windows count: their length, the fewest and most places; and the bytes of memory for their entries."""

    tokens: int
    fewest: int
    most: int
    limit: int | None


def find_runs(
    reading: TokenReading, counted: WindowCounts, lay_out: Callable[[Ints], Layout], work: RepeatsWork, *,
    threads: int | None, report: Progress,
) -> tuple[Layout, UInts]:
    """Find the runs of windows that occur at several places.

    Parameters
    ----------
    reading : TokenReading
    counted : WindowCounts
    lay_out : callable
        Gets the tokens of each document, int64 (n,), and returns their layout.
    work : RepeatsWork
        The finished steps of an interrupted search, to which this one adds its own.

    Returns
    -------
    layout : Layout
    runs : ndarray of uint64, shape (runs, 3)
        (place, first, windows), ascending: for 0 <= i < windows, the window at place + i occurs first at first + i.

    Raises
    ------
    OverflowError
        There are too many tokens.

    Notes
    -----
    Fingerprints have 64 bits and secret polynomials. Where different windows turn out to have the same fingerprint, the
    search begins anew with other polynomials.
    """
    layout: Layout | None = None
    for _ in range(ATTEMPTS):
        finder = Finder(reading, counted, work, threads, report)
        sizes, ranges = finder.anchors()
        layout = layout or lay_out(sizes)
        work.fix(layout)
        runs = finder.windows(layout, ranges)
        if work.confirmed():
            return layout, runs
        if finder.confirm(layout, runs):
            work.put_confirmed()
            return layout, runs
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

    def anchors(self) -> tuple[Ints, UInts]:
        """Read all documents; return their tokens, int64 (n,), and the ranges of windows whose anchor is not alone."""
        gathered, read = self.work.anchors(self.counted.limit)
        work = self._anchors_of(gathered, read.known)
        for done, (positions, sums, new) in enumerate(map_pieces(work, self._pieces_after(read.known), self.threads), 1):
            if new is None:
                read.compare(positions, sums)
            else:
                own, anchors, starts = new
                anchors[:, 1] += np.uint64(read.places << RANGE_BITS)
                gathered.append(anchors, starts)
                read.append(own, sums)
                if gathered.keep({}, read.unsaved):
                    read.saved()
            self.report("reading", done, None)
            if read.places >= MAX_PLACES:
                raise OverflowError(f"there are more than {MAX_PLACES} tokens; take the documents in parts")
        read.end()
        ranges = self.work.ranges(read)
        if ranges is None:
            ranges = np.concatenate([shared(entries) for entries in gathered.sorted(self.threads)])
            ranges.sort()
            self.work.put_ranges(read, ranges)
        return read.sizes, ranges

    def _anchors_of(self, entries: WindowEntries, known: int) -> Callable[[Any], Read]:
        """Return the function that reads a piece of documents; it only makes checksums of the `known` ones, read before."""
        slide, window = Windows(self.width, self.secrets.polynomial), self.counted.tokens - self.width + 1

        def work(piece: Any) -> Read:
            positions = self.reading.positions(piece)
            new = None
            if positions[0] >= known:
                _, values, offsets = self.reading.symbols(piece, self.secrets.symbols)
                own = np.diff(offsets)
                anchors = slide.anchors(values, offsets, np.zeros(len(own), np.uint64), bases_of(own).astype(np.uint64),
                                        window, self.secrets.key)
                new = own, *entries.group(anchors)
            sums = self.reading.checksums(piece) if self.work.keeps else np.empty(0, np.uint32)
            return positions, sums, new

        return work

    def _pieces_after(self, known: int) -> Iterator[Any]:
        """Yield all documents in pieces, one of which ends before document `known`."""
        for piece in self.reading.pieces(None):
            yield from self.reading.cut(piece, known)

    def windows(self, layout: Layout, ranges: UInts) -> UInts:
        """Read the documents of these ranges again, and return the runs of their windows that occur at several places."""
        runs = self.work.runs(layout)
        if runs is None:
            runs = self._runs(layout, self._entries(layout, ranges))
            self.work.put_runs(layout, runs)
        return runs

    def _entries(self, layout: Layout, ranges: UInts) -> WindowEntries:
        """Return the entries (fingerprint, place) of windows in ranges."""
        bases = bases_of(layout.sizes)
        which = np.searchsorted(bases, (ranges >> np.uint64(RANGE_BITS)).astype(np.int64), "right") - 1
        gathered, done = self.work.windows(layout, self.counted.limit)
        wanted, seen = np.zeros((2, len(bases)), np.bool_)
        wanted[which] = True
        wanted[:done] = False
        slide, places = Windows(self.counted.tokens, self.secrets.polynomial), layout.places
        labels = layout.labels * np.uint64(self.secrets.key | 1)  # different ones stay different

        def work(piece: Any) -> tuple[int, UInts, Ints]:
            positions, values, offsets = self.reading.symbols(piece, self.secrets.symbols)
            _check_unchanged(positions, np.diff(offsets), layout.sizes)
            seen[positions] = True
            begins, ends = np.searchsorted(which, positions), np.searchsorted(which, positions, "right")
            counts = ends - begins
            own = ranges[_spread_ranges(begins, counts)] - np.repeat(
                bases[positions].astype(np.uint64) << np.uint64(RANGE_BITS), counts)
            limits = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
            entries = slide.taken(values, offsets, labels[positions], places[positions], own, limits)
            return int(positions[-1]), *gathered.group(entries)

        pieces = self.reading.pieces(wanted) if wanted.any() else iter(())
        for number, (last, entries, starts) in enumerate(map_pieces(work, pieces, self.threads), 1):
            gathered.append(entries, starts)
            gathered.keep({"documents": last + 1}, dict)
            self.report("reading passages", number, None)
        if (seen != wanted).any():
            raise ValueError(f"document {np.flatnonzero(seen != wanted)[0]} was read at first, and is not there any more; "
                             f"{CHANGED}")
        return gathered

    def _runs(self, layout: Layout, entries_of_windows: WindowEntries) -> UInts:
        """Sort the entries of all windows, and join windows that occur at several places to runs."""
        by_place = SpooledEntries(int(layout.bases[-1]).bit_length(), self.counted.limit)
        for entries in entries_of_windows.sorted(self.threads):
            by_place.append(*by_place.group(firsts(entries, self.counted.fewest, self.counted.most, layout.exempt)))
        last = np.zeros(3, np.uint64)
        runs = [join(entries, last) for entries in by_place.sorted(self.threads)]
        return np.concatenate([*runs, last.reshape(1, 3)[: int(last[2] > 0)]])

    def confirm(self, layout: Layout, runs: UInts) -> bool:
        """Read the documents of runs again; tell whether windows with equal fingerprints have equal tokens."""
        begins, ends = merge_ranges(runs[:, 0], runs[:, 0] + runs[:, 2] + np.uint64(self.counted.tokens - 1))
        ranks = np.searchsorted(layout.bases, begins.astype(np.int64), "right") - 1
        sequence = np.argsort(layout.order[ranks], kind="stable")
        base = layout.bases[ranks[sequence]]
        cover = (layout.order[ranks[sequence]], begins[sequence].astype(np.int64) - base,
                 ends[sequence].astype(np.int64) - base)
        numbers = SpooledArray(np.uint8, self.counted.limit)
        size = 1
        for some in _join_short(self.reading.numbers(cover, len(layout.sizes), self.threads)):
            numbers.append(some.view(np.uint8))
            size = some.itemsize
        at = np.empty(len(begins), np.int64)  # index of the first number of each range
        lengths = (ends - begins)[sequence].astype(np.int64)
        at[sequence] = np.cumsum(lengths) - lengths
        later = runs[runs[:, 0] != runs[:, 1]]
        own, other = (self._index(places, begins, at) for places in (later[:, 0], later[:, 1]))
        return differing(numbers.array(), size, own, other, later[:, 2].astype(np.int64) + self.counted.tokens - 1) < 0

    @staticmethod
    def _index(places: UInts, begins: UInts, at: Ints) -> Ints:
        """Return the indexes of the tokens at these places among the numbers."""
        which = np.searchsorted(begins, places, "right") - 1
        index: Ints = at[which] + (places - begins[which]).astype(np.int64)
        return index


def _join_short(arrays: Iterable[AnyArray]) -> Iterator[AnyArray]:
    """Join short arrays to about `JOINED` bytes each: an object takes more memory than its few numbers."""
    some, nbytes = list[AnyArray](), 0
    for array in arrays:
        some.append(array)
        nbytes += array.nbytes
        if nbytes >= JOINED:
            yield np.concatenate(some)
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


def merge_ranges(begins: AnyArray, ends: AnyArray) -> tuple[Any, Any]:
    """Merge ranges, ascending by their begins, that overlap or touch; return begins and ends."""
    reach = np.maximum.accumulate(ends) if len(ends) else ends
    apart = np.ones(len(begins), np.bool_)
    apart[1:] = begins[1:] > reach[:-1]
    first = np.flatnonzero(apart)
    return begins[first], reach[np.concatenate([first[1:], [len(begins)]]) - 1] if len(begins) else reach


def _spread_ranges(begins: Ints, counts: Ints) -> Ints:
    """Return begins[i], begins[i] + 1, …, counts[i] numbers for each i, end to end."""
    ends = np.cumsum(counts)
    spread: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - counts), counts)
    return spread
