"""Choose representatives by accepted pairs, on Spark: components; stars, in one task if their pairs fit, else in rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ndcore.phases.stars import DROPPED, KEPT, UNKNOWN, assign_stars, contract_edges, large_star, resolve_round, small_star
from ndcore.spark.functions import F
from ndcore.spark.work import Work, count_stored

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EDGES = "a bigint, b bigint"
LABELS = "rank bigint, label bigint, resemblance double"  # resemblance: or the score, if that differs
_BEST = {  # the best of the pairs of a document with representatives
    "star": "max(struct(resemblance, -a as first)) as best",
    "greedy": "min(struct(a as first, resemblance)) as best",
}


def joins(pairs: DataFrame, threshold: float) -> DataFrame:
    """Select the accepted pairs of which ``b`` may join ``a``, with its score in place of the resemblance."""
    return pairs.where(f"of_b >= {float(threshold)!r}D").selectExpr("a", "b", "of_b as resemblance")


def find_components(work: Work, pairs: DataFrame, bound: int) -> DataFrame:
    """Find the first document, ``a``, of the component of each other document, ``b``.

    Up to `bound` edges are joined by one task. More of them take rounds of large and small stars until nothing changes.
    """
    edges = work.keep(work.apply(pairs.select("a", "b"), contract_edges, EDGES, bound=bound), "components")
    before = _summary(edges)
    while before[0] > bound:
        both = edges.selectExpr("a as u", "b as v").union(edges.selectExpr("b as u", "a as v"))
        large = work.apply(both.repartition("u").sortWithinPartitions("u", "v"), large_star, EDGES)
        turned = large.selectExpr("b as u", "a as v").repartition("u").sortWithinPartitions("u", "v")
        small = work.apply(turned, small_star, EDGES)
        contracted = work.apply(small, contract_edges, EDGES, bound=bound)
        edges = work.keep(contracted.distinct(), "components")
        after = _summary(edges)
        if after == before:
            return edges
        before = after
    return work.keep(work.apply(edges.coalesce(1), contract_edges, EDGES, bound=bound), "components")


def _summary(edges: DataFrame) -> tuple[Any, ...]:
    """Return the number of edges and a fingerprint of them, in any order."""
    return tuple(edges.selectExpr("count(*)", "bit_xor(xxhash64(a, b))", "bit_xor(xxhash64(b, a))").collect()[0])


def choose_representatives(work: Work, pairs: DataFrame, cluster: str, *, first_new: int, bound: int) -> DataFrame:
    """Choose a representative for each document of accepted pairs (``a`` < ``b``, ``resemblance``), ranks in keep order.

    Returns the documents that join another one: ``rank``, ``label``, ``resemblance`` (null with components, whose members
    need not be a pair). More than `bound` pairs are decided in rounds.
    """
    if cluster == "components":
        roots = find_components(work, pairs, bound)
        return roots.where(f"b >= {first_new}").selectExpr("b as rank", "a as label", "cast(null as double) as resemblance")
    pairs = work.keep(pairs, "pairs of stars")
    if (count := count_stored(pairs)) <= bound:
        return work.keep(work.apply(pairs.repartition(1), assign_stars, LABELS, best=cluster == "star"), "stars")
    return _assign_in_rounds(work, pairs, count, cluster, bound)


def _assign_in_rounds(work: Work, pairs: DataFrame, count: int, cluster: str, bound: int) -> DataFrame:
    """Assign the documents of more pairs than a task may hold. count: of pairs.

    In each round tasks take ranges of documents in keep order. A document without undecided earlier neighbours becomes a
    representative, and decides its neighbours. Pairs that fit in one task are decided by it, in the last round.
    """
    # a document that is second in no pair is a representative
    undecided, known, others = pairs, pairs.selectExpr("b as document", f"{UNKNOWN} as state").distinct(), KEPT
    dropped = work.table([], dropped="int64")
    while count:
        marked = undecided.join(known, F.col("a") == F.col("document"), "left").selectExpr(
            "a", "b", f"tinyint(coalesce(state, {others})) as state")
        ranges = marked.repartitionByRange(min(work.cores, -(-count // bound)), "b").sortWithinPartitions("b", "a")
        resolved = work.keep(work.apply(ranges, resolve_round, f"{EDGES}, state tinyint", bound=bound), "rounds of stars")
        known, others = resolved.where("a = b").selectExpr("a as document", "state"), UNKNOWN
        dropped = dropped.union(known.where(f"state = {DROPPED}").select("document"))
        undecided = resolved.where("a < b").select("a", "b")
        count = undecided.count() if count > bound else 0
    joins = pairs.join(dropped, F.col("a") == F.col("dropped"), "left_anti").groupBy("b")
    chosen = joins.agg(F.expr(_BEST[cluster])).selectExpr("b as rank", "abs(best.first) as label", "best.resemblance")
    return work.keep(chosen, "stars")


def reassign(work: Work, labels: DataFrame, pairs: DataFrame, threshold: float) -> DataFrame:
    """Return labels by which each dropped document joins the kept one, earlier or later, with the highest score.

    Ties go to the first; a document without such a pair keeps its label.
    """
    turned = pairs.selectExpr("b as a", "a as b", "of_a as of_b")
    both = joins(pairs, threshold).union(joins(turned, threshold)).selectExpr("b as rank", "a as other", "resemblance")
    dropped = labels.select("rank")
    movable = both.join(dropped, "rank", "left_semi").join(dropped.toDF("other"), "other", "left_anti")
    best = movable.groupBy("rank").agg(F.expr("max(struct(resemblance, -other as other)) as best"))
    moved = labels.join(best, "rank", "left").selectExpr(
        "rank", "coalesce(-best.other, label) as label", "coalesce(best.resemblance, resemblance) as resemblance")
    return work.keep(moved, "documents that moved")
