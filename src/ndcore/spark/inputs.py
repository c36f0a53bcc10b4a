"""The inputs of a job on Spark: DataFrames of Parquet files, or of documents that tasks read from other files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ndcore.files.discovery import find
from ndcore.files.errors import UsageError
from ndcore.files.records import Fields
from ndcore.files.sources import Source, is_url
from ndcore.spark.documents import type_of
from ndcore.spark.read_files import DOCUMENTS, read_documents
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Input", "descending", "open_input"]


@dataclass(frozen=True)
class Input:
    """Documents to deduplicate.

    Attributes
    ----------
    rows : DataFrame
    text : str
        The column of texts.
    key : str, list of str or None
        As `id` of `near_duplicates`.
    by : str or None
        The column of labels.
    priority : Column or None
    lines : bool
        They are lines of JSONL: the column ``line`` has each as it stands.
    by_tags : DataFrame or None
        The pages that no parser read (see `html_reader`): file, record, id. None of Parquet.
    strings : tuple of str
        Where priorities are strings: the first and the last of them, letter by letter.
    """

    rows: DataFrame
    text: str
    key: str | list[str] | None
    by: str | None
    priority: Column | None
    lines: bool
    by_tags: DataFrame | None
    strings: tuple[str, ...] = ()


def open_input(
    work: Work, paths: list[str], step: str, *, text: str, ident: str | None, html: str | None = None, by: str | None = None,
    order: tuple[str, str] = ("first", ""), parquet: bool | None = None,
) -> Input:
    """Open the files of an input.

    Parameters
    ----------
    paths : list of str
        Parquet files and directories of them in any file system of Spark; or files, directories and URLs of other formats,
        which tasks open themselves. Documents of these are kept as a step.
    ident : str or None
        The field that is the key. None: the file and the number of the row, or of the record.
    order : (str, str)
        A field, and asc or desc; or a rule without a field.
    parquet : bool or None
        Whether they are Parquet. None: what the first ones are, or are called.

    Raises
    ------
    ValueError, UsageError, DocumentError
        There are no documents, or a column is missing.
    """
    field = order[0] if order[1] else None
    if parquet or (parquet is None and _is_parquet(paths)):
        rows = work.spark.read.parquet(*paths)
        priority = None if field is None else _priority(rows, field, field, order[1] == "desc")
        if by is not None:
            type_of(rows, by, "--by")
        return Input(rows, text, ident, by, priority, False, None, () if field is None else _strings(work, rows, field))
    sources = _sources(paths)
    if not sources:
        raise UsageError(f"{', '.join(paths)}: there are no documents")
    others = tuple(dict.fromkeys(name for name in (by, field) if name is not None))
    fields = Fields((text,), ident or "id", ident is not None, others, frozenset(name for name in others if name != by))
    kept = _read(work, sources, fields, html, by, field, step)
    priority = None if field is None else _of_number_or_name(kept, field, order[1] == "desc")
    lines = all(source.kind == "jsonl" for source in sources)
    by_tags = kept.where("by_tags").select("file", "record", "id")
    strings = () if field is None else _strings(work, kept, "name")
    keys = "id" if ident else ["file", "record"]
    return Input(kept, "text", keys, "label" if by else None, priority, lines, by_tags, strings)


def _is_parquet(paths: list[str]) -> bool:
    """Tell whether these are Parquet, by their first bytes; of a URL by its name."""
    local = [path for path in paths if not is_url(path)]
    kinds = {path.rstrip("/").endswith(".parquet") for path in paths if is_url(path)}
    kinds |= {source.kind == "parquet" for source in _sources(local)}
    if len(kinds) > 1:
        raise UsageError(f"{', '.join(paths)}: some are Parquet, and some are not; give inputs of one kind")
    return kinds == {True}


def _sources(paths: list[str]) -> list[Source]:
    """Find files; in directories, files whose names begin with _ are left out, as Spark does."""
    return [source for source in find(paths).sources if source.named or not Path(source.path).name.startswith("_")]


def _read(
    work: Work, sources: list[Source], fields: Fields, html: str | None, by: str | None, order: str | None, step: str
) -> DataFrame:
    """Read the documents of files, a file in one task, and keep them."""
    spark = work.spark
    tasks = min(len(sources), 8 * max(1, spark.sparkContext.defaultParallelism))
    at = spark.range(0, len(sources), 1, tasks).toDF("at")
    read = work.apply(at, read_documents, DOCUMENTS, sources=sources, fields=fields, html=html, label=by, order=order)
    return work.keep(read, step)


def _of_number_or_name(rows: DataFrame, field: str, falling: bool) -> Column:
    """Return the priorities of a field that is a number or a string in all records. ValueError where it is both or none."""
    kinds = rows.selectExpr("count(number) as number", "count(name) as name").collect()[0].asDict()
    used = [name for name, count in kinds.items() if count]
    if len(used) != 1:
        what = "numbers in some records and strings in others" if used else "missing in all records"
        raise ValueError(f"the field {field!r} of --keep is {what}; --keep needs one type throughout")
    return _priority(rows, used[0], field, falling)


def _strings(work: Work, rows: DataFrame, name: str) -> tuple[str, ...]:
    """Return the first and the last value of a column of strings, letter by letter; nothing of another column."""
    from pyspark.sql import functions as F

    if rows.schema[name].dataType.typeName() != "string":
        return ()
    work.describe("strings of --keep")
    column = _present(F.col(f"`{name.replace('`', '``')}`"))
    ends = rows.agg(F.min(column).alias("first"), F.max(column).alias("last")).collect()[0]
    return tuple(dict.fromkeys(text for text in ends if text is not None))


def _present(column: Column) -> Column:
    """Return a column of strings with null for blank ones, as `Ranking` has them."""
    from pyspark.sql import functions as F

    return F.when(column.rlike(r"\S"), column)


def _priority(rows: DataFrame, name: str, field: str, falling: bool) -> Column:
    """Return priorities, the smallest first, by a column; documents without a value come last."""
    from pyspark.sql import functions as F

    kind = type_of(rows, name, f"--keep {field}")
    column = F.col(f"`{name.replace('`', '``')}`")
    if kind.typeName() in ("float", "double"):
        column = F.nanvl(column, F.lit(None).cast(kind))
    if kind.typeName() == "string":
        column = _present(column)
    value = descending(column, kind.typeName()) if falling else column
    return F.struct(column.isNull().alias("missing"), value.alias("value"))


def descending(column: Column, kind: str) -> Column:
    """Return a column whose ascending order is the descending order of another one.

    Strings become hexadecimal digits, complemented, with an end mark above them: "ab" comes before "a".
    """
    from pyspark.sql import functions as F

    if kind in ("string", "binary"):
        digits = F.translate(F.hex(column), "0123456789ABCDEF", "FEDCBA9876543210")
        return F.concat(digits, F.lit("G"))
    if kind == "boolean":
        return ~column
    if kind == "timestamp":
        return -F.unix_micros(column)
    if kind in ("date", "timestamp_ntz"):  # without a zone: the clock of the session's goes back in autumn
        return -F.timestamp_diff("MICROSECOND", F.lit("1970-01-01").cast("timestamp_ntz"), column.cast("timestamp_ntz"))
    if kind in ("float", "double") or kind.startswith("decimal"):
        return -column
    if kind in ("byte", "short", "integer", "long"):
        return F.bitwise_not(column)
    raise TypeError(f"--keep: a column of type {kind} has no order; cast it to a number or a string")
