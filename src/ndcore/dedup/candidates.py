"""Signatures to candidate pairs: features, sorted entries, runs that share a feature, pairs.

The filter is LSH banding with a required number of bands that agree (Broder, "Identifying and filtering near-duplicate
documents", 2000, §3); sorting entries follows Broder, Glassman, Manasse, Zweig, "Syntactic clustering of the Web", 1997, §4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from ndcore._candidates import FeatureTables, Judge
from ndcore._entries import sort_entries
from ndcore._sets import distinct
from ndcore._types import AnyArray, Ints, UInts
from ndcore.filters.design import FilterDesign
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress
from ndcore.text.shingling import FEATURE_POLYNOMIAL

__all__ = ["Candidates", "Run", "Search", "find_candidates"]

ENTRY_BYTES = 40  # an entry before and after its part is chosen, and scratch, about
BLOCK = 1 << 16  # entries of several groups that are sorted together; more of one group are sorted alone

_TABLES = FeatureTables(FEATURE_POLYNOMIAL)


class Run(NamedTuple):
    """Documents, ascending, that share a feature (group −1: a shingle); too many to be paired with one another."""

    group: int
    documents: Ints


class Search(Protocol):
    """The candidates of a filter."""

    @property
    def runs(self) -> list[Run]:
        """Runs that were not expanded to pairs."""

    def pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the candidate pairs a < b in bounded chunks, each pair once."""

    def partners(self, document: int, others: Ints) -> Ints:
        """Return the documents among `others`, all of one run with this one, that are candidates with it."""


class Candidates(NamedTuple):
    """Candidate pairs a < b, sorted, and the runs that were not expanded to pairs; a `Search`."""

    a: Ints
    b: Ints
    runs: list[Run]
    judge: Judge
    first_fixed: int
    by: Ints | None

    def pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield all candidate pairs at once, if there are any."""
        if len(self.a):
            yield self.a, self.b

    def partners(self, document: int, others: Ints) -> Ints:
        """Return the documents among `others` that are candidates with this one."""
        if document >= self.first_fixed:
            others = others[others < self.first_fixed]
        if self.by is not None:
            others = others[self.by[others] == self.by[document]]
        return others[self.judge.matches(document, others.astype(np.uint64)).astype(np.bool_)]


def find_candidates(
    rows: AnyArray,
    active: Ints,
    design: FilterDesign,
    *,
    equal_minima: int,
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
    equal_minima : int
        Minima that a pair shares at least, of the whole signatures.
    max_holders : int
        Runs of more documents are returned, not expanded.
    first_fixed : int
        Documents from here on are never paired with one another.
    by : int64 (n,), optional
        Only documents of the same code are paired.
    memory_limit : int, optional
        Bytes for the entries of one group; more are sorted in parts, by ranges of their keys.
    threads : int, optional
        None: one per CPU. They sort entries; one is used where the limit has no room for two groups per thread.

    Notes
    -----
    O(groups · n) to sort, one comparison of signatures per pair that shares a feature. One group is in memory at a time (two
    per thread of several), or as many as have few entries together.
    """
    judge = Judge(rows, design.groups, design.group_size, design.need, equal_minima, first_fixed)
    salts = None if by is None else (by[active].astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    found: list[UInts] = []
    runs: list[Run] = []
    parts = _parts(len(active), memory_limit)
    block = max(1, BLOCK // max(1, len(active))) if parts == 1 else 1
    count = thread_count(threads)
    if memory_limit is not None and 2 * count * ENTRY_BYTES * len(active) > memory_limit:
        count = 1

    def prepare(first: int) -> Iterable[tuple[UInts, list[Run]]]:
        entries = judge.entries(_TABLES, first, min(first + block, design.groups), active, salts)
        prepared = ((part, _long_runs(judge, part, max_holders, first_fixed)) for part in _sorted_parts(entries, parts))
        return prepared if count == 1 else list(prepared)  # one thread: a part is sorted when it is needed

    starts = range(0, design.groups, block)
    for first, prepared in zip(starts, map_pieces(prepare, starts, count), strict=True):
        for entries, long in prepared:  # in order: pairs ask for long runs of all earlier groups
            if long and not runs:
                cut = np.zeros((len(rows), design.groups), np.uint8)
                judge.set_cut(cut)
            for run in long:
                cut[run.documents, run.group] = 1
            runs += long
            found += judge.expand(entries, min(max_holders, len(entries)))
        report("pairing", min(first + block, design.groups), design.groups)
    together = np.concatenate([np.empty(0, np.uint64), *found])
    found.clear()
    pairs, _ = distinct(together, np.array([0, len(together)]))
    a, b = (pairs >> np.uint64(32)).astype(np.int64), (pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)
    if by is not None:  # keys of two codes may coincide
        a, b = a[by[a] == by[b]], b[by[a] == by[b]]
    return Candidates(a, b, sorted(runs, key=lambda run: run.group), judge, first_fixed, by)


def _parts(n: int, memory_limit: int | None) -> int:
    """Return into how many parts, a power of two, to cut the entries of a group so that each fits."""
    if memory_limit is None:
        return 1
    return 1 << max(0, (ENTRY_BYTES * n // memory_limit).bit_length())


def _sorted_parts(entries: UInts, parts: int) -> Iterator[UInts]:
    """Yield entries sorted by feature, in parts by the features' high bits."""
    shift = np.uint64(64 - (parts.bit_length() - 1)) if parts > 1 else np.uint64(0)
    for part in range(parts):
        inside = entries if parts == 1 else entries[entries[:, 0] >> shift == part]
        sort_entries(inside)
        yield inside


def _long_runs(judge: Judge, entries: UInts, max_holders: int, first_fixed: int) -> list[Run]:
    """Find the runs of more than max_holders entries, unless all are fixed."""
    runs = [Run(int(entries[begin, 1]) >> 32, (entries[begin:end, 1] & np.uint64(0xFFFFFFFF)).astype(np.int64))
            for begin, end in judge.long_runs(entries, min(max_holders, len(entries)))]
    return [run for run in runs if run.documents[0] < first_fixed]
