"""Compare pairs of documents: exactly where both texts can be read, else by their signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndcore._types import Bools, Floats, Ints
from ndcore.dedup.documents import Documents
from ndcore.dedup.rules import Rules
from ndcore.pairs.candidates import Search
from ndcore.pairs.scored import Scored
from ndcore.pairs.shingle_sets import SetBitmaps, ShingleSets
from ndcore.progress import Progress

__all__ = ["Verifier", "read_sets"]

ROWS = 4096  # pairs of signatures that are compared at a time
WORTH_BITMAPS = 4  # pairs for each set, from which bitmaps cost less than they spare


class Verifier:
    """Resemblances and scores of pairs of documents whose shingle sets have been read.

    `counted`: the sets without common shingles; None: all shingles count.
    """

    documents: Documents
    sets: ShingleSets
    rules: Rules
    counted: ShingleSets | None

    def __init__(
        self, documents: Documents, sets: ShingleSets, rules: Rules, counted: ShingleSets | None, common_shingles: int,
        rank: Ints,
    ) -> None:
        self.documents, self.sets, self.rules, self.counted = documents, sets, rules, counted
        self.common_shingles, self.rank = common_shingles, rank
        self._bitmaps: SetBitmaps | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the bitmaps, which can be made again."""
        return vars(self) | {"_bitmaps": None}

    def bitmaps(self, search: Search) -> SetBitmaps:
        """Return bitmaps of the sets that are compared, in keep order, with a row for each document in a run."""
        if self._bitmaps is None:
            self._bitmaps = SetBitmaps(self.compared, search.runs.documents, self.rank, contained=self.rules.contained)
        return self._bitmaps

    @property
    def threads(self) -> int | None:
        """Threads that compare; None: one for each CPU."""
        return self.sets.threads

    @property
    def compared(self) -> ShingleSets:
        """The sets whose scores decide."""
        return self.sets if self.counted is None else self.counted

    def measure(self, a: Ints, b: Ints, threshold: float | None = None, report: Progress | None = None) -> Scored:
        """Measure pairs, in any order of a and b; with a threshold, return the accepted ones only, in their order."""
        exact = self.documents.has_text(a) & self.documents.has_text(b)
        of_a, of_b = np.empty((2, len(a)), np.float64)
        of_a[exact], of_b[exact] = self._scores(a[exact], b[exact], report)
        estimated = np.flatnonzero(~exact)
        of_a[estimated] = of_b[estimated] = self._estimates(a[estimated], b[estimated])
        found = Scored(a, b, of_a, of_a, of_b)
        if threshold is not None:
            accepted = (found.score >= threshold) & self._large_enough(a, b)
            found, exact = found.where(accepted), exact[accepted]
        if self.counted is None and not self.rules.contained:
            return found
        return found._replace(resemblance=self.sets.resemblance(found.a, found.b))  # sketches have neither rule

    def verify_all(self, search: Search, report: Progress) -> Scored:
        """Return the accepted pairs of all candidates, sorted."""
        chunks, seen, threshold = [], 0, self.rules.threshold
        for a, b in search.pairs():
            seen += len(a)
            if seen > WORTH_BITMAPS * len(self.compared):
                near = self.bitmaps(search).near(a, b, threshold)
                a, b = a[near], b[near]
            chunks.append(self.measure(a, b, threshold, report))
        return Scored.merged(chunks, len(self.documents))

    def verify(self, a: Ints, b: Ints, threshold: float, report: Progress | None = None) -> Scored:
        """Return the accepted pairs of these, each with the smaller position first."""
        return self.measure(np.minimum(a, b), np.maximum(a, b), threshold, report)

    def _scores(self, a: Ints, b: Ints, report: Progress | None) -> tuple[Floats, Floats]:
        """Compute the scores of each pair of texts, of a in b and of b in a."""
        sets = self.compared
        if not self.rules.contained:
            scores = sets.resemblance(a, b, report)
            return scores, scores
        common = sets.common(a, b, report).astype(np.float64)
        with np.errstate(invalid="ignore"):  # 0 / 0 is nan
            return common / sets.sizes(a).astype(np.float64), common / sets.sizes(b).astype(np.float64)

    def _estimates(self, a: Ints, b: Ints) -> Floats:
        """Estimate the resemblance of each pair: the share of minima that agree."""
        rows, out = self.documents.rows, np.empty(len(a), np.float64)
        assert rows is not None or not len(a)  # sketches have signatures
        for start in range(0, len(a), ROWS):
            part = slice(start, start + ROWS)
            out[part] = (rows[a[part]] == rows[b[part]]).mean(axis=1)  # type: ignore[index]
        return out

    def _large_enough(self, a: Ints, b: Ints) -> Bools:
        """Tell which pairs have the shingles that `min_shingles` asks for."""
        wanted = self.rules.min_shingles
        if not wanted:
            return np.ones(len(a), np.bool_)
        large: Bools = np.minimum(self.sets.sizes(a), self.sets.sizes(b)) >= wanted
        return large


def read_sets(
    documents: Documents, wanted: Bools, *, tokens: bool, threads: int | None, report: Progress
) -> ShingleSets:
    """Read the wanted documents again, as far as they have texts, and form their shingle sets."""
    wanted = wanted & documents.has_text(np.arange(len(documents)))
    sets = ShingleSets(documents.shingling, len(documents), tokens=tokens, threads=threads)
    if wanted.any():
        sets.read(documents.texts(wanted), int(np.count_nonzero(wanted)), report)
    return sets
