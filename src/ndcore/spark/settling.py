"""Verdicts on documents of a collection that grows: classes of equal documents, then stars among the leaders that are open.

Documents have ranks in the order (add, key). A star joins a document to an earlier one, so new documents change no verdict
on older ones, and of these the representatives alone are candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ndcore.dedup.rules import Rules
from ndcore.phases.neighbours import reject_pairs, select_sharing
from ndcore.phases.shingle_sets import list_members
from ndcore.phases.stored_texts import form_stored_sets
from ndcore.phases.verification import Judgement
from ndcore.spark.documents import SparkDocuments
from ndcore.spark.near_duplicates import compare_leaders
from ndcore.spark.verification import filter_of
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["DECIDED", "Settled", "Settling", "select_matching"]

DECIDED = {"version_of": "bigint", "leader": "bigint", "how": "string", "label": "bigint", "resemblance": "double"}
"""Columns of the table of documents beside those that are known before: their types."""
AT_ONCE = 4096  # rows of a file that a task reads texts of, about


class Settled(NamedTuple):
    """What was decided, by ``rank``.

    Attributes
    ----------
    classes : DataFrame
        ``leader``, and ``how`` the document equals it; null where it leads itself. Of the documents of classes that changed.
    labels : DataFrame
        ``label`` and ``resemblance`` of leaders whose verdict was open, or changed.
    """

    classes: DataFrame
    labels: DataFrame


def select_matching(work: Work, rows: DataFrame, value: str, wanted: DataFrame) -> DataFrame:
    """Select rows that may share a value with the wanted ones, by a filter that goes to all tasks; some others pass.

    value: SQL of a binary column of both, of values of 8 bytes.
    """
    listed = work.apply(wanted.selectExpr(f"{value} as members"), list_members, "value bigint")
    words = filter_of(work, work.keep(listed.selectExpr("value as hash"), "values that are looked for"))
    valued = rows.selectExpr("*", f"{value} as _value")
    return work.apply(valued, select_sharing, valued.schema, column="_value", wanted=words).drop("_value")


@dataclass(frozen=True)
class Settling:
    """What decides on documents.

    Attributes
    ----------
    work : Work
    root, text : str
        The directory of the collection; the column of texts in the files where they lie.
    judgement : Judgement
    rules : Rules
    bitmap_key : bytes
    bound : int
        Pairs of a task.
    """

    work: Work
    root: str
    text: str
    judgement: Judgement
    rules: Rules
    bitmap_key: bytes
    bound: int

    def settle(self, old: DataFrame, new: DataFrame) -> Settled:
        """Decide on new documents, whose ranks are higher than all others."""
        classes = self._join_classes(old, new)
        kinds = classes.where("leader = rank").select("rank")
        opened = new.where("valid").join(kinds, "rank", "left_semi")
        return Settled(classes, self._decide(opened, old.where("valid and leader = rank")))

    def _join_classes(self, old: DataFrame, new: DataFrame) -> DataFrame:
        """Find the leaders of new documents: the first documents that equal them."""
        kind = ["valid", "deciding", *(name for name in ("scope",) if name in new.columns)]
        known = old.where("leader = rank").select("rank", "bytes", *kind)
        known = select_matching(self.work, known, "substring(deciding, 1, 8)", new)
        both = known.selectExpr("*", "false as new").union(new.select("rank", "bytes", *kind).selectExpr("*", "true"))
        first = both.groupBy(*kind).agg({"rank": "min"}).withColumnRenamed("min(rank)", "leader")
        placed = both.join(first, kind)
        leaders = placed.where("rank = leader").selectExpr("leader", "bytes as its_bytes")
        how = "case when rank = leader then null when bytes = its_bytes then 'identical' else 'lexical' end as how"
        found = placed.where("new").join(leaders, "leader").selectExpr("rank", "leader", how)
        return self.work.keep(found, "equal documents")

    def _decide(self, opened: DataFrame, leaders: DataFrame) -> DataFrame:
        """Choose representatives for leaders whose verdict is open, given all other ones."""
        opened = self.work.keep(opened, "documents to decide on")
        first = opened.agg({"rank": "min"}).collect()[0][0]
        if first is None:
            return opened.selectExpr("rank", "rank as label", "1D as resemblance")
        sharing = select_matching(self.work, leaders.where(f"label = rank or rank > {first}"), "features", opened)
        near = self.work.keep(sharing.select(*opened.columns).union(opened), "documents that share features")
        ranked = near.selectExpr("*", "false as against")
        judgement = Judgement(**{**vars(self.judgement), "first_new": first})
        documents = SparkDocuments(ranked, self.work.table([], rank="int64"), first)
        _, labels, _, _ = compare_leaders(self.work, partial(self._read, near, judgement), documents, judgement, self.rules,
                                          self.bound, prune=partial(self._prune, near))
        joined = opened.select("rank").join(labels.select("rank", "label", "resemblance"), "rank", "left")
        return joined.selectExpr("rank", "coalesce(label, rank) as label", "coalesce(resemblance, 1D) as resemblance")

    def _prune(self, near: DataFrame, pairs: DataFrame) -> DataFrame:
        """Drop the pairs that bitmaps reject."""
        for side in "ab":
            pairs = pairs.join(near.selectExpr(f"rank as {side}", f"size as size_{side}", f"bitmap as bitmap_{side}"), side)
        return self.work.apply(pairs, reject_pairs, "a bigint, b bigint, block binary", key=self.bitmap_key,
                               threshold=self.rules.threshold)

    def _read(self, near: DataFrame, judgement: Judgement, wanted: DataFrame) -> DataFrame:
        """Form the sets of the wanted documents, of which some texts are read; see `read_sets`."""
        from pyspark.sql import functions as F

        known = [name for name in wanted.columns if name not in ("key", "against", "bytes")]
        located = wanted.selectExpr(*known, "to_json(key) as name", "bytes as digest")
        located = located.join(near.select("rank", "file", "row"), "rank")
        made = located.selectExpr(*known, "1L as part", "1L as parts", "binary('') as members").schema
        placed = located.repartition("file", F.expr(f"`row` div {AT_ONCE}")).sortWithinPartitions("file", "row")
        sets = self.work.apply(placed, form_stored_sets, made, root=self.root, text=self.text,
                               shingling=judgement.sketcher.shingling)
        return self.work.keep(sets, "shingle sets of candidates")

