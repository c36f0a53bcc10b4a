"""Comparisons of pairs of documents by their sketches: counts, estimates and confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Bools, Floats, Ints
from ndcore.human import counted
from ndcore.notebook import ROWS, NotebookTable, show_result
from ndcore.readonly import Frozen
from ndcore.stats.binomial import checked_interval, interval
from ndcore.stats.hypergeometric import estimated_intervals, finite_intervals

Positions: TypeAlias = int | Sequence[int] | NDArray[np.integer[Any]]
Method = Literal["midp", "exact"]
Quantity = Literal["resemblance", "containment"]


@dataclass(frozen=True, eq=False)
class Comparison(Frozen):
    """Pairs (a, b) of documents compared by their sketches: the result of `Sketches.compare`.

    All arrays have the shape of the positions compared.

    Attributes
    ----------
    common, total, in_a : ndarray of int64
        |T∩A∩B|, |T| and |T∩A|, where T is the sample of A ∪ B that the sketches hold (Broder 1997, Theorem 1). Signatures:
        equal minima, num_perm, 0.
    size_a, size_b : ndarray of float64
        Numbers of distinct shingles, as in `Sketches.sizes`.
    known_a, known_b : ndarray of bool
        Whether the sizes are exact.
    whole : ndarray of bool
        The sketches hold both whole sets: the counts are exact.
    valid : ndarray of bool
        Both documents have shingles.
    signatures : bool
    chance : float
        Probability that fields of different minima agree: 2^-b for b-bit signatures, else 0.
    """

    common: Ints
    total: Ints
    in_a: Ints
    size_a: Floats
    size_b: Floats
    known_a: Bools
    known_b: Bools
    whole: Bools
    valid: Bools
    signatures: bool
    chance: float = 0.0

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the estimates of the first pairs, with intervals of 95 %."""
        arrays = {each.name: getattr(self, each.name).ravel()[:ROWS] for each in fields(self)
                  if each.name not in ("signatures", "chance")}
        first = replace(self, **arrays)
        places = [", ".join(map(str, place)) for place in islice(np.ndindex(self.common.shape), ROWS)]
        columns = places, *(each.tolist() for each in (first.resemblance, *first.interval(), first.containment))
        table = NotebookTable("", ("position", "resemblance", "from", "to", "containment"), zip(*columns, strict=True),
                              self.common.size)
        return show_result(f"Comparison: {counted(self.common.size, 'pair')}, shape {self.common.shape}", table)

    @property
    def resemblance(self) -> Floats:
        """Estimated resemblances (Jaccard similarities); nan where a document has no shingles, or both samples are empty."""
        return self._without_chance(_ratio(self.common, np.where(self.valid, self.total, 0)))

    @property
    def containment(self) -> Floats:
        """Estimated containments of a in b: |T∩A∩B| / |T∩A|; nan where a document has no shingles or a's sample is empty.

        Signatures: from the resemblance r and the sizes, min(1, r·(|A| + |B|) / ((1 + r)·|A|)).
        """
        if self.signatures:
            return np.minimum(1.0, self._share(self.resemblance))
        return _ratio(self.common, np.where(self.valid, self.in_a, 0))

    def interval(
        self, confidence: float = 0.95, method: Method = "midp", quantity: Quantity = "resemblance"
    ) -> tuple[Floats, Floats]:
        """Compute confidence intervals of the estimates.

        Parameters
        ----------
        confidence : float
            Strictly between 0 and 1.
        method : "midp" or "exact"
            "exact" covers the true value with probability `confidence` at least (Clopper and Pearson 1934), usually more.
            "midp" counts half of the observed outcome (Lancaster 1961): it covers with probability `confidence` on average,
            and is shorter.
        quantity : "resemblance" or "containment" (of a in b)

        Returns
        -------
        low, high : ndarray of float64
            nan where a document has no shingles, 0 and 1 where the samples are empty, equal where both sets are whole.

        Raises
        ------
        ValueError
            Another confidence, method or quantity.

        Notes
        -----
        Minima agree independently: binomial. A sample of a set takes no element twice: hypergeometric, among |A| + |B| − K
        elements (or |A|), K of them common. "exact" uses only exact sizes, and is binomial, which is wider, where a size is
        estimated. "midp" averages over the sizes that an estimate leaves possible.

        The containment of signatures is computed from the resemblance and the sizes. The errors of estimated sizes, which
        come from the same minima, widen the interval (Zou and Donner 2008, MOVER) with both methods, so that "exact" keeps
        its promise for exact sizes only. DESIGN.md §6 has the formulas.

        References
        ----------
        Clopper, Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the binomial,
        DOI 10.1093/biomet/26.4.404. Lancaster (1961), Significance tests in discrete distributions,
        DOI 10.1080/01621459.1961.10482105. Zou, Donner (2008), Construction of confidence limits about effect measures,
        DOI 10.1002/sim.3095.
        """
        checked_interval(confidence, method)
        if quantity not in ("resemblance", "containment"):
            raise ValueError(f'quantity is {quantity!r}; accepted are "resemblance" and "containment"')
        if self.signatures:
            low, high = map(self._without_chance, _compute_binomial(self.common, self.total, confidence, method))
            if quantity == "containment":
                low, high = self._contained_between(low, high, confidence)
        else:
            low, high = self._of_samples(confidence, method, quantity == "resemblance")
        return np.where(self.valid, low, np.nan), np.where(self.valid, high, np.nan)

    def _without_chance(self, shares: Floats) -> Floats:
        """Estimate resemblances from shares of fields that agree (Li and König 2010, b-Bit minwise hashing, §3)."""
        return shares if self.chance == 0.0 else np.maximum(0.0, (shares - self.chance) / (1.0 - self.chance))

    def _of_samples(self, confidence: float, method: Method, of_union: bool) -> tuple[Floats, Floats]:
        common, trials = self.common.ravel(), (self.total if of_union else self.in_a).ravel()
        size_a, size_b = self.size_a.ravel(), self.size_b.ravel()
        known_a, known_b = self.known_a.ravel(), self.known_b.ravel()
        low, high = np.empty(len(trials)), np.empty(len(trials))
        sure = self.whole.ravel() & (trials > 0)
        low[sure] = high[sure] = common[sure] / trials[sure]
        both = known_a & known_b
        known, whole = (both, size_a + size_b) if of_union else (known_a, size_a)
        finite = ~sure & (trials > 0) & known
        low[finite], high[finite] = finite_intervals(
            common[finite], trials[finite], whole[finite], np.where(both, np.minimum(size_a, size_b), np.inf)[finite],
            of_union=of_union, confidence=confidence, share=0.5 if method == "midp" else 1.0,
        )
        guessed = ~sure & (trials > 0) & ~known & (method == "midp")
        error_a, error_b = (_find_size_error(*size, self.total.ravel()) for size in ((size_a, known_a), (size_b, known_b)))
        shared = common / np.maximum(1, self.total.ravel())  # the correlation of both errors
        error = np.sqrt(error_a**2 + error_b**2 + 2.0 * error_a * error_b * shared) if of_union else error_a
        low[guessed], high[guessed] = estimated_intervals(
            common[guessed], trials[guessed], whole[guessed], error[guessed], of_union=of_union, confidence=confidence)
        rest = ~sure & ~finite & ~guessed
        low[rest], high[rest] = _compute_binomial(common[rest], trials[rest], confidence, method)
        return low.reshape(self.common.shape), high.reshape(self.common.shape)

    def _share(self, resemblance: Floats) -> Floats:
        """Compute |A∩B| / |A| from the resemblance and the sizes; above 1 where no sets have these."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return resemblance * (self.size_a + self.size_b) / ((1.0 + resemblance) * self.size_a)

    def _contained_between(self, low: Floats, high: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Compute the interval of the containment, from the interval of the resemblance and the errors of the sizes."""
        middle, lower, upper = self._share(self.resemblance), self._share(low), self._share(high)
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = self.size_b / (self.size_a + self.size_b)
            sizes, together = _estimate_ratio_error((self.resemblance + low) / 2.0, weight, self.known_a, self.known_b)
            error = NormalDist().inv_cdf((1.0 + confidence) / 2.0) * weight * sizes / np.sqrt(np.maximum(1, self.total - 2))
            down, up = middle * -np.expm1(-error), middle * np.expm1(error)
            lower = middle - _combine(middle - lower, down, together)
            upper = middle + _combine(upper - middle, up, together)
        return np.clip(lower, 0.0, 1.0), np.minimum(1.0, upper)


def _estimate_ratio_error(r: Floats, weight: Floats, known_a: Bools, known_b: Bools) -> tuple[Floats, Floats]:
    """Compute √k times the standard error of log(|B| / |A|) from k minima, and its correlation with the resemblance.

    The sums of the exponential minima of A and B have relative variance 1/k and correlation r. The sum of A has covariance
    r·(|A| / |A∪B| − 1) / k with the resemblance (Marshall and Olkin 1967), where |A| / |A∪B| = (1 + r)·(1 − weight). r is
    taken between the estimate and the low end of its interval: where nearly all minima agree, few tell how much the sizes
    differ.
    """
    by_a, by_b = np.where(known_a, 0.0, 1.0), np.where(known_b, 0.0, 1.0)
    variance = by_a + by_b - 2.0 * by_a * by_b * r
    covariance = r * (by_a * ((1.0 + r) * (1.0 - weight) - 1.0) - by_b * ((1.0 + r) * weight - 1.0))
    correlation = covariance / np.sqrt(variance * r * (1.0 - r))
    return np.sqrt(variance), np.where(np.isfinite(correlation), np.clip(correlation, -1.0, 1.0), 0.0)


def _combine(first: Floats, second: Floats, correlation: Floats) -> Floats:
    """Compute the deviation of a sum from the deviations of its terms."""
    return np.sqrt(np.maximum(0.0, first**2 + second**2 + 2.0 * correlation * first * second))


def _find_size_error(size: Floats, known: Bools, total: Ints) -> Floats:
    """Compute one standard error, at least one element, of a size estimated from `total` members; 0 where it is known."""
    unseen = np.maximum(1.0, size - total + 1.0)
    return np.where(known, 0.0, np.maximum(1.0, np.sqrt(size * unseen / np.maximum(1, total - 2))))


def _ratio(numerator: Ints, denominator: Ints) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominator > 0, np.float64(numerator) / np.float64(denominator), np.nan)


def _compute_binomial(successes: Ints, trials: Ints, confidence: float, method: Method) -> tuple[Floats, Floats]:
    """Compute the binomial interval of each different outcome once."""
    outcomes, which = np.unique(np.stack([successes.ravel(), trials.ravel()], axis=1), axis=0, return_inverse=True)
    ends = np.array([interval(x, n, confidence, method) for x, n in outcomes.tolist()]).reshape(-1, 2)
    intervals: Any = ends[which.ravel()].reshape(*successes.shape, 2)
    return intervals[..., 0], intervals[..., 1]


def positions_among(which: Positions | None, n: int) -> Ints:
    """Return positions among n sketches, counted from 0; None: all. TypeError, or IndexError that names a document."""
    if which is None:
        return np.arange(n)
    given = np.asarray(which)
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"positions of documents are integers, got {given.dtype}")
    wrong = (given < -n) | (given >= n)
    if wrong.any():
        raise IndexError(f"document {given[wrong].flat[0]} of {n} sketches")
    return np.asarray(np.where(given < 0, given + n, given), np.int64)
