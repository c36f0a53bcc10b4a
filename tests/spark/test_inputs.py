"""Inputs of jobs: what is Parquet, and columns in descending order."""

from __future__ import annotations

import datetime
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql import functions as F

from ndcore.files.errors import UsageError
from ndcore.spark.inputs import descending, open_input


@pytest.mark.parametrize(("kind", "ascending"), [
    ("string", ["", "a", "ab", "b", "ü"]), ("bigint", [-2**63, -1, 0, 2**63 - 1]), ("double", [-1.5, 0.0, 2.5]),
    ("boolean", [False, True]), ("date", [datetime.date(1969, 1, 1), datetime.date(2026, 1, 1)]),
])
def test_a_descending_column(spark, kind, ascending):
    df = spark.createDataFrame([(value,) for value in ascending], f"x {kind}").coalesce(1)
    rows = df.select("x", descending(F.col("x"), df.schema["x"].dataType.typeName()).alias("y")).collect()
    assert [row.x for row in sorted(rows, key=lambda row: row.y)] == ascending[::-1]


def test_what_is_refused(tmp_path):
    with pytest.raises(TypeError, match="a column of type array has no order"):
        descending(None, "array")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    (tmp_path / "b.jsonl").write_text('{"text": "a"}')
    both = [str(tmp_path / "a.parquet"), str(tmp_path / "b.jsonl")]
    with pytest.raises(UsageError, match="some are Parquet, and some are not; give inputs of one kind"):
        open_input(SimpleNamespace(), both, "documents", text="text", ident=None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="there are no documents"):
        open_input(SimpleNamespace(), [str(tmp_path / "empty")], "documents", text="text", ident=None)
