"""bench/spark_quality.py: its bands and rows, and how it judges. The benchmark itself needs Java and minutes."""

from __future__ import annotations

import benches
import numpy as np
import pytest

pytest.importorskip("pyarrow")
[quality, exact] = benches.imported("spark_quality", "exact")


def test_bands_and_rows_are_those_of_bigcode():
    # "near deduplication" of BigCode: 256 permutations and 0.7 give 25 bands of 10 rows
    assert quality.bands_and_rows(0.7, 256) == (25, 10)


def test_pairs_that_survive_and_documents_dropped_without_a_near_kept_one():
    join = exact.Join(np.array([0, 0, 3]), np.array([1, 2, 4]), np.ones(3))
    # 0 and 1 are kept and near; 3 is near to 4, which is dropped too; 5 resembles nothing
    assert quality.judge(np.array([True, True, False, False, False, False]), join) == (1, 3)
    assert quality.judge(np.array([True, False, False, True, False, True]), join) == (0, 0)
