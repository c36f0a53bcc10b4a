"""Clusters of a collection on Spark, by the four phases of Broder et al. 1997, §4.1."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ndcore.checks import check_choice, checked_int
from ndcore.collection.settings import LEAST, Grouping, Method, Policy, Settings
from ndcore.filters.design import FilterDesign
from ndcore.phases.samples import compare_samples, count_overlaps, list_members, list_values, sample_documents
from ndcore.recipe import Recipe
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.super_shingles import RUN
from ndcore.spark.candidates import ENTRIES, entries_of_runs, find_candidates, find_shared
from ndcore.spark.documents import (
    SparkDocuments,
    check_keys,
    key_columns,
    number_documents,
    refuse_options,
    refuse_taken,
    with_keys,
)
from ndcore.spark.functions import F
from ndcore.spark.result import VERDICT, Verdicts, join_labels, pairs_by_key
from ndcore.spark.stars import choose_representatives
from ndcore.spark.versions import import_spark
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLED = ("valid boolean, sound boolean, bytes binary, tokens binary, deciding binary, sample binary, modulus bigint, "
           "levels array<int>")
MEASURED = "a bigint, b bigint, common bigint, in_a bigint, in_b bigint, resemblance double, weight double"
HOW = "case when bytes = first.bytes then 'identical' when tokens = first.tokens then 'lexical' else 'shingle' end"


@dataclass(frozen=True)
class ClusteringFrames(Verdicts):
    """The clusters of a collection, as DataFrames.

    Attributes
    ----------
    verdicts : DataFrame
        A row for each document: the columns of its key; ``representative``, a struct of the same columns; ``class``,
        ``resemblance`` and ``cluster_size``, as in `ndcore.Clustering`.
    pairs : DataFrame
        ``a``, ``b`` (structs of the key's columns; a comes first), ``common``, ``in_a`` and ``in_b``: the pairs of documents
        that equal no earlier one, from the containment `floor` on.
    common : DataFrame
        ``value`` (bigint, the bits of an unsigned one), ``holders`` and ``example`` (the key of the first holder) of values
        that more than max_holders documents hold.
    floor : float
    parameters : dict
    recipe : Recipe
        As in `ndcore.Clustering`; the recipe describes the sketches.
    key, directory
        As in `NearDuplicateFrames`.
    """

    pairs: DataFrame
    common: DataFrame
    floor: float
    parameters: dict[str, Any]
    recipe: Recipe


def cluster(
    df: DataFrame,
    text: str = "text",
    id: str | Sequence[str] | None = None,
    *,
    threshold: float = 0.5,
    sketcher: Sketcher | None = None,
    method: Method = "shingles",
    policy: Policy = "resemblance",
    cluster: Literal["star", "components", "greedy"] = "star",
    least: int = LEAST,
    max_holders: int = 1000,
    run: int = RUN,
    filter: FilterDesign | None = None,
    tell_apart: bool = True,
    task_pairs: int = 1 << 22,
    directory: str | os.PathLike[str] | None = None,
    **local_only: Any,
) -> ClusteringFrames:
    """Cluster a collection by the values that the sketches of its documents have in common.

    `ndcore.cluster` on the documents sorted by key gives the same result: the same representatives, classes, resemblances
    and pairs. It does not depend on partitions, their order, adaptive execution or tasks that are retried.

    Parameters
    ----------
    df, text, id, task_pairs, directory
        As for `near_duplicates`; rows are read once.
    threshold, sketcher, method, policy, least, max_holders, run, filter, tell_apart
        As for `ndcore.cluster`.
    cluster : "star", "components" or "greedy"
        As for `ndcore.cluster`.
    **local_only
        Options that only `ndcore.cluster` has, which are refused by name.

    Returns
    -------
    ClusteringFrames

    Raises
    ------
    TypeError, ValueError
        A parameter or a column is not accepted, keys repeat, or parameters exclude each other.

    Notes
    -----
    Texts are not shuffled. Samples and digests are, for keep order and if pairs are compared by their samples, and so is an
    entry of 16 bytes for each value that proposes pairs, with few exceptions only for values that several documents have,
    by filters of at most 256 MiB as in `near_duplicates`. A value held by h <= max_holders documents proposes O(h²) pairs,
    which are summed before they move. A task holds a batch of Arrow, `max_holders` entries or `task_pairs` pairs.

    References
    ----------
    Broder, Glassman, Manasse, Zweig 1997, Syntactic clustering of the Web, §4 and §5, DOI 10.1016/S0169-7552(97)00031-7.
    """
    import_spark()
    refuse_options("cluster", local_only)
    check_choice("cluster", cluster, ("star", "components", "greedy"))
    settings = Settings.of(None, sketcher=sketcher, method=method, threshold=threshold, max_holders=max_holders, run=run,
                           filter=filter)
    grouping = Grouping(settings.threshold, policy, cluster, None, least)
    grouping.check(settings.method, settings.floor)
    bound = checked_int("task_pairs", task_pairs, 1)
    key = key_columns(df, id)
    refuse_taken(key, ("representative", *VERDICT))
    sides = with_keys(df, text, key, {})
    job = {"job": "cluster", **settings.described(), **asdict(grouping), "sketches": json.loads(settings.recipe.to_json()),
           "tell_apart": bool(tell_apart), "task_pairs": bound, "columns": sides.schema.simpleString()}
    work = Work(df.sparkSession, directory, job)
    check_keys(work, sides)
    documents = number_documents(work, sides, [], sample_documents, SAMPLED, HOW, sketcher=settings.sketcher,
                                 tell_apart=bool(tell_apart))
    leaders = documents.ranked.where("sound").join(documents.followers.select("rank"), "rank", "left_anti")
    leaders = work.keep(leaders.select("rank", "sample", "modulus", "levels"), "leaders")
    pairs, long = _count_pairs(work, leaders, settings, grouping)
    labels = _assign(work, leaders, pairs, settings, grouping, bound)
    names = documents.ranked.select("rank", "key")
    verdicts = work.keep(_conclude(documents, labels, grouping), "verdicts")
    work.finish()
    by_key = pairs_by_key(pairs, names, "common", "in_a", "in_b")
    return ClusteringFrames(verdicts, key, work, by_key, _common_by_key(long, names), settings.floor, settings.described(),
                      settings.recipe)


def _count_pairs(
    work: Work, leaders: DataFrame, settings: Settings, grouping: Grouping
) -> tuple[DataFrame, DataFrame]:
    """Find the pairs that share a value, and measure them; return them, and the entries (run, rank) of common values."""
    values = work.apply(leaders.select("sample", "modulus"), list_values, "value bigint", settings=settings)
    count = leaders.selectExpr("coalesce(sum(length(sample)), 0L) div 8 as values").collect()[0]["values"]
    entries = work.apply(leaders.select("rank", "sample", "modulus"), list_members, ENTRIES, settings=settings,
                         shared=find_shared(work, values, "value", count))
    pairs, runs = find_candidates(work, entries, F.count("*").alias("common"), "counted pairs",
                                  max_holders=settings.max_holders, first_new=0)
    long = entries_of_runs(entries, runs)
    if settings.method != "shingles":
        measured = _compare(work, leaders, pairs.where(f"common >= {settings.needed}"), settings, grouping)
        return work.keep(measured, "pairs"), long
    if runs.head(1):
        held = work.keep(long.groupBy("rank").agg(F.collect_set("run").alias("values")), "common values of documents")
        pairs = pairs.join(held.selectExpr("rank as a", "values as of_a"), "a", "left").join(
            held.selectExpr("rank as b", "values as of_b"), "b", "left").selectExpr(
            "a", "b", "common + coalesce(size(array_intersect(of_a, of_b)), 0) as common")
    measured = work.apply(_with_sides(leaders, pairs, "modulus", "levels"), count_overlaps, MEASURED, settings=settings,
                       grouping=grouping)
    return work.keep(measured, "pairs"), long


def _with_sides(leaders: DataFrame, pairs: DataFrame, *columns: str) -> DataFrame:
    """Join pairs with columns of both documents, named ``…_a`` and ``…_b``."""
    for side in "ab":
        named = leaders.selectExpr(f"rank as {side}", *(f"{column} as {column}_{side}" for column in columns))
        pairs = pairs.join(named, side)
    return pairs


def _compare(
    work: Work, leaders: DataFrame, pairs: DataFrame, settings: Settings, grouping: Grouping | None
) -> DataFrame:
    """Measure pairs by comparing the samples of both documents."""
    sides = _with_sides(leaders, pairs.select("a", "b"), "sample", "modulus")
    return work.apply(sides, compare_samples, MEASURED, settings=settings, grouping=grouping)


def _assign(
    work: Work, leaders: DataFrame, pairs: DataFrame, settings: Settings, grouping: Grouping, bound: int
) -> DataFrame:
    """Choose a representative for each document of the pairs; return ``rank``, ``label`` and ``resemblance``."""
    links = pairs.where(f"weight >= {float(grouping.threshold)!r}D").selectExpr("a", "b", "weight as resemblance")
    labels = choose_representatives(work, links, grouping.cluster, first_new=0, bound=bound)
    linked = labels.selectExpr("label as a", "rank as b")
    if grouping.cluster == "components":
        measured = work.keep(_compare(work, leaders, linked, settings, None), "resemblance to representatives")
    else:
        measured = linked.join(pairs, ["a", "b"])
    return measured.selectExpr("b as rank", "a as label", "resemblance")


def _conclude(documents: SparkDocuments, labels: DataFrame, grouping: Grouping) -> DataFrame:
    """Return the verdicts by key."""
    other = "'near'"
    if grouping.policy == "containment":
        other = f"if(measured < {float(grouping.threshold)!r}D and not isnan(measured), 'contained', 'near')"
    return join_labels(documents, labels, "sound").selectExpr(
        "key.*", "representative",
        f"case when rank = label then 'kept' when label = leader then how else {other} end as class",
        """case when rank = label or (label = leader and sound) then 1D when label = leader then double('nan')
            else measured end as resemblance""",
        "cluster_size",
    )


def _common_by_key(long: DataFrame, names: DataFrame) -> DataFrame:
    """Return the common values with the key of their first holder."""
    counts = long.groupBy("run").agg(F.count("*").alias("holders"), F.min("rank").alias("first"))
    return counts.join(names.selectExpr("rank as first", "key as example"), "first").selectExpr(
        "bigint(conv(hex(run), 16, -10)) as value", "holders", "example")
