"""Long runs on Spark: compare documents that represent themselves, block by block, with all others of their runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ndcore.phases.columns import pa
from ndcore.phases.long_runs import compare_holders, find_representatives
from ndcore.phases.verification import Judgement
from ndcore.spark.functions import F
from ndcore.spark.stars import joins
from ndcore.spark.verification import SCORED
from ndcore.spark.versions import as_frame, as_table
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIRST, GROWTH, MOST = 128, 8, 1 << 16  # documents of the first block; growth factor; most documents of a block
BLOCK_BYTES = 32 << 20  # bytes of shingle sets in a block of several documents
FEW = 16  # tables of pairs that are read one by one


class LongRuns:
    """The documents of long runs, and their accepted pairs so far.

    Parameters
    ----------
    sets : DataFrame
        As from `keep_sets`; these documents have ``runs``, their features.
    either : bool
        Also compare documents that represent themselves with earlier ones.
    """

    def __init__(self, work: Work, sets: DataFrame, judgement: Judgement, *, either: bool) -> None:
        self.work, self.judgement, self.either = work, judgement, either
        names = [name for name in ("rank", "runs", "scope", "group") if name in sets.columns]
        ours = sets.where("runs is not null")
        self.holders = ours.where("parts = 1").selectExpr(*names, "array(of_runs) as members", "size")
        if (cut := ours.where("parts > 1")).head(1):
            joined = cut.groupBy(*names).agg(F.expr("array_sort(collect_list(struct(part, of_runs))).of_runs as members"),
                                             F.sum("size").alias("size"))
            self.holders = self.holders.union(work.keep(joined, "long runs: large sets"))
        self._tables: list[DataFrame] = []

    @property
    def compared(self) -> DataFrame:
        """The pairs, and a row with a = b for each document that was compared with all others."""
        rows = self.work.table([], a="int64", b="int64", resemblance="float64", of_a="float64", of_b="float64")
        for table in self._tables:
            rows = rows.union(table)
        if len(self._tables) > FEW:
            rows = self.work.keep(rows, "long runs: pairs")
            self._tables = [rows]
        return rows

    @property
    def pairs(self) -> DataFrame:
        """The pairs; some may be listed twice."""
        return self.compared.where("a < b")

    def pairs_with_kept(self, labels: DataFrame) -> DataFrame:
        """Return the pairs of representatives, by the labels, with later or earlier documents; others may be missing."""
        joined, columns = labels.selectExpr("rank as a"), self.pairs.columns
        pairs = self.pairs.join(joined, "a", "left_anti").select(*columns)
        if not self.either:
            return pairs
        return pairs.union(self.pairs.join(joined.selectExpr("a as b"), "b", "left_anti").select(*columns))

    def settle(self, pairs: DataFrame, choose: Callable[[DataFrame], DataFrame]) -> DataFrame:
        """Compare blocks until every document that represents itself has been in one; return the labels.

        pairs: of other runs. choose: chooses representatives by pairs.
        """
        documents = self.holders.select("rank", "size")
        self._compare(documents, self.holders, pairs)
        while True:
            labels = choose(pairs.union(self.pairs))
            decided = labels.select("rank").union(self.compared.where("a = b").select("a"))
            if not self._compare(documents.join(decided, "rank", "left_anti"), self.holders, pairs.limit(0)):
                return labels

    def connect(self, entries: DataFrame, roots: DataFrame) -> None:
        """Compare documents of different components, given the first document, ``label``, of each other one, ``rank``.

        Each document outside the largest component of a run is compared with all documents of the run. entries: ``run`` and
        ``rank`` of all documents.
        """
        roots = roots.selectExpr("rank", "label as root")
        own = F.expr("coalesce(root, rank)").alias("root")
        placed = self.holders.join(roots, "rank", "left").select(*self.holders.columns, own)
        placed = self.work.keep(placed, "long runs: documents of components")
        entries = self.work.keep(entries.join(roots, "rank", "left").select("run", "rank", own), "long runs: entries")
        counts = entries.groupBy("run", "root").count()
        main = counts.groupBy("run").agg(F.expr("max_by(root, struct(count, -root))").alias("main"))
        outside = entries.join(main, "run").where("root != main").select("rank").distinct()
        outside = self.work.keep(self.holders.select("rank", "size").join(outside, "rank"), "long runs: documents outside")
        self._compare(outside, placed)

    def _compare(self, waiting: DataFrame, holders: DataFrame, pairs: DataFrame | None = None) -> bool:
        """Compare the waiting documents (``rank`` and ``size``) block by block; tell whether there was a block.

        pairs: skip documents that may join an earlier one by these pairs or a block's. None: compare each with all others.
        """
        assert self.judgement.threshold is not None
        most, last, either = FIRST, -1, self.either or pairs is None
        while True:
            later = waiting.where(f"rank > {last}")
            if pairs is not None:
                joining = joins(pairs, self.judgement.threshold).selectExpr("b as rank")
                later = later.join(joining, "rank", "left_anti")
            if (block := self._next(later, holders, most)) is None:
                return last >= 0
            last = int(block["rank"].to_numpy().max())
            if pairs is not None:
                block = find_representatives(block, judgement=self.judgement)
            accepted = self.work.apply(holders.drop("size"), compare_holders, SCORED, block=block, judgement=self.judgement,
                                       either=either)
            self._tables.append(self.work.keep(accepted, "long runs: accepted pairs"))
            pairs = None if pairs is None else pairs.union(self._tables[-1])
            most = min(GROWTH * most, MOST)

    def _next(self, waiting: DataFrame, holders: DataFrame, most: int) -> Any:
        """Read the next block: the first waiting documents, at most `most` of them and BLOCK_BYTES; None if none wait."""
        self.work.describe("long runs: next block")
        first = as_table(waiting.sort("rank").limit(most))
        if not first.num_rows:
            return None
        sizes = first["size"].to_numpy()
        ranks = first.select(["rank"]).filter(pa.array(np.cumsum(sizes) - sizes < BLOCK_BYTES))
        return as_table(holders.join(F.broadcast(as_frame(self.work.spark, ranks)), "rank").drop("size"))


def account(entries: DataFrame, labels: DataFrame, ranked: DataFrame, first_new: int) -> DataFrame:
    """Return the rows of `common`, given ``run`` and ``rank`` of documents of long runs, and the labels."""
    counts = entries.groupBy("run").agg(F.count("*").alias("holders"),
                                        F.min(F.expr(f"if(rank >= {first_new}, rank, null)")).alias("first"))
    own = entries.select("rank").distinct().join(labels, "rank", "left_anti")
    representatives = entries.join(own, "rank").groupBy("run").agg(F.count("*").alias("representatives"))
    keys = ranked.selectExpr("rank as first", "key as example")
    return counts.join(representatives, "run", "left").join(keys, "first").selectExpr(
        "pmod(int(conv(hex(substring(run, 1, 2)), 16, 10)) + 32768, 65536) - 32768 as group", "holders", "example",
        "coalesce(representatives, 0L) as representatives")
