"""Steps of a job: what is kept, and where."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.spark.work import Work


def test_a_temporary_directory_is_removed_with_the_job(spark):
    work = Work(spark, None)
    rows = work.keep(spark.range(5).toDF("id"), "five rows")
    folder = Path(work.directory)
    assert rows.count() == 5 and [path.name for path in folder.iterdir()] == ["001-five-rows"]
    assert spark.sparkContext.getLocalProperty("spark.job.description") == "ndcore: five rows"
    del work
    assert not folder.exists()


def test_a_given_directory_stays(spark, tmp_path):
    work = Work(spark, f"{tmp_path}/job/")
    assert work.directory == f"{tmp_path}/job"
    work.keep(spark.range(2).toDF("id"), "step")
    del work
    assert (tmp_path / "job" / "001-step").is_dir()


def test_a_cluster_needs_a_directory():
    session = SimpleNamespace(sparkContext=SimpleNamespace(master="spark://host:7077"))
    with pytest.raises(ValueError, match="name a directory that all executors reach"):
        Work(session, None)


def test_directories_that_cannot_be_used(spark, tmp_path):
    Work(spark, str(tmp_path / "job")).keep(spark.range(2).toDF("id"), "step")
    with pytest.raises(ValueError, match="has 001-step, a step of another job; name a new directory"):
        Work(spark, str(tmp_path / "job"))
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"file/job' cannot be used: .*; name one that the driver and all executors"):
        Work(spark, str(tmp_path / "file" / "job"))
    for place in ("s3a://bucket/job", "nowhere://host/job"):
        with pytest.raises(ValueError, match=r"cannot be used: .*; Spark has no jar for this file system"):
            Work(spark, place)
