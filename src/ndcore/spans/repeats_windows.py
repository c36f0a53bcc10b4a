"""Windows of tokens that stand at several places of a collection: found by fingerprints, confirmed by tokens."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._entries import sort_entries
from ndcore._rabin import random_irreducible
from ndcore._repeats import RANGE_BITS, Windows, differing, firsts, join, part, shared
from ndcore._types import AnyArray, Ints, UInts
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.spans.reading import Reading
from ndcore.storage.spill import SpooledArray

__all__ = ["Counted", "Layout", "find_runs"]

PARTS = 64  # that entries are sorted in
MAX_PLACES = 1 << 48
ATTEMPTS = 8  # with other secret polynomials each


@dataclass(frozen=True)
class Counted:
    """Which windows count: their tokens, how often they occur, and how much memory may be used for them."""

    tokens: int
    fewest: int
    most: int
    limit: int | None


@dataclass(frozen=True)
class Layout:
    """Places of the documents of a collection.

    Attributes
    ----------
    sizes : ndarray of int64, shape (n,)
        Tokens of each document.
    order : ndarray of int64, shape (n,)
        Documents in keep order.
    bases : ndarray of int64, shape (n + 1,)
        The place of the first token of each document of `order`, and the number of places.
    labels : ndarray of uint64, shape (n,)
        A secret number for the label of each document.
    exempt : int
        Windows that stand at a place below it do not count.
    """

    sizes: Ints
    order: Ints
    bases: Ints
    labels: UInts
    exempt: int

    @property
    def places(self) -> UInts:
        """The place of the first token of each document, by its position."""
        found = np.empty(len(self.order), np.uint64)
        found[self.order] = self.bases[:-1]
        return found

    @staticmethod
    def of(sizes: Ints, order: Ints, labels: UInts, exempt: int) -> Layout:
        """Lay documents out in this order; windows of the first `exempt` of them do not count."""
        bases = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[order] + 1)])
        return Layout(sizes, order, bases, labels, int(bases[exempt]))


class Parts:
    """Entries (key, id) in groups by the leading bits of their keys, each sorted alone; past a limit on disk."""

    def __init__(self, bits: int, limit: int | None) -> None:
        self.shift = max(0, bits - (PARTS - 1).bit_length())
        each = None if limit is None else limit // PARTS
        self._groups = [SpooledArray(np.uint64, each, (2,)) for _ in range(PARTS)]

    def group(self, entries: UInts) -> tuple[UInts, Ints]:
        """Group entries; in any thread."""
        return part(entries, self.shift, PARTS)

    def append(self, entries: UInts, starts: Ints) -> None:
        """Append entries that `group` returned."""
        for i, group in enumerate(self._groups):
            if starts[i] < starts[i + 1]:
                group.append(entries[starts[i] : starts[i + 1]].copy())  # a view would keep the entries of all groups

    def sorted(self, threads: int | None) -> Iterator[UInts]:
        """Yield the entries of each group, sorted by key, in ascending order. Nothing can be appended afterwards."""
        return map_pieces(_sorted, (self._groups.pop(0) for _ in range(len(self._groups))), threads)


def find_runs(
    reading: Reading, counted: Counted, lay_out: Callable[[Ints], Layout], *, threads: int | None, report: Progress
) -> tuple[Layout, UInts]:
    """Find the runs of windows that stand at several places.

    Parameters
    ----------
    reading : Reading
    counted : Counted
    lay_out : callable
        Gets the tokens of each document, int64 (n,), and returns their layout.

    Returns
    -------
    layout : Layout
    runs : ndarray of uint64, shape (runs, 3)
        Windows place + i that first stand at the place first + i, 0 <= i < windows; (place, first, windows) ascending.

    Raises
    ------
    OverflowError
        There are too many tokens.

    Notes
    -----
    Fingerprints have 64 bits and secret polynomials. Where tokens show that different windows have the same fingerprint, all
    is done again with other polynomials.
    """
    layout: Layout | None = None
    for _ in range(ATTEMPTS):
        finder = Finder(reading, counted, threads, report)
        sizes, ranges = finder.anchors()
        layout = layout or lay_out(sizes)
        runs = finder.windows(layout, ranges)
        if finder.confirm(layout, runs):
            return layout, runs
    raise RuntimeError(f"different windows had the same fingerprints under {ATTEMPTS} pairs of random polynomials, which "
                       "happens only where random numbers are not random")


class Finder:
    """One search, with secret polynomials."""

    def __init__(self, reading: Reading, counted: Counted, threads: int | None, report: Progress) -> None:
        self.reading, self.counted, self.threads, self.report = reading, counted, threads, report
        self.width = (counted.tokens + 1) // 2
        self.secret, self.key = secrets.randbits(64), secrets.randbits(64)
        self.polynomial = random_irreducible(64, secrets.randbits(64))

    def anchors(self) -> tuple[Ints, UInts]:
        """Read all documents; return their tokens, int64 (n,), and the ranges of windows whose anchor is not alone."""
        slide, found = Windows(self.width, self.polynomial), Parts(64, self.counted.limit)
        window, sizes, base = self.counted.tokens - self.width + 1, SpooledArray(np.int64), 0

        def work(piece: Any) -> tuple[Ints, UInts, Ints]:
            _, values, offsets = self.reading.symbols(piece, self.secret)
            own = np.diff(offsets)
            places = (np.cumsum(own + 1) - own - 1).astype(np.uint64)
            anchors = slide.anchors(values, offsets, np.zeros(len(own), np.uint64), places, window, self.key)
            return own, *found.group(anchors)

        for done, (own, anchors, starts) in enumerate(
                map_pieces(work, self.reading.pieces(None), self.threads), 1):
            anchors[:, 1] += np.uint64(base << RANGE_BITS)
            found.append(anchors, starts)
            sizes.append(own)
            base += int(own.sum()) + len(own)
            self.report("reading", done, None)
            if base >= MAX_PLACES:
                raise OverflowError(f"there are more than {MAX_PLACES} tokens; take the documents in parts")
        ranges = np.concatenate([shared(entries) for entries in found.sorted(self.threads)])
        ranges.sort()
        return np.asarray(sizes.array()), ranges

    def windows(self, layout: Layout, ranges: UInts) -> UInts:
        """Read the documents of ranges again; return the runs of their windows that stand at several places."""
        bases = np.cumsum(layout.sizes + 1) - layout.sizes - 1  # in the order of reading
        which = np.searchsorted(bases, (ranges >> np.uint64(RANGE_BITS)).astype(np.int64), "right") - 1
        wanted = np.zeros(len(bases), np.bool_)
        wanted[which] = True
        slide, found = Windows(self.counted.tokens, self.polynomial), Parts(64, self.counted.limit)
        places = layout.places

        def work(piece: Any) -> tuple[UInts, Ints]:
            positions, values, offsets = self.reading.symbols(piece, self.secret)
            begins, ends = np.searchsorted(which, positions), np.searchsorted(which, positions, "right")
            counts = ends - begins
            own = ranges[_spread(begins, counts)] - np.repeat(
                bases[positions].astype(np.uint64) << np.uint64(RANGE_BITS), counts)
            limits = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
            return found.group(slide.taken(values, offsets, layout.labels[positions], places[positions], own, limits))

        pieces = self.reading.pieces(wanted) if len(ranges) else iter(())
        for done, (entries, starts) in enumerate(map_pieces(work, pieces, self.threads), 1):
            found.append(entries, starts)
            self.report("reading passages", done, None)
        by_place = Parts(int(layout.bases[-1]).bit_length(), self.counted.limit)
        for entries in found.sorted(self.threads):
            by_place.append(*by_place.group(firsts(entries, self.counted.fewest, self.counted.most, layout.exempt)))
        last = np.zeros(3, np.uint64)
        runs = [join(entries, last) for entries in by_place.sorted(self.threads)]
        return np.concatenate([*runs, last.reshape(1, 3)[: int(last[2] > 0)]])

    def confirm(self, layout: Layout, runs: UInts) -> bool:
        """Read the documents of runs again; tell whether windows with equal fingerprints have equal tokens."""
        begins, ends = merged(runs[:, 0], runs[:, 0] + runs[:, 2] + np.uint64(self.counted.tokens - 1))
        ranks = np.searchsorted(layout.bases, begins.astype(np.int64), "right") - 1
        sequence = np.argsort(layout.order[ranks], kind="stable")
        base = layout.bases[ranks[sequence]]
        cover = (layout.order[ranks[sequence]], begins[sequence].astype(np.int64) - base,
                 ends[sequence].astype(np.int64) - base)
        numbers = SpooledArray(np.uint8, self.counted.limit)
        size = 1
        for some in self.reading.numbers(cover, len(layout.sizes), self.threads):
            numbers.append(np.ascontiguousarray(some).view(np.uint8))
            size = some.itemsize
        at = np.empty(len(begins), np.int64)  # where the numbers of each range are
        lengths = (ends - begins)[sequence].astype(np.int64)
        at[sequence] = np.cumsum(lengths) - lengths
        later = runs[runs[:, 0] != runs[:, 1]]
        own, other = (self._index(places, begins, at) for places in (later[:, 0], later[:, 1]))
        return differing(numbers.array(), size, own, other, later[:, 2].astype(np.int64) + self.counted.tokens - 1) < 0

    @staticmethod
    def _index(places: UInts, begins: UInts, at: Ints) -> Ints:
        """Return where the numbers of tokens at these places are."""
        which = np.searchsorted(begins, places, "right") - 1
        found: Ints = at[which] + (places - begins[which]).astype(np.int64)
        return found


def _sorted(group: SpooledArray) -> UInts:
    """Return the entries of a group, sorted by key."""
    entries = np.array(group.array(), np.uint64).reshape(-1, 2)
    sort_entries(entries)
    return entries


def merged(begins: AnyArray, ends: AnyArray) -> tuple[Any, Any]:
    """Merge ranges, ascending by their begins, that overlap or touch; return begins and ends."""
    reach = np.maximum.accumulate(ends) if len(ends) else ends
    apart = np.ones(len(begins), np.bool_)
    apart[1:] = begins[1:] > reach[:-1]
    first = np.flatnonzero(apart)
    return begins[first], reach[np.concatenate([first[1:], [len(begins)]]) - 1] if len(begins) else reach


def _spread(begins: Ints, counts: Ints) -> Ints:
    """Return begins[i], begins[i] + 1, …, counts[i] numbers for each i, end to end."""
    ends = np.cumsum(counts)
    found: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - counts), counts)
    return found
