"""The pool: all pairs of distinct documents with at least a slight resemblance under one of the measures.

The complete filter finds the pairs, so none is missed. A shingle of very many documents would give quadratically many
pairs: from such a cluster, a random sample of pairs is drawn, and each represents many. A pool that is too large is thinned
by a hash of the two positions of a pair. So every pair has a weight, and sums of weights estimate the whole pool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._sets import common
from ndcore._types import Bools, Floats, Ints, UInts
from ndcore.dedup.documents import Documents, find_leaders, read_documents
from ndcore.filters.prefix import PrefixFilter
from ndcore.judge.measures import Measure
from ndcore.pairs.candidates import Runs
from ndcore.pairs.common_shingles import find_common, without_common
from ndcore.pairs.keep_order import KeepOrder, Leaders
from ndcore.pairs.prefix_candidates import find_prefix_candidates
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.progress import Progress
from ndcore.sketch.minhash import MinHasher
from ndcore.text.agreement import Agreement
from ndcore.text.corpus import Corpus

FLOOR = 0.2  # least resemblance of a pair in the pool
MOST_PAIRS = 1 << 21  # most pairs of a pool; beyond, it is thinned
RUN_DRAWS = 1 << 18  # pairs that are drawn from the clusters with a shingle of very many documents
MAX_HOLDERS = 1000
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True)
class Pool:
    """Pairs of documents with their scores.

    Attributes
    ----------
    a, b : int64 (pairs,)
        Positions of the documents, a < b; pairs ascend.
    weight : float64 (pairs,)
        The number of pairs of the collection that each pair represents: 1 if all are listed.
    scores : float32 (measures, pairs)
    measures : tuple of Measure
    documents, distinct : int
        The number of documents of the collection, with and without copies.
    floor : float
    """

    a: Ints
    b: Ints
    weight: Floats
    scores: NDArray[np.float32]
    measures: tuple[Measure, ...]
    documents: int
    distinct: int
    floor: float = FLOOR
    _identity: list[str] = field(default_factory=list, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.a)

    @property
    def size(self) -> float:
        """The number of pairs of the collection in the pool: counted, or estimated if pairs represent others."""
        return float(self.weight.sum())

    @property
    def complete(self) -> bool:
        """Whether every pair is listed."""
        return bool((self.weight == 1.0).all())

    @property
    def identity(self) -> str:
        """A digest of pairs, weights, scores and measures, by which a log of answers identifies its pool."""
        if not self._identity:
            state = hashlib.blake2b(digest_size=16)
            state.update(repr((self.documents, self.floor, [str(each) for each in self.measures])).encode())
            for column in (self.a, self.b, self.weight, self.scores):
                state.update(np.ascontiguousarray(column).tobytes())
            self._identity.append(state.hexdigest())
        return self._identity[0]

    def find(self, a: int, b: int) -> int:
        """Return the number of a pair, or -1 if it is not in the pool."""
        a, b = min(a, b), max(a, b)
        begin, end = np.searchsorted(self.a, [a, a + 1]).tolist()
        at = begin + int(np.searchsorted(self.b[begin:end], b))
        return at if at < end and self.b[at] == b else -1


def gather(
    corpus: Corpus, measures: Sequence[Measure], *, floor: float = FLOOR, most: int = MOST_PAIRS,
    max_holders: int = MAX_HOLDERS, seed: int = 0, threads: int | None = None, memory_limit: int | None = None,
    report: Progress,
) -> Pool:
    """Enumerate the pool of a collection, and score its pairs by every measure. Reads the texts once for each base.

    A pair is in the pool if its resemblance is at least `floor` under the shingles of one of the measures, without common
    shingles if the measure excludes them.
    """
    bases = dict.fromkeys(measure.base for measure in measures)
    rng, thinned = np.random.default_rng([seed, 0x9001]), _Thinned(most)
    searched: dict[Any, _Base] = {}
    first: tuple[Documents, Leaders] | None = None
    for base in bases:
        shingling, common = base
        documents, _, sets = read_documents(
            [corpus], MinHasher(84, 32, 1, shingling), None, form_sets=True, shared=True, threads=threads,
            memory_limit=memory_limit, report=report)
        assert sets is not None
        keep = KeepOrder.of("first", documents.n, 0, None)
        leaders = find_leaders(documents, keep, None, None, threads=threads, report=report)
        first = first or (documents, leaders)
        active = first[1].compared & documents.valid
        if common is not None:
            sets = without_common(sets, find_common(sets, leaders, documents.valid, common), leaders)
            active &= leaders.compared
            active[active] = sets.sizes(np.flatnonzero(active)) > 0
        search = find_prefix_candidates(
            sets, np.flatnonzero(active), PrefixFilter(floor), max_holders=max_holders, first_fixed=documents.n,
            memory_limit=memory_limit, threads=threads, report=report)
        for a, b in search.pairs():
            near = sets.resemblance(a, b) >= floor
            thinned.add(a[near] * documents.n + b[near])
        searched[base] = _Base(sets, active, _RunPairs.of(search.runs, documents.n))
    assert first is not None
    n = documents.n
    keys = thinned.keys()
    weights = np.full(len(keys), 1 / thinned.rate)
    more, heavier = _draw_from_runs(list(searched.values()), keys, thinned, n, floor, rng)
    keys, weights = np.concatenate([keys, more]), np.concatenate([weights, heavier])
    order = np.argsort(keys)
    keys, weights = keys[order], weights[order]
    a, b = keys // n, keys % n
    agreements = {names: _codes(Agreement.of(names), documents, a, b) for names in {m.must_agree for m in measures} if names}
    scores = np.zeros((len(measures), len(keys)), np.float32)
    for row, measure in zip(scores, measures, strict=True):
        row[:] = searched[measure.base].scores(a, b, measure.drop == "contained")
        if measure.must_agree:
            codes = agreements[measure.must_agree]
            row[codes[a] != codes[b]] = 0
    distinct = int(np.count_nonzero(first[1].compared))
    return Pool(a, b, weights, scores, tuple(measures), n, distinct, floor)


def mix_keys(keys: Ints) -> UInts:
    """Hash keys to pseudorandom numbers (SplitMix64)."""
    z = keys.astype(np.uint64) + _MIX[0]
    z = (z ^ (z >> np.uint64(30))) * _MIX[1]
    z = (z ^ (z >> np.uint64(27))) * _MIX[2]
    return z ^ (z >> np.uint64(31))


class _Thinned:
    """A set of keys that drops half of them, by their hashes, whenever there are too many."""

    def __init__(self, most: int) -> None:
        self.most, self.rate = most, 1.0
        self._keys: list[Ints] = [np.empty(0, np.int64)]
        self._rows = 0

    def stays(self, keys: Ints) -> Bools:
        """Tell which keys stay at the current rate."""
        if self.rate == 1.0:
            return np.ones(len(keys), np.bool_)
        stays: Bools = mix_keys(keys) < np.uint64(int(self.rate * 2**64))
        return stays

    def add(self, keys: Ints) -> None:
        """Add the keys that stay."""
        staying = keys[self.stays(keys)]
        self._keys.append(staying)
        self._rows += len(staying)
        if self._rows > 2 * self.most:
            self._settle()

    def keys(self) -> Ints:
        """Return the keys that stay, ascending."""
        self._settle()
        return self._keys[0]

    def _settle(self) -> None:
        every = np.unique(np.concatenate(self._keys))
        while len(every) > self.most:
            self.rate /= 2
            every = every[self.stays(every)]
        self._keys, self._rows = [every], len(every)


# ---- clusters with a shingle of very many documents


@dataclass(frozen=True)
class _RunPairs:
    """Runs that were not expanded to pairs, and for each document its runs, as ascending sets."""

    runs: Runs
    values: UInts
    offsets: Ints

    @classmethod
    def of(cls, runs: Runs, n: int) -> _RunPairs:
        numbers = np.repeat(np.arange(len(runs.sizes)), runs.sizes)
        order = np.lexsort((numbers, runs.documents))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(runs.documents, minlength=n))]).astype(np.int64)
        return cls(runs, numbers[order].astype(np.uint64), offsets)

    @property
    def squares(self) -> Floats:
        """The number of pairs of each run."""
        sizes = self.runs.sizes.astype(np.float64)
        return sizes * (sizes - 1) / 2

    def draw(self, number: int, rng: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
        """Draw pairs with replacement: a run with probability proportional to its pairs, then two of its documents."""
        squares = self.squares
        per_run = rng.multinomial(number, squares / squares.sum())
        for run in np.flatnonzero(per_run).tolist():
            members = self.runs.documents[self.runs.begins[run] : self.runs.begins[run + 1]]
            x = rng.integers(0, len(members), per_run[run])
            y = rng.integers(0, len(members) - 1, per_run[run])
            y += y >= x
            yield np.minimum(members[x], members[y]), np.maximum(members[x], members[y])

    def shared(self, a: Ints, b: Ints) -> Ints:
        """Count the runs that both documents of each pair are in."""
        counted: Ints = common(self.values, self.offsets, a, b)
        return counted


@dataclass(frozen=True)
class _Base:
    """The shingle sets of a base, the documents compared by them, and the runs that were not expanded to pairs."""

    sets: ShingleSets
    active: Bools
    run_pairs: _RunPairs

    def scores(self, a: Ints, b: Ints, contained: bool) -> Floats:
        """Compute the score of each pair; 0 if a document has no shingles that count."""
        out = np.zeros(len(a))
        both = np.flatnonzero(self.active[a] & self.active[b])
        a, b = a[both], b[both]
        if contained:
            out[both] = self.sets.common(a, b) / np.minimum(self.sets.sizes(a), self.sets.sizes(b))
        else:
            out[both] = self.sets.resemblance(a, b)
        return out


def _draw_from_runs(
    bases: Sequence[_Base], listed: Ints, thinned: _Thinned, n: int, floor: float, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Draw unlisted pairs of the pool, each weighted by the number of times that it was drawn, divided by its expectation.

    A pair can be in several runs, of several bases; all of them count (Hansen and Hurwitz 1943, several frames).
    """
    drawn: list[Ints] = [np.empty(0, np.int64)]
    long = [base for base in bases if len(base.run_pairs.runs.sizes)]
    for base in long:
        for a, b in base.run_pairs.draw(RUN_DRAWS, rng):
            near = base.sets.resemblance(a, b) >= floor
            drawn.append(a[near] * n + b[near])
    keys, times = np.unique(np.concatenate(drawn), return_counts=True)
    new = thinned.stays(keys) & ~np.isin(keys, listed)
    keys, times = keys[new], times[new]
    a, b = keys // n, keys % n
    expected = np.zeros(len(keys))
    for base in long:
        near = base.scores(a, b, False) >= floor
        shared = base.run_pairs.shared(a[near], b[near])
        expected[near] += RUN_DRAWS * shared / base.run_pairs.squares.sum()
    return keys, times / np.maximum(expected, 1e-300) / thinned.rate


def _codes(agreement: Agreement | None, documents: Documents, a: Ints, b: Ints) -> Ints:
    """Number the keys of the documents of the pairs; equal keys get equal numbers."""
    assert agreement is not None
    wanted = np.zeros(len(documents), np.bool_)
    wanted[a] = wanted[b] = True
    digests = np.zeros((len(documents), 16), np.uint8)
    for positions, texts in documents.texts(wanted):
        digests[positions] = agreement.digests(texts, int(positions[0]))
    return np.unique(digests.view("V16")[:, 0], return_inverse=True)[1].astype(np.int64)
