"""The job ``dedup``: from files to the kept documents, the verdicts and a summary, in one directory."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import secrets
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ndcore._version import __version__
from ndcore.files.field_values import describe_string_order
from ndcore.spark.inputs import Input, open_input
from ndcore.spark.near_duplicates import near_duplicates
from ndcore.spark.options import FORMATS, JobOptions
from ndcore.spark.result import NearDuplicateFrames
from ndcore.spark.work import JAR, Work, is_classic, lacks_jar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STEPS = "near-duplicates"  # the folder of the steps of `near_duplicates`
# The parts of the output, in the order of writing.
KEPT, VERDICTS, BY_TAGS, SUMMARY = PARTS = ("kept", "verdicts", "pages_by_tags", "summary")


def run(spark: SparkSession, options: JobOptions) -> dict[str, Any]:
    """Deduplicate, write the output, and return its summary.

    Raises
    ------
    ValueError, TypeError, RuntimeError
        An option, a column, an executor or the session is not accepted; or the output exists.
    """
    output = options.output.rstrip("/")
    files = JobFiles(spark)
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")  # texts of a batch may have more than 2 GiB
    job = {"job": "dedup", **asdict(options), "directory": None}
    with files.job(output, options.directory, job) as work:
        return _deduplicate(work, options)


def _deduplicate(work: Work, options: JobOptions) -> dict[str, Any]:
    """Read the inputs, deduplicate them, and write the output."""
    shared: dict[str, Any] = {"text": options.text_field, "ident": options.id_field, "html": options.html,
                              "parquet": FORMATS[options.format],
                              "titles": "title" in options.must_agree}
    given = open_input(work, options.input, "documents", by=options.by, one_per=options.one_per, order=options.keep,
                       **shared)
    if given.strings:
        print(f"ndcore.spark: {describe_string_order(options.keep[0], given.strings)}", file=sys.stderr)
    known = open_input(work, options.against, "documents of against", **shared) if options.against else None
    result = near_duplicates(
        given.rows, given.text, given.key, against=None if known is None else known.rows,
        keep=options.keep[0] if given.priority is None else given.priority,  # type: ignore[arg-type]
        by=given.by, one_per=given.one_per, task_pairs=options.task_pairs, directory=f"{work.directory}/{STEPS}",
        **options.rules,
    )
    pages = [side.by_tags for side in (given, known) if side is not None and side.by_tags is not None]
    return _write(work, options, given, result, pages)


def _write(
    work: Work, options: JobOptions, given: Input, result: NearDuplicateFrames, pages: list[DataFrame]
) -> dict[str, Any]:
    """Write the kept documents, the verdicts, any pages that were not parsed, and the summary."""
    output = options.output.rstrip("/")
    _refuse_second(work)
    work.describe("kept documents")
    kept = result.kept(given.rows)
    if given.lines:
        kept.selectExpr("cast(line as string)").write.text(f"{output}/{KEPT}")
    elif given.key is None or given.text != "text" or "line" not in given.rows.columns:
        kept.write.partitionBy(*given.partitions).parquet(f"{output}/{KEPT}")
    else:
        kept.selectExpr("file", "record", "id", "cast(text as string) as text").write.parquet(f"{output}/{KEPT}")
    work.describe("verdicts")
    result.verdicts.write.parquet(f"{output}/{VERDICTS}")
    by_tags = [(page, number) for page in pages if (number := page.count())]
    for page, _ in by_tags:
        page.write.mode("append").json(f"{output}/{BY_TAGS}")
    counts = result.counts()
    summary = {
        "ndcore": __version__, "recipe": result.recipe.id, "threshold": result.rules.threshold, "read": sum(counts.values()),
        **{name: counts.get(name, 0) for name in ("kept", "identical", "lexical", "shingle", "near", "chained")},
        **{name: counts.get(name, 0) for name, may_be in (("contained", options.drop == "contained"),
                                                         ("version", options.one_per is not None)) if may_be},
        **({"lost": result.losses()} if options.lost else {}),
        **({"common_shingles": result.common_shingles} if options.drop_common is not None else {}),
        "pages_by_tags": sum(number for _, number in by_tags),
    }
    _refuse_second(work)
    work.describe("summary")
    work.spark.createDataFrame([(json.dumps(summary),)], "value string").coalesce(1).write.text(f"{output}/{SUMMARY}")
    return summary


def _refuse_second(work: Work) -> None:
    """Raise RuntimeError if a later run of the job has begun, because only the latest writes the output."""
    if not work.is_newest():
        raise RuntimeError(f"another process goes on with this job from the steps in {work.directory}; this one ends")


def reason(error: BaseException) -> str:
    """Return the message of an error in one or two lines; for an error in a task, its exception's message."""
    if lacks_jar(str(error)):
        return f"{_jar_missing(str(error))}; {JAR}"
    raised = re.findall(r"^\s*(?:pyspark\.\S+: )?((?:[\w.]+\.)?\w*(?:Error|Exception)\w*: .+)$", str(error), re.MULTILINE)
    if type(error).__module__.startswith("pyspark") and raised:
        return str(raised[-1]).partition(": ")[2]
    return str(error)


def _jar_missing(said: str) -> str:
    """Return the line of an error that names the file system or its class, without names of exceptions."""
    line = next(line for line in said.splitlines() if lacks_jar(line))
    return re.sub(r"^.*(?:Exception|Error): ", "", line.strip()).strip()


class JobFiles:
    """The file systems that Spark knows, by URI. Raises ValueError for a session of Spark Connect."""

    def __init__(self, spark: SparkSession) -> None:
        if not is_classic(spark):
            raise ValueError("this job removes its intermediate results, which Spark Connect cannot do: unset SPARK_REMOTE, "
                             "or call ndcore.spark.near_duplicates, which takes a session of Spark Connect")
        self._spark = spark

    def _open(self, place: str) -> tuple[Any, Any]:
        """Return the file system of a place, and its path there."""
        java: Any = self._spark.sparkContext._jvm
        path = java.org.apache.hadoop.fs.Path(place)
        return path.getFileSystem(self._spark.sparkContext._jsc.hadoopConfiguration()), path

    def exists(self, place: str) -> bool:
        """Tell whether a place exists."""
        files, path = self._open(place)
        return bool(files.exists(path))

    def choose_folder(self, output: str, directory: str | None) -> tuple[str, bool]:
        """Choose the folder of a job's steps; tell whether it exists. Raises ValueError if the output is another job's."""
        folder = f"{output}/_ndcore-{secrets.token_hex(8)}"
        if directory is not None:
            name = hashlib.blake2b(self._qualify(output).encode(), digest_size=8).hexdigest()
            folder = f"{directory.rstrip('/')}/_ndcore-{name}"
        there = self.exists(folder)
        if self.exists(output) and (not there or self.exists(f"{output}/{SUMMARY}/_SUCCESS")):
            raise ValueError(f"{output} exists; name another directory for --output")
        return folder, there

    @contextlib.contextmanager
    def job(self, output: str, directory: str | None, job: dict[str, Any]) -> Iterator[Work]:
        """Yield the work of a job, in a folder of the directory or of the output that is removed afterwards.

        After a failure the unfinished output is removed, so that the job can be run again. In a named directory each output
        has a folder, which stays after a failure if a step is finished: the same job resumes from there. After a job that
        was killed, an output without a summary is removed first. If a later run has begun, nothing is removed.
        """
        folder, there = self.choose_folder(output, directory)
        try:
            work = Work(self._spark, folder, job)
        except BaseException:
            with contextlib.suppress(Exception):  # the first error is the one to report
                if not there:
                    self._remove(folder, True)
                self._remove(output, False)
            raise
        try:
            if directory is not None:
                self._clear(output)
            yield work
        except BaseException:
            with contextlib.suppress(Exception):
                if work.is_newest():
                    self._end(output, folder, directory is not None)
            raise
        self._remove(folder, True)

    def _end(self, output: str, folder: str, named: bool) -> None:
        """Remove the unfinished output, and the folder, unless its directory was named and a step is finished."""
        if named and any(len(files.globStatus(path)) for files, path in
                         (self._open(f"{folder}/{inner}run-*/*/_SUCCESS") for inner in ("", f"{STEPS}/"))):
            print(f"ndcore.spark: what is done stays in {folder}; the same command goes on from there", file=sys.stderr)
        else:
            self._remove(folder, True)
        self._clear(output)

    def _qualify(self, place: str) -> str:
        """Convert a place to a URI."""
        files, path = self._open(place)
        return str(files.makeQualified(path))

    def _clear(self, output: str) -> None:
        """Remove the files of an output, and its directory if nothing else is in it."""
        for part in PARTS:
            self._remove(f"{output}/{part}", True)
        with contextlib.suppress(Exception):
            self._remove(output, False)

    def _remove(self, place: str, whole: bool) -> None:
        """Remove a directory, with all its content or only if it is empty."""
        files, path = self._open(place)
        files.delete(path, whole)
