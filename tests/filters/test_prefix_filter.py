"""The numbers of the prefix filter against their definition, and against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore.filters.prefix import PrefixFilter
from ndcore.reference import dedup as reference

thresholds = st.floats(1e-6, 1.0) | st.sampled_from([0.1, 0.3, 0.7, 0.8, 0.9, 1 / 3, 2 / 3, 1.0])


@given(thresholds, st.lists(st.integers(0, 300), max_size=20))
def test_least_common(threshold, sizes):
    found = PrefixFilter(threshold)
    wanted = [reference.least_common(n, found.threshold) for n in sizes]
    assert found.least_common(np.array(sizes, np.int64)).tolist() == wanted
    assert found.probe_length(np.array(sizes, np.int64)).tolist() == [n - c + 1 if n else 0
                                                                     for n, c in zip(sizes, wanted, strict=True)]


@given(st.integers(1, 2**40), st.data())
def test_least_common_of_large_sets_is_least(n, data):
    threshold = data.draw(thresholds | st.integers(1, n).map(lambda c: c / n))
    c = int(PrefixFilter(threshold).least_common(np.array([n]))[0])
    assert 1 <= c <= n and float(c) / float(n) >= threshold and (c == 1 or float(c - 1) / float(n) < threshold)
    assert abs(Fraction(threshold) * n - c) < 1 + Fraction(n, 2**50)


def test_by_hand():
    sizes = np.array([0, 1, 5, 10, 100])
    assert PrefixFilter(0.8).least_common(sizes).tolist() == [0, 1, 4, 8, 80]
    assert PrefixFilter(0.8).probe_length(sizes).tolist() == [0, 1, 2, 3, 21]
    assert PrefixFilter(1.0).probe_length(sizes).tolist() == [0, 1, 1, 1, 1]


def test_no_pair_is_missed():
    assert PrefixFilter(0.4).miss == PrefixFilter(0.4, "contained").miss == 0.0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [((0.0,), ValueError, "above 0 and at most 1, got 0.0"), ((1.1,), ValueError, "got 1.1"),
     (("0.8",), ValueError, "got '0.8'"),
     ((0.8, "both"), ValueError, "drop must be one of resembling, contained, got 'both'")])  # fmt: skip
def test_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        PrefixFilter(*arguments)
