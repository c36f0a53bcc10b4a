"""The fingerprints that are in no table yet, and the matches of many queries. `_near` finds the matches of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import ndcore._hamming as _hamming
from ndcore._types import Bools, Ints, UInts
from ndcore.hamming.sorted_tables import RowMatches, SortedTables, joined

__all__ = ["Recent", "near_many"]


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


def near_many(
    levels: Sequence[SortedTables], recent: Recent | None, queries: UInts, first: int, max_distance: int,
    removed: Bools | None,
) -> RowMatches:
    """Find the matches of some queries, by query, then as `_near.near_rows` sorts. `first`: position of the first query."""
    parts: list[tuple[Ints, ...]] = [level.many(queries) for level in levels]
    if recent is not None:
        for i, value in enumerate(queries.tolist()):
            rows, distances = recent.near(value, max_distance)
            if rows:
                parts.append((np.full(len(rows), i), np.array(rows), np.array(distances)))
    found = joined(parts)
    if removed is not None:
        kept = ~removed[found.row]
        found = RowMatches(*(column[kept] for column in found))
    query, row, distance = found.ordered()
    return RowMatches(query + first, row, distance)
