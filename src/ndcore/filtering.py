"""Filtering near-duplicates by shared features (Broder 2000, §3 and §4).

A signature is cut into k groups of s minima, each group is fingerprinted to a feature, and a pair of documents becomes
a candidate if at least r of its k features are equal. In words: `groups` k, `group_size` s, `need` r; elsewhere
`groups` are called bands and `group_size` rows.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcore.intervals import log_coefficient, lower_tail, upper_tail
from ndcore.unrelated import BACKGROUND, Unrelated, log_complement

__all__ = [
    "ALTAVISTA",
    "FilterDesign",
    "expected_spurious",
    "fingerprint_bits",
    "least_equal_minima",
    "miss_probability",
    "pass_probability",
]

Float64 = NDArray[np.float64]



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
    rho = checked_resemblance(rho)
    with np.errstate(divide="ignore", under="ignore"):
        log_p = group_size * np.log(rho)
        log_q = log_complement(log_p)
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


def checked_resemblance(rho: ArrayLike) -> Float64:
    array = np.asarray(rho, dtype=np.float64)
    outside = ~((array >= 0.0) & (array <= 1.0))
    if outside.any():
        raise ValueError(f"a resemblance lies in [0, 1]; {array[outside].flat[0]} does not")
    return array


def _checked_shape(groups: int, group_size: int, need: int) -> tuple[int, int, int]:
    groups = checked_positive("groups", groups)
    group_size = checked_positive("group_size", group_size)
    need = checked_positive("need", need)
    if need > groups:
        raise ValueError(f"need={need} of groups={groups} features can never be shared; need is at most groups")
    return groups, group_size, need


def checked_positive(name: str, value: int) -> int:
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
        threshold, background, documents = checked_setting(threshold, background, documents)
        used = groups * group_size
        num_perm = used if num_perm is None else checked_positive("num_perm", num_perm)
        if num_perm < used:
            raise ValueError(f"groups={groups} of group_size={group_size} take {used} minima, and num_perm is "
                             f"{num_perm}; raise num_perm to {used} or take fewer or smaller groups")
        model = Unrelated(background, used)
        return cls(groups, group_size, need, num_perm, threshold,
                   miss_of_design(threshold, groups, group_size, need),
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


def miss_of_design(threshold: float, groups: int, group_size: int, need: int) -> float:
    """`miss_probability` of one number, with fewer terms."""
    log_p = group_size * math.log(threshold)
    return lower_tail(need - 1, groups, math.exp(log_p), -math.expm1(log_p))


def checked_setting(threshold: float, background: float, documents: int) -> tuple[float, float, int]:
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"threshold is {threshold}; it must be above 0 and at most 1")
    if not 0.0 < background <= 1.0:
        raise ValueError(f"background is {background}; it is the mean resemblance of unrelated documents, "
                         "above 0 and at most 1")
    return float(threshold), float(background), checked_positive("documents", documents)


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
    num_perm = checked_positive("num_perm", num_perm)
    threshold = float(checked_resemblance(threshold))
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
    return pairs * upper_tail(need, groups, math.ldexp(1.0, -checked_positive("bits", bits)))


def fingerprint_bits(documents: int) -> int:
    """Bits of a fingerprint that make spurious matches rare in a collection: 2 log2(documents) + 20, rounded up.

    Broder 2000, §2. Then fewer than 2^-21 of such matches are expected per feature.
    """
    return math.ceil(2.0 * math.log2(checked_positive("documents", documents))) + 20


ALTAVISTA = FilterDesign.of(6, 14, 2, threshold=0.975, documents=200_000_000)
"""The filter of Broder 2000: 6 features of 14 minima, need 2, for 200,000,000 pages. It passes half of the pairs at a
resemblance of 0.909 and misses 1.1 % at 0.975 and 97 % at 0.8: sharp, for collections where only very similar pages
matter."""
