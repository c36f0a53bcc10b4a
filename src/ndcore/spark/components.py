"""Connected components of pairs, on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ndcore.phases.components import contract_edges, large_star, small_star
from ndcore.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["find_components"]

EDGES = "a bigint, b bigint"


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
