"""Greedy clustering of mod sketches by representative sketches.

Broder 1997, On the resemblance and containment of documents, §4.4, DOI 10.1109/SEQUEN.1997.666900.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ndcore._cluster import MOST_VALUES, Greedy
from ndcore._types import Ints, UInts
from ndcore.checks import check_numbered, checked_int, checked_threshold
from ndcore.sketch.sketcher import checked_sets

NO_LIMIT = (1 << 32) - 1


def greedy_clusters(
    values: ArrayLike,
    offsets: ArrayLike,
    *,
    threshold: float,
    representative: Literal["first", "popular"] = "first",
    moduli: ArrayLike | None = None,
    order: ArrayLike | None = None,
    max_holders: int | None = 1000,
) -> Ints:
    """Cluster documents by their mod sketches, one document after another (Broder 1997, §4.4).

    Every cluster has a representative sketch. A document joins the cluster whose representative it resembles most (the first
    of several) if the resemblance is at least `threshold`; else it starts a cluster.

    Parameters
    ----------
    values : uint64
        The members of all sketches, ascending in each: `Sketches.values`.
    offsets : int, shape (n + 1,)
        Sketch i is values[offsets[i] : offsets[i + 1]].
    threshold : float
        Above 0, at most 1.
    representative : "first" or "popular"
        "first": the sketch of the cluster's first member, so that members resemble it at or above the threshold. "popular":
        the fingerprints that most members have (ties go to smaller ones), as many as the first member has. It is updated as
        members join, so late members need not resemble the first.
    moduli : uint64 (n,), optional
        Powers of two, for adaptive sketches: `Sketches.moduli`. A document and a representative are compared at the larger
        modulus. A popular representative keeps the modulus of the cluster's first member: its multiples are counted in
        later members, and a member with a larger modulus has fewer of them.
    order : int (n,), optional
        A permutation: the documents in keep order. None: 0 … n − 1.
    max_holders : int, optional
        Values in more sketches than this are common (Broder et al. 1997, §5.1): they count in sizes, not as shared values.
        None: no value is common.

    Returns
    -------
    ndarray of int64 (n,)
        For each document the first member of its cluster, in keep order. A document with an empty sketch is alone.

    Raises
    ------
    TypeError, ValueError
        Arrays of other types or lengths; an argument out of range; a sketch whose values are not ascending multiples of its
        modulus; more than 2^31 values.

    Notes
    -----
    The resemblance is float64(common) / float64(|A| + |R| − common), as estimated from mod samples (Theorem 1). With first
    members as representatives the clusters equal those by "star" from all pairs that have a value in common.

    A table maps each value to its representatives, so the expected time is O(n·s) for sketches of s values if a value
    belongs to few representatives (at most `max_holders`), and O(n·s·log s) with "popular". Memory: at most 48 bytes for
    each value, 58 with "popular", of which 24 are for the table; and 72 bytes for each document. Deterministic: the result
    depends only on the arguments.

    >>> greedy_clusters([1, 2, 3, 4, 2, 3, 4, 5, 3, 4, 5, 6], [0, 4, 8, 12], threshold=0.6)
    array([0, 0, 2])
    """
    hashes, ends = checked_sets(values, offsets)
    n = len(ends) - 1
    threshold = checked_threshold(threshold)
    if representative not in ("first", "popular"):
        raise ValueError(f'representative is "first" or "popular", not {representative!r}')
    if max_holders is not None:
        max_holders = checked_int("max_holders (None: no limit)", max_holders, 1)
    checked_moduli = None if moduli is None else _checked_moduli(moduli, n)
    positions = None if order is None else _checked_order(order, n)
    return place_greedily(hashes, ends, checked_moduli, threshold, max_holders, representative == "popular", positions)


def place_greedily(
    values: UInts, offsets: Ints, moduli: UInts | None, threshold: float, max_holders: int | None, popular: bool,
    order: Ints | None = None,
) -> Ints:
    """Cluster like `greedy_clusters`, given checked arguments. Raises ValueError for too many sketches or values."""
    n = len(offsets) - 1
    check_numbered(n, "sketches", "cluster them in parts")
    if len(values) > MOST_VALUES:
        raise ValueError(f"{len(values):,} values are more than {MOST_VALUES:,}; take a larger modulus")
    limit = NO_LIMIT if max_holders is None else min(max_holders, NO_LIMIT)
    masks = np.zeros(n, np.uint64) if moduli is None else moduli - np.uint64(1)
    clusters = Greedy(values, offsets, masks, threshold, limit, popular)
    clusters.hold()
    return clusters.place(np.arange(n) if order is None else order)


def _checked_moduli(moduli: ArrayLike, n: int) -> UInts:
    """Convert moduli to an array. Raises TypeError or ValueError unless they are `n` powers of two."""
    given = np.asarray(moduli)
    if given.shape != (n,) or given.dtype.kind not in "ui":
        raise TypeError(f"moduli are {n} integers, one for each sketch, got {given.dtype} {given.shape}")
    checked = given.astype(np.uint64)
    wrong = np.flatnonzero((given <= 0) | (checked & (checked - np.uint64(1)) != 0))
    if len(wrong):
        raise ValueError(f"moduli must be powers of two, got {given[wrong[0]]} of sketch {wrong[0]}; leave them out where "
                         "all sketches have the same modulus")
    return checked


def _checked_order(order: ArrayLike, n: int) -> Ints:
    """Convert the order to positions. Raises TypeError or ValueError unless it is a permutation."""
    given = np.asarray(order)
    if given.shape != (n,) or (n and given.dtype.kind not in "ui"):
        raise TypeError(f"order is a permutation of {n} positions, got {given.dtype} {given.shape}")
    positions = given.astype(np.int64)
    if not np.array_equal(np.sort(positions), np.arange(n)):
        raise ValueError(f"order must hold each of 0 to {n - 1} once; {np.setdiff1d(np.arange(n), positions)[0]} is missing")
    return positions
