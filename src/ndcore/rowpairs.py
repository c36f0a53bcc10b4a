"""Pairs of rows, made of the pairs of the different fingerprints that they have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["collected", "ranges", "row_pairs"]

Ints = NDArray[np.int64]


def collected(parts: Iterable[NDArray[np.uint64]], most: int) -> NDArray[np.uint64]:
    """Pairs of different fingerprints, uint64 (m, 2), of all parts; ValueError as soon as there are more than `most`."""
    listed, count = [np.empty((0, 2), np.uint64)], 0
    for part in parts:
        listed.append(part)
        count += len(part)
        if count > most:
            raise ValueError(f"there are more than {most} pairs of different fingerprints, and no more are listed: take a "
                             "smaller max_distance, or ask query_many for some of them")
    return np.concatenate(listed)


def row_pairs(
    rows: NDArray[Any], starts: Ints | None, x: Ints, y: Ints, distance: Ints, most: int,
) -> tuple[Ints, Ints, Ints]:
    """(a, b, distance) of all pairs of rows that have fingerprints x[i] and y[i], or the same one; a < b, ascending.

    Parameters
    ----------
    rows : integers, shape (n,)
        Rows by fingerprint, those of one fingerprint ascending.
    starts : int64, shape (different + 1,), or None
        Where the rows of each fingerprint begin; None where every one has one row.
    x, y, distance : int64, shape (m,)
        Pairs of different fingerprints by number, each once.
    most : int

    Raises
    ------
    ValueError
        There are more than `most` pairs of rows.
    """
    if starts is None:
        starts = np.arange(len(rows) + 1)
    sizes = np.diff(starts)
    equal = float((sizes * (sizes - 1.0) / 2).sum())
    total = equal + float((sizes[x] * sizes[y].astype(np.float64)).sum())
    if total > most:
        raise ValueError(f"there are {total:.0f} pairs, {equal:.0f} of them of equal fingerprints (one has {sizes.max()} "
                         f"rows); at most {most} are listed: leave equal fingerprints out first, or ask query_many")
    repeated = np.flatnonzero(sizes > 1)
    near = _products(rows, starts, x, y)
    same = _products(rows, starts, repeated, repeated)
    once = same[0] < same[1]
    a, b = (np.concatenate([one, other[once]]) for one, other in zip(near, same, strict=True))
    distances = np.concatenate([np.repeat(distance, sizes[x] * sizes[y]), np.zeros(len(a) - len(near[0]), np.int64)])
    first, second = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((second, first))
    return first[order], second[order], distances[order]


def _products(rows: NDArray[Any], starts: Ints, x: Ints, y: Ints) -> tuple[Ints, Ints]:
    """Every row of fingerprint x[i] with every row of y[i]."""
    width = starts[y + 1] - starts[y]
    counts = (starts[x + 1] - starts[x]) * width
    within = ranges(np.zeros(len(x), np.int64), counts)
    width = np.repeat(width, counts)
    a = rows[np.repeat(starts[x], counts) + within // width].astype(np.int64)
    b = rows[np.repeat(starts[y], counts) + within % width].astype(np.int64)
    return a, b


def ranges(begins: Ints, counts: Ints) -> Ints:
    """begins[0], begins[0] + 1, … (counts[0] of them), begins[1], …"""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    made: Ints = np.arange(total) + np.repeat(begins - (ends - counts), counts)
    return made
