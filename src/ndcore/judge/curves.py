"""Label curves: the probability that people call a pair "same", by its score.

A curve rises from `low` to `high` around a middle. The curves of a grid are weighted by their likelihood given the answers
(Bayes). The weights depend only on the answers and not on how pairs were chosen. So frequent looks, optional stopping,
adaptive draws, and a threshold chosen by the same answers need no correction if one of the curves is right. If none is,
`estimates.INFLATION` widens the intervals.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Floats, Ints
from ndcore.judge.pool import FLOOR

STEP = 0.01
THRESHOLDS = np.round(np.arange(FLOOR, 1 + STEP / 2, STEP), 2)  # thresholds that can be chosen
BINS = len(THRESHOLDS) + 1  # bin 0: scores below the first threshold; bin i: from THRESHOLDS[i - 1] on; the last: 1.0
_MIDDLES = np.concatenate([[FLOOR - 0.05], THRESHOLDS[:-1] + STEP / 2, [1.0]])
_LOW, _LOW_PRIOR = (0.0, 0.02, 0.08, 0.2, 0.4), (0.4, 0.3, 0.15, 0.075, 0.075)
_HIGH, _HIGH_PRIOR = (1.0, 0.98, 0.92, 0.8, 0.6), (0.4, 0.3, 0.15, 0.075, 0.075)
_RISES = (0.01, 0.03, 0.06, 0.12, 0.25, 0.5)  # widths over which a curve rises from a tenth to nine tenths
RARE = 0.0005
_RISE = 4.4  # that width, in units of the logistic function


class _Grid(NamedTuple):
    """The curves, float32 (curves, BINS), the logarithms of curves and complements, and of the prior weights."""

    curves: NDArray[np.float32]
    same: NDArray[np.float32]
    different: NDArray[np.float32]
    prior: NDArray[np.float32]


@cache
def _grid() -> _Grid:
    """Make the grid; cached."""
    axes = np.arange(0.0, 1.2, 0.04), np.array(_RISES), np.arange(len(_LOW)), np.arange(len(_HIGH))
    middle, rise, low, high = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    bottom, top = np.array(_LOW)[low], np.array(_HIGH)[high]
    at = np.clip((_MIDDLES - middle[:, None]) / (rise[:, None] / _RISE), -60, 60)
    curves = np.clip(bottom[:, None] + (top - bottom)[:, None] / (1 + np.exp(-at)), 0.001, 0.999)
    prior = np.log(np.array(_LOW_PRIOR)[low] * np.array(_HIGH_PRIOR)[high])
    made = [array.astype(np.float32) for array in (curves, np.log(curves), np.log1p(-curves), prior)]
    return _Grid(*made)


def bins_of(scores: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return the bin of each score."""
    exact = np.asarray(scores, np.float64) + 1e-7  # a threshold as float32 may be smaller
    levels: NDArray[np.uint8] = np.searchsorted(THRESHOLDS, exact, "right").astype(np.uint8)
    return levels


def _from(values: Floats) -> Floats:
    """Sum the values from each threshold on."""
    sums: Floats = np.cumsum(values[..., ::-1], axis=-1)[..., ::-1][..., 1:]
    return sums


class MeasureFit:
    """The scores of the pool by one measure, and the weights of the curves given the answers so far.

    Attributes
    ----------
    bins : uint8 (pairs,)
    in_bin : float64 (BINS,)
        Total weight of the pairs in each bin.
    above : float64 (thresholds,)
        Total weight of the pairs at or above each threshold.
    posterior : float32 (curves,)
    """

    def __init__(self, scores: NDArray[np.float32], weight: Floats) -> None:
        self.bins = bins_of(scores)
        self.in_bin: Floats = np.bincount(self.bins, weight, BINS).astype(np.float64)
        self.above = _from(self.in_bin)
        grid = _grid()
        weighed: Floats = self.in_bin * grid.curves.astype(np.float64)
        self._same = weighed.sum(axis=1).astype(np.float32)
        self._right = _from(weighed).astype(np.float32)
        self._f1 = 2 * self._right / np.maximum(self.above + self._same[:, None], 1e-9).astype(np.float32)
        self.update(np.empty(0, np.int64), np.empty(0))

    def update(self, pairs: Ints, same: Floats) -> None:
        """Weight the curves by answers: pairs, and the share of people who called each "same"."""
        grid, bins = _grid(), self.bins[pairs]
        of_same = np.bincount(bins, same, BINS).astype(np.float32)
        of_different = np.bincount(bins, 1 - same, BINS).astype(np.float32)
        logarithm = grid.prior + grid.same @ of_same + grid.different @ of_different
        weights = np.exp(logarithm - logarithm.max())
        self.posterior = weights / weights.sum()
        self.label_curve: Floats = (self.posterior @ grid.curves).astype(np.float64)
        self.f1: Floats = (self.posterior @ self._f1).astype(np.float64)

    @property
    def best(self) -> int:
        """The index of the threshold with the highest expected F1."""
        return int(self.f1.argmax())

    def spread(self, which: slice) -> dict[str, Floats]:
        """Compute the mean and the 2.5 % and 97.5 % quantiles of F1, precision and recall at some thresholds.

        float64 (3, thresholds). Quantiles are taken over the likeliest curves, which have all but `RARE` of the weight.
        """
        likely = np.argsort(-self.posterior)
        likely = likely[: 1 + int(np.searchsorted(np.cumsum(self.posterior[likely]), 1 - RARE))]
        right, same = self._right[likely, which], self._same[likely, None]
        above = np.maximum(self.above[which], 1e-9).astype(np.float32)
        ratios = {"f1": self._f1[likely, which], "precision": right / above, "recall": right / np.maximum(same, 1e-9)}
        return {name: _quantiles(values, self.posterior[likely]) for name, values in ratios.items()}


def _quantiles(values: NDArray[np.float32], weights: NDArray[np.float32]) -> Floats:
    """Compute the mean and the two quantiles of each column."""
    order = np.argsort(values, axis=0)
    mass = np.cumsum(weights[order], axis=0) / weights.sum()
    out = np.empty((3, values.shape[1]))
    out[0] = weights @ values / weights.sum()
    for row, share in ((1, 0.025), (2, 0.975)):
        place = np.minimum((mass < share).sum(axis=0), len(values) - 1)
        out[row] = np.take_along_axis(values, np.take_along_axis(order, place[None], 0), 0)[0]
    return out
