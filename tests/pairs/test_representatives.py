"""Representatives: by hand, vectors, the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore.pairs.representatives import CLUSTERINGS, represent
from ndcore.reference import clustering


def labels(n, pairs, order=None, cluster="star", fixed=()) -> list[int]:
    a, b, weights = (list(column) for column in zip(*pairs, strict=True)) if pairs else ([], [], [])
    held = np.zeros(n, np.bool_)
    held[list(fixed)] = True
    order = np.arange(n) if order is None else np.array(order, np.int64)
    return represent(
        n, np.array(a, np.int64), np.array(b, np.int64), np.array(weights, np.float64), order, held, cluster
    ).tolist()


def test_star_joins_the_best_and_greedy_the_first():
    pairs = [(0, 2, 0.82), (1, 2, 0.9), (2, 3, 0.95)]
    assert labels(4, pairs) == [0, 1, 1, 3]
    assert labels(4, pairs, cluster="greedy") == [0, 1, 0, 3]
    assert labels(4, pairs, cluster="components") == [0, 0, 0, 0]


def test_a_chain_is_one_component_and_several_stars():
    pairs = [(i, i + 1, 0.9) for i in range(6)]
    assert labels(7, pairs) == [0, 0, 2, 2, 4, 4, 6]
    assert labels(7, pairs, cluster="components") == [0] * 7
    assert labels(7, pairs, [3, 0, 1, 2, 4, 5, 6]) == [0, 0, 3, 3, 3, 5, 5]


def test_ties_go_to_the_first_in_keep_order():
    pairs = [(0, 2, 0.8), (1, 2, 0.8)]
    assert labels(3, pairs) == [0, 1, 0]
    assert labels(3, pairs, [1, 0, 2]) == [0, 1, 1]
    assert labels(3, pairs, [1, 0, 2], "greedy") == [0, 1, 1]


@pytest.mark.parametrize("cluster", CLUSTERINGS)
def test_fixed_documents_represent_themselves(cluster):
    """Check that 2 and 3, which are there already, come first and are never dropped."""
    pairs = [(0, 2, 0.9), (0, 3, 0.95), (2, 3, 1.0), (1, 2, 0.9)]
    found = labels(4, pairs, [2, 3, 0, 1], cluster, fixed=(2, 3))
    assert found == [3 if cluster == "star" else 2, 2, 2, 3]


def test_vectors(vectors):
    data = vectors("clustering")
    for case in data["cases"]:
        graph = data["graphs"][case["graph"]]
        for cluster in CLUSTERINGS:
            assert labels(graph["n"], graph["pairs"], case["order"], cluster) == case[cluster], case


@st.composite
def graphs(draw: st.DrawFn):
    n = draw(st.integers(0, 20))
    ends = st.tuples(st.integers(0, max(0, n - 1)), st.integers(0, max(0, n - 1))).filter(lambda pair: pair[0] < pair[1])
    edges = sorted(draw(st.sets(ends, max_size=40))) if n > 1 else []
    weights = draw(st.lists(st.sampled_from([0.5, 0.75, 0.875, 1.0]), min_size=len(edges), max_size=len(edges)))
    pairs = [(a, b, weight) for (a, b), weight in zip(edges, weights, strict=True)]
    return n, pairs, draw(st.permutations(range(n)))


@pytest.mark.parametrize("cluster", CLUSTERINGS)
@given(graphs(), st.randoms(use_true_random=False))
def test_as_the_reference(cluster, graph, rng):
    n, pairs, order = graph
    expected = getattr(clustering, cluster)(n, pairs, order)
    shuffled = rng.sample(pairs, len(pairs))
    assert labels(n, pairs, order, cluster) == labels(n, shuffled, order, cluster) == expected
