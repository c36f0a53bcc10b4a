"""Pairs of rows against two plain loops."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore.hamming.row_pairs import collected, ranges, row_pairs


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=8), data=st.data())
def test_every_pair_of_rows_comes_once_and_in_order(sizes, data):
    """Draw pairs of fingerprints with distances; `sizes` has the rows of each fingerprint."""
    numbers = data.draw(st.permutations(range(sum(sizes))))
    starts = np.cumsum([0, *sizes])
    rows = np.concatenate([sorted(numbers[a:b]) for a, b in pairwise(starts.tolist())])
    possible = [(x, y) for x in range(len(sizes)) for y in range(x)]
    near = data.draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    holder = np.repeat(np.arange(len(sizes)), sizes)
    distances = {(x, y): 1 + i for i, (x, y) in enumerate(near)}
    expected = []
    for i, a in enumerate(rows.tolist()):
        for j, b in enumerate(rows.tolist()):
            x, y = sorted((int(holder[i]), int(holder[j])), reverse=True)
            if a < b and (x == y or (x, y) in distances):
                expected.append((a, b, distances.get((x, y), 0)))
    x, y = np.array(near, np.int64).reshape(-1, 2).T
    found = row_pairs(rows, starts, x, y, np.arange(1, 1 + len(near)), 10_000)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == sorted(expected)
    if max(sizes) == 1:
        alone = row_pairs(rows, None, x, y, np.arange(1, 1 + len(near)), 10_000)
        assert all((one == other).all() for one, other in zip(found, alone, strict=True))


def test_more_than_are_wanted_are_refused():
    with pytest.raises(ValueError, match=r"are 10 pairs, 4 of them of repeated fingerprints \(one has 3 rows\); at most 8"):
        row_pairs(np.arange(5), np.array([0, 3, 5]), np.array([1]), np.array([0]), np.array([1]), 8)


def test_too_many_pairs_end_the_search():
    def parts():
        yield np.zeros((3, 2), np.uint64)
        yield np.ones((3, 2), np.uint64)
        raise AssertionError("asked for more")

    with pytest.raises(ValueError, match="more than 5 pairs of different fingerprints"):
        collected(parts(), 5)
    assert collected([np.zeros((3, 2), np.uint64), np.ones((2, 2), np.uint64)], 5)[:, 0].tolist() == [0, 0, 0, 1, 1]
    assert collected([], 5).shape == (0, 2)


def test_ranges():
    assert ranges(np.array([5, 9, 0]), np.array([2, 0, 3])).tolist() == [5, 6, 0, 1, 2]
    assert ranges(np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == []
