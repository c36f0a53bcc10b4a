"""Ratio estimates of totals."""

from __future__ import annotations

import math

import pytest

from ndcore.stats.ratio import Range, estimate_total


def test_what_is_complete_is_known():
    assert estimate_total([(3, 6), (5, 1)], 8, True) == Range(7, 7)
    assert estimate_total([], 8, False) == Range(0, 0)


def test_two_standard_errors_by_hand():
    """Ratio 1/2; residuals 1/2 and -1/2; the variance of the mean residual is 1/2 · 2/1 · (1 - 8/80) / 8²."""
    error = math.sqrt(0.9) / 8
    assert estimate_total([(4, 2.5), (4, 1.5)], 80, False) == pytest.approx((40 - 160 * error, 40 + 160 * error))


def test_a_tenth_is_the_least_error():
    assert estimate_total([(4, 2)] * 5, 80, False) == pytest.approx((36, 44))
    assert estimate_total([(4, 2)], 80, False) == pytest.approx((32, 48))  # of one part nobody knows how they differ
