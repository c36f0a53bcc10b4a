"""Compare candidate pairs: exactly where both texts can be read, else by their signatures."""

from __future__ import annotations

import numpy as np

from ndcore._types import Floats, Ints
from ndcore.clusters.pairs import Pairs
from ndcore.dedup.candidates import Candidates
from ndcore.dedup.documents import Documents
from ndcore.dedup.shingle_sets import ShingleSets
from ndcore.progress import Progress

__all__ = ["Verifier", "read_candidates"]

ROWS = 4096  # pairs of signatures that are compared at a time


class Verifier:
    """Resemblances of pairs of documents whose shingle sets have been read."""

    def __init__(self, documents: Documents, sets: ShingleSets) -> None:
        self.documents, self.sets = documents, sets

    def resemblance(self, a: Ints, b: Ints, report: Progress | None = None) -> Floats:
        """Return the resemblance of each pair; without both texts, the share of minima that agree."""
        exact = self.documents.has_text(a) & self.documents.has_text(b)
        out = np.empty(len(a), np.float64)
        out[exact] = self.sets.resemblance(a[exact], b[exact], report)
        rest = np.flatnonzero(~exact)
        for start in range(0, len(rest), ROWS):
            part = rest[start : start + ROWS]
            out[part] = (self.documents.rows[a[part]] == self.documents.rows[b[part]]).mean(axis=1)
        return out

    def verify(self, a: Ints, b: Ints, threshold: float, report: Progress | None = None) -> Pairs:
        """Return the pairs at or above the threshold, in their order."""
        pairs = Pairs(a, b, self.resemblance(a, b, report))
        return pairs.where(pairs.resemblance >= threshold)


def read_candidates(
    documents: Documents, candidates: Candidates, *, tokens: bool, threads: int | None, report: Progress
) -> Verifier:
    """Read all documents that may have to be compared, and form their shingle sets."""
    wanted = np.zeros(len(documents), np.bool_)
    for positions in (candidates.a, candidates.b, *(run.documents for run in candidates.runs)):
        wanted[positions] = True
    wanted &= documents.has_text(np.arange(len(documents)))
    sets = ShingleSets(documents.shingling, len(documents), tokens=tokens, threads=threads)
    if wanted.any():
        sets.read(documents.texts(wanted), int(np.count_nonzero(wanted)), report)
    return Verifier(documents, sets)
