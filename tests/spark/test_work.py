"""Steps of a job: what is kept, and where; and the versions of ndcore on the executors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
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
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"file/job' cannot be used: .*; name one that the driver and all executors"):
        Work(spark, str(tmp_path / "file" / "job"), {"job": "test"})
    for place in ("s3a://bucket/job", "nowhere://host/job"):
        with pytest.raises(ValueError, match=r"cannot be used: .*; Spark has no jar for this file system"):
            Work(spark, place, {"job": "test"})


def row_of(spark, number):
    """Return a row that tells which run made it."""
    return spark.range(1).selectExpr(f"{number} as run")


def runs_of(rows):
    return [row.run for row in rows.collect()]


def test_a_job_goes_on_from_its_finished_steps(spark, tmp_path):
    def begin(number, *steps):
        work = Work(spark, tmp_path, {"job": "test", "threshold": np.float64(0.5), "sketches": {"width": 5}})
        return work, [runs_of(work.keep(row_of(spark, number), step)) == [number] for step in steps], work.taken

    first, made, taken = begin(1, "one", "two: a", "three")
    assert made == [True] * 3 and not taken and first.is_newest()
    [third] = tmp_path.glob("run-1-*/003-three")
    (third / "_SUCCESS").unlink()  # as after a kill
    second, made, taken = begin(2, "one", "two: a")
    assert made == [False, False] and taken and second.is_newest() and not first.is_newest()
    assert runs_of(second.keep(row_of(spark, 2), "three")) == [2] and not second.taken
    third, made, _ = begin(3, "one", "two: a", "three")
    assert made == [False] * 3
    third.keep(row_of(spark, 3), "four")
    assert sorted(path.name.partition("-after")[0] for path in tmp_path.glob("run-*/*")) == [
        "001-one", "002-two-a", "003-three", "003-three", "004-four"]  # no colons: HDFS refuses them
    fourth, _, _ = begin(4, "one", "two: a", "three")
    fourth.finish()
    assert runs_of(fourth.keep(row_of(spark, 4), "four")) == [4]  # of what the user does with the result


def test_runs_at_once_do_not_mix(spark, tmp_path):
    """A step is taken only after the one that it was made of."""
    first, second = (Work(spark, tmp_path, {"job": "test"}) for _ in range(2))
    for number, work in ((2, second), (1, first)):
        assert runs_of(work.keep(row_of(spark, number), "one")) == [number]
    third = Work(spark, tmp_path, {"job": "test"})
    [taken] = runs_of(third.keep(row_of(spark, 3), "one"))
    (first, second)[taken == 1].keep(row_of(spark, 0), "two")
    assert third.taken and runs_of(third.keep(row_of(spark, 3), "two")) == [3]


@pytest.mark.parametrize(("job", "message"), [
    ({"job": "test", "threshold": 0.7}, r"has steps of another job: threshold is 0.7, and was 0.8; name a new directory"),
    ({"job": "test"}, "threshold is null, and was 0.8"),
    ({"ndcore": "0.0"}, rf'ndcore is "0.0", and was "{nd.__version__}"; job is null, and was "test"'),
])
def test_steps_of_another_job_are_refused(spark, tmp_path, job, message):
    work = Work(spark, tmp_path, {"job": "test", "threshold": 0.8})
    work.keep(row_of(spark, 1), "one")
    with pytest.raises(ValueError, match=message):
        Work(spark, tmp_path, job)


def test_a_job_without_a_step_is_no_hindrance(spark, tmp_path):
    Work(spark, tmp_path, {"job": "test", "threshold": 0.8})
    assert not Work(spark, tmp_path, {"job": "test", "threshold": 0.7}).keep(row_of(spark, 1), "one").isEmpty()


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
