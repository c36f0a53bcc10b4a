"""Count what documents have in common, in memory: sorted entries (value, document), their runs, and the pairs of runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import ndcore._entries as _entries
from ndcore._types import Ints, UInts

__all__ = ["Holders"]


class Holders:
    """The documents that hold each value.

    Parameters
    ----------
    values : ndarray of uint64
    documents : ndarray of int64
        Document documents[i] holds values[i]; a document holds a value once.
    n : int
        Documents, at most 2^32.
    max_holders : int
        A value of more documents is common: it is in no pair.

    Attributes
    ----------
    volume : ndarray of int64 (n,)
        Pairs by their first document, counted once for each value that they have in common.
    common : ndarray of uint64 (c, 3)
        Common values: the value, how many documents hold it, and the first of them. Ascending.

    Notes
    -----
    O(m log m) for m values; 40 bytes for each.
    """

    volume: Ints
    common: UInts

    def __init__(self, values: UInts, documents: Ints, n: int, max_holders: int) -> None:
        entries = np.column_stack([values, documents.astype(np.uint64)])
        _entries.sort_entries(entries)
        *runs, self.common = _entries.runs(entries[:, 0].copy(), entries[:, 1].astype(np.uint32), max_holders)
        self._runs = runs[0], runs[1]
        self.volume = np.zeros(n, np.int64)
        _entries.volume(*self._runs, self.volume)

    def pairs(self, part: slice, room: int) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield (a, b, values in common) of the pairs a < b whose a is in a part, about `room` at a time, ascending."""
        counts = _entries.Counts([self._runs], part.start, part.stop, self.volume[part], len(self.volume))
        while (found := counts.next(room)) is not None:
            a, b, common = (column.astype(np.int64) for column in found)
            yield a, b, common
