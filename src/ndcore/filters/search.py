"""The cheapest filter for a threshold: which groups, group_size and need (Broder 2000, §4)."""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ndcore.checks import MAX_MINIMA, checked_int
from ndcore.filters.background import BACKGROUND, Unrelated
from ndcore.filters.design import FilterDesign, checked_setting, feature_bytes
from ndcore.filters.pass_probability import miss_of_design, pass_probability
from ndcore.filters.priors import Given, Prior
from ndcore.stats.binomial import upper_tail

__all__ = ["design_filter"]

COLLISION_COST = 1.0  # work of a pair that shares a feature: its signatures are compared
CANDIDATE_COST = 100.0  # work of a pair that shares enough of them: its texts are shingled again and compared
MAX_COLLISIONS_PER_DOCUMENT = 1000.0  # pairs to enumerate per document beyond which more permutations are cheaper
EQUAL_WORK = 1e-9  # designs whose works differ by less than this part of them count as equal
MISS = 1e-3  # allowed where nothing else is said


def design_filter(threshold: float, *, num_perm: int = 84, miss: float | None = None, documents: int = 10**6,
                  background: float = BACKGROUND, max_num_perm: int = 200, bytes_per_document: int | None = None,
                  false_candidates: tuple[float, float] | None = None, prior: Given | None = None) -> FilterDesign:
    """The cheapest filter within bounds of error and of storage, or the one of least error for a prior.

    Parameters
    ----------
    threshold : float in (0, 1]
        Resemblance from which pairs are wanted.
    num_perm : int
        Length of the signatures to start with.
    miss : float in (0, 1), optional
        The largest probability allowed that a pair exactly at the threshold is not proposed. None: 10^-3, and with a prior
        no bound.
    documents : int
        Size of the collection. It decides the bits of a feature (`FilterDesign.feature_bits`).
    background : float in (0, 1]
        Mean resemblance of unrelated documents.
    max_num_perm : int
        The largest length to raise num_perm to; where it is not above num_perm, or with a prior, num_perm stays as it is.
    bytes_per_document : int, optional
        Storage for the features of a document: so many of `feature_bits`, in whole bytes, are allowed.
    false_candidates : (float, float), optional
        A resemblance below the threshold, and the largest probability allowed that a pair exactly there is proposed.
    prior : array, or callable, optional
        Resemblances of a sample of pairs, for instance ``result.pairs.resemblance[result.verified]``; or their density on
        [0, 1], called with one float at a time and not necessarily normalised.

    Returns
    -------
    FilterDesign
        Of the designs with groups * group_size <= num_perm, any need, errors and storage within the bounds, and features
        shared with at most `MAX_COLLISIONS_PER_DOCUMENT` unrelated documents per document: the one of least work per
        unrelated pair, ``COLLISION_COST * collisions + CANDIDATE_COST * candidates``. Of designs of equal work (to
        1e-9) the one that uses fewer minima, then needs less, then has fewer groups. Where there is no such design,
        num_perm is raised to the smallest length that has one; where max_num_perm has none either, it is the design of
        least work whatever it shares, and num_perm is raised to the minima it uses.

        With a prior: of the designs of num_perm minima within the bounds, the one of least total error (Broder 2000, §4),
        the share of all pairs that pass below the threshold or do not pass at or above it; the same rule for equal errors.
        Where few pairs of the prior are above the threshold, the least error misses most of them: bound the miss as well.

    Raises
    ------
    TypeError, ValueError
        For parameters outside their ranges, and where no design is within the bounds; the message then names the bound
        that stands in the way, and what would do.

    Notes
    -----
    Model: the resemblance of two unrelated documents is exponential with mean `background`, conditioned on [0, 1]. It
    is a model, good for comparing designs; boilerplate and near-duplicates come on top. Under it collisions are
    E[1 - (1 - rho^s)^k] and candidates E[P_{k,s,r}(rho)], integrated by Gauss-Legendre quadrature to a relative error
    below 1e-10. Milliseconds at usual thresholds, more for low thresholds and long signatures; results are cached, save
    those for a prior, which take O(num_perm^2 · points of the prior).
    """
    threshold, background, documents = checked_setting(threshold, background, documents)
    num_perm = checked_int("num_perm", num_perm, 1, MAX_MINIMA)
    max_num_perm = checked_int("max_num_perm", max_num_perm, 1, MAX_MINIMA)
    if miss is not None and not 0.0 < miss < 1.0:
        raise ValueError(f"miss is {miss}; it must lie strictly between 0 and 1, for example 1e-3")
    budget = _features_within(bytes_per_document, documents)
    lower, passed = _checked_lower(false_candidates, threshold)
    if prior is None:
        bounds = Bounds(threshold, MISS if miss is None else float(miss), budget, lower, passed)
        return _designed(bounds, num_perm, max(num_perm, max_num_perm), documents, background)
    bounds = Bounds(threshold, 1.0 if miss is None else float(miss), budget, lower, passed)
    groups, group_size, need = _least_error(bounds, num_perm, Prior(prior, threshold))
    return FilterDesign.of(groups, group_size, need, threshold=threshold, num_perm=num_perm, documents=documents,
                           background=background)


# ---- bounds


class Bounds(NamedTuple):
    """What a design may do: miss at the threshold, store, and pass at a lower resemblance (nan: no such bound)."""

    threshold: float
    miss: float
    max_groups: int | None
    lower: float
    passed: float

    def shapes(self, limit: int) -> Iterator[tuple[int, list[int]]]:
        """Group sizes, and the numbers of groups of that size, of at most `limit` minima, that meet the miss with need=1."""
        for group_size in range(1, limit + 1):
            most = limit // group_size if self.max_groups is None else min(limit // group_size, self.max_groups)
            groups = [n for n in range(1, most + 1) if miss_of_design(self.threshold, n, group_size, 1) <= self.miss]
            if not groups:  # nor will larger groups
                return
            yield group_size, groups

    def largest_need(self, groups: int, group_size: int) -> int:
        """The largest need that meets the miss, where 1 does."""
        return bisect.bisect_right(range(2, groups + 1), self.miss,
                                   key=lambda need: miss_of_design(self.threshold, groups, group_size, need)) + 1

    def needs(self, groups: int, group_size: int) -> range:
        """Those within the bounds, where need=1 meets the miss; there may be none."""
        needs = range(1, self.largest_need(groups, group_size) + 1)
        if math.isnan(self.lower):
            return needs
        equal = self.lower**group_size
        return needs[bisect.bisect_left(needs, -self.passed, key=lambda need: -upper_tail(need, groups, equal)):]


def _features_within(bytes_per_document: int | None, documents: int) -> int | None:
    if bytes_per_document is None:
        return None
    size = feature_bytes(documents)
    held = checked_int("bytes_per_document", bytes_per_document, 1) // size
    if held == 0:
        raise ValueError(f"bytes_per_document is {bytes_per_document}; one feature of a collection of {documents:,} "
                         f"documents takes {size}")
    return held


def _checked_lower(false_candidates: tuple[float, float] | None, threshold: float) -> tuple[float, float]:
    if false_candidates is None:
        return math.nan, math.nan
    lower, passed = (float(value) for value in false_candidates)
    if not 0.0 <= lower < threshold:
        raise ValueError(f"false_candidates are bounded at a resemblance of {lower}; it must be at least 0 and below "
                         f"threshold={threshold:g}")
    if not 0.0 < passed < 1.0:
        raise ValueError(f"false_candidates allow a probability of {passed}; it must lie strictly between 0 and 1")
    return lower, passed


# ---- least work


class _Shape(NamedTuple):
    """Groups of a size that some need keeps within the bounds."""

    collisions: float
    groups: int
    group_size: int

    @property
    def used(self) -> int:
        return self.groups * self.group_size


class _Option(NamedTuple):
    """A design in the search."""

    work: float
    shape: _Shape
    need: int
    candidates: float


@functools.lru_cache(maxsize=256)
def _designed(bounds: Bounds, num_perm: int, limit: int, documents: int, background: float) -> FilterDesign:
    model = Unrelated(background, limit)
    shapes = _shapes(bounds, limit, model)
    if not shapes:
        raise ValueError(_hopeless(bounds, num_perm, limit))
    bearable = [shape for shape in shapes if shape.collisions * documents <= MAX_COLLISIONS_PER_DOCUMENT]
    if bearable:
        length = max(num_perm, min(shape.used for shape in bearable))
        shapes = [shape for shape in bearable if shape.used <= length]
    best = _least_work(shapes, bounds, model)
    groups, group_size = best.shape.groups, best.shape.group_size
    return FilterDesign(groups, group_size, best.need, max(num_perm, best.shape.used), bounds.threshold,
                        miss_of_design(bounds.threshold, groups, group_size, best.need), best.shape.collisions,
                        best.candidates, documents)


def _shapes(bounds: Bounds, limit: int, model: Unrelated) -> list[_Shape]:
    """Every shape of at most `limit` minima within the bounds."""
    shapes = []
    for group_size, groups in bounds.shapes(limit):
        if not math.isnan(bounds.lower):
            groups = [n for n in groups if bounds.needs(n, group_size)]
        if groups:
            collisions = model.collisions(group_size, np.array(groups)).tolist()
            shapes += [_Shape(c, n, group_size) for c, n in zip(collisions, groups, strict=True)]
    return shapes


def _least_work(shapes: list[_Shape], bounds: Bounds, model: Unrelated) -> _Option:
    """The best option. Collisions alone are a bound of the work, so that few shapes are looked at closely."""
    least = math.inf
    options: list[_Option] = []
    for shape in sorted(shapes):
        if shape.collisions * COLLISION_COST > least * (1.0 + EQUAL_WORK):
            break
        fresh = _options(shape, bounds, model)
        options += fresh
        least = min(least, *(option.work for option in fresh))
    equal = [option for option in options if option.work <= least * (1.0 + EQUAL_WORK)]
    return min(equal, key=lambda option: (option.shape.used, option.need, option.shape.groups))


def _options(shape: _Shape, bounds: Bounds, model: Unrelated) -> list[_Option]:
    """One option for every need within the bounds."""
    needs = bounds.needs(shape.groups, shape.group_size)
    candidates = model.candidates(shape.groups, shape.group_size, needs[-1])
    return [_Option(COLLISION_COST * shape.collisions + CANDIDATE_COST * candidates[need - 1], shape, need,
                    candidates[need - 1]) for need in needs]


# ---- least error


def _least_error(bounds: Bounds, num_perm: int, prior: Prior) -> tuple[int, int, int]:
    """(groups, group_size, need) of the design that errs least for the prior."""
    totals = {}
    for group_size, numbers in bounds.shapes(num_perm):
        for groups in numbers:
            errors = prior.errors(groups, group_size)
            for need in bounds.needs(groups, group_size):
                totals[groups, group_size, need] = errors[need - 1].total
    if not totals:
        raise ValueError(_hopeless(bounds, num_perm, num_perm))
    least = min(totals.values())
    equal = [shape for shape, total in totals.items() if total <= least * (1.0 + EQUAL_WORK)]
    return min(equal, key=lambda shape: (shape[0] * shape[1], shape[2], shape[0]))


# ---- refusals


def _hopeless(bounds: Bounds, num_perm: int, limit: int) -> str:
    """Which bound no design keeps, and what would do."""
    threshold, miss = bounds.threshold, bounds.miss
    upto = f"num_perm={num_perm}" if limit == num_perm else f"num_perm={num_perm}, raised to at most {limit},"
    if miss_of_design(threshold, limit, 1, 1) > miss:
        return (f"{upto} cannot find pairs at threshold={threshold:g} with miss={miss:g}, not even with need=1 and "
                f"group_size=1; give num_perm of at least {_least_groups(threshold, miss)}, or a higher threshold or miss")
    most = limit if bounds.max_groups is None else min(limit, bounds.max_groups)
    if miss_of_design(threshold, most, 1, 1) > miss:
        return (f"bytes_per_document has room for {most} features, which cannot find pairs at threshold={threshold:g} with "
                f"miss={miss:g}, not even with need=1 and group_size=1; make room for {_least_groups(threshold, miss)}, or "
                "give a higher threshold or miss")
    reached = ((n, size, bounds.largest_need(n, size)) for size, numbers in bounds.shapes(limit) for n in numbers)
    least, groups, size, need = min((pass_probability(bounds.lower, *shape), *shape) for shape in reached)
    return (f"no design of at most {most} features and {limit} minima that misses at most {miss:g} at "
            f"threshold={threshold:g} passes as little as {bounds.passed:g} at {bounds.lower:g}; groups={groups}, "
            f"group_size={size}, need={need} passes {least:.2g}. Allow that, a larger miss, a lower resemblance, or more "
            "permutations or bytes")


def _least_groups(threshold: float, miss: float) -> str:
    """One equal minimum is the least any design asks for: n groups of one miss (1 - threshold)^n."""
    needed = math.log(miss) / math.log1p(-threshold)
    if needed >= 1e9:
        return f"{needed:.2g}"
    groups = math.ceil(needed)
    while miss_of_design(threshold, groups, 1, 1) > miss:
        groups += 1
    return str(groups)
