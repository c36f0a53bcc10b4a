"""The kernel of the prefix filter: each function beside a few obvious lines of Python. C tests have the seams."""

from __future__ import annotations

import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore._candidates import Counts, Marks, Pairs, entries, runs

values = st.integers(0, 9) | st.integers(0, 2**64 - 1)
sets = st.lists(st.sets(values, max_size=25).map(sorted), max_size=12)
CELLS = 1 << 22  # so many that few values share one
PARTIAL = 1 << 31  # of ranks: see prefix.h


def laid_out(listed):
    """Values and offsets, end to end."""
    joined = np.array([z for members in listed for z in members], np.uint64)
    return joined, np.cumsum([0, *map(len, listed)]).astype(np.int64)


@given(sets, st.integers(1, 40), st.data())
def test_counters_are_upper_bounds(listed, cells, data):
    joined, offsets = laid_out(listed)
    weights = data.draw(st.lists(st.integers(0, 70000), min_size=len(listed), max_size=len(listed)))
    mixes = data.draw(st.lists(st.integers(0, 3), min_size=len(listed), max_size=len(listed)))
    counts = Counts(cells)
    counts.add(joined, offsets, np.array(weights, np.uint32), np.array(mixes, np.uint64))
    exact = Counter()
    for members, weight, mix in zip(listed, weights, mixes, strict=True):
        exact.update({z ^ mix: weight for z in members})
    found = counts.at(np.array(sorted(exact), np.uint64))
    assert all(count >= min(exact[z], 65535) for z, count in zip(sorted(exact), found.tolist(), strict=True))


def test_counters_are_exact_where_there_is_room():
    listed = [list(range(i, 60, 3)) for i in range(10)]
    joined, offsets = laid_out(listed)
    counts = Counts(CELLS)
    counts.add(joined, offsets)
    exact = Counter(z for members in listed for z in members)
    wrong = sum(count != exact[z] for z, count in enumerate(counts.at(np.arange(70, dtype=np.uint64)).tolist()))
    assert wrong <= 2


def test_no_count_of_several_threads_is_lost():
    counts = Counts(3)
    joined = np.zeros(2000, np.uint64)
    offsets = np.arange(2001)
    threads = [threading.Thread(target=counts.add, args=(joined, offsets)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts.at(joined[:1]).tolist() == [16000]
    for _ in range(40):
        counts.add(joined, offsets)
    assert counts.at(joined[:1]).tolist() == [65535]


def test_entries_by_hand():
    joined, offsets = laid_out([[1, 2, 3, 4], [3, 4, 5], [4, 9]])
    counts = Counts(CELLS)
    counts.add(joined, offsets)
    documents, lengths = np.array([7, 8, 11], np.uint32), np.array([3, 2, 2])
    ranks = counts.at(np.arange(1, 6, dtype=np.uint64)).tolist()
    assert ranks == [1, 1, 2, 3, 1]  # 9 is in one set, too
    found = entries(counts, joined, offsets, documents, lengths, lengths)
    assert found.tolist() == [[3, 7 << 32 | 3], [3, 8 << 32 | 2], [4, 11 << 32 | 2]]
    whole = np.array([3, 1, 0])
    assert entries(counts, joined, offsets, documents, lengths, whole).tolist() == [
        [3, 7 << 32 | 3], [3, 8 << 32 | PARTIAL | 2], [4, 11 << 32 | PARTIAL | 2]]  # fmt: skip
    marks = Marks(1 << 20)
    marks.add(found)
    assert entries(counts, joined, offsets, documents, lengths, lengths, None, marks).tolist() == [
        [3, 7 << 32 | 3], [4, 7 << 32 | PARTIAL], [3, 8 << 32 | 2], [4, 8 << 32 | PARTIAL], [4, 11 << 32 | 2]]  # fmt: skip


def test_runs_and_pairs_by_hand():
    rows = [(1, 0, 1), (2, 0, 2), (2, 3, 1), (5, 1, 0), (5, 2, 4), (5, 3, 0), (6, 1, 0), (6, 2, 0), (7, 4, 1), (7, 5, 1)]
    listed = np.array([(key, document << 32 | (rank or PARTIAL)) for key, document, rank in rows], np.uint64)
    holders, sizes, whole, longs = runs(listed, 3, 4)  # 2 whole ones of 2 holders; 1 of 3
    assert (sizes.tolist(), whole.tolist(), longs.tolist()) == ([3], [1], [[1, 3]])
    holders, sizes, whole, longs = runs(listed, 4, 4)
    assert holders.tolist() == [0 << 32 | 2, 3 << 32 | 1, 2 << 32 | 4, 1 << 32 | PARTIAL, 3 << 32 | PARTIAL]
    assert (sizes.tolist(), whole.tolist(), longs.tolist()) == ([2, 3], [2, 1], [])
    pairs = Pairs(holders, np.cumsum(sizes, dtype=np.int64), whole, np.full(6, 10), None, 0.5, True, 4)
    assert pairs.volume().tolist() == [1, 1, 1, 2, 0, 0]
    pairs.begin(0, 6, pairs.volume())
    found = []
    while (piece := pairs.next(1)) is not None:
        found += zip(piece[0].tolist(), piece[1].tolist(), strict=True)
    assert sorted(found) == [(0, 3), (1, 2), (2, 3)]


def test_what_does_not_fit_is_refused():
    counts = Counts(5)
    joined, offsets = laid_out([[1, 2], [3]])
    documents, lengths = np.zeros(2, np.uint32), np.ones(2, np.int64)
    for wrong, message in [
        (lambda: Counts(0), "0 cells"), (lambda: Marks(0), "0 cells"),
        (lambda: counts.add(joined[:2], offsets), "3 offsets do not cut 2 values into 2 sets"),
        (lambda: counts.add(joined, offsets, np.ones(1, np.uint32)), "weights has 1 items for 2 sets"),
        (lambda: counts.add(joined, offsets, None, np.ones(3, np.uint64)), "mixes has 3 items"),
        (lambda: entries(counts, joined, offsets, documents[:1], lengths, lengths), "documents has 1 items"),
        (lambda: entries(counts, joined, offsets, documents, lengths, lengths[:1]), "whole has 1 items"),
        (lambda: entries(counts, joined, offsets, documents, -lengths, lengths), "a set has -1 probes"),
        (lambda: runs(np.zeros((2, 3), np.uint64), 1, 1), "entries are rows of a key and an id, got 3 columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()


@pytest.mark.parametrize(
    ("ends", "probing", "sizes", "error"),
    [([2, 4], [1, 1], 4, None), ([2, 3], [1, 1], 4, ValueError), ([2, 2, 4], [1, 1, 1], 4, ValueError),
     ([2, 4], [1, 3], 4, ValueError), ([2, 4], [0, 1], 4, ValueError), ([4], [1, 1], 4, ValueError),
     ([2, 4], [1, 1], 3, IndexError), ([], [], 4, ValueError)])  # fmt: skip
def test_runs_that_are_none_are_refused(ends, probing, sizes, error):
    holders = np.array([0, 1, 2, 3], np.uint64) << np.uint64(32)
    columns = holders, np.array(ends, np.int64), np.array(probing, np.uint32), np.ones(sizes, np.int64)
    arguments = (*columns, None, 0.5, False, 9)
    if error is not None:
        with pytest.raises(error):
            Pairs(*arguments)
        return
    pairs = Pairs(*arguments)
    assert pairs.next(5) is None
    for wrong in (np.zeros(4, np.int64), np.array([1, 1, 1, 2]), np.ones(3, np.int64), np.array([1, -1, 1, 1])):
        with pytest.raises(ValueError, match="volume"):
            pairs.begin(0, 4, wrong)
        assert pairs.next(5) is None


def test_after_a_volume_for_which_there_is_no_memory_nothing_is_begun():
    holders = np.arange(4, dtype=np.uint64) << np.uint64(32)
    columns = holders, np.array([2, 4]), np.ones(2, np.uint32), np.ones(4, np.int64)
    pairs = Pairs(*columns, None, 0.5, False, 9)
    pairs.begin(0, 4, np.ones(4, np.int64))
    with pytest.raises(ValueError, match="too big"):
        pairs.begin(0, 4, np.full(4, 1 << 62))  # the sum is 0 in 64 bits
    assert pairs.next(5) is None
