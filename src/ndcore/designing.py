"""The cheapest filter for a threshold: which groups, group_size and need (Broder 2000, §4)."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from ndcore.filtering import FilterDesign, checked_positive, checked_setting, miss_of_design
from ndcore.unrelated import BACKGROUND, Unrelated

__all__ = ["design_filter"]

COLLISION_COST = 1.0  # work of a pair that shares a feature: its signatures are compared
CANDIDATE_COST = 100.0  # work of a pair that shares enough of them: its texts are shingled again and compared
MAX_COLLISIONS_PER_DOCUMENT = 1000.0  # pairs to enumerate per document beyond which more permutations are cheaper
EQUAL_WORK = 1e-9  # designs whose works differ by less than this part of them count as equal


def design_filter(threshold: float, *, num_perm: int = 84, miss: float = 1e-3, documents: int = 10**6,
                  background: float = BACKGROUND, max_num_perm: int = 200) -> FilterDesign:
    """The cheapest filter that misses few pairs at the threshold.

    Parameters
    ----------
    threshold : float in (0, 1]
        Resemblance from which pairs are wanted.
    num_perm : int
        Length of the signatures to start with.
    miss : float in (0, 1)
        The largest probability allowed that a pair exactly at the threshold is not proposed.
    documents : int
        Size of the collection.
    background : float in (0, 1]
        Mean resemblance of unrelated documents.
    max_num_perm : int
        The largest length to raise num_perm to; where it is not above num_perm, num_perm stays as it is.

    Returns
    -------
    FilterDesign
        Of the designs with groups * group_size <= num_perm, any need, a miss as small as asked for, and features
        shared with at most `MAX_COLLISIONS_PER_DOCUMENT` unrelated documents per document: the one of least work per
        unrelated pair, ``COLLISION_COST * collisions + CANDIDATE_COST * candidates``. Of designs of equal work (to
        1e-9) the one that uses fewer minima, then needs less, then has fewer groups. Where there is no such design,
        num_perm is raised to the smallest length that has one; where max_num_perm has none either, it is the design of
        least work whatever it shares, and num_perm is raised to the minima it uses.

    Raises
    ------
    TypeError, ValueError
        For parameters outside their ranges, and where no design up to max_num_perm meets `miss`; the message then
        names the least num_perm that does.

    Notes
    -----
    Model: the resemblance of two unrelated documents is exponential with mean `background`, conditioned on [0, 1]. It
    is a model, good for comparing designs; boilerplate and near-duplicates come on top. Under it collisions are
    E[1 - (1 - rho^s)^k] and candidates E[P_{k,s,r}(rho)], integrated by Gauss-Legendre quadrature to a relative error
    below 1e-10. Milliseconds at usual thresholds, more for low thresholds and long signatures; results are cached.
    """
    threshold, background, documents = checked_setting(threshold, background, documents)
    num_perm = checked_positive("num_perm", num_perm)
    max_num_perm = checked_positive("max_num_perm", max_num_perm)
    if not 0.0 < miss < 1.0:
        raise ValueError(f"miss is {miss}; it must lie strictly between 0 and 1, for example 1e-3")
    return _designed(threshold, num_perm, max(num_perm, max_num_perm), float(miss), documents, background)


class _Shape(NamedTuple):
    """Groups of a size that can meet the miss, at least with need=1."""

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
def _designed(threshold: float, num_perm: int, limit: int, miss: float, documents: int, background: float
              ) -> FilterDesign:
    model = Unrelated(background, limit)
    shapes = _shapes(threshold, miss, limit, model)
    if not shapes:
        raise ValueError(_hopeless(threshold, miss, num_perm, limit))
    bearable = [shape for shape in shapes if shape.collisions * documents <= MAX_COLLISIONS_PER_DOCUMENT]
    if bearable:
        length = max(num_perm, min(shape.used for shape in bearable))
        shapes = [shape for shape in bearable if shape.used <= length]
    best = _least_work(shapes, threshold, miss, model)
    groups, group_size = best.shape.groups, best.shape.group_size
    return FilterDesign(groups, group_size, best.need, max(num_perm, best.shape.used), threshold,
                        miss_of_design(threshold, groups, group_size, best.need), best.shape.collisions, best.candidates,
                        documents)


def _shapes(threshold: float, miss: float, limit: int, model: Unrelated) -> list[_Shape]:
    """Every shape of at most `limit` minima that meets the miss with need=1."""
    shapes = []
    for group_size in range(1, limit + 1):
        groups = [n for n in range(1, limit // group_size + 1) if miss_of_design(threshold, n, group_size, 1) <= miss]
        if not groups:  # nor will larger groups
            break
        collisions = model.collisions(group_size, np.array(groups)).tolist()
        shapes += [_Shape(c, n, group_size) for c, n in zip(collisions, groups, strict=True)]
    return shapes


def _least_work(shapes: list[_Shape], threshold: float, miss: float, model: Unrelated) -> _Option:
    """The best option. Collisions alone are a bound of the work, so that few shapes are looked at closely."""
    least = math.inf
    options: list[_Option] = []
    for shape in sorted(shapes):
        if shape.collisions * COLLISION_COST > least * (1.0 + EQUAL_WORK):
            break
        fresh = _options(shape, threshold, miss, model)
        options += fresh
        least = min(least, *(option.work for option in fresh))
    equal = [option for option in options if option.work <= least * (1.0 + EQUAL_WORK)]
    return min(equal, key=lambda option: (option.shape.used, option.need, option.shape.groups))


def _options(shape: _Shape, threshold: float, miss: float, model: Unrelated) -> list[_Option]:
    """One option for every need that meets the miss."""
    most = 1
    while most < shape.groups and miss_of_design(threshold, shape.groups, shape.group_size, most + 1) <= miss:
        most += 1
    return [_Option(COLLISION_COST * shape.collisions + CANDIDATE_COST * candidates, shape, need, candidates)
            for need, candidates in enumerate(model.candidates(shape.groups, shape.group_size, most), 1)]


def _hopeless(threshold: float, miss: float, num_perm: int, limit: int) -> str:
    """One equal minimum is the least any design asks for: it misses (1 - threshold)^num_perm."""
    needed = math.log(miss) / math.log1p(-threshold)
    least = f"{needed:.2g}"
    if needed < 1e9:
        length = math.ceil(needed)
        while miss_of_design(threshold, length, 1, 1) > miss:
            length += 1
        least = str(length)
    upto = f"num_perm={num_perm}" if limit == num_perm else f"num_perm={num_perm}, raised to at most {limit},"
    return (f"{upto} cannot find pairs at threshold={threshold:g} with miss={miss:g}, not even with need=1 and "
            f"group_size=1; give num_perm of at least {least}, or a higher threshold or miss")
