"""Runs that are too long to be paired: their documents meet the representatives among them, in keep order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Ints
from ndcore.clusters.pairs import Pairs
from ndcore.dedup.candidates import Candidates, Run

__all__ = ["settle_runs"]


class _Settled:
    """What was compared within one run."""

    def __init__(self, run: Run, rank: Ints) -> None:
        self.documents = run.documents[np.argsort(rank[run.documents], kind="stable")]
        self.pivots: dict[int, Ints] = {}  # document → those after it that resemble it enough
        self.left_out = 0


def settle_runs(
    found: Candidates,
    pairs: Pairs,
    label: Callable[[Pairs], Ints],
    *,
    measure: Callable[[Ints, Ints], NDArray[np.float64]],
    order: Ints,
    fixed: NDArray[np.bool_],
    threshold: float,
    max_holders: int,
    by: Ints | None,
) -> tuple[Pairs, Ints, list[dict[str, int]]]:
    """Pairs and labels that take the long runs into account, and an account of each run.

    In keep order, each kept document of a run that resembles none before it is compared with all that follow, up to
    max_holders such documents a run. The pairs found change who is kept, so this is repeated for those kept anew until
    nothing new is found: then all kept documents of a run have been compared with one another.

    Linear in the length of a run times the representatives in it.
    """
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    settled = [_Settled(run, rank) for run in found.runs]
    labels = label(pairs)
    while settled:
        fresh = [
            pairs_of_pivot
            for run in settled
            for pairs_of_pivot in _reading(
                run, labels, max_holders, lambda run, pivot: _compared(run, pivot, found, measure, fixed, threshold, by)
            )
        ]
        if not fresh:
            break
        pairs = _merged([pairs, *fresh], len(order))
        labels = label(pairs)
    common = [
        {
            "group": run.group, "holders": len(run.documents), "example": int(run.documents[0]),
            "representatives": len(state.pivots), "cut": state.left_out,
        }
        for run, state in zip(found.runs, settled, strict=True)
    ]
    return pairs, labels, common


def _reading(
    run: _Settled, labels: Ints, max_holders: int, compared: Callable[[_Settled, int], Pairs]
) -> Iterator[Pairs]:
    """One reading of a run in keep order: the pairs of each document that must be compared with all after it."""
    matched: set[int] = set()
    run.left_out = 0
    for at, document in enumerate(run.documents.tolist()):
        if document not in run.pivots:
            if labels[document] != document or document in matched:
                continue
            if len(run.pivots) == max_holders:
                run.left_out = len(run.documents) - at
                return
            yield compared(run, document)
        if labels[document] == document:
            matched.update(run.pivots[document].tolist())


def _compared(
    run: _Settled, pivot: int, found: Candidates, measure: Callable[[Ints, Ints], NDArray[np.float64]],
    fixed: NDArray[np.bool_], threshold: float, by: Ints | None,
) -> Pairs:
    """The pairs at or above the threshold of the pivot with the documents of the run after it."""
    others = run.documents[1 + int(np.flatnonzero(run.documents == pivot)[0]) :]
    if fixed[pivot]:
        others = others[~fixed[others]]
    if by is not None:
        others = others[by[others] == by[pivot]]
    others = others[found.judge.matches(pivot, others.astype(np.uint64)).astype(np.bool_)]
    resemblance = measure(np.full(len(others), pivot, np.int64), others)
    enough = resemblance >= threshold
    others, resemblance = others[enough], resemblance[enough]
    run.pivots[pivot] = others
    return Pairs(np.minimum(pivot, others), np.maximum(pivot, others), resemblance)


def _merged(parts: list[Pairs], total: int) -> Pairs:
    """All pairs, each once, sorted."""
    a, b, resemblance = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    _, first = np.unique(a * total + b, return_index=True)
    return Pairs(a[first], b[first], resemblance[first])
