"""Assign documents to representatives by verified pairs: star, greedy, connected components.

The components are the clusters of Broder, Glassman, Manasse, Zweig 1997, Syntactic clustering of the Web, §4.1, DOI
10.1016/S0169-7552(97)00031-7; greedy clusters are from Broder 1997, On the resemblance and containment of documents, §4.4,
DOI 10.1109/SEQUEN.1997.666900.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ndcore._cluster import components, star
from ndcore._types import Bools, Floats, Ints
from ndcore.pairs.scored import Scored

__all__ = ["CLUSTERINGS", "KeepOrder", "join_stars", "reassign", "represent"]

CLUSTERINGS = ("star", "components", "greedy")


def represent(n: int, a: Ints, b: Ints, resemblance: Floats, order: Ints, fixed: Bools, cluster: str = "star") -> Ints:
    """Assign every document to a representative.

    Parameters
    ----------
    n : int
        Documents.
    a, b, resemblance : arrays of one length
        The pairs that resemble each other enough, with their Jaccard similarity.
    order : int64 (n,)
        A permutation: the documents in keep order.
    fixed : bool (n,)
        Documents that are representatives in any case.
    cluster : "star", "greedy" or "components"
        star: each document, in keep order, joins the representative that it resembles most (the first of several), or
        becomes one. greedy: it joins the first representative that it resembles enough. components: documents joined by a
        chain of pairs are one cluster, which its first document represents.

    Returns
    -------
    ndarray of int64 (n,)
        Position of the representative of each document.

    Notes
    -----
    O(n + pairs) after sorting the pairs.
    """
    if cluster == "components":
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n)
        roots = components(a, b, rank)
        return np.where(fixed, np.arange(n), roots)
    members, others = np.concatenate([a, b]), np.concatenate([b, a])
    return join_stars(members, others, np.concatenate([resemblance, resemblance]), order, fixed, best=cluster == "star")


def join_stars(members: Ints, others: Ints, scores: Floats, order: Ints, fixed: Bools, *, best: bool) -> Ints:
    """Assign documents to representatives, where members[i] may join others[i] with scores[i].

    best: a document joins the representative with the highest score, else the first one. All else as in `represent`.
    """
    n = len(order)
    if not len(members):
        return np.arange(n)
    by_member = np.argsort(members, kind="stable")
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(members, minlength=n), out=starts[1:])
    return star(starts, others[by_member], scores[by_member], order, fixed.astype(np.uint8), best)


class KeepOrder(NamedTuple):
    """The order in which documents are decided on.

    Attributes
    ----------
    order : int64 (documents,)
        Positions in keep order.
    rank : int64 (documents,)
        The place of each in keep order.
    fixed : bool (documents,)
        Documents that are representatives in any case; they come first.
    """

    order: Ints
    rank: Ints
    fixed: Bools

    @classmethod
    def of(cls, order: Ints, fixed: Bools) -> KeepOrder:
        """Derive the places from the order."""
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(rank))
        return cls(order, rank, fixed)

    def choose(self, pairs: Scored, threshold: float, cluster: str) -> Ints:
        """Choose a representative for each document, given the accepted pairs."""
        if cluster == "components":
            return represent(len(self.order), *pairs.pairs, self.order, self.fixed, cluster)
        return join_stars(*pairs.joins(threshold), self.order, self.fixed, best=cluster == "star")


def reassign(labels: Ints, pairs: Scored, rank: Ints, threshold: float) -> Ints:
    """Return new labels: each dropped document joins the kept one of its pairs with the highest score.

    Of several the first by `rank`, the place in keep order. A document without such a pair stays, and the kept documents
    remain the same. O(pairs · log pairs).
    """
    kept = labels == np.arange(len(labels))
    members, others, scores = pairs.joins(threshold)
    movable = ~kept[members] & kept[others]
    members, others, scores = members[movable], others[movable], scores[movable]
    best_first = np.lexsort((rank[others], -scores, members))
    found, first = np.unique(members[best_first], return_index=True)
    moved = labels.copy()
    moved[found] = others[best_first][first]
    return moved
