"""Intervals for a share of a set whose size is an estimate; those of sets of known size are tested with sketches."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ndcore.stats import hypergeometric
from ndcore.stats.hypergeometric import estimated_intervals


def upper_tail(x: int, k: int, t: int, n: int) -> float:
    """Compute P(X > x) + P(X = x) / 2, where k of n elements are common and t are sampled."""
    ways = [math.comb(k, i) * math.comb(n - k, t - i) for i in range(x, t + 1)]
    return (sum(ways) - ways[0] / 2) / math.comb(n, t)


@pytest.mark.parametrize(("x", "t", "unseen"), [(1, 2, 36), (1, 4, 36), (3, 10, 100), (60, 100, 10)])
def test_the_size_has_a_gamma_distribution(x: int, t: int, unseen: int) -> None:
    """Where the standard error of the unseen elements is their mean, they have an exponential distribution.

    Its quantiles are −mean · ln(1 − p), here 64 of them; the ends of the interval are sought among 501 ratios.
    """
    sizes = [math.ceil(t - unseen * math.log(1 - (i + 0.5) / 64)) for i in range(64)]

    def tail(ratio: float) -> float:
        common = [round(ratio * size) for size in sizes]
        return sum(0.0 if k < x else 1.0 if k > size - t + x else upper_tail(x, k, t, size)
                   for k, size in zip(common, sizes, strict=True)) / len(sizes)

    tails = [(i / 500, tail(i / 500)) for i in range(501)]
    expected = [next(ratio for ratio, each in tails if each > bound) for bound in (0.1, 0.9)]
    low, high = estimated_intervals(np.array([x]), np.array([t]), np.array([t + float(unseen)]), np.array([float(unseen)]),
                                    of_union=False, confidence=0.8)
    assert [low[0], high[0]] == pytest.approx(expected, abs=0.01)


def ask_always(
    pairs: int, counts: Callable[..., np.ndarray], rising: Callable[..., np.ndarray], target: float
) -> np.ndarray:
    """Halve [0, 1] by the tails at every middle, also where the counts are those of an end."""
    low, high, every = np.zeros(pairs), np.ones(pairs), np.ones(pairs, bool)
    at_zero = rising(counts(low), every) > target
    for _ in range(40):
        middle = (low + high) / 2
        met = rising(counts(middle), every) > target
        low, high = np.where(met, low, middle), np.where(met, middle, high)
    return np.where(at_zero, 0.0, high)


@pytest.mark.parametrize("of_union", [False, True])
@pytest.mark.parametrize("pairs", [1, 40])
def test_tails_that_are_not_asked_for_change_no_bit(monkeypatch: pytest.MonkeyPatch, of_union: bool, pairs: int) -> None:
    rng = np.random.default_rng(pairs)
    trials = rng.integers(1, 100, pairs)
    given = rng.integers(0, trials + 1), trials, trials * rng.uniform(1, 60, pairs) + 1, rng.uniform(1, 900, pairs)
    found = estimated_intervals(*given, of_union=of_union, confidence=0.9)
    monkeypatch.setattr(hypergeometric, "_boundary", ask_always)
    expected = estimated_intervals(*given, of_union=of_union, confidence=0.9)
    for each, end in zip(found, expected, strict=True):
        assert each.tolist() == end.tolist()
