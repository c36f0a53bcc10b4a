"""The search in lists and tables: rows, bitmaps, and Ctrl-C."""

from __future__ import annotations

import itertools
import signal
import time

import numpy as np
import pytest

from ndcore._lookup import Postings
from ndcore._postings import KEY_BYTES, Recent

KEY = bytes(range(KEY_BYTES))


def postings(values):
    made = Recent(values.shape[1], len(values), 32, KEY)
    made.add(np.arange(len(values)), values, 0)
    return Postings(values.shape[1], 32, KEY, (), (made,))


def test_rows_are_searched_one_by_one():
    values = np.array([[1, 2, 3], [1, 2, 4], [5, 2, 3], [6, 7, 8]], np.uint64)
    made = postings(values)
    for need, expected in ((1, [[0, 1, 2], [0, 1, 2], [0, 1, 2], [3]]), (2, [[0, 1, 2], [0, 1], [0, 2], [3]]),
                           (3, [[0], [1], [2], [3]]), (4, [[], [], [], []])):
        offsets, documents = made.search_many(values, need, None)
        assert [documents[i:j].tolist() for i, j in itertools.pairwise(offsets)] == expected
        assert [made.search(row, need, None).tolist() for row in values] == expected
        assert made.search(values[0], need, np.array([0b101], np.uint8)).tolist() == [d for d in expected[0] if d != 1]
        assert made.search(values[0], need, np.zeros(0, np.uint8)).tolist() == []
    assert [array.tolist() for array in made.search_many(values[:0], 1, None)] == [[0], []]


@pytest.mark.parametrize("kinds", [2, 5, 3000])
def test_documents_that_share_values_are_those_of_brute_force(kinds):
    """From rare values, whose chains are sorted, to values that half of the documents have."""
    rng = np.random.default_rng(kinds)
    values = rng.integers(0, kinds, (9000, 7)).astype(np.uint64)
    wanted = rng.integers(0, 256, 1100).astype(np.uint8)  # ends before the last document
    bits = np.unpackbits(wanted, bitorder="little").astype(np.bool_)
    made = postings(values)
    for row in values[:3]:
        shared = (values == row).sum(axis=1)
        for need in (1, 2, 4):
            expected = np.flatnonzero(shared >= need)
            assert made.search(row, need, None).tolist() == expected.tolist()
            assert made.search(row, need, wanted).tolist() == [d for d in expected.tolist() if d < len(bits) and bits[d]]


def test_wrong_shapes_are_refused():
    made = postings(np.zeros((1, 3), np.uint64))
    with pytest.raises(ValueError, match="2 values"):
        made.search(np.zeros(2, np.uint64), 1, None)
    with pytest.raises(ValueError, match="4 values"):
        made.search_many(np.zeros((1, 4), np.uint64), 1, None)
    with pytest.raises(ValueError, match="need is 0"):
        made.search(np.zeros(3, np.uint64), 0, None)


@pytest.mark.thread_unsafe(reason="only the main thread handles signals")
def test_long_searches_hear_signals():
    """Each of many rows finds all documents: the search ends when a signal says so."""
    made = postings(np.zeros((20_000, 4), np.uint64))
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(InterruptedError))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        begin = time.monotonic()
        with pytest.raises(InterruptedError):
            made.search_many(np.zeros((100_000, 4), np.uint64), 2, np.zeros(0, np.uint8))
        assert time.monotonic() - begin < 20
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
