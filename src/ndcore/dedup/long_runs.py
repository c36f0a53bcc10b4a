"""Runs too long to be expanded to pairs: compare their representatives, in keep order, with the documents that follow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ndcore._types import Ints
from ndcore.clusters.pairs import Pairs
from ndcore.dedup.candidates import Candidates, Run
from ndcore.dedup.leaders import Leaders
from ndcore.dedup.result import Draft
from ndcore.dedup.verify import Verifier

__all__ = ["settle_runs"]


class _Settled:
    """A run in keep order, with the comparisons made within it so far."""

    def __init__(self, run: Run, rank: Ints) -> None:
        self.group = run.group
        self.example = int(run.documents[0])
        self.documents = run.documents[np.argsort(rank[run.documents], kind="stable")]
        self.matches: dict[int, Ints] = {}  # by document compared: the documents after it that resemble it enough
        self.left_out = 0

    def account(self) -> dict[str, int]:
        """Return the entry of `NearDuplicates.common`."""
        return {"group": self.group, "holders": len(self.documents), "example": self.example,
                "representatives": len(self.matches), "cut": self.left_out}


def settle_runs(
    pairs: Pairs, candidates: Candidates, verifier: Verifier, leaders: Leaders, *, threshold: float, max_holders: int
) -> Draft:
    """Choose representatives by the verified pairs, and by further pairs found in the long runs.

    In keep order, each representative in a run that resembles none before it is compared with all documents that follow,
    up to max_holders such representatives a run. The pairs found change the representatives, so this is repeated for the
    new ones until no pairs are added: then all representatives in a run have been compared with one another.

    Notes
    -----
    Linear in the length of a run times the representatives in it.
    """
    rank = np.empty(len(leaders.order), np.int64)
    rank[leaders.order] = np.arange(len(rank))
    runs = [_Settled(run, rank) for run in candidates.runs]
    labels = leaders.choose_representatives(pairs)
    while added := [
        found for run in runs for found in _compare_within(run, labels, candidates, verifier, threshold, max_holders)
    ]:
        pairs = _merged([pairs, *added], len(labels))
        labels = leaders.choose_representatives(pairs)
    return Draft(pairs, labels, [run.account() for run in runs])


def _compare_within(
    run: _Settled, labels: Ints, candidates: Candidates, verifier: Verifier, threshold: float, max_holders: int
) -> Iterator[Pairs]:
    """Go through a run in keep order once; yield the pairs of each representative not compared before."""
    matched: set[int] = set()
    run.left_out = 0
    for at, document in enumerate(run.documents.tolist()):
        represents = labels[document] == document
        if document not in run.matches:
            if not represents or document in matched:
                continue
            if len(run.matches) == max_holders:
                run.left_out = len(run.documents) - at
                return
            others = candidates.partners(document, run.documents[at + 1 :])
            found = verifier.verify(np.full(len(others), document), others, threshold)
            run.matches[document] = found.b
            yield Pairs(np.minimum(*found[:2]), np.maximum(*found[:2]), found.resemblance)
        if represents:
            matched.update(run.matches[document].tolist())


def _merged(parts: list[Pairs], total: int) -> Pairs:
    """Merge pairs of documents below `total`: each once, sorted."""
    a, b, resemblance = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    _, first = np.unique(a * total + b, return_index=True)
    return Pairs(a[first], b[first], resemblance[first])
