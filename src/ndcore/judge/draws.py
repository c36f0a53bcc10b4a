"""Draw pairs: first from every range of scores in turn, then where an answer reduces the uncertainty of F1 most.

Each draw chooses a bin of scores, then a pair of the bin by weight. A share `UNIFORM` of the probability is spread over all
pairs by weight, so each pair without an answer has a positive probability, which is logged with the draw.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from ndcore._types import Floats, Ints
from ndcore.judge.curves import BINS, MeasureFit

UNIFORM = 0.15
STRATIFIED = 10  # draws before answers guide them
STRATA = np.concatenate([[0], 1 + np.minimum(np.arange(BINS - 1) // 10, 7)])  # the stratum of each bin


class Draw(NamedTuple):
    """A drawn pair, by its number in the pool, and its probability among the pairs not drawn before."""

    pair: int
    probability: float


class Drawer:
    """A sampler of pairs of the pool, by the bins of one measure."""

    def __init__(self, fit: MeasureFit, weight: Floats) -> None:
        self.fit = fit
        self._order: Ints = np.argsort(fit.bins, kind="stable")
        self._begins = np.searchsorted(fit.bins[self._order], np.arange(BINS + 1))
        self._heap = np.concatenate([[0.0], np.cumsum(weight[self._order])])
        self._weight = weight

    def draw(self, drawn: Collection[int], rng: np.random.Generator, stratified: bool) -> Draw | None:
        """Draw a pair that was not drawn before; None if none is left."""
        before = np.fromiter(drawn, np.int64, len(drawn))
        if len(before) >= len(self._order):
            return None
        left: Floats = self.fit.in_bin - np.bincount(self.fit.bins[before], self._weight[before], BINS)
        counts = np.diff(self._begins) - np.bincount(self.fit.bins[before], minlength=BINS)
        left[counts == 0] = 0
        chances = self._strata(before, left) if stratified else self._least_certain(left)
        chances = (1 - UNIFORM) * chances + UNIFORM * left / left.sum()
        bin = int(rng.choice(BINS, p=chances / chances.sum()))
        pair = self._within(bin, drawn, rng)
        return Draw(pair, float(chances[bin] * self._weight[pair] / left[bin]))

    def _strata(self, before: Ints, left: Floats) -> Floats:
        """Return probabilities of bins that favour equally the strata with the fewest draws."""
        drawn = np.bincount(STRATA[self.fit.bins[before]], minlength=STRATA[-1] + 1)
        there = np.bincount(STRATA, left)
        fewest = (there > 0) & (drawn == drawn[there > 0].min())
        chances: Floats = np.where(fewest[STRATA], left / np.maximum(there[STRATA], 1e-300), 0)
        chances /= chances.sum()
        return chances

    def _least_certain(self, left: Floats) -> Floats:
        """Return probabilities of bins in proportion to the expected change of F1 at the chosen threshold by an answer.

        The instrumental distribution of Marchant and Rubinstein (2017, §4), with the label curve in place of the oracle.
        """
        fit, chosen = self.fit, self.fit.best
        above = np.arange(BINS) > chosen
        influence = np.abs(2 * above - fit.f1[chosen])
        chances: Floats = left * influence * np.sqrt(fit.label_curve * (1 - fit.label_curve))
        chances /= chances.sum()
        return chances

    def _within(self, bin: int, drawn: Collection[int], rng: np.random.Generator) -> int:
        """Draw a pair of a bin by weight, among the pairs not drawn before."""
        begin, end = self._begins[bin : bin + 2].tolist()
        low, high = self._heap[begin], self._heap[end]
        for _ in range(64):
            at = int(np.searchsorted(self._heap, low + rng.random() * (high - low), "right")) - 1
            pair = int(self._order[min(max(at, begin), end - 1)])
            if pair not in drawn:
                return pair
        rest = np.array([pair for pair in self._order[begin:end].tolist() if pair not in drawn])  # nearly all were drawn
        return int(rng.choice(rest, p=self._weight[rest] / self._weight[rest].sum()))
