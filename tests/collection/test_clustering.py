"""What a Clustering says: clusters, members, classes, containments; the last phase by hand, and again."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from agreement import GROUPINGS, SEEDS, TEN, check_same, sample_of
from samples import as_sketches, collection, expected

from ndcore.collection.cluster import cluster
from ndcore.reference import collection as reference
from ndcore.reference.collection import Sketch, contained


def ranges(*ends, **how):
    """Cluster sets of consecutive numbers."""
    return cluster(as_sketches([Sketch(1, range(a, b)) for a, b in ends], False), **how)


def test_clusters_are_the_largest_first():
    found = ranges((90, 99), (0, 10), (20, 30), (20, 30), (0, 10), (20, 31), (50, 60), (50, 61))
    assert [part.tolist() for part in found.clusters()] == [[2, 3, 5], [1, 4], [6, 7]]
    assert found.members(5).tolist() == found.members(2).tolist() == [2, 3, 5]
    assert found.members(0).tolist() == [0]
    assert found.representatives.tolist() == [1, 2, 6] and found.duplicates.tolist() == [3, 4, 5, 7]
    assert found.classes.tolist() == ["kept", "kept", "kept", "shingle", "shingle", "near", "kept", "near"]
    np.testing.assert_array_equal(found.resemblance, [1, 1, 1, 1, 1, 10 / 11, 1, 10 / 11])
    assert repr(found).startswith("<Clustering of 8 documents at 0.5: 3 clusters of more than one, 4 documents in them ")
    for outside in (-1, 8):
        with pytest.raises(IndexError, match=f"there is no document {outside}; positions are 0 to 7"):
            found.members(outside)


def test_star_joins_the_best_and_greedy_the_first():
    ends = (0, 10), (4, 14), (3, 13)  # 6/14 between the first two; the third: 7/13 and 9/11
    assert ranges(*ends).labels.tolist() == [0, 1, 1]
    assert ranges(*ends, cluster="greedy").labels.tolist() == [0, 1, 0]
    assert ranges(*ends, cluster="components").labels.tolist() == [0, 0, 0]
    equal = (0, 10), (6, 16), (3, 13)  # 7/13 both ways: the first
    assert ranges(*equal).labels.tolist() == [0, 1, 0]


def test_what_joined_another_takes_nobody():
    """Make a chain of documents that resemble each the one before, as a star."""
    found = ranges(*((at, at + 10) for at in range(0, 12, 2)), threshold=0.6)
    assert found.labels.tolist() == [0, 0, 2, 2, 4, 4]


def test_an_excerpt_is_in_the_cluster_of_its_source():
    ends = (0, 100), (10, 30), (95, 110), (0, 99)
    found = ranges(*ends, threshold=0.8, policy="containment")
    assert found.labels.tolist() == [0, 0, 2, 0]
    assert found.classes.tolist() == ["kept", "contained", "kept", "near"]
    np.testing.assert_array_equal(found.resemblance, [1, 0.2, 1, 0.99])
    assert found.rethreshold(policy="resemblance").labels.tolist() == [0, 1, 2, 0]
    held = found.contained(0.8)
    assert held.sample.tolist() == [100, 20, 20, 99]
    assert held.inner.tolist() == [0, 1, 1, 3] and held.outer.tolist() == [3, 0, 3, 0]
    np.testing.assert_array_equal(held.containment, [0.99, 1, 1, 1])


def test_documents_that_are_the_same_go_with_their_leader():
    found = ranges((0, 20), (1, 20), (1, 20), (0, 20), (40, 60), threshold=0.9)
    assert found.leaders.tolist() == [0, 1, 1, 0, 4]
    assert found.labels.tolist() == [0, 0, 0, 0, 4]
    assert found.classes.tolist() == ["kept", "near", "near", "shingle", "kept"]
    np.testing.assert_array_equal(found.resemblance, [1, 0.95, 0.95, 1, 1])
    assert found.rethreshold(0.96).classes.tolist() == ["kept", "kept", "shingle", "shingle", "kept"]


def test_common_values_are_the_most_held_first():
    held = {7: range(5), 5: range(8), 6: range(8), 2**64 - 1: range(1, 10)}
    samples = [Sketch(1, sorted({1000 + i, *(z for z, documents in held.items() if i in documents)})) for i in range(10)]
    found = cluster(as_sketches(samples, False), max_holders=4)
    assert found.common.value.tolist() == [2**64 - 1, 5, 6, 7]
    assert found.common.holders.tolist() == [9, 8, 8, 5]
    assert found.common.example.tolist() == [1, 0, 0, 0]
    assert len(found.pairs.a) == 0


def test_common_values_propose_nobody_and_count_for_who_is_proposed():
    """Let three hold {0 … 9}, two of them {10 … 19} too: these have 20 in common of 21 and 20, the others are in no pair."""
    found = cluster(as_sketches([Sketch(1, [*range(20), 30]), Sketch(1, range(20)), Sketch(1, range(10))], False),
                    threshold=0.3, max_holders=2)
    assert found.pairs.overlaps.common.tolist() == [20]
    assert found.pairs.overlaps.resemblance.tolist() == [20 / 21]
    assert found.labels.tolist() == [0, 0, 2]


def test_chains_are_told_by_representative():
    short = [(at, at + 10) for at in range(100, 104)]
    long = [(at, at + 10) for at in range(9)]
    found = ranges(*short, *long, threshold=0.8, cluster="components")
    told = found.chains
    assert [column.tolist() for column in (told.representative, told.size, told.apart)] == [[0, 4], [4, 9], [2, 7]]
    assert told.least.tolist() == [7 / 13, 2 / 18] and told.hops.tolist() == [3, 8]
    guarded = found.rethreshold(guard=0.3)
    assert guarded.labels.tolist() == [0, 0, 0, 0, 4, 4, 6, 6, 8, 8, 10, 10, 12]


# ---------------------------------------------------------------------------------------------- thresholds again


@pytest.mark.parametrize("seed", range(5))
def test_another_threshold_is_as_another_run(seed):
    rng = random.Random(seed)
    samples = collection(rng, 60, None)
    sketches = as_sketches(samples)
    first = cluster(sketches, threshold=0.9, max_holders=20)
    for threshold, (policy, kind) in itertools.product((0.5, 0.55, 0.75, 1.0), GROUPINGS):
        check_same(first.rethreshold(threshold, policy, kind),
             cluster(sketches, threshold=threshold, policy=policy, cluster=kind, max_holders=20))
    check_same(first.rethreshold(), first)
    low = cluster(sketches, threshold=0.2, max_holders=20)
    assert low.rethreshold(0.5).labels.tolist() == first.rethreshold(0.5).labels.tolist()


def test_no_threshold_below_the_floor():
    found = cluster([TEN, TEN + " eleven"], threshold=0.8)
    for ask in (found.rethreshold, found.contained):
        with pytest.raises(ValueError, match=r"pairs were counted from 0\.5 on, a threshold of 0\.4 needs more"):
            ask(0.4)
        for wrong in (0, -1, 1.5, float("nan"), "0.8", None if ask == found.contained else "x"):
            with pytest.raises(ValueError, match="threshold is a resemblance above 0 and at most 1"):
                ask(wrong)


@pytest.mark.parametrize("modulus", [1, None])
@pytest.mark.parametrize("seed", SEEDS)
def test_containment_as_the_reference(seed, modulus):
    rng = random.Random(seed)
    samples = collection(rng, 50, modulus)
    found = cluster(as_sketches(samples, modulus is None), threshold=0.3, max_holders=9, least=1)
    wanted = expected(samples, 0.3, max_holders=9)
    for threshold, least in itertools.product((0.3, 0.5, 0.8, 1.0), (None, 1, 3, 15)):
        held = found.contained(threshold, least)
        every = [(*way, fourphase_sizes(samples, *way[:2])) for way in contained(wanted.pairs, threshold)]
        told = [way for way in every if way[3] >= (least or 1) or samples[way[0]].modulus == samples[way[1]].modulus == 1]
        assert list(zip(*(column.tolist() for column in held), strict=True)) == told


def fourphase_sizes(samples, inner, outer):
    """Count the members of the inner sample at the larger modulus."""
    return reference.sizes(samples[inner], samples[outer])[0]


def test_few_members_tell_no_containment():
    """Compare samples whose two members at the larger modulus are in both documents; the resemblance is 2 / 40."""
    samples = [sample_of(4, range(0, 160, 4)), sample_of(2, [0, 2, 4, 6])]
    how = {"policy": "containment", "threshold": 0.8}
    found = cluster(as_sketches(samples), **how)
    assert found.labels.tolist() == [0, 1] and len(found.contained().inner) == 0
    assert cluster(as_sketches(samples), least=2, **how).labels.tolist() == [0, 0]
    assert cluster(as_sketches(samples), least=3, **how).labels.tolist() == [0, 1]
    assert found.rethreshold(least=2).labels.tolist() == [0, 0] and found.contained(least=2).inner.tolist() == [1]
    whole = [sample_of(1, range(40)), sample_of(1, [3, 4])]
    for adaptive in (True, False):
        assert cluster(as_sketches(whole, adaptive), **how).labels.tolist() == [0, 0]


# ---------------------------------------------------------------------------------------------- chains


def chain(links):
    """Make samples each of which has 9 of its 10 members in common with the next."""
    return [sample_of(1, range(at, at + 10)) for at in range(links)]


def test_components_tell_of_chains_and_the_guard_splits_them():
    samples = [*chain(6), *[sample_of(1, range(1000, 1010 + more)) for more in (0, 1, 2)]]
    sketches = as_sketches(samples, False)
    found = cluster(sketches, threshold=0.8, cluster="components")
    assert found.labels.tolist() == [0] * 6 + [6] * 3
    told = [column.tolist() for column in found.chains]
    assert told == [[0], [6], [4], [5 / 15], [9 / 11], [5]]  # 2 to 5 are below 0.8: 8/12, 7/13, 6/14, 5/15
    guarded = cluster(sketches, threshold=0.8, cluster="components", guard=0.4)
    stars = cluster(sketches, threshold=0.8, cluster="star")
    assert guarded.labels.tolist() == stars.labels.tolist() == [0, 0, 2, 2, 4, 4, 6, 6, 6]
    assert [column.tolist() for column in guarded.chains] == told
    lenient = cluster(sketches, threshold=0.8, cluster="components", guard=0.3)
    assert lenient.labels.tolist() == found.labels.tolist()
    assert found.rethreshold(guard=0.4).labels.tolist() == guarded.labels.tolist()
