"""Intervals for sums of weights: against SciPy's gamma and chi-squared quantiles, and by their coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore.stats.poisson import gamma_below, gamma_quantile, weighted_interval


@given(shape=st.floats(1.0, 3e3), probability=st.floats(1e-3, 1 - 1e-3))
def test_gamma_against_scipy(shape, probability):
    stats = pytest.importorskip("scipy.stats")
    expected = stats.gamma.ppf(probability, shape)
    assert gamma_below(shape, expected) == pytest.approx(stats.gamma.cdf(expected, shape), rel=1e-9)
    assert gamma_quantile(shape, probability) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("count", [0, 1, 2, 12, 300])
@pytest.mark.parametrize("weight", [1.0, 37.5])
def test_equal_weights_give_the_interval_of_garwood(count, weight):
    chi2 = pytest.importorskip("scipy.stats").chi2
    low, high = weighted_interval([weight] * count, weight)
    assert low == pytest.approx(weight * chi2.ppf(0.025, 2 * count) / 2 if count else 0.0, rel=1e-8)
    assert high == pytest.approx(weight * chi2.ppf(0.975, 2 * count + 2) / 2, rel=1e-8)


def test_intervals_cover():
    """Events of unequal weights, 2,000 times: Fay and Feuer's interval covers with at least its confidence."""
    source, covered = np.random.default_rng(20261126), 0
    weights = np.repeat([0.5, 3.0, 20.0], [400, 60, 20])
    chances = np.repeat([0.02, 0.05, 0.1], [400, 60, 20])
    truth = float((weights * chances).sum())
    for _ in range(2000):
        low, high = weighted_interval(weights[source.random(len(weights)) < chances], 20.0)
        covered += low <= truth <= high
    assert covered >= 0.945 * 2000  # three deviations below 0.96, which is above what is promised


def test_nothing_weighed_and_bad_weights():
    assert weighted_interval([], 0.0) == (0.0, 0.0)
    for weights in ([2.5], [-1.0], [float("nan")]):
        with pytest.raises(ValueError, match="must be from 0 to the largest, 2"):
            weighted_interval(weights, 2)
    with pytest.raises(ValueError, match="confidence"):
        weighted_interval([1.0], 2, confidence=1.0)
