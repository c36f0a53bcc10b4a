"""Digests and hashes that tell equal documents."""

from __future__ import annotations

import numpy as np

from ndcore.text.digests import first_equal, repeated


def test_documents_with_one_hash_are_repeated():
    hashes = np.array([3, 5, 3, 5, 7, 3], np.uint64)
    for among, expected in (([1] * 6, [1, 1, 1, 1, 0, 1]), ([1, 1, 0, 0, 1, 0], [0] * 6),
                            ([1, 1, 0, 0, 1, 1], [1, 0, 0, 0, 0, 1])):
        assert repeated(hashes, np.array(among, np.bool_)).tolist() == np.array(expected, np.bool_).tolist()
    assert repeated(hashes[:0], np.ones(0, np.bool_)).tolist() == []


def test_the_first_of_equal_digests():
    digests = np.array([[1] * 16, [2] * 16, [1] * 16, [2] * 16, [1] * 16], np.uint8)
    assert first_equal(digests).tolist() == [0, 1, 0, 1, 0]
    assert first_equal(digests, [np.array([0, 0, 1, 0, 1])]).tolist() == [0, 1, 2, 1, 2]
    assert first_equal(digests, rank=np.array([4, 3, 2, 1, 0])).tolist() == [4, 3, 4, 3, 4]
    assert first_equal(digests[:1]).tolist() == [0] and first_equal(digests[:0]).tolist() == []
