"""Measure the cost of drops on Spark: the shingles of dropped documents that no kept document has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndcore.phases.shingle_sets import list_members
from ndcore.phases.verification import Judgement, list_missing
from ndcore.spark.documents import SparkDocuments
from ndcore.spark.verification import blocks_by_first, filter_of, read_sets, rows_of_blocks
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def count_lost(
    work: Work, sides: DataFrame, documents: SparkDocuments, labels: DataFrame, sets: DataFrame, judgement: Judgement
) -> DataFrame:
    """Count the shingles, ``lost``, that no kept document has, for leaders that join another and for versions, by ``rank``.

    labels: of leaders. sets: of all documents of pairs. Only shingles that the representative lacks are searched for, and a
    filter of them is sent to all tasks. Documents that lose nothing are left out.
    """
    asked = labels.selectExpr("label as a", "rank as b")
    known = ["rank", "key", "against", "bytes"]
    if "version" in documents.ranked.columns:
        labelled = labels.selectExpr("rank as leader", "label")
        versions = documents.followers.where("how = 'version'").join(labelled, "leader", "left")
        asked = work.keep(asked.union(versions.selectExpr("coalesce(label, leader)", "rank")), "dropped documents")
        ranks = asked.selectExpr("a as rank").union(asked.select("b")).distinct()
        sets = read_sets(work, sides, documents.ranked.select(*known).join(ranks, "rank"), judgement)
    rows = rows_of_blocks(blocks_by_first(asked), sets)
    missing = work.keep(work.apply(rows, list_missing, "value bigint, rank bigint"), "shingles that representatives lack")
    kept = documents.ranked.where("valid").select(*known).join(documents.followers.select("rank"), "rank", "left_anti")
    kept = kept.join(labels.select("rank"), "rank", "left_anti")
    sought = filter_of(work, missing.select("value").distinct(), "value")
    held = work.apply(read_sets(work, sides, kept, judgement, sought).select("members"), list_members, "value bigint")
    lost = missing.join(held.distinct(), "value", "left_anti").groupBy("rank").count()
    return work.keep(lost.selectExpr("rank", "count as lost"), "lost shingles")
