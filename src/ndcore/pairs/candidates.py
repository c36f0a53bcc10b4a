"""Signatures to candidate pairs: features, sorted entries, runs that share a feature, pairs.

The filter is LSH banding with a required number of bands that agree (Broder, "Identifying and filtering near-duplicate
documents", 2000, §3); sorting entries follows Broder, Glassman, Manasse, Zweig, "Syntactic clustering of the Web", 1997, §4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ndcore._candidates import FeatureTables, Judge
from ndcore._entries import sort_entries
from ndcore._sets import distinct
from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.filters.design import FilterDesign, least_equal_minima
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress
from ndcore.text.shingling import FEATURE_POLYNOMIAL

ENTRY_BYTES = 40  # about the bytes of an entry before and after its part is chosen, and scratch space
EXPANDED = 64  # in runs of at most 64 documents, pairs are compared by signatures; in longer ones, by bitmaps of sets
BLOCK = 1 << 16  # entries of several groups that are sorted together; larger groups are sorted alone

_TABLES = FeatureTables(FEATURE_POLYNOMIAL)

_Run = tuple[int, Ints, NDArray[np.uint8]]  # group, documents, whole: see `Runs`


class Runs(NamedTuple):
    """Runs of documents that share a feature, too many to pair all of them.

    Run i has documents[begins[i] : begins[i + 1]], ascending; groups[i] is the group of its feature, -1 for a shingle.
    whole, uint8: for each document, 1 if it may be paired with all others of the run, 0 if only with documents that have 1.
    """

    groups: Ints
    begins: Ints
    documents: Ints
    whole: NDArray[np.uint8]

    @classmethod
    def of(cls, parts: Sequence[tuple[int, Ints, NDArray[np.uint8]]]) -> Runs:
        """Join runs (group, documents, whole)."""
        groups = np.array([group for group, _, _ in parts], np.int64)
        sizes = [len(documents) for _, documents, _ in parts]
        documents = np.concatenate([np.empty(0, np.int64), *(documents for _, documents, _ in parts)])
        whole = np.concatenate([np.empty(0, np.uint8), *(whole for _, _, whole in parts)])
        return cls(groups, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), documents, whole)

    @property
    def sizes(self) -> Ints:
        """int64 (runs,): the number of documents of each run."""
        return np.diff(self.begins)

    def where(self, wanted: Bools) -> Runs:
        """Select runs."""
        inside = np.repeat(wanted, self.sizes)
        begins = np.concatenate([[0], np.cumsum(self.sizes[wanted])])
        return Runs(self.groups[wanted], begins, self.documents[inside], self.whole[inside])


class Search(Protocol):
    """The candidates of a filter."""

    @property
    def runs(self) -> Runs:
        """Runs that were not expanded to pairs."""

    @property
    def most_listed(self) -> int:
        """The largest number of documents of a run of which all pairs are wanted, not only pairs with representatives."""

    def pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the candidate pairs a < b of other runs in bounded chunks, each pair once."""

    def allows(self, a: Ints, b: Ints) -> Bools:
        """Tell which pairs of documents that share a run are candidates."""


class Candidates(NamedTuple):
    """Candidate pairs a < b, sorted, and the runs that were not expanded to pairs; a `Search`."""

    a: Ints
    b: Ints
    runs: Runs
    judge: Judge
    first_fixed: int
    most_listed: int
    by: Ints | None

    @property
    def documents(self) -> Ints:
        """int64: the documents of candidate pairs and of runs, with repeats."""
        return np.concatenate([self.a, self.b, self.runs.documents])

    def pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield all candidate pairs at once, if there are any."""
        if len(self.a):
            yield self.a, self.b

    def allows(self, a: Ints, b: Ints) -> Bools:
        """Tell which pairs of documents that share a run are candidates."""
        allowed: Bools = self.judge.matches(a, b).view(np.bool_)
        allowed &= np.minimum(a, b) < self.first_fixed
        if self.by is not None:
            allowed &= self.by[a] == self.by[b]
        return allowed


def find_candidates(
    rows: AnyArray,
    active: Ints,
    design: FilterDesign,
    *,
    equal_minima: int | None = None,
    max_holders: int,
    first_fixed: int,
    by: Ints | None = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    report: Progress,
) -> Candidates:
    """Find the pairs of active documents that share at least design.need features and `equal_minima` minima.

    Parameters
    ----------
    rows : uint32 or uint64 (n, num_perm)
    active : int64, ascending
        The documents to pair.
    design : FilterDesign
    equal_minima : int, optional
        The least number of minima that a pair shares, in the whole signatures. None: `least_equal_minima`.
    max_holders : int
        Runs of more documents, or of more than EXPANDED, are returned and not expanded.
    first_fixed : int
        Documents from here on are never paired with one another.
    by : int64 (n,), optional
        Only documents of the same code are paired.
    memory_limit : int, optional
        Bytes for the entries of one group; more are sorted in parts, by ranges of their keys.
    threads : int, optional
        Threads that sort entries; None: one per CPU. Only one is used if the limit has no room for two groups per thread.

    Notes
    -----
    O(groups · n) to sort, one comparison of signatures per pair that shares a feature. One group is in memory at a time
    (with several threads, two per thread), or several groups that have few entries together.
    """
    if equal_minima is None:
        equal_minima = least_equal_minima(rows.shape[1], design.threshold)
    judge = Judge(rows, design.groups, design.group_size, design.need, equal_minima, first_fixed)
    salts = None if by is None else (by[active].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    most = min(max_holders, EXPANDED)
    pieces: list[UInts] = []  # pairs, each as a << 32 | b
    runs: list[_Run] = []
    parts = 1  # parts of the entries of a group, a power of two
    if memory_limit is not None:
        parts = 1 << max(0, (ENTRY_BYTES * len(active) // memory_limit).bit_length())
    block = max(1, BLOCK // max(1, len(active))) if parts == 1 else 1
    count = thread_count(threads)
    if memory_limit is not None and 2 * count * ENTRY_BYTES * len(active) > memory_limit:
        count = 1

    def prepare(first: int) -> Iterable[tuple[UInts, list[_Run]]]:
        entries = judge.entries(_TABLES, first, min(first + block, design.groups), active, salts)
        prepared = ((part, _long_runs(judge, part, most, first_fixed)) for part in _sorted_parts(entries, parts))
        return prepared if count == 1 else list(prepared)  # with one thread, a part is sorted when it is needed

    starts = range(0, design.groups, block)
    for first, prepared in zip(starts, map_pieces(prepare, starts, count), strict=True):
        for entries, long in prepared:  # in order, because pairs depend on the long runs of all earlier groups
            if long and not runs:
                cut = np.zeros((len(rows), design.groups), np.uint8)
                judge.set_cut(cut)
            for group, documents, _ in long:
                cut[documents, group] = 1
            runs += long
            pieces += judge.expand(entries, min(most, len(entries)))
        report("pairing", min(first + block, design.groups), design.groups)
    words = np.concatenate([np.empty(0, np.uint64), *pieces])
    pieces.clear()
    pairs, _ = distinct(words, np.array([0, len(words)]))
    a, b = (pairs >> np.uint64(32)).astype(np.int64), (pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)
    if by is not None:  # keys of two codes may collide
        a, b = a[by[a] == by[b]], b[by[a] == by[b]]
    return Candidates(a, b, Runs.of(sorted(runs, key=itemgetter(0))), judge, first_fixed, max_holders, by)


def _sorted_parts(entries: UInts, parts: int) -> Iterator[UInts]:
    """Yield entries sorted by feature, in parts by the high bits of features."""
    shift = np.uint64(64 - (parts.bit_length() - 1)) if parts > 1 else np.uint64(0)
    for part in range(parts):
        inside = entries if parts == 1 else entries[entries[:, 0] >> shift == part]
        sort_entries(inside)
        yield inside


def _long_runs(judge: Judge, entries: UInts, most: int, first_fixed: int) -> list[_Run]:
    """Find the runs of more than `most` entries, unless all are fixed."""
    runs = [(int(entries[begin, 1]) >> 32, (entries[begin:end, 1] & np.uint64(0xFFFFFFFF)).astype(np.int64))
            for begin, end in judge.long_runs(entries, min(most, len(entries)))]
    return [(group, documents, np.ones(len(documents), np.uint8)) for group, documents in runs if documents[0] < first_fixed]
