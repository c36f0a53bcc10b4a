"""How documents are compared under the rules of a verdict: candidates, scores, common shingles, lost shingles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ndcore._candidates import Counts
from ndcore._types import AnyArray, Bools, Floats, Ints, UInts
from ndcore.dedup.documents import Documents, Leaders
from ndcore.dedup.pairs_below import RejectedPairs
from ndcore.dedup.rules import COMMON_CLASSES, Rules
from ndcore.filters.design import FilterDesign, least_equal_minima
from ndcore.filters.prefix import PrefixFilter
from ndcore.pairs.candidates import Search, find_candidates
from ndcore.pairs.lost_runs import LostRuns
from ndcore.pairs.prefix_candidates import find_prefix_candidates
from ndcore.pairs.scored import Scored
from ndcore.pairs.shingle_sets import SETS_IN_MEMORY, SetBitmaps, ShingleSets
from ndcore.parallel import cut
from ndcore.progress import Progress
from ndcore.sketch.minhash import MinHasher
from ndcore.storage.spill import SpooledArray

__all__ = ["CommonShingles", "Verifier", "count_lost", "find_pairs", "read_sets"]

ROWS = 4096  # pairs of signatures that are compared at a time
WORTH_BITMAPS = 4  # pairs for each set, from which bitmaps cost less than they spare
SATURATED = (1 << 16) - 1  # of a counter
MOST_CELLS = 1 << 28
TALLIED = 1 << 22  # rows of a tally before it is added up
SOUGHT = 1 << 25  # shingles of dropped documents that are looked for at a time
CELLS = 8  # counters for each shingle that is sought: most others then pass none


def find_pairs(
    documents: Documents, formed: ShingleSets | None, leaders: Leaders, rules: Rules, filter: FilterDesign | PrefixFilter, *,
    threads: int | None, memory_limit: int | None, report: Progress,
) -> tuple[Search, Verifier]:
    """Return the candidates among the compared documents, and the verifier that has their shingle sets.

    `formed` are the sets of the first pass; None: those that are needed are read now.
    """
    read = partial(read_sets, documents, tokens=rules.verify == "tokens", threads=threads, report=report)
    compared = documents.valid & leaders.compared
    sets, counted, common_shingles = formed, None, 0
    if sets is None and rules.needs_all_sets:
        sets = read(documents.valid & (leaders.leader == np.arange(len(compared))) if rules.lost else compared)
    if sets is not None and rules.drop_common is not None:
        common = find_common(sets, leaders, documents.valid, rules.drop_common)
        counted, common_shingles = without_common(sets, common, leaders), len(common)
        compared[compared] = counted.sizes(np.flatnonzero(compared)) > 0
    search: Search
    if isinstance(filter, PrefixFilter):
        assert sets is not None
        search = find_prefix_candidates(
            counted or sets, np.flatnonzero(compared), filter, max_holders=rules.max_holders, first_fixed=documents.n,
            by=leaders.group, memory_limit=memory_limit, threads=threads, report=report,
        )
        lost_runs = None if rules.max_lost is None else _read_lost_runs(documents, compared, threads)
        return search, Verifier(documents, sets, rules, counted, common_shingles, leaders.keep.rank, lost_runs)
    rows, sketched = documents.rows, counted or formed
    if sketched is not None:
        rows = _sketch_sets(sketched, len(documents), documents.sketcher, memory_limit)
    assert rows is not None
    search = find_candidates(
        rows, np.flatnonzero(compared), filter, max_holders=rules.max_holders, first_fixed=documents.n, by=leaders.group,
        equal_minima=least_equal_minima(documents.sketcher.num_perm, rules.threshold), memory_limit=memory_limit,
        threads=threads, report=report,
    )
    if sets is None or rules.max_lost is not None:
        wanted = np.zeros(len(documents), np.bool_)
        for positions in (search.a, search.b, search.runs.documents):
            wanted[positions] = True
        sets = read(wanted) if sets is None else sets
    lost_runs = None if rules.max_lost is None else _read_lost_runs(documents, wanted, threads)
    verifier = Verifier(documents, sets, rules, counted, common_shingles, leaders.keep.rank, lost_runs)
    if counted is None and not len(search.runs.groups) and documents.has_text(np.flatnonzero(compared)).all():
        verifier.rejected = RejectedPairs()
    return search, verifier


def _read_lost_runs(documents: Documents, wanted: Bools, threads: int | None) -> LostRuns:
    """Read the shingles of the wanted documents in their order."""
    runs = LostRuns(documents.shingling, len(documents), SETS_IN_MEMORY)
    runs.read(documents.texts(wanted), threads)
    return runs


def _sketch_sets(sets: ShingleSets, n: int, sketcher: MinHasher, memory_limit: int | None) -> AnyArray:
    """Return the signatures of the sets of n documents, 0 for documents that have none."""
    dtype, width = f"uint{sketcher.bits}", sketcher.num_perm
    made, at = SpooledArray(dtype, memory_limit, (width,)), 0
    for positions, values, offsets in sets.chunks():  # in the order of positions
        part = np.zeros((int(positions[-1]) + 1 - at, width), dtype)
        part[positions - at] = sketcher.sketch_hashes(values, offsets).values
        made.append(part)
        at += len(part)
    made.append(np.zeros((n - at, width), dtype))
    return made.array()


# ---- scores


@dataclass(eq=False, repr=False)
class Verifier:
    """Resemblances and scores of pairs of documents whose shingle sets have been read.

    `counted`: the sets without common shingles; None: all shingles count. `rejected`: the candidates whose resemblance is
    below the threshold; None: not all of them are compared.
    """

    documents: Documents
    sets: ShingleSets
    rules: Rules
    counted: ShingleSets | None
    common_shingles: int
    rank: Ints
    lost_runs: LostRuns | None = None
    rejected: RejectedPairs | None = None
    _bitmaps: SetBitmaps | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the bitmaps, which can be made again."""
        return vars(self) | {"_bitmaps": None}

    def bitmaps(self, search: Search) -> SetBitmaps:
        """Return bitmaps of the sets that are compared, in keep order, with a row for each document in a run."""
        if self._bitmaps is None:
            self._bitmaps = SetBitmaps(self.compared, search.runs.documents, self.rank, contained=self.rules.contained)
        return self._bitmaps

    @property
    def threads(self) -> int | None:
        """Threads that compare; None: one for each CPU."""
        return self.sets.threads

    @property
    def compared(self) -> ShingleSets:
        """The sets whose scores decide."""
        return self.sets if self.counted is None else self.counted

    def measure(self, a: Ints, b: Ints, threshold: float | None = None, report: Progress | None = None) -> Scored:
        """Measure pairs, in any order of a and b; with a threshold, return the accepted ones only, in their order."""
        exact = self.documents.has_text(a) & self.documents.has_text(b)
        of_a, of_b = np.empty((2, len(a)), np.float64)
        of_a[exact], of_b[exact] = self._scores(a[exact], b[exact], report)
        estimated = np.flatnonzero(~exact)
        of_a[estimated] = of_b[estimated] = self._estimates(a[estimated], b[estimated])
        found = Scored(a, b, of_a, of_a, of_b)
        if threshold is not None:
            enough = found.score >= threshold
            if self.rejected is not None:
                self.rejected.add(found.score[~enough])
            accepted = enough & self._large_enough(a, b)
            found, exact = found.where(accepted), exact[accepted]
            if self.lost_runs is not None and self.rules.max_lost is not None:
                later = self.rank[found.a] > self.rank[found.b]
                dropped, kept = np.where(later, found.a, found.b), np.where(later, found.b, found.a)
                found = found.where(self.lost_runs.longest(dropped, kept) <= self.rules.max_lost)
        if self.counted is None and not self.rules.contained:
            return found
        return found._replace(resemblance=self.sets.resemblance(found.a, found.b))  # sketches have neither rule

    def verify_all(self, search: Search, report: Progress) -> Scored:
        """Return the accepted pairs of all candidates, sorted."""
        chunks, seen, threshold = [], 0, self.rules.threshold
        for a, b in search.pairs():
            seen += len(a)
            if seen > WORTH_BITMAPS * len(self.compared):
                self.rejected = None  # bitmaps reject without a resemblance
                near = self.bitmaps(search).near(a, b, threshold)
                a, b = a[near], b[near]
            chunks.append(self.measure(a, b, threshold, report))
        return Scored.merged(chunks, len(self.documents))

    def verify(self, a: Ints, b: Ints, threshold: float, report: Progress | None = None) -> Scored:
        """Return the accepted pairs of these, each with the smaller position first."""
        return self.measure(np.minimum(a, b), np.maximum(a, b), threshold, report)

    def _scores(self, a: Ints, b: Ints, report: Progress | None) -> tuple[Floats, Floats]:
        """Compute the scores of each pair of texts, of a in b and of b in a."""
        sets = self.compared
        if not self.rules.contained:
            scores = sets.resemblance(a, b, report)
            return scores, scores
        common = sets.common(a, b, report).astype(np.float64)
        with np.errstate(invalid="ignore"):  # 0 / 0 is nan
            return common / sets.sizes(a).astype(np.float64), common / sets.sizes(b).astype(np.float64)

    def _estimates(self, a: Ints, b: Ints) -> Floats:
        """Estimate the resemblance of each pair: the share of minima that agree."""
        rows, out = self.documents.rows, np.empty(len(a), np.float64)
        assert rows is not None or not len(a)  # sketches have signatures
        for start in range(0, len(a), ROWS):
            part = slice(start, start + ROWS)
            out[part] = (rows[a[part]] == rows[b[part]]).mean(axis=1)  # type: ignore[index]
        return out

    def _large_enough(self, a: Ints, b: Ints) -> Bools:
        """Tell which pairs have the shingles that `min_shingles` asks for."""
        wanted = self.rules.min_shingles
        if not wanted:
            return np.ones(len(a), np.bool_)
        large: Bools = np.minimum(self.sets.sizes(a), self.sets.sizes(b)) >= wanted
        return large


def read_sets(
    documents: Documents, wanted: Bools, *, tokens: bool, threads: int | None, report: Progress
) -> ShingleSets:
    """Read the wanted documents again, as far as they have texts, and form their shingle sets."""
    wanted = wanted & documents.has_text(np.arange(len(documents)))
    sets = ShingleSets(documents.shingling, len(documents), tokens=tokens, threads=threads)
    if wanted.any():
        sets.read(documents.texts(wanted), int(np.count_nonzero(wanted)), report)
    return sets


# ---- shingles that count for nothing, with `drop_common`


@dataclass(frozen=True)
class CommonShingles:
    """Common shingles: values[i] counts for nothing in documents of group groups[i]. Sorted by group, then value."""

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
        found = np.zeros(len(values), np.bool_)
        distinct, known = self._sorted
        if not len(distinct):
            return found
        at = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
        held = np.flatnonzero(distinct[at] == values)
        wanted = groups[held] * len(distinct) + at[held]
        found[held] = known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] == wanted
        return found


def find_common(sets: ShingleSets, leaders: Leaders, valid: Bools, share: float) -> CommonShingles:
    """Find the shingles of more than this share of a group's documents, and of at least 20 of its leaders.

    A group has the documents with one label of `by`. Versions of `one_per` are left out. A document that equals a leader
    counts for the shingles of the leader.

    Notes
    -----
    Reads the sets three times: counters of 16 bits, which give upper bounds, leave few shingles to be counted exactly.
    """
    own = np.arange(len(leaders.version))
    groups = np.zeros(len(own), np.int64) if leaders.by is None else leaders.by
    counted = valid & (leaders.version == own)
    documents = np.bincount(leaders.leader[counted], minlength=len(own))  # of each class, at its leader
    limits = share * np.bincount(groups[counted], minlength=1).astype(np.float64)
    counts = Counts(min(MOST_CELLS, max(1 << 10, 1 << sets.total.bit_length())))  # one for each shingle at least
    for positions, values, offsets in _sets_of_leaders(sets, leaders):
        counts.add(values, offsets, documents[positions].astype(np.uint32))
    tally = _Tally()
    for positions, values, offsets in _sets_of_leaders(sets, leaders):
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
    for positions, values, offsets in _sets_of_leaders(sets, leaders):
        owners = np.repeat(np.arange(len(positions)), np.diff(offsets))
        groups = np.zeros(len(positions), np.int64) if leaders.by is None else leaders.by[positions]
        kept = ~common.holds(values, groups[owners])
        sizes = np.bincount(owners[kept], minlength=len(positions))
        counted.append(positions, values[kept], np.concatenate([[0], np.cumsum(sizes)]))
    return counted


def _sets_of_leaders(sets: ShingleSets, leaders: Leaders) -> Iterator[tuple[Ints, UInts, Ints]]:
    """Yield the sets of compared documents in chunks (positions, values, offsets)."""
    compared = leaders.compared
    for positions, values, offsets in sets.chunks():
        wanted = compared[positions]
        if not wanted.all():
            sizes = np.diff(offsets)
            values = values[np.repeat(wanted, sizes)]
            positions, offsets = positions[wanted], np.concatenate([[0], np.cumsum(sizes[wanted])])
        yield positions, values, offsets


_Rows = tuple[UInts, Ints, Ints, Ints]  # values, groups, documents, classes


class _Tally:
    """Sums by (value, group), added up whenever there are many rows."""

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


# ---- what a drop costs


def count_lost(sets: ShingleSets, dropped: Ints, representatives: Ints, kept: Bools) -> Ints:
    """Count the shingles of each dropped document that no kept document, bool (documents,), has; int64, as `dropped`.

    `representatives` are a kept document for each, which probably has most of its shingles: only those that it lacks are
    looked for. The sets of kept documents are read once for every 2^25 shingles of dropped documents.
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
