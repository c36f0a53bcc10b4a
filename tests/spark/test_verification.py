"""Shingle sets and blocks on Spark: texts are read for candidates only, and pairs get their exact resemblance."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql import functions as F

from ndcore.phases.verification import Judgement
from ndcore.spark.verification import blocks_by_first, compare_pairs, read_sets
from ndcore.text.inputs import digest

TEXTS = ["a b c d e f", "a b c d e g", "x y", "", "a b c d e f g h"]


@pytest.mark.slow
def test_sets_and_pairs(spark, work):
    shingling = nd.Shingling(width=1)
    design = nd.FilterDesign.of(8, 1, threshold=0.5)
    how = Judgement(nd.MinHasher(num_perm=8, shingling=shingling), design, 0, 0.7, 0, 0)
    texts = spark.createDataFrame([((i,), False, text) for i, text in enumerate(TEXTS)],
                                  "key struct<id:bigint>, against boolean, text string").repartition(3)
    wanted = spark.createDataFrame([(10 * i, (i,), False, digest(TEXTS[i].encode())) for i in (0, 1, 4)],
                                   "rank bigint, key struct<id:bigint>, against boolean, bytes binary").withColumn(
                                       "runs", F.expr("cast(null as array<bigint>)"))
    sets = read_sets(work, texts, wanted, how)
    sizes = {row.rank: len(row.members) // 8 for row in sets.collect()}
    assert sizes == {0: 6, 10: 6, 40: 8}
    pairs = spark.createDataFrame([(-1, 0, 10), (-1, 0, 40), (1, 10, 40)], "block bigint, a bigint, b bigint")
    assert sorted(tuple(row)[:3] for row in compare_pairs(work, pairs, sets, how, "pairs").collect()) == [
        (0, 10, 5 / 7), (0, 40, 6 / 8), (10, 40, 6 / 8)]
    measured = compare_pairs(work, blocks_by_first(pairs.select("a", "b")), sets, replace(how, threshold=None), "all pairs")
    assert sorted(tuple(row)[:3] for row in measured.collect()) == [(0, 10, 5 / 7), (0, 40, 6 / 8), (10, 40, 6 / 8)]


@pytest.mark.slow
@pytest.mark.parametrize(("second", "message"), [
    ({"a": "a b c d e"}, 'the document {"id":"b"} is not there when the input is read again'),
    ({"a": "a b c d e", "b": "other"}, 'the document {"id":"b"} has another text when the input is read again'),
])
def test_a_second_reading_that_differs(spark, work, second, message):
    how = Judgement(nd.MinHasher(num_perm=8), nd.FilterDesign.of(8, 1, threshold=0.5), 0, 0.7, 0, 0)
    kinds = "key struct<id:string>, against boolean"
    texts = spark.createDataFrame([((name,), False, text) for name, text in second.items()], f"{kinds}, text string")
    wanted = spark.createDataFrame([(rank, (name,), False, digest(b"a b c d e")) for rank, name in enumerate("ab")],
                                   f"rank bigint, {kinds}, bytes binary").withColumn("runs", F.expr("array(rank)"))
    with pytest.raises(Exception) as caught:
        read_sets(work, texts, wanted, how)
    assert message in str(caught.value) and "write the rows as Parquet" in str(caught.value)
