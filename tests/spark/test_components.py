"""Components on Spark: the kernel's, by rounds of stars."""

from __future__ import annotations

import itertools
import random

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.reference import clustering
from ndcore.spark.stars import find_components


@pytest.mark.slow
def test_components(spark, work):
    order = random.Random(2).sample(range(60), 60)
    chain = list(itertools.pairwise(order))
    pairs = {(min(pair), max(pair)) for pair in [*chain[:40], *((0, i) for i in range(100, 120)), (200, 201)]}
    roots = clustering.components(300, [(a, b, 1.0) for a, b in pairs])
    rows = spark.createDataFrame([(a, b, 0.9) for a, b in pairs], "a bigint, b bigint, resemblance double").repartition(5)
    found = {(row.a, row.b) for row in find_components(work, rows, 20).collect()}
    assert found == {(root, i) for i, root in enumerate(roots) if root != i}
