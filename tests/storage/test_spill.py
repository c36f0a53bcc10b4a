"""Arrays and sets that grow past a limit into a temporary file: the same content either way."""

import errno
import itertools
import os
import pickle

import numpy as np
import pytest

from ndcore.storage import spill
from ndcore.storage.spill import ScratchArrays, SpooledArray, SpooledColumn, SpooledSets


@pytest.mark.parametrize("limit", [None, 10**6, 100, 0])
@pytest.mark.parametrize("sizes", [[], [0], [3], [3, 0, 5, 1]])
def test_arrays(limit, sizes):
    rng = np.random.default_rng(len(sizes))
    chunks = [rng.integers(0, 2**32, (size, 7), np.uint32) for size in [0, *sizes]]
    spooled = SpooledArray(np.uint32, limit)
    for chunk in chunks:
        spooled.append(chunk)
    expected = np.concatenate(chunks)
    assert len(spooled) == len(expected) and spooled.nbytes == expected.nbytes
    whole = spooled.array()
    assert whole.shape == expected.shape and whole.dtype == np.uint32 and (whole == expected).all()
    assert isinstance(whole, np.memmap) == (limit is not None and expected.nbytes > limit)


@pytest.mark.parametrize("limit", [None, 10**6, 4000])
def test_the_memory_of_a_small_chunk_behind_the_first_can_be_used_again_at_once(monkeypatch, limit):
    monkeypatch.setattr(spill, "BLOCK", 256)
    rng = np.random.default_rng(5)
    spooled, expected = SpooledArray(np.uint32, limit), []
    for size in (1, 0, 2, *rng.integers(1, 15, 100).tolist(), 40, 3):  # 40 rows are a block of their own
        chunk = rng.integers(0, 2**32, (size, 4), np.uint32)
        expected.append(chunk.copy())
        spooled.append(chunk)
        if chunk.nbytes < 256 and len(expected) > 1:
            chunk[:] = 0
    assert (spooled.array() == np.concatenate(expected)).all()


@pytest.mark.parametrize("limit", [None, 10**6, 100, 0])
def test_columns_are_read_between_additions(limit):
    column, expected = SpooledColumn("q", limit), []
    assert len(column) == 0 and column.values().tolist() == []
    for first in range(0, 60, 20):
        for value in range(first, first + 5):
            column.append(value)
        column.extend(np.arange(first + 5, first + 20))
        expected += range(first, first + 20)
        assert len(column) == len(expected) and column.values().tolist() == expected
        assert column.values().tolist() == expected
    assert column.values().dtype == np.int64
    letters = SpooledColumn("B", limit)
    letters.extend(b"abc")
    letters.append(100)
    assert letters.values().tobytes() == b"abcd"


@pytest.mark.parametrize("limit", [None, 100])
def test_arrays_are_joined(limit):
    arrays = [np.arange(24, dtype=np.uint32).reshape(8, 3), np.zeros((0, 3), np.uint32), np.ones((5, 3), np.uint32)]
    spooled = SpooledArray(np.uint32, limit, (3,))
    for rows in arrays:
        spooled.append(rows)
    whole = spooled.array("r+")
    assert (whole == np.concatenate(arrays)).all() and whole.dtype == np.uint32
    assert isinstance(whole, np.memmap) == (limit is not None)
    whole[3] = 7
    assert whole[3].tolist() == [7, 7, 7]


@pytest.mark.parametrize("limit", [10**6, 200, 0])
def test_sets(limit):
    rng = np.random.default_rng(5)
    sets = [np.unique(rng.integers(0, 2**64, size, np.uint64)) for size in (4, 0, 30, 1, 17)]
    spooled = SpooledSets(limit)
    for some in (sets[:2], [], sets[2:]):
        offsets = np.cumsum([0, *map(len, some)]).astype(np.int64)
        spooled.append(np.concatenate([np.empty(0, np.uint64), *some]), offsets)
    wanted = np.array([4, 0, 1, 4, 2])
    assert len(spooled) == 5 and spooled.sizes(wanted).tolist() == [17, 4, 0, 17, 30]
    assert spooled.spilled == (limit < 8 * 52)
    for _ in range(2):
        values, offsets = spooled.values(), spooled.offsets
        assert not values.flags.writeable and values.dtype == np.uint64 and type(values) is np.ndarray
        assert [values[a:b].tolist() for a, b in itertools.pairwise(offsets)] == [members.tolist() for members in sets]


@pytest.mark.parametrize("limit", [100, 0])
def test_no_sets(limit):
    spooled = SpooledSets(limit)
    assert len(spooled) == 0 and spooled.values().tolist() == [] and spooled.offsets.tolist() == [0] and not spooled.spilled
    assert spooled.sizes(np.empty(0, np.int64)).tolist() == []


@pytest.mark.parametrize("limit", [1, 1000])
def test_sets_are_pickled_wherever_they_are(limit):
    spooled = SpooledSets(limit)
    spooled.append(np.array([1, 2, 9], np.uint64), np.array([0, 2, 2, 3]))
    again = pickle.loads(pickle.dumps(spooled))
    assert spooled.spilled == (limit == 1) and len(again) == 3
    assert again.values().tolist() == [1, 2, 9] and again.offsets.tolist() == [0, 2, 2, 3]


@pytest.mark.parametrize("limit", [None, 0, 40])
def test_an_array_is_taken_and_changed(limit):
    spooled = SpooledArray(np.uint64, limit, (2,))
    for row in range(5):
        spooled.append(np.full((1, 2), row, np.uint64))
    taken = spooled.take()
    taken += 1
    assert taken.tolist() == [[row + 1, row + 1] for row in range(5)]
    assert type(taken) is np.ndarray and SpooledArray(np.uint64, limit, (2,)).take().shape == (0, 2)


def files_of(arrays):
    return [array for array in arrays if isinstance(array.base, np.memmap)]


def test_scratch_arrays_are_files_beyond_the_limit():
    scratch = ScratchArrays(1000)
    first, second = scratch.empty(100, np.uint64), scratch.empty((3, 10), np.uint64)
    third = scratch.empty(20, np.uint64)
    assert files_of([first, second, third]) == [second] and second.shape == (3, 10)
    second[:] = np.arange(30).reshape(3, 10)
    assert second.sum() == 435 and scratch.empty(0, np.uint32).shape == (0,)
    del first  # its bytes are free again
    again = scratch.empty(100, np.uint64)
    assert not files_of([again, ScratchArrays(None).empty(10_000, np.uint64)])


@pytest.mark.parametrize("fallocate", [True, False])
def test_a_full_disk_is_told_before_a_map_is_written(monkeypatch, fallocate):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    if fallocate:
        monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
        with pytest.raises(OSError, match="set TMPDIR"):
            ScratchArrays(0).empty(100, np.uint64)
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    assert ScratchArrays(0).empty(100, np.uint64).shape == (100,)
