"""Shingle sets to candidate pairs by the prefix filter: counters, probes, entries sorted by shingle, runs, pairs.

The sets are read once to count their shingles and once to write the entries of probes; for containment once more, to write
all entries of shingles that are a probe of some document. See DESIGN.md §5, "The complete filter".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._candidates import Counts, Marks, Pairs, entries, runs
from ndcore._entries import sort_entries
from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.filters.prefix import PrefixFilter
from ndcore.pairs.candidates import Runs
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.pairs.shingle_weights import ShingleWeights, sum_before
from ndcore.parallel import cut, map_pieces, thread_count
from ndcore.progress import Progress
from ndcore.storage.spill import SpooledArray

MEMORY = 4 << 30  # bytes for counters, entries and lists, without a memory_limit
LEAST_MEMORY = 1 << 16  # bytes; a smaller limit would cost time and save nothing
MOST_CELLS = 1 << 30  # most counters, of 2 bytes each
MOST_PARTS = 256  # most parts of the entries; a part may have a temporary file
ENTRY_BYTES = 48  # bytes of an entry, its scratch space, and its place in a run
MARKS = 16  # bits of the table of marks for each probe
PAIRS = 1 << 20  # pairs of a chunk
LISTED = 8  # bytes of a run in the list of a document
BLOCK = 1 << 16  # documents whose probes are counted at a time
MOST_PAIRS = 1 << 62  # most pairs of an expanded run
PARTIAL = 1 << 31  # the bit of a rank, see prefix.h
LONG = -1  # the group of runs that were not expanded
GOLDEN = np.uint64(0x9E3779B97F4A7C15)

_Chunk = tuple[Ints, UInts, Ints, NDArray[np.uint32] | None]  # documents, values, offsets, weights
_LongRun = tuple[int, Ints, NDArray[np.uint8]]


class PrefixCandidates:
    """Candidate pairs, recomputed by each call of `pairs`, and the runs that were not expanded to pairs."""

    def __init__(self, job: _Job, index: _Index, runs: Runs) -> None:
        self._job, self._index = job, index
        self.runs = runs

    def pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the candidate pairs a < b, each once, in chunks; b ascends."""
        job = self._job
        contained = job.filter.drop == "contained"
        least = job.filter.threshold if job.weights is None else 0.0  # it is compared with numbers of shingles
        finder = Pairs(*self._index, job.sizes, job.by, least, contained, job.first_fixed)
        volume = finder.volume()
        for part in cut(volume, job.memory // (4 * LISTED)):
            finder.begin(part.start, part.stop, volume[part])
            while (found := finder.next(PAIRS)) is not None:
                a, b = found if job.weights is None or contained else job.may_resemble(*found)
                if len(a):
                    yield a, b

    def meetings(self) -> tuple[Ints, Ints]:
        """Count the documents of each expanded run, and the ordered pairs that meet in it."""
        sizes, whole = np.diff(self._index.ends, prepend=0), self._index.whole.astype(np.int64)
        return sizes, whole * (2 * sizes - whole - 1)

    @property
    def most_listed(self) -> int:
        """0: all pairs are never listed for these runs, which have too many."""
        return 0

    def allows(self, a: Ints, b: Ints) -> Bools:
        """Tell which pairs of documents that share a run are candidates: not both of `against`, and with the same label."""
        allowed: Bools = np.minimum(a, b) < self._job.first_fixed
        if self._job.by is not None:
            allowed &= self._job.by[a] == self._job.by[b]
        return allowed


class _Index(NamedTuple):
    """Concatenated runs: holders, the end of each run, and the number of its holders that are whole."""

    holders: UInts
    ends: Ints
    whole: NDArray[np.uint32]


def find_prefix_candidates(
    sets: ShingleSets,
    active: Ints,
    filter: PrefixFilter,
    *,
    weights: ShingleWeights | None = None,
    max_holders: int,
    first_fixed: int,
    by: Ints | None = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    key: bytes | None = None,
    report: Progress,
) -> PrefixCandidates:
    """Find the pairs of active documents that share a probe, if their sizes and ranks allow them to pass.

    Every pair that passes is among the pairs, or both documents are in one of the runs. Runs of m documents, p of which are
    paired with all others of the run, are expanded if p * m <= max_holders squared. By resemblance, these p documents have
    the shingle among their `PrefixFilter.index_length` rarest; by containment, it is a probe of them. memory_limit: bytes
    for counters, entries and lists; None: 4 GiB. weights: of the members of the sets, by which pairs pass; None: each weighs
    1. key: of `Counts`, by which rare shingles are told apart; None: a random one. Other parameters are as for
    `find_candidates`.

    Notes
    -----
    O(shingles) to count and look up; O(entries) to sort; one visit for each pair of documents of a run.
    """
    memory = max(LEAST_MEMORY, MEMORY if memory_limit is None else memory_limit)
    sizes = np.zeros(sets.n, np.int64)
    sizes[active] = sets.sizes(active)
    del active  # frees 8 bytes for each document
    job = _Job(sets, sizes, weights, filter, max_holders, first_fixed, by, memory, thread_count(threads), key, report)
    parts = job.entries(job.count())
    index, long = job.runs(parts)
    return PrefixCandidates(job, index, Runs.of(long))


@dataclass(frozen=True)
class _Job:
    """The sets to pair, their sizes by document (0: not active), weights, and the settings."""

    sets: ShingleSets
    sizes: Ints
    weights: ShingleWeights | None
    filter: PrefixFilter
    max_holders: int
    first_fixed: int
    by: Ints | None
    memory: int
    threads: int
    key: bytes | None
    report: Progress

    def count(self) -> Counts:
        """Count the shingles of all active documents."""
        most = min(MOST_CELLS, self.memory // 4)
        counts = Counts(min(most, 1 << max(0, int(self.sizes.sum()) - 1).bit_length()), self.key)
        last = -1
        for positions, values, offsets, _ in self._chunks("counting shingles"):
            if np.diff(positions, prepend=last).min() <= 0:
                raise ValueError("the sets are not in the order of their documents; append them in ascending order")
            last = positions[-1]
            counts.add(values, offsets, (self.sizes[positions] > 0).astype(np.uint32), self.mixes(positions))
        return counts

    def entries(self, counts: Counts) -> list[SpooledArray]:
        """Write the entries (shingle, document and rank), in parts by the high bits of the shingle."""
        total, marks = self._count_probes(), None
        if self.filter.drop == "contained":
            marks = Marks(min(self.memory, MARKS * (total + 1)))
            for found in self._map(partial(self._write, counts, None, 0), "choosing probes"):
                marks.add(found[0])
            total = int(self.sizes.sum())
        share = ENTRY_BYTES * total * self.threads // self.memory
        bits = min(MOST_PARTS - 1, share).bit_length()
        spooled = [SpooledArray(np.uint64, self.memory // 4 >> bits) for _ in range(1 << bits)]
        for found in self._map(partial(self._write, counts, marks, bits), "writing entries"):
            for part, piece in zip(spooled, found, strict=True):
                part.append(piece)
        return spooled

    def _count_probes(self) -> int:
        """Count the probes of all documents; with weights, return the number of all shingles, an upper bound."""
        if self.weights is not None:
            return int(self.sizes.sum())
        blocks = (self.sizes[at : at + BLOCK] for at in range(0, len(self.sizes), BLOCK))
        return sum(int(self.filter.probe_length(block).sum()) for block in blocks)

    def runs(self, parts: list[SpooledArray]) -> tuple[_Index, list[_LongRun]]:
        """Sort the entries, part by part on threads, and find their runs."""
        holders, whole = SpooledArray(np.uint64, self.memory // 4), SpooledArray(np.uint32)
        sizes, long = SpooledArray(np.uint32), list[_LongRun]()
        parts.reverse()
        remaining = (parts.pop() for _ in range(len(parts)))
        total = len(parts)
        for done, (found, long_here) in enumerate(map_pieces(self._runs_of_part, remaining, self.threads), 1):
            for column, piece in zip((holders, sizes, whole), found, strict=True):
                column.append(piece)
            long += long_here
            self.report("sorting entries", done, total)
        ends = np.cumsum(sizes.array(), dtype=np.int64)
        return _Index(np.asarray(holders.array()), ends, whole.array()), long

    def _runs_of_part(self, part: SpooledArray) -> tuple[tuple[AnyArray, ...], list[_LongRun]]:
        """Sort the entries of a part; return its runs (holders, sizes, whole) and the long ones."""
        every = part.array().reshape(-1, 2)
        if not every.flags.writeable:
            every = np.array(every)
        sort_entries(every)
        holders, sizes, whole, long = runs(every, min(self.max_holders**2, MOST_PAIRS), self.first_fixed)
        return (holders, sizes, whole), [_as_run(every[begin:end, 1]) for begin, end in long.tolist()]

    def _chunks(self, stage: str) -> Iterator[_Chunk]:
        """Yield the chunks of all sets, with reports."""
        done = 0
        unweighted = ((*chunk, None) for chunk in self.sets.chunks())
        for chunk in unweighted if self.weights is None else self.weights.chunks():
            yield chunk
            done += len(chunk[0])
            self.report(stage, done, len(self.sets))

    def _map(self, work: Callable[[_Chunk], list[UInts]], stage: str) -> Iterator[list[UInts]]:
        """Yield the written entries of each chunk, in order."""
        return map_pieces(work, self._chunks(stage), self.threads)

    def _write(self, counts: Counts, marks: Marks | None, bits: int, chunk: _Chunk) -> list[UInts]:
        """Make the entries of a chunk, uint64 (entries, 2), in 2^bits parts by the high bits of the shingle."""
        positions, values, offsets, _ = chunk
        found = entries(counts, values, offsets, positions.astype(np.uint32), *self._lengths(counts, chunk),
                        self.mixes(positions), marks)
        if not bits:
            return [found]
        part = (found[:, 0] >> np.uint64(64 - bits)).astype(np.int64)
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange((1 << bits) - 1), "right")
        return np.split(found[order], ends)

    def _lengths(self, counts: Counts, chunk: _Chunk) -> tuple[Ints, Ints]:
        """Count the rarest shingles of each document that are looked up, and those that others may find."""
        positions, values, offsets, units = chunk
        sizes, mixes = self.sizes[positions], self.mixes(positions)
        if units is None:
            return self.filter.probe_length(sizes), self.filter.index_length(sizes)
        sets = np.repeat(np.arange(len(positions), dtype=np.uint64), np.diff(offsets))
        holders = np.maximum(counts.at(values if mixes is None else values ^ mixes[sets]), 1)  # the order of `entries`
        rarest_first = np.argsort(sets << np.uint64(16) | holders, kind="stable")
        before = sum_before(units[rarest_first])
        ends = before[offsets]
        rest, whole = ends[1:][sets] - before[:-1], np.diff(ends)[sets]
        probed, indexed = (np.diff(sum_before(reached)[offsets]) * (sizes > 0)
                           for reached in self.filter.reached_by_rest(rest, whole))
        return probed, indexed

    def may_resemble(self, a: Ints, b: Ints) -> tuple[Ints, Ints]:
        """Select the pairs of documents whose weights allow them to reach the threshold."""
        assert self.weights is not None
        of_a, of_b = self.weights.sizes(a), self.weights.sizes(b)
        enough = np.minimum(of_a, of_b) / np.maximum(of_a, of_b) >= self.filter.threshold
        return a[enough], b[enough]

    def mixes(self, positions: Ints) -> UInts | None:
        """Return the values to mix into the shingles of these documents, so that only documents with one code share any."""
        return None if self.by is None else (self.by[positions].astype(np.uint64) + np.uint64(1)) * GOLDEN


def _as_run(holders: UInts) -> _LongRun:
    """Return a run for `Runs.of`."""
    return LONG, (holders >> np.uint64(32)).astype(np.int64), (holders.astype(np.uint32) < PARTIAL).astype(np.uint8)
