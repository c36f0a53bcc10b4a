"""Keys, labels and the columns of a job on Spark."""

from __future__ import annotations

import decimal

import pytest
from sparks import settings

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql import functions as F

from ndcore.spark import cluster, hamming_join, near_duplicates, sketch
from ndcore.spark.documents import key_columns, label_of, refuse_unstable, with_keys
from ndcore.spark.work import Work


def test_columns_with_odd_names(spark):
    df = spark.createDataFrame([(1, "x", "words")], "`a b` int, `c``d` string, `the.text` string")
    key = key_columns(df, ["a b", "c`d"])
    row = with_keys(df, "the.text", key, {"more": F.lit(3)}).first()
    assert row.key.asDict() == {"a b": 1, "c`d": "x"} and (row.text, row.against, row.more) == ("words", False, 3)


@pytest.mark.parametrize(("kind", "equal", "other"), [
    ("double", (0.0, -0.0), 1.0), ("string", ("a", "a"), "a\0"), ("binary", (b"\xff", b"\xff"), b"\xfe"),
    ("bigint", (2**62, 2**62), 2**62 + 1), ("boolean", (True, True), False),
    ("decimal(10,2)", (decimal.Decimal("1.5"), decimal.Decimal("1.50")), decimal.Decimal("1.51")),
])
def test_equal_labels_have_one_scope(spark, kind, equal, other):
    df = spark.createDataFrame([(value,) for value in (*equal, other)], f"label {kind}").coalesce(1)
    first, second, third = (row.scope for row in df.select(label_of(df, "label", "by").alias("scope")).collect())
    assert first == second != third and len(first) == 16


@pytest.mark.parametrize(("kind", "value"), [("double", float("nan")), ("string", None)])
def test_a_missing_label(spark, kind, value):
    df = spark.createDataFrame([(value,)], f"label {kind}")
    with pytest.raises(Exception, match="a label is missing"):
        df.select(label_of(df, "label", "by").alias("scope")).collect()


def test_two_instants_of_a_night_in_november_are_two_labels(spark):
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        df = spark.range(2).selectExpr("timestamp_seconds(1793511000 + 3600 * id) as label")  # 01:30, before and after
        assert df.selectExpr("count(distinct string(label)) as n").first().n == 1
        assert df.select(label_of(df, "label", "by").alias("scope")).distinct().count() == 2


UNSTABLE = {
    "monotonically_increasing_id": lambda df: df.repartition(3).withColumn("id", F.monotonically_increasing_id()),
    "rand": lambda df: df.withColumn("id", F.rand()),
    "cache": lambda df: df.withColumn("id", F.monotonically_increasing_id()).cache(),
    "<lambda>": lambda df: df.withColumn("id", F.udf(lambda n: n, "bigint").asNondeterministic()("n")),
}


@pytest.mark.parametrize("name", UNSTABLE)
@pytest.mark.parametrize("function", [
    lambda df: near_duplicates(df, id="id"), lambda df: cluster(df, id="id"), lambda df: sketch(df, id="id"),
    lambda df: hamming_join([1], df, id="id", column="n"),
    lambda df: near_duplicates(df.drop("id"), id="n", against=df.withColumn("n", F.col("id").cast("bigint"))),
], ids=["near_duplicates", "cluster", "sketch", "hamming_join", "against"])
def test_ids_that_change_are_refused(spark, name, function):
    df = spark.createDataFrame([(1, "a"), (2, "b")], "n bigint, text string")
    with pytest.raises(ValueError, match=r"a second reading may give other values, because of .*") as caught:
        function(UNSTABLE[name](df))
    assert "Write the rows as Parquet" in str(caught.value)


def test_stable_plans_pass(spark, tmp_path):
    df = spark.createDataFrame([(1, "a"), (2, "b")], "id bigint, text string")
    refuse_unstable(df.withColumn("random", F.rand()).select("id", "text"), "df")  # what is not read does not count
    numbered = df.drop("id").withColumn("id", F.monotonically_increasing_id())
    refuse_unstable(numbered.localCheckpoint(), "df")
    numbered.write.parquet(str(tmp_path / "written"))
    refuse_unstable(spark.read.parquet(str(tmp_path / "written")), "df")


@pytest.mark.parametrize(("function", "name"), [
    *((near_duplicates, name) for name in ("class", "Representative", "against", "resemblance", "cluster_size")),
    (cluster, "class"), (sketch, "sketch"),
])
def test_names_of_results_are_refused_as_keys(spark, function, name):
    df = spark.createDataFrame([(1, "a")], f"`{name}` bigint, text string")
    with pytest.raises(ValueError, match=f"the column '{name}' is also a column of the result"):
        function(df, id=name)


@pytest.mark.parametrize("function", [near_duplicates, cluster])
def test_keys_are_checked_before_a_text_is_read(spark, monkeypatch, function):
    monkeypatch.setattr(Work, "apply", None)
    for second, message in ((1, "2 documents have the key {'id': 1}; keys are unique"), (None, "have no missing values")):
        df = spark.createDataFrame([(1, "a"), (second, "b")], "id bigint, text string")
        with pytest.raises(ValueError, match=message):
            function(df, id="id")


@pytest.mark.parametrize("function", [near_duplicates, cluster, sketch])
def test_several_columns_of_one_name(spark, function):
    df = spark.createDataFrame([(1, 2, "a")], "id bigint, number bigint, text string").toDF("id", "ID", "text")
    with pytest.raises(ValueError, match=r"id='id': for Spark several columns have this name \(id, ID\); rename"):
        function(df, id="id")
    with settings(spark, {"spark.sql.caseSensitive": "true"}):
        assert key_columns(df, "id") == {"id": "`id`"}
        with pytest.raises(ValueError, match=r"several columns have this name \(id, id\)"):
            function(df.toDF("id", "id", "text"), id="id")


def test_other_tables_and_keys_are_refused(spark):
    with pytest.raises(TypeError, match=r"documents must be a DataFrame of Spark, got builtins\.list"):
        near_duplicates([{"id": 1, "text": "a"}], id="id")
    df = spark.createDataFrame([({"a": 1}, "a")], "id map<string,int>, text string")
    with pytest.raises(TypeError, match="id='id' is a column of type map<string,int>"):
        near_duplicates(df, id="id")
