"""Weights of shingles: sums beside Python's, weighted prefixes beside the reference, and no pair that is missed."""

from __future__ import annotations

import pickle
import random
from itertools import combinations

import numpy as np
import pytest
from drawn_sets import corpus, found_of, shingle_sets, silent
from hypothesis import given
from hypothesis import strategies as st

from ndcore._candidates import Counts
from ndcore.filters.prefix import PrefixFilter
from ndcore.pairs import prefix_candidates
from ndcore.pairs import shingle_sets as shingle_sets_module
from ndcore.pairs.prefix_candidates import find_prefix_candidates
from ndcore.pairs.shingle_weights import ShingleWeights
from ndcore.reference import dedup as reference
from ndcore.sketch.weights import UNIT, FeatureWeights

MISSING = 3.5


def weighed(seed, listed):
    """Draw weights of very different sizes; some members are left to the weight of missing ones."""
    rng = random.Random(seed)
    members = sorted(set().union(*listed))
    known = {z: rng.choice([2.0**-16, 0.01, 1.0, 1.5, 20.0, 32767.0]) for z in members if rng.random() < 0.8}
    given = FeatureWeights.of(known)
    return FeatureWeights(given.fingerprints, given.units, int(MISSING * UNIT)), lambda z: int(known.get(z, MISSING) * UNIT)


@pytest.mark.parametrize("limit", [1 << 20, 100])
@pytest.mark.parametrize("seed", range(3))
def test_sums(seed, limit):
    listed = corpus(seed)
    weights, weigh = weighed(seed, listed)
    sets, active = shingle_sets(listed, limit)
    sums = ShingleWeights(sets, weights)
    assert sums.sizes(np.arange(len(listed))).tolist() == [sum(map(weigh, members)) for members in listed]
    a, b = np.array(list(combinations(active.tolist(), 2))).T
    expected = [sum(map(weigh, listed[i] & listed[j])) for i, j in zip(a.tolist(), b.tolist(), strict=True)]
    assert sums.common(a, b).tolist() == expected
    assert pickle.loads(pickle.dumps(sums)).common(a, b).tolist() == expected
    each = [weigh(z) for members in listed for z in members]
    assert sums.ratio == max(each) / min(each)


def test_every_chunk_has_the_weights_of_its_members(monkeypatch):
    monkeypatch.setattr(shingle_sets_module, "CHUNK", 20)  # members
    listed = corpus(4)
    weights, weigh = weighed(4, listed)
    chunks = list(ShingleWeights(shingle_sets(listed)[0], weights).chunks())
    assert len(chunks) > 3
    for _, values, _, units in chunks:
        assert units.tolist() == [weigh(value) for value in values.tolist()]
    assert sum(len(units) for *_, units in chunks) == sum(map(len, listed))


@pytest.mark.parametrize("drop", ["resembling", "contained"])
@pytest.mark.parametrize("threshold", [0.1, 1 / 3, 0.8, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_no_pair_is_missed(drop, threshold, seed, monkeypatch):
    listed = corpus(seed)
    weights, weigh = weighed(seed, listed)
    filter = PrefixFilter(threshold, drop, weighted=True)
    passing = reference.passing_pairs(listed, threshold, lambda a, b: reference.score(a, b, drop, weigh))
    assert passing
    many, few, codes = 1 << 30, 7, np.arange(len(listed)) // 3 % 2  # counters; labels of `by`
    for most, limit, memory, cells, by in [(1000, 1 << 20, None, many, None), (2, 1 << 20, None, few, None),
                                           (1000, 100, 1, 64, None), (1000, 1 << 20, None, many, codes)]:
        monkeypatch.setattr(prefix_candidates, "MOST_CELLS", cells)
        sets, active = shingle_sets(listed, limit)
        candidates = find_prefix_candidates(
            sets, active, filter, weights=ShingleWeights(sets, weights), max_holders=most, first_fixed=len(listed), by=by,
            memory_limit=memory, threads=2, report=silent)
        pairs, runs = found_of(candidates)
        wanted = {(a, b) for a, b in passing if by is None or by[a] == by[b]}
        assert all(any({a, b} <= run for run in runs) for a, b in wanted - pairs)


@pytest.mark.parametrize("threshold", [0.3, 0.8, 1.0])
def test_lengths_of_prefixes(threshold, monkeypatch):
    # Enough counters that no two shingles share one: then the order is the one of the reference.
    lengths = []

    def watch(*arguments):
        lengths.extend(zip(*(column.tolist() for column in arguments[3:6]), strict=True))
        return entries(*arguments)

    entries = prefix_candidates.entries
    monkeypatch.setattr(prefix_candidates, "entries", watch)
    monkeypatch.setattr(prefix_candidates, "Counts", lambda cells, key: Counts(1 << 22))
    listed = corpus(5)
    weights, weigh = weighed(5, listed)
    sets, active = shingle_sets(listed)
    find_prefix_candidates(sets, active, PrefixFilter(threshold, weighted=True), weights=ShingleWeights(sets, weights),
                           max_holders=1000, first_fixed=len(listed), threads=1, report=silent)
    count = reference.count_holders(listed)
    assert {document: (probed, indexed) for document, probed, indexed in lengths} == {
        document: reference.weighted_prefix_lengths(members, count, weigh, threshold) if members else (0, 0)
        for document, members in enumerate(listed)}


@given(st.integers(0, 10**9), st.sampled_from(["resembling", "contained"]))
def test_pairs_at_the_threshold_reach_the_bound_without_weights(seed, drop):
    listed = [members for members in corpus(seed, n=8, largest=8) if members] or [{1}]
    weights, weigh = weighed(seed, listed)
    sums = ShingleWeights(shingle_sets(listed)[0], weights)
    for a, b in combinations(listed, 2):
        if score := reference.score(a, b, drop, weigh):
            assert reference.score(a, b, drop) >= sums.least_unweighted(score) > 0
