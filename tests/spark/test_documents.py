"""Keys, labels and the columns of a job on Spark."""

from __future__ import annotations

import decimal

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql import functions as F

from ndcore.spark.documents import key_columns, scope_of, with_keys


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
    first, second, third = (row.scope for row in df.select(scope_of(df, F.col("label")).alias("scope")).collect())
    assert first == second != third and len(first) == 16


@pytest.mark.parametrize(("kind", "value"), [("double", float("nan")), ("string", None)])
def test_a_missing_label(spark, kind, value):
    df = spark.createDataFrame([(value,)], f"label {kind}")
    with pytest.raises(Exception, match="a label is missing"):
        df.select(scope_of(df, F.col("label")).alias("scope")).collect()
