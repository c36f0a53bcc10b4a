"""Verdicts on documents of a growing collection: documents with the same text, then stars among open leaders.

Documents have ranks in the order (add, key). A star joins a document to an earlier one, so new documents change no verdict
on older ones, of which only the representatives are candidates. If documents are removed, the documents that had joined
them become open again, and so do the new leaders of their classes. Open documents are decided together with the
representatives, and later documents, that share a feature with one of them. If a representative joins another one, it
becomes open too, with all documents that had joined it, and the decision is repeated. When no more become open, every
verdict is the one of the definition: by induction in keep order, the representatives before each document are right, and
all pairs of an open document are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ndcore._types import UInts
from ndcore.dedup.rules import Rules
from ndcore.filters.design import FilterDesign
from ndcore.phases.neighbours import reject_pairs
from ndcore.phases.stored_texts import form_stored_sets
from ndcore.phases.verification import Judgement
from ndcore.spark.documents import SparkDocuments
from ndcore.spark.functions import F
from ndcore.spark.near_duplicates import compare_leaders
from ndcore.spark.verification import filter_of, keep_sets
from ndcore.spark.work import Work, count_stored

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DECIDED = {"version_of": "bigint", "leader": "bigint", "how": "string", "label": "bigint", "resemblance": "double"}
"""Columns of a decision, and their types: the rank of the first document with this key, if it is another one; the rank
of the first document that equals this one, and how; for a leader, the rank of its representative, and the resemblance to
it."""
PARTS = {"its_class": "struct<leader: bigint, how: string>", "its_label": "struct<label: bigint, resemblance: double>",
         "its_first": "struct<version_of: bigint, leader: bigint>",
         "before": "struct<leader: bigint, how: string, label: bigint, resemblance: double>"}
"""What is known of a decision, and its type."""
AT_ONCE = 4096  # about as many rows of a file have their texts read by a task
SHARED = ("substring(deciding, 1, 8)", "if(valid, features, binary(''))")  # SQL of the values by which documents meet


@dataclass(frozen=True)
class Settling:
    """The decisions on documents of a collection.

    Attributes
    ----------
    work : Work
    root, text : str
        The directory of the collection; the column of texts in their files.
    judgement : Judgement
    rules : Rules
    bitmap_key : bytes
    bound : int
        The most pairs of a task.
    read_sharing : callable
        Takes a filter of SHARED, and reads the documents of the collection that pass it, with their decisions. Their keys
        are strings, for messages.
    """

    work: Work
    root: str
    text: str
    judgement: Judgement
    rules: Rules
    bitmap_key: bytes
    bound: int
    read_sharing: Callable[[UInts], DataFrame]

    def settle(
        self, old: DataFrame, new: DataFrame, sharing: DataFrame | None, gone: DataFrame | None,
        versions: DataFrame | None = None,
    ) -> DataFrame:
        """Decide on new documents, and again on older ones.

        Parameters
        ----------
        old : DataFrame
            The documents of the collection with their decisions. Here and below keys are strings, for messages.
        new : DataFrame
            New documents, whose ranks are higher. If none is removed, those that share no value with others may be left out.
        sharing : DataFrame or None
            What `read_sharing` reads for new documents; needed if none is removed.
        gone : DataFrame, optional
            The ``rank`` of older documents to remove.
        versions : DataFrame, optional
            ``rank`` and ``version_of`` of new documents that are versions of older ones.

        Returns
        -------
        DataFrame
            ``rank`` and DECIDED of new documents that do not represent themselves, and of others; and of older ones whose
            decision may have changed.
        """
        left = old if gone is None else old.join(gone, "rank", "left_anti")
        compared, ended = new, None
        if versions is not None:
            compared = new.join(versions.select("rank"), "rank", "left_anti")
        entering = compared
        if gone is not None:
            ended = self.work.keep(old.where("leader = rank").join(gone, "rank", "left_semi"), "leaders that go away")
            moved = self._move_versions(left, gone)
            others = moved.where("version_of != rank")
            versions = others if versions is None else versions.union(others)
            first = left.join(moved.where("version_of = rank").select("rank"), "rank", "left_semi")
            entering = entering.union(first.select(*entering.columns))
        if gone is not None and ended is not None:
            meeting = [rows.select("valid", "deciding", "features") for rows in (entering, ended)]
            sharing = self._find_sharing(meeting[0].union(meeting[1])).join(gone, "rank", "left_anti")
            sharing = self.work.keep(sharing, "documents that share values")
        assert sharing is not None
        classes = self._join_classes(sharing, entering, growing=ended is not None)
        opened = compared.where("valid").join(classes.where("leader != rank").select("rank"), "rank", "left_anti")
        if gone is None or ended is None:
            labels = opened.selectExpr("rank", "rank as label", "1D as resemblance")
            if count_stored(classes) < count_stored(new):  # else all are equal to others
                near = _join_open(sharing.where("label = rank and valid"), opened)
                labels = self._compare(near, self.judgement.first_new, growing=False)
        else:
            over = self.work.keep(classes.where("was = rank and leader != rank").select("rank").union(ended.select("rank")),
                                  "documents that lead no more")
            leaders = left.where("leader = rank and valid").join(over, "rank", "left_anti")
            led = classes.where("leader = rank").select("rank")
            led = led.union(leaders.join(over.selectExpr("rank as label"), "label", "left_semi").select("rank")).distinct()
            opened = opened.union(left.where("valid").join(led, "rank", "left_semi").select(*opened.columns))
            labels = self._decide_again(opened, leaders, over.union(gone))
        return self._compose(left, classes, labels, versions, anew=ended is not None)

    def _find_sharing(self, wanted: DataFrame, count: int | None = None) -> DataFrame:
        """Read the documents of the collection that may share a value with wanted ones. count: of these."""
        count = wanted.count() if count is None else count
        design = self.judgement.design
        assert isinstance(design, FilterDesign)
        return self.read_sharing(filter_of(self.work, wanted, *SHARED, count=count * (design.groups + 1)))

    def _move_versions(self, left: DataFrame, gone: DataFrame) -> DataFrame:
        """Find the versions whose first document is removed; ``version_of`` is the first of them, which replaces it."""
        orphans = left.join(gone.selectExpr("rank as version_of"), "version_of", "left_semi").select("rank", "version_of")
        first = orphans.groupBy("version_of").agg({"rank": "min"}).withColumnRenamed("min(rank)", "first")
        return self.work.keep(orphans.join(first, "version_of").selectExpr("rank", "first as version_of"), "versions")

    def _join_classes(self, sharing: DataFrame, entering: DataFrame, *, growing: bool) -> DataFrame:
        """Find the leaders of entering documents and, with `growing`, of documents whose leader has ended.

        sharing: documents of the collection, among them all that share a digest with these. Returns ``rank``, ``leader``,
        ``how``, and ``was``, the leader before, of documents that join another one, and of older ones that now lead
        themselves; ``was`` is null for entering documents.
        """
        kind = ["valid", "deciding", *(name for name in ("scope",) if name in entering.columns)]
        named = ["rank", "bytes", *kind]
        known = sharing.where("version_of is null" if growing else "leader = rank").selectExpr(*named, "leader as was")
        both = known.unionByName(entering.selectExpr(*named, "cast(null as bigint) as was"))
        leader = f"first(struct(rank, bytes)) over (partition by {', '.join(kind)} order by rank) as first"
        how = "case when rank = first.rank then null when bytes = first.bytes then 'identical' else 'lexical' end as how"
        classes = both.selectExpr("rank", "bytes", "was", leader).selectExpr("rank", "first.rank as leader", how, "was")
        told = f"leader != rank or (rank < {self.judgement.first_new} and not (was <=> rank))"
        return self.work.keep(classes.where(told), "equal documents")

    def _decide_again(self, opened: DataFrame, leaders: DataFrame, over: DataFrame) -> DataFrame:
        """Choose representatives for the open leaders, given all other leaders; ``rank`` of documents `over` are none.

        Returns ``rank``, ``label`` and ``resemblance`` of all open documents, and of later ones that join another document
        now.
        """
        while True:
            opened = self.work.keep(opened, "documents to decide on")
            first, count = opened.selectExpr("min(rank)", "count(*)").collect()[0]
            if first is None:
                return opened.selectExpr("rank", "rank as label", "1D as resemblance")
            others = self._find_sharing(opened, count).where(f"leader = rank and valid and (label = rank or rank > {first})")
            others = others.join(over.union(opened.select("rank")), "rank", "left_anti")
            near = _join_open(self.work.keep(others, "documents that share features"), opened)
            labels = self._compare(near, first, growing=True)
            ended = labels.join(near.where("label = rank").select("rank"), "rank", "left_semi").select("rank")
            ended = self.work.keep(ended, "representatives that join others")
            if not count_stored(ended):
                break
            more = leaders.join(ended, "rank", "left_semi").select(*opened.columns)
            joined = leaders.join(ended.selectExpr("rank as label"), "label", "left_semi").select(*opened.columns)
            opened = opened.union(more).union(joined).dropDuplicates(["rank"])
        decided = near.where("label is null").select("rank").join(labels, "rank", "left").selectExpr(
            "rank", "coalesce(label, rank) as label", "coalesce(resemblance, 1D) as resemblance")
        # documents decided before may join one that now represents itself
        before = near.where("label is not null").selectExpr("rank", "label as label_before")
        moved = labels.join(before, "rank").where("label != label_before").select("rank", "label", "resemblance")
        return decided.union(moved)

    def _compare(self, near: DataFrame, first: int, *, growing: bool) -> DataFrame:
        """Choose representatives among documents; one with a label keeps it as long as the label represents itself."""
        judgement = replace(self.judgement, first_new=first)
        documents = SparkDocuments(near.selectExpr("*", "false as against"), self.work.table([], rank="int64"), first)
        more = near.where("label != rank").selectExpr("label as a", "rank as b", "resemblance", "resemblance as of_a",
                                                      "resemblance as of_b") if growing else None
        _, labels, _, _ = compare_leaders(self.work, partial(self._read, judgement), documents, judgement, self.rules,
                                          self.bound, prune=partial(self._prune, near), more=more)
        return labels.select("rank", "label", "resemblance")

    def _compose(
        self, left: DataFrame, classes: DataFrame, labels: DataFrame, versions: DataFrame | None, *, anew: bool
    ) -> DataFrame:
        """Join the decisions on new documents and, with `anew`, on older ones, on which a step decided."""
        if anew:
            assert versions is not None
            moved = self._find_moved(left, classes)
            versions = self.work.keep(versions.union(moved), "versions and their first documents")
        rows = _part(classes, "its_class", "leader, how").union(_part(labels, "its_label", "label, resemblance"))
        if versions is not None:
            leaders = left.selectExpr("rank as version_of", "leader as leader_before")
            led = classes.selectExpr("rank as version_of", "leader as leader_now")
            versions = versions.join(leaders, "version_of", "left").join(led, "version_of", "left").selectExpr(
                "rank", "version_of", "coalesce(leader_now, leader_before) as leader")
            rows = rows.union(_part(versions, "its_first", "version_of, leader"))
        decided = f"rank >= {self.judgement.first_new}"
        if anew:
            before = left.join(rows.select("rank"), "rank", "left_semi")
            rows = rows.union(_part(before, "before", "leader, how, label, resemblance"))
            decided = f"{decided} or before is not null"
        rows = rows.groupBy("rank").agg(*(F.max(name).alias(name) for name in PARTS)).where(decided)
        rows = rows.selectExpr(
            "rank", "its_first.version_of", "coalesce(its_first.leader, its_class.leader, before.leader, rank) as leader",
            "if(its_first is null, if(its_class is null, before.how, its_class.how), 'version') as how", "its_label",
            "before")
        return rows.selectExpr(
            "rank", "version_of", "leader", "how",
            "if(leader = rank, coalesce(its_label.label, before.label, rank), null) as label",
            "if(leader = rank, coalesce(its_label.resemblance, before.resemblance, 1D), null) as resemblance")

    @staticmethod
    def _find_moved(left: DataFrame, classes: DataFrame) -> DataFrame:
        """Find the versions of documents whose leader has changed."""
        moved = classes.where("was is not null and was != leader").selectExpr("rank as version_of")
        return left.where("version_of is not null").join(moved, "version_of", "left_semi").select("rank", "version_of")

    def _prune(self, near: DataFrame, pairs: DataFrame) -> DataFrame:
        """Drop the pairs that bitmaps reject."""
        ends = pairs.selectExpr("a as rank").union(pairs.select("b"))
        ends = near.select("rank", "size", "bitmap").join(ends, "rank", "left_semi")  # only these are moved
        for side in "ab":
            pairs = pairs.join(ends.selectExpr(f"rank as {side}", f"size as size_{side}", f"bitmap as bitmap_{side}"), side)
        return self.work.apply(pairs, reject_pairs, "a bigint, b bigint, block bigint", key=self.bitmap_key,
                               threshold=self.rules.threshold)

    def _read(self, judgement: Judgement, wanted: DataFrame) -> DataFrame:
        """Form the sets of the wanted documents, whose texts are read from their files; see `read_sets`."""
        known = [name for name in wanted.columns if name not in ("key", "against", "bytes", "file", "row")]
        located = wanted.selectExpr(*known, "file", "`row`", "key as name", "bytes as digest")
        made = located.selectExpr(*known, "1L as part", "1L as parts", "binary('') as members").schema
        placed = located.repartition("file", F.expr(f"`row` div {AT_ONCE}")).sortWithinPartitions("file", "row")
        sets = self.work.apply(placed, form_stored_sets, made, root=self.root, text=self.text,
                               shingling=judgement.sketcher.shingling)
        return keep_sets(self.work, sets)


def _join_open(others: DataFrame, opened: DataFrame) -> DataFrame:
    """Unite documents of the collection with open ones, which have no ``label`` and no ``resemblance``."""
    undecided = [f"cast(null as {DECIDED[name]}) as {name}" for name in ("label", "resemblance")]
    open_rows = opened.selectExpr(*(f"`{name}`" for name in opened.columns), *undecided)
    return others.select(*open_rows.columns).union(open_rows)


def _part(rows: DataFrame, name: str, columns: str) -> DataFrame:
    """Return a part of decisions, a struct of these columns, with nulls for the other ones of PARTS."""
    return rows.selectExpr("rank", *(f"cast({f'struct({columns})' if name == other else 'null'} as {kind}) as {other}"
                                     for other, kind in PARTS.items()))
