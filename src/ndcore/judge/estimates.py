"""Estimates from answers: precision, recall and F1 by threshold, the best threshold, and which measures differ.

There are two estimates. One uses label curves (`curves`), with intervals widened by `INFLATION`; it chooses the threshold.
The other weights each answer by the inverse of the logged probability of its draw (Horvitz and Thompson 1952) and corrects
the curve by it (the difference estimator, Särndal, Swensson and Wretman 1992, §6.3). It is valid for any labels, even if
pairs share documents, since only the draws are random; but it is less precise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ndcore._types import Floats, Ints
from ndcore.judge.curves import THRESHOLDS, MeasureFit
from ndcore.judge.measures import Measure

INFLATION = (1.5, 1.15)  # of intervals by label curves, below and above the mean; from simulations, see DESIGN.md
ERRORS = 2.5  # standard errors on either side of a weighted estimate
NARROW = 0.1  # an interval of F1 wider than this is worth more answers
SHOWN = slice(None, None, 4)  # the thresholds of the drawn curves
LEAST = 10  # least number of answers for a recommendation


@dataclass(frozen=True)
class Estimate:
    """A value with a 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the interval."""
        return self.high - self.low

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Answers:
    """The pairs with an answer: their numbers, the shares of people who said "same", and the probabilities of the draws.

    `probabilities` is nan for labels from elsewhere.
    """

    pairs: Ints
    same: Floats
    probabilities: Floats

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class ThresholdCurves:
    """Precision, recall and F1 by threshold: float64 (3, thresholds), the mean and both ends of the interval."""

    thresholds: Floats
    precision: Floats
    recall: Floats
    f1: Floats


@dataclass(frozen=True)
class MeasureComparison:
    """A measure with its best threshold, and whether the answers distinguish it from the recommended measure."""

    measure: Measure
    threshold: float
    f1: Estimate
    differs: bool


@dataclass(frozen=True)
class Findings:
    """The findings from the answers.

    Attributes
    ----------
    answers, same : int
        The number of pairs with an answer, and of pairs that most people called "same".
    measure, threshold
        The recommended ones; if measures cannot be distinguished, the simplest.
    f1, precision, recall : Estimate
        Estimates at the threshold, by label curves. Recall is recall within the pool.
    weighted : Estimate
        F1, weighted by the probabilities of the draws.
    curves : Curves
        The curves of the recommended measure.
    measures : tuple of Comparison
        All measures, the best first.
    more : int
        About the number of further answers that would narrow the interval of F1 to 0.1; 0: it is that narrow already.
    ready : bool
        Whether there are enough answers for a recommendation.
    """

    answers: int
    same: int
    measure: Measure
    threshold: float
    f1: Estimate
    precision: Estimate
    recall: Estimate
    weighted: Estimate
    curves: ThresholdCurves
    measures: tuple[MeasureComparison, ...]
    more: int
    ready: bool

    @property
    def alike(self) -> tuple[MeasureComparison, ...]:
        """The measures that the answers do not distinguish from the recommended one."""
        return tuple(each for each in self.measures if not each.differs and each.measure != self.measure)

    def __str__(self) -> str:
        if not self.ready:
            return f"{self.answers} answers; a threshold is recommended from {LEAST} on"
        lines = [
            f"{self.answers} answers, {self.same} of them same: {self.measure}, threshold {self.threshold:.2f}",
            f"F1 {self.f1}, precision {self.precision}, recall within the pool {self.recall}; by weights of the draws F1 "
            f"{self.weighted}",
        ]
        if self.alike:
            lines.append(f"not told apart from {'; '.join(str(each.measure) for each in self.alike)}: the simpler is kept")
        lines.append(f"about {self.more} more answers would narrow F1 to ±{NARROW / 2:g}" if self.more else
                     "more answers would hardly change it")
        return "\n".join(lines)


def evaluate(measures: Sequence[Measure], fits: Sequence[MeasureFit], weight: Floats, answers: Answers) -> Findings:
    """Derive the findings; `fits` have been updated with the answers, and measures are sorted by simplicity."""
    bests = [expected_f1(fit) for fit in fits]
    best = max(range(len(fits)), key=lambda i: fits[i].f1[fits[i].best])
    differs = [i != best and _tell_apart(fits[best], fits[i], weight, answers) for i in range(len(fits))]
    chosen = next(i for i in range(len(fits)) if not differs[i])
    fit = fits[chosen]
    at = fit.best
    spread = {name: _widen(values) for name, values in fit.spread(SHOWN).items()}
    rows = [MeasureComparison(measure, float(THRESHOLDS[each.best]), f1, different)
            for measure, each, f1, different in zip(measures, fits, bests, differs, strict=True)]
    f1 = bests[chosen]
    at_threshold = {name: _estimate(_widen(values)[:, 0]) for name, values in fit.spread(slice(at, at + 1)).items()}
    n = len(answers)
    more = math.ceil(max(0.0, n * ((f1.width / NARROW) ** 2 - 1)))
    return Findings(
        n, int(np.count_nonzero(answers.same > 0.5)), measures[chosen], float(THRESHOLDS[at]), f1,
        at_threshold["precision"], at_threshold["recall"], weighted_f1(fit, at, weight, answers),
        ThresholdCurves(THRESHOLDS[SHOWN], spread["precision"], spread["recall"], spread["f1"]),
        tuple(sorted(rows, key=lambda row: -row.f1.value)), more, n >= LEAST,
    )


def expected_f1(fit: MeasureFit) -> Estimate:
    """Estimate F1 at the best threshold by label curves."""
    return _estimate(_widen(fit.spread(slice(fit.best, fit.best + 1))["f1"])[:, 0])


def _widen(spread: Floats) -> Floats:
    """Widen intervals around the mean, within 0 and 1: more below, since the threshold was chosen for its high estimate."""
    mean, low, high = spread
    below, above = INFLATION
    return np.stack([mean, np.clip(mean - below * (mean - low), 0, 1), np.clip(mean + above * (high - mean), 0, 1)])


def _estimate(column: Floats) -> Estimate:
    value, low, high = np.clip(column, 0, 1).tolist()
    return Estimate(value, low, high)


# ---- weighted by the draws


def weighted_f1(fit: MeasureFit, at: int, weight: Floats, answers: Answers) -> Estimate:
    """Estimate F1 at a threshold by the difference estimator.

    F1 = 2 TP / (P + S). P, the number of pairs at or above the threshold, is counted. TP and S, the numbers of pairs called
    "same" there and in all, are sums of the label curve over the pool plus the weighted differences of the answers from it.
    The variance is taken from the differences, or the expectation of the curve if this is larger.
    """
    moved, known, expected = _moves(fit, at, weight, answers)
    if not len(moved):
        return Estimate(float(fit.f1[at]), 0.0, 1.0)
    n, value = len(moved), float(fit.f1[at]) + float((known + moved).mean())
    variance = max(float(((moved - moved.mean()) ** 2).sum()) / max(1, n - 1), float(expected.mean())) / n
    half = ERRORS * math.sqrt(variance)
    return Estimate(*np.clip([value, value - half, value + half], 0, 1).tolist())


def _moves(fit: MeasureFit, at: int, weight: Floats, answers: Answers) -> tuple[Floats, Floats, Floats]:
    """Compute for each draw how far its answer moves F1 away from the curve.

    Returns the weighted move, the sum of the exact moves of all earlier answers, and the expected variance of the weighted
    move.
    """
    drawn = ~np.isnan(answers.probabilities)
    pairs, same, chance = answers.pairs[drawn], answers.same[drawn], answers.probabilities[drawn]
    bins, curve = fit.bins[pairs], fit.label_curve
    total = max(float(fit.above[at] + (fit.in_bin * curve).sum()), 1e-9)
    influence = (2 * (bins > at) - fit.f1[at]) * weight[pairs] / total
    exact = influence * (same - curve[bins])
    known = np.concatenate([[0.0], np.cumsum(exact)])[:-1]
    return exact / chance, known, (influence / chance) ** 2 * curve[bins] * (1 - curve[bins])


def _tell_apart(best: MeasureFit, other: MeasureFit, weight: Floats, answers: Answers) -> bool:
    """Tell whether the best measure has a significantly higher F1 on the same answers, each at its best threshold."""
    if len(answers) < LEAST:
        return False
    difference = float(best.f1[best.best] - other.f1[other.best])
    (one, _, expected), (two, _, expected_other) = (_moves(fit, fit.best, weight, answers) for fit in (best, other))
    if not len(one):
        return False
    apart = one - two
    variance = max(float((apart**2).mean()), float(np.maximum(expected, expected_other).mean()) / 2) / len(apart)
    return difference > ERRORS * math.sqrt(variance)


class Agreed(NamedTuple):
    """The agreement of two people on the shared pairs that both have answered, as Cohen's kappa."""

    first: str
    second: str
    pairs: int
    kappa: float


def kappa(a: Sequence[bool], b: Sequence[bool]) -> float:
    """Compute Cohen's kappa of two people's answers about the same pairs; nan if there are none, or all are the same.

    Cohen, "A coefficient of agreement for nominal scales", 1960. DOI 10.1177/001316446002000104.

    >>> kappa([True, True, False, False], [True, True, False, True])
    0.5
    """
    if not len(a):
        return math.nan
    x, y = np.asarray(a, np.bool_), np.asarray(b, np.bool_)
    agreed = float((x == y).mean())
    chance = float(x.mean() * y.mean() + (1 - x.mean()) * (1 - y.mean()))
    return (agreed - chance) / (1 - chance) if chance < 1 else math.nan
