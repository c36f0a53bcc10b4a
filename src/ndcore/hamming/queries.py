"""The matches of one query, as plain integers, and of many, as arrays.

For a few matches, arrays would cost more than the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import ndcore._hamming as _hamming
from ndcore._types import Bools, Ints, UInts
from ndcore.hamming.sorted_tables import Found, SortedTables, joined

__all__ = ["Recent", "near_many", "near_rows"]


class Recent(NamedTuple):
    """Fingerprints that are in no table yet, from row `first` on."""

    values: UInts
    first: int

    def near(self, value: int, max_distance: int) -> tuple[list[int], list[int]]:
        """Scan them: (rows, distances) within max_distance bits of a value, by row."""
        at = _hamming.scan(self.values, value, max_distance)
        if not len(at):
            return [], []
        return (at + self.first).tolist(), [(near ^ value).bit_count() for near in self.values[at].tolist()]


def near_rows(
    levels: Sequence[SortedTables], recent: Recent | None, value: int, max_distance: int, removed: Bools | None
) -> tuple[list[int], list[int]]:
    """Find (rows, distances) of the fingerprints within max_distance bits of a value, nearest first, then by row.

    Rows in the mask `removed` are left out.
    """
    rows, distances = ([], []) if recent is None else recent.near(value, max_distance)
    for level in levels:
        found = level.one(value)
        if found is not None:
            rows += found[0]
            distances += found[1]
    if rows and removed is not None:
        kept = [i for i, row in enumerate(rows) if not removed[row]]
        rows, distances = [rows[i] for i in kept], [distances[i] for i in kept]
    if len(rows) > 1:
        pairs = sorted(zip(distances, rows, strict=True))
        rows, distances = [row for _, row in pairs], [distance for distance, _ in pairs]
    return rows, distances


def near_many(
    levels: Sequence[SortedTables], recent: Recent | None, queries: UInts, first: int, max_distance: int,
    removed: Bools | None,
) -> Found:
    """Find the matches of some queries, sorted by query, then as `near_rows` does. `first` is the first query's position."""
    parts: list[tuple[Ints, ...]] = [level.many(queries) for level in levels]
    if recent is not None:
        for i, value in enumerate(queries.tolist()):
            rows, distances = recent.near(value, max_distance)
            if rows:
                parts.append((np.full(len(rows), i), np.array(rows), np.array(distances)))
    found = joined(parts)
    if removed is not None:
        kept = ~removed[found.row]
        found = Found(*(column[kept] for column in found))
    query, row, distance = found.ordered()
    return Found(query + first, row, distance)
