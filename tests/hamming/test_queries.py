"""Single queries, and the scan of fingerprints that are in no table yet."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest

import ndcore as nd
from ndcore._hamming import Level, near_rows
from ndcore.hamming.queries import Recent


def near(value, k, rng):
    for bit in rng.sample(range(64), rng.randrange(k + 1)):
        value ^= 1 << bit
    return value


@pytest.mark.parametrize("ids", [None, "int", "str", "bytes"])
@pytest.mark.parametrize("compress", [False, True])
def test_single_queries_find_what_a_scan_finds(ids, compress):
    """Find fingerprints in levels and in the buffer, repeated and removed ones among them."""
    rng = random.Random(2)
    centres = [rng.getrandbits(64) for _ in range(300)]
    values = [near(rng.choice(centres), 3, rng) for _ in range(5000)] + centres[:40] * 3
    named = {"int": lambda i: 7 * i - 3, "str": "row {}é".format, "bytes": lambda i: b"%d" % i, None: lambda i: i}[ids]
    names = [named(i) for i in range(len(values))]
    index = nd.HammingIndex(values[:4500], None if ids is None else names[:4500], compress=compress)
    for at in range(4500, len(values)):
        index.add([values[at]], None if ids is None else [names[at]])
    removed = set(range(0, len(values), 9))
    index.remove([names[i] for i in sorted(removed)])
    for _ in range(150):
        query = near(rng.choice(centres), 3, rng)
        expected = sorted(((x ^ query).bit_count(), i) for i, x in enumerate(values)
                          if (x ^ query).bit_count() <= 3 and i not in removed)
        found, distances = index.query(query)
        assert list(zip(distances.tolist(), found.tolist(), strict=True)) == [(d, names[i]) for d, i in expected]
        assert distances.dtype == np.int64
    assert [len(column) for column in nd.HammingIndex().query(3)] == [0, 0]
    for wrong in (-1, 1 << 64, 1.5, [3]):
        with pytest.raises((TypeError, ValueError), match="fingerprint"):
            index.query(wrong)


def test_recent_fingerprints_are_scanned():
    recent = Recent(np.array([0, 7, 2**64 - 1, 1], np.uint64), 100)
    assert recent.near(0, 1) == ([100, 103], [0, 1])
    assert recent.near(2**63, 0) == ([], [])


class Finding:
    """A searcher that finds these positions."""

    def __init__(self, *ranks):
        self.ranks = list(ranks)

    def probe_one(self, query):
        return (self.ranks, [query] * len(self.ranks)) if self.ranks else None


def refused(what, n):
    return ValueError(f"a {what} is not one of {n}")


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_positions_of_a_damaged_file_are_refused(dtype):
    """Refuse a position, a row and the place of a row before anything is read by them."""
    def near(ranks, rows, starts, limit):
        level = Level(Finding(*ranks), np.array(rows, dtype), starts and np.array(starts), limit, refused)
        return near_rows([SimpleNamespace(level=level)], None, 2, 64, 3, None)

    assert near([1, 0], [7, 5], None, None) == ([5, 7], [2, 2])
    assert near([0], [1, 0, 2], [0, 2, 3], 3) == ([0, 1], [2, 2])
    assert near([], [0], None, 1) == ([], [])
    for damaged, message in [(([2], [0, 1], None, 2), "fingerprint that was found is not one of 2"),
                             (([2], [0, 1, 2], [0, 2, 3], 3), "fingerprint that was found is not one of 2"),
                             (([0], [2, 1], None, 2), "row is not one of 2"),
                             (([0], [0, 1], [0, 3], 2), "place of a row is not one of 2"),
                             (([0], [0, 1], [-1, 1], 2), "place of a row is not one of 2")]:
        with pytest.raises(ValueError, match=message):
            near(*damaged)
