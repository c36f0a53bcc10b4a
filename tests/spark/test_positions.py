"""Rows that are left out, or get values, by their places: none is moved, none changes, and keys say which."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from sparks import settings

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql import functions as F

from ndcore.spark.positions import leave_out, with_places
from ndcore.spark.result import Verdicts

NO_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "-1"}


def moved(df: Any) -> list[str]:
    """List the columns that the plan moves between tasks, and that it sends to all tasks."""
    plan = df.sparkSession._jvm.PythonSQLUtils.explainString(df._jdf.queryExecution(), "formatted")
    steps = re.findall(r"^\(\d+\) (?:\w*Exchange).*\n(?:Output|Input) \[\d+\]: \[(.*)\]", plan, re.MULTILINE)
    return [name.partition("#")[0] for step in steps for name in step.split(", ")]


def written(spark: Any, path: Any, n: int, files: int) -> Any:
    rows = spark.range(n).selectExpr("id", "concat('text ', id) as text", "array(id, null) as `a.b`", "id % 2 as half")
    rows.repartition(files).write.partitionBy("half").parquet(str(path))
    return spark.read.parquet(str(path))


def verdicts_of(spark: Any, work: Any, dropped: list[int], n: int) -> Verdicts:
    rows = [(i, "near" if i in dropped else "kept", i // 2) for i in range(n)]
    return Verdicts(spark.createDataFrame(rows, "id bigint, class string, representative bigint"), {"id": "`id`"}, work)


@pytest.mark.slow
def test_texts_are_not_moved(spark, work, tmp_path):
    df = written(spark, tmp_path / "in", 100, 3)
    result = verdicts_of(spark, work, [3, 4, 5, 99], 100)
    with settings(spark, NO_BROADCAST):
        kept = result.kept(df)
        assert {"_ndcore_mask", "_ndcore_file"} <= set(moved(kept)) and not {"text", "a.b", "id"} & set(moved(kept))
        assert "text" in moved(df.join(df.select("id"), "id"))
    assert kept.schema == df.schema and kept.columns == ["id", "text", "a.b", "half"]
    assert sorted(kept.collect()) == sorted(df.where("id not in (3, 4, 5, 99)").collect())


@pytest.mark.slow
def test_verdicts_come_to_the_rows(spark, work, tmp_path):
    """Also to rows of files that have others between them; a row without a verdict has nulls."""
    df = written(spark, tmp_path / "in", 300, 3).where("id % 5 != 0")
    result = verdicts_of(spark, work, [3, 4, 99], 290)
    with settings(spark, NO_BROADCAST):
        annotated = result.annotate(df)
        assert {"_ndcore_values", "_ndcore_file"} <= set(moved(annotated))
        assert not {"text", "a.b", "id"} & set(moved(annotated))
    assert annotated.columns == [*df.columns, "class", "representative"]
    rows = {row.id: row for row in annotated.collect()}
    assert sorted(rows) == [i for i in range(300) if i % 5]
    for i, row in rows.items():
        name = "near" if i in (3, 4, 99) else "kept"
        assert row.text == f"text {i}" and row[4:] == ((name, i // 2) if i < 290 else (None, None))
    with pytest.raises(ValueError, match=r"the column 'CLASS' is also a column of the result, which has class, .*; rename"):
        result.annotate(df.withColumn("CLASS", F.lit(1)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_masks_of_many_rows(spark, work, tmp_path, seed):
    """Files of more than two masks, steps before, and keys that some rows do not have."""
    rng = random.Random(seed)
    df = written(spark, tmp_path / "in", 30_000, rng.choice([1, 2])).where("id % 7 != 2")
    df = df.selectExpr("if(id % 11 = 0, null, id + 1) as name", "*")
    out = rng.sample(range(30_100), rng.choice([1, 20_000]))
    keys = spark.createDataFrame([(i,) for i in out], "key bigint")
    kept = leave_out(work, with_places(df.withColumn("key", F.expr("name"))), ["key"], keys)
    wanted = df.join(keys.withColumnRenamed("key", "name"), "name", "left_anti")
    assert kept.columns == df.columns
    assert sorted(row.id for row in kept.collect()) == sorted(row.id for row in wanted.collect())


@pytest.mark.slow
def test_rows_without_a_place_of_their_own(spark, work, tmp_path):
    df = written(spark, tmp_path / "in", 10, 1)
    twice = df.selectExpr("text", "explode(array(id, id + 100)) as id")
    assert with_places(df.union(df)) is None and with_places(spark.range(3)) is None
    assert leave_out(work, with_places(twice), ["id"], spark.createDataFrame([(3,)], "id bigint")) is None
    kept = verdicts_of(spark, work, [3, 105], 110).kept(twice)
    assert sorted(row.id for row in kept.collect()) == sorted([*({*range(10)} - {3}), *({*range(100, 110)} - {105})])
    annotated = verdicts_of(spark, work, [3, 105], 110).annotate(twice).collect()
    assert sorted((row.id, row.representative) for row in annotated) == [(i, i // 2) for i in [*range(10), *range(100, 110)]]
    kept = verdicts_of(spark, work, [3], 10).kept(spark.createDataFrame([(3, "a"), (4, "b")], "id bigint, text string"))
    assert [tuple(row) for row in kept.collect()] == [(4, "b")]
