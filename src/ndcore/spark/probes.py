"""The rare shingles by which documents are looked up, on Spark: join the tables of all tasks, and send the result to all."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ndcore._candidates import Bitmaps, Counts, Marks
from ndcore.filters.prefix import PrefixFilter
from ndcore.phases.labelled_shingles import LabelledShingles
from ndcore.phases.probes import CELLS, DIGEST, MARKS, Probes, fill_table, join_tables, put_together
from ndcore.spark.functions import F
from ndcore.spark.verification import ADVICE
from ndcore.spark.versions import as_table
from ndcore.spark.work import Work
from ndcore.text.shingling import Shingling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Table = TypeVar("Table", Counts, Marks)
SLICES = "slice bigint, cells binary, documents bigint, digests bigint"


class ReadTexts:
    """A record of the texts that were counted; `check` refuses others."""

    def __init__(self) -> None:
        self.said: list[tuple[int, int]] = []

    def add(self, read: DataFrame) -> None:
        """Record a reading: the columns ``documents`` and ``digests``, which are summed up."""
        self.said.append(_summary(read))

    def check(self, sketched: DataFrame) -> None:
        """Raise ValueError if the documents (``bytes``, their digests) differ from the counted ones.

        Reads nothing if nothing was counted.
        """
        if not self.said:
            return
        here = _summary(sketched.selectExpr("1L as documents", f"{DIGEST} as digests"))
        for before in self.said:
            if before != here:
                raise ValueError(f"{before[0]:,} texts were read at first, and {here[0]:,}, or others, when the input "
                                 f"was read again{ADVICE}")


def find_probes(
    work: Work, sides: DataFrame, filter: PrefixFilter, shingling: Shingling, texts: ReadTexts, counts: Counts,
    left_out: LabelledShingles | None = None,
) -> Probes:
    """Make the probes from the counts of all shingles; for containment, mark all shingles by which a text is looked up."""
    probes = Probes(filter, counts)
    if filter.drop != "contained":
        return probes
    marks = _fill(work, sides, texts, "marks of shingles", partial(Marks, MARKS), shingling=shingling, probes=probes,
                  left_out=left_out)
    return Probes(filter, counts, marks)


def count_shingles(work: Work, sides: DataFrame, shingling: Shingling, texts: ReadTexts) -> Counts:
    """Count the shingles of all texts, separately for each label of `by`."""
    return _fill(work, sides, texts, "counts of shingles", partial(Counts, CELLS), shingling=shingling)


def _fill(work: Work, sides: DataFrame, texts: ReadTexts, step: str, empty: Callable[[bytes], Table], **given: Any) -> Table:
    """Fill an empty table: each core fills its own table in a task, and these are summed up."""
    key = secrets.token_bytes(Bitmaps.KEY_BYTES)
    table = empty(key)
    scope = [name for name in ("scope",) if name in sides.columns]
    slices = work.apply(sides.select("key", "text", *scope).coalesce(work.cores), fill_table, SLICES, text="text",
                        table=table, **given)
    slices = work.keep(slices.withColumn("key", F.lit(key)), step)
    if work.taken and (first := slices.first()) is not None:
        table = empty(first.key)
    texts.add(slices)
    joined = work.apply(slices.select("slice", "cells").repartition("slice"), join_tables, "slice bigint, cells binary",
                        marks=isinstance(table, Marks))
    put_together(table.cells, as_table(joined))
    return table


def _summary(rows: DataFrame) -> tuple[int, int]:
    """Sum up documents and digests."""
    documents, digests = rows.selectExpr("sum(documents)", "sum(cast(digests as decimal(20, 0)))").collect()[0]
    return int(documents or 0), int(digests or 0)
