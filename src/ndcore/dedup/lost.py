"""What a drop costs: the shingles of a dropped document that no kept document has."""

from __future__ import annotations

import numpy as np

from ndcore._prefix import Counts
from ndcore._types import Bools, Ints, UInts
from ndcore.dedup.shingle_sets import ShingleSets

__all__ = ["count_lost"]

SOUGHT = 1 << 25  # shingles that are looked for at a time
MOST_CELLS = 1 << 28


def count_lost(sets: ShingleSets, dropped: Bools, kept: Bools) -> Ints:
    """Count, for each dropped document, the shingles that no kept document has; int64 (documents,), 0 for others.

    Reads the sets once for every 2^25 shingles of dropped documents.
    """
    lost = np.zeros(len(dropped), np.int64)
    total = int(sets.sizes(np.flatnonzero(dropped)).sum())
    parts = 1 << max(0, (total // SOUGHT).bit_length())
    shift = np.uint64(64 - (parts.bit_length() - 1)) if parts > 1 else np.uint64(0)
    for part in range(parts):
        sought = _Sought(sets, dropped, np.uint64(part), shift, parts > 1)
        for positions, values, offsets in sets.chunks():
            sought.find(values[np.repeat(kept[positions], np.diff(offsets))])
        sought.count(sets, dropped, lost)
    return lost


class _Sought:
    """The shingles of dropped documents whose leading bits are `part`, and which of them were found."""

    def __init__(self, sets: ShingleSets, dropped: Bools, part: np.uint64, shift: np.uint64, several: bool) -> None:
        self.part, self.shift, self.several = part, shift, several
        chunks = [np.empty(0, np.uint64)]
        for positions, values, offsets in sets.chunks():
            chunks.append(np.unique(self._inside(values[np.repeat(dropped[positions], np.diff(offsets))])))
        self.values = np.unique(np.concatenate(chunks))
        self.found = np.zeros(len(self.values), np.bool_)
        cells = max(1 << 10, 1 << (2 * len(self.values)).bit_length())
        self._counts = Counts(min(MOST_CELLS, cells))
        self._counts.add(self.values, np.array([0, len(self.values)]))

    def _inside(self, values: UInts) -> UInts:
        """Select the values of this part."""
        return values[values >> self.shift == self.part] if self.several else values

    def find(self, values: UInts) -> None:
        """Mark the shingles that are among these values."""
        values = self._inside(values)
        values = values[self._counts.at(values) > 0]
        if len(self.values):
            at = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
            self.found[at[self.values[at] == values]] = True

    def count(self, sets: ShingleSets, dropped: Bools, lost: Ints) -> None:
        """Add the shingles that were not found to the counts of the dropped documents that have them."""
        for positions, values, offsets in sets.chunks():
            owners = np.repeat(positions, np.diff(offsets))
            of_dropped = dropped[owners]
            owners, values = owners[of_dropped], values[of_dropped]
            if self.several:
                inside = values >> self.shift == self.part
                owners, values = owners[inside], values[inside]
            missing = owners[~self.found[np.searchsorted(self.values, values)]]
            np.add.at(lost, missing, 1)
