"""The inputs of a job on Spark: DataFrames of Parquet files, or of documents that tasks read from other files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ndcore.files.discovery import find
from ndcore.files.errors import UsageError
from ndcore.files.field_values import describe_missing_values, sort_keys
from ndcore.files.records import Fields
from ndcore.files.sources import Source, is_url
from ndcore.spark.documents import type_of
from ndcore.spark.file_ranges import cut_files, share_among_tasks
from ndcore.spark.functions import F
from ndcore.spark.read_files import DOCUMENTS, KEYS, read_documents
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_KEYS = [part.split()[0] for part in KEYS.split(", ")]


@dataclass(frozen=True)
class Input:
    """Documents to deduplicate.

    Attributes
    ----------
    rows : DataFrame
    text : str
        The column of texts.
    key : str, list of str or None
        As for `id` of `near_duplicates`.
    by, one_per : str or None
        The columns of labels.
    priority : Column or None
    lines : bool
        Whether the documents are lines of JSONL: then the column ``line`` has each line unchanged.
    by_tags : DataFrame or None
        The pages that were not parsed (see `html_reader`): file, record, id. None for Parquet.
    strings : tuple of str
        Examples that show why priorities are compared as strings, if they are.
    partitions : tuple of str
        The columns that are in names of directories, for Parquet.
    """

    rows: DataFrame
    text: str
    key: str | list[str] | None
    by: str | None
    one_per: str | None
    priority: Column | None
    lines: bool
    by_tags: DataFrame | None
    strings: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()


def open_input(
    work: Work, paths: list[str], step: str, *, text: str, ident: str | None, html: str | None = None, by: str | None = None,
    one_per: str | None = None, order: tuple[str, str] = ("first", ""), parquet: bool | None = None, titles: bool = False,
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
        Whether they are Parquet. None: decided by the first bytes of the first ones, or by their names.
    titles : bool
        Refuse pages of HTML that have a title.

    Raises
    ------
    ValueError, UsageError, DocumentError
        There are no documents, or a column is missing.
    """
    field = order[0] if order[1] else None
    if is_parquet(paths, parquet):
        rows = read_parquet(work.spark, paths, by=by, one_per=one_per)
        priority, strings = (None, ()) if field is None else _of_column(work, rows, order)
        return Input(rows, text, ident, by, one_per, priority, False, None, strings, _partitions(rows))
    sources = find_sources(paths)
    kept = _read(work, sources, step, **name_fields(text, ident, html, by, one_per, field, titles))
    keys = {key: _column(key) for key in _KEYS}
    priority, strings = (None, ()) if field is None else _choose_order(work, kept, keys, order)
    lines = all(source.kind == "jsonl" for source in sources)
    by_tags = kept.where("by_tags").select("file", "record", "id")
    key = "id" if ident else ["file", "record"]
    return Input(kept, "text", key, "label" if by else None, "version" if one_per else None, priority,
                 lines, by_tags, strings)


def name_fields(
    text: str, ident: str | None, html: str | None, by: str | None, one_per: str | None, order: str | None, titles: bool
) -> dict[str, Any]:
    """Return the settings of `read_documents` for the fields to read."""
    others = tuple(dict.fromkeys(name for name in (by, one_per, order) if name is not None))
    fields = Fields((text,), ident or "id", ident is not None, others, frozenset(others) - {by, one_per})
    return {"fields": fields, "html": html, "label": by, "version": one_per, "order": order, "titles": titles}


def read_parquet(spark: SparkSession, paths: list[str], **fields: str | None) -> DataFrame:
    """Open Parquet files. Raises ValueError if they lack the column of an option. fields: by the names of options."""
    rows = spark.read.parquet(*paths)
    for option, name in fields.items():
        if name is not None:
            type_of(rows, name, f"--{option.replace('_', '-')}")
    return rows


def is_parquet(paths: list[str], said: bool | None) -> bool:
    """Tell whether files are Parquet, unless an option decides it: by their first bytes; for URLs, by their names."""
    if said is not None:
        return said
    local = [path for path in paths if not is_url(path)]
    kinds = {path.rstrip("/").endswith(".parquet") for path in paths if is_url(path)}
    kinds |= {source.kind == "parquet" for source in _sources(local)}
    if len(kinds) > 1:
        raise UsageError(f"{', '.join(paths)}: some are Parquet, and some are not; give inputs of one kind")
    return kinds == {True}


def _partitions(rows: DataFrame) -> tuple[str, ...]:
    """Return the columns whose values are in the paths of all files, as /day=2026-01-01/; Spark puts them last."""
    files = {tuple(re.findall(r"/([^/=]+)=[^/]*(?=/)", unquote(file))) for file in rows.inputFiles()}
    names = list(files.pop()) if len(files) == 1 else []
    while names and rows.columns[-len(names):] != names:
        del names[0]  # the column of the directory that was named as input
    return tuple(names) if len(names) < len(rows.columns) else ()


def find_sources(paths: list[str]) -> list[Source]:
    """Find files like `_sources`. Raises UsageError if there are none."""
    sources = _sources(paths)
    if not sources:
        raise UsageError(f"{', '.join(paths)}: there are no documents")
    return sources


def _sources(paths: list[str]) -> list[Source]:
    """Find files; like Spark, skip files in directories whose names begin with _."""
    return [source for source in find(paths).sources if source.named or not Path(source.path).name.startswith("_")]


def _read(work: Work, sources: list[Source], step: str, **given: Any) -> DataFrame:
    """Read the documents of files in tasks, and keep them; the name of the step has a digest of the files' states."""
    ranges, name = cut_files(work, sources, step)
    tasks = share_among_tasks(work.spark, ranges, work.cores)
    at = work.spark.range(0, len(tasks), 1, len(tasks)).toDF("at")
    return work.keep(work.apply(at, read_documents, DOCUMENTS, tasks=tasks, **given), name)


def _keys(name: str) -> dict[str, Column]:
    """Return the columns of `SortKeys` of a column of strings."""
    keys = F.udf(sort_keys, KEYS, useArrow=False)(_column(name))
    return {key: keys.getField(key) for key in _KEYS}


def _column(name: str) -> Column:
    """Return a column by its name, with any characters in it."""
    return F.col(f"`{name.replace('`', '``')}`")


def _choose_order(
    work: Work, rows: DataFrame, keys: dict[str, Column], order: tuple[str, str]
) -> tuple[Column, tuple[str, ...]]:
    """Choose the order of the documents, like `RankingField`: by numbers, dates, or strings.

    Returns
    -------
    Column
        Priorities, the smallest first.
    tuple of str
        Examples that show why strings are compared as strings, if they are.

    Raises
    ------
    ValueError
        No document has a value, or some have values of another kind.
    """
    work.describe("values of --keep")
    field, falling = order[0], order[1] == "desc"
    number, date, name = (keys[key] for key in _KEYS[1:])
    neither = F.when(number.isNull() & date.isNull(), name)
    told = rows.agg(
        F.count("*").alias("documents"), F.collect_set(keys["kind"]).alias("kinds"),
        *(F.count(keys[key]).alias(key) for key in _KEYS), F.min(neither).alias("first"), F.max(neither).alias("last"),
        F.min(F.when(date.isNotNull(), name)).alias("a_date"), F.min(F.when(number.isNotNull(), name)).alias("a_number"),
    ).collect()[0]
    if told.documents and not told.kinds:
        raise ValueError(describe_missing_values(field, told.documents))
    if len(told.kinds) > 1:
        raise ValueError(f"the field {field!r} is a {' in some records and a '.join(sorted(told.kinds))} in others; --keep "
                         "needs one type throughout")
    chosen = next(key for key in _KEYS[1:] if told[key] == told["kind"])
    examples = dict.fromkeys(bytes(text) for text in (told["first"], told["last"], told.a_date, told.a_number) if text)
    strings = [text.decode("utf-8", "surrogatepass") for text in examples][:2] if chosen == "name" else []
    return _priority(keys[chosen], "binary", falling), tuple(strings)


def _of_column(work: Work, rows: DataFrame, order: tuple[str, str]) -> tuple[Column, tuple[str, ...]]:
    """Choose the order by a column of Parquet, which has one type."""
    field = order[0]
    kind = type_of(rows, field, f"--keep {field}")
    if kind.typeName() == "string":
        return _choose_order(work, rows, _keys(field), order)
    work.describe("values of --keep")
    column = _column(field)
    if kind.typeName() in ("float", "double"):
        column = F.nanvl(column, F.lit(None).cast(kind))
    documents, values = rows.agg(F.count("*"), F.count(column)).collect()[0]
    if documents and not values:
        raise ValueError(describe_missing_values(field, documents))
    return _priority(column, kind.typeName(), order[1] == "desc"), ()


def _priority(column: Column, kind: str, falling: bool) -> Column:
    """Return priorities, the smallest first, by a column; documents without a value come last."""
    value = descending(column, kind) if falling else column
    return F.struct(column.isNull().alias("missing"), value.alias("value"))


def descending(column: Column, kind: str) -> Column:
    """Return a column whose ascending order is the descending order of another one.

    Strings become hexadecimal digits, complemented, with an end mark above them: "ab" comes before "a".
    """
    if kind in ("string", "binary"):
        digits = F.translate(F.hex(column), "0123456789ABCDEF", "FEDCBA9876543210")
        return F.concat(digits, F.lit("G"))
    if kind == "boolean":
        return ~column
    if kind == "timestamp":
        return -F.unix_micros(column)
    if kind in ("date", "timestamp_ntz"):  # without a time zone, because the session's clock is set back in autumn
        return -F.timestamp_diff("MICROSECOND", F.lit("1970-01-01").cast("timestamp_ntz"), column.cast("timestamp_ntz"))
    if kind in ("float", "double") or kind.startswith("decimal"):
        return -column
    if kind in ("byte", "short", "integer", "long"):
        return F.bitwise_not(column)
    raise TypeError(f"--keep: a column of type {kind} has no order; cast it to a number or a string")
