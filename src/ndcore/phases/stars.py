"""Phase 6, stars: each document, in keep order, joins the earlier representative that it resembles most, or becomes one.

Within a component that fits in a task one reading of its pairs in order does it. Larger components take rounds: who is a
representative is the lexicographically first maximal independent set in keep order (Blelloch, Fineman, Shun 2012, "Greedy
sequential maximal independent set and matching are parallel on average", DOI 10.1145/2312005.2312058).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._cluster import star_ascending
from ndcore._types import Floats, Ints
from ndcore.phases.columns import Batches, as_batch, drop_empty, numbers

__all__ = ["assign_stars", "resolve_round"]

PAIRS = 1 << 18  # of whole components that are assigned together, about


def assign_stars(batches: Batches, *, best: bool) -> Iterator[Any]:
    """Assign the documents of whole components.

    Takes ``component``, ``a`` < ``b`` and ``resemblance``, sorted by the first three, a component in one partition. Yields
    ``rank``, ``label`` and ``resemblance`` of the documents that join another. best: the one that it resembles most, of
    several the first; else the first. Holds the pairs of one component, and PAIRS more.
    """
    held: list[tuple[Ints, ...]] = []
    size = 0
    for batch in drop_empty(batches):
        columns = tuple(numbers(batch, name) for name in ("component", "a", "b", "resemblance"))
        held.append(columns)
        size += len(columns[0])
        if size < PAIRS:
            continue
        whole = [np.concatenate(column) for column in zip(*held, strict=True)]
        end = int(np.searchsorted(whole[0], whole[0][-1]))  # the last component may go on
        yield from _assigned([column[:end] for column in whole], best)
        held, size = [tuple(column[end:] for column in whole)], size - end
    if held:
        yield from _assigned([np.concatenate(column) for column in zip(*held, strict=True)], best)


def _assigned(columns: list[Any], best: bool) -> Iterator[Any]:
    """Yield the assignments of whole components."""
    _, a, b, resemblance = columns
    if not len(a):
        return
    documents, ends = np.unique(np.concatenate([a, b]), return_inverse=True)
    ends = ends.astype(np.int64)
    x, y = ends[: len(a)], ends[len(a) :]
    order = np.lexsort((y, x))
    labels, most = np.arange(len(documents)), np.full(len(documents), -1.0)
    star_ascending(x[order], y[order], np.ascontiguousarray(resemblance[order], np.float64), best, most, labels)
    joined = np.flatnonzero(labels != np.arange(len(documents)))
    found = most[joined] if best else _resemblances(x, y, resemblance, labels, joined)
    yield as_batch(rank=documents[joined], label=documents[labels[joined]], resemblance=found)


def _resemblances(x: Ints, y: Ints, resemblance: Floats, labels: Ints, joined: Ints) -> Floats:
    """Look up the resemblance of each document of `joined` to its label."""
    kept = np.flatnonzero(labels[y] == x)
    found = np.empty(len(labels), np.float64)
    found[y[kept]] = resemblance[kept]
    return found[joined]


def resolve_round(batches: Batches, *, bound: int) -> Iterator[Any]:
    """Decide which documents of large components are representatives, as far as one reading can.

    Takes undecided pairs ``a`` < ``b`` sorted by b, then a, all of one b in one partition, and ``settled``: `a` is known to
    be a representative. Yields ``rank`` and ``kept`` of documents that are decided. Remembers up to `bound` of these; where
    more are asked about, the next round decides.
    """
    known: dict[int, bool] = {}
    document, covered, open_ends = -1, False, False
    ranks: list[int] = []
    kept: list[bool] = []
    for batch in drop_empty(batches):
        columns = (numbers(batch, name).tolist() for name in ("a", "b", "settled"))
        for a, b, settled in zip(*columns, strict=True):
            if b != document:
                if document >= 0 and (covered or not open_ends):
                    _decide(document, not covered, known, bound, ranks, kept)
                document, covered, open_ends = b, False, False
            state = True if settled else known.get(a)
            covered |= state is True
            open_ends |= state is None
        if ranks:
            yield as_batch(rank=np.array(ranks, np.int64), kept=np.array(kept, np.bool_))
            ranks, kept = [], []
    if document >= 0 and (covered or not open_ends):
        yield as_batch(rank=np.array([document], np.int64), kept=np.array([not covered]))


def _decide(document: int, is_kept: bool, known: dict[int, bool], bound: int, ranks: list[int], kept: list[bool]) -> None:
    """Note a decision."""
    if len(known) >= bound:
        known.clear()
    known[document] = is_kept
    ranks.append(document)
    kept.append(is_kept)
