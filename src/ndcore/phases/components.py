"""Phase 5, connected components: union-find within a task, large and small stars across tasks.

The naive way gives every document the first root among its neighbours until nothing changes, which takes as many rounds as
the longest chain has links. Large and small stars (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii 2014, "Connected
Components in MapReduce and Beyond", DOI 10.1145/2670979.2670997) take O(log^2 n) rounds and never make edges more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._cluster import components
from ndcore._types import Ints
from ndcore.phases.columns import Batches, as_batch, drop_empty, numbers

__all__ = ["contract_edges", "large_star", "small_star"]


def contract_edges(batches: Batches, *, bound: int) -> Iterator[Any]:
    """Replace every `bound` edges (a, b) by stars: b, each document, and a, the first of its component by these edges.

    Components stay what they are, and edges do not become more. Holds `bound` edges.
    """
    held: list[tuple[Ints, Ints]] = []
    size = 0
    for batch in drop_empty(batches):
        a, b = numbers(batch, "a"), numbers(batch, "b")
        for start in range(0, len(a), bound):
            part = a[start : start + bound], b[start : start + bound]
            if size + len(part[0]) > bound:
                yield from _contracted(held)
                held, size = [], 0
            held.append(part)
            size += len(part[0])
    yield from _contracted(held)


def _contracted(held: list[tuple[Ints, Ints]]) -> Iterator[Any]:
    """Yield the stars of these edges."""
    if held:
        a, b = (np.concatenate(ends) for ends in zip(*held, strict=True))
        documents, ends = np.unique(np.concatenate([a, b]), return_inverse=True)
        ends = ends.astype(np.int64)
        roots = components(ends[: len(a)], ends[len(a) :], np.arange(len(documents)))
        joined = np.flatnonzero(roots != np.arange(len(documents)))
        yield as_batch(a=documents[roots[joined]], b=documents[joined])


def large_star(batches: Batches) -> Iterator[Any]:
    """Connect the later neighbours of each document with the first among it and its neighbours.

    Takes edges (u, v) either way round, sorted, all of one u in one partition. Yields edges a < b. Holds one batch.
    """
    for u, v, first, _ in _with_first(batches):
        later = v > u
        yield as_batch(a=np.minimum(first, u)[later], b=v[later])


def small_star(batches: Batches) -> Iterator[Any]:
    """Connect each document and its earlier neighbours with the first of these.

    Takes edges (u, v), v < u, sorted, all of one u in one partition. Yields edges a < b. Holds one batch.
    """
    for u, v, first, begins in _with_first(batches):
        others = v != first
        yield as_batch(a=np.concatenate([first[others], first[begins]]), b=np.concatenate([v[others], u[begins]]))


def _with_first(batches: Batches) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    """Yield distinct edges (u, v), the first neighbour of each u, and the places where a new u begins."""
    last: tuple[int, int, int] | None = None  # u, v and the first neighbour of the row before
    for batch in drop_empty(batches):
        u, v = numbers(batch, "u"), numbers(batch, "v")
        fresh, other = np.ones((2, len(u)), np.bool_)
        other[1:] = u[1:] != u[:-1]
        fresh[1:] = other[1:] | (v[1:] != v[:-1])
        if last is not None:
            other[0] = u[0] != last[0]
            fresh[0] = other[0] or v[0] != last[1]
        starts = np.flatnonzero(other)
        first = np.full(len(u), -1 if last is None else last[2])
        if len(starts):
            first[starts[0] :] = v[starts][np.cumsum(other)[starts[0] :] - 1]
        last = int(u[-1]), int(v[-1]), int(first[-1])
        yield u[fresh], v[fresh], first[fresh], np.flatnonzero(other[fresh])
