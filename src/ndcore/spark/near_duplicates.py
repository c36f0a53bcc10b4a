"""The main job on Spark: find the near-duplicates of a DataFrame, and choose which documents to keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ndcore.checks import checked_int, imported
from ndcore.dedup.near_duplicates import plan_sketches
from ndcore.dedup.rules import Rules
from ndcore.filters.design import FilterDesign, least_equal_minima
from ndcore.filters.prefix import PrefixFilter
from ndcore.phases.candidates import expand_runs, list_entries
from ndcore.phases.sketches import sketch_documents
from ndcore.phases.verification import Judgement
from ndcore.spark.documents import (
    SparkDocuments,
    key_columns,
    label_of,
    number_documents,
    refuse_missing,
    refuse_options,
    refuse_taken,
    with_keys,
)
from ndcore.spark.long_runs import LongRuns, account
from ndcore.spark.lost import count_lost
from ndcore.spark.probes import find_probes
from ndcore.spark.result import VERDICT, NearDuplicateFrames, conclude
from ndcore.spark.stars import choose_representatives, joins, reassign
from ndcore.spark.verification import compare_pairs, measure_pairs, read_sets
from ndcore.spark.work import Work
from ndcore.text.agreement import Agreement, MustAgree
from ndcore.text.shingling import Shingling

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["SKETCHED", "compare_leaders", "near_duplicates"]

SKETCHED = "length bigint, valid boolean, bytes binary, deciding binary, features binary"
SHINGLES = "whole bigint, size bigint"  # columns of documents, and of their entries, with the complete filter
HOW = "if(bytes = first.bytes, 'identical', 'lexical')"


def near_duplicates(
    df: DataFrame,
    text: str = "text",
    id: str | Sequence[str] | None = None,
    *,
    threshold: float = 0.8,
    shingling: Shingling | None = None,
    num_perm: int = 84,
    seed: int = 1,
    filter: Literal["auto", "lsh", "complete"] | FilterDesign = "auto",
    drop: Literal["resembling", "contained"] = "resembling",
    against: DataFrame | None = None,
    keep: Literal["first", "longest"] | Column = "first",
    cluster: Literal["star", "greedy", "components"] = "star",
    max_holders: int = 1000,
    by: str | Column | None = None,
    one_per: str | Column | None = None,
    must_agree: MustAgree = None,
    min_shingles: int = 0,
    lost: bool = False,
    reassign: bool = False,
    task_pairs: int = 1 << 22,
    directory: str | None = None,
    **local_only: Any,
) -> NearDuplicateFrames:
    """Find near-duplicate documents of a DataFrame, and choose which of them to keep.

    `ndcore.near_duplicates` on the documents sorted by key gives the same result with the same filter: the same
    representatives, classes and resemblances. It does not depend on partitions, their order, adaptive execution or tasks
    that are retried.

    Parameters
    ----------
    df : DataFrame
        A row for each document. It is read twice: a plan that may give other rows the second time is refused, and texts
        of candidates are compared by their digests.
    text : str
        The column of texts, string or binary; nulls are refused.
    id : str or sequence of str, optional
        The column, or columns, whose values identify a document; their order is the keep order. None: the path of the file
        and the number of the row, for a DataFrame that is read from Parquet files.
    threshold, shingling, num_perm, seed, drop, cluster, max_holders, must_agree, min_shingles, lost, reassign
        As in `ndcore.near_duplicates`. A callable of must_agree goes to the tasks, and gets texts as the column has them.
    filter : "auto", "lsh", "complete" or FilterDesign
        As there; "auto" is "lsh", with drop="contained" "complete". The complete filter reads the texts once more, for
        containment twice more.
    against : DataFrame, optional
        An existing collection, with the same columns of the key and of texts: its documents come first in keep order and are
        never dropped.
    keep : "first", "longest" (in bytes), or Column
        Keep order: the first of several near-duplicates is kept. "first": by key. A column has priorities, the smallest
        first; ties by key.
    by, one_per : str or Column, optional
        Labels, as in `ndcore.near_duplicates`: documents with different labels of `by` are never compared; of those with one
        label of `one_per` the first in keep order is compared, and the others are its versions.
    task_pairs : int
        Accepted pairs of one component, and edges, that one task holds at most; more are decided in rounds.
    directory : str, optional
        Where intermediate results and the result are kept: a directory, or its URI, that all executors reach. None: a
        temporary directory, for a local master only.
    **local_only
        Options that only `ndcore.near_duplicates` has; they are refused by name.

    Returns
    -------
    NearDuplicateFrames

    Raises
    ------
    TypeError, ValueError
        A parameter or a column is not accepted, keys repeat, or parameters exclude each other.

    Notes
    -----
    Texts and signatures are not shuffled; digests, features (8 bytes for each group, with the complete filter for each
    shingle by which a document is looked up) and the shingle sets of candidates are. With the complete filter counters of
    shingles, 16 MiB, go to all tasks, and for containment as many marks. A task holds a batch of Arrow, 64 MB of shingle
    sets, `max_holders` entries or `task_pairs` pairs, for any sizes of clusters. The driver holds a filter of at most 128
    MiB, or 32 MiB of the shingle sets of documents that share a feature with more than `max_holders` others; these go to all
    tasks.

    References
    ----------
    Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii, "Connected Components in MapReduce and Beyond", 2014.
    DOI 10.1145/2670979.2670997.
    """
    imported("pyspark", "ndcore.spark")
    refuse_options("near_duplicates", local_only)
    agreement = Agreement.of(must_agree)
    rules = Rules.of(agreement, filter, threshold=threshold, drop=drop, cluster=cluster, max_holders=max_holders,
                     min_shingles=min_shingles, lost=lost, reassign=reassign)
    if by is not None and against is not None:
        raise ValueError("by=… cannot be combined with against=…: the documents of `against` have no labels")
    bound = checked_int("task_pairs", task_pairs, 1)
    key = key_columns(df, id)
    refuse_taken(key, ("representative", "against", *VERDICT, "score", "lost"))
    sketcher, design = plan_sketches([], rules, shingling, num_perm, seed, filter)
    labels = {name: label_of(df, given, role) for name, given, role in (("scope", by, "by"), ("version", one_per, "one_per"))
              if given is not None}
    sides, order = _read_sides(df, text, id, against, keep, labels)
    work = Work(df.sparkSession, directory)
    made, probes, before = SKETCHED, None, None
    if isinstance(design, PrefixFilter):
        made = f"{made}, {SHINGLES}"
        probes, before = find_probes(work, sides, design, sketcher.shingling)
    if agreement is not None:
        made = f"{made}, agrees binary"
    documents = number_documents(work, sides, order, sketch_documents, made, HOW, sketcher=sketcher, design=probes or design,
                                 must_agree=must_agree)
    if before is not None:
        before.check(documents.ranked)
    judgement = Judgement(sketcher, design, least_equal_minima(sketcher.num_perm, rules.threshold), rules.threshold,
                          rules.min_shingles, documents.first_new)
    read = partial(read_sets, work, sides, judgement=judgement)
    pairs, joined, sets, common = compare_leaders(work, read, documents, judgement, rules, bound)
    missed = count_lost(work, sides, documents, joined, sets, judgement) if lost else None
    verdicts, by_key = conclude(work, documents, joined, pairs, missed, rules)
    work.describe("done")
    return NearDuplicateFrames(verdicts, key, work, by_key, rules, design, rules.recipe(sketcher.recipe, design), common)


def _read_sides(
    df: DataFrame, text: str, id: str | Sequence[str] | None, against: DataFrame | None, keep: Any, labels: dict[str, Column]
) -> tuple[DataFrame, list[str]]:
    """Return the documents of both sides (``key``, ``against``, ``text`` and more), and the order within a side, in SQL."""
    from pyspark.sql import functions as F

    added, order = dict(labels), list[str]()
    if isinstance(keep, str):
        if keep not in ("first", "longest"):
            raise ValueError(f"keep must be 'first', 'longest' or a Column of priorities, got {keep!r}; for a column of "
                             f"this name give functions.col({keep!r})")
        order = ["if(against, 0, -length)"] if keep == "longest" else []
    else:
        kind = df.select(keep.alias("priority")).schema["priority"].dataType
        added["priority"] = refuse_missing(kind, keep, "keep: a priority is missing (null or nan)")
        order = ["priority"]
    sides = with_keys(df, text, key_columns(df, id), added)
    if against is None:
        return sides, order
    none = {name: F.lit(None).cast(sides.schema[name].dataType) for name in added}
    other = with_keys(against, text, key_columns(against, id), none, against=True)
    if other.schema["key"].dataType != sides.schema["key"].dataType:
        raise ValueError(f"against has keys {other.schema['key'].dataType.simpleString()}, and the documents have "
                         f"{sides.schema['key'].dataType.simpleString()}; cast one of them")
    return sides.unionByName(other), order


def compare_leaders(
    work: Work, read: Callable[[DataFrame], DataFrame], documents: SparkDocuments, judgement: Judgement, rules: Rules,
    bound: int, *, prune: Callable[[DataFrame], DataFrame] | None = None, more: DataFrame | None = None,
) -> tuple[DataFrame, DataFrame, DataFrame, DataFrame | None]:
    """Find candidates among the leaders, compare them, and choose representatives; return (pairs, labels, sets) by rank.

    Last come the rows of `NearDuplicateFrames.common`; None where no runs are long. read: forms the sets of documents, as
    `read_sets` does. prune: drops candidate pairs that are not near. more: pairs that
    were accepted before.
    """
    from pyspark.sql import functions as F

    leaders = documents.ranked.where("valid").join(documents.followers.select("rank"), "rank", "left_anti")
    scope = ["scope"] if "scope" in leaders.columns else []
    if isinstance(judgement.design, PrefixFilter):
        groups, kinds, ratio = 0, SHINGLES, 0.0 if judgement.contained else rules.threshold
    else:
        groups, kinds, ratio = judgement.design.groups, "", None
    names = [kind.split()[0] for kind in kinds.split(", ") if kind]
    entries = work.apply(leaders.select("rank", "features", *scope, *names), list_entries,
                         ", ".join(filter(None, ["run binary, rank bigint", kinds])), groups=groups)
    in_run = [F.col(name).desc() for name in ("whole", "rank") if name in entries.columns]
    candidates = work.keep(work.apply(entries.repartition("run").sortWithinPartitions(F.col("run"), *in_run), expand_runs,
                                      "run binary, a bigint, b bigint", max_holders=rules.max_holders,
                                      first_new=judgement.first_new, least_ratio=ratio), "candidates")
    long = candidates.where("b is null").selectExpr("run", "a as rank")
    pairs = candidates.where("b is not null").groupBy("a", "b").agg(F.min("run").alias("block"))
    pairs = work.keep(pairs if prune is None else prune(pairs), "candidate pairs")
    ranks = pairs.selectExpr("a as rank", "false as long").union(pairs.selectExpr("b", "false"))
    ranks = ranks.union(long.selectExpr("rank", "true")).groupBy("rank").agg(F.max("long").alias("long"))
    has_long = not long.isEmpty()
    known = ["rank", "key", "against", "bytes"] + (["features", *scope] if has_long else [])
    wanted = documents.ranked.select(*known).join(ranks, "rank")
    wanted = wanted.withColumn("runs", F.expr("if(long, features, null)")).drop("features") if has_long else wanted
    wanted = work.keep(wanted.drop("long"), "documents of candidates")
    sets = read(wanted)
    accepted = compare_pairs(work, pairs, sets, judgement, "accepted pairs")
    accepted = accepted if more is None else accepted.union(more.select(*accepted.columns)).dropDuplicates(["a", "b"])

    def choose(pairs: DataFrame, cluster: str = rules.cluster) -> DataFrame:
        joining = joins(pairs, rules.threshold)
        return choose_representatives(work, joining, cluster, first_new=judgement.first_new, bound=bound)

    components, common = rules.cluster == "components", None
    if not has_long:
        labels = choose(accepted)
    else:
        runs = LongRuns(work, sets, judgement, either=rules.reassign)
        labels = runs.settle(accepted, lambda pairs: choose(pairs, "greedy" if components else rules.cluster))
        if components:
            runs.connect(long, choose(accepted.union(runs.pairs)))
            labels = choose(accepted.union(runs.pairs))
        more = runs.pairs if components else runs.pairs_with_kept(labels)
        accepted = accepted.union(more).dropDuplicates(["a", "b"])
        common = account(long, labels, documents.ranked, judgement.first_new)
    if rules.reassign:
        labels = reassign(work, labels, accepted, rules.threshold)
    if components:
        linked = labels.selectExpr("label as a", "rank as b")
        measured = measure_pairs(work, linked, sets, judgement, "resemblance to representatives")
        labels = measured.selectExpr("b as rank", "a as label", "resemblance", "of_b as score")
    else:
        labels = labels.withColumn("score", F.col("resemblance"))
        if rules.scored:
            resembling = accepted.selectExpr("a as least", "b as greatest", "resemblance")
            labels = labels.selectExpr("rank", "label", "score", "least(rank, label) as least",
                                       "greatest(rank, label) as greatest").join(resembling, ["least", "greatest"])
    return accepted, labels, sets, common

