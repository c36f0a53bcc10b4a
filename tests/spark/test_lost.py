"""Lost shingles on Spark: the local counts, for leaders, for those that equal one, and for versions."""

from __future__ import annotations

import pytest
from sparks import check_verdicts, frame

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.spark import near_duplicates


@pytest.mark.slow
def test_versions_and_copies(spark):
    words = [f"w{i}" for i in range(30)]
    texts = [" ".join(words), " ".join([*words[:28], "own", "other"]), " ".join([*words[:28], "Own", "other"]), "other page",
             "quite another text", "", " ".join([*words, "x"])]
    sites = [0, 1, 2, 3, 3, 3, 0]
    options = {"threshold": 0.8, "shingling": nd.Shingling(width=1), "lost": True}
    expected = nd.near_duplicates(texts, one_per=sites, **options)
    assert expected.lost.tolist() == [0, 1, 1, 0, 3, 0, 1]
    df = frame(spark, list(zip(range(7), texts, sites, strict=True)), "id int, text string, site int", 3, 1)
    got = near_duplicates(df, id="id", one_per="site", **options)
    check_verdicts(got, expected, range(7))
    assert got.losses() == {"shingles": 6, "documents": 4}
