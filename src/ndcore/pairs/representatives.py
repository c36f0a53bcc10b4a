"""Choose representatives by all verified pairs, in keep order.

The components are the clusters of Broder, Glassman, Manasse, Zweig 1997, Syntactic clustering of the Web, §4.1, DOI
10.1016/S0169-7552(97)00031-7; greedy clusters are from Broder 1997, On the resemblance and containment of documents, §4.4,
DOI 10.1109/SEQUEN.1997.666900.
"""

from __future__ import annotations

import numpy as np

from ndcore._cluster import components, star
from ndcore._types import Bools, Floats, Ints
from ndcore.pairs.keep_order import KeepOrder
from ndcore.pairs.scored import Scored

CLUSTERINGS = ("star", "components", "greedy")


def choose_representatives(pairs: Scored, keep: KeepOrder, threshold: float, cluster: str, reassign: bool = False) -> Ints:
    """Choose a representative for each document, given the accepted pairs; reassign: see `move_to_best`."""
    if cluster == "components":
        labels = represent(len(keep.order), *pairs.pairs, keep.order, keep.fixed, cluster)
    else:
        labels = join_stars(*pairs.joins(threshold), keep.order, keep.fixed, best=cluster == "star")
    return move_to_best(labels, pairs, keep.rank, threshold) if reassign else labels


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
        star: each document, in keep order, joins the representative that it resembles most (ties go to the first), or
        becomes one. greedy: it joins the first representative that it resembles enough. components: documents connected by
        a chain of pairs are one cluster, whose first document represents it.

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

    best: a document joins the representative with the highest score, else the first one. Other parameters are as for
    `represent`.
    """
    n = len(order)
    if not len(members):
        return np.arange(n)
    by_member = np.argsort(members, kind="stable")
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(members, minlength=n), out=starts[1:])
    return star(starts, others[by_member], scores[by_member], order, fixed.astype(np.uint8), best)


def move_to_best(labels: Ints, pairs: Scored, rank: Ints, threshold: float) -> Ints:
    """Return new labels, by which each dropped document joins the kept document of its pairs with the highest score.

    Ties go to the first by `rank`, the place in keep order. A document without such a pair keeps its label, and the kept
    documents stay the same. O(pairs · log pairs).
    """
    kept = labels == np.arange(len(labels))
    members, others, scores = pairs.joins(threshold)
    movable = ~kept[members] & kept[others]
    members, others, scores = members[movable], others[movable], scores[movable]
    best_first = np.lexsort((rank[others], -scores, members))
    dropped, first = np.unique(members[best_first], return_index=True)
    moved = labels.copy()
    moved[dropped] = others[best_first][first]
    return moved
