"""Phase 4, long runs: compare documents that share a run too long to be expanded with a block of its representatives.

A block has documents of all long runs, in keep order. One place settles which of them represent themselves, and each task
compares these with its own documents, by bitmaps first. See DESIGN.md §5, "Long runs" and "Phases".

Documents are Arrow tables: ``rank``; ``runs``, their features of 8 bytes; ``members``, the parts of their shingle set;
perhaps ``scope``, all of the same length: only documents with equal ones are compared; perhaps ``root``: only documents
with different ones are compared; and perhaps ``group``, of `Judgement.left_out`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._candidates import BEFORE, PROPOSED, Bitmaps, RunPairs
from ndcore._cluster import star_ascending
from ndcore._types import AnyArray, Ints, UInts
from ndcore.pairs.candidates import Runs
from ndcore.pairs.long_runs import merge_runs
from ndcore.pairs.scored import Scored
from ndcore.phases.candidates import mix_features
from ndcore.phases.columns import Batches, byte_rows, drop_empty, pa, values_of
from ndcore.phases.verification import Judgement, scored_batch

IN_MEMORY = 32 << 20  # bytes of documents that a task compares with a block at a time
STEP = 512  # documents of a block that are settled together
PART = 256  # documents that are compared with others at a time
MERGED = 64  # runs of at least 64 documents are merged if they share many


def _scopes(documents: Any) -> NDArray[np.uint8] | None:
    """Return the rows of scopes, if there are scopes."""
    return byte_rows(documents["scope"].combine_chunks()) if "scope" in documents.column_names else None


def _read_features(documents: Any) -> tuple[UInts, Ints]:
    """Return the features of each document, mixed so that different scopes have different features."""
    features, bounds = values_of(documents["runs"].combine_chunks())
    return mix_features(features, bounds, _scopes(documents)), bounds


def _number_features(documents: Any, among: UInts) -> tuple[AnyArray, Ints]:
    """Return the number of each feature among others, distinct and ascending, from 1; 0 for features that are not there."""
    features, bounds = _read_features(documents)
    places = np.searchsorted(among, features)
    known = among[np.minimum(places, len(among) - 1)] == features
    return np.where(known, places + 1, 0).astype(np.min_scalar_type(len(among))), bounds  # narrow ones are sorted faster


class _RunMeetings:
    """Documents in keep order, by number, and the accepted pairs of them that meet in a run of one of these features.

    features: distinct, ascending.
    """

    def __init__(self, documents: Any, features: UInts, how: Judgement) -> None:
        assert how.threshold is not None
        self.how, self.n = how, len(documents)
        self.ranks, self.scopes = documents["rank"].to_numpy(), _scopes(documents)
        members = documents["members"].combine_chunks()
        values, bounds = values_of(members.flatten())
        of_set = members.offsets.to_numpy()
        groups = documents["group"].to_numpy() if "group" in documents.column_names else None
        self.sets = how.take(values, bounds[of_set - of_set[0]], groups)
        bitmaps = Bitmaps(np.diff(self.sets.counted_offsets).astype(np.uint32), how.contained)
        bitmaps.add(np.arange(self.n, dtype=np.uint32), self.sets.counted_values, self.sets.counted_offsets)
        numbers, bounds = _number_features(documents, features)
        owners = np.repeat(np.arange(self.n), np.diff(bounds))
        by_run = np.argsort(numbers, kind="stable")[np.count_nonzero(numbers == 0):]
        begins = np.cumsum(np.bincount(numbers[by_run], minlength=len(features) + 1))
        runs = Runs(np.arange(len(features)), begins, owners[by_run], np.ones(len(by_run), np.uint8))
        runs = merge_runs(runs.where(runs.sizes > 1), MERGED, self.n)
        roots = documents["root"].to_numpy() if "root" in documents.column_names else None
        self.kernel = RunPairs(bitmaps, how.threshold, runs.begins, runs.documents.astype(np.uint32),
                               np.zeros(len(runs.groups), np.uint8), runs.whole, roots)

    def compare(self, documents: NDArray[np.uint32], which: int) -> Iterator[Scored]:
        """Yield the accepted pairs, a before b, of these documents and the representatives that they meet: see RunPairs."""
        for start in range(0, len(documents), PART):
            met = np.stack(self.kernel.meet(documents[start : start + PART], which)).astype(np.int64)
            a, b = np.sort(met, axis=0)
            allowed = (a < b) & (self.ranks[b] >= self.how.first_new)
            if self.scopes is not None:
                allowed &= (self.scopes[a] == self.scopes[b]).all(axis=1)
            yield from self.how.accept(self.sets, a[allowed], b[allowed])

    def joins(self, documents: NDArray[np.uint32], which: int) -> tuple[Ints, Ints]:
        """Return such pairs (a, b) of which b may join a, sorted."""
        assert self.how.threshold is not None
        found = Scored.merged(list(self.compare(documents, which)), self.n)
        joined = found.of_b >= self.how.threshold
        return found.a[joined], found.b[joined]


def find_representatives(block: Any, *, judgement: Judgement) -> Any:
    """Find the documents of a block that represent themselves according to the pairs within the block."""
    block = block.sort_by("rank")
    meetings = _RunMeetings(block, np.unique(_read_features(block)[0]), judgement)
    own = np.arange(meetings.n, dtype=np.uint32)
    labels, best = own.astype(np.int64), np.full(meetings.n, -1.0)
    for start in range(0, meetings.n, STEP):
        documents = own[start : start + STEP]
        a, b = meetings.joins(documents, BEFORE)
        labels[b] = a
        proposed = documents[labels[documents] == documents]
        meetings.kernel.propose(proposed)
        a, b = meetings.joins(proposed, PROPOSED)
        star_ascending(a, b, np.ones(len(a)), False, best, labels)
        meetings.kernel.settle(proposed, (labels == own).view(np.uint8))
    return block.filter(pa.array(labels == own))


def compare_holders(batches: Batches, *, block: Any, judgement: Judgement, either: bool) -> Iterator[Any]:
    """Compare documents of long runs with the documents of a block.

    Yields accepted pairs like `scored_batch`; the block has `a` or, with `either`, one of both. A row with a = b says that
    a document of the block was itself among the compared documents. Holds the block, and 32 MB of others.
    """
    ranks, features = block["rank"].to_numpy(), np.unique(_read_features(block)[0])
    for others in _group_rows(batches):
        their = others["rank"].to_numpy()
        inside = np.isin(their, ranks)
        here = their[inside]
        numbers, bounds = _number_features(others, features)
        wanted = ~inside & (np.diff(np.append(0, np.cumsum(numbers > 0))[bounds]) > 0)
        if not either:
            wanted &= their > ranks.min()
        others = others.filter(pa.array(wanted))
        both = pa.concat_tables([block, others], promote_options="permissive").sort_by("rank")
        meetings = _RunMeetings(both, features, judgement)
        of_block = np.isin(meetings.ranks, ranks)
        own = np.arange(meetings.n, dtype=np.uint32)
        meetings.kernel.propose(own[of_block])
        if either:
            meetings.kernel.settle(own[of_block], of_block.view(np.uint8))
        ones = np.ones(len(here))
        yield scored_batch(here, here, ones, ones, ones)
        for a, b, *scores in meetings.compare(own[~of_block | np.isin(meetings.ranks, here)],
                                                  BEFORE if either else PROPOSED):
            yield scored_batch(meetings.ranks[a], meetings.ranks[b], *scores)


def _group_rows(batches: Batches) -> Iterator[Any]:
    """Yield documents in tables of bounded size."""
    held: list[Any] = []
    for batch in drop_empty(batches):
        held.append(batch)
        if sum(part.nbytes for part in held) >= IN_MEMORY:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
