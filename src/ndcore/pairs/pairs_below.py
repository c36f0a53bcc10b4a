"""Estimate how many pairs are below the threshold, from the candidates that were compared and rejected.

The naive count compares all pairs. Here each rejected candidate represents 1/p pairs, where p is the probability that LSH
and the minima make a pair of its resemblance a candidate (the estimator of Horvitz and Thompson 1952, "A generalization of
sampling without replacement from a finite universe", DOI 10.1080/01621459.1952.10483446).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ndcore._types import Floats, Ints
from ndcore.filters.design import FilterDesign

CELLS = 1000  # cells of [0, 1] in which rejected pairs are counted
GRID = 61  # resemblances at which the probability is computed; it is interpolated between them
SPAN = 3  # estimated steps of 0.1 below the threshold
LEAST = 0.005  # least probability of a candidate for an estimate


class PairsBelow(NamedTuple):
    """An estimate of the pairs with a resemblance from `low` to below `high`, and its standard error."""

    low: float
    high: float
    pairs: float
    error: float


def candidate_probability(design: FilterDesign, equal_minima: int, rho: Floats) -> Floats:
    """Compute the probability that a pair shares `design.need` features and `equal_minima` minima.

    Parameters
    ----------
    design : FilterDesign
    equal_minima : int
        The number of minima that must agree, in the whole signature.
    rho : ndarray of float64 (m,)
        Resemblances in [0, 1].

    Returns
    -------
    ndarray of float64 (m,)

    Notes
    -----
    A group agrees in all of its minima with probability ρ^k, else in j < k with C(k, j) ρ^j (1 − ρ)^(k − j). The
    distributions of the groups are convolved, once for each number of groups that agree. O(m · groups · need · num_perm).
    """
    size, rest = design.group_size, design.num_perm - design.groups * design.group_size
    partial = np.array([math.comb(size, j) for j in range(size)])
    total = np.empty(len(rho))
    for at, r in enumerate(rho.tolist()):
        below = np.zeros((design.need, design.num_perm + 1))  # [groups that agree, minima that agree]
        below[0, 0] = 1.0
        some = partial * r ** np.arange(size) * (1 - r) ** (size - np.arange(size))
        for _ in range(design.groups):
            step = np.array([np.convolve(row, some)[: below.shape[1]] for row in below])
            step[1:, size:] += below[:-1, : below.shape[1] - size] * r**size
            below = step
        others = [math.comb(rest, j) * r**j * (1 - r) ** (rest - j) for j in range(rest + 1)]
        few = sum(np.convolve(row, others)[equal_minima:].sum() for row in below)
        minima = [math.comb(design.num_perm, j) * r**j * (1 - r) ** (design.num_perm - j)
                  for j in range(equal_minima, design.num_perm + 1)]
        total[at] = max(0.0, sum(minima) - few)
    return total


def count_by_resemblance(resemblance: Floats) -> Ints:
    """Count pairs in each of CELLS cells of [0, 1] by their resemblance; the last cell is for 1."""
    return np.bincount((resemblance * CELLS).astype(np.int64), minlength=CELLS + 1)


def estimate_below(rejected: Ints, design: FilterDesign, equal_minima: int, threshold: float) -> list[PairsBelow]:
    """Estimate the pairs in each step of 0.1 below the threshold in which at least 1 pair in 200 is a candidate.

    rejected: the candidates that were compared and rejected, by `count_by_resemblance`. The standard error treats pairs as
    independent.
    """
    steps = math.ceil(threshold * 10 - 1e-9)
    edges = [step / 10 for step in range(max(1, steps - SPAN), steps)] + [threshold]
    grid = np.linspace(edges[0], threshold, GRID)
    probability = candidate_probability(design, equal_minima, grid)
    middles = (np.arange(CELLS + 1) + 0.5) / CELLS
    p = np.interp(middles, grid, probability)
    estimates = []
    for low, high in pairwise(edges):
        cells = (middles > low) & (middles < high)
        if np.interp(low, grid, probability) >= LEAST:
            counts, here = rejected[cells], p[cells]
            error = math.sqrt((counts * (1 - here) / here**2).sum())
            estimates.append(PairsBelow(low, high, float((counts / here).sum()), error))
    return estimates
