"""Phase 4, long runs: documents that share a run too long to be expanded, compared with a block of its representatives.

A block has documents of all long runs, in keep order. One place settles which of them represent themselves, and each task
compares these with its own documents, by bitmaps first. See DESIGN.md §5, "Long runs" and "Phases".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._candidates import BEFORE, PROPOSED, Bitmaps, RunPairs
from ndcore._cluster import star_ascending
from ndcore._types import AnyArray, Floats, Ints
from ndcore.pairs.candidates import Runs
from ndcore.pairs.representatives import merge_runs
from ndcore.phases.columns import Batches, as_batch, byte_rows, bytes_of, drop_empty, numbers
from ndcore.phases.verification import Judgement, take_sets

__all__ = ["Holders", "compare_holders", "find_representatives"]

IN_MEMORY = 32 << 20  # bytes of shingle sets that a task compares with a block at a time
STEP = 512  # documents of a block that are settled together
PART = 256  # documents that meet others at a time
MERGED = 64  # documents of a run, from which runs with many documents in common become one

_Lists = tuple[AnyArray, Ints]  # values, and the bounds of each list, from 0 on


class Holders(NamedTuple):
    """Documents of long runs, each with its features and its shingle set.

    scopes: rows of bytes; only documents with equal ones are compared. roots: documents of one component, with one root, are
    not. None: all documents are compared.
    """

    ranks: Ints
    features: _Lists
    sets: _Lists
    scopes: NDArray[np.uint8] | None
    roots: Ints | None

    @classmethod
    def of(cls, batches: Iterable[Any]) -> Holders:
        """Read batches with ``rank``, ``runs``, ``members`` (the parts of a set), and perhaps ``scope`` and ``root``."""
        parts = []
        for batch in drop_empty(batches):
            features, names = _integers(*bytes_of(batch.column("runs"))), batch.schema.names
            scopes = byte_rows(batch.column("scope")) if "scope" in names else None
            if scopes is not None:  # features of other scopes are others
                mixed = np.ascontiguousarray(scopes[:, :8]).view("<u8")[:, 0]
                features = features[0] ^ np.repeat(mixed, np.diff(features[1])), features[1]
            members = batch.column("members")
            data, bounds = bytes_of(members.values)
            parts.append(cls(numbers(batch, "rank"), features, _integers(data, bounds[members.offsets.to_numpy()]), scopes,
                             numbers(batch, "root") if "root" in names else None))
        return cls.joined(parts)

    @classmethod
    def joined(cls, parts: Sequence[Holders]) -> Holders:
        """Join documents of several places."""
        scopes = [part.scopes for part in parts if part.scopes is not None]
        roots = [part.roots for part in parts if part.roots is not None]
        return cls(np.concatenate([np.empty(0, np.int64), *(part.ranks for part in parts)]),
                   _joined([part.features for part in parts]), _joined([part.sets for part in parts]),
                   np.concatenate(scopes) if scopes else None, np.concatenate(roots) if roots else None)

    def take(self, which: Ints) -> Holders:
        """Copy the documents with these numbers."""
        return Holders(self.ranks[which], take_sets(*self.features, which), take_sets(*self.sets, which),
                       None if self.scopes is None else self.scopes[which],
                       None if self.roots is None else self.roots[which])


def _integers(data: NDArray[np.uint8], bounds: Ints) -> _Lists:
    """Return the bytes between bounds as lists of uint64."""
    return np.frombuffer(data[bounds[0] : bounds[-1]].tobytes(), "<u8"), (bounds - bounds[0]) // 8


def _joined(parts: Sequence[_Lists]) -> _Lists:
    """Join lists of several places."""
    sizes = [np.zeros(1, np.int64), *(np.diff(bounds) for _, bounds in parts)]
    return np.concatenate([np.empty(0, np.uint64), *(values for values, _ in parts)]), np.cumsum(np.concatenate(sizes))


class _Meetings:
    """Documents of long runs by their places in keep order, and the accepted pairs of them that meet in a run."""

    def __init__(self, holders: Holders, how: Judgement) -> None:
        assert how.threshold is not None
        n = len(holders.ranks)
        self.how, self.sets, self.scopes = how, holders.sets, holders.scopes
        self.number = np.argsort(holders.ranks)  # of the document at a place
        self.ranks = holders.ranks[self.number]
        self.place = np.empty(n, np.uint32)
        self.place[self.number] = np.arange(n, dtype=np.uint32)
        bitmaps = Bitmaps(np.diff(self.sets[1])[self.number].astype(np.uint32), False)
        bitmaps.add(self.place, *self.sets)
        features, ends = holders.features
        _, run, count = np.unique(features, return_inverse=True, return_counts=True)
        shared = count[run] > 1
        run = (np.cumsum(count > 1) - 1)[run[shared]]
        members = np.repeat(self.place, np.diff(ends))[shared].astype(np.int64)
        order = np.lexsort((members, run))
        begins = np.append(0, np.cumsum(count[count > 1]))
        runs = merge_runs(Runs(np.arange(len(begins) - 1), begins, members[order], np.ones(len(run), np.uint8)), MERGED, n)
        roots = None if holders.roots is None else holders.roots[self.number]
        self.kernel = RunPairs(bitmaps, how.threshold, runs.begins, runs.documents.astype(np.uint32),
                               np.zeros(len(runs.groups), np.uint8), runs.whole, roots)

    def propose(self, places: Ints) -> None:
        """Propose representatives."""
        self.kernel.propose(places.astype(np.uint32))

    def settle(self, places: Ints, represents: AnyArray) -> None:
        """Say, bool (documents,), which of the proposed documents represent others."""
        self.kernel.settle(places.astype(np.uint32), represents.astype(np.uint8))

    def compare(self, places: Ints, which: int) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Yield the accepted pairs, a before b, of these documents and the representatives that they meet: see RunPairs."""
        for start in range(0, len(places), PART):
            met = np.stack(self.kernel.meet(places[start : start + PART].astype(np.uint32), which)).astype(np.int64)
            a, b = np.sort(met, axis=0)
            allowed = (a < b) & (self.ranks[b] >= self.how.first_new)
            x, y = self.number[a[allowed]], self.number[b[allowed]]
            if self.scopes is not None:
                same = (self.scopes[x] == self.scopes[y]).all(axis=1)
                x, y = x[same], y[same]
            for first, second, resemblance in self.how.accept(*self.sets, x, y):
                yield self.place[first].astype(np.int64), self.place[second].astype(np.int64), resemblance


def find_representatives(block: Holders, *, judgement: Judgement) -> Holders:
    """Find the documents of a block that represent themselves, as far as the pairs within the block say."""
    meetings = _Meetings(block, judgement)
    n = len(block.ranks)
    labels, best = np.arange(n), np.full(n, -1.0)
    for start in range(0, n, STEP):
        places = np.arange(start, min(start + STEP, n))
        for a, b, _ in meetings.compare(places, BEFORE):
            labels[b] = a
        proposed = places[labels[places] == places]
        meetings.propose(proposed)
        pairs = [np.empty((2, 0), np.int64), *(np.stack(found[:2]) for found in meetings.compare(proposed, PROPOSED))]
        a, b = np.concatenate(pairs, axis=1)
        order = np.lexsort((b, a))
        star_ascending(a[order], b[order], np.ones(len(a)), False, best, labels)
        meetings.settle(proposed, labels == np.arange(n))
    return block.take(meetings.number[labels == np.arange(n)])


def compare_holders(batches: Batches, *, block: Holders, judgement: Judgement, either: bool) -> Iterator[Any]:
    """Compare documents of long runs with those of a block.

    Takes what `Holders.of` reads. Yields ``a``, ``b`` and ``resemblance`` of accepted pairs; the block has `a`, or, with
    `either`, one of them. A row with a = b says that a document of the block was among those that it was compared with.
    Holds the block, and 32 MB of other sets.
    """
    for others in _grouped(batches):
        inside = np.isin(others.ranks, block.ranks)
        here = others.ranks[inside]
        meets = np.append(0, np.cumsum(np.isin(others.features[0], block.features[0])))[others.features[1]]
        wanted = ~inside & (np.diff(meets) > 0) & (either | (others.ranks > block.ranks[:1]))
        meetings = _Meetings(Holders.joined([block, others.take(np.flatnonzero(wanted))]), judgement)
        of_block = np.isin(meetings.ranks, block.ranks)
        places = np.flatnonzero(of_block)
        meetings.propose(places)
        if either:
            meetings.settle(places, np.ones(len(of_block)))
        asking = np.flatnonzero(~of_block | np.isin(meetings.ranks, here))
        yield as_batch(a=here, b=here, resemblance=np.ones(len(here)))
        for a, b, resemblance in meetings.compare(asking, BEFORE if either else PROPOSED):
            yield as_batch(a=meetings.ranks[a], b=meetings.ranks[b], resemblance=resemblance)


def _grouped(batches: Batches) -> Iterator[Holders]:
    """Yield documents in groups of bounded size."""
    held: list[Holders] = []
    for batch in drop_empty(batches):
        held.append(Holders.of([batch]))
        if sum(part.sets[0].nbytes for part in held) >= IN_MEMORY:
            yield Holders.joined(held)
            held = []
    if held:
        yield Holders.joined(held)
