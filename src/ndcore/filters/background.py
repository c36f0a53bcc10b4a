"""A model of unrelated documents for comparing filters: how many of their pairs share features, and pass."""

from __future__ import annotations

import math

import numpy as np

from ndcore._types import Floats, Ints
from ndcore.stats.binomial import log_coefficient

BACKGROUND = 0.01  # mean resemblance of unrelated documents, if none is given
BLOCK = 32  # integrands evaluated at once


def log_complement(log_p: Floats) -> Floats:
    """Compute log(1 - exp(log_p)) for log_p <= 0, without cancellation."""
    with np.errstate(divide="ignore", under="ignore"):
        small = np.log1p(-np.exp(np.minimum(log_p, -math.log(2.0))))
        return np.where(log_p < -math.log(2.0), small, np.log(-np.expm1(log_p)))


class Unrelated:
    """Expectations over the resemblance of two unrelated documents: exponential, conditioned on [0, 1].

    Integrals are Gauss-Legendre quadratures with 24 nodes per panel. In units of the mean, panels widen like the square
    root, as the peaks of y^m exp(-y) do; as resemblances, none is wider than 1/25 or 24 / max_minima. Resemblances beyond
    4·max_minima + 100 means are left out: less than 1e-40 of any expectation.
    """

    def __init__(self, background: float, max_minima: int) -> None:
        end = min(1.0 / background, 4.0 * max_minima + 100.0)
        widest = min(1.0 / 25.0, 24.0 / max_minima) / background
        edges = [0.0]
        while edges[-1] < end:
            edges.append(edges[-1] + min(2.0 * math.sqrt(edges[-1]) + 4.0, widest))
        bounds = np.array(edges) * (end / edges[-1])
        nodes, weights = np.polynomial.legendre.leggauss(24)
        half = np.diff(bounds)[:, None] / 2.0
        y = ((bounds[:-1, None] + half) + half * nodes).ravel()
        self._weights: Floats = (half * weights).ravel() * np.exp(-y) / -math.expm1(-1.0 / background)
        self._log_rho: Floats = np.log(y * background)

    def collisions(self, group_size: int, groups: Ints) -> Floats:
        """Compute E[1 - (1 - rho^group_size)^groups] for every number of groups."""
        with np.errstate(under="ignore"):
            log_q = log_complement(group_size * self._log_rho)
            blocks = [groups[i : i + BLOCK, None] for i in range(0, len(groups), BLOCK)]
            return np.concatenate([-np.expm1(block * log_q) @ self._weights for block in blocks])

    def candidates(self, groups: int, group_size: int, most: int) -> list[float]:
        """Compute E[P_{groups,group_size,need}(rho)] for need = 1 ... most.

        The density of rho falls, hence the density of rho^group_size, and terms fall with the number of groups that agree:
        the sum ends where the rest no longer counts.
        """
        terms: list[float] = []
        with np.errstate(under="ignore"):
            log_p = group_size * self._log_rho
            log_q = log_complement(log_p)
            while len(terms) < most or (len(terms) < groups and terms[-1] * groups > 1e-17 * terms[most - 1]):
                i = range(len(terms) + 1, min(len(terms) + BLOCK, groups) + 1)
                column = np.array(i)[:, None]
                coefficients = np.array([[log_coefficient(groups, n)] for n in i])
                exponents = coefficients + column * log_p + (groups - column) * log_q
                terms += (np.exp(exponents) @ self._weights).tolist()
        sums: list[float] = np.cumsum(terms[::-1])[::-1][:most].tolist()
        return sums
