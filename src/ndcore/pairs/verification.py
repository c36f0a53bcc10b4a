"""Score pairs of documents: bounds by bitmaps, exact scores by shingle sets, and estimates if a text is gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._types import AnyArray, Ints
from ndcore.pairs.candidates import Search
from ndcore.pairs.lost import LostRuns
from ndcore.pairs.pairs_below import count_by_resemblance
from ndcore.pairs.scored import Scored
from ndcore.pairs.shingle_sets import SetBitmaps, ShingleSets
from ndcore.pairs.shingle_weights import ShingleWeights
from ndcore.progress import Progress

ROWS = 4096  # pairs of signatures that are compared at a time
WORTH_BITMAPS = 4  # from this number of pairs for each set, bitmaps save more than they cost


@dataclass(eq=False, repr=False)
class Verifier:
    """A verifier: it measures pairs of documents, and accepts pairs whose score reaches a threshold.

    Attributes
    ----------
    sets : ShingleSets
        The sets of the documents that were read.
    counted : ShingleSets or None
        The sets without common shingles, of which there are `common_shingles`; None: all shingles count.
    weights : ShingleWeights or None
        The weights of the shingles that count; None: each weighs 1.
    rows : uint32 or uint64 (documents, num_perm) or None
        Signatures, for texts that are gone.
    rank : int64 (documents,)
        Places in keep order.
    contained : bool
        The score of a document in another is its containment; else both scores are the resemblance.
    min_shingles : int
        The least number of distinct shingles of both documents of an accepted pair.
    lost_runs, max_lost
        The longest run of tokens that the later document of an accepted pair may lose; None: any length.
    rejected : int64 (cells,) or None
        The number of candidates below the threshold, by resemblance (`count_by_resemblance`); None if not all candidates
        are compared exactly.
    """

    sets: ShingleSets
    counted: ShingleSets | None
    common_shingles: int
    weights: ShingleWeights | None
    rows: AnyArray | None
    rank: Ints
    contained: bool
    min_shingles: int
    lost_runs: LostRuns | None
    max_lost: int | None
    rejected: Ints | None
    _bitmaps: SetBitmaps | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the bitmaps, which can be rebuilt."""
        return vars(self) | {"_bitmaps": None}

    @property
    def compared(self) -> ShingleSets:
        """The sets by which pairs are scored."""
        return self.sets if self.counted is None else self.counted

    def bound(self, threshold: float) -> float:
        """Return a score that the numbers of shingles of an accepted pair reach, for bitmaps, which know no weights."""
        return threshold if self.weights is None else self.weights.least_unweighted(threshold)

    def bitmaps(self, search: Search) -> SetBitmaps:
        """Return bitmaps of the sets that are compared, in keep order, with a row for each document in a run."""
        if self._bitmaps is None:
            self._bitmaps = SetBitmaps(self.compared, search.runs.documents, self.rank, contained=self.contained)
        return self._bitmaps

    def verify_all(self, search: Search, threshold: float, report: Progress) -> Scored:
        """Return the accepted pairs of all candidates, sorted."""
        chunks, seen = [], 0
        for a, b in search.pairs():
            seen += len(a)
            if seen > WORTH_BITMAPS * len(self.compared):
                self.rejected = None  # bitmaps reject pairs without computing a resemblance
                near = self.bitmaps(search).near(a, b, self.bound(threshold))
                a, b = a[near], b[near]
            chunks.append(self.measure(a, b, threshold, report))
        return Scored.merged(chunks, len(self.rank))

    def measure(self, a: Ints, b: Ints, threshold: float | None = None, report: Progress | None = None) -> Scored:
        """Measure pairs, in any order of a and b; with a threshold, return only the accepted ones, in their order."""
        scored = self._score(a, b, report)
        if threshold is not None:
            enough = scored.score >= threshold
            if self.rejected is not None:
                self.rejected += count_by_resemblance(scored.score[~enough])
            if self.min_shingles:
                enough &= np.minimum(self.sets.sizes(a), self.sets.sizes(b)) >= self.min_shingles
            scored = scored.where(enough)
            if self.lost_runs is not None and self.max_lost is not None:
                later = self.rank[scored.a] > self.rank[scored.b]
                dropped, kept = np.where(later, scored.a, scored.b), np.where(later, scored.b, scored.a)
                scored = scored.where(self.lost_runs.longest(dropped, kept) <= self.max_lost)
        if self.counted is None and self.weights is None:
            return scored
        return scored._replace(resemblance=self.sets.resemblance(scored.a, scored.b))

    def _score(self, a: Ints, b: Ints, report: Progress | None) -> Scored:
        """Score pairs by the shingles that count, or if a text is gone, by the share of minima that agree."""
        exact = self.compared.has(a) & self.compared.has(b)
        x, y = (a, b) if exact.all() else (a[exact], b[exact])
        measure = self.compared if self.weights is None else self.weights
        scored = Scored.of(x, y, measure.common(x, y, report), measure.sizes(x), measure.sizes(y), contained=self.contained)
        if len(x) == len(a):
            return scored
        resemblance, estimated = np.empty(len(a)), np.flatnonzero(~exact)
        assert self.rows is not None  # sketches have signatures, and neither containment nor common shingles
        resemblance[exact] = scored.resemblance
        for start in range(0, len(estimated), ROWS):
            part = estimated[start : start + ROWS]
            resemblance[part] = (self.rows[a[part]] == self.rows[b[part]]).mean(axis=1)
        return Scored(a, b, resemblance, resemblance, resemblance)
