"""Steps of a job: what is kept, and where; and the versions of ndcore on the executors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import ndcore as nd
from ndcore.spark import work as work_module
from ndcore.spark.work import Work, check_executors, refuse_others


def described(spark):
    """Return the description of a job, as a task sees it."""
    def tell(_):
        from pyspark import TaskContext

        yield pa.record_batch([[TaskContext.get().getLocalProperty("spark.job.description")]], names=["of"])

    import pyarrow as pa

    return spark.range(1).coalesce(1).mapInArrow(tell, "of string").collect()[0].of


def test_a_temporary_directory_is_removed_with_the_job(spark):
    work = Work(spark, None)
    rows = work.keep(spark.range(5).toDF("id"), "five rows")
    folder = Path(work.directory)
    assert rows.count() == 5 and [path.name for path in folder.iterdir()] == ["001-five-rows"]
    assert spark.conf.get("spark.job.description") == "ndcore: five rows" == described(spark)
    work.finish()
    assert described(spark) is None
    del work
    assert not folder.exists()


def test_a_given_directory_stays(spark, tmp_path):
    work = Work(spark, f"{tmp_path}/job/")
    assert work.directory == f"{tmp_path}/job"
    work.keep(spark.range(2).toDF("id"), "step")
    del work
    assert (tmp_path / "job" / "001-step").is_dir()


def test_a_cluster_needs_a_directory():
    session = SimpleNamespace(conf={"spark.master": "spark://host:7077"})
    with pytest.raises(ValueError, match="name a directory that all executors reach"):
        Work(session, None)


def test_directories_that_cannot_be_used(spark, tmp_path):
    Work(spark, str(tmp_path / "job"))
    with pytest.raises(ValueError, match="has 000-job, of another job; name a new directory"):
        Work(spark, str(tmp_path / "job"))
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"file/job' cannot be used: .*; name one that the driver and all executors"):
        Work(spark, str(tmp_path / "file" / "job"))
    for place in ("s3a://bucket/job", "nowhere://host/job"):
        with pytest.raises(ValueError, match=r"cannot be used: .*; Spark has no jar for this file system"):
            Work(spark, place)


def test_directories_of_other_types(spark, tmp_path):
    assert Work(spark, tmp_path / "job").directory == str(tmp_path / "job")
    with pytest.raises(TypeError, match=r"directory is 3 of type int; it is a path or a URI, as 'hdfs:///ndcore/job-1'"):
        Work(spark, 3)
    for name in ("", "/", " "):
        with pytest.raises(ValueError, match=f"directory={name!r} names no directory of its own"):
            Work(spark, name)


def test_executors_that_lack_a_package():
    def fail(_):
        raise OSError("PythonException: … ModuleNotFoundError: No module named 'pyarrow'")

    session = SimpleNamespace(conf={"spark.app.id": "another"}, range=fail)
    with pytest.raises(RuntimeError, match=r"an executor has no pyarrow; install ndcore\[spark\]=="):
        check_executors(session)


def test_other_versions_are_refused() -> None:
    refuse_others([("a", nd.__version__), ("b", nd.__version__)])
    none = "none (No module named 'ndcore')"
    with pytest.raises(RuntimeError) as caught:
        refuse_others([("a", nd.__version__), ("c", none), ("b", "0.1"), ("b", "0.1")])
    assert f"2 of the executors' hosts do not (b: 0.1; c: {none})" in str(caught.value)


def test_executors_are_asked_once(spark: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(work_module, "_checked", {})
    assert check_executors(spark) == 2  # cores
    monkeypatch.setattr(work_module, "__version__", "0.0")  # of the driver
    check_executors(spark)
    monkeypatch.setattr(work_module, "_checked", {})
    with pytest.raises(RuntimeError, match=r"the driver has ndcore 0.0, and 1 of the executors' hosts do not"):
        check_executors(spark)
