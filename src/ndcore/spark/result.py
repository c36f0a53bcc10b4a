"""Results on Spark: the verdict on every document, by key, derived from labels by rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ndcore.dedup.rules import Rules
from ndcore.filters.design import FilterDesign
from ndcore.filters.prefix import PrefixFilter
from ndcore.recipe import Recipe
from ndcore.spark.documents import SparkDocuments, refuse_taken, refuse_unstable
from ndcore.spark.functions import F
from ndcore.spark.positions import VALUE, attach, leave_out, with_places
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


VERDICT = ("class", "resemblance", "cluster_size")  # columns of a verdict, with the representative
RANK = "_ndcore_rank"


@dataclass(frozen=True)
class Verdicts:
    """The verdict on every document of a collection.

    Attributes
    ----------
    verdicts : DataFrame
        A row for each document: the columns of its key; ``representative``, a struct of the same columns; ``class``,
        ``resemblance`` and ``cluster_size``.
    key : dict of str
        The columns of the key, and the SQL that gives each.
    """

    verdicts: DataFrame
    key: dict[str, str]
    _work: Work = field(repr=False)

    @property
    def directory(self) -> str:
        """The directory of the rows. Remove it when nothing reads them; a temporary one is removed with this object."""
        return self._work.directory

    def counts(self) -> dict[str, int]:
        """Count the documents of each class, by one aggregation; accumulators would also count retried tasks."""
        self._work.describe("counts")
        rows = self.verdicts.groupBy("class").count().collect()
        self._work.finish()
        return {row["class"]: row["count"] for row in sorted(rows, key=lambda row: (-row["count"], row["class"]))}

    def kept(self, df: DataFrame) -> DataFrame:
        """Select the rows of the kept documents.

        Parameters
        ----------
        df : DataFrame
            Has the columns of the key; without a key, the DataFrame of Parquet files to which the verdicts belong.

        Returns
        -------
        DataFrame
            Its rows, except the rows of dropped documents. For Parquet files only keys and places are moved, during the
            call, and the rows are not; other tables need an anti-join, which may move whole rows.

        Raises
        ------
        ValueError
            The keys may differ from those that were read before.
        """
        keyed, named, verdicts = self._match(df)
        dropped = verdicts.where("class != 'kept'").select(*named)
        if (placed := with_places(keyed)) is not None:
            kept = leave_out(self._work, placed, named, dropped)
            self._work.finish()
            if kept is not None:
                return kept
        return keyed.join(dropped, named, "left_anti").drop(*named)

    def annotate(self, df: DataFrame) -> DataFrame:
        """Add its verdict to each row.

        Parameters
        ----------
        df : DataFrame
            As in `kept`.

        Returns
        -------
        DataFrame
            Its rows and columns, followed by the columns of `verdicts` except the key; null if there is no verdict. For
            Parquet files only keys, places and verdicts are moved, during the call: the verdicts are sent to all tasks,
            about 140 bytes and the key of the representative for each row, of which Spark sends at most 8 GB at once; more
            are sent in portions of the files. Other tables need a join, which may move whole rows.

        Raises
        ------
        ValueError
            The keys may be others than those that were read before, or a column has the name of one that is added.
        """
        added = [name for name in self.verdicts.columns if name not in self.key]
        refuse_taken(df.columns, added)
        keyed, named, verdicts = self._match(df)
        verdicts = verdicts.selectExpr(*named, f"struct({', '.join(added)}) as {VALUE}")
        annotated = None
        if (placed := with_places(keyed)) is not None:
            annotated = attach(self._work, placed, named, verdicts)
            self._work.finish()
        if annotated is None:
            annotated = keyed.join(verdicts, named, "left").drop(*named)
        return annotated.select("*", f"{VALUE}.*").drop(VALUE)

    def _match(self, df: DataFrame) -> tuple[DataFrame, list[str], DataFrame]:
        """Return the rows with their keys, the names of these columns, and the verdicts with the same names."""
        named = [f"_ndcore_{i}" for i in range(len(self.key))]
        keyed = df.selectExpr("*", *(f"{sql} as {name}" for sql, name in zip(self.key.values(), named, strict=True)))
        refuse_unstable(keyed.select(*named), "df")
        return keyed, named, self.verdicts.withColumnsRenamed(dict(zip(self.key, named, strict=True)))


@dataclass(frozen=True)
class NearDuplicateFrames(Verdicts):
    """The verdict on every document of a collection, as DataFrames.

    Attributes
    ----------
    verdicts : DataFrame
        A row for each document: the columns of its key; ``representative``, a struct of the same columns; ``against``,
        whether the representative is of `against`; ``class``, ``resemblance`` and ``cluster_size``, as in
        `ndcore.NearDuplicates`; with drop="contained" or drop_common ``score``, with lost=True ``lost``.
    pairs : DataFrame
        ``a``, ``b`` (structs of the key's columns; a comes first in keep order) and ``resemblance`` of the accepted pairs of
        documents that equal no earlier one; with drop="contained" or drop_common ``score``, the larger one of the pair.
    rules, filter, recipe
        As in `ndcore.NearDuplicates`.
    common : DataFrame or None
        ``group``, ``holders``, ``example`` (a struct of the key's columns: the first of them in keep order) and
        ``representatives`` of features that more than max_holders documents have, as in `ndcore.NearDuplicates`. None if
        there are no such features.
    common_shingles : int
        The number of ignored shingles; see drop_common.
    key, directory
        As in `Verdicts`.
    """

    pairs: DataFrame
    rules: Rules
    filter: FilterDesign | PrefixFilter
    recipe: Recipe
    common: DataFrame | None
    common_shingles: int

    def losses(self) -> dict[str, int]:
        """Count the lost ``shingles``, and the ``documents`` that lose any; with lost=True. One aggregation."""
        self._work.describe("losses")
        total = self.verdicts.selectExpr("coalesce(sum(lost), 0L) as shingles", "count_if(lost > 0) as documents")
        sums = dict(total.collect()[0].asDict())
        self._work.finish()
        return sums


def join_labels(documents: SparkDocuments, labels: DataFrame, sound: str) -> DataFrame:
    """Return a row for each new document, with the columns from which its verdict is made.

    They are ``key``, ``rank``, ``leader`` and ``how`` the document equals it, ``label`` and ``representative`` (its key),
    ``measured`` (the resemblance of the leader to it), ``cluster_size``, and the column `sound` of the representative.
    """
    first_new = documents.first_new
    followers = documents.followers.withColumnRenamed("rank", "follower")
    scores = [name for name in ("score",) if name in labels.columns]
    joined = labels.selectExpr("rank as member", "label", "resemblance", *scores)
    table = documents.ranked.select("rank", "key").where(f"rank >= {first_new}")
    table = table.join(followers, F.col("rank") == F.col("follower"), "left")
    table = table.selectExpr("key", "rank", "coalesce(leader, rank) as leader", "how")
    table = table.join(joined, F.col("leader") == F.col("member"), "left").selectExpr(
        "key", "rank", "leader", "how", "coalesce(label, leader) as label", "resemblance as measured", *scores)
    table = table.selectExpr("*", f"count(*) over (partition by label) + int(label < {first_new}) as cluster_size")
    representatives = documents.ranked.selectExpr("rank as label_rank", "key as representative", sound)
    return table.join(representatives, F.col("label") == F.col("label_rank"))


def conclude(
    work: Work, documents: SparkDocuments, labels: DataFrame, pairs: DataFrame, lost: DataFrame | None, rules: Rules
) -> tuple[DataFrame, DataFrame]:
    """Return the verdicts and the pairs, by key, given labels and accepted pairs of leaders, and `count_lost`, by rank."""
    verdicts = conclude_verdicts(documents, labels, lost, rules).drop(RANK)
    scores = ["score"] if rules.scored else []
    by_key = pairs_by_key(pairs.selectExpr("*", "greatest(of_a, of_b) as score"), documents.ranked, "resemblance", *scores)
    return work.keep(verdicts, "verdicts"), by_key


def conclude_verdicts(documents: SparkDocuments, labels: DataFrame, lost: DataFrame | None, rules: Rules) -> DataFrame:
    """Return the verdicts by key, given labels of leaders and `count_lost`, by rank; and RANK, the rank of the document."""
    least = f"{float(rules.threshold)!r}D"
    weak = f"when measured < {least} then 'contained'" if rules.contained else ""

    def of_label(value: str) -> str:
        return f"""case when how = 'version' then double('nan') when rank = label or (label = leader and valid) then 1D
            when label = leader then double('nan') else {value} end"""

    table, more = join_labels(documents, labels, "valid"), [f"{of_label('score')} as score"] if rules.scored else []
    if lost is not None:
        table = table.withColumn("loser", F.expr("if(how <=> 'version', rank, leader)"))
        table = table.join(lost.withColumnRenamed("rank", "loser"), "loser", "left")
        more.append("if(rank = label, 0L, coalesce(lost, 0L)) as lost")
    return table.selectExpr(
        f"rank as {RANK}", "key.*", "representative", f"label < {documents.first_new} as against",
        f"""case when rank = label then 'kept' when label = leader or how = 'version' then how
            when measured = 1 then 'shingle' when score < {least} then 'chained' {weak} else 'near' end as class""",
        f"{of_label('measured')} as resemblance", "cluster_size", *more,
    )


def pairs_by_key(pairs: DataFrame, ranked: DataFrame, *columns: str) -> DataFrame:
    """Return pairs, by rank, with the keys of both documents and these columns."""
    a, b = ranked.selectExpr("rank as first", "key as a"), ranked.selectExpr("rank as second", "key as b")
    by_rank = pairs.selectExpr("a as first", "b as second", *columns)
    return by_rank.join(a, "first").join(b, "second").select("a", "b", *columns)
