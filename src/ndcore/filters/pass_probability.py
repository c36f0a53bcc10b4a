"""P_{k,s,r}: the probability that a pair of documents passes a filter.

A pair of resemblance ρ agrees in each minimum of its signatures with probability ρ, independently. A signature is cut into k
groups of s minima, each fingerprinted to a feature, which agrees with probability p = ρ^s. A pair passes if at least r of
its k features agree:

    P_{k,s,r}(ρ) = Σ_{i=r..k} C(k, i) p^i (1 − p)^(k − i)

(Broder, "Identifying and filtering near-duplicate documents", 2000, §3, DOI 10.1007/3-540-45123-4_1). k, s, r are `groups`,
`group_size` and `need`. LSH calls groups bands, and group_size rows; its r is 1.

Terms are computed as logarithms and added from positive terms only, so that tiny probabilities keep their digits. P near 1
loses them; 1 − P, the sum over i < r, then has them: `miss_probability`.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import Floats
from ndcore.checks import checked_shape
from ndcore.filters.background import log_complement
from ndcore.stats.binomial import log_coefficient, lower_tail


@overload
def pass_probability(rho: float, groups: int = 6, group_size: int = 14, need: int = 2) -> float: ...
@overload
def pass_probability(rho: ArrayLike, groups: int = 6, group_size: int = 14, need: int = 2) -> float | Floats: ...
def pass_probability(rho: ArrayLike, groups: int = 6, group_size: int = 14, need: int = 2) -> float | Floats:
    """Compute the probability that a pair of resemblance `rho` shares at least `need` of its `groups` features.

    P_{k,s,r}(rho) = sum over i >= r of C(k, i) p^i (1 - p)^(k - i), with p = rho^s. Fingerprints that collide are left out;
    see `expected_spurious`.

    Parameters
    ----------
    rho : float or array of float in [0, 1]
    groups, group_size, need : int
        All at least 1; need <= groups.

    Returns
    -------
    float, or float64 array of the shape of `rho`

    Raises
    ------
    TypeError, ValueError
        A parameter is outside its range.

    Notes
    -----
    Relative error below 1e-10 until the result underflows; near 1, `miss_probability` has the digits that matter.
    O(groups) operations on arrays of the size of `rho`.

    References
    ----------
    Broder, "Identifying and filtering near-duplicate documents", 2000, §3. DOI 10.1007/3-540-45123-4_1.
    """
    groups, group_size, need = checked_shape(groups, group_size, need)
    return _tail(rho, groups, group_size, range(need, groups + 1))


@overload
def miss_probability(rho: float, groups: int = 6, group_size: int = 14, need: int = 2) -> float: ...
@overload
def miss_probability(rho: ArrayLike, groups: int = 6, group_size: int = 14, need: int = 2) -> float | Floats: ...
def miss_probability(rho: ArrayLike, groups: int = 6, group_size: int = 14, need: int = 2) -> float | Floats:
    """Compute 1 - `pass_probability`, to full relative accuracy even if tiny. Parameters and errors are the same."""
    groups, group_size, need = checked_shape(groups, group_size, need)
    return _tail(rho, groups, group_size, range(need))


def _tail(rho: ArrayLike, groups: int, group_size: int, counts: range) -> float | Floats:
    """Compute the probability that the number of groups that agree is in `counts`, as a sum of positive terms.

    A term is C(k, i) p^i (1 - p)^(k - i), computed by its logarithm.
    """
    rho = checked_resemblance(rho)
    total = np.zeros_like(rho)
    with np.errstate(divide="ignore", under="ignore"):
        log_p = group_size * np.log(rho)
        log_q = log_complement(log_p)
        for i in counts:
            log_term = np.full_like(rho, log_coefficient(groups, i))
            if i > 0:
                log_term += i * log_p
            if i < groups:
                log_term += (groups - i) * log_q
            total += np.exp(log_term)
    total = np.minimum(total, 1.0)
    return total if total.ndim else float(total)


def resemblance_at(probability: float, groups: int = 6, group_size: int = 14, need: int = 2) -> float:
    """Find the resemblance at which a pair passes with this probability: the inverse of `pass_probability`.

    Parameters
    ----------
    probability : float in [0, 1]
    groups, group_size, need : int
        As in `pass_probability`.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        A parameter is outside its range.

    Notes
    -----
    Bisection, to the last digits of a float. With the resemblance for 1/2 as threshold, the filter makes the smallest error
    on uniform resemblances (Broder 2000, §4).

    >>> round(resemblance_at(0.5), 3)
    0.909
    """
    groups, group_size, need = checked_shape(groups, group_size, need)
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"probability is {probability}; it must lie in [0, 1]")
    low, high = 0.0, 1.0
    while high - low > 1e-15 * high:
        middle = (low + high) / 2.0
        if probability < 0.5:
            short = pass_probability(middle, groups, group_size, need) < probability
        else:  # from the other end, for the digits of 1 - probability
            short = miss_probability(middle, groups, group_size, need) > 1.0 - probability
        low, high = (middle, high) if short else (low, middle)
    return high


def inflection(groups: int = 6, group_size: int = 14, need: int = 2) -> float:
    """Find the resemblance at which P_{k,s,r} is steepest: rho^s = (r s - 1) / (k s - 1).

    nan for a single group of one minimum: P is a straight line.

    >>> round(inflection(), 3)
    0.923
    """
    groups, group_size, need = checked_shape(groups, group_size, need)
    if groups * group_size == 1:
        return math.nan
    return float(((need * group_size - 1) / (groups * group_size - 1)) ** (1.0 / group_size))


def miss_of_design(threshold: float, groups: int, group_size: int, need: int) -> float:
    """Compute `miss_probability` of one number, with fewer terms."""
    log_p = group_size * math.log(threshold)
    return lower_tail(need - 1, groups, math.exp(log_p), -math.expm1(log_p))


def checked_resemblance(rho: ArrayLike) -> Floats:
    """Convert resemblances to an array. Raises ValueError for one outside [0, 1]."""
    array = np.asarray(rho, dtype=np.float64)
    outside = ~((array >= 0.0) & (array <= 1.0))
    if outside.any():
        raise ValueError(f"a resemblance lies in [0, 1]; {array[outside].flat[0]} does not")
    return array
