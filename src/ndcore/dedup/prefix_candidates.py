"""Shingle sets to candidate pairs by the prefix filter: counters, probes, entries sorted by shingle, pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ndcore._types import Ints
from ndcore.dedup.candidates import Run
from ndcore.dedup.shingle_sets import ShingleSets
from ndcore.filters.prefix import PrefixFilter
from ndcore.progress import Progress

__all__ = ["PrefixCandidates", "find_prefix_candidates"]


class PrefixCandidates:
    """Candidate pairs, made anew by each call of `pairs`, and the runs that were not expanded to pairs."""

    def __init__(self, found: list[tuple[int, int]], runs: list[Run], sizes: Ints, filter: PrefixFilter,
                 first_fixed: int, by: Ints | None) -> None:
        self._found, self.runs = found, runs
        self._sizes, self._filter, self._first_fixed, self._by = sizes, filter, first_fixed, by

    def pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the candidate pairs a < b, each once, in chunks."""
        if self._found:
            a, b = np.array(self._found, np.int64).T
            yield a, b

    def partners(self, document: int, others: Ints) -> Ints:
        """Return the documents among `others` that may pass with this one, by their sizes, labels and sides."""
        others = others[others != document]
        if document >= self._first_fixed:
            others = others[others < self._first_fixed]
        if self._by is not None:
            others = others[self._by[others] == self._by[document]]
        n, own = self._sizes[others], self._sizes[document]
        most = np.minimum(n, own) / np.maximum(n, own) if self._filter.drop == "resembling" else np.ones(len(n))
        return others[(n > 0) & (most >= self._filter.threshold)]


def find_prefix_candidates(
    sets: ShingleSets,
    active: Ints,
    filter: PrefixFilter,
    *,
    max_holders: int,
    first_fixed: int,
    by: Ints | None = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    report: Progress,
) -> PrefixCandidates:
    """Find the pairs of active documents that share a probe, and that their sizes allow to pass.

    Parameters
    ----------
    sets : ShingleSets
        With the sets of all active documents, none of them empty.
    active : int64, ascending
        The documents to pair.
    filter : PrefixFilter
    max_holders : int
        Runs of more documents are returned, not expanded.
    first_fixed : int
        Documents from here on are never paired with one another.
    by : int64 (n,), optional
        Only documents of the same code are paired.
    memory_limit : int, optional
        Bytes for counters and entries.
    threads : int, optional
    report : callable
    """
    wanted = set(active.tolist())
    members: dict[int, list[tuple[int, int]]] = {}
    count: dict[tuple[int, int], int] = {}
    for positions, values, offsets in sets.chunks():
        for i, d in enumerate(positions.tolist()):
            if d in wanted:
                code = 0 if by is None else int(by[d])
                members[d] = [(value, code) for value in values[offsets[i] : offsets[i + 1]].tolist()]
                for shingle in members[d]:
                    count[shingle] = count.get(shingle, 0) + 1
    holders: dict[tuple[int, int], tuple[set[int], set[int]]] = {}
    for d, own in sorted(members.items()):
        ordered = sorted(own, key=lambda shingle: (count[shingle], shingle))
        length = int(filter.probe_length(np.array([len(own)]))[0])
        for rank, shingle in enumerate(ordered):
            if rank < length:
                holders.setdefault(shingle, (set(), set()))[0].add(d)
            if rank < length or filter.drop == "contained":
                holders.setdefault(shingle, (set(), set()))[1].add(d)
    found, runs = set(), []
    for probing, holding in holders.values():
        if len(holding) > max_holders and probing and min(holding) < first_fixed:
            runs.append(Run(-1, np.array(sorted(holding), np.int64)))
        elif len(holding) <= max_holders:
            found |= {(min(a, b), max(a, b)) for a in probing for b in holding if a != b and min(a, b) < first_fixed}
    sizes = np.zeros(len(sets._number), np.int64)
    sizes[active] = sets.sizes(active)
    return PrefixCandidates(sorted(found), runs, sizes, filter, first_fixed, by)
