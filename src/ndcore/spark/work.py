"""A job on Spark: its steps by name, what they keep, and phases as steps; and what executors must have."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from ndcore._version import __version__
from ndcore.phases.columns import arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Work", "check_executors", "refuse_others"]


JAR = ("Spark has no jar for this file system; name it when Spark starts, for s3a:// as --packages "
       "org.apache.hadoop:hadoop-aws:VERSION, with the version of Spark's Hadoop")

_checked: set[str] = set()  # applications, by id


def lacks_jar(said: str) -> bool:
    """Tell whether an error of Hadoop says that the class of a file system is missing."""
    missing = r"No FileSystem for scheme|Class \S*FileSystem not found|ClassNotFoundException: \S*FileSystem"
    return re.search(missing, said) is not None


class Work:
    """The steps of one job. Each step that is kept is written as Parquet and read from there by the steps after it.

    So no step is done twice, a lost executor costs the tasks that it had, and plans stay short in any number of rounds.

    Parameters
    ----------
    spark : SparkSession
    directory : str or None
        Where steps are kept: a directory, or its URI, that all executors and the driver reach. None: a temporary directory,
        which is removed with this object; only for a local master.
    """

    def __init__(self, spark: SparkSession, directory: str | None) -> None:
        self.spark = spark
        self._steps = 0
        if directory is None:
            master = str(spark.sparkContext.master)
            if not master.startswith("local"):
                raise ValueError(f"directory is None, and the master is {master!r}: name a directory that all executors "
                                 "reach, as directory='hdfs:///ndcore/job-1'; intermediate results are kept there")
            directory = tempfile.mkdtemp(prefix="ndcore-spark-")
            self._finalizer = weakref.finalize(self, shutil.rmtree, directory, True)
        else:
            self._take(directory)
        self.directory = directory.rstrip("/")
        check_executors(spark)

    def _take(self, directory: str) -> None:
        """Make the directory, which must be writable, and hold no steps of another job."""
        java: Any = self.spark.sparkContext._jvm
        try:
            path = java.org.apache.hadoop.fs.Path(directory)
            files = path.getFileSystem(self.spark.sparkContext._jsc.hadoopConfiguration())
            files.mkdirs(path)
            probe = java.org.apache.hadoop.fs.Path(path, f"_ndcore-{secrets.token_hex(8)}")
            files.create(probe).close()
            files.delete(probe, False)
            names = [status.getPath().getName() for status in files.listStatus(path)]
        except Exception as error:
            said = str(getattr(error, "java_exception", error)).partition("\n")[0]
            advice = "name one that the driver and all executors can write to"
            if lacks_jar(said):
                advice = JAR
            raise ValueError(f"directory={directory!r} cannot be used: {said:.300}; {advice}") from error
        if steps := sorted(name for name in names if re.fullmatch(r"[0-9]{3,}-.*", name)):
            raise ValueError(f"directory={directory!r} has {steps[0]}, a step of another job; name a new directory, or "
                             "remove this one")

    @property
    def cores(self) -> int:
        """Tasks that run at a time, as Spark knows; at least 1."""
        return max(1, self.spark.sparkContext.defaultParallelism)

    def describe(self, step: str) -> None:
        """Name the jobs that follow, as Spark's user interface shows them."""
        self.spark.sparkContext.setJobDescription(f"ndcore: {step}")

    def keep(self, rows: DataFrame, step: str) -> DataFrame:
        """Do a step, and return its rows as they were kept."""
        self.describe(step)
        self._steps += 1
        path = f"{self.directory}/{self._steps:03}-{step.replace(' ', '-')}"
        rows.write.parquet(path)
        return self.spark.read.schema(rows.schema).parquet(path)

    @staticmethod
    def apply(rows: DataFrame, phase: Callable[..., Any], schema: Any, **settings: Any) -> DataFrame:
        """Apply a phase to the record batches of each partition."""
        return rows.mapInArrow(partial(phase, **settings), schema)

    def table(self, rows: list[tuple[Any, ...]], **types: Any) -> DataFrame:
        """Return a few rows of the driver as a DataFrame; the columns have these types of Arrow, by name."""
        pa = arrow()
        columns = zip(*rows, strict=True) if rows else ((),) * len(types)
        arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types.values(), strict=True)]
        return self.spark.createDataFrame(pa.table(arrays, names=list(types)))


def check_executors(spark: SparkSession) -> None:
    """Raise RuntimeError where an executor has no ndcore, or another version than the driver. Once for an application.

    Starts a small task for each core that Spark knows of. An executor that comes later is not asked.
    """
    application = spark.sparkContext.applicationId
    if application in _checked:
        return
    spark.sparkContext.setJobDescription("ndcore: versions of the executors")

    def ask(_: Iterable[int]) -> Iterator[tuple[str, str]]:  # sent as it is: it must not need ndcore to be read
        import platform

        try:
            from ndcore._version import __version__ as found
        except ImportError as error:
            found = f"none ({error})"
        yield platform.node(), found

    tasks = max(2, spark.sparkContext.defaultParallelism)
    refuse_others(spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(ask).collect())
    _checked.add(application)


def refuse_others(found: Iterable[tuple[str, str]]) -> None:
    """Raise RuntimeError where a host has another version than this one; `found` is pairs (host, version)."""
    others = sorted({(host, version) for host, version in found if version != __version__})
    if others:
        listed = "; ".join(f"{host}: {version}" for host, version in others[:5])
        raise RuntimeError(f"the driver has ndcore {__version__}, and {len(others)} of the executors' hosts do not "
                           f"({listed}); install ndcore=={__version__} there, or ship an environment with spark.archives")
