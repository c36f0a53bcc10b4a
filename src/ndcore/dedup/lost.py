"""What a drop costs: the shingles of a dropped document that no kept document has."""

from __future__ import annotations

import numpy as np

from ndcore._candidates import Counts
from ndcore._types import Bools, Ints, UInts
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.parallel import cut

__all__ = ["count_lost"]

SOUGHT = 1 << 25  # shingles of dropped documents that are looked for at a time
MOST_CELLS = 1 << 28
CELLS = 8  # counters for each shingle that is sought: most others then pass none


def count_lost(sets: ShingleSets, dropped: Ints, representatives: Ints, kept: Bools) -> Ints:
    """Count the shingles of each dropped document that no kept document has; int64, as `dropped`.

    Parameters
    ----------
    sets : ShingleSets
        With the sets of all these documents.
    dropped, representatives : int64
        Positions of dropped documents and of a kept document for each, which probably has most of its shingles.
    kept : bool (documents,)

    Notes
    -----
    Only shingles that the representative lacks are looked for. The sets of kept documents are read once for every 2^25
    shingles of dropped documents.
    """
    lost = np.zeros(len(dropped), np.int64)
    for part in cut(sets.sizes(dropped), SOUGHT):
        values, offsets = sets.differences(dropped[part], representatives[part])
        owners = np.repeat(np.arange(part.start, part.stop), np.diff(offsets))
        order = np.argsort(values)
        values, owners = values[order], owners[order]
        begins = np.ones(len(values), np.bool_)
        begins[1:] = values[1:] != values[:-1]
        missing = ~_find(sets, values[begins], kept)
        lost += np.bincount(owners[missing[np.cumsum(begins) - 1]], minlength=len(lost))
    return lost


def _find(sets: ShingleSets, sought: UInts, kept: Bools) -> Bools:
    """Tell which of these ascending values are in the set of a kept document."""
    found = np.zeros(len(sought), np.bool_)
    if not len(sought):
        return found
    counts = Counts(min(MOST_CELLS, CELLS * len(sought)))
    counts.add(sought, np.array([0, len(sought)]))
    for positions, values, offsets in sets.chunks():
        wanted = kept[positions]
        if not wanted.all():
            values = values[np.repeat(wanted, np.diff(offsets))]
        values = values[counts.at(values) > 0]
        at = np.minimum(np.searchsorted(sought, values), len(sought) - 1)
        found[at[sought[at] == values]] = True
    return found
