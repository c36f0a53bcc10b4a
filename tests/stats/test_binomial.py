"""Binomial tails against exact fractions, intervals against SciPy and by their coverage."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore.stats.binomial import interval, lower_tail, upper_tail


def exact_upper(least, trials, p):
    p = Fraction(p)
    return sum(math.comb(trials, i) * p**i * (1 - p) ** (trials - i) for i in range(max(least, 0), trials + 1))


probabilities = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0, 0.5, 1e-300, 1e-9, 1 - 1e-9, 1 - 2**-53])


@given(trials=st.integers(0, 40), least=st.integers(-1, 41), p=probabilities)
def test_tails_against_fractions(trials, least, p):
    for found, exact in ((upper_tail(least, trials, p), exact_upper(least, trials, p)),
                         (lower_tail(least, trials, p), 1 - exact_upper(least + 1, trials, p))):
        if exact < Fraction(1, 10**300):
            assert found < 2e-300
        else:
            assert abs(Fraction(found) / exact - 1) < 1e-11


@pytest.mark.parametrize("trials, tolerance", [(200, 1e-11), (5000, 1e-11), (20000, 1e-10), (1_000_000, 1e-8)])
def test_tails_against_scipy(trials, tolerance):
    stats = pytest.importorskip("scipy.stats")
    for p in (1e-6, 0.03, 0.5, 0.77, 0.999):
        deviation = math.sqrt(trials * p * (1 - p))
        for step in (-8, -3, -1, 0, 1, 3, 8):
            least = int(trials * p + step * deviation)
            if 0 <= least < trials:
                expected = stats.binom.sf(least - 1, trials, p), stats.binom.cdf(least, trials, p)
                found = upper_tail(least, trials, p), lower_tail(least, trials, p)
                np.testing.assert_allclose(found, expected, tolerance)


def test_complement_is_used():
    assert upper_tail(1, 1, 1.0, 1e-30) == 1.0
    assert lower_tail(0, 1, 1.0, 1e-30) == pytest.approx(1e-30, rel=1e-12, abs=0)
    assert lower_tail(1, 3, 1.0, 1e-20) == pytest.approx(3e-40, rel=1e-12, abs=0)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999999])
@pytest.mark.parametrize("trials", [1, 2, 17, 84, 1000, 1_000_000])
def test_exact_is_clopper_pearson(trials, confidence):
    beta = pytest.importorskip("scipy.stats").beta
    tail = (1 - confidence) / 2
    for successes in sorted({0, 1, trials // 3, trials // 2, trials - 1, trials}):
        low, high = interval(successes, trials, confidence, "exact")
        expected = (beta.ppf(tail, successes, trials - successes + 1) if successes else 0.0,
                    beta.isf(tail, successes + 1, trials - successes) if successes < trials else 1.0)
        np.testing.assert_allclose([low, high], expected, rtol=1e-9)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("trials", [1, 10, 84, 400])
def test_midp_solves_its_equations(trials, confidence):
    stats = pytest.importorskip("scipy.stats")
    for successes in sorted({0, 1, trials // 3, trials - 1, trials}):
        low, high = interval(successes, trials, confidence)
        binom = stats.binom
        if successes > 0:
            tail = binom.sf(successes, trials, low) + binom.pmf(successes, trials, low) / 2
            assert tail == pytest.approx((1 - confidence) / 2, rel=1e-9)
        if successes < trials:
            tail = binom.cdf(successes - 1, trials, high) + binom.pmf(successes, trials, high) / 2
            assert tail == pytest.approx((1 - confidence) / 2, rel=1e-9)


def coverage(trials, p, method):
    """Compute the exact probability that the 95 % interval holds p."""
    ends = [interval(x, trials, 0.95, method) for x in range(trials + 1)]
    return sum(math.comb(trials, x) * p**x * (1 - p) ** (trials - x) for x, (low, high) in enumerate(ends)
               if low <= p <= high)


@pytest.mark.parametrize("trials", [10, 84, 200])
def test_coverage(trials):
    grid = (np.arange(200) + 0.5) / 200
    exact = np.array([coverage(trials, p, "exact") for p in grid])
    midp = np.array([coverage(trials, p, "midp") for p in grid])
    assert exact.min() >= 0.95
    assert 0.948 < midp.mean() < exact.mean()
    assert midp.min() > 0.90
    assert abs(midp.mean() - 0.95) < 0.02


@given(data=st.data(), trials=st.integers(1, 300), confidence=st.floats(0.01, 0.9999),
       method=st.sampled_from(["midp", "exact"]))
def test_order_symmetry_and_nesting(data, trials, confidence, method):
    successes = data.draw(st.integers(0, trials))
    low, high = interval(successes, trials, confidence, method)
    assert 0.0 <= low < high <= 1.0
    assert (low == 0.0) == (successes == 0) and (high == 1.0) == (successes == trials)
    mirrored = interval(trials - successes, trials, confidence, method)
    assert mirrored == pytest.approx((1 - high, 1 - low), rel=1e-12, abs=1e-15)
    wider = interval(successes, trials, (1 + confidence) / 2, method)
    assert wider[0] <= low and high <= wider[1]
    if confidence > 0.5:
        assert low <= successes / trials <= high


def test_no_trials_and_numpy_counts():
    assert interval(0, 0) == (0.0, 1.0)
    assert interval(np.int64(42), np.uint8(84)) == interval(42, 84)
    low, high = interval(42, 84)
    assert (round(low, 3), round(high, 3)) == (0.394, 0.606)


@pytest.mark.parametrize("arguments, error, message", [
    ((5, 4), ValueError, "not 5 of 4"), ((-1, 4), ValueError, "not -1 of 4"), ((0, -1), ValueError, "not 0 of -1"),
    ((1.5, 4), TypeError, "float"), ((1, 4, 0.0), ValueError, "confidence is 0.0"),
    ((1, 4, 1.0), ValueError, "confidence is 1.0"), ((1, 4, 95), ValueError, "confidence is 95"),
    ((1, 4, math.nan), ValueError, "confidence is nan"), ((1, 4, 0.95, "wald"), ValueError, "method is 'wald'"),
])
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        interval(*arguments)
