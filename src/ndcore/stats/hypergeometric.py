"""Confidence intervals for a share of a finite set, from a sample without replacement.

A bottom or mod sketch of two documents is a sample, without replacement, of the union of their shingle sets (Broder, "On
the resemblance and containment of documents", 1997, §4.2, DOI 10.1109/SEQUEN.1997.666900). If K of the N elements of a set
are common and t elements are sampled, X of the sampled ones are common:

    P(X = i) = C(K, i) C(N − K, t − i) / C(N, t)

The naive algorithm takes the interval of all K for which the observed x lies in neither tail, trying each K and summing all
terms of both tails. Three properties make it fast:

- P(X >= x) rises with K and P(X <= x) falls, also if N = |A| + |B| − K falls with K. So bisection finds both ends.
- P(X = i + 1) / P(X = i) = (K − i)(t − i) / ((i + 1)(N − K − t + i + 1)), symmetric in K and t. The ratio is at most 1 from
  the mode ⌊(K + 1)(t + 1) / (N + 2)⌋ on, its reciprocal below it. So terms are products of ratios: they start with 1 at
  the mode, fall to both sides and need no factorial. Dividing by their sum replaces the division by C(N, t).
- The standard deviation is at most √t / 2, so few terms on either side of the mode count.

In the code n, k, t, x are N, K, t, x, each an array with an entry for each pair of documents.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ndcore._types import Bools, Floats, Ints

LARGEST = 2.0**51  # larger sets are taken to have this many elements
CHUNK = 1 << 18  # terms in memory at a time
RATIOS = 40  # halvings of [0, 1] in the search of a ratio
NODES = [NormalDist().inv_cdf((i + 0.5) / 8) for i in range(8)]  # quantiles of a normal distribution, with equal weights
REACH = 9.0  # standard deviations, plus as many terms, beyond which terms are left out


def finite_intervals(
    successes: Ints, trials: Ints, whole: Floats, most: Floats, *, of_union: bool, confidence: float, share: float
) -> tuple[Floats, Floats]:
    """Find confidence intervals for K / N, given `successes` common elements among `trials` sampled ones.

    Parameters
    ----------
    successes, trials : int64 (pairs,)
        x and t: 0 <= successes <= trials, trials > 0.
    whole : float64 (pairs,)
        N; with `of_union`, |A| + |B| of two sets of which K elements are common, so that N = whole − K. Raised to the
        smallest value that the counts allow.
    most : float64 (pairs,)
        Upper bound of K, infinite where none is known.
    of_union : bool
    confidence : float
    share : float
        The part of P(X = x) that counts in each tail: 0.5 for mid-P, 1 for intervals that are never too short.

    Returns
    -------
    low, high : float64 (pairs,)
        The smallest K / N whose upper tail is above (1 − confidence) / 2, and the largest whose lower tail is. Exchanged
        where low is above high, as may happen for a small set and a small confidence.

    Notes
    -----
    O(sqrt(trials) · log(whole)) terms per pair. All pairs of a batch are bisected together.
    """
    low, high = np.empty(len(trials)), np.empty(len(trials))
    step = max(1, CHUNK // (2 * _reach(int(trials.max(initial=1))) + 1))
    for start in range(0, len(trials), step):
        part = slice(start, start + step)
        x, t = successes[part].astype(np.float64), trials[part].astype(np.float64)
        n = np.maximum(np.rint(np.minimum(whole[part], LARGEST)), t + of_union * x)
        last = np.maximum(x, np.minimum(np.floor((n - t + x) / (1 + of_union)), most[part]))
        tails = _Tails(x, t, n, float(of_union), (1.0 - confidence) / 2.0, share, _reach(int(t.max())))
        smallest, largest = _first(x, last, tails.upper_is_large), _first(x, last + 1.0, tails.lower_is_small) - 1.0
        for bounds, k in ((low, np.minimum(smallest, largest)), (high, np.maximum(smallest, largest))):
            bounds[part] = k / (n - of_union * k)
    return low, high


def estimated_intervals(
    successes: Ints, trials: Ints, whole: Floats, error: Floats, *, of_union: bool, confidence: float
) -> tuple[Floats, Floats]:
    """Find mid-P confidence intervals for K / N where N is an estimate with a standard error.

    Parameters
    ----------
    successes, trials, of_union, confidence
        As for `finite_intervals`.
        whole, error : float64 (pairs,)
        The estimate of N, or of |A| + |B| with `of_union`, and its standard error, above 0.

    Returns
    -------
    low, high : float64 (pairs,)

    Notes
    -----
    The elements that were not sampled, N − t, have a gamma distribution with the mean and the standard error that are given.
    Where a sketch is the t smallest of N random numbers and the largest of them is u, N − t has a negative binomial
    distribution under the prior 1 / N: the gamma distribution is near to it, and its quantiles have a closed form (Wilson,
    Hilferty, "The distribution of chi-square", 1931, DOI 10.1073/pnas.17.12.684). Tails are averages over eight quantiles.
    """
    low, high = np.zeros(len(trials)), np.ones(len(trials))
    target = (1.0 - confidence) / 2.0
    step = max(1, CHUNK // (len(NODES) * (2 * _reach(int(trials.max(initial=1))) + 1)))
    for start in range(0, len(trials), step):
        part = slice(start, start + step)
        x, t = successes[part].astype(np.float64), trials[part].astype(np.float64)
        least = t + of_union * x
        unseen = np.maximum(1.0, np.minimum(whole[part], LARGEST) - least)
        wide = np.minimum(error[part] / unseen, 1.0) / 3.0  # 1 / (3·√shape); the mean is at least the error
        unseen = np.maximum(unseen, np.minimum(error[part], LARGEST))
        each = [least + np.maximum(0.0, unseen * (1.0 - wide**2 + node * wide) ** 3) for node in NODES]
        sizes = (1 + of_union) * np.ceil(np.array(each) / (1 + of_union))  # even: all may be common
        tails = _MeanTails(x, t, sizes, of_union, _reach(int(t.max())))
        low[part] = _boundary(len(x), tails.counts, tails.upper, target)
        high[part] = 1.0 - _boundary(len(x), tails.counts_from_one, tails.lower, target)
    return np.minimum(low, high), np.maximum(low, high)


class _MeanTails(NamedTuple):
    """The observations, the sizes that each set may have, (nodes, pairs), and the number of terms on either side."""

    x: Floats
    t: Floats
    sizes: Floats
    of_union: bool
    reach: int

    def counts(self, ratio: Floats) -> Floats:
        """Return K at these ratios, for each size: (nodes, pairs)."""
        return np.asarray(np.rint(ratio * self.sizes / (1.0 + self.of_union * ratio)))

    def counts_from_one(self, ratio: Floats) -> Floats:
        """Return K at 1 less these ratios."""
        return self.counts(1.0 - ratio)

    def upper(self, counts: Floats, pairs: Bools) -> Floats:
        """Return the mean upper tails of some pairs at these K, and anything for the others."""
        wanted, sizes = counts[:, pairs].ravel(), self.sizes[:, pairs].ravel()
        x, t = np.tile(self.x[pairs], len(NODES)), np.tile(self.t[pairs], len(NODES))
        k = np.minimum(wanted, np.floor((sizes - t + x) / (1 + self.of_union)))  # more leave too few others for t − x
        _, equal, above = _tails(x, t, k, sizes - self.of_union * k, self.reach)
        tails = np.zeros(counts.shape)
        tails[:, pairs] = np.where(wanted > k, 1.0, above + 0.5 * equal).reshape(len(NODES), -1)
        return np.asarray(tails.mean(axis=0))

    def lower(self, counts: Floats, pairs: Bools) -> Floats:
        """Return the mean lower tails: what is left of 1."""
        return 1.0 - self.upper(counts, pairs)


def _boundary(
    pairs: int, counts: Callable[[Floats], Floats], rising: Callable[[Floats, Bools], Floats], target: float
) -> Floats:
    """Find the smallest ratios in [0, 1] at which rising functions of counts are above a target, by bisection.

    Most halvings come when the middle has the counts of an end already, whose answer is known.
    """
    low, high = np.zeros(pairs), np.ones(pairs)
    at_low = counts(low)
    at_high = np.full(at_low.shape, np.nan)  # nothing is known of the ratio 1
    at_zero = rising(at_low, np.ones(pairs, bool)) > target
    for _ in range(RATIOS):
        middle = (low + high) / 2.0
        at_middle = counts(middle)
        as_low, as_high = (at_middle == at_low).all(axis=0), (at_middle == at_high).all(axis=0)
        unknown = ~(as_low | as_high)
        met = as_high | (unknown & (rising(at_middle, unknown) > target))
        low, high = np.where(met, low, middle), np.where(met, middle, high)
        at_low, at_high = np.where(met, at_low, at_middle), np.where(met, at_middle, at_high)
    return np.where(at_zero, 0.0, high)


class _Tails(NamedTuple):
    """The observation, and the tests of K by its tails."""

    x: Floats
    t: Floats
    whole: Floats
    of_union: float
    target: float
    share: float
    reach: int

    def upper_is_large(self, k: Floats) -> Bools:
        """Tell whether P(X >= x) is above the target: K is not too small."""
        _, equal, above = _tails(self.x, self.t, k, self.whole - self.of_union * k, self.reach)
        return above + self.share * equal > self.target

    def lower_is_small(self, k: Floats) -> Bools:
        """Tell whether P(X <= x) is at most the target: K is too large."""
        below, equal, _ = _tails(self.x, self.t, k, self.whole - self.of_union * k, self.reach)
        return below + self.share * equal <= self.target


def _first(start: Floats, stop: Floats, holds: Callable[[Floats], Bools]) -> Floats:
    """Find the first whole number from start on for which a monotonic test holds, or stop; by bisection."""
    low, high = start.copy(), stop.copy()
    while (low < high).any():
        middle = np.floor((low + high) / 2.0)
        holding = holds(np.maximum(start, np.minimum(middle, stop - 1.0)))
        high = np.where(holding & (low < high), middle, high)
        low = np.where(holding | (low >= high), low, middle + 1.0)
    return high


def _tails(x: Floats, t: Floats, k: Floats, n: Floats, reach: int) -> tuple[Floats, Floats, Floats]:
    """Return P(X < x), P(X = x), P(X > x), each from `reach` terms on either side of the mode."""
    mode = np.floor((t + 1.0) * (k + 1.0) / (n + 2.0))
    i = mode[:, None] + np.arange(-reach, reach + 1.0)
    t, k, others = t[:, None], k[:, None], (n - k)[:, None]
    up, down = i[:, reach:-1], i[:, reach:0:-1]
    terms = np.ones(i.shape)
    np.cumprod((k - up) * (t - up) / ((up + 1.0) * (others - t + up + 1.0)), axis=1, out=terms[:, reach + 1 :])
    left = np.cumprod(down * (others - t + down) / ((k - down + 1.0) * (t - down + 1.0)), axis=1)
    terms[:, :reach] = left[:, ::-1]
    terms /= terms.sum(axis=1, keepdims=True)  # impossible outcomes: 0, as a ratio before them is
    below, equal, above = ((terms * where).sum(axis=1) for where in (i < x[:, None], i == x[:, None], i > x[:, None]))
    return below, equal, above


def _reach(trials: int) -> int:
    """Compute the number of terms on either side of the mode."""
    return int(REACH * (1.0 + trials**0.5 / 2.0))
