"""Single queries in plain values, and the scan of fingerprints that are in no table yet."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ndcore as nd
from ndcore.hamming.queries import Recent


def near(value, k, rng):
    for bit in rng.sample(range(64), rng.randrange(k + 1)):
        value ^= 1 << bit
    return value


@pytest.mark.parametrize("ids", [None, "int", "str", "bytes"])
@pytest.mark.parametrize("compress", [False, True])
def test_plain_values_are_those_of_a_scan(ids, compress):
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
        assert index.lookup(query) == [(names[i], distance) for distance, i in expected]
        found, distances = index.query(query)
        assert list(zip(found.tolist(), distances.tolist(), strict=True)) == index.lookup(query)
        assert distances.dtype == np.int64
    assert nd.HammingIndex().lookup(3) == []
    for wrong in (-1, 1 << 64, 1.5, [3]):
        with pytest.raises((TypeError, ValueError), match="fingerprint"):
            index.lookup(wrong)


def test_recent_fingerprints_are_scanned():
    recent = Recent(np.array([0, 7, 2**64 - 1, 1], np.uint64), 100)
    assert recent.near(0, 1) == ([100, 103], [0, 1])
    assert recent.near(2**63, 0) == ([], [])
