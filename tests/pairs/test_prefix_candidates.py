"""Candidates of the prefix filter against brute force: no pair that passes is missed, and none comes twice."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from drawn_sets import corpus, found_of, shingle_sets, silent

from ndcore import Shingling
from ndcore._candidates import Bitmaps, Counts
from ndcore.filters.prefix import PrefixFilter
from ndcore.pairs import prefix_candidates
from ndcore.pairs.prefix_candidates import find_prefix_candidates
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.reference import dedup as reference
from ndcore.reference.resemblance import containment, resemblance

SCORES = {"resembling": resemblance, "contained": containment}
THRESHOLDS = [0.3, 0.5, 1 / 3, 0.7, 0.8, 0.9, 0.95, 1.0]
CANDIDATES = {"resembling": reference.resembling_candidates, "contained": reference.contained_candidates}


def check(listed, filter, *, max_holders=1000, first_fixed=None, by=None, limit=1 << 20, memory=None, threads=1):
    """No pair that passes is missed; the pairs have one code and not both sides fixed. Returns the pairs and runs."""
    first_fixed = len(listed) if first_fixed is None else first_fixed
    sets, active = shingle_sets(listed, limit)
    candidates = find_prefix_candidates(
        sets, active, filter, max_holders=max_holders, first_fixed=first_fixed,
        by=None if by is None else np.array(by), memory_limit=memory, threads=threads, report=silent)
    pairs, runs = found_of(candidates)
    wanted = {(a, b) for a, b in reference.passing_pairs(listed, filter.threshold, SCORES[filter.drop])
              if a < first_fixed and (by is None or by[a] == by[b])}
    missed = {(a, b) for a, b in wanted - pairs if not any(a in run and b in run for run in runs)}
    assert not missed
    assert all(a < first_fixed and (by is None or by[a] == by[b]) for a, b in pairs)
    a, b = (np.array([pair[side] for pair in sorted(wanted)], np.int64) for side in (0, 1))
    assert candidates.allows(a, b).all() and candidates.allows(b, a).all()
    if by is not None:
        others = (a + 1) % len(listed)
        assert not (candidates.allows(a, others) & (np.array(by)[a] != np.array(by)[others])).any()
    assert found_of(candidates) == (pairs, runs)  # the pairs can be had again
    return pairs, runs


@pytest.mark.parametrize("drop", ["resembling", "contained"])
@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("seed", range(4))
def test_as_brute_force(drop, threshold, seed):
    filter = PrefixFilter(threshold, drop)
    check(corpus(seed), filter)
    check(corpus(seed), filter, max_holders=2)
    check(corpus(seed), filter, limit=100, memory=1, threads=2)


@pytest.mark.parametrize("drop", ["resembling", "contained"])
@pytest.mark.parametrize("threshold", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("cells", [1, 2, 7, 64])
def test_counters_that_collide(drop, threshold, cells, monkeypatch):
    monkeypatch.setattr(prefix_candidates, "MOST_CELLS", cells)
    monkeypatch.setattr(prefix_candidates, "MARKS", 1)
    check(corpus(cells), PrefixFilter(threshold, drop))
    check(corpus(cells), PrefixFilter(threshold, drop), max_holders=3)


@pytest.mark.parametrize("drop", ["resembling", "contained"])
@pytest.mark.parametrize("max_holders", [2, 1000])
def test_labels_and_sides(drop, max_holders):
    for seed in range(6):
        listed = corpus(seed + 10)
        codes = [d * 7 % 3 for d in range(len(listed))]
        check(listed, PrefixFilter(0.6, drop), by=codes, max_holders=max_holders)
        check(listed, PrefixFilter(0.6, drop), first_fixed=25, max_holders=max_holders)
        assert check(listed, PrefixFilter(0.6, drop), first_fixed=0, max_holders=max_holders)[:2] == (set(), [])


@pytest.mark.parametrize("drop", ["resembling", "contained"])
def test_large_sets(drop):
    check(corpus(3, n=25, largest=6000), PrefixFilter(0.8, drop))


@pytest.mark.parametrize("drop", ["resembling", "contained"])
@pytest.mark.parametrize("threshold", [0.4, 0.8, 1.0])
def test_candidates_of_the_reference_where_counters_are_exact(drop, threshold, monkeypatch):
    listed = corpus(31)
    cells = 1 << 22  # 60 sets of at most 60 members: two share a cell in one run of 2000
    monkeypatch.setattr(prefix_candidates, "Counts", lambda _, key: Counts(cells))
    pairs, runs = check(listed, PrefixFilter(threshold, drop))
    assert runs == [] and pairs == CANDIDATES[drop](listed, threshold)


@pytest.mark.parametrize("count", range(1, 40))
def test_pairs_exactly_at_the_threshold(count):
    """Sets with every possible number of members in common: the filters divide as the score does."""
    for common in range(1, count + 1):
        a = set(range(count))
        for more in (0, 1, 2):
            b = set(range(common)) | set(range(1000, 1000 + more))
            for drop, score in SCORES.items():
                check([a, b], PrefixFilter(max(score(a, b), score(b, a)), drop))


def test_a_run_that_many_hold_and_one_looks_up_is_expanded():
    """4000 documents have one shingle; a short document has nothing else: 4000 pairs, not 8 million."""
    rng = random.Random(2)
    listed = [{7, *(rng.getrandbits(64) for _ in range(20))} for _ in range(4000)] + [{7}]
    pairs, runs, _ = check_only(listed, PrefixFilter(0.9, "contained"))
    assert runs == [] and pairs == {(d, 4000) for d in range(4000)}


def test_long_runs():
    listed = [{1, 2, 3} for _ in range(50)] + [{10 + d} for d in range(50)]
    pairs, runs, _ = check_only(listed, PrefixFilter(0.9), max_holders=49)
    assert pairs == set() and runs == [set(range(50))]
    pairs, runs, _ = check_only(listed, PrefixFilter(0.9), max_holders=50)
    assert pairs == set(itertools.combinations(range(50), 2)) and runs == []


def check_only(listed, filter, max_holders=1000):
    """The pairs and runs, without brute force."""
    sets, active = shingle_sets(listed, chunk=500)
    candidates = find_prefix_candidates(sets, active, filter, max_holders=max_holders, first_fixed=len(listed), threads=1,
                                        report=silent)
    return *found_of(candidates), candidates


def test_nothing_to_pair():
    for listed in ([], [set()], [{1}], [set(), {5, 6}]):
        assert check(listed, PrefixFilter(0.5)) == (set(), [])
        assert check(listed, PrefixFilter(0.5, "contained")) == (set(), [])


def test_documents_that_are_not_active():
    listed = [{1, 2, 3, 4}] * 6
    sets, _ = shingle_sets(listed)
    candidates = find_prefix_candidates(sets, np.array([1, 4]), PrefixFilter(0.5), max_holders=10, first_fixed=6,
                                        report=silent)
    assert found_of(candidates) == ({(1, 4)}, [])


def test_probes_are_counted_a_few_documents_at_a_time(monkeypatch):
    """Of four million documents each array of their sizes takes 32 MB, beside what the limit allows."""
    asked = []
    key = bytes(range(Bitmaps.KEY_BYTES))  # with one key of twenty, four of these shingles share counters
    monkeypatch.setattr(prefix_candidates, "Counts", lambda cells, _: Counts(cells, key))
    monkeypatch.setattr(prefix_candidates, "BLOCK", 8, raising=False)
    monkeypatch.setattr("ndcore.pairs.shingle_sets.CHUNK", 16)
    least = PrefixFilter._least
    monkeypatch.setattr(PrefixFilter, "_least", lambda self, n, *how: asked.append(len(n)) or least(self, n, *how))
    pairs, _, _ = check_only([{1, 2, 3, 10 + d // 2} for d in range(100)], PrefixFilter(0.9))
    assert pairs == {(d, d + 1) for d in range(0, 100, 2)} and max(asked) <= 8


def test_sets_in_another_order_are_refused():
    sets = ShingleSets(Shingling(), 2, tokens=False, threads=1)
    for position in (1, 0):
        sets.append(np.array([position]), np.array([5], np.uint64), np.array([0, 1]))
    with pytest.raises(ValueError, match="append them in ascending order"):
        find_prefix_candidates(sets, np.arange(2), PrefixFilter(0.5), max_holders=10, first_fixed=2, report=silent)
