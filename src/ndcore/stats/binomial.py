"""Tails of the binomial distribution, and confidence intervals for an estimated proportion.

A resemblance is estimated by the number of minima that agree among independent trials, which is binomial. All sums have
positive terms only and start at the largest, so small probabilities keep their relative accuracy.
"""

from __future__ import annotations

import functools
import math
from typing import Literal

import numpy as np

from ndcore._types import Floats
from ndcore.checks import checked_int, checked_probability

EXACT_COEFFICIENT = 5000  # trials up to which log C(n, k) comes from the integer, not from log-gamma
CHUNK = 1024


def upper_tail(k: int, trials: int, probability: float, complement: float | None = None) -> float:
    """Compute P(X >= k) for X binomial(trials, probability).

    Parameters
    ----------
    k, trials : int
    probability : float in [0, 1]
    complement : float, optional
        1 - probability, if it is known more exactly than the subtraction gives it.

    Notes
    -----
    Relative error below 1e-11 up to 10^4 trials and 1e-8 up to 10^8, until the result underflows. About
    O(sqrt(trials)) terms, at most `trials`.
    """
    q = 1.0 - probability if complement is None else complement
    if k <= 0:
        return 1.0
    if k > trials:
        return 0.0
    if k > trials * probability:  # the terms fall from the first on
        return _falling_tail(k, trials, probability, q)
    return 1.0 - _falling_tail(trials - k + 1, trials, q, probability)


def lower_tail(k: int, trials: int, probability: float, complement: float | None = None) -> float:
    """Compute P(X <= k) for X binomial(trials, probability). Parameters and accuracy as in `upper_tail`."""
    q = 1.0 - probability if complement is None else complement
    return upper_tail(trials - k, trials, q, probability)


def interval(successes: int, trials: int, confidence: float = 0.95, method: Literal["midp", "exact"] = "midp"
             ) -> tuple[float, float]:
    """Find a confidence interval for the probability of success.

    Parameters
    ----------
    successes, trials : int
        0 <= successes <= trials; for a signature, the minima that agree and num_perm.
    confidence : float
        Strictly between 0 and 1.
    method : "midp" or "exact"
        "exact" is the interval of Clopper and Pearson: it covers the true value with at least `confidence`, usually with
        more. "midp" counts half of the observed outcome in each tail (Lancaster): it covers with `confidence` on the
        average over probabilities, sometimes with a little less, and is shorter.

    Returns
    -------
    low, high : float
        (0.0, 1.0) without trials. low is 0.0 without successes, high is 1.0 without failures.

    Raises
    ------
    TypeError, ValueError
        For counts that are not integers or not in order, and other confidences or methods.

    Notes
    -----
    Bisection on exact binomial tails, to a relative error of 1e-9 (10^6 trials).

    References
    ----------
    Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", 1934.
    DOI 10.1093/biomet/26.4.404. Lancaster, "Significance tests in discrete distributions", 1961.
    DOI 10.1080/01621459.1961.10482105.
    """
    successes, trials = checked_int("successes", successes), checked_int("trials", trials)
    if not 0 <= successes <= trials:
        raise ValueError(f"an interval needs 0 <= successes <= trials, not {successes} of {trials}")
    checked_interval(confidence, method)
    if trials == 0:
        return 0.0, 1.0
    return _interval(successes, trials, float(confidence), 0.5 if method == "midp" else 1.0)


def checked_interval(confidence: float, method: str) -> None:
    """Raise ValueError for another confidence or method than `interval` takes."""
    checked_probability("confidence", confidence, "0.95")
    if method not in ("midp", "exact"):
        raise ValueError(f'method is {method!r}; accepted are "midp" and "exact"')


@functools.lru_cache(maxsize=4096)
def _interval(successes: int, trials: int, confidence: float, share: float) -> tuple[float, float]:
    """Find both ends; `share` is the part of the observed outcome that counts in each tail."""
    low = _lower_end(successes, trials, confidence, share)
    # The upper end is found as the lower end for the failures: near 1, 1 - p has more digits than p.
    return low, 1.0 - _lower_end(trials - successes, trials, confidence, share)


def _lower_end(successes: int, trials: int, confidence: float, share: float) -> float:
    """Find the p at which `successes` or more of `trials` have probability (1 - confidence) / 2."""
    if successes == 0:
        return 0.0
    target = (1.0 - confidence) / 2.0
    low, high = 0.0, 1.0
    while high - low > 1e-15 * high:
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        tail = upper_tail(successes, trials, middle)
        if share < 1.0:
            tail -= (1.0 - share) * _term(successes, trials, middle, 1.0 - middle)
        if tail < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _falling_tail(k: int, trials: int, p: float, q: float) -> float:
    """Compute P(X >= k), k at or above the mode: the first term times a sum of products of falling ratios."""
    if p == 0.0:
        return 0.0
    if q == 0.0:
        return 1.0
    total = product = 1.0
    for start in range(k, trials, CHUNK):
        products = product * (_falling_ratios(start, trials) * (p / q)).cumprod()
        total += float(products.sum())
        product = float(products[-1])
        if product < 1e-18 * total:
            break
    return min(1.0, _term(k, trials, p, q) * total)


@functools.lru_cache(64)  # the search of an interval has the same for all probabilities
def _falling_ratios(start: int, trials: int) -> Floats:
    """Return C(trials, i + 1) / C(trials, i) for the next i from start on, at most CHUNK."""
    counts = np.arange(start, min(start + CHUNK, trials), dtype=np.float64)
    return np.asarray((trials - counts) / (counts + 1.0))


def _term(k: int, n: int, p: float, q: float) -> float:
    """Compute C(n, k) p^k q^(n - k) for 0 < p, q < 1, through logarithms."""
    log_p = math.log(p) if p < 0.5 else math.log1p(-q)
    log_q = math.log(q) if q < 0.5 else math.log1p(-p)
    return math.exp(log_coefficient(n, k) + k * log_p + (n - k) * log_q)


@functools.lru_cache(maxsize=65536)
def log_coefficient(n: int, k: int) -> float:
    """Return the natural logarithm of the binomial coefficient C(n, k)."""
    if n <= EXACT_COEFFICIENT:
        return math.log(math.comb(n, k))
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
