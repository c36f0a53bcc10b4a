"""Find how many samples an estimate needs, before any document is read."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

from ndcore.checks import checked_int, checked_probability
from ndcore.stats.binomial import upper_tail


def probability_within(size: int, resemblance: float, error: float) -> float:
    """Compute the probability that an estimate from `size` samples is within `error` of the resemblance.

    p(s, r, ε) = sum of C(s, k) r^k (1 − r)^(s − k) over s(r − ε) <= k <= s(r + ε): binomial, as is the number of minima
    that agree in two signatures. A sample without replacement, such as a bottom sketch, does at least as well.

    Parameters
    ----------
    size : int
        s, at least 1.
    resemblance : float in [0, 1]
    error : float
        ε, at least 0. Both are read as decimal numbers, so that 0.7 + 0.1 is 0.8.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        A parameter is outside its range.

    Notes
    -----
    About O(sqrt(size)) terms.

    References
    ----------
    Broder, "On the resemblance and containment of documents", 1997, §4.2. DOI 10.1109/SEQUEN.1997.666900.

    >>> round(probability_within(100, 0.5, 0.1), 4)
    0.9648
    """
    r, epsilon = _check_inputs(resemblance, error)
    s = checked_int("size", size, 1)
    low, high = math.ceil(s * (r - epsilon)), math.floor(s * (r + epsilon))
    if low > high:
        return 0.0
    outside = upper_tail(high + 1, s, float(r), float(1 - r)) + upper_tail(s - low + 1, s, float(1 - r), float(r))
    return max(0.0, 1.0 - outside)


def sample_size(resemblance: float, error: float, confidence: float = 0.95) -> int:
    """Find the smallest number of samples whose estimate is within `error` of the resemblance with probability `confidence`.

    This is the smallest s with `probability_within(s, resemblance, error)` >= confidence. The probability jumps up where
    s·(r ± ε) passes a whole number and falls in between, so a few larger s may miss the confidence by a little.

    Parameters
    ----------
    resemblance : float in [0, 1]
        0.5 needs the most samples.
    error : float
        Above 0.
    confidence : float
        Strictly between 0 and 1.

    Returns
    -------
    int

    Raises
    ------
    TypeError, ValueError
        A parameter is outside its range.

    Notes
    -----
    Every s is tried, from 1 on, each in O(1): some seconds per million.

    References
    ----------
    Broder, "On the resemblance and containment of documents", 1997, §4.2. DOI 10.1109/SEQUEN.1997.666900.

    >>> sample_size(0.5, 0.1)
    90
    """
    r, epsilon = _check_inputs(resemblance, error)
    if epsilon == 0:
        raise ValueError("error is 0; no number of samples estimates exactly, give an error above 0")
    confidence = checked_probability("confidence", confidence, "0.95")
    misses = zip(_falls_short(r, epsilon), _falls_short(1 - r, epsilon), strict=True)
    return next(s for s, (below, above) in enumerate(misses, 1) if 1.0 - (below + above) >= confidence)


def _falls_short(p: Fraction, error: Fraction) -> Iterator[float]:
    """Yield P(X < s(p − error)) for X binomial(s, p) and s = 1, 2, …, each from the previous one."""
    success, failure = float(p), float(1 - p)
    bound, unit = (p - error).as_integer_ratio()
    below, term, most = 0.0, 0.0, -1  # P(X <= most), P(X = most)
    for s in itertools.count(1):
        if most >= 0:
            below -= success * term
            term *= s * failure / (s - most)
        while failure and (most + 1) * unit < s * bound:
            most += 1
            term = term * (s - most + 1) / most * (success / failure) if most else failure**s
            below += term
        yield below


def _check_inputs(resemblance: float, error: float) -> tuple[Fraction, Fraction]:
    """Return resemblance and error as exact decimal fractions."""
    if not 0.0 <= resemblance <= 1.0:
        raise ValueError(f"resemblance is {resemblance}; it must lie between 0 and 1")
    if not 0.0 <= error < math.inf:
        raise ValueError(f"error is {error}; it must be a number of at least 0, for example 0.05")
    return Fraction(repr(float(resemblance))), Fraction(repr(float(error)))
