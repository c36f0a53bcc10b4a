"""Which segments are merged, and that work in the background ends."""

from __future__ import annotations

import itertools
import shutil
import threading
import time
import types

import numpy as np
import pytest

from ndcore import _postings
from ndcore._signals import stoppable
from ndcore.store import segments as files
from ndcore.store.index import GrowingIndex
from ndcore.store.levels import RATIO, plan_merge
from ndcore.store.segments import SegmentFile


def segments(*sizes):
    """Segments of documents one after another."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [SegmentFile(i, ends[i], size, size, 0, (0, 1)) for i, size in enumerate(sizes)]


@pytest.mark.parametrize(("sizes", "most", "first"), [
    ((), None, None), ((5,), None, None),
    ((1, 1), None, 0),  # the first has not twice the documents of the second
    ((2, 1), None, None), ((13, 4, 2, 1), None, 0), ((14, 4, 2, 1), None, 1), ((18, 6, 2, 1), None, None),
    ((100, 4, 3), None, 1), ((6, 4, 3), None, 0),  # the longest run
    ((6, 4, 3), 12, 1), ((6, 4, 3), 6, None), ((6, 4, 1, 1), 9, 2),  # of at most so many documents
    ((2**26, 2**26), None, 0), ((2**26, 2**26 + 1), None, None),  # a segment has a range of 2^27 documents
    ((2**26, 2**26 + 1, 2**20, 2**20), None, 2),
])
def test_the_plan_of_merges(sizes, most, first):
    assert RATIO == 2
    assert plan_merge(segments(*sizes), most) == first


def test_segments_stay_few(tmp_path):
    values = np.arange(5_000, dtype=np.uint64)[:, None]
    with GrowingIndex.create(tmp_path, 1, recent=100) as index:
        for start in range(0, 5_000, 100):
            index.add(np.arange(start, start + 100), values[start : start + 100])
        index.flush()
        index._levels.wait()
        sizes = index.stats()["segments"]
        assert sum(sizes) == 5_000 and plan_merge(segments(*sizes)) is None and len(sizes) <= 7
        assert index.search(values[123], 1).tolist() == [123]
    assert not [thread for thread in threading.enumerate() if thread.name == "ndcore index"]


def test_a_merge_during_a_check_is_no_damage(tmp_path, monkeypatch):
    """The files of a segment go while they are verified; the segment in its place is verified, too."""
    values, verify, seen = np.arange(3_000, dtype=np.uint64)[:, None], files.verify, []
    with GrowingIndex.create(tmp_path, 1, recent=1_000) as index:
        for first, last in ((0, 2_000), (2_000, 3_000)):
            index.add(np.arange(first, last), values[first:last])
            index.flush()
            index._levels.wait()  # else all three tables may become one segment
        assert len(index._levels.opened) == 2

        def merged_meanwhile(directory, name, segment):
            if not seen:
                index._levels._merge(index._levels.opened)
            seen.append(segment.number)
            return verify(directory, name, segment)

        monkeypatch.setattr(files, "verify", merged_meanwhile)
        assert index.check() == []
        assert len(seen) == 2 and seen[1] == index._levels.opened[0].file.number
        assert index.search(values[2_345], 1).tolist() == [2_345]


def test_searches_go_on_during_all_work(tmp_path):
    """A thread searches while documents are added, written and merged: it finds what was there before it began."""
    values = np.arange(4_000, dtype=np.uint64)[:, None] // np.uint64(3)
    wrong, done, known = [], threading.Event(), [0]

    def search(index):
        rng = np.random.default_rng(1)
        while not done.is_set():
            end = known[0]
            if end:
                number = int(rng.integers(0, end))
                found = index.search(values[number], 1).tolist()
                if number not in found or not set(found) <= set(range(number // 3 * 3, number // 3 * 3 + 3)):
                    wrong.append((number, found))

    with GrowingIndex.create(tmp_path, 1, recent=400) as index:
        threads = [threading.Thread(target=search, args=(index,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for start in range(0, 4_000, 250):
            index.add(np.arange(start, start + 250), values[start : start + 250])
            known[0] = start + 250
        index.flush()
        index._levels.wait()
        done.set()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_closing_does_not_wait_for_a_long_merge(tmp_path, monkeypatch):
    began, values = threading.Event(), np.arange(60, dtype=np.uint64)[:, None]

    def endless(*_):
        began.set()
        for _ in stoppable(itertools.repeat(0)):
            time.sleep(0.001)

    with GrowingIndex.create(tmp_path, 1, recent=20) as index:
        with monkeypatch.context() as patch:
            patch.setattr(_postings, "merged", endless)
            index.add(np.arange(60), values)
            index.flush()
            assert began.wait(60)
            index.close()
        assert index.stats()["segments"] == [20, 20, 20]
    with GrowingIndex.open(tmp_path) as index:
        assert index.covered == 60
        index._levels.start()
        index._levels.wait()
        assert index.stats()["segments"] == [60] and index.search(values[7], 1).tolist() == [7]


def test_merges_leave_room_on_the_disk(tmp_path, monkeypatch):
    values = np.arange(100, dtype=np.uint64)[:, None]
    with GrowingIndex.create(tmp_path, 1, recent=20) as index:
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "disk_usage", lambda _: types.SimpleNamespace(free=10))
            index.add(np.arange(100), values)
            index.flush()
            index._levels.wait()
            assert index.stats()["segments"] == [20] * 5 and index.backlog == 5
        index.flush()
        index._levels.wait()
        assert len(index.stats()["segments"]) < 5 and index.backlog == 0 and index.search(values[50], 1).tolist() == [50]
