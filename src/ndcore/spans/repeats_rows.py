"""Make rows of the runs of windows that occur at several places, and the ranges that cutting removes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndcore._entries import sort_entries
from ndcore._repeats import Rows, units
from ndcore._types import Bools, Ints, UInts
from ndcore.checks import check_numbered
from ndcore.spans.repeats_layout import Layout, RepeatedRanges
from ndcore.spans.repeats_windows import merge_ranges

ROOM = 1 << 16  # rows made at a time
EVERYWHERE = (1 << 64) - 1


@dataclass(frozen=True)
class Choice:
    """Which places may be sources.

    Attributes
    ----------
    tokens : int
        Of a window.
    fewest : int
        Places of a run.
    within : bool
        Whether a place in the same document is a source.
    sources : int or None
        Places below it are the only sources, and their documents have no rows; None: every earlier place.
    """

    tokens: int
    fewest: int
    within: bool
    sources: int | None


def find_rows(layout: Layout, runs: UInts, choice: Choice) -> RepeatedRanges:
    """Find the rows of runs of windows: see `nd_repeats_rows` in repeats.h. O(n log n) for n units.

    Memory: about 140 bytes a unit. Where one word stands a million times, each window is a unit.
    """
    cut = units(runs, int(layout.bases[-1]) + 1)
    everywhere = _list_everywhere(layout, cut, choice)
    ends = _find_ends(cut)
    order = _sort_suffixes(cut, ends)
    rank = np.empty_like(order)
    rank[order.astype(np.int64)] = np.arange(len(order), dtype=np.uint64)
    bases = layout.bases[:-1].astype(np.uint64) if len(layout.order) else np.zeros(1, np.uint64)
    rows = Rows(cut, ends, order, rank, bases, choice.tokens, choice.fewest,
                EVERYWHERE if choice.sources is None else choice.sources, choice.within)
    parts = [np.empty((0, 5), np.uint64)]
    while len(part := rows.next(ROOM)):
        parts.append(part)
    del rows, cut, ends, order, rank
    return RepeatedRanges(np.concatenate(parts), everywhere)


def _find_ends(cut: UInts) -> UInts:
    """Find for each unit the first one behind it whose place does not follow."""
    n = len(cut)
    breaks = np.append(np.flatnonzero(cut[1:, 0] != cut[:-1, 0] + cut[:-1, 2]) + 1, n) if n else np.empty(0, np.int64)
    ends: UInts = breaks[np.searchsorted(breaks, np.arange(n), "right")].astype(np.uint64)
    return ends


def _sort_suffixes(cut: UInts, ends: UInts) -> UInts:
    """Sort the suffixes of units that follow each other, equal ones by position: prefix doubling.

    Manber, Myers, "Suffix arrays: a new method for on-line string searches", 1993, DOI 10.1137/0222058.
    """
    n, length = len(cut), 1
    check_numbered(n, "units of repeated passages", "look in fewer documents, or for longer passages")
    rank = _number_classes(cut).astype(np.uint64) + np.uint64(1)  # 0: behind the end
    distinct = int(np.count_nonzero(cut[:, 0] == cut[:, 1]))
    entries = np.empty((n, 2), np.uint64)
    while True:
        entries[:, 0], entries[:, 1] = rank << np.uint64(32), np.arange(n)
        here = max(n - length, 0)  # units with another one at this distance
        follows = np.arange(n - here, n, dtype=np.uint64) < ends[:here]
        entries[:here, 0] |= np.where(follows, rank[n - here :], np.uint64(0))
        sort_entries(entries)
        order = np.ascontiguousarray(entries[:, 1])
        number = np.cumsum(np.diff(entries[:, 0], prepend=np.uint64(0)) != 0, dtype=np.uint64)
        if not n or int(number[-1]) == distinct:
            return order
        rank[order.astype(np.int64)] = number
        distinct, length = int(number[-1]), 2 * length


def _number_classes(cut: UInts) -> Ints:
    """Return for each unit the index of the first one with its windows: places ascend, and a first place is one of them."""
    return np.searchsorted(cut[:, 0], cut[:, 1])


def _list_everywhere(layout: Layout, cut: UInts, choice: Choice) -> tuple[Ints, Ints, Ints]:
    """Return the tokens of units that occur at another allowed place, earlier or later."""
    places, first = cut[:, 0].astype(np.int64), cut[:, 1].astype(np.int64)
    ranks = np.searchsorted(layout.bases, places, "right") - 1
    classes = _number_classes(cut)
    last = np.zeros(len(cut), np.int64)
    np.maximum.at(last, classes, places)
    last = last[classes]
    begin, end = layout.bases[ranks], layout.bases[ranks + 1]
    earlier = (first < begin) | (choice.within & (first + choice.tokens <= places))
    later = (last >= end) | (choice.within & (places + choice.tokens <= last))
    if choice.sources is None:
        taken: Bools = earlier | later
    else:
        taken = (places >= choice.sources) & (first < choice.sources)
    begins, ends = merge_ranges(places[taken], places[taken] + cut[taken, 2].astype(np.int64) + choice.tokens - 1)
    of = np.searchsorted(layout.bases, begins, "right") - 1
    return of, begins - layout.bases[of], ends - layout.bases[of]
