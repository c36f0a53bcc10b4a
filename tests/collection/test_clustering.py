"""What a Clustering says: clusters, members, classes, containments; the last phase by hand. See test_cluster.py."""

from __future__ import annotations

import numpy as np
import pytest
from samples import as_sketches

from ndcore.collection.cluster import cluster
from ndcore.reference.fourphase import Sketch


def ranges(*ends, **how):
    """The clustering of sets of consecutive numbers."""
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
    """In a star, by chains of documents that resemble each the one before."""
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
    """Three hold {0 … 9}, two of them {10 … 19} too: these two have 20 in common of 21 and 20, the others meet nobody."""
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
