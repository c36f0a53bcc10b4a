"""The table of weights of fingerprints against a dict."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ndcore._simhash import WeightTable

MISSING = -3


def make_fingerprints(n: int) -> np.ndarray:
    """Return n different fingerprints, with the least and the greatest of all where there is room."""
    drawn = np.random.default_rng(n).integers(2, 1 << 63, n, np.uint64)
    return np.unique(np.concatenate([np.array([0, (1 << 64) - 1], np.uint64), drawn]))[:n]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 1000])
@pytest.mark.parametrize("seed", [0, 7])
def test_weights_are_found_by_their_fingerprints(n, seed):
    fingerprints = make_fingerprints(n)
    weights = np.random.default_rng(n).integers(-(1 << 31), 1 << 31, n).astype(np.int32)
    table = WeightTable(fingerprints, weights, MISSING, seed)
    asked = np.concatenate([fingerprints[::-1], fingerprints[:5], fingerprints + np.uint64(1)])
    expected = dict(zip(fingerprints.tolist(), weights.tolist(), strict=True))
    assert table.find(asked).tolist() == [expected.get(fingerprint, MISSING) for fingerprint in asked.tolist()]
    assert table.find(asked[:0]).dtype == np.int32 and len(table.find(asked[:0])) == 0


def test_more_fingerprints_than_one_step_asks_for_and_several_threads():
    fingerprints = make_fingerprints(500)
    table = WeightTable(fingerprints, np.arange(500, dtype=np.int32), MISSING, 1)
    asked = np.arange(1 << 18, dtype=np.uint64)
    asked[::7] = fingerprints[np.arange(len(asked[::7])) % 500]
    expected = np.full(len(asked), MISSING)
    expected[asked == 0] = 0
    expected[::7] = np.arange(len(asked[::7])) % 500
    with ThreadPoolExecutor(4) as threads:
        for weights in threads.map(table.find, [asked] * 4):
            assert weights.tolist() == expected.tolist()
