"""Filters: a choice of groups, group_size and need (LSH bands and rows), with its expected errors and costs."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import Floats
from ndcore.checks import checked_int, checked_shape, checked_threshold
from ndcore.filters.background import BACKGROUND, Unrelated
from ndcore.filters.pass_probability import inflection, miss_of_design, pass_probability, resemblance_at
from ndcore.filters.prefix import PrefixFilter
from ndcore.filters.priors import Errors, Given, Prior
from ndcore.notebook import NotebookTable, fact_table, show_result
from ndcore.stats.binomial import lower_tail
from ndcore.stats.collisions import expected_spurious, fingerprint_bits

MAX_BITS = 64  # most bits of a feature


# ---- designs


@functools.lru_cache(64)
def _expect(groups: int, group_size: int, need: int, background: float) -> tuple[float, float]:
    """Compute `collisions` and `candidates` of a design. A store asks again whenever it is opened."""
    model = Unrelated(background, groups * group_size)
    return (float(model.collisions(group_size, np.array([groups]))[0]), model.candidates(groups, group_size, need)[-1])


@dataclass(frozen=True)
class FilterDesign:
    """A choice of groups, group_size and need (LSH bands and rows), with its expected errors and costs.

    Attributes
    ----------
    groups, group_size, need : int
        Features per document (bands), minima per feature (rows), features that a candidate pair shares at least.
    num_perm : int
        Length of the signatures; num_perm - groups * group_size minima are not used by the filter.
    threshold : float
        The resemblance (Jaccard similarity) from which pairs should pass.
    miss : float
        Probability that a pair exactly at the threshold does not pass; pairs above it are missed less often.
    collisions : float
        Expected fraction of the unrelated pairs that share at least one feature: the cost of enumeration.
    candidates : float
        Expected fraction of the unrelated pairs that share at least `need`: the cost of verification.
    documents : int
        Size of the collection.

    Notes
    -----
    `collisions` and `candidates` rest on a model of unrelated pairs, see `design_filter`; `miss` does not.

    References
    ----------
    Broder, "Identifying and filtering near-duplicate documents", 2000, §3 and 4. DOI 10.1007/3-540-45123-4_1.
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
        """Describe a given design. num_perm=None: groups * group_size; other parameters are as for `design_filter`."""
        groups, group_size, need = checked_shape(groups, group_size, need)
        threshold, background, documents = checked_setting(threshold, background, documents)
        used = groups * group_size
        num_perm = used if num_perm is None else checked_int("num_perm", num_perm, 1)
        if num_perm < used:
            raise ValueError(f"groups={groups} of group_size={group_size} take {used} minima, and num_perm is "
                             f"{num_perm}; raise num_perm to {used} or take fewer or smaller groups")
        return cls(groups, group_size, need, num_perm, threshold, miss_of_design(threshold, groups, group_size, need),
                   *_expect(groups, group_size, need, background), documents)

    @property
    def bands(self) -> int:
        """`groups`, under its name in LSH, where need is always 1."""
        return self.groups

    @property
    def rows(self) -> int:
        """`group_size`, under its name in LSH."""
        return self.group_size

    @property
    def collisions_per_document(self) -> float:
        """Expected number of unrelated documents that share a feature with a document of the collection."""
        return self.collisions * (self.documents - 1)

    @property
    def candidates_per_document(self) -> float:
        """Expected number of unrelated documents that are candidates with a document of the collection."""
        return self.candidates * (self.documents - 1)

    @property
    def half(self) -> float:
        """The resemblance at which half of the pairs pass: the threshold with the smallest error on uniform resemblances."""
        return self.resemblance_at(0.5)

    @property
    def steepest(self) -> float:
        """exp(-1 / group_size), where rho^s is steeper with this group size than with any other (Broder 2000, §4)."""
        return math.exp(-1.0 / self.group_size)

    @property
    def inflection(self) -> float:
        """The resemblance at which `pass_probability` is steepest, a little above `half`; nan if it is a line."""
        return inflection(self.groups, self.group_size, self.need)

    @property
    def feature_bits(self) -> int:
        """Bits that a feature should have in a collection of `documents`: `fingerprint_bits`, at most 64."""
        return min(MAX_BITS, fingerprint_bits(self.documents))

    @property
    def bytes_per_document(self) -> int:
        """Storage of the features, each in whole bytes."""
        return self.groups * feature_bytes(self.documents)

    @property
    def spurious(self) -> float:
        """Pairs of the collection expected to pass only because features of `feature_bits` collide."""
        return expected_spurious(self.documents, self.feature_bits, self.groups, self.need)

    @property
    def complete(self) -> PrefixFilter:
        """The filter of ``near_duplicates(filter="complete")`` at the same threshold, which misses no pair."""
        return PrefixFilter(self.threshold)

    @overload
    def pass_probability(self, rho: float) -> float: ...
    @overload
    def pass_probability(self, rho: ArrayLike) -> float | Floats: ...
    def pass_probability(self, rho: ArrayLike) -> float | Floats:
        """Compute the probability that a pair of resemblance `rho` becomes a candidate."""
        return pass_probability(rho, self.groups, self.group_size, self.need)

    def resemblance_at(self, probability: float) -> float:
        """Find the resemblance at which a pair becomes a candidate with this probability."""
        return resemblance_at(probability, self.groups, self.group_size, self.need)

    def errors(self, prior: Given) -> Errors:
        """Compute the shares of pairs below the threshold that pass, and of pairs at or above it that do not.

        `prior` as in `design_filter`: resemblances of a sample of pairs, or a density. With a density of 1 the sum of both
        is the total error of Broder 2000, §4.
        """
        return Prior(prior, self.threshold).errors(self.groups, self.group_size)[self.need - 1]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the shape, and how pairs pass by their resemblance."""
        shape = fact_table(("groups (bands)", self.groups), ("group_size (rows)", self.group_size), ("need", self.need),
                           ("threshold", self.threshold), ("missed at the threshold", self.miss),
                           ("half pass at", self.half), ("bytes a document", self.bytes_per_document))
        tenths = [tenth / 10 for tenth in range(1, 11)]
        rows = [(tenth, float(self.pass_probability(tenth))) for tenth in tenths]
        return show_result("FilterDesign", shape, NotebookTable("Pairs that pass", ("resemblance", "probability"), rows))

    def __str__(self) -> str:
        bands = f"bands={self.groups}, rows={self.group_size}; " if self.need == 1 else ""
        return (f"groups={self.groups}, group_size={self.group_size}, need={self.need} ({bands}"
                f"{self.groups * self.group_size} of num_perm={self.num_perm}; {self.bytes_per_document} bytes a document): "
                f"misses {self.miss:.2g} of the pairs at resemblance {self.threshold:g}, passes half of them at "
                f"{self.half:.3f}; in {self.documents:,} documents each is expected to share a feature with "
                f"{self.collisions_per_document:.2g} unrelated ones and to be a candidate with "
                f"{self.candidates_per_document:.2g}; filter=\"complete\" {self.complete}, for 8 bytes a shingle in a "
                "temporary file")


def checked_setting(threshold: float, background: float, documents: int) -> tuple[float, float, int]:
    """Check and return the parameters that all designs share. Raises TypeError or ValueError outside their ranges."""
    threshold = checked_threshold(threshold)
    if not 0.0 < background <= 1.0:
        raise ValueError(f"background is {background}; it is the mean resemblance of unrelated documents, "
                         "above 0 and at most 1")
    return float(threshold), float(background), checked_int("documents", documents, 1)


@functools.lru_cache(maxsize=256)
def least_equal_minima(num_perm: int, threshold: float, probability: float = 1e-6) -> int:
    """Find the number of minima that must agree, below which signatures reject a pair.

    Parameters
    ----------
    num_perm : int
    threshold : float in [0, 1]
    probability : float in (0, 1)
        Bound of the error: a pair of resemblance `threshold` or more is rejected with less than this probability.

    Returns
    -------
    int
        The largest count c with P(Binomial(num_perm, threshold) < c) < probability; 0 if nothing may be rejected.

    Notes
    -----
    Tries one count after another: some 50 binomial tails, as long as sketching hundreds of documents. Results are cached.
    """
    count = 0
    while count < num_perm and lower_tail(count, num_perm, threshold) < probability:
        count += 1
    return count


def feature_bytes(documents: int) -> int:
    """Return the size of a feature of `fingerprint_bits` in whole bytes, at most 8."""
    return math.ceil(min(MAX_BITS, fingerprint_bits(documents)) / 8)


ALTAVISTA = FilterDesign.of(6, 14, 2, threshold=0.975, documents=200_000_000)
"""The filter of Broder 2000: 6 features of 14 minima, need 2, for 200,000,000 pages. It passes half of the pairs at a
resemblance of 0.909, misses 1.1 % at 0.975 and 97 % at 0.8. It is sharp, for collections in which only very similar pages
matter."""
