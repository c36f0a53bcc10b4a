"""Clusters on Spark equal the local ones, to the last id, class, resemblance and pair."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from generated import corpus
from sparks import as_binary, check_rows, frame, settings

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.spark import cluster

WORDS = nd.Shingling(width=2)


def check(got: Any, expected: nd.Clustering) -> None:
    """Assert that a clustering of Spark is the local one."""
    check_rows(got, expected, range(len(expected)), expected.labels.tolist())
    pairs = sorted((row.a.id, row.b.id, row.common, row.in_a, row.in_b) for row in got.pairs.collect())
    overlaps = expected.pairs.overlaps
    columns = (expected.pairs.a, expected.pairs.b, overlaps.common, overlaps.in_a, overlaps.in_b)
    assert pairs == [tuple(row) for row in zip(*(column.tolist() for column in columns), strict=True)] and pairs
    common = sorted((row.value % 2**64, row.holders, row.example.id) for row in got.common.collect())
    assert common == sorted(zip(*(column.tolist() for column in expected.common), strict=True))
    assert got.parameters == expected.parameters and got.floor == expected.floor


@pytest.mark.slow
@pytest.mark.parametrize(("partitions", "adaptive", "options", "task_pairs"), [
    (7, False, {"sketcher": nd.ModSketcher("adaptive", shingling=WORDS), "max_holders": 6}, 20),
    (13, True, {"sketcher": nd.ModSketcher(2, shingling=WORDS), "policy": "containment", "cluster": "components",
                "least": 3, "threshold": 0.6, "tell_apart": False}, 20),
    (1, True, {"sketcher": nd.BottomSketcher(32, shingling=WORDS), "method": "super-shingles", "run": 2,
               "cluster": "greedy"}, 1 << 22),
])
def test_the_local_result(spark, partitions, adaptive, options, task_pairs):
    rng = random.Random(partitions)
    head = " ".join(f"head{i}" for i in range(30))
    texts = as_binary([f"{head} {text}" if i % 3 else text for i, text in enumerate(corpus(rng, 60))])
    texts += [b"", b"", b"one", b"ONE!", b"\xff\xff", b"a b c d e f g h", b"A b c d e f g h."]
    df = frame(spark, list(enumerate(texts)), "id bigint, text binary", partitions, partitions)
    expected = nd.cluster(texts, **options)
    if "max_holders" in options:
        assert len(expected.common.value) > 5
    with settings(spark, {"spark.sql.adaptive.enabled": str(adaptive).lower()}):
        got = cluster(df, id="id", task_pairs=task_pairs, **options)
        check(got, expected)
    assert sum(got.counts().values()) == len(texts)
    assert np.array_equal(sorted(row.id for row in got.kept(df).collect()), np.flatnonzero(expected.codes == 0))


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"guard": 0.4}, TypeError, "guard=… is an option of ndcore.cluster, and not available on Spark"),
    ({"by": [1]}, TypeError, "not available on Spark, because clusters on Spark carry no labels and keys"),
    ({"cluster": "popular"}, ValueError, "cluster"),
    ({"policy": "containment", "method": "features"}, ValueError, "signatures do not tell containment"),
    ({"method": "words"}, ValueError, "method"),
    ({"text": "id"}, TypeError, "text='id' is a column of type bigint"),
])
def test_what_is_refused(spark, options, error, message):
    df = spark.createDataFrame([(1, "a")], "id bigint, text string")
    with pytest.raises(error) as caught:
        cluster(df, **{"id": "id", **options})
    assert message in str(caught.value)
