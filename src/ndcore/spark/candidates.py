"""Candidates on Spark: the pairs of documents that share a feature or a value, and the long runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ndcore._types import UInts
from ndcore.phases.candidates import expand_runs, list_features, select_holders
from ndcore.phases.value_filter import MOST_WORDS
from ndcore.spark.functions import F
from ndcore.spark.verification import filter_of, filter_pair_of
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ENTRIES = "run binary, whole boolean, ranks array<bigint>"  # as from `pack_entries`
MOST_FEATURES = 16 * MOST_WORDS  # of a filter, which then still rejects four of five others


def find_shared(work: Work, rows: DataFrame, column: str, count: int) -> UInts | None:
    """Make the words of a filter of the features that come several times in a column; None if `count` are too many for it.

    What one document alone has need not be moved: most features, where documents are unlike.
    """
    return filter_pair_of(work, rows, column, count=count)[1] if count <= MOST_FEATURES else None


def find_candidates(
    work: Work, entries: DataFrame, summary: Column, step: str, **settings: Any
) -> tuple[DataFrame, DataFrame]:
    """Expand the runs of entries, ENTRIES and perhaps ``sizes``, to pairs, and name the long runs.

    Returns the distinct pairs, ``a`` < ``b``, with a summary, an aggregate over the ``run`` of each pair; and ``run``, the
    name of each long run. settings: of `expand_runs`.
    """
    together = entries.repartition("run").sortWithinPartitions(F.col("run"), F.col("whole").desc())
    expanded = work.apply(together, expand_runs, "run binary, a bigint, b bigint", **settings)
    candidates = work.keep(expanded.groupBy("a", "b", F.expr("if(b is null, run, null) as run")).agg(summary), step)
    return candidates.where("b is not null").drop("run"), candidates.where("b is null").select("run")


def find_holders(work: Work, documents: DataFrame, runs: DataFrame, count: int) -> DataFrame:
    """Find the documents, ``rank``, of long runs, and perhaps a few others, by a filter that goes to all tasks.

    documents: ``rank``, ``features`` and perhaps ``scope``. count: of the runs, named as from `list_entries`.
    """
    words = filter_of(work, work.apply(runs, list_features, "value bigint"), "value", count=count)
    return work.apply(documents, select_holders, "rank bigint", words=words)


def entries_of_runs(entries: DataFrame, runs: DataFrame) -> DataFrame:
    """Select ``run`` and ``rank`` of all documents of some runs, given all entries."""
    return entries.join(runs, "run", "left_semi").selectExpr("run", "explode(ranks) as rank")
