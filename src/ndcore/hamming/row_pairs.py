"""Pairs of rows from the pairs of their different fingerprints, refused early where there would be too many."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import ndcore._hamming as _hamming
from ndcore._types import AnyArray, Ints, UInts
from ndcore.hamming.table_plan import TablePlan

LARGE_RUN = 1 << 17  # keys with the same prefix; from here on their pairs are estimated before they are compared
SAMPLED = 1024  # keys of a large run whose neighbours are counted
LOG_ODDS = 65 * math.log(2)  # ln(2 / p) at p = 2^-64, the probability that an acceptable number of pairs is refused


def near_pairs(searcher: _hamming.Orders, plan: TablePlan, t: int, keys: UInts, most: int) -> UInts:
    """Find the pairs among some keys of table t that no earlier table finds; uint64 (m, 2).

    The search ends once there are more than `most`. All keys with the same prefix are compared with each other, which takes
    time quadratic in their number. So the pairs of a large run are estimated first, from the neighbours of `SAMPLED` random
    keys: ValueError where there are more than `most` pairs, except with probability 2^-64, by the empirical Bernstein
    bound. Their seed is fixed: an adversary can cause a wrong refusal, and never a missing pair.

    References
    ----------
    Maurer, Pontil (2009), Empirical Bernstein bounds and sample variance penalization, theorem 4, arXiv:0907.3740.
    """
    free = plan.bits - plan.tables[t].prefix
    for run in _yield_large_runs(keys, free):
        varying = int(np.bitwise_or.reduce(run ^ run[0])).bit_count()
        others = min(len(run) - 1, sum(math.comb(varying, k) for k in range(1, plan.max_distance + 1)))
        sample = run[np.random.default_rng(len(run)).integers(0, len(run), SAMPLED)]
        near = _hamming.near_counts(run, sample, plan.max_distance) - 1  # without the key itself
        error = math.sqrt(2 * near.var(ddof=1) * LOG_ODDS / SAMPLED) + 7 * others * LOG_ODDS / (3 * (SAMPLED - 1))
        if len(run) * (near.mean() - error) / 2 > most:
            raise too_many(most, f", about {len(run) * near.mean() / 2:.2g} among {len(run)} that differ in {varying} "
                                 "bits only")
    return searcher.pairs(t, keys, most)


def too_many(most: int, where: str = "") -> ValueError:
    """Return the error for more pairs than are listed."""
    return ValueError(f"there are more than {most} pairs of different fingerprints{where}, and no more are listed: take a "
                      "smaller max_distance, or ask query_many for some of them")


def _yield_large_runs(keys: UInts, free: int) -> Iterator[UInts]:
    """Yield the runs of LARGE_RUN or more keys that agree in all but their lowest `free` bits."""
    if len(keys) < LARGE_RUN:
        return
    if free >= 64:
        yield keys
        return
    spread = keys[:: LARGE_RUN // 2] >> np.uint64(free)
    for prefix in np.unique(spread[1:][spread[1:] == spread[:-1]]).tolist():
        begin = int(np.searchsorted(keys, np.uint64(prefix << free)))
        end = int(np.searchsorted(keys, np.uint64((prefix + 1) << free))) if (prefix + 1) << free < 1 << 64 else len(keys)
        if end - begin >= LARGE_RUN:
            yield keys[begin:end]


def collected(parts: Iterable[UInts], most: int) -> UInts:
    """Concatenate pairs of different fingerprints, uint64 (m, 2). ValueError as soon as there are more than `most`."""
    listed, count = [np.empty((0, 2), np.uint64)], 0
    for part in parts:
        listed.append(part)
        count += len(part)
        if count > most:
            raise too_many(most)
    return np.concatenate(listed)


def find_rank_pairs(searcher: Any, parts: Iterable[UInts], most: int) -> tuple[Ints, Ints, Ints]:
    """Return pairs of fingerprints, uint64 (m, 2), as (rank, other rank, distance). ValueError where they are too many.

    searcher: gives fingerprints their ranks.
    """
    a, b = (np.ascontiguousarray(column) for column in collected(parts, most).T)
    return searcher.ranks(a), searcher.ranks(b), _hamming.distances(a, b)


def row_pairs(rows: AnyArray, starts: Ints | None, x: Ints, y: Ints, distance: Ints, most: int) -> tuple[Ints, Ints, Ints]:
    """List (a, b, distance) of all pairs of rows with fingerprints x[i] and y[i], or with the same one; a < b, ascending.

    Parameters
    ----------
    rows : integers, shape (n,)
        Rows by fingerprint; rows with the same fingerprint ascend.
    starts : int64, shape (different + 1,), or None
        Where the rows of each fingerprint begin; None if every fingerprint has one row.
    x, y, distance : int64, shape (m,)
        Pairs of different fingerprints by rank, each once.
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
        raise ValueError(f"there are {total:.0f} pairs, {equal:.0f} of them of repeated fingerprints (one has {sizes.max()} "
                         f"rows); at most {most} are listed: leave repeated fingerprints out first, or ask query_many")
    repeated = np.flatnonzero(sizes > 1)
    near = _pair_rows(rows, starts, x, y)
    same = _pair_rows(rows, starts, repeated, repeated)
    once = same[0] < same[1]
    a, b = (np.concatenate([one, other[once]]) for one, other in zip(near, same, strict=True))
    distances = np.concatenate([np.repeat(distance, sizes[x] * sizes[y]), np.zeros(len(a) - len(near[0]), np.int64)])
    first, second = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((second, first))
    return first[order], second[order], distances[order]


def _pair_rows(rows: AnyArray, starts: Ints, x: Ints, y: Ints) -> tuple[Ints, Ints]:
    """Pair every row of fingerprint x[i] with every row of y[i]."""
    width = starts[y + 1] - starts[y]
    counts = (starts[x + 1] - starts[x]) * width
    within = ranges(np.zeros(len(x), np.int64), counts)
    width = np.repeat(width, counts)
    a = rows[np.repeat(starts[x], counts) + within // width].astype(np.int64)
    b = rows[np.repeat(starts[y], counts) + within % width].astype(np.int64)
    return a, b


def ranges(begins: Ints, counts: Ints) -> Ints:
    """Concatenate the ranges that begin at begins[i] and have counts[i] elements."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    positions: Ints = np.arange(total) + np.repeat(begins - (ends - counts), counts)
    return positions
