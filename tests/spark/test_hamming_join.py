"""The join of fingerprints on Spark: the local matches, sorted and distinct."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.spark import hamming_join


def fingerprints(n: int, seed: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return fingerprints with clusters, repeats and the highest bit."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 1 << 64, n // 8, np.uint64, endpoint=False)
    flips = np.uint64(1) << rng.integers(0, 64, n).astype(np.uint64)
    return flips ^ base[rng.integers(0, len(base), n)]


def test_the_local_matches(spark: Any) -> None:
    collection, queries = fingerprints(200, 1), fingerprints(200, 1)[:50]
    expected = nd.hamming_join(queries, collection)
    assert len(expected.query) > 100
    rows = [(int(value), i) for i, value in enumerate(collection.view(np.int64))]
    df = spark.createDataFrame(rows, "sketch bigint, name bigint").repartition(5)
    found = hamming_join(queries, df, id="name").collect()
    assert [(row.query, row.id.name, row.distance) for row in found] == [
        tuple(match) for match in zip(*(column.tolist() for column in expected), strict=True)]
    both = hamming_join(df.where("name < 50"), df.union(df), id="name").collect()  # repeated rows
    assert {row.query.name for row in both} == set(range(50)) and len(both) == len(found)
    assert [(row.query.name, row[1:]) for row in both] == [(row.query, row[1:]) for row in found]


def test_no_queries_and_what_is_refused(spark: Any) -> None:
    df = spark.createDataFrame([(1, 5, "x"), (2, None, "y")], "id bigint, sketch bigint, name string")
    assert hamming_join([], df, id="id").count() == 0
    with pytest.raises(Exception, match=r"a fingerprint is missing \(null\) in column 'sketch'"):
        hamming_join([5], df, id="id").collect()
    with pytest.raises(Exception, match="4 bits"):
        hamming_join([5], df.selectExpr("id", "100L as sketch"), 1, id="id", bits=4).collect()
    with pytest.raises(ValueError, match="bits is 256; on Spark fingerprints have 1 to 64 bits"):
        hamming_join([1], df, bits=256, id="id")
    with pytest.raises(TypeError, match="column='name' of fingerprints is of type string; fingerprints are bigint"):
        hamming_join([5], df, id="id", column="name")
    with pytest.raises(TypeError, match=r"span=… is an option of ndcore.hamming_join, and not available on Spark"):
        hamming_join([5], df, id="id", span=(0, 1))
