"""Phases 5 and 6: connected components, and stars, in which each document, in keep order, joins the earlier representative
that it resembles most, or becomes one.

Components: the naive way gives every document the first root among its neighbours until nothing changes, which takes as many
rounds as the longest chain has links. Union-find within a task, and large and small stars across tasks (Kiveris, Lattanzi,
Mirrokni, Rastogi, Vassilvitskii 2014, "Connected Components in MapReduce and Beyond", DOI 10.1145/2670979.2670997), take
O(log^2 n) rounds and never make edges more.

Stars: where all pairs fit in a task, one reading of them in order does it. More of them take rounds: the representatives
are the lexicographically first maximal independent set in keep order (Blelloch, Fineman, Shun 2012, "Greedy sequential
maximal independent set and matching are parallel on average", DOI 10.1145/2312005.2312058).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from ndcore._cluster import components, star_ascending
from ndcore._types import Ints
from ndcore.phases.columns import Batches, as_batch, drop_empty, numbers

ROWS = 1 << 18  # of a batch, about
UNKNOWN, DROPPED, KEPT = range(3)  # states of a document


def contract_edges(batches: Batches, *, bound: int) -> Iterator[Any]:
    """Replace every `bound` edges (a, b) by stars: b is a document, and a the first of its component by these edges.

    Components stay what they are, and edges do not become more. Holds `bound` edges.
    """
    held: list[tuple[Ints, Ints]] = []
    size = 0
    for batch in drop_empty(batches):
        a, b = numbers(batch, "a"), numbers(batch, "b")
        for start in range(0, len(a), bound):
            part = a[start : start + bound], b[start : start + bound]
            if size + len(part[0]) > bound:
                yield from _contract(held)
                held, size = [], 0
            held.append(part)
            size += len(part[0])
    yield from _contract(held)


def _contract(held: list[tuple[Ints, Ints]]) -> Iterator[Any]:
    """Yield the stars of these edges."""
    if held:
        a, b = (np.concatenate(ends) for ends in zip(*held, strict=True))
        documents, ends = np.unique(np.concatenate([a, b]), return_inverse=True)
        ends = ends.astype(np.int64)
        roots = components(ends[: len(a)], ends[len(a) :], np.arange(len(documents)))
        joined = np.flatnonzero(roots != np.arange(len(documents)))
        yield as_batch(a=documents[roots[joined]], b=documents[joined])


def large_star(batches: Batches) -> Iterator[Any]:
    """Connect the later neighbours of each document with the first of the document and its neighbours.

    Takes edges (u, v) in both directions, sorted, all of one u in one partition. Yields edges a < b. Holds one batch.
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


def assign_stars(batches: Batches, *, best: bool) -> Iterator[Any]:
    """Assign the documents of all pairs, ``a`` < ``b`` with ``resemblance``, in any order.

    Yields ``rank``, ``label`` and ``resemblance`` of the documents that join another. best: the one that it resembles most,
    of several the first; else the first. Holds all pairs.
    """
    held = [tuple(numbers(batch, name) for name in ("a", "b", "resemblance")) for batch in drop_empty(batches)]
    if not held:
        return
    a, b, resemblance = (np.concatenate(column) for column in zip(*held, strict=True))
    documents, ends = np.unique(np.concatenate([a, b]), return_inverse=True)
    x, y = np.split(ends.astype(np.int64), [len(a)])
    order = np.lexsort((y, x))
    labels, most = np.arange(len(documents)), np.full(len(documents), -1.0)
    star_ascending(x[order], y[order], np.ascontiguousarray(resemblance[order], np.float64), best, most, labels)
    joined = np.flatnonzero(labels != np.arange(len(documents)))
    kept = np.flatnonzero(labels[y] == x)  # the pairs of documents with their labels
    most[y[kept]] = resemblance[kept]
    yield as_batch(rank=documents[joined], label=documents[labels[joined]], resemblance=most[joined])


def resolve_round(batches: Batches, *, bound: int) -> Iterator[Any]:
    """Decide which documents are representatives, as far as one reading can.

    Takes undecided pairs ``a`` < ``b`` sorted by b, then a, all of one b in one partition, and ``state``, of a: KEPT (a
    representative), DROPPED or UNKNOWN. Yields rows of the same form: of a decided document its state, with a = b; of others
    the pairs that may decide them. Holds the pairs of one document, and remembers about the last `bound` decisions;
    documents that need others wait for the next round.
    """
    known, before = dict[int, int](), dict[int, int]()
    made: list[tuple[int, int, int]] = []
    rows = (row for batch in drop_empty(batches)
            for row in zip(*(numbers(batch, name).tolist() for name in ("a", "b", "state")), strict=True))
    for document, pairs in groupby(rows, itemgetter(1)):
        states = {a: known.get(a, before.get(a, UNKNOWN)) if state == UNKNOWN else state for a, _, state in pairs}
        waiting = [(a, document, UNKNOWN) for a, state in states.items() if state == UNKNOWN]
        if waiting and KEPT not in states.values():
            made += waiting
        else:
            if 2 * len(known) >= bound:
                known, before = {}, known
            known[document] = DROPPED if KEPT in states.values() else KEPT
            made.append((document, document, known[document]))
        if len(made) >= ROWS:
            yield _as_rows(made)
            made = []
    if made:
        yield _as_rows(made)


def _as_rows(made: list[tuple[int, int, int]]) -> Any:
    """Return rows of `resolve_round` as a batch."""
    a, b, state = np.array(made, np.int64).T
    return as_batch(a=a, b=b, state=state.astype(np.int8))
