"""Change rows of files in place: data about rows, by file and row number, are sent to all tasks; no row is moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ndcore.spark.documents import FILE_KEY
from ndcore.spark.functions import F
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VALUE = "_ndcore_value"
WORDS = 64  # words of a mask
ROWS = 64 * WORDS
_PLACE = {f"_ndcore_{name}": sql for name, sql in FILE_KEY.items()}


def with_places(rows: DataFrame) -> DataFrame | None:
    """Add the place of each row, ``_ndcore_file`` and ``_ndcore_row``; None if rows have no places.

    Rows of Parquet files have places, as long as no step joins or groups rows.
    """
    from pyspark.errors import AnalysisException

    try:
        placed = rows.selectExpr("*", *(f"{sql} as {name}" for name, sql in _PLACE.items()))
        return placed if placed.columns else None  # Spark Connect finds out with the columns
    except AnalysisException:
        return None


def leave_out(work: Work, placed: DataFrame, names: Sequence[str], keys: DataFrame) -> DataFrame | None:
    """Drop the rows whose columns `names` are in `keys`, which has these columns; no row is moved.

    For each 4096 rows of a file of which one is dropped, a mask of 512 bytes is sent to all tasks. placed: with the place
    of each row; these columns and `names` are dropped. None if two rows have the same place, as with explode().
    """
    marked = placed.select(*names, *_PLACE).join(keys.withColumn("_ndcore_out", F.lit(1)), list(names), "left")
    bit = "shiftleft(1L, int(_ndcore_row % 64))"
    words = marked.groupBy("_ndcore_file", F.expr("_ndcore_row div 64 as word")).agg(
        F.expr(f"bit_or(if(_ndcore_out is null, 0L, {bit})) as bits"), F.expr("count(*) as held"),
        F.expr(f"bit_count(bit_or({bit})) as places"))
    masks = words.groupBy("_ndcore_file", F.expr(f"word div {WORDS} as _ndcore_chunk")).agg(
        F.expr(f"map_from_entries(collect_list(struct(int(word % {WORDS}), bits))) as words"),
        F.expr("bit_or(bits) as any"), F.expr("sum(held) as held"), F.expr("sum(places) as places"))
    mask = f"transform(sequence(0, {WORDS - 1}), i -> coalesce(try_element_at(words, i), 0L)) as _ndcore_mask"
    masks = work.keep(masks.where("any != 0 or held != places").selectExpr("*", mask).drop("words"), "rows to leave out")
    if not masks.where("held != places").isEmpty():
        return None
    at = f"int(_ndcore_row % {ROWS})"
    stays = f"_ndcore_mask is null or (shiftright(_ndcore_mask[int({at} div 64)], {at} % 64) & 1L) = 0"
    return _join_chunks(placed, masks, "_ndcore_mask", ROWS).where(stays).drop(*_PLACE, "_ndcore_mask", *names)


def attach(work: Work, placed: DataFrame, names: Sequence[str], values: DataFrame) -> DataFrame | None:
    """Add the column VALUE of `values` to the rows, matched by the columns `names`; no row is moved.

    The values of 64 rows of a file are sent to all tasks as one row. Otherwise this is like `leave_out`; VALUE is null for
    rows without a value.
    """
    valued = placed.select(*names, *_PLACE).join(values, list(names), "left")
    at = "int(_ndcore_row % 64)"
    chunks = valued.groupBy("_ndcore_file", F.expr("_ndcore_row div 64 as _ndcore_chunk")).agg(
        F.expr(f"collect_list(if({VALUE} is null, null, struct({at} as at, {VALUE} as value))) as _ndcore_values"),
        F.expr("count(*) as held"), F.expr(f"bit_count(bit_or(shiftleft(1L, {at}))) as places"))
    chunks = work.keep(chunks, "values of rows")
    if not chunks.where("held != places").isEmpty():
        return None
    value = f"try_element_at(filter(_ndcore_values, one -> one.at = {at}), 1).value as {VALUE}"
    return _join_chunks(placed, chunks, "_ndcore_values", 64).selectExpr("*", value).drop(*_PLACE, "_ndcore_values", *names)


def _join_chunks(placed: DataFrame, chunks: DataFrame, column: str, rows: int) -> DataFrame:
    """Add a column of `chunks`, runs of rows of a file, to the rows: the value of the chunk that has the row; else null."""
    place = ["_ndcore_file", "_ndcore_chunk"]
    placed = placed.withColumn("_ndcore_chunk", F.expr(f"_ndcore_row div {rows}"))
    return placed.join(F.broadcast(chunks.select(*place, column)), place, "left").drop("_ndcore_chunk")
