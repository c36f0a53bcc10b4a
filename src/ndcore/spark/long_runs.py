"""Long runs on Spark: their representatives are compared in waves with the documents after them, to a fixpoint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from ndcore.phases.candidates import group_of_run
from ndcore.phases.verification import ALL_LATER, OF_PAIR, Judgement
from ndcore.phases.waves import Turn, decide_wave, plan_blocks
from ndcore.spark.verification import compare_blocks
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["LongRuns"]

IN_BLOCK = 4096  # documents that a block of representatives is compared with, about
WAVE = 1 << 18  # representatives of a wave, counted once for each of their runs; more than a document has features


class LongRuns:
    """The documents of runs too long to be expanded, and the comparisons made so far.

    The driver holds the representatives of one wave with their runs, WAVE rows at most, the accepted pairs among them, and
    up to 2 · WAVE rows of what was compared before; the rest of these is kept as a step.
    """

    def __init__(self, work: Work, entries: DataFrame, sets: DataFrame, judgement: Judgement, limit: int) -> None:
        self.work, self.entries, self.sets, self.judgement = work, entries, sets, judgement
        self.limit = limit
        self._recent: list[tuple[bytes, int]] = []  # runs, and representatives that were compared and count in them
        self._older = work.table([], run="binary", rank="int64")

    @property
    def compared(self) -> DataFrame:
        """The representatives that were compared, ``rank``, in the runs where they count, ``run``."""
        return self._older.union(self.work.table(self._recent, run="binary", rank="int64"))

    def _note(self, counted: list[tuple[bytes, int]]) -> None:
        """Note what was compared."""
        self._recent += counted
        if len(self._recent) > WAVE:
            self._older = self.work.keep(self.compared, "long runs: compared")
            self._recent = []

    def settle(self, pairs: DataFrame, choose: Callable[[DataFrame], DataFrame]) -> tuple[DataFrame, DataFrame]:
        """Return the accepted pairs with those found in long runs, and the labels by them."""
        labels = choose(pairs)
        while added := self._compare_round(labels):
            for more in added:
                pairs = pairs.union(more)
            pairs = self.work.keep(pairs.dropDuplicates(["a", "b"]), "pairs with long runs")
            labels = choose(pairs)
        return pairs, labels

    def _compare_round(self, labels: DataFrame) -> list[DataFrame]:
        """Compare the representatives by these labels with what follows them, except those that an earlier one covers."""
        from pyspark.sql import functions as F

        waiting = self.entries.join(labels.select("rank"), "rank", "left_anti")
        waiting = self.work.keep(waiting, "long runs: representatives")
        added: list[DataFrame] = []
        width = 1
        while turns := self._turns(waiting, added, width):
            found = self._compare(turns)
            of_wave = self.work.table([(rank,) for rank in {turn[0] for turn in turns}], b="int64")
            covered: dict[int, list[int]] = defaultdict(list)
            for row in found.join(F.broadcast(of_wave), "b").select("a", "b").collect():
                covered[row.b].append(row.a)
            counting = decide_wave(turns, covered)
            those = self.work.table([(rank,) for rank in counting], a="int64")
            added.append(found.join(F.broadcast(those), "a", "left_semi"))
            kept = set(counting)
            self._note([(run, rank) for rank, run, _ in turns if rank in kept])
            width *= 2
        return added

    def _turns(self, waiting: DataFrame, added: list[DataFrame], width: int) -> list[Turn]:
        """List the next representatives: of each run the first `width`, if they are among the first of all their runs.

        At most WAVE turns, of the earliest representatives: no run gets a gap by that.
        """
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        self.work.describe("long runs: next representatives")
        for pairs in added:
            waiting = waiting.join(pairs.selectExpr("b as rank"), "rank", "left_anti")
        compared = self.compared
        waiting = waiting.join(compared.select("rank"), "rank", "left_anti")
        waiting = waiting.join(compared.groupBy("run").agg(F.count("*").alias("compared")), "run", "left")
        waiting = waiting.selectExpr("run", "rank", f"{self.limit} - coalesce(compared, 0) as room").where("room > 0")
        waiting = waiting.withColumn("place", F.row_number().over(Window.partitionBy("run").orderBy("rank")))
        first = waiting.selectExpr("*", f"place <= least(room, {width}) as is_first")
        every = first.withColumn("every", F.min("is_first").over(Window.partitionBy("rank"))).where("every")
        found = every.select("rank", "run", "place").sort("rank", "run").limit(WAVE + 1).collect()
        turns = [(row.rank, bytes(row.run), row.place) for row in found]
        return turns if len(turns) <= WAVE else [turn for turn in turns if turn[0] != turns[-1][0]]

    def _compare(self, turns: list[Turn]) -> DataFrame:
        """Compare representatives with all later documents of their runs; return the accepted pairs."""
        from pyspark.sql import functions as F

        blocks, groups = plan_blocks(turns), defaultdict(set)
        for rank, run, _ in turns:
            groups[rank].add(group_of_run(run))
        named = {rank: b"".join(group.to_bytes(2, "little") for group in sorted(groups[rank])) for rank in blocks}
        asking = self.work.table([(blocks[rank], rank, named[rank]) for rank in blocks],
                                 number="int32", a="int64", groups="binary")
        of_blocks = sorted({(blocks[rank], run) for rank, run, _ in turns})
        runs = self.work.table(of_blocks, number="int32", run="binary")
        first = asking.groupBy("number").agg(F.min("a").alias("first"))
        followers = self.entries.join(F.broadcast(runs), "run").join(F.broadcast(first), "number").where("rank > first")
        followers = self.work.keep(followers.select("number", "rank").distinct(), "long runs: documents to compare")
        parts = followers.groupBy("number").agg(F.expr(f"count(*) div {IN_BLOCK} + 1 as parts"))
        block = "unhex(concat(lpad(hex(number), 8, '0'), lpad(hex({}), 8, '0'))) as block"
        spread = block.format("pmod(xxhash64(rank), parts)")
        placed = followers.join(F.broadcast(parts), "number").selectExpr(spread, "rank")
        everywhere = asking.join(F.broadcast(parts), "number").selectExpr(
            "number", "a", "groups", "explode(sequence(0L, parts - 1)) as part")
        everywhere = everywhere.selectExpr(block.format("part"), "a", "groups")
        documents = placed.union(everywhere.select("block", "a")).distinct()
        asked = everywhere.selectExpr("block", f"{OF_PAIR} as kind", "a", f"{ALL_LATER}L as b", "groups as members")
        found = compare_blocks(self.work, documents, asked, self.sets, self.judgement)
        return self.work.keep(found.distinct(), "long runs: accepted pairs")

    def account(self, labels: DataFrame, keys: DataFrame) -> DataFrame:
        """Return the rows of `NearDuplicates.common`, given the final labels and, by rank, the ``key`` and ``against``.

        ``cut``: documents from the first representative on that was not compared within the run.
        """
        from pyspark.sql import functions as F

        own = self.entries.join(labels.select("rank"), "rank", "left_anti")
        counts = own.groupBy("run").agg(F.count("*").alias("representatives"))
        compared = self.compared.groupBy("run").agg(F.count("*").alias("compared"))
        cut = own.join(self.compared, ["run", "rank"], "left_anti").groupBy("run").agg(F.min("rank").alias("first"))
        members = self.entries
        for more in (counts, compared, cut):
            members = members.join(more, "run", "left")
        members = members.join(keys, "rank").selectExpr(
            "run", "if(against, null, key) as key", "coalesce(representatives, 0) as representatives",
            f"compared >= {self.limit} and rank >= first as is_cut")
        return members.groupBy("run", "representatives").agg(
            F.count("*").alias("holders"), F.min("key").alias("example"), F.count_if("is_cut").alias("cut"),
        ).selectExpr("int(conv(hex(substring(run, 1, 2)), 16, 10)) as group", "holders", "example", "representatives", "cut")
