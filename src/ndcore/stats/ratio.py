"""Ratio estimates: the total of an amount, from its ratio to size in a random sample of parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Range(NamedTuple):
    """An estimate as two bounds, which are equal if the value is known."""

    low: float
    high: float

    def plus(self, other: Range) -> Range:
        """Add the bounds of both."""
        return Range(self.low + other.low, self.high + other.high)


def estimate_total(parts: Sequence[tuple[float, float]], total: float, complete: bool) -> Range:
    """Estimate an amount for a whole of size `total`: the ratio to size, two standard errors each way, at least a tenth.

    Parameters
    ----------
    parts : sequence of (size, amount)
        The parts in the sample.
    complete : bool
        Whether the parts are the whole, so that their sum is the total.

    Notes
    -----
    The standard error belongs to a ratio of two sums over parts, with the correction for a finite population. Time is
    linear in the number of parts.

    References
    ----------
    Cochran, Sampling Techniques, 3rd ed., 1977, §6.5.
    """
    seen, amount = (float(sum(column)) for column in zip(*parts, strict=True)) if parts else (0.0, 0.0)
    if complete or not seen:
        return Range(amount, amount)
    ratio = amount / seen
    residuals = sum((amount - ratio * size) ** 2 for size, amount in parts)
    k = len(parts)
    error = math.sqrt(residuals * k / (k - 1) * max(0.0, 1 - seen / total)) / seen if k > 1 else ratio
    relative = min(0.9, max(0.1, 2 * error / ratio if ratio and k > 1 else 0.2))
    return Range(total * ratio * (1 - relative), total * ratio * (1 + relative))
