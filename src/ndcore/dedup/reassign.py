"""Move each dropped document to the kept one with which it has the highest score."""

from __future__ import annotations

import numpy as np

from ndcore._types import Ints
from ndcore.dedup.verify import Scored

__all__ = ["reassign"]


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
