"""Find the fields of items that occur near the first field of their item, from hits of windows.

The naive algorithm compares each document with every item that shares a window with it, which is quadratic if thousands of
items follow one template. Here pairs of windows decide: whether a window of a first field and a window of another field are
near each other somewhere does not depend on items. So each pair is handled once: the items that have the rarer window are
tested for the other one. If a window recurs within `near` + 1 tokens, only the first and the last place count: whatever is
near a place between them is near one of these.

The number of pairs is quadratic if many different windows are within `near` tokens, as in one long text with a large
`near`. If there are more pairs than items that have these windows, counted for each window, windows are taken to their
items instead. Then only the two places of a first field next to another field are compared with it.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from ndcore._grams import Grams
from ndcore._types import Bools, Ints
from ndcore.readonly import NamedColumns
from ndcore.spans.contamination_reading import find_items, unite_ranges

PAIRS = 1 << 20  # about as many pairs of hits are compared at a time
COSTLY = 64  # a pair of windows with at least this many holders is remembered, so that its items are tested once
REMEMBERED = 1 << 20  # pairs; beyond this they are forgotten, and tested again


class _NearPlaces(NamedTuple):
    item: Ints
    field: Ints
    document: Ints
    first_start: Ints
    start: Ints


class NearPlaces(NamedColumns, _NearPlaces):  # type: ignore[misc]
    """Places where fields of items are near the first field of their item.

    int64 arrays: the item, the field, a document, the token where a window of the first field begins there, and the token
    where a window of the field begins.
    """

    __slots__ = ()


class WindowHolders:
    """The holders, such as items, of each window. Built in O(n log n) from pairs (window, holder)."""

    def __init__(self, windows: Ints, holders: Ints, count: int, range_of_holders: int) -> None:
        self._range = max(range_of_holders, 1)
        self._keys = np.unique(windows * self._range + holders)
        self._starts = np.searchsorted(self._keys, np.arange(count + 1) * self._range)

    def count(self, windows: Ints) -> Ints:
        """Count the holders of windows."""
        sizes: Ints = self._starts[windows + 1] - self._starts[windows]
        return sizes

    def expand(self, windows: Ints) -> tuple[Ints, Ints]:
        """List the holders of windows, concatenated, and for each the index of its window."""
        which, inside = expand_ranges(self._starts[windows], self._starts[windows + 1])
        return self._keys[inside] % self._range, which

    def have(self, windows: Ints, holders: Ints) -> Bools:
        """Tell for each pair whether the holder has the window."""
        wanted = windows * self._range + holders
        at = np.minimum(np.searchsorted(self._keys, wanted), max(len(self._keys) - 1, 0))
        same: Bools = self._keys[at] == wanted if len(self._keys) else np.zeros(len(wanted), np.bool_)
        return same


def expand_ranges(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """List all numbers in ranges: for each the index of its range, and the number."""
    sizes = np.maximum(ends - starts, 0)
    which = np.repeat(np.arange(len(sizes)), sizes)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(starts, sizes)


class NearFields:
    """A search for the fields near the first field of their item; `reference.contamination` has the definition.

    Parameters
    ----------
    grams : Grams
        The windows of all parts.
    offsets : ndarray of int64
        Where the tokens of each part begin and end.
    items, fields : ndarray of int64 (parts,)
        The item of each part, and its field.
    near : int
        The most tokens between two fields.

    Notes
    -----
    Memory: about 40 bytes for each token of the parts, and about 80 MB for pairs and places. A hit is compared with hits of
    the other kind within `near` tokens plus a window. If these are more than PAIRS, and more than h, the number of items
    that have the window of each hit, it takes O(h log h) instead.
    """

    def __init__(self, grams: Grams, offsets: Ints, items: Ints, fields: Ints, near: int) -> None:
        self._grams, self._near = grams, near
        begins = np.flatnonzero(grams.numbers)
        windows = grams.numbers[begins].astype(np.int64) - 1
        parts = find_items(offsets, begins)
        self._fields = int(fields.max(initial=0)) + 1
        n, count = int(items.max(initial=-1)) + 1, len(grams.places)
        first = fields[parts] == 0
        self._firsts = WindowHolders(windows[first], items[parts[first]], count, n)
        slots = items[parts[~first]] * self._fields + fields[parts[~first]]
        self._others = WindowHolders(windows[~first], slots, count, n * self._fields)
        self._decided = np.zeros(n * self._fields, np.bool_)
        self._seen = np.zeros(0, np.int64)
        self._rows: list[tuple[Ints, Ints, Ints, Ints]] = []

    def take(self, documents: Ints, rows: Ints, positions: Ints, numbers: Ints) -> None:
        """Process the hits of documents, in order. rows: for each hit, the index of its document in `documents`."""
        of_first, of_other = self._firsts.count(numbers) > 0, self._others.count(numbers) > 0
        both = np.zeros(len(documents), np.bool_)
        both[np.intersect1d(rows[of_first], rows[of_other])] = True
        first, other = np.flatnonzero(of_first & both[rows]), np.flatnonzero(of_other & both[rows])
        if not len(first):
            return
        ends = positions + self._grams.length_of(numbers)
        apart = int(ends.max()) + 2 * self._near + 2
        begin, end = positions + rows * apart, ends + rows * apart    # one text with wide gaps between documents
        other = other[self._is_free(rows[first], begin[first], end[first], begin[other], end[other])]
        first, other = self._thin(first, begin, numbers), self._thin(other, begin, numbers)
        if not len(other):
            return
        longest = int((end[other] - begin[other]).max())
        low = np.searchsorted(begin[other], begin[first] - self._near - longest)
        high = np.searchsorted(begin[other], end[first] + self._near, "right")
        sizes = self._firsts.count(numbers[first])
        for group in _cut_work(sizes):
            around = slice(int(low[group].min()), int(high[group].max()))
            holders = int(sizes[group].sum()) + int(self._others.count(numbers[other[around]]).sum())
            if int((high[group] - low[group]).sum()) > max(holders, PAIRS):
                self._decide_by_items(documents[rows], positions, numbers, begin, end, first[group], other[around])
                continue
            for some in _cut_work(high[group] - low[group]):
                which, inside = expand_ranges(low[group][some], high[group][some])
                one, two = first[group][some][which], other[inside]
                near = (begin[two] - end[one] <= self._near) & (begin[one] - end[two] <= self._near)
                one, two = one[near], two[near]
                keys = (numbers[one] << 31) | numbers[two]
                new, at = np.unique(keys, return_index=True)
                fresh = ~np.isin(new, self._seen)
                self._decide(documents[rows], positions, numbers, one[at[fresh]], two[at[fresh]])

    def _is_free(self, rows: Ints, first_begin: Ints, first_end: Ints, begin: Ints, end: Ints) -> Bools:
        """Tell which places share no token with a window of a first field."""
        starts, stops, _ = unite_ranges(np.zeros(len(rows), np.int64), first_begin, first_end)
        at = np.searchsorted(starts, end)  # the stretches before this one begin before `end`
        free: Bools = (at == 0) | (stops[np.maximum(at - 1, 0)] <= begin)
        return free

    def _thin(self, hits: Ints, begin: Ints, numbers: Ints) -> Ints:
        """Keep only the first and the last place of a window among those within `near` + 1 tokens."""
        order = np.lexsort((begin[hits], numbers[hits]))
        block, number = begin[hits][order] // (self._near + 1), numbers[hits][order]
        change = (np.diff(block) != 0) | (np.diff(number) != 0)
        edge = np.append(True, change) | np.append(change, True)
        ends: Ints = np.sort(hits[order[edge]]) if len(hits) else hits
        return ends

    def _decide(self, documents: Ints, positions: Ints, numbers: Ints, one: Ints, two: Ints) -> None:
        """Find the items that have both windows of pairs of hits."""
        few = self._firsts.count(numbers[one]) <= self._others.count(numbers[two])
        for pairs, of_first in ((np.flatnonzero(few), True), (np.flatnonzero(~few), False)):
            sizes = (self._firsts if of_first else self._others).count(numbers[(one if of_first else two)[pairs]])
            for some in _cut_work(sizes):
                self._decide_some(documents, positions, numbers, one[pairs[some]], two[pairs[some]], of_first)
            costly = pairs[sizes >= COSTLY]
            if len(costly):
                keys = (numbers[one[costly]] << 31) | numbers[two[costly]]
                remembered = self._seen if len(self._seen) + len(keys) <= REMEMBERED else self._seen[:0]
                self._seen = np.union1d(remembered, keys)

    def _decide_some(
        self, documents: Ints, positions: Ints, numbers: Ints, one: Ints, two: Ints, of_first: bool
    ) -> None:
        """Record the items that have both windows of pairs of hits, testing the holders of one of the windows."""
        matches: list[tuple[Ints, Ints]] = []
        if of_first:
            items, which = self._firsts.expand(numbers[one])
            for field in range(1, self._fields):
                slots = items * self._fields + field
                have = self._others.have(numbers[two[which]], slots)
                matches.append((slots[have], which[have]))
        else:
            slots, which = self._others.expand(numbers[two])
            have = self._firsts.have(numbers[one[which]], slots // self._fields)
            matches.append((slots[have], which[have]))
        for slots, which in matches:
            self._note(documents, positions, slots, one[which], two[which])

    def _decide_by_items(
        self, documents: Ints, positions: Ints, numbers: Ints, begin: Ints, end: Ints, first: Ints, other: Ints
    ) -> None:
        """Note the items in which hits of both kinds are close, from the items that have each of these hits' windows.

        Of the first field of an item, what ends last among the places that begin before another field, and what begins next
        behind it, are near it if any is. O(h log h), h the items of each hit counted together.
        """
        held, which = self._firsts.expand(numbers[first])
        items, item = np.unique(held, return_inverse=True)
        apart = int(end.max()) + 1
        order = np.lexsort((begin[first[which]], item))
        item, places = item[order], first[which[order]]
        starts, ends = item * apart + begin[places], item * apart + end[places]
        last = np.maximum.accumulate(ends)  # of places of the item so far: items before are below
        last_place = places[np.maximum.accumulate(np.where(ends == last, np.arange(len(ends)), 0))]
        for some in _cut_work(self._others.count(numbers[other])):
            slots, which = self._others.expand(numbers[other[some]])
            open_ = ~self._decided[slots] & np.isin(slots // self._fields, items)
            slots, two = slots[open_], other[some][which[open_]]
            rank = np.searchsorted(items, slots // self._fields)
            at = np.searchsorted(starts, rank * apart + begin[two], "right")
            before, behind = np.maximum(at - 1, 0), np.minimum(at, len(places) - 1)
            for one, there in ((last_place[before], (at > 0) & (item[before] == rank)),
                               (places[behind], (at < len(places)) & (item[behind] == rank))):
                near = there & (begin[two] - end[one] <= self._near) & (begin[one] - end[two] <= self._near)
                self._note(documents, positions, slots[near], one[near], two[near])

    def _note(self, documents: Ints, positions: Ints, slots: Ints, one: Ints, two: Ints) -> None:
        """Note fields of items that are near, with the hits of both; the first document of each that is not noted yet."""
        open_ = ~self._decided[slots]
        slots, one, two = slots[open_], one[open_], two[open_]
        order = np.lexsort((documents[one], slots))
        new = order[np.append(True, np.diff(slots[order]) != 0)[: len(order)]]
        slots, one, two = slots[new], one[new], two[new]
        self._decided[slots] = True
        self._rows.append((slots, documents[one], positions[one], positions[two]))

    def places(self) -> NearPlaces:
        """List a place of each field that is near the first one, by item and field."""
        columns = [np.concatenate([np.zeros(0, np.int64), *parts]) for parts in zip(*self._rows, strict=True)] \
            if self._rows else [np.zeros(0, np.int64)] * 4
        slots, documents, firsts, starts = (column[np.argsort(columns[0])] for column in columns)
        return NearPlaces(slots // self._fields, slots % self._fields, documents, firsts, starts)


def _cut_work(sizes: Ints) -> list[slice]:
    """Split rows into parts of about PAIRS units of work, each of at least one row."""
    ends = np.cumsum(sizes)
    bounds = np.flatnonzero(np.diff(ends // PAIRS)) + 1
    edges = [0, *bounds.tolist(), len(sizes)]
    return [slice(start, end) for start, end in itertools.pairwise(edges) if start < end]
