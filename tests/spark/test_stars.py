"""Representatives on Spark: components, and stars of pairs that fit in a task, or take rounds."""

from __future__ import annotations

import itertools
import random

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.reference import clustering
from ndcore.spark.stars import choose_representatives, find_components

PAIRS = "a bigint, b bigint, resemblance double"


@pytest.mark.slow
@pytest.mark.parametrize(("cluster", "bound"), [("star", 1 << 20), ("star", 12)])
def test_representatives(spark, work, cluster, bound):
    rng = random.Random(3)
    pairs = {(i, i + 1) for i in range(25)} | {(rng.randrange(30, 60), rng.randrange(60, 100)) for _ in range(20)}
    rows = [(a, b, rng.choice([0.8, 0.9, 1.0])) for a, b in sorted(pairs)]
    labels = (clustering.star if cluster == "star" else clustering.greedy)(100, rows)
    measured = {(a, b): resemblance for a, b, resemblance in rows}
    df = spark.createDataFrame(rng.sample(rows, len(rows)), PAIRS).repartition(4)
    found = choose_representatives(work, df, cluster, first_new=0, bound=bound).collect()
    assert sorted(map(tuple, found)) == [(i, label, measured[label, i]) for i, label in enumerate(labels) if label != i]


@pytest.mark.slow
def test_components(spark, work):
    order = random.Random(2).sample(range(60), 60)
    chain = list(itertools.pairwise(order))
    pairs = {(min(pair), max(pair)) for pair in [*chain[:40], *((0, i) for i in range(100, 120)), (200, 201)]}
    roots = clustering.components(300, [(a, b, 1.0) for a, b in pairs])
    rows = spark.createDataFrame([(a, b, 0.9) for a, b in pairs], "a bigint, b bigint, resemblance double").repartition(5)
    found = {(row.a, row.b) for row in find_components(work, rows, 20).collect()}
    assert found == {(root, i) for i, root in enumerate(roots) if root != i}
