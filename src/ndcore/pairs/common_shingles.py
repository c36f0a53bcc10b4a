"""Common shingles, which do not count, and shingle sets without them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ndcore._candidates import Counts
from ndcore._types import Bools, Ints, UInts
from ndcore.pairs.keep_order import Leaders
from ndcore.pairs.shingle_sets import ShingleSets

COMMON_CLASSES = 20  # least number of leaders that have a common shingle
SATURATED = (1 << 16) - 1  # the largest value of a counter
MOST_CELLS = 1 << 28
TALLIED = 1 << 22  # rows of a tally before it is summed up


@dataclass(frozen=True)
class CommonShingles:
    """Common shingles: values[i] does not count in documents of group groups[i]. Sorted by group, then value."""

    values: UInts
    groups: Ints

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def _sorted(self) -> tuple[UInts, Ints]:
        """The distinct values, and the numbers of (group, distinct value), ascending."""
        distinct = np.unique(self.values)
        return distinct, np.sort(self.groups * len(distinct) + np.searchsorted(distinct, self.values))

    def holds(self, values: UInts, groups: Ints) -> Bools:
        """Tell which of these values are common in their group. O(len(values) · log)."""
        common = np.zeros(len(values), np.bool_)
        distinct, known = self._sorted
        if not len(distinct):
            return common
        at = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
        held = np.flatnonzero(distinct[at] == values)
        wanted = groups[held] * len(distinct) + at[held]
        common[held] = known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] == wanted
        return common

    def remove(self, values: UInts, offsets: Ints, groups: Ints) -> tuple[UInts, Ints]:
        """Copy the sets values[offsets[i] : offsets[i + 1]] of documents of these groups without common shingles."""
        if not len(self):
            return values, offsets
        stays = ~self.holds(values, np.repeat(groups, np.diff(offsets)))
        return values[stays], np.append(0, np.cumsum(stays))[offsets]


def find_common(sets: ShingleSets, leaders: Leaders, valid: Bools, share: float) -> CommonShingles:
    """Find the shingles of more than this share of a group's documents, and of at least 20 of its leaders.

    A group has the documents with the same label of `by`. Versions of `one_per` are left out. A document that equals a
    leader counts for the leader's shingles.

    Notes
    -----
    Reads the sets three times: 16-bit counters give upper bounds, so that few shingles must be counted exactly.
    """
    own = np.arange(len(leaders.version))
    groups = np.zeros(len(own), np.int64) if leaders.by is None else leaders.by
    counted = valid & (leaders.version == own)
    documents = np.bincount(leaders.leader[counted], minlength=len(own))  # number of documents of each class, at its leader
    limits = share * np.bincount(groups[counted], minlength=1).astype(np.float64)
    counts = Counts(min(MOST_CELLS, max(1 << 10, 1 << sets.total.bit_length())))  # at least one for each shingle
    for positions, values, offsets in sets.chunks(leaders.compared):
        counts.add(values, offsets, documents[positions].astype(np.uint32))
    tally = _Tally()
    for positions, values, offsets in sets.chunks(leaders.compared):
        owners = np.repeat(positions, np.diff(offsets))
        bound = np.minimum(np.maximum(limits[groups[owners]], COMMON_CLASSES - 1), SATURATED - 1)
        maybe = counts.at(values) > bound
        tally.add(values[maybe], groups[owners[maybe]], documents[owners[maybe]])
    values, held_in, holders, classes = tally.sums()
    common = (holders > limits[held_in]) & (classes >= COMMON_CLASSES)
    return CommonShingles(values[common], held_in[common])


def without_common(sets: ShingleSets, common: CommonShingles, leaders: Leaders) -> ShingleSets:
    """Copy the sets of leaders without common shingles."""
    counted = sets.empty()
    for positions, values, offsets in sets.chunks(leaders.compared):
        groups = np.zeros(len(positions), np.int64) if leaders.by is None else leaders.by[positions]
        counted.append(positions, *common.remove(values, offsets, groups))
    return counted


_Rows = tuple[UInts, Ints, Ints, Ints]  # values, groups, documents, classes


class _Tally:
    """Sums by (value, group); rows are summed up whenever there are many."""

    def __init__(self) -> None:
        none = np.empty(0, np.int64)
        self._parts: list[_Rows] = [(np.empty(0, np.uint64), none, none, none)]
        self._rows = 0

    def add(self, values: UInts, groups: Ints, documents: Ints) -> None:
        """Add one class of documents for each value."""
        self._parts.append((values, groups, documents, np.ones(len(values), np.int64)))
        self._rows += len(values)
        if self._rows > max(TALLIED, 2 * len(self._parts[0][0])):
            self._parts = [self.sums()]
            self._rows = 0

    def sums(self) -> _Rows:
        """Return the sums, sorted by group, then value."""
        values, groups, documents, classes = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.lexsort((values, groups))
        values, groups, documents, classes = values[order], groups[order], documents[order], classes[order]
        begins = np.ones(len(values), np.bool_)
        begins[1:] = (values[1:] != values[:-1]) | (groups[1:] != groups[:-1])
        first = np.flatnonzero(begins)
        if len(first):
            documents, classes = np.add.reduceat(documents, first), np.add.reduceat(classes, first)
        return values[first], groups[first], documents, classes
