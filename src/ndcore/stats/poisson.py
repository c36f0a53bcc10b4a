"""Confidence intervals for the total that a sample of rare events represents: a sum of weights, one for each event seen."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ndcore.checks import checked_probability

STEPS = 200  # most steps of a bisection, more than the bits of a double


def weighted_interval(weights: Iterable[float], largest: float, confidence: float = 0.95) -> tuple[float, float]:
    """Find a confidence interval for the mean of a sum of weights, to which each rare event contributes if it occurs.

    Parameters
    ----------
    weights : iterable of float
        The weights of the events that occurred: how many events each represents, itself included.
    largest : float
        The largest weight that any event could have; without events it determines the upper end.
    confidence : float
        Strictly between 0 and 1.

    Returns
    -------
    low, high : float
        (0.0, 0.0) if `largest` is 0.

    Raises
    ------
    ValueError
        A weight is not a number from 0 to `largest`, or the confidence is out of range.

    Notes
    -----
    With equal weights it is the exact interval of Garwood for the mean of a Poisson distribution, scaled. O(m) bisection
    steps of O(m) terms for m events.

    References
    ----------
    Fay and Feuer, "Confidence intervals for directly standardized rates: a method based on the gamma distribution", 1997,
    §2. DOI 10.1002/(SICI)1097-0258(19970415)16:7<791::AID-SIM500>3.0.CO;2-#.
    """
    checked_probability("confidence", confidence, "0.95")
    came = [float(weight) for weight in weights]
    if (wrong := next((weight for weight in came if not 0 <= weight <= largest), None)) is not None:
        raise ValueError(f"a weight is {wrong}; it must be from 0 to the largest, {largest}")
    if largest == 0:
        return 0.0, 0.0
    tail, total, squares = (1.0 - confidence) / 2.0, math.fsum(came), math.fsum(weight * weight for weight in came)
    low = squares / total * gamma_quantile(total * total / squares, tail) if total > 0 else 0.0
    total, squares = total + largest, squares + largest * largest
    return low, squares / total * gamma_quantile(total * total / squares, 1.0 - tail)


def gamma_quantile(shape: float, probability: float) -> float:
    """Find the x below which a gamma variable of a shape (1 or more) and scale 1 lies with a probability, by bisection."""
    low, high = 0.0, shape + 1.0
    while gamma_below(shape, high) < probability:
        low, high = high, 2.0 * high
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        if gamma_below(shape, middle) < probability:
            low = middle
        else:
            high = middle
    return high


def gamma_below(shape: float, x: float) -> float:
    """Compute P(X <= x) for a gamma variable of a shape and scale 1: a series of positive terms (DLMF 8.7.1)."""
    if x <= 0.0:
        return 0.0
    term = total = 1.0
    divisor = shape
    while term > 1e-17 * total:
        divisor += 1.0
        term *= x / divisor
        total += term
    return min(1.0, math.exp(shape * math.log(x) - x - math.lgamma(shape + 1.0)) * total)
