"""Verified pairs to representatives: star, greedy, connected components."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ndcore import _pairs

__all__ = ["CLUSTERINGS", "represent"]

CLUSTERINGS = ("star", "components", "greedy")


def represent(
    n: int,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    resemblance: NDArray[np.float64],
    order: NDArray[np.int64],
    fixed: NDArray[np.bool_],
    cluster: str = "star",
) -> NDArray[np.int64]:
    """The representative of every document.

    Parameters
    ----------
    n : int
        Documents.
    a, b, resemblance : arrays of one length
        The pairs that resemble each other enough.
    order : int64 (n,)
        A permutation: the documents in keep order.
    fixed : bool (n,)
        Documents that are representatives whatever they resemble.
    cluster : "star", "greedy" or "components"
        star: in keep order a document joins the representative it resembles most (of equals the first), or becomes one.
        greedy (Broder 1997, §4.4, the first member representing its cluster): it joins the first one that it resembles
        enough. components: documents joined by a chain of pairs are one cluster, its first document represents it.

    Returns
    -------
    ndarray of int64 (n,)
        O(n + pairs) after sorting the pairs.
    """
    if cluster == "components":
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n)
        roots = _pairs.components(a, b, rank)
        return np.where(fixed, np.arange(n), roots)
    ends, others = np.concatenate([a, b]), np.concatenate([b, a])
    by_end = np.argsort(ends, kind="stable")
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=n), out=starts[1:])
    weights = np.concatenate([resemblance, resemblance])[by_end]
    return _pairs.star(starts, others[by_end], weights, order, fixed.astype(np.uint8), cluster == "star")
