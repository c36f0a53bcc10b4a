"""Filtering near-duplicates by shared features (Broder 2000, §3 and §4).

A signature is cut into k groups of s minima, each group is fingerprinted to a feature, and a pair of documents becomes
a candidate if at least r of its k features are equal. In words: `groups` k, `group_size` s, `need` r; elsewhere
`groups` are called bands and `group_size` rows.
"""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .intervals import log_coefficient, lower_tail, upper_tail

__all__ = [
    "ALTAVISTA",
    "FilterDesign",
    "design_filter",
    "expected_spurious",
    "fingerprint_bits",
    "least_equal_minima",
    "miss_probability",
    "pass_probability",
]

Float64 = NDArray[np.float64]

BACKGROUND = 0.01  # mean resemblance of unrelated documents, where nothing better is known
COLLISION_COST = 1.0  # work of a pair that shares a feature: its signatures are compared
CANDIDATE_COST = 100.0  # work of a pair that shares enough of them: its texts are shingled again and compared
MAX_COLLISIONS_PER_DOCUMENT = 1000.0  # pairs to enumerate per document beyond which more permutations are cheaper
BLOCK = 32  # integrands evaluated at once
EQUAL_WORK = 1e-9  # designs whose works differ by less than this part of them count as equal


# ---- features of signatures (thin calls of the compiled kernel)


# ---- the filter


@overload
def pass_probability(rho: float, groups: int = 6, group_size: int = 14, need: int = 2) -> float: ...
@overload
def pass_probability(rho: ArrayLike, groups: int = 6, group_size: int = 14, need: int = 2) -> float | Float64: ...
def pass_probability(rho: ArrayLike, groups: int = 6, group_size: int = 14, need: int = 2) -> float | Float64:
    """Probability that a pair of resemblance `rho` shares at least `need` of its `groups` features.

    P_{k,s,r}(rho) = sum over i >= r of C(k, i) p^i (1 - p)^(k - i), with p = rho^s (Broder 2000, §3). Spurious equality
    of two fingerprints is left out; see `expected_spurious`.

    Parameters
    ----------
    rho : float or array of float in [0, 1]
    groups, group_size, need : int
        All at least 1; need <= groups.

    Returns
    -------
    float, or float64 array of the shape of `rho`

    Raises
    ------
    TypeError, ValueError
        For parameters outside these ranges.

    Notes
    -----
    Relative error below 1e-10 until the result underflows; where it is near 1, `miss_probability` has the digits that
    matter. O(groups) operations on arrays of the size of `rho`.
    """
    groups, group_size, need = _checked_shape(groups, group_size, need)
    return _tail(rho, groups, group_size, range(need, groups + 1))


@overload
def miss_probability(rho: float, groups: int = 6, group_size: int = 14, need: int = 2) -> float: ...
@overload
def miss_probability(rho: ArrayLike, groups: int = 6, group_size: int = 14, need: int = 2) -> float | Float64: ...
def miss_probability(rho: ArrayLike, groups: int = 6, group_size: int = 14, need: int = 2) -> float | Float64:
    """1 - `pass_probability`, to full relative accuracy where it is tiny. Same parameters and errors."""
    groups, group_size, need = _checked_shape(groups, group_size, need)
    return _tail(rho, groups, group_size, range(need))


def _tail(rho: ArrayLike, groups: int, group_size: int, counts: range) -> float | Float64:
    """Probability that the number of equal groups is in `counts`, as a sum of positive terms."""
    rho = _checked_resemblance(rho)
    with np.errstate(divide="ignore", under="ignore"):
        log_p = group_size * np.log(rho)
        log_q = _log_complement(log_p)
        total = np.zeros_like(rho)
        for i in counts:
            log_term = np.full_like(rho, log_coefficient(groups, i))
            if i > 0:
                log_term += i * log_p
            if i < groups:
                log_term += (groups - i) * log_q
            total += np.exp(log_term)
    total = np.minimum(total, 1.0)
    return total if total.ndim else float(total)


def _log_complement(log_p: Float64) -> Float64:
    """log(1 - exp(log_p)) for log_p <= 0, without cancellation."""
    with np.errstate(divide="ignore", under="ignore"):
        small = np.log1p(-np.exp(np.minimum(log_p, -math.log(2.0))))
        return np.where(log_p < -math.log(2.0), small, np.log(-np.expm1(log_p)))


def _checked_resemblance(rho: ArrayLike) -> Float64:
    array = np.asarray(rho, dtype=np.float64)
    outside = ~((array >= 0.0) & (array <= 1.0))
    if outside.any():
        raise ValueError(f"a resemblance lies in [0, 1]; {array[outside].flat[0]} does not")
    return array


def _checked_shape(groups: int, group_size: int, need: int) -> tuple[int, int, int]:
    groups = _positive("groups", groups)
    group_size = _positive("group_size", group_size)
    need = _positive("need", need)
    if need > groups:
        raise ValueError(f"need={need} of groups={groups} features can never be shared; need is at most groups")
    return groups, group_size, need


def _positive(name: str, value: int) -> int:
    value = operator.index(value)
    if value < 1:
        raise ValueError(f"{name} is {value}; it must be at least 1")
    return value


# ---- designs


@dataclass(frozen=True)
class FilterDesign:
    """A choice of groups, group_size and need, and what to expect of it.

    Attributes
    ----------
    groups, group_size, need : int
        Features per document, minima per feature, features that a candidate pair shares.
    num_perm : int
        Length of the signatures; num_perm - groups * group_size minima are not used by the filter.
    threshold : float
        The resemblance it is for.
    miss : float
        Probability that a pair of exactly this resemblance is not proposed; pairs above it are missed less often.
    collisions : float
        Expected fraction of the unrelated pairs that share at least one feature: what enumeration costs.
    candidates : float
        Expected fraction of the unrelated pairs that share at least `need`: what verification costs.
    documents : int
        Size of the collection it is for.

    Notes
    -----
    `collisions` and `candidates` rest on a model of unrelated pairs, see `design_filter`; `miss` does not.
    """

    groups: int
    group_size: int
    need: int
    num_perm: int
    threshold: float
    miss: float
    collisions: float
    candidates: float
    documents: int

    @classmethod
    def of(cls, groups: int, group_size: int, need: int = 1, *, threshold: float, num_perm: int | None = None,
           documents: int = 10**6, background: float = BACKGROUND) -> FilterDesign:
        """Describe a choice of one's own. num_perm=None: groups * group_size. Raises as `design_filter` does."""
        groups, group_size, need = _checked_shape(groups, group_size, need)
        threshold, background, documents = _checked_setting(threshold, background, documents)
        used = groups * group_size
        num_perm = used if num_perm is None else _positive("num_perm", num_perm)
        if num_perm < used:
            raise ValueError(f"groups={groups} of group_size={group_size} take {used} minima, and num_perm is "
                             f"{num_perm}; raise num_perm to {used} or take fewer or smaller groups")
        model = _Unrelated(background, used)
        return cls(groups, group_size, need, num_perm, threshold,
                   _miss(threshold, groups, group_size, need),
                   float(model.collisions(group_size, np.array([groups]))[0]),
                   model.candidates(groups, group_size, need)[-1], documents)

    @property
    def bands(self) -> int:
        """`groups`, by its other name."""
        return self.groups

    @property
    def rows(self) -> int:
        """`group_size`, by its other name."""
        return self.group_size

    @property
    def collisions_per_document(self) -> float:
        """Expected unrelated documents that share a feature with a document of the collection."""
        return self.collisions * (self.documents - 1)

    @property
    def candidates_per_document(self) -> float:
        """Expected unrelated documents that are candidates with a document of the collection."""
        return self.candidates * (self.documents - 1)

    def pass_probability(self, rho: ArrayLike) -> float | Float64:
        """Probability that a pair of resemblance `rho` becomes a candidate."""
        return pass_probability(rho, self.groups, self.group_size, self.need)

    def __str__(self) -> str:
        return (f"groups={self.groups}, group_size={self.group_size}, need={self.need} (bands={self.groups}, "
                f"rows={self.group_size}; {self.groups * self.group_size} of num_perm={self.num_perm}): misses "
                f"{self.miss:.2g} of the pairs at resemblance {self.threshold:g}; in {self.documents:,} documents each "
                f"is expected to share a feature with {self.collisions_per_document:.2g} unrelated ones and to be a "
                f"candidate with {self.candidates_per_document:.2g}")


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
        The largest length to raise num_perm to; no more than num_perm: it stays as it is.

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
    threshold, background, documents = _checked_setting(threshold, background, documents)
    num_perm = _positive("num_perm", num_perm)
    max_num_perm = _positive("max_num_perm", max_num_perm)
    if not 0.0 < miss < 1.0:
        raise ValueError(f"miss is {miss}; it must lie strictly between 0 and 1, for example 1e-3")
    return _designed(threshold, num_perm, max(num_perm, max_num_perm), float(miss), documents, background)


def _checked_setting(threshold: float, background: float, documents: int) -> tuple[float, float, int]:
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"threshold is {threshold}; it must be above 0 and at most 1")
    if not 0.0 < background <= 1.0:
        raise ValueError(f"background is {background}; it is the mean resemblance of unrelated documents, "
                         "above 0 and at most 1")
    return float(threshold), float(background), _positive("documents", documents)


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
    model = _Unrelated(background, limit)
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
                        _miss(threshold, groups, group_size, best.need), best.shape.collisions, best.candidates,
                        documents)


def _miss(threshold: float, groups: int, group_size: int, need: int) -> float:
    """`miss_probability` of one number, with fewer terms."""
    log_p = group_size * math.log(threshold)
    return lower_tail(need - 1, groups, math.exp(log_p), -math.expm1(log_p))


def _shapes(threshold: float, miss: float, limit: int, model: _Unrelated) -> list[_Shape]:
    """Every shape of at most `limit` minima that meets the miss with need=1."""
    shapes = []
    for group_size in range(1, limit + 1):
        groups = [n for n in range(1, limit // group_size + 1) if _miss(threshold, n, group_size, 1) <= miss]
        if not groups:  # nor will larger groups
            break
        collisions = model.collisions(group_size, np.array(groups)).tolist()
        shapes += [_Shape(c, n, group_size) for c, n in zip(collisions, groups, strict=True)]
    return shapes


def _least_work(shapes: list[_Shape], threshold: float, miss: float, model: _Unrelated) -> _Option:
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


def _options(shape: _Shape, threshold: float, miss: float, model: _Unrelated) -> list[_Option]:
    """One option for every need that meets the miss."""
    most = 1
    while most < shape.groups and _miss(threshold, shape.groups, shape.group_size, most + 1) <= miss:
        most += 1
    return [_Option(COLLISION_COST * shape.collisions + CANDIDATE_COST * candidates, shape, need, candidates)
            for need, candidates in enumerate(model.candidates(shape.groups, shape.group_size, most), 1)]


def _hopeless(threshold: float, miss: float, num_perm: int, limit: int) -> str:
    """One equal minimum is the least any design asks for: it misses (1 - threshold)^num_perm."""
    needed = math.log(miss) / math.log1p(-threshold)
    least = f"{needed:.2g}"
    if needed < 1e9:
        length = math.ceil(needed)
        while _miss(threshold, length, 1, 1) > miss:
            length += 1
        least = str(length)
    upto = f"num_perm={num_perm}" if limit == num_perm else f"num_perm={num_perm}, raised to at most {limit},"
    return (f"{upto} cannot find pairs at threshold={threshold:g} with miss={miss:g}, not even with need=1 and "
            f"group_size=1; give num_perm of at least {least}, or a higher threshold or miss")


class _Unrelated:
    """Expectations over the resemblance of two unrelated documents: exponential, conditioned on [0, 1].

    Gauss-Legendre quadrature with 24 nodes per panel. In units of the mean the panels widen like the square root, as
    the peaks of y^m exp(-y) do; as resemblances none is wider than 1/25, nor than 24 / (largest number of minima). What
    lies beyond 4 * (largest number of minima) + 100 means is left out: less than 1e-40 of any expectation.
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
        self._weights: Float64 = (half * weights).ravel() * np.exp(-y) / -math.expm1(-1.0 / background)
        self._log_rho: Float64 = np.log(y * background)

    def collisions(self, group_size: int, groups: NDArray[np.int64]) -> Float64:
        """E[1 - (1 - rho^group_size)^groups] for every number of groups."""
        with np.errstate(under="ignore"):
            log_q = _log_complement(group_size * self._log_rho)
            blocks = [groups[i : i + BLOCK, None] for i in range(0, len(groups), BLOCK)]
            return np.concatenate([-np.expm1(block * log_q) @ self._weights for block in blocks])

    def candidates(self, groups: int, group_size: int, most: int) -> list[float]:
        """E[P_{groups,group_size,need}(rho)] for need = 1 ... most.

        The density falls, so that of rho^group_size does, and the terms fall with the number of equal groups: the sum
        ends where what is left no longer counts.
        """
        terms: list[float] = []
        with np.errstate(under="ignore"):
            log_p = group_size * self._log_rho
            log_q = _log_complement(log_p)
            while len(terms) < most or (len(terms) < groups and terms[-1] * groups > 1e-17 * terms[most - 1]):
                i = range(len(terms) + 1, min(len(terms) + BLOCK, groups) + 1)
                column = np.array(i)[:, None]
                coefficients = np.array([[log_coefficient(groups, n)] for n in i])
                exponents = coefficients + column * log_p + (groups - column) * log_q
                terms += (np.exp(exponents) @ self._weights).tolist()
        sums: list[float] = np.cumsum(terms[::-1])[::-1][:most].tolist()
        return sums


# ---- signatures and fingerprints


def least_equal_minima(num_perm: int, threshold: float, probability: float = 1e-6) -> int:
    """Equal minima below which a signature may reject a pair.

    Parameters
    ----------
    num_perm : int
    threshold : float in [0, 1]
    probability : float in (0, 1)
        Bound on the error: a pair of resemblance `threshold` or more has fewer equal minima than the result with less
        than this probability.

    Returns
    -------
    int
        The largest count c with P(Binomial(num_perm, threshold) < c) < probability; 0 where nothing may be rejected.
    """
    num_perm = _positive("num_perm", num_perm)
    threshold = float(_checked_resemblance(threshold))
    if not 0.0 < probability < 1.0:
        raise ValueError(f"probability is {probability}; it must lie strictly between 0 and 1, for example 1e-6")
    count = 0
    while count < num_perm and lower_tail(count, num_perm, threshold) < probability:
        count += 1
    return count


def expected_spurious(documents: int, bits: int = 64, groups: int = 1, need: int = 1) -> float:
    """Expected number of pairs of a collection that share features only because fingerprints collide.

    documents (documents - 1) / 2 pairs, each with probability P(Binomial(groups, 2^-bits) >= need), the fingerprints
    being taken as uniform. Functions that never verify report it.

    Parameters
    ----------
    documents : int
        At least 0.
    bits : int
        Length of a fingerprint.
    groups, need : int
        Features per document, and how many must be equal.
    """
    documents = operator.index(documents)
    if documents < 0:
        raise ValueError(f"documents is {documents}; a collection has at least 0")
    groups, _, need = _checked_shape(groups, 1, need)
    pairs = documents * (documents - 1) // 2
    return pairs * upper_tail(need, groups, math.ldexp(1.0, -_positive("bits", bits)))


def fingerprint_bits(documents: int) -> int:
    """Bits of a fingerprint that make spurious matches rare in a collection: 2 log2(documents) + 20, rounded up.

    Broder 2000, §2. Then fewer than 2^-21 of such matches are expected per feature.
    """
    return math.ceil(2.0 * math.log2(_positive("documents", documents))) + 20


ALTAVISTA = FilterDesign.of(6, 14, 2, threshold=0.975, documents=200_000_000)
"""The filter of Broder 2000: 6 features of 14 minima, need 2, for 200,000,000 pages. It passes half of the pairs at a
resemblance of 0.909 and misses 1.1 % at 0.975 and 97 % at 0.8: sharp, for collections where only very similar pages
matter."""
