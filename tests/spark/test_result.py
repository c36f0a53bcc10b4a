"""Verdicts by key from labels by rank: classes, resemblances, sizes of clusters, kept rows."""

from __future__ import annotations

import math

import pytest

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql import functions as F

from ndcore.dedup.rules import Rules
from ndcore.spark.documents import SparkDocuments
from ndcore.spark.result import NearDuplicateFrames, conclude
from ndcore.spark.verification import SCORED

EXPECTED = {  # representative, of against, class, resemblance, size
    "a": ("a", False, "kept", 1.0, 5), "b": ("a", False, "identical", 1.0, 5), "c": ("a", False, "lexical", 1.0, 5),
    "d": ("a", False, "shingle", 1.0, 5), "e": ("a", False, "chained", 0.5, 5), "f": ("old", True, "near", 0.8, 2),
    "g": ("g", False, "kept", 1.0, 2), "h": ("g", False, "identical", math.nan, 2),
}


@pytest.mark.slow
def test_verdicts(spark, work):
    ranked = spark.createDataFrame(
        [(rank, (name,), name == "old", name not in "gh") for rank, name in enumerate(["old", *EXPECTED])],
        "rank bigint, key struct<id:string>, against boolean, valid boolean")
    followers = spark.createDataFrame([(2, 1, "identical"), (3, 1, "lexical"), (8, 7, "identical")],
                                      "rank bigint, leader bigint, how string")
    labels = spark.createDataFrame([(4, 1, 1.0), (5, 1, 0.5), (6, 0, 0.8)], "rank bigint, label bigint, resemblance double"
                                   ).withColumn("score", F.col("resemblance"))
    pairs = spark.createDataFrame([(0, 6, 0.8, 0.8, 0.8), (1, 4, 1.0, 1.0, 1.0)], SCORED)
    verdicts, by_key = conclude(work, SparkDocuments(ranked, followers, 1), labels, pairs, None, Rules())
    rows = verdicts.toArrow().to_pylist()
    found = {row["id"]: (row["representative"]["id"], row["against"], row["class"], row["resemblance"], row["cluster_size"])
             for row in rows}
    assert str(found) == str({name: EXPECTED[name] for name in found}) and set(found) == set(EXPECTED)
    assert sorted((row.a.id, row.b.id, row.resemblance) for row in by_key.collect()) == [("a", "d", 1.0), ("old", "f", 0.8)]
    design, rules = nd.FilterDesign.of(4, 3, threshold=0.8), Rules()
    recipe = rules.recipe(nd.MinHasher().recipe, design)
    result = NearDuplicateFrames(verdicts, {"id": "id"}, work, by_key, rules, design, recipe, None, 0)
    df = spark.createDataFrame([(name, name * 2) for name in EXPECTED], "id string, text string")
    kept = result.kept(df)
    assert sorted(map(tuple, kept.collect())) == [("a", "aa"), ("g", "gg")] and kept.columns == ["id", "text"]
    assert list(result.counts()) == ["identical", "kept", "chained", "lexical", "near", "shingle"]
