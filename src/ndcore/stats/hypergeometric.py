"""Confidence intervals for a share of a finite set, from a sample in which nothing comes twice.

A bottom sketch or a mod sketch of two documents is a sample of the union of their shingle sets without replacement: the
number of common shingles in it is hypergeometric (Broder 1997, §4.2), and the more of the union it holds, the surer it is.
All pairs of a batch are bisected together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Floats

__all__ = ["finite_intervals"]


LARGEST = 2.0**51  # sets of more elements are taken to have so many
CHUNK = 1 << 18  # terms in memory at a time
REACH = 9.0  # standard deviations, and as many terms besides, beyond which terms are left out


def finite_intervals(
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    whole: Floats,
    most: Floats,
    *,
    folds: bool,
    confidence: float,
    share: float,
) -> tuple[Floats, Floats]:
    """Intervals for K / N, the share of a set of N that K elements have, from `trials` of them, `successes` of these K.

    Parameters
    ----------
    successes, trials : int64 (pairs,)
        0 <= successes <= trials, trials > 0.
    whole : float64 (pairs,)
        N; with `folds`, |A| + |B| of sets of which K elements are common, so that N = whole − K. Raised to the least that
        the counts allow.
    most : float64 (pairs,)
        The most that K can be, infinite where that is not known.
    folds : bool
    confidence : float
    share : float
        The part of the observed outcome that counts in each tail: 0.5 for mid-P, 1 for intervals that are never too short.

    Returns
    -------
    low, high : float64 (pairs,)
        The least K / N whose upper tail is larger than (1 − confidence) / 2, and the largest whose lower tail is; in order
        where, of a small set and a small confidence, the former is larger.

    Notes
    -----
    O(sqrt(trials) · log(whole)) terms per pair.
    """
    low, high = np.empty(len(trials)), np.empty(len(trials))
    step = max(1, CHUNK // (2 * _reach(int(trials.max(initial=1))) + 1))
    for start in range(0, len(trials), step):
        part = slice(start, start + step)
        x, t = successes[part].astype(np.float64), trials[part].astype(np.float64)
        n = np.maximum(np.rint(np.minimum(whole[part], LARGEST)), t + folds * x)
        last = np.maximum(x, np.minimum(np.floor((n - t + x) / (1 + folds)), most[part]))
        ends = _Ends(x, t, n, float(folds), (1.0 - confidence) / 2.0, share)
        least, greatest = _first(x, last, ends.not_too_small), _first(x, last + 1.0, ends.too_large) - 1.0
        for found, k in ((low, np.minimum(least, greatest)), (high, np.maximum(least, greatest))):
            found[part] = k / (n - folds * k)
    return low, high


class _Ends(NamedTuple):
    """What K is judged by, in both directions."""

    successes: Floats
    trials: Floats
    whole: Floats
    folds: float
    target: float
    share: float

    def not_too_small(self, k: Floats) -> NDArray[np.bool_]:
        _, equal, above = _tails(self.successes, self.trials, k, self.whole - self.folds * k)
        return above + self.share * equal > self.target

    def too_large(self, k: Floats) -> NDArray[np.bool_]:
        below, equal, _ = _tails(self.successes, self.trials, k, self.whole - self.folds * k)
        return below + self.share * equal <= self.target


def _first(start: Floats, stop: Floats, holds: Callable[[Floats], NDArray[np.bool_]]) -> Floats:
    """The first whole number from start on for which `holds`, which stays so; stop where there is none below it."""
    low, high = start.copy(), stop.copy()
    while (low < high).any():
        middle = np.floor((low + high) / 2.0)
        found = holds(np.maximum(start, np.minimum(middle, stop - 1.0)))
        high = np.where(found & (low < high), middle, high)
        low = np.where(found | (low >= high), low, middle + 1.0)
    return high


def _tails(x: Floats, t: Floats, k: Floats, n: Floats) -> tuple[Floats, Floats, Floats]:
    """P(X < x), P(X = x), P(X > x) for X common to K of N elements and a sample of t.

    The terms on both sides of the largest are products of ratios of neighbours, which fall, and are 0 from the first
    impossible one on; divided by their sum they need no factorial.
    """
    reach = _reach(int(t.max()))
    mode = np.floor((t + 1.0) * (k + 1.0) / (n + 2.0))
    i = mode[:, None] + np.arange(-reach, reach + 1.0)
    t, k, others = t[:, None], k[:, None], (n - k)[:, None]
    up, down = i[:, reach:-1], i[:, reach:0:-1]
    terms = np.ones(i.shape)
    np.cumprod((k - up) * (t - up) / ((up + 1.0) * (others - t + up + 1.0)), axis=1, out=terms[:, reach + 1 :])
    left = np.cumprod(down * (others - t + down) / ((k - down + 1.0) * (t - down + 1.0)), axis=1)
    terms[:, :reach] = left[:, ::-1]
    terms /= terms.sum(axis=1, keepdims=True)
    below, equal, above = ((terms * where).sum(axis=1) for where in (i < x[:, None], i == x[:, None], i > x[:, None]))
    return below, equal, above


def _reach(trials: int) -> int:
    return int(REACH * (1.0 + trials**0.5 / 2.0))
