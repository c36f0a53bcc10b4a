"""A job on Spark: its named steps and their results, phases as steps; and the requirements on executors."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ndcore._version import __version__
from ndcore.checks import imported
from ndcore.phases.columns import pa
from ndcore.spark.functions import F
from ndcore.spark.versions import as_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


JAR = ("Spark has no jar for this file system; name it when Spark starts, for s3a:// as --packages "
       "org.apache.hadoop:hadoop-aws:VERSION, with the version of Spark's Hadoop")

JOB = "000-job"  # the first step of every resumable job
RECORD = "run string, job string"  # of a resumable job: a row for each of its runs
DESCRIPTION = "spark.job.description"
FILES = 64  # that one task opens for a small table
ELSEWHERE = "name a new directory, or remove this one"
_checked: dict[str, int] = {}  # the cores of applications, by id


def lacks_jar(said: str) -> bool:
    """Tell whether an error of Hadoop says that the class of a file system is missing."""
    missing = r"No FileSystem for scheme|Class \S*FileSystem not found|ClassNotFoundException: \S*FileSystem"
    return re.search(missing, said) is not None


def first_line(error: BaseException) -> str:
    """Return the line of an error of Spark that tells a missing jar, else its first line."""
    lines = [line.strip() for line in str(getattr(error, "java_exception", None) or error).splitlines() if line.strip()]
    return next(filter(lacks_jar, lines), lines[0] if lines else type(error).__name__)


class Work:
    """The steps of one job. Each kept step is written as Parquet, and later steps read it from there.

    So no step is done twice, a lost executor costs the tasks that it had, and plans stay short in any number of rounds.

    Parameters
    ----------
    spark : SparkSession
    directory : str, os.PathLike or None
        The directory of the steps, or its URI, which all executors and the driver must reach. None: a temporary directory,
        which is removed with this object; only for a local master.
    job : mapping, optional
        The values, beside the rows of the input, on which the steps depend: values of JSON, with names for users. If given,
        a given directory may have earlier runs of the same job, whose finished steps are reused. None: no other job uses
        the directory.

    Attributes
    ----------
    spark, directory
    cores : int
    taken : bool
        Whether the previous step was done by an earlier run.
    """

    def __init__(
        self, spark: SparkSession, directory: str | os.PathLike[str] | None, job: Mapping[str, Any] | None = None
    ) -> None:
        self.spark = spark
        self.taken = False
        self._steps = 0
        self._run = self._last = ""  # this run, and the run that did the last step; names of folders
        self._earlier: list[str] = []  # runs whose steps may be reused
        if directory is not None:
            directory = directory_of(directory)
        if directory is None:
            if not _is_local(spark):
                master = spark.conf.get("spark.master", "unknown")
                raise ValueError(f"directory is None, and the master is {master!r}: name a directory that all executors "
                                 "reach, as directory='hdfs:///ndcore/job-1'; intermediate results are kept there")
            directory = tempfile.mkdtemp(prefix="ndcore-spark-")
            self._finalizer = weakref.finalize(self, shutil.rmtree, directory, True)
        elif job is not None:
            self._go_on(directory, _flatten({"ndcore": __version__, **job}))
        self.directory = directory.rstrip("/")
        self.cores = check_executors(spark)

    def _go_on(self, directory: str, job: dict[str, Any]) -> None:
        """Write the job to the directory, and list its earlier runs. Raises ValueError if the directory has another job."""
        place = directory.rstrip("/")
        try:
            before = self._read_runs(f"{place}/{JOB}")
        except Exception as error:
            raise _make_unusable(directory, error) from error
        for run, then in before.items():
            if then != job and self._list_files(f"{place}/{run}"):
                raise ValueError(f"directory={directory!r} has steps of another job: {_tell_differences(job, then)}; "
                                 f"{ELSEWHERE}")
        self._earlier = [run for run, then in before.items() if then == job]
        self._run = f"run-{len(before) + 1}-{secrets.token_hex(4)}"
        said = self.spark.range(0, 1, 1, 1).select(F.lit(self._run).alias("run"), F.lit(json.dumps(job)).alias("job"))
        try:
            said.write.parquet(f"{place}/{JOB}/{self._run}")
        except Exception as error:
            raise _make_unusable(directory, error) from error

    @property
    def recorded(self) -> bool:
        """Whether later runs may reuse these steps."""
        return self._run != ""

    def is_newest(self) -> bool:
        """Tell whether no later run of the job has begun."""
        runs = self._read_runs(f"{self.directory}/{JOB}")
        return self._run == max(runs, key=lambda run: (int(run.split("-")[1]), run))

    def _read_runs(self, place: str) -> dict[str, dict[str, Any]]:
        """Read the job of each run."""
        if self._list_files(place) is None:
            return {}
        rows = self.spark.read.schema(RECORD).option("recursiveFileLookup", "true").parquet(place).collect()
        return {row.run: json.loads(row.job) for row in rows}

    def _list_files(self, place: str) -> list[str] | None:
        """List the files below a place, without those that Spark hides; None if nothing is there. Starts no job.

        The place is named twice, because Spark logs a warning with a trace of Java for a single missing place.
        """
        try:
            return self.spark.read.schema("line string").option("recursiveFileLookup", "true").text([place] * 2).inputFiles()
        except Exception as error:
            if "PATH_NOT_FOUND" in str(error):
                return None
            raise

    def describe(self, step: str) -> None:
        """Name the following jobs in Spark's user interface, unless settings are fixed."""
        from pyspark.errors import PySparkException

        with contextlib.suppress(PySparkException):
            self.spark.conf.set(DESCRIPTION, f"ndcore: {step}")

    def finish(self) -> None:
        """Stop naming jobs and taking steps: later jobs are the user's."""
        from pyspark.errors import PySparkException

        self._earlier = []
        with contextlib.suppress(PySparkException):
            self.spark.conf.unset(DESCRIPTION)

    def keep(self, rows: DataFrame, step: str) -> DataFrame:
        """Do a step, or reuse it from an earlier run that finished it; return its rows, read from the stored files."""
        self.describe(step)
        self._steps += 1
        name = f"{self._steps:03}-{step.replace(':', '').replace(' ', '-')}"
        earlier = sorted(self._earlier, key=lambda run: run != self._last)
        run = next((run for run in earlier if self._list_files(f"{self._place(run, name)}/_SUCCESS") is not None), None)
        self.taken = run is not None
        place = self._place(self._run if run is None else run, name)
        if run is None:
            self._earlier = []
            rows.write.parquet(place)
        self._last = self._run if run is None else run
        return self.spark.read.schema(rows.schema).parquet(place)

    def _place(self, run: str, name: str) -> str:
        """Return the place of this step in a run; its name includes the run of the previous step, if that differs."""
        after = f"-after-{self._last}" if self._last not in ("", run) else ""
        return "/".join(filter(None, (self.directory, run, name + after)))

    @staticmethod
    def apply(rows: DataFrame, phase: Callable[..., Any], schema: Any, **settings: Any) -> DataFrame:
        """Apply a phase to the record batches of each partition."""
        return rows.mapInArrow(partial(phase, **settings), schema)

    def table(self, rows: list[tuple[Any, ...]], **types: Any) -> DataFrame:
        """Make a DataFrame of a few rows of the driver; the columns have these Arrow types, by name."""
        columns = zip(*rows, strict=True) if rows else ((),) * len(types)
        arrays = [pa.array(list(column), kind) for column, kind in zip(columns, types.values(), strict=True)]
        return as_frame(self.spark, pa.table(arrays, names=list(types)))


def in_few_files(rows: DataFrame) -> bool:
    """Tell whether one task may open all files of the rows."""
    return len(rows.inputFiles()) <= FILES


def local_files(rows: DataFrame) -> list[Path] | None:
    """List the files from which rows are read; None unless all of them are in the file system of this machine."""
    urls = [urlsplit(file) for file in rows.inputFiles()]
    return [Path(url2pathname(url.path)) for url in urls] if all(url.scheme in ("", "file") for url in urls) else None


def count_stored(rows: DataFrame) -> int:
    """Count the rows of a stored table. The files say it: no job starts if they are in the file system of this machine."""
    if (files := local_files(rows)) is None:
        return rows.count()
    parquet = imported("pyarrow.parquet", "ndcore.spark")
    return sum(parquet.read_metadata(file).num_rows for file in files)


def _make_unusable(directory: str, error: BaseException) -> ValueError:
    """Make the error that tells why a directory cannot be used."""
    said = first_line(error)
    advice = JAR if lacks_jar(said) else "name one that the driver and all executors can write to"
    return ValueError(f"directory={directory!r} cannot be used: {said:.300}; {advice}")


def _flatten(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values after a round trip through JSON; a value of a nested mapping is named by both keys."""
    flat = dict[str, Any]()
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= {f"{name} {inner}": of_inner for inner, of_inner in _flatten(value).items()}
        else:
            flat[name] = json.loads(json.dumps(value, default=methodcaller("item")))  # of NumPy
    return flat


def _tell_differences(job: dict[str, Any], then: dict[str, Any]) -> str:
    """Name the differences between two jobs."""
    names = [name for name in dict.fromkeys([*job, *then]) if job.get(name) != then.get(name)]
    return "; ".join(f"{name} is {json.dumps(job.get(name)):.200}, and was {json.dumps(then.get(name)):.200}"
                     for name in names)


def directory_of(given: Any) -> str:
    """Convert the parameter `directory` to a string. Raises TypeError or ValueError if it is not a path or a URI."""
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(path, str):
        raise TypeError(f"directory is {given!r:.80} of type {type(given).__name__}; it is a path or a URI, as "
                        "'hdfs:///ndcore/job-1'")
    if not path.strip("/ "):
        raise ValueError(f"directory={given!r} names no directory of its own; give one, as 'hdfs:///ndcore/job-1'")
    return path


def _is_local(spark: SparkSession) -> bool:
    """Tell whether all tasks run on this machine."""
    here = is_classic(spark) or "SPARK_LOCAL_REMOTE" in os.environ  # a server that this process started
    return here and str(spark.conf.get("spark.master", "")).startswith("local")


def is_classic(spark: SparkSession) -> bool:
    """Tell whether the driver belongs to this process; else it is a server of Spark Connect."""
    return not type(spark).__module__.startswith("pyspark.sql.connect")


def check_executors(spark: SparkSession) -> int:
    """Raise RuntimeError if an executor has no ndcore, or another version than the driver. Runs once per application.

    Starts a small task for each core that Spark knows. Executors added later are not checked. Returns the number of cores.
    """
    application = str(spark.conf.get("spark.app.id", ""))
    if application in _checked:
        return _checked[application]

    def ask(batches: Iterable[Any]) -> Iterator[Any]:  # sent by value, because unpickling it must not need ndcore
        import platform

        import pyarrow as pa

        try:
            from ndcore._version import __version__ as version
        except ImportError as error:
            version = f"none ({error})"
        for _ in batches:
            pass  # Spark ends a process of Python that leaves rows unread, and starts another one for the next task
        yield pa.record_batch([[platform.node()], [version]], names=["host", "version"])

    try:
        rows = spark.range(1 << 16).mapInArrow(ask, "host string, version string").collect()
    except Exception as error:
        if lacking := re.search(r"No module named '(pyarrow|pandas)'", str(error)):
            raise RuntimeError(f"an executor has no {lacking[1]}; install ndcore[spark]=={__version__} there, ship an "
                               "environment with spark.archives, or set PYSPARK_PYTHON to a Python that has it") from error
        raise
    refuse_others((row.host, row.version) for row in rows)
    if application:
        _checked[application] = len(rows)
    return len(rows)


def refuse_others(hosts: Iterable[tuple[str, str]]) -> None:
    """Raise RuntimeError if a host has another version than this one; hosts: pairs (host, version)."""
    others = sorted({(host, version) for host, version in hosts if version != __version__})
    if others:
        listed = "; ".join(f"{host}: {version}" for host, version in others[:5])
        raise RuntimeError(f"the driver has ndcore {__version__}, and {len(others)} of the executors' hosts do not "
                           f"({listed}); install ndcore=={__version__} there, or ship an environment with spark.archives")
