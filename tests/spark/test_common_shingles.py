"""Common shingles on Spark: those of the local function, of each label its own, and never more than tasks can hold."""

from __future__ import annotations

import numpy as np
import pytest
from sparks import check_verdicts, frame

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.spark import common_shingles, near_duplicates

WORDS = nd.Shingling(width=1)


def pages(first: int, n: int) -> list[str]:
    return [f"menu page own{i}x own{i}y own{i // 2}z" for i in range(first, first + n)]


@pytest.mark.slow
def test_each_label_counts_for_itself_and_versions_do_not(spark):
    """In x, 20 different pages have the menu; in y, 20 documents that are 19; in z, 20 of which one is a version."""
    texts = [*pages(0, 20), *pages(40, 19), "MENU page own40x own40y own20z!", *pages(80, 20), "other", "menu other"]
    by = [*"x" * 20, *"y" * 20, *"z" * 20, "none", "x"]
    one_per = list(range(len(texts)))
    one_per[59] = 58
    rows = list(zip(range(len(texts)), texts, by, one_per, strict=True))
    df = frame(spark, rows, "id bigint, text string, host string, url bigint", 4, 1)
    options = {"threshold": 0.3, "shingling": WORDS, "drop_common": 0.5, "filter": "lsh"}
    expected = nd.near_duplicates(texts, by=by, one_per=one_per, **options)
    got = near_duplicates(df, id="id", by="host", one_per="url", **options)
    check_verdicts(got, expected, range(len(texts)))
    assert got.common_shingles == expected.common_shingles == 2  # menu and page, in x
    assert np.isnan(got.verdicts.where("id = 59").first().score)


@pytest.mark.slow
def test_too_many_are_refused(spark, monkeypatch):
    monkeypatch.setattr(common_shingles, "MOST", 1)
    df = frame(spark, list(enumerate(pages(0, 20))), "id bigint, text string", 2)
    with pytest.raises(ValueError, match=r"drop_common=0\.5: more than 1 shingles are common.*give a larger share"):
        near_duplicates(df, id="id", shingling=WORDS, drop_common=0.5)
