"""The page on Spark: its programs run, beside files of documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sparks import settings

pytest.importorskip("pyspark", reason="the extra spark is not installed")

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
USUAL = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK",
         "spark.sql.shuffle.partitions": "200", "spark.sql.lightweightPlanChangeValidation": "true"}  # Spark's own values


@pytest.mark.slow
def test_programs_of_the_page(spark, tmp_path):
    """With the settings of users, which are other ones than those of the other tests."""
    if not PAGE.exists():
        pytest.skip("docs/spark.md is not beside the tests")
    programs = [block for block in PAGE.read_text("utf-8").split("```text\n")[1:] if "from ndcore.spark import" in block]
    assert len(programs) == 3
    rows = [(f"u{i}", " ".join(f"w{i // 3}x{j}" for j in range(20)) + " end" * (i % 3)) for i in range(12)]
    spark.createDataFrame(rows, "url string, text string").write.parquet(str(tmp_path / "pages"))
    names: dict[str, Any] = {"spark": spark}
    with settings(spark, USUAL):
        for program in programs:
            exec(program.split("```")[0].replace("s3a://bucket", str(tmp_path)), names)
        assert names["result"].counts() == {"near": 8, "kept": 4}
        assert spark.read.parquet(str(tmp_path / "pages-deduplicated")).count() == 4
        assert names["clusters"].verdicts.where("class = 'kept'").count() == 4
