"""Assign files to tasks: JSONL files are split at lines into ranges of bytes, other files are whole."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ndcore.checks import parsed_size
from ndcore.files.errors import UsageError
from ndcore.files.file_reader import FileState, LineRange, count_lines, refuse_change, state_of
from ndcore.files.remote import has_ranges
from ndcore.files.sources import Source
from ndcore.phases.columns import Batches, pa
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONGEST = "spark.sql.files.maxPartitionBytes"  # the setting by which Spark splits Parquet
OPENING = 4 << 20  # bytes that can be read in the time to open a file, like spark.sql.files.openCostInBytes


class FileRange(NamedTuple):
    """A part of a file that one task reads.

    Attributes
    ----------
    source : Source
    state : FileState
        The state of the file when the job first read it.
    size : int
        Bytes of the part; 0 if the server of a URL does not report it.
    lines : LineRange or None
        Of JSONL. None: the whole file.
    """

    source: Source
    state: FileState
    size: int
    lines: LineRange | None = None


def whole_files(sources: list[Source]) -> list[FileRange]:
    """Read the state of each file. Raises UsageError for streams, which tasks cannot read; DocumentError."""
    for source in sources:
        if not source.location and not source.is_remote:
            raise UsageError(f"the input {source.path!r} is a stream, which tasks cannot read; write it to a file")
    states = map(state_of, sources)
    return [FileRange(source, state, state.size or 0) for source, state in zip(sources, states, strict=True)]


def cut_files(work: Work, sources: list[Source], step: str) -> tuple[list[FileRange], str]:
    """Split uncompressed JSONL files into ranges of lines; a job counts the lines first.

    A range has about as many bytes as the setting LONGEST. Files at URLs are split if their server can send parts.

    Returns
    -------
    list of FileRange
        In the order of the files and of their lines.
    str
        The name of the step, with a digest of the files' present states and of the cuts.
    """
    files, longest = whole_files(sources), read_size(work.spark, LONGEST)
    told = "\0".join(f"{file.source.path}\0{file.state.size}\0{file.state.other}" for file in files)
    digest = hashlib.blake2b(f"{longest}\0{told}".encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    cuts_of = [_cut(file, longest) if _is_long(file, longest) else [] for file in files]
    if cuts := [cut for of_file in cuts_of for cut in of_file]:
        at = work.spark.range(0, len(cuts), 1, len(cuts)).toDF("at")
        counted = work.keep(work.apply(at, count_ranges, "at bigint, lines bigint", cuts=cuts), f"lines of {step} {digest}")
        lines = iter([row.lines for row in sorted(counted.collect())])
        files = [part for file, of_file in zip(files, cuts_of, strict=True)
                 for part in (_number([(cut, next(lines)) for cut in of_file]) if of_file else [file])]
    return files, f"{step} {digest}"


def list_pieces(spark: SparkSession, sources: list[Source]) -> list[FileRange]:
    """List approximately the ranges of files that tasks will read: lines are not counted, so ranges have no end."""
    longest = read_size(spark, LONGEST)
    return [piece for file in whole_files(sources) for piece in (
        [file._replace(size=stop - start, lines=LineRange(start, 1, sys.maxsize)) for _, start, stop in _cut(file, longest)]
        if _is_long(file, longest) else [file])]


class Sized(Protocol):
    """Something that a task reads, of a `size` in bytes."""

    @property
    def size(self) -> int: ...


Part = TypeVar("Part", bound=Sized)


def share_among_tasks(spark: SparkSession, ranges: list[Part], cores: int) -> list[list[Part]]:
    """Share ranges among tasks, in order and by bytes: some for each core, and not many more bytes than LONGEST each."""
    weights = [part.size + OPENING for part in ranges]
    total = sum(weights)
    tasks = min(len(ranges), max(8 * cores, -(-total // (read_size(spark, LONGEST) + OPENING))))
    shared, before = dict[int, list[Part]](), 0
    for part, weight in zip(ranges, weights, strict=True):
        shared.setdefault((before + weight // 2) * tasks // total, []).append(part)  # the task of its middle
        before += weight
    return list(shared.values())


def count_ranges(batches: Batches, *, cuts: list[tuple[FileRange, int, int]]) -> Iterator[Any]:
    """Count the lines that begin in each (file, start, stop) at the positions in the column ``at``: at, lines.

    Raises
    ------
    DocumentError
        A file cannot be read, or has changed.
    """
    for at in (at for batch in batches for at in batch.column("at").to_pylist()):
        file, start, stop = cuts[at]
        lines = count_lines(file.source, start, stop)
        refuse_change(file.source, file.state, state_of(file.source))
        yield pa.record_batch([[at], [lines]], ["at", "lines"])


def read_size(spark: SparkSession, name: str, default: str = "") -> int:
    """Read a setting of Spark in bytes; default: used if Spark itself has none."""
    value = spark.conf.get(name, default) if default else spark.conf.get(name)
    return parsed_size(str(value).lower().removesuffix("b"))  # Spark writes 134217728b, and takes 128MB


def _is_long(file: FileRange, longest: int) -> bool:
    """Tell whether a file is split."""
    source = file.source
    if source.kind != "jsonl" or source.compression or source.problem or file.size <= longest:
        return False
    return not source.is_remote or has_ranges(source.path, file.size)


def _cut(file: FileRange, longest: int) -> list[tuple[FileRange, int, int]]:
    """Split a file into ranges (file, start, stop) whose sizes differ by at most a byte."""
    count = -(-file.size // longest)
    return [(file, *span) for span in pairwise(i * file.size // count for i in range(count + 1))]


def _number(rows: list[tuple[tuple[FileRange, int, int], int]]) -> Iterator[FileRange]:
    """Number the lines of the ranges of one file, ((file, start, stop), lines); ranges where no line begins are left out."""
    number = 1
    for (file, start, stop), lines in rows:
        if lines:
            yield file._replace(size=stop - start, lines=LineRange(start, number, lines))
        number += lines
