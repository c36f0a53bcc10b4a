"""Make rows from the runs of windows that occur at several places, and the ranges that cutting removes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ndcore._repeats import Rows, classes
from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.checks import check_numbered
from ndcore.spans.repeats_layout import Layout, RepeatedRanges, merge_ranges, merge_steps
from ndcore.storage.spill import ScratchArrays

ROOM = 1 << 16  # rows made at a time
STEP = 1 << 18  # units that are processed together
EVERYWHERE = (1 << 64) - 1


@dataclass(frozen=True)
class Choice:
    """The choice of places that may be sources, and of runs that count.

    Attributes
    ----------
    tokens : int
        Tokens of a window.
    fewest : int
        The fewest places of a run.
    within : bool
        Whether a place in the same document is a source.
    sources : int or None
        Only places below this one are sources, and their documents have no rows; None: every earlier place.
    """

    tokens: int
    fewest: int
    within: bool
    sources: int | None


def find_rows(layout: Layout, cut: UInts, choice: Choice, scratch: ScratchArrays) -> RepeatedRanges:
    """Find the rows of units: see `nd_repeats_rows` in repeats.h. O(n log n) for n units.

    Memory: about 28 bytes a unit, beside the units themselves, from `scratch`. If one word is repeated a million times, each
    window is a unit.
    """
    check_numbered(len(cut), "units of repeated passages", "look in fewer documents, or for longer passages")
    own = classes(cut, scratch.empty)
    everywhere = _list_everywhere(layout, cut, own, choice, scratch)
    bases = layout.bases[:-1].astype(np.uint64) if len(layout.order) else np.zeros(1, np.uint64)
    rows = Rows(cut, own, bases, choice.tokens, choice.fewest,
                EVERYWHERE if choice.sources is None else choice.sources, choice.within, scratch.empty)
    del own
    parts = [np.empty((0, 5), np.uint64)]
    while len(part := rows.next(ROOM)):
        parts.append(part)
    return RepeatedRanges(np.concatenate(parts), everywhere)


def _list_everywhere(
    layout: Layout, cut: UInts, own: AnyArray, choice: Choice, scratch: ScratchArrays
) -> tuple[Ints, Ints, Ints]:
    """List the ranges of tokens of units of these classes that occur at another allowed place, earlier or later."""
    last = scratch.empty(len(cut), np.uint32)  # the last unit of each class, by its first one
    steps = [slice(start, start + STEP) for start in range(0, max(1, len(cut)), STEP)]
    for step in steps:
        last[own[step]] = np.arange(step.start, step.start + len(own[step]), dtype=np.uint32)

    def merged_steps() -> Iterator[tuple[Ints, Ints]]:
        for step in steps:
            some = cut[step].astype(np.int64)
            some = some[_occur_elsewhere(layout, some, cut[last[own[step]], 0].astype(np.int64), choice)]
            yield merge_ranges(some[:, 0], some[:, 0] + some[:, 2] + choice.tokens - 1)

    merged, merged_ends = merge_steps(merged_steps())
    of = np.searchsorted(layout.bases, merged, "right") - 1
    return of, merged - layout.bases[of], merged_ends - layout.bases[of]


def _occur_elsewhere(layout: Layout, some: Ints, last: Ints, choice: Choice) -> Bools:
    """Tell which units occur at another allowed place; last: the last place of each."""
    places, first = some[:, 0], some[:, 1]
    if choice.sources is not None:
        taken: Bools = (places >= choice.sources) & (first < choice.sources)
        return taken
    ranks = np.searchsorted(layout.bases, places, "right") - 1
    earlier = (first < layout.bases[ranks]) | (choice.within & (first + choice.tokens <= places))
    later = (last >= layout.bases[ranks + 1]) | (choice.within & (places + choice.tokens <= last))
    return earlier | later
