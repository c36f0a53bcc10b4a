"""Tables of Arrow from and to Spark, as PySpark 4 and PySpark 3.5 do it."""

from __future__ import annotations

from typing import Any

import pytest
from record_batches import pa

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql import DataFrame
from pyspark.sql.classic import dataframe

from ndcore.spark.versions import as_frame, as_table


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("n", [0, 3])
def test_there_and_back(spark: Any, monkeypatch: Any, n: int, older: bool) -> None:
    table = pa.table({"key": pa.array([{"id": f"n{i}", "day": i} for i in range(n)], pa.struct(
        [("id", pa.string()), ("day", pa.int32())])), "bytes": pa.array([b"\xff"] * n, pa.binary()),
        "more": pa.array([None] * n, pa.int64())})
    if older:
        monkeypatch.delattr(DataFrame, "toArrow")
        monkeypatch.delattr(dataframe.DataFrame, "toArrow")
    rows = as_frame(spark, table)
    assert rows.dtypes == [("key", "struct<id:string,day:int>"), ("bytes", "binary"), ("more", "bigint")]
    assert as_table(rows).to_pylist() == table.to_pylist() and as_table(rows).num_rows == n
