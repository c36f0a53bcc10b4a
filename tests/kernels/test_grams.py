"""Windows of items in documents: naive search, items of all lengths, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore._grams import MAX_LENGTH, GramHits, Grams

symbols = st.lists(st.integers(0, 3) | st.integers(2**64 - 2, 2**64 - 1), max_size=40)


def packed(rows) -> tuple[np.ndarray, np.ndarray]:
    return np.array([value for row in rows for value in row], np.uint64), np.cumsum([0, *map(len, rows)]).astype(np.int64)


@given(st.lists(symbols, max_size=5), st.lists(symbols, max_size=4), st.sampled_from([1, 2, 5, 6, 7, 13]))
@settings(max_examples=200)
def test_windows_by_naive_search(items, documents, length):
    """Put items into the documents, so that windows of all lengths occur."""
    documents = [document + item for document, item in itertools.zip_longest(documents, items, fillvalue=[])]
    grams = Grams(*packed(items), length)
    windows = [tuple(item[x : x + min(length, len(item))]) for item in items
               for x in range(max(1, len(item) - length + 1) if item else 0)]
    number: dict[tuple[int, ...], int] = {}
    begins = np.flatnonzero(grams.numbers)
    assert len(begins) == len(windows) == grams.starts[-1] and len(grams.numbers) == len(grams.symbols) + 1
    for window, begin in zip(windows, begins.tolist(), strict=True):
        assert tuple(grams.symbols[begin : begin + len(window)].tolist()) == window
        given_number = int(grams.numbers[begin]) - 1
        assert number.setdefault(window, given_number) == given_number
        place = int(grams.places[given_number])
        assert tuple(grams.symbols[place : place + len(window)].tolist()) == window
        assert grams.length_of(np.array([given_number])).tolist() == [len(window)]
    assert sorted(number.values()) == list(range(len(grams.places)))
    hits = GramHits(len(documents), grams)
    hits.take_sets(*packed(documents))
    for i, document in enumerate(documents):
        mine = slice(hits.begins[i], hits.begins[i + 1])
        found = sorted(zip(hits.positions[mine].tolist(), hits.numbers[mine].tolist(), strict=True))
        widths = {len(window) for window in number}
        assert found == sorted((x, number[tuple(document[x : x + n])]) for n in widths
                               for x in range(len(document) - n + 1) if tuple(document[x : x + n]) in number)
    assert np.frombuffer(hits.counted, np.int64).tolist() == [len(document) for document in documents]


@pytest.mark.parametrize("length", [0, MAX_LENGTH + 1])
def test_lengths_are_refused(length):
    with pytest.raises(ValueError, match=f"a window has 1 to {MAX_LENGTH} tokens, got {length}"):
        Grams(*packed([[1]]), length)


@pytest.mark.parametrize("offsets", [[], [0, 2], [0, 0], [1, 1], [0, 1, 0]])
def test_offsets_are_refused(offsets):
    with pytest.raises(ValueError, match="offsets do not ascend from 0 to 1, the number of symbols"):
        Grams(np.ones(1, np.uint64), np.array(offsets, np.int64), 2)
