"""Sizes of samples and lengths of fingerprints: the figures of Broder 1997, §4, sums in fractions, simulations."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.stats.binomial import upper_tail

DECIMALS = st.integers(0, 100).map(lambda i: Fraction(i, 100))


def exact_within(s: int, r: Fraction, error: Fraction) -> Fraction:
    """Compute the sum of §4.2 as printed, its upper limit read as s(r + ε)."""
    within = (k for k in range(s + 1) if s * (r - error) <= k <= s * (r + error))
    return sum((math.comb(s, k) * r**k * (1 - r) ** (s - k) for k in within), Fraction(0))


@given(st.integers(1, 60), DECIMALS, DECIMALS)
def test_probability_within_is_the_sum(s, r, error):
    exact = exact_within(s, r, error)
    assert nd.probability_within(s, float(r), float(error)) == pytest.approx(float(exact), rel=1e-12, abs=1e-13)


def test_limits_are_decimal_numbers():
    # 0.7 + 0.1 in binary is below 0.8: k = 8 of 10 would be left out.
    assert 10 * (0.7 + 0.1) < 8
    assert nd.probability_within(10, 0.7, 0.1) == pytest.approx(float(exact_within(10, Fraction(7, 10), Fraction(1, 10))))


def test_one_half_is_the_hardest():
    # "For a fixed s our estimate is likely to be worse if r is close to 0.5", §4.2.
    for s in (100, 200):
        found = [nd.probability_within(s, r, 0.1) for r in (0.5, 0.7, 0.9, 0.98)]
        assert found == sorted(found) and found[0] > 0.96


def test_no_pair_of_the_web_is_far_off():
    # "Even for the entire web it is unlikely (probability less than 0.1 %) that any pair of documents that resembles less
    # than 50 % will be estimated as resembling more than 90 %", §4.2: 100 samples, the 30 million documents of the paper.
    pairs = math.comb(30_000_000, 2)
    for s in (100, 200):
        far_off = upper_tail(s * 9 // 10 + 1, s, 0.5)
        assert far_off == pytest.approx(float(sum(Fraction(math.comb(s, k), 2**s) for k in range(s * 9 // 10 + 1, s + 1))))
        assert pairs * far_off < 0.001
    assert (1 - nd.probability_within(100, 0.5, 0.4)) / 2 == pytest.approx(upper_tail(91, 100, 0.5), abs=1e-15)


@pytest.mark.parametrize("error", [0.3, 0.1, 0.05])
@pytest.mark.parametrize("r", [0, 0.05, 0.5, 0.7, 0.9, 1])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_sample_size_is_the_least(r, error, confidence):
    s = nd.sample_size(r, error, confidence)
    assert nd.probability_within(s, r, error) >= confidence
    assert all(nd.probability_within(smaller, r, error) < confidence for smaller in range(1, s))


def test_sample_sizes_are_about_those_of_the_normal_law():
    # z² r(1 − r) / ε², z = 1.96; a little less, for the least s is a lucky one.
    for r, error in ((0.5, 0.02), (0.8, 0.01), (0.95, 0.005)):
        normal = 1.959964**2 * r * (1 - r) / error**2
        assert 0.95 * normal < nd.sample_size(r, error) < normal


# ---------------------------------------------------------------------------------------------- fingerprints


@given(st.integers(0, 300), st.integers(1, 20))
def test_expected_distinct_is_the_formula(n, bits):
    exact = 2**bits * (1 - (1 - Fraction(1, 2**bits)) ** n)
    assert nd.expected_distinct(n, bits) == pytest.approx(float(exact), rel=1e-12)


def test_expected_collisions():
    # n − C(n, 2) / 2^l where l is much larger than log n; then, by Markov's inequality, more than C(n, 2) / 2^(l − 10)
    # collisions have a probability below 1/1000, §4.1.
    for n, bits in ((1000, 40), (5000, 40), (1000, 30)):
        collisions = math.comb(n, 2) / 2**bits
        assert n - nd.expected_distinct(n, bits) == pytest.approx(collisions, rel=0.01, abs=1e-9)
        assert collisions / (math.comb(n, 2) / 2 ** (bits - 10)) < 1 / 1000
    assert nd.expected_distinct(1000) == 1000.0


def test_expected_distinct_in_random_functions():
    # 300 functions of 500 shingles into 10 bits: the mean within 5 standard errors, each below √500.
    rng = np.random.default_rng(1)
    counts = [len(np.unique(rng.integers(0, 1 << 10, 500))) for _ in range(300)]
    assert abs(np.mean(counts) - nd.expected_distinct(500, 10)) < 5 * math.sqrt(500 / 300)


def test_fingerprint_error_bounds_resemblances():
    # |r_f − r| < |A ∪ B| / 2^(l − 11) for more than 99.9 % of functions: 3000 of them into 19 bits, unions of 60.
    rng = np.random.default_rng(2)
    common, size = 20, 40
    union = 2 * size - common
    r, bound = common / union, nd.fingerprint_error(union, 19)
    assert bound == 60 / 2**8
    f = rng.integers(0, 1 << 19, (3000, union))
    changes = []
    for row in f:
        a, b = set(row[:size].tolist()), set(row[size - common :].tolist())
        changes.append(abs(len(a & b) / len(a | b) - r))
    assert np.max(changes) > 0 and np.mean(np.array(changes) >= bound) < 0.001


def test_the_sizes_of_the_experiment():
    # "The size of a typical set of shingles is about 1000 … We used Rabin fingerprints with l = 40", §4.1.
    assert nd.fingerprint_error(2000, 40) == 2000 / 2**29 < 1e-5
    assert nd.fingerprint_bits(30_000_000) == 70  # 2 log2 m + 20 for the 30 million documents (Broder 2000, §2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nd.probability_within(0, 0.5, 0.1), ValueError, "size is 0; it must be at least 1"),
        (lambda: nd.probability_within(1.5, 0.5, 0.1), TypeError, "float"),
        (lambda: nd.probability_within(9, 1.5, 0.1), ValueError, "resemblance is 1.5; it must lie between 0 and 1"),
        (lambda: nd.probability_within(9, math.nan, 0.1), ValueError, "resemblance is nan"),
        (lambda: nd.probability_within(9, 0.5, -0.1), ValueError, "error is -0.1; it must be a number of at least 0"),
        (lambda: nd.probability_within(9, 0.5, math.inf), ValueError, "error is inf; it must be a number of at least 0"),
        (lambda: nd.sample_size(0.5, 0), ValueError, "error is 0; .* give an error above 0"),
        (lambda: nd.sample_size(0.5, 0.1, 1.0), ValueError, "confidence is 1.0; it must lie strictly between 0 and 1"),
        (lambda: nd.expected_distinct(-1), ValueError, "shingles is -1; it must be at least 0"),
        (lambda: nd.expected_distinct(1, 0), ValueError, "bits is 0; it must be at least 1"),
        (lambda: nd.fingerprint_error(-1), ValueError, "shingles is -1"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
