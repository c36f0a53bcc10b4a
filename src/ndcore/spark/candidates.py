"""Candidates on Spark: the pairs of documents that share a feature or a value, and the long runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ndcore.phases.candidates import expand_runs
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ENTRIES = "run binary, whole boolean, ranks array<bigint>"  # as from `pack_entries`


def find_candidates(
    work: Work, entries: DataFrame, summary: Column, step: str, **settings: Any
) -> tuple[DataFrame, DataFrame]:
    """Expand the runs of entries, ENTRIES and perhaps ``sizes``, to pairs, and list the entries of long runs.

    Returns the distinct pairs, ``a`` < ``b``, with a summary, an aggregate over the ``run`` of each pair; and ``run`` and
    ``rank`` of the documents of long runs. settings: of `expand_runs`.
    """
    from pyspark.sql import functions as F

    together = entries.repartition("run").sortWithinPartitions(F.col("run"), F.col("whole").desc())
    expanded = work.apply(together, expand_runs, "run binary, a bigint, b bigint, ranks array<bigint>", **settings)
    of_long = F.expr("if(ranks is null, null, run) as run")
    candidates = work.keep(expanded.groupBy("a", "b", of_long, "ranks").agg(summary), step)
    long = candidates.where("ranks is not null").selectExpr("run", "explode(ranks) as rank")
    return candidates.where("ranks is null").drop("run", "ranks"), long
