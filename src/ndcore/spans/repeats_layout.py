"""The layout of a collection: all tokens have consecutive places, in keep order; with checks of ranges, runs and rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._repeats import RANGE_BITS
from ndcore._types import AnyArray, Ints, UInts

MAX_PLACES = 1 << 48
STEP = 1 << 20  # ranges or runs that are checked at a time


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
        A number for each document that stands for its label.
    exempt : int
        Windows that occur at a place below this one do not count.
    """

    sizes: Ints
    order: Ints
    bases: Ints
    labels: UInts
    exempt: int

    @property
    def places(self) -> UInts:
        """The place of the first token of each document, by its position."""
        places = np.empty(len(self.order), np.uint64)
        places[self.order] = self.bases[:-1]
        return places

    @staticmethod
    def of(sizes: Ints, order: Ints, labels: UInts, exempt: int) -> Layout:
        """Lay out documents in this order. Windows of the first `exempt` documents do not count."""
        bases = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[order] + 1)])
        return Layout(sizes, order, bases, labels, int(bases[exempt]))


@dataclass(frozen=True)
class RepeatedRanges:
    """Rows, in keep order, and ranges of the tokens of documents, ascending by rank.

    Attributes
    ----------
    rows : ndarray of uint64, shape (m, 5)
        (rank of the document, first token, last token + 1, place of the source, copies).
    everywhere : tuple of ndarray
        (ranks, first tokens, last tokens + 1) of the passages that occur at another place, earlier or later.
    """

    rows: UInts
    everywhere: tuple[Ints, Ints, Ints]


def bases_of(sizes: Ints) -> Ints:
    """Compute the place of the first token of each document, in the order of reading."""
    return np.cumsum(sizes + 1) - sizes - 1


def split_ranges(ranges: UInts) -> tuple[Ints, Ints]:
    """Split ranges, (first window << RANGE_BITS | number - 1), into first windows and numbers of windows; int64 each."""
    return ((ranges >> np.uint64(RANGE_BITS)).astype(np.int64),
            (ranges & np.uint64((1 << RANGE_BITS) - 1)).astype(np.int64) + 1)


def find_ranges_fault(sizes: Ints, ranges: UInts, tokens: int) -> str | None:
    """Check that ranges ascend and lie within documents; return the first fault in words, or None. Linear."""
    bases = bases_of(sizes)
    for some in _yield_steps(ranges):
        if (some[1:] < some[:-1]).any() or (len(some) and not len(sizes)):
            return "its ranges of windows do not ascend"
        firsts, windows = split_ranges(some)
        which = np.searchsorted(bases, firsts, "right") - 1
        if (firsts + windows + tokens - 1 > bases[which] + sizes[which]).any():
            return "a range is not one of windows of a document"
    return None


def find_runs_fault(layout: Layout, runs: UInts, tokens: int) -> str | None:
    """Check that runs are disjoint, in documents, with earlier places; return the first fault in words, or None. Linear."""
    total = int(layout.bases[-1])
    for some in _yield_steps(runs):
        places, firsts, windows = some.T
        if (places >= total).any() or (firsts > places).any() or (windows < 1).any() or (windows > total).any():
            return f"a run is not among {total} places, or begins before its first place"
        if (places[1:] < places[:-1] + windows[:-1]).any():
            return "its runs do not follow each other"
        for those in (places, firsts):
            bounds = layout.bases[np.searchsorted(layout.bases, those.astype(np.int64), "right")] - 1  # of documents
            if (those + windows + np.uint64(tokens - 1) > bounds.astype(np.uint64)).any():
                return "a run is not one of windows of a document"
    alone = (some[some[:, 0] == some[:, 1]] for some in _yield_steps(runs))
    begins, ends = merge_steps(merge_ranges(some[:, 0], some[:, 0] + some[:, 2]) for some in alone)
    for some in _yield_steps(runs):
        which = np.searchsorted(begins, some[:, 1], "right") - 1
        if (which < 0).any() or (some[:, 1] + some[:, 2] > ends[which]).any():
            return "the first place of a run is not the first of its windows"
    return None


def find_rows_fault(layout: Layout, ranges: RepeatedRanges, begin: int) -> str | None:
    """Check rows and ranges of documents from the place `begin` on; return the first fault in words, or None. Linear."""
    total = int(layout.bases[-1])
    for some in _yield_steps(ranges.rows):
        fault = _find_tokens_fault(layout, some[:, :3], begin)
        if fault is not None:
            return fault
        ranks, firsts, lasts, sources, copies = some.T
        if (sources >= layout.bases[ranks.astype(np.int64)].astype(np.uint64) + firsts).any() or (copies > total).any():
            return "the source of a row is not before it, or has too many copies"
        ends = layout.bases[np.searchsorted(layout.bases, sources.astype(np.int64), "right")] - 1  # of documents
        if (sources + (lasts - firsts) > ends.astype(np.uint64)).any():
            return "the source of a row is not in a document"
    everywhere = np.stack(ranges.everywhere, 1).view(np.uint64)
    return next(filter(None, (_find_tokens_fault(layout, some, begin) for some in _yield_steps(everywhere))), None)


def _find_tokens_fault(layout: Layout, some: UInts, begin: int) -> str | None:
    """Check that (rank, first token, last token + 1) ascend without overlap, in documents from the place `begin` on."""
    ranks, firsts, lasts = some.T
    if (ranks >= len(layout.order)).any() or (layout.bases[ranks.astype(np.int64)] < begin).any():
        return f"a passage is of none of {len(layout.order)} documents"
    sizes = layout.sizes[layout.order[ranks.astype(np.int64)]].astype(np.uint64)
    if (firsts >= lasts).any() or (lasts > sizes).any():
        return "a passage is not within its document"
    same = ranks[1:] == ranks[:-1]
    if (ranks[1:] < ranks[:-1]).any() or (same & (firsts[1:] < lasts[:-1])).any():
        return "its passages do not follow each other"
    return None


def merge_ranges(begins: AnyArray, ends: AnyArray) -> tuple[Any, Any]:
    """Merge ranges that overlap or touch; they ascend by their begins. Return begins and ends."""
    reach = np.maximum.accumulate(ends) if len(ends) else ends
    apart = np.ones(len(begins), np.bool_)
    apart[1:] = begins[1:] > reach[:-1]
    first = np.flatnonzero(apart)
    return begins[first], reach[np.concatenate([first[1:], [len(begins)]]) - 1] if len(begins) else reach


def merge_steps(steps: Iterable[tuple[AnyArray, AnyArray]]) -> tuple[Any, Any]:
    """Merge the results of `merge_ranges` for consecutive steps; return begins and ends."""
    begins, ends = zip(*steps, strict=True)
    return merge_ranges(np.concatenate(begins), np.concatenate(ends))


def _yield_steps(rows: UInts) -> Iterator[UInts]:
    """Yield rows in parts that overlap by one row; at least one part, which may be empty."""
    return (rows[start : start + STEP + 1] for start in range(0, max(1, len(rows)), STEP))
