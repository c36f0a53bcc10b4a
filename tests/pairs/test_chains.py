"""Chains in components, and the guard against them: by hand, the reference, errors."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore.pairs.chains import chains, guarded, to_representatives
from ndcore.pairs.representatives import represent
from ndcore.pairs.scored import DocumentPairs
from ndcore.reference import clustering as reference


def made(pairs) -> DocumentPairs:
    columns = zip(*sorted(pairs), strict=True) if pairs else ([], [], [])
    kinds = np.int64, np.int64, np.float64
    return DocumentPairs(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))


def components(n, pairs, order=None):
    order = np.arange(n) if order is None else np.array(order, np.int64)
    return represent(n, *made(pairs), order, np.zeros(n, np.bool_), "components"), order


def listed(found) -> list[tuple]:
    return [tuple(row) for row in zip(*(column.tolist() for column in found), strict=True)]


VERSIONS = [(0, 1, 0.9), (1, 2, 0.75), (2, 3, 0.875), (3, 4, 0.9), (5, 6, 0.8)]


def test_versions_of_a_paper():
    """Follow Broder et al. 1997, §2: consecutive versions are similar, the last is quite different from the first."""
    labels, order = components(7, VERSIONS)
    pairs = made(VERSIONS)
    asked = []

    def measure(i, j):
        asked.append((i.tolist(), j.tolist()))
        return 0.9 ** (i - j) - 0.2

    similar = to_representatives(labels, pairs, measure)
    assert asked == [([2, 3, 4], [0, 0, 0])]
    assert similar.tolist() == pytest.approx([1, 0.9, 0.61, 0.529, 0.4561, 1, 0.8])
    assert listed(chains(labels, pairs, similar, 0.75)) == [(0, 5, 3, similar[4], 0.75, 4)]
    assert listed(chains(labels, pairs, similar, 0.6)) == [(0, 5, 2, similar[4], 0.75, 4)]
    assert listed(chains(labels, pairs, similar, 0.45)) == []
    assert guarded(labels, pairs, similar, 0.45, order).tolist() == [0, 0, 0, 0, 0, 5, 5]
    assert guarded(labels, pairs, similar, 0.46, order).tolist() == [0, 0, 2, 2, 4, 5, 5]


def test_the_bottleneck_is_on_the_best_way_and_hops_are_on_the_shortest():
    """Go from 0 to 3 by 1 and 2 over 0.9 at least, or at once over 0.5; 4 hangs on 3."""
    pairs = [(0, 1, 0.95), (1, 2, 0.9), (2, 3, 0.9), (0, 3, 0.5), (3, 4, 0.8)]
    labels, _ = components(5, pairs)
    similar = np.array([1, 0.95, 0.1, 0.5, 0.2])
    assert listed(chains(labels, made(pairs), similar, 0.5)) == [(0, 5, 2, 0.1, 0.8, 2)]


def test_where_there_is_no_resemblance_to_the_representative():
    labels, order = components(3, [(0, 1, 0.5), (1, 2, 0.5)])
    pairs = made([(0, 1, 0.5), (1, 2, 0.5)])
    similar = to_representatives(labels, pairs, lambda i, j: np.full(len(i), nan))
    assert isnan(similar[2])
    assert listed(chains(labels, pairs, similar, 0.5)) == [(0, 3, 1, 0.5, 0.5, 2)]
    assert guarded(labels, pairs, similar, 0.0, order).tolist() == [0, 0, 2]


def test_nothing():
    labels, order = components(0, [])
    none = made([])
    assert to_representatives(labels, none, None).tolist() == []
    assert listed(chains(labels, none, np.ones(0), 0.5)) == []
    assert guarded(labels, none, np.ones(0), 0.5, order).tolist() == []


def test_ten_thousand_hops():
    n = 10_001
    pairs = [(i, i + 1, 0.5 + (i % 100) / 1000) for i in range(n - 1)]
    labels, _ = components(n, pairs)
    similar = np.linspace(1, 0, n)
    assert listed(chains(labels, made(pairs), similar, 0.5)) == [(0, n, 5000, 0.0, 0.5, n - 1)]


@st.composite
def graphs(draw: st.DrawFn):
    n = draw(st.integers(1, 16))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] < pair[1])
    edges = sorted(draw(st.sets(ends, max_size=24))) if n > 1 else []
    weight = st.sampled_from([0.5, 0.625, 0.75, 1.0])
    pairs = [(a, b, draw(weight)) for a, b in edges]
    others = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, nan]), min_size=n, max_size=n))
    return n, pairs, draw(st.permutations(range(n))), others


@given(graphs(), st.sampled_from([0.1, 0.5, 0.7]))
def test_as_the_reference(graph, threshold):
    n, pairs, order, others = graph
    labels, positions = components(n, pairs, order)
    expected = reference.components(n, pairs, order)
    assert labels.tolist() == expected
    similar = to_representatives(labels, made(pairs), lambda i, j: np.array(others)[i])
    plain = reference.to_representatives(expected, pairs, lambda i, j: others[i])
    np.testing.assert_array_equal(similar, plain)
    assert listed(chains(labels, made(pairs), similar, threshold)) == reference.chains(expected, pairs, plain, threshold)
    found = guarded(labels, made(pairs), similar, threshold, positions).tolist()
    assert found == reference.guarded(expected, pairs, plain, threshold, order)


def test_errors():
    pairs = made([(0, 1, 0.5)])
    with pytest.raises(ValueError, match="documents 0 and 1 are a pair and have different labels"):
        chains(np.array([0, 1]), pairs, np.ones(2), 0.5)
    with pytest.raises(ValueError, match="no pairs join document 2 with its representative 0"):
        chains(np.array([0, 0, 0]), pairs, np.array([1, 0.5, 0.1]), 0.5)
    with pytest.raises(ValueError, match="no pairs connect the 2 members of 0"):
        reference.chains([0, 0], [], [1, 0.1], 0.5)
