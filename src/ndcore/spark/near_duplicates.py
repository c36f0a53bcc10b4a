"""The main job on Spark: find the near-duplicates of a DataFrame, and choose which documents to keep."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ndcore._types import UInts
from ndcore.checks import checked_int
from ndcore.dedup.near_duplicates import plan_sketches
from ndcore.dedup.rules import Rules
from ndcore.filters.design import FilterDesign, least_equal_minima
from ndcore.filters.prefix import PrefixFilter
from ndcore.phases.candidates import list_entries
from ndcore.phases.labelled_shingles import LabelledShingles
from ndcore.phases.probes import DIGEST
from ndcore.phases.sketches import sketch_documents
from ndcore.phases.verification import Judgement
from ndcore.sketch.minhash import MinHasher
from ndcore.spark.candidates import ENTRIES, entries_of_runs, find_candidates, find_holders, find_shared
from ndcore.spark.common_shingles import find_common, with_groups
from ndcore.spark.documents import (
    SparkDocuments,
    check_keys,
    extend_schema,
    key_columns,
    label_of,
    number_documents,
    refuse_missing,
    refuse_options,
    refuse_taken,
    with_keys,
)
from ndcore.spark.functions import F
from ndcore.spark.long_runs import LongRuns, account
from ndcore.spark.lost import count_lost
from ndcore.spark.probes import ReadTexts, count_shingles, find_probes
from ndcore.spark.result import VERDICT, NearDuplicateFrames, conclude
from ndcore.spark.stars import choose_representatives, joins, reassign
from ndcore.spark.verification import blocks_by_first, compare_pairs, read_sets
from ndcore.spark.versions import import_spark
from ndcore.spark.work import Work, count_stored
from ndcore.text.agreement import Agreement, MustAgree
from ndcore.text.shingling import Shingling

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DIGESTED = "length bigint, valid boolean, bytes binary, deciding binary"
SKETCHED = f"{DIGESTED}, features binary"
SHINGLES = "whole bigint, size bigint"  # columns of documents with the complete filter
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
    drop_common: float | None = None,
    lost: bool = False,
    reassign: bool = False,
    task_pairs: int = 1 << 22,
    directory: str | os.PathLike[str] | None = None,
    **local_only: Any,
) -> NearDuplicateFrames:
    """Find near-duplicate documents of a DataFrame, and choose which of them to keep.

    `ndcore.near_duplicates` on the documents sorted by key gives the same result with the same filter: the same
    representatives, classes and resemblances. It does not depend on partitions, their order, adaptive execution or retried
    tasks.

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
    threshold, shingling, num_perm, seed, drop, cluster, max_holders, must_agree, min_shingles, drop_common, lost, reassign
        As in `ndcore.near_duplicates`. A callable of must_agree is sent to the tasks, and gets texts unchanged from the
        column.
        drop_common reads the texts three times more, with the complete filter two times.
    filter : "auto", "lsh", "complete" or FilterDesign
        As for `ndcore.near_duplicates`; "auto" is "lsh", with drop="contained" "complete". The complete filter reads the
        texts once more, for containment twice more.
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
        The most accepted pairs, or edges of components, that one task holds; more are decided in rounds.
    directory : str or os.PathLike, optional
        Where intermediate results and the result are kept: a directory, or its URI, that all executors reach. A call that
        failed or was killed resumes after its finished steps when it is repeated with the same directory. None: a temporary
        directory, only for a local master.
    **local_only
        Options that only `ndcore.near_duplicates` has, which are refused by name.

    Returns
    -------
    NearDuplicateFrames

    Raises
    ------
    TypeError, ValueError
        A parameter or a column is not accepted, keys repeat, or parameters exclude each other. The directory has steps of
        another job, or of this one with other options or documents; the message names what differs.

    Notes
    -----
    Texts and signatures are not shuffled; digests, features (8 bytes for each group, with the complete filter for each
    shingle by which a document is looked up) and the shingle sets of candidates are. With the complete filter counters of
    shingles, 16 MiB, go to all tasks, and for containment as many marks. A task holds a batch of Arrow, 64 MB of shingle
    sets, `max_holders` entries or `task_pairs` pairs, for any sizes of clusters. The driver holds two filters of at
    most 128 MiB, or 32 MiB of the shingle sets of documents that share a feature with more than `max_holders` others, or 128
    MiB of common shingles; these go to all tasks, and some tasks fill the filters.

    References
    ----------
    Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii, "Connected Components in MapReduce and Beyond", 2014.
    DOI 10.1145/2670979.2670997.
    """
    import_spark()
    refuse_options("near_duplicates", local_only)
    rules, sketcher, design = plan_rules(
        by, against, must_agree=must_agree, filter=filter, shingling=shingling, num_perm=num_perm, seed=seed,
        threshold=threshold, drop=drop, cluster=cluster, max_holders=max_holders, min_shingles=min_shingles,
        drop_common=drop_common, lost=lost, reassign=reassign)
    bound = checked_int("task_pairs", task_pairs, 1)
    key = key_columns(df, id)
    sides, order = read_sides(df, text, id, against, keep, by, one_per)
    job = {"job": "near_duplicates", **asdict(rules), "filter": asdict(design), "task_pairs": bound,
           "sketches": json.loads(sketcher.recipe.to_json()), "keep": keep if isinstance(keep, str) else "a column",
           "columns": sides.schema.simpleString()}
    work = Work(df.sparkSession, directory, job)
    check_keys(work, sides)
    documents, left_out = _number(work, sides, order, rules, sketcher, design, must_agree)
    judgement = Judgement(sketcher, design, least_equal_minima(sketcher.num_perm, rules.threshold), rules.threshold,
                          rules.min_shingles, documents.first_new, left_out)
    read = partial(read_sets, work, sides, judgement=judgement)
    shared = None
    if isinstance(design, FilterDesign):
        shared = find_shared(work, documents.leaders, "features", design.groups * count_stored(documents.ranked))
    pairs, joined, sets, common = compare_leaders(work, read, documents, judgement, rules, bound, shared=shared)
    missed = count_lost(work, sides, documents, joined, sets, judgement) if lost else None
    verdicts, by_key = conclude(work, documents, joined, pairs, missed, rules)
    work.finish()
    return NearDuplicateFrames(verdicts, key, work, by_key, rules, design, rules.recipe(sketcher.recipe, design), common,
                               0 if left_out is None else len(left_out.common))


def plan_rules(
    by: object, against: object, *, must_agree: MustAgree, filter: str | FilterDesign, shingling: Shingling | None,
    num_perm: int, seed: int, **given: Any
) -> tuple[Rules, MinHasher, FilterDesign | PrefixFilter]:
    """Check the parameters of `near_duplicates` that determine its verdicts; choose the sketcher and the filter."""
    rules = Rules.of(Agreement.of(must_agree), filter, **given)
    if by is not None and against is not None:
        raise ValueError("by=… cannot be combined with against=…: the documents of `against` have no labels")
    return rules, *plan_sketches([], rules, shingling, num_perm, seed, filter)


def _number(
    work: Work, sides: DataFrame, order: list[str], rules: Rules, sketcher: MinHasher, design: FilterDesign | PrefixFilter,
    must_agree: MustAgree,
) -> tuple[SparkDocuments, LabelledShingles | None]:
    """Number the documents, and find equal ones, features and, with drop_common, common shingles.

    Features exclude common shingles, which are known only after the documents are numbered; so the texts are read again.
    """
    shingling, texts = sketcher.shingling, ReadTexts()
    prefix = design if isinstance(design, PrefixFilter) else None
    agrees = ["agrees binary"] if rules.must_agree else []
    counts = count_shingles(work, sides, shingling, texts) if prefix or rules.drop_common is not None else None
    of_filter = "features binary"
    if prefix:
        of_filter = f"{of_filter}, {SHINGLES}"
    elif counts is not None:
        of_filter = f"{of_filter}, size bigint"
    if rules.drop_common is None:
        probes = find_probes(work, sides, prefix, shingling, texts, counts) if prefix and counts else design
        documents = number_documents(work, sides, order, sketch_documents, ", ".join([DIGESTED, of_filter, *agrees]), HOW,
                                     sketcher=sketcher, design=probes, must_agree=must_agree)
        texts.check(documents.ranked)
        return documents, None
    assert counts is not None
    documents = number_documents(work, sides, order, sketch_documents, ", ".join([DIGESTED, "size bigint", *agrees]), HOW,
                                 sketcher=sketcher, design=None, must_agree=must_agree)
    left_out = find_common(work, sides, documents, rules.drop_common, counts, texts, sketcher=sketcher,
                           must_agree=must_agree)
    probes = find_probes(work, sides, prefix, shingling, texts, counts, left_out) if prefix else design
    read = sides.select("key", "against", "text", *(name for name in ("scope",) if name in sides.columns))
    made = work.apply(read, sketch_documents, extend_schema(read.drop("text"), f"{DIGESTED}, {of_filter}"), text="text",
                      sketcher=sketcher, design=probes, left_out=left_out)
    made = work.keep(made, "features")
    texts.add(made.selectExpr("1L as documents", f"{DIGEST} as digests"))
    texts.check(documents.ranked)
    features = made.selectExpr("key", "against", *(kind.split()[0] for kind in of_filter.split(", ")))
    ranked = documents.ranked.drop("size").join(features, ["key", "against"])
    return replace(documents, ranked=work.keep(ranked, "documents and features")), left_out


def read_sides(
    df: DataFrame, text: str, id: str | Sequence[str] | None, against: DataFrame | None, keep: Any, by: str | Column | None,
    one_per: str | Column | None,
) -> tuple[DataFrame, list[str]]:
    """Return the documents of both sides (``key``, ``against``, ``text`` and more), and the order within a side, in SQL.

    Raises TypeError and ValueError if a column is missing, or of a type that is not accepted. Parameters as in
    `near_duplicates`.
    """
    refuse_taken(key_columns(df, id), ("representative", "against", *VERDICT, "score", "lost"))
    added = {name: label_of(df, given, role) for name, given, role in (("scope", by, "by"), ("version", one_per, "one_per"))
             if given is not None}
    order = list[str]()
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
    bound: int, *, shared: UInts | None = None, prune: Callable[[DataFrame], DataFrame] | None = None,
    more: DataFrame | None = None,
) -> tuple[DataFrame, DataFrame, DataFrame, DataFrame | None]:
    """Find candidates among the leaders, compare them, and choose representatives; return (pairs, labels, sets) by rank.

    The last item has the rows of `NearDuplicateFrames.common`; None if no runs are long. read: forms the sets of documents,
    like `read_sets`. shared: as from `find_shared`. prune: drops candidate pairs that are not near. more: pairs that were
    accepted before.
    """
    leaders = documents.leaders
    scope = ["scope"] if "scope" in leaders.columns else []
    if isinstance(judgement.design, PrefixFilter):
        groups, of_shingles, sizes = 0, ["whole", "size"], ", sizes array<bigint>"
        ratio: float | None = 0.0 if judgement.contained else rules.threshold
    else:
        groups, of_shingles, sizes, ratio = judgement.design.groups, [], "", None
    entries = work.apply(leaders.select("rank", "features", *scope, *of_shingles), list_entries, f"{ENTRIES}{sizes}",
                         groups=groups, first_new=judgement.first_new, shared=shared)
    pairs, runs = find_candidates(work, entries, F.expr("min(xxhash64(run)) as block"), "candidates",
                                  max_holders=rules.max_holders, first_new=judgement.first_new, least_ratio=ratio)
    pairs = pairs if prune is None else work.keep(prune(pairs), "candidate pairs")
    ranks = pairs.selectExpr("explode(array(a, b)) as rank", "false as long")
    if has_long := bool(count := runs.count()):
        holders = find_holders(work, leaders.select("rank", "features", *scope), runs, count)
        ranks = ranks.union(holders.selectExpr("rank", "true"))
    ranks = ranks.groupBy("rank").agg(F.expr("max(long) as long"), F.expr("not min(long) as paired"))
    label = [name for name in ("label",) if judgement.left_out is not None and name in documents.ranked.columns]
    places = [name for name in ("file", "row") if name in documents.ranked.columns]
    known = ["rank", "key", "against", "bytes", *places, *label] + (["features", *scope] if has_long else [])
    wanted = documents.ranked.select(*known).join(ranks, "rank")
    wanted = wanted if judgement.left_out is None else with_groups(work, wanted, judgement.left_out)
    wanted = wanted.withColumn("runs", F.expr("if(long, features, null)")).drop("features") if has_long else wanted
    sets = read(wanted.drop("long"))
    accepted = compare_pairs(work, pairs, sets.where("paired"), judgement, "accepted pairs")
    accepted = accepted if more is None else accepted.union(more.select(*accepted.columns)).dropDuplicates(["a", "b"])

    def choose(pairs: DataFrame, cluster: str = rules.cluster) -> DataFrame:
        joining = joins(pairs, rules.threshold)
        return choose_representatives(work, joining, cluster, first_new=judgement.first_new, bound=bound)

    components, common = rules.cluster == "components", None
    if not has_long:
        labels = choose(accepted)
    else:
        long_runs = LongRuns(work, sets, judgement, either=rules.reassign)
        labels = long_runs.settle(accepted, lambda pairs: choose(pairs, "greedy" if components else rules.cluster))
        long = entries_of_runs(entries, runs)
        if components:
            long_runs.connect(long, choose(accepted.union(long_runs.pairs)))
            labels = choose(accepted.union(long_runs.pairs))
        met = long_runs.pairs if components else long_runs.pairs_with_kept(labels)
        accepted = accepted.union(met).dropDuplicates(["a", "b"])
        common = account(long, labels, documents.ranked, judgement.first_new)
    if rules.reassign:
        labels = reassign(work, labels, accepted, rules.threshold)
    if components:
        linked = labels.selectExpr("label as a", "rank as b")
        measured = compare_pairs(work, blocks_by_first(linked), sets, replace(judgement, threshold=None),
                                 "resemblance to representatives")
        labels = measured.selectExpr("b as rank", "a as label", "resemblance", "of_b as score")
    else:
        labels = labels.withColumn("score", F.col("resemblance"))
        if rules.scored:
            resembling = accepted.selectExpr("a as least", "b as greatest", "resemblance")
            labels = labels.selectExpr("rank", "label", "score", "least(rank, label) as least",
                                       "greatest(rank, label) as greatest").join(resembling, ["least", "greatest"])
    return accepted, labels, sets, common

