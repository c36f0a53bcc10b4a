"""Pairs of rows, made of the pairs of the different fingerprints that they have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore import _hamming
from ndcore._types import Ints
from ndcore.hamming.table_plan import TablePlan

__all__ = ["collected", "near_pairs", "ranges", "row_pairs"]

CROWD = 1 << 17  # keys of one prefix from which their pairs are estimated before all of them are compared
ASKED = 1024  # of them whose neighbours are counted
LOG_ODDS = 65 * math.log(2)  # ln(2 / p) at p = 2^-64, the probability that a right number of pairs is refused


def near_pairs(
    searcher: _hamming.Orders, plan: TablePlan, t: int, keys: NDArray[np.uint64], most: int,
) -> NDArray[np.uint64]:
    """Return the pairs of fingerprints that table t is the first to hold, of some of its keys; uint64 (m, 2).

    The search ends once there are more than `most`. All keys of one prefix are compared with each other, so a large crowd of
    them takes time quadratic in its size. Its pairs are estimated first, from the exact neighbours of `ASKED` random keys:
    ValueError where the empirical Bernstein bound (Maurer and Pontil 2009, theorem 4) at a probability of 2^-64 says that
    there are more than `most`.
    """
    free = plan.bits - plan.tables[t].prefix
    for crowd in _crowds(keys, free):
        varying = int(np.bitwise_or.reduce(crowd ^ crowd[0])).bit_count()
        others = min(len(crowd) - 1, sum(math.comb(varying, k) for k in range(1, plan.max_distance + 1)))
        asked = crowd[np.random.default_rng(len(crowd)).integers(0, len(crowd), ASKED)]
        near = _hamming.near_counts(crowd, asked, plan.max_distance) - 1  # but the key itself
        error = math.sqrt(2 * near.var(ddof=1) * LOG_ODDS / ASKED) + 7 * others * LOG_ODDS / (3 * (ASKED - 1))
        if len(crowd) * (near.mean() - error) / 2 > most:
            raise too_many(most, f", about {len(crowd) * near.mean() / 2:.2g} among {len(crowd)} that differ in {varying} "
                                 "bits only")
    return searcher.pairs(t, keys, most)


def too_many(most: int, where: str = "") -> ValueError:
    """Return the error that says that there are more pairs than are listed."""
    return ValueError(f"there are more than {most} pairs of different fingerprints{where}, and no more are listed: take a "
                      "smaller max_distance, or ask query_many for some of them")


def _crowds(keys: NDArray[np.uint64], free: int) -> Iterator[NDArray[np.uint64]]:
    """Yield the CROWD or more keys that agree in all but their lowest `free` bits; keys ascend but for these."""
    if len(keys) < CROWD:
        return
    if free >= 64:
        yield keys
        return
    spread = keys[:: CROWD // 2] >> np.uint64(free)
    for prefix in np.unique(spread[1:][spread[1:] == spread[:-1]]).tolist():
        begin = int(np.searchsorted(keys, np.uint64(prefix << free)))
        end = int(np.searchsorted(keys, np.uint64((prefix + 1) << free))) if (prefix + 1) << free < 1 << 64 else len(keys)
        if end - begin >= CROWD:
            yield keys[begin:end]


def collected(parts: Iterable[NDArray[np.uint64]], most: int) -> NDArray[np.uint64]:
    """Pairs of different fingerprints, uint64 (m, 2), of all parts; ValueError as soon as there are more than `most`."""
    listed, count = [np.empty((0, 2), np.uint64)], 0
    for part in parts:
        listed.append(part)
        count += len(part)
        if count > most:
            raise too_many(most)
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
