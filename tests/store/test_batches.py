"""Batches: the verdicts of one call are those of one page after the other."""

from __future__ import annotations

import numpy as np
import pytest
from stores import Both

from ndcore.store.batches import CROWDED, _sharing

LETTERS = list("abcdefghij")


@pytest.mark.parametrize("seed", range(3))
def test_a_batch_says_what_single_pages_say(tmp_path, seed):
    rng = np.random.default_rng(seed)
    both = Both(tmp_path, threshold=0.4, width=1, evidence=("text", "shingles", "text")[seed])
    for _ in range(3):
        both.decide_many([(int(rng.integers(0, 30)), " ".join(rng.choice(LETTERS, rng.integers(0, 9))), float(i))
                          for i in range(24)])
    both.check()
    both.store.close()


def test_rows_that_share_features():
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 6, (40, 4)).astype(np.uint64) * np.uint64(4) + np.arange(4, dtype=np.uint64)
    valid = rng.random(40) < 0.9
    for need in (1, 2, 3):
        naive = {b: found for b in range(40) if valid[b] and (found := [
            a for a in range(b) if valid[a] and (rows[a] == rows[b]).sum() >= need])}
        assert _sharing(rows, np.flatnonzero(valid), need) == naive


def test_a_crowd_is_left_to_single_decisions(tmp_path):
    n = int(2 * CROWDED ** 0.5)
    assert _sharing(np.ones((n, 2), np.uint64), np.arange(n), 1) is None
    both = Both(tmp_path, width=1)
    both.decide_many([(i, f"one two three four five six {i}", i) for i in range(40)])
    both.check()
    both.store.close()
