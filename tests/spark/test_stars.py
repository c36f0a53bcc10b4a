"""Representatives on Spark, with components that fit in a task and components that do not."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.reference import clustering
from ndcore.spark.stars import choose_representatives

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
