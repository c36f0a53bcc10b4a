"""The rare shingles by which documents are looked up, on Spark: tables of all tasks become one, which goes to all tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndcore._candidates import Counts, Marks
from ndcore.filters.prefix import PrefixFilter
from ndcore.phases.probes import CELLS, DIGEST, MARKS, Probes, fill_table, join_tables, put_together
from ndcore.spark.verification import ADVICE
from ndcore.spark.work import Work
from ndcore.text.shingling import Shingling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["ReadTexts", "find_probes"]

SLICES = "slice bigint, cells binary, documents bigint, digests bigint"


class ReadTexts:
    """The texts as they were when they were counted; `check` refuses others."""

    def __init__(self) -> None:
        self.said: list[tuple[int, int]] = []

    def check(self, sketched: DataFrame) -> None:
        """Raise ValueError where the documents (``bytes``, their digests) are not those that were counted."""
        here = _summary(sketched.selectExpr("1L as documents", f"{DIGEST} as digests"))
        for before in self.said:
            if before != here:
                raise ValueError(f"{before[0]:,} texts were read at first, and {here[0]:,}, or others, when the input "
                                 f"was read again{ADVICE}")


def find_probes(work: Work, sides: DataFrame, filter: PrefixFilter, shingling: Shingling) -> tuple[Probes, ReadTexts]:
    """Count the shingles of all texts and, for containment, mark those by which any is looked up."""
    texts = ReadTexts()
    probes = Probes(filter, Counts(CELLS))
    _fill(work, sides, shingling, probes.counts, None, texts)
    if filter.drop == "contained":
        marks = Marks(MARKS)
        _fill(work, sides, shingling, marks, probes, texts)
        probes = Probes(filter, probes.counts, marks)
    return probes, texts


def _fill(
    work: Work, sides: DataFrame, shingling: Shingling, table: Counts | Marks, probes: Probes | None, texts: ReadTexts
) -> None:
    """Fill a table; as many tasks as there are cores fill one each."""
    cores = max(1, work.spark.sparkContext.defaultParallelism)
    slices = work.apply(sides.select("key", "text").coalesce(cores), fill_table, SLICES, text="text", shingling=shingling,
                        table=table, probes=probes)
    slices = work.keep(slices, "counts of shingles" if probes is None else "marks of shingles")
    texts.said.append(_summary(slices))
    joined = work.apply(slices.select("slice", "cells").repartition("slice"), join_tables, "slice bigint, cells binary",
                        marks=isinstance(table, Marks))
    put_together(table, joined.toArrow())


def _summary(rows: DataFrame) -> tuple[int, int]:
    """Add up documents and digests."""
    documents, digests = rows.selectExpr("sum(documents)", "sum(cast(digests as decimal(20, 0)))").collect()[0]
    return int(documents or 0), int(digests or 0)
