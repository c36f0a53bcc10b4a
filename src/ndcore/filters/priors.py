"""The distribution of the resemblances of pairs, and the errors that a filter makes on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import Floats
from ndcore.filters.background import log_complement
from ndcore.filters.pass_probability import checked_resemblance
from ndcore.stats.binomial import log_coefficient

Given: TypeAlias = ArrayLike | Callable[[float], float]

PANELS = 25  # panels of a density on either side of the threshold
NODES = 24  # nodes in a panel: exact up to degree 47
MAX_POINTS = 2048  # most distinct samples; more are grouped in half as many intervals on either side of the threshold


class Errors(NamedTuple):
    """Shares of all pairs on which a filter errs.

    Attributes
    ----------
    false : float
        Pairs below the threshold that pass.
    missed : float
        Pairs at or above the threshold that do not pass.
    """

    false: float
    missed: float

    @property
    def total(self) -> float:
        """The total error of Broder 2000, §4."""
        return self.false + self.missed


class Prior:
    """Weighted points in place of a distribution of resemblances, cut at a threshold.

    Parameters
    ----------
    given : array, or callable
        Resemblances of a sample of pairs, all with the same weight; or a density on [0, 1], called with one float at a time
        and not necessarily normalised.
    threshold : float
        Pairs at or above it should pass.

    Raises
    ------
    ValueError
        A sample is outside [0, 1] or there is none; a density is negative, not finite, or 0 everywhere.

    Notes
    -----
    Densities are integrated by Gauss-Legendre quadrature of 24 nodes in 25 panels on either side of the threshold. Up to
    2048 distinct samples are taken as they are; more are grouped in 1024 intervals, each with its mean on either side.

    References
    ----------
    Broder, "Identifying and filtering near-duplicate documents", 2000, §4. DOI 10.1007/3-540-45123-4_1.
    """

    def __init__(self, given: Given, threshold: float) -> None:
        self.threshold = threshold
        points, weights = _of_density(given, threshold) if callable(given) else _of_samples(given, threshold)
        total = weights.sum()
        if not np.isfinite(total) or (weights < 0.0).any() or total == 0.0:
            raise ValueError("a density is finite, at least 0, and above 0 somewhere; this one has an integral of "
                             f"{total:g} and a least value of {weights.min():g}")
        self._log_rho = _log(points)
        wanted = points >= threshold
        self._false = np.where(wanted, 0.0, weights / total)
        self._missed = np.where(wanted, weights / total, 0.0)

    def errors(self, groups: int, group_size: int) -> list[Errors]:
        """Compute the errors of filters with need = 1 … groups, from the distribution of the number of groups that agree.

        O(groups · points).
        """
        with np.errstate(under="ignore", invalid="ignore"):
            log_p = group_size * self._log_rho
            log_q = log_complement(log_p)
            counts = np.arange(groups + 1)[:, None]
            coefficients = np.array([[log_coefficient(groups, i)] for i in range(groups + 1)])
            equal = np.where(counts == 0, 0.0, counts * log_p) + np.where(counts == groups, 0.0, (groups - counts) * log_q)
            chances = np.exp(coefficients + equal)
        passed = np.cumsum((chances @ self._false)[::-1])[::-1]
        missed = np.cumsum(chances @ self._missed)
        return [Errors(float(passed[need]), float(missed[need - 1])) for need in range(1, groups + 1)]


def _log(points: Floats) -> Floats:
    """Return logarithms; -inf for 0."""
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(points)
    return logs


def _of_density(density: Callable[[float], float], threshold: float) -> tuple[Floats, Floats]:
    """Return the nodes of the quadrature, and the density there times their weights."""
    edges = np.concatenate([np.linspace(0.0, threshold, PANELS + 1), np.linspace(threshold, 1.0, PANELS + 1)[1:]])
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges)[:, None] / 2.0
    points = ((edges[:-1, None] + half) + half * nodes).ravel()
    heights = np.array([float(density(float(point))) for point in points])
    return points, (half * weights).ravel() * heights


def _of_samples(samples: ArrayLike, threshold: float) -> tuple[Floats, Floats]:
    """Return distinct samples with their counts, grouped if there are many."""
    values = checked_resemblance(samples).ravel()
    if len(values) == 0:
        raise ValueError("prior is empty; give resemblances of pairs, or a density")
    points, counts = np.unique(values, return_counts=True)
    if len(points) > MAX_POINTS:
        place = np.minimum((points * (MAX_POINTS // 2)).astype(np.int64), MAX_POINTS // 2 - 1) * 2 + (points >= threshold)
        sums = np.bincount(place, points * counts, MAX_POINTS)
        counts = np.bincount(place, counts, MAX_POINTS)
        points, counts = sums[counts > 0] / counts[counts > 0], counts[counts > 0]
    return points, counts.astype(np.float64)
