"""Phases two and three beside the reference: sorted entries in slabs, counted pairs in ranges."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from agreement import cut_small
from samples import as_sketches, collection, parted

from ndcore.collection.cluster import PairingSets, count_pairs, sort_entries
from ndcore.collection.segments import Segments
from ndcore.collection.settings import Job
from ndcore.collection.shelf import MemoryShelf, counted_pairs
from ndcore.reference import collection as reference_collection
from ndcore.reference.collection import Sketch

HOW = {"sketcher": None, "method": "shingles", "policy": "resemblance", "cluster": "star", "guard": None, "least": 8,
       "run": 3, "filter": None, "tell_apart": True, "threads": 2}


def job_of(segments, floor=0.5, **changes):
    """Return a job that counts pairs of these sketches from this containment on."""
    job = Job.of(segments, **HOW, **{"threshold": 0.5, "memory_limit": None, "max_holders": 10, **changes})
    return replace(job, settings=replace(job.settings, threshold=floor))


def quiet(*_):
    """Report nothing."""


def entries_on(shelf):
    """List all entries of the slabs, in their order."""
    return [
        entry for name in shelf.names("entries")
        for entry in zip(*(shelf.get(name)[1][key].tolist() for key in ("keys", "documents")), strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize("memory_limit", [None, 1, 4000])
@pytest.mark.parametrize("seed", range(8))
def test_entries_and_counts_as_the_reference(monkeypatch, seed, memory_limit):
    rng = random.Random(seed)
    cut_small(monkeypatch, slab=rng.choice([1, 50, 1 << 22]), room=rng.choice([0, 10]))
    samples, max_holders = collection(rng, 40, rng.choice([1, None])), rng.choice([1, 4, 1000])
    sketches = as_sketches(samples)
    leaders = reference_collection.collapse(samples)
    taken = np.array([leaders[i] == i and len(sample.members) > 0 for i, sample in enumerate(samples)])
    segments = parted(sketches, [5, 5, 31])
    shelf = MemoryShelf()
    sets = [PairingSets(part.values, part.offsets) for part in segments.parts]
    job = job_of(segments, 0.0, max_holders=max_holders, memory_limit=memory_limit)
    job = replace(job, memory_limit=memory_limit)  # and not half of it
    sort_entries(sets, taken, shelf, job, quiet, keep=True)
    wanted = reference_collection.entries(samples, leaders)
    assert entries_on(shelf) == wanted

    slabs = shelf.get("slabs")[1]["slabs"].astype(object)
    assert slabs[0, 0] == 0 and slabs[-1, 1] == 2**64 - 1 and sum(slabs[:, 2]) == len(wanted)
    assert all(low == high + 1 for low, high in zip(slabs[1:, 0], slabs[:-1, 1], strict=True))
    common = reference_collection.common_shingles(wanted, max_holders)
    found = np.concatenate([shelf.get(name)[1]["common"] for name in shelf.names("runs")])
    assert [tuple(row) for row in found.tolist()] == [tuple(row) for row in common]

    count_pairs(segments, None, shelf, job, quiet)
    counted = [
        pair for part in counted_pairs(shelf, 40)
        for pair in zip(part.a.tolist(), part.b.tolist(), part.overlaps.common.tolist(), strict=True)
    ]  # fmt: skip
    assert counted == [(a, b, times) for (a, b), times in reference_collection.counts(wanted, common).items()]
    ranges = shelf.get("ranges")[1]["ranges"]
    assert ranges[0, 0] == 0 and ranges[-1, 1] == 40 and (ranges[1:, 0] == ranges[:-1, 1]).all()


def test_nothing_to_sort():
    for sets, taken in (
        ([PairingSets(np.empty(0, np.uint64), np.zeros(1, np.int64))], np.empty(0, np.bool_)),
        ([PairingSets(np.empty(0, np.uint64), np.zeros(4, np.int64))], np.ones(3, np.bool_)),
        ([PairingSets(np.array([1, 1], np.uint64), np.array([0, 1, 2]))], np.zeros(2, np.bool_)),
    ):
        shelf = MemoryShelf()
        segments = Segments([as_sketches([Sketch(1, [])] * len(taken), False)])
        sort_entries(sets, taken, shelf, job_of(segments), quiet, keep=True)
        assert entries_on(shelf) == []
        count_pairs(segments, None, shelf, job_of(segments), quiet)
        assert sum(len(part.a) for part in counted_pairs(shelf, len(taken))) == 0


def test_slabs_and_entries_that_do_not_fit_together():
    """Try members that do not ascend, which the keys of sketches refuse before."""
    sets = [PairingSets(np.array([2**63, 1, 2**63 + 1] * 50, np.uint64), np.array([0, 150]))]
    job = job_of(Segments([as_sketches([Sketch(1, [])], False)]), memory_limit=1)
    with pytest.raises(ValueError, match="sketches do not ascend"):
        sort_entries(sets, np.ones(1, np.bool_), MemoryShelf(), job, quiet, keep=False)
