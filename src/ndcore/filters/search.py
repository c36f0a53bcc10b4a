"""The cheapest filter for a threshold: groups, group_size and need.

The naive search computes the cost of every design of at most num_perm minima that is within the bounds, and takes the
cheapest. The cost is expected work, or error for a prior. Three properties shorten the search:

- A larger group_size misses more: the search ends at the first group_size that no number of groups keeps within the miss.
- A larger need misses more, and passes less at a lower resemblance: bisection finds both ends of the range of needs.
- Collisions do not depend on the need, and work is never below COLLISION_COST · collisions: shapes (groups, group_size) are
  visited in ascending order of collisions until this bound exceeds the least work found.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ndcore.checks import MAX_MINIMA, checked_int, checked_probability
from ndcore.filters.background import BACKGROUND, Unrelated
from ndcore.filters.design import FilterDesign, checked_setting, feature_bytes
from ndcore.filters.pass_probability import miss_of_design, pass_probability
from ndcore.filters.priors import Given, Prior
from ndcore.stats.binomial import upper_tail

COLLISION_COST = 1.0  # work for a pair that shares a feature: its signatures are compared
CANDIDATE_COST = 100.0  # work for a candidate: its texts are shingled again and compared
MAX_COLLISIONS_PER_DOCUMENT = 1000.0  # pairs to enumerate per document beyond which more permutations are cheaper
TIE = 1e-9  # relative difference of costs up to which designs are equally cheap
MISS = 1e-3  # default bound of the miss


def design_filter(threshold: float, *, num_perm: int = 84, miss: float | None = None, documents: int = 10**6,
                  background: float = BACKGROUND, max_num_perm: int = 200, bytes_per_document: int | None = None,
                  false_candidates: tuple[float, float] | None = None, prior: Given | None = None) -> FilterDesign:
    """Find the cheapest filter within bounds of error and storage, or the filter of least error for a prior.

    Parameters
    ----------
    threshold : float in (0, 1]
        Resemblance (Jaccard similarity) from which pairs should pass.
    num_perm : int
        Length of the signatures to start with.
    miss : float in (0, 1), optional
        Bound of the probability that a pair exactly at the threshold does not pass. None: 10^-3; with a prior, no bound.
    documents : int
        Size of the collection, which determines the bits of a feature (`FilterDesign.feature_bits`).
    background : float in (0, 1]
        Mean resemblance of unrelated documents.
    max_num_perm : int
        Bound for raising num_perm. If it is not above num_perm, and with a prior, num_perm stays as it is.
    bytes_per_document : int, optional
        Storage for the features of a document, each `feature_bits` long in whole bytes.
    false_candidates : (float, float), optional
        A resemblance below the threshold, and a bound of the probability that a pair exactly there passes.
    prior : array, or callable, optional
        Resemblances of a sample of pairs, for instance ``result.pairs.resemblance[result.verified]``; or their density on
        [0, 1], called with one float at a time and not necessarily normalised.

    Returns
    -------
    FilterDesign
        The design of least work per unrelated pair, ``COLLISION_COST * collisions + CANDIDATE_COST * candidates``, among
        all with groups * group_size <= num_perm, errors and storage within the bounds, and features shared with at most
        `MAX_COLLISIONS_PER_DOCUMENT` unrelated documents per document. Ties (to 1e-9) go to fewer minima, then to less
        need, then to fewer groups. If there is no such design, num_perm is raised to the smallest length that has one. If
        max_num_perm has none, collisions are not bounded, and num_perm is raised to the minima that the design uses.

        With a prior: among the designs of num_perm minima within the bounds, the one of least total error, the share of all
        pairs that pass below the threshold or do not pass at or above it; ties as above. If few pairs of the prior are
        above the threshold, the least error misses most of them: bound the miss as well.

    Raises
    ------
    TypeError, ValueError
        A parameter is outside its range, or no design is within the bounds; the message then names the bound and the value
        that would do.

    Notes
    -----
    Model: the resemblance of two unrelated documents is exponential with mean `background`, conditioned on [0, 1]. It serves
    to compare designs; boilerplate and near-duplicates add pairs. Under it collisions are E[1 - (1 - rho^s)^k] and
    candidates E[P_{k,s,r}(rho)], integrated by Gauss-Legendre quadrature to a relative error below 1e-10. Takes
    milliseconds at usual thresholds, more for low thresholds and long signatures; results are cached. With a prior:
    O(num_perm^2 · points of the prior), not cached.

    References
    ----------
    Broder, "Identifying and filtering near-duplicate documents", 2000, §4. DOI 10.1007/3-540-45123-4_1.
    """
    threshold, background, documents = checked_setting(threshold, background, documents)
    num_perm = checked_int("num_perm", num_perm, 1, MAX_MINIMA)
    max_num_perm = checked_int("max_num_perm", max_num_perm, 1, MAX_MINIMA)
    miss = None if miss is None else checked_probability("miss", miss, "1e-3")
    budget = _features_within(bytes_per_document, documents)
    lower, passed = _check_lower(false_candidates, threshold)
    if prior is None:
        bounds = Bounds(threshold, MISS if miss is None else miss, budget, lower, passed)
        return _make_design(bounds, num_perm, max(num_perm, max_num_perm), documents, background)
    bounds = Bounds(threshold, 1.0 if miss is None else miss, budget, lower, passed)
    best = _least_error(bounds, num_perm, Prior(prior, threshold))
    return FilterDesign.of(best.groups, best.group_size, best.need, threshold=threshold, num_perm=num_perm,
                           documents=documents, background=background)


# ---- bounds


class Bounds(NamedTuple):
    """Bounds of a design: its miss at the threshold, its features, and the pass rate at a lower resemblance (nan: none)."""

    threshold: float
    miss: float
    max_groups: int | None
    lower: float
    passed: float

    def shapes(self, limit: int) -> Iterator[tuple[int, list[int]]]:
        """Yield (group_size, numbers of groups) of at most `limit` minima that keep the miss with need=1."""
        for group_size in range(1, limit + 1):
            most = limit // group_size if self.max_groups is None else min(limit // group_size, self.max_groups)
            groups = [n for n in range(1, most + 1) if miss_of_design(self.threshold, n, group_size, 1) <= self.miss]
            if not groups:  # larger groups miss more
                return
            yield group_size, groups

    def largest_need(self, groups: int, group_size: int) -> int:
        """Find the largest need that keeps the miss, if need=1 does."""
        return bisect.bisect_right(range(2, groups + 1), self.miss,
                                   key=lambda need: miss_of_design(self.threshold, groups, group_size, need)) + 1

    def needs(self, groups: int, group_size: int) -> range:
        """Find the needs within all bounds, possibly none, if need=1 keeps the miss."""
        needs = range(1, self.largest_need(groups, group_size) + 1)
        if math.isnan(self.lower):
            return needs
        equal = self.lower**group_size
        return needs[bisect.bisect_left(needs, -self.passed, key=lambda need: -upper_tail(need, groups, equal)):]


def _features_within(bytes_per_document: int | None, documents: int) -> int | None:
    """Return the number of features that fit. Raises ValueError if none does."""
    if bytes_per_document is None:
        return None
    size = feature_bytes(documents)
    features = checked_int("bytes_per_document", bytes_per_document, 1) // size
    if features == 0:
        raise ValueError(f"bytes_per_document is {bytes_per_document}; one feature of a collection of {documents:,} "
                         f"documents takes {size}")
    return features


def _check_lower(false_candidates: tuple[float, float] | None, threshold: float) -> tuple[float, float]:
    """Return the bound as (resemblance, probability), nan for None; ValueError outside their ranges."""
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
    """A number of groups of one size, with which some need is within the bounds."""

    collisions: float
    groups: int
    group_size: int

    @property
    def used(self) -> int:
        return self.groups * self.group_size


class _Option(NamedTuple):
    """A design in the search. Its cost is work, or error."""

    cost: float
    groups: int
    group_size: int
    need: int
    collisions: float = math.nan
    candidates: float = math.nan

    @property
    def used(self) -> int:
        return self.groups * self.group_size


def _cheapest(options: list[_Option]) -> _Option:
    """Return the option of least cost; of ties, the one with fewer minima, then less need, then fewer groups."""
    least_cost = min(option.cost for option in options)
    ties = [option for option in options if option.cost <= least_cost * (1.0 + TIE)]
    return min(ties, key=lambda option: (option.used, option.need, option.groups))


@functools.lru_cache(maxsize=256)
def _make_design(bounds: Bounds, num_perm: int, limit: int, documents: int, background: float) -> FilterDesign:
    """Find the design of least work, raising num_perm to at most `limit`."""
    model = Unrelated(background, limit)
    shapes = _shapes(bounds, limit, model)
    if not shapes:
        raise ValueError(_refusal(bounds, num_perm, limit))
    affordable = [shape for shape in shapes if shape.collisions * documents <= MAX_COLLISIONS_PER_DOCUMENT]
    if affordable:
        length = max(num_perm, min(shape.used for shape in affordable))
        shapes = [shape for shape in affordable if shape.used <= length]
    best = _least_work(shapes, bounds, model)
    miss = miss_of_design(bounds.threshold, best.groups, best.group_size, best.need)
    return FilterDesign(best.groups, best.group_size, best.need, max(num_perm, best.used), bounds.threshold, miss,
                        best.collisions, best.candidates, documents)


def _shapes(bounds: Bounds, limit: int, model: Unrelated) -> list[_Shape]:
    """List the shapes of at most `limit` minima within the bounds."""
    shapes = []
    for group_size, groups in bounds.shapes(limit):
        if not math.isnan(bounds.lower):
            groups = [n for n in groups if bounds.needs(n, group_size)]
        if groups:
            collisions = model.collisions(group_size, np.array(groups)).tolist()
            shapes += [_Shape(c, n, group_size) for c, n in zip(collisions, groups, strict=True)]
    return shapes


def _least_work(shapes: list[_Shape], bounds: Bounds, model: Unrelated) -> _Option:
    """Find the cheapest option; shapes are visited until their collisions alone cost more."""
    least_work = math.inf
    options: list[_Option] = []
    for shape in sorted(shapes):
        if shape.collisions * COLLISION_COST > least_work * (1.0 + TIE):
            break
        added = _options(shape, bounds, model)
        options += added
        least_work = min(least_work, *(option.cost for option in added))
    return _cheapest(options)


def _options(shape: _Shape, bounds: Bounds, model: Unrelated) -> list[_Option]:
    """List the options of a shape, one for every need within the bounds."""
    collisions, groups, group_size = shape
    needs = bounds.needs(groups, group_size)
    candidates = model.candidates(groups, group_size, needs[-1])
    return [_Option(COLLISION_COST * collisions + CANDIDATE_COST * candidates[need - 1], groups, group_size, need,
                    collisions, candidates[need - 1]) for need in needs]


# ---- least error


def _least_error(bounds: Bounds, num_perm: int, prior: Prior) -> _Option:
    """Find the design of least error for the prior."""
    options = []
    for group_size, numbers in bounds.shapes(num_perm):
        for groups in numbers:
            errors, needs = prior.errors(groups, group_size), bounds.needs(groups, group_size)
            options += [_Option(errors[need - 1].total, groups, group_size, need) for need in needs]
    if not options:
        raise ValueError(_refusal(bounds, num_perm, num_perm))
    return _cheapest(options)


# ---- refusals


def _refusal(bounds: Bounds, num_perm: int, limit: int) -> str:
    """Say which bound no design keeps, and which value would do."""
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
    passed, groups, size, need = min((pass_probability(bounds.lower, *shape), *shape) for shape in reached)
    return (f"no design of at most {most} features and {limit} minima that misses at most {miss:g} at "
            f"threshold={threshold:g} passes as little as {bounds.passed:g} at {bounds.lower:g}; groups={groups}, "
            f"group_size={size}, need={need} passes {passed:.2g}. Allow that, a larger miss, a lower resemblance, or more "
            "permutations or bytes")


def _least_groups(threshold: float, miss: float) -> str:
    """Say how many groups of one minimum keep the miss, (1 - threshold)^groups: no design misses less."""
    needed = math.log(miss) / math.log1p(-threshold)
    if needed >= 1e9:
        return f"{needed:.2g}"
    groups = math.ceil(needed)
    while miss_of_design(threshold, groups, 1, 1) > miss:
        groups += 1
    return str(groups)
