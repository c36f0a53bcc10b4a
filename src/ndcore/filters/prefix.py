"""The prefix filter: a pair at or above the threshold shares one of the rarest shingles of a document.

`filter="complete"` and `drop="contained"` use it. It misses no pair (DESIGN.md §5, "The complete filter").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ndcore._types import Bools, Floats, Ints
from ndcore.checks import check_choice, checked_threshold
from ndcore.choices import DROPS

SHINGLE_BYTES = 8  # bytes of a shingle in temporary files
EXAMPLE = 100  # shingles of the document that `str` describes


@dataclass(frozen=True)
class PrefixFilter:
    """A filter by shingles that documents share, for `near_duplicates`.

    A document of n shingles shares at least c(n) of them with any document within the threshold, so it shares one of any n
    - c(n) + 1. The rarest ones are looked up, because the fewest other documents have them.

    Parameters
    ----------
    threshold : float
        The score in (0, 1] from which pairs must pass: resemblance (Jaccard similarity), or containment.
    drop : "resembling" or "contained"
        "resembling": the n - c(n) + 1 rarest shingles of the larger document are sought among the rarest of the smaller
        one, and fewer of these suffice (`index_length`). "contained": the rarest shingles of one document are looked up
        among all shingles of the other.
    weighted : bool
        Scores are shares of weight (`reached_by_rest`), not of numbers of shingles.

    Raises
    ------
    TypeError, ValueError
        A parameter is not accepted.

    References
    ----------
    Bayardo, Ma, Srikant, "Scaling up all pairs similarity search", 2007, §3. DOI 10.1145/1242572.1242591.
    Xiao, Wang, Lin, Yu, "Efficient similarity joins for near duplicate detection", 2008, §3. DOI 10.1145/1367497.1367516.

    >>> print(PrefixFilter(0.8))
    looks up 21 of 100 shingles, the rarest, and misses no pair with a resemblance of at least 0.8
    """

    threshold: float
    drop: Literal["resembling", "contained"] = "resembling"
    weighted: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", checked_threshold(self.threshold))
        check_choice("drop", self.drop, DROPS)

    @property
    def miss(self) -> float:
        """Probability that a pair at the threshold does not pass: 0.0."""
        return 0.0

    def least_common(self, sizes: Ints) -> Ints:
        """Compute the least number of its shingles that a document shares with another if their score reaches the threshold.

        Parameters
        ----------
        sizes : int64
            Numbers of shingles.

        Returns
        -------
        int64
            The least c with float64(c) / float64(n) >= threshold for each size n; 0 for a size of 0.
        """
        return self._least(sizes, lambda common, n: common / n, self.threshold)

    def probe_length(self, sizes: Ints) -> Ints:
        """Compute the numbers of shingles of documents of these sizes that are looked up; 0 for a size of 0."""
        length: Ints = np.where(np.asarray(sizes) > 0, sizes - self.least_common(sizes) + 1, 0)
        return length

    def index_length(self, sizes: Ints) -> Ints:
        """Compute the numbers of rarest shingles among which probes of larger documents are sought; 0 for a size of 0.

        By resemblance, a document of n shingles shares at least c'(n) with one that is not smaller, where c'(n) is the least
        c with float64(c) / float64(2n - c) >= threshold: one of its n - c'(n) + 1 rarest is a probe of the other.
        """
        if self.drop == "contained":
            return self.probe_length(sizes)
        least = self._least(sizes, lambda common, n: common / (2 * n - common), 2 * self.threshold / (1 + self.threshold))
        length: Ints = np.where(np.asarray(sizes) > 0, sizes - least + 1, 0)
        return length

    def reached_by_rest(self, rest: Ints, whole: Ints) -> tuple[Bools, Bools]:
        """Tell which shingles with weights are looked up, and among which probes of others are sought.

        A document has a shingle that is looked up in common with each document within the threshold. It has one that is
        sought in common with each of these that weighs no less. For if the first common shingle in the order came later,
        the common ones would weigh too little.

        Parameters
        ----------
        rest : int64 (shingles,)
            The weight of each shingle and of all after it in its document, the rarest first; below 2^53.
        whole : int64 (shingles,)
            The weight of its document.
        """
        probed: Bools = rest / whole >= self.threshold
        return probed, probed if self.drop == "contained" else rest / (2 * whole - rest) >= self.threshold

    def _least(self, sizes: Ints, score: Callable[[Ints, Ints], Floats], share: float) -> Ints:
        """Find the least number in common, about `share` of a size, whose score reaches the threshold; 0 for a size of 0."""
        n = np.maximum(np.asarray(sizes, np.int64), 1)
        least = np.clip(np.ceil(share * n).astype(np.int64), 1, n)
        while (up := score(least, n) < self.threshold).any():  # the product may have been rounded down
            least[up] += 1
        while (down := score(least - 1, n) >= self.threshold).any():
            least[down] -= 1
        return np.minimum(least, sizes)

    def __str__(self) -> str:
        looked_up = int(self.probe_length(np.array([EXAMPLE]))[0])
        score = "a resemblance" if self.drop == "resembling" else "a containment"
        if self.weighted:
            return (f"looks up the rarest shingles, until the rest weighs too little, and misses no pair with {score} of at "
                    f"least {self.threshold:g}, by weights")
        return (f"looks up {looked_up} of {EXAMPLE} shingles, the rarest, and misses no pair with {score} of at least "
                f"{self.threshold:g}")
