"""Pairs of documents: verified pairs with scores, and pairs that hold values in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import ndcore._entries as _entries
from ndcore._types import Bools, Floats, Ints, UInts
from ndcore.readonly import NamedColumns, rebuilt
from ndcore.sketch.sketcher import end_to_end


class _DocumentPairs(NamedTuple):
    a: Ints
    b: Ints
    resemblance: Floats


class DocumentPairs(NamedColumns, _DocumentPairs):  # type: ignore[misc]
    """Pairs of documents a[i] < b[i] and their resemblances, sorted by a, then b."""

    __slots__ = ()

    def where(self, mask: Bools) -> DocumentPairs:
        """Select the pairs of a mask."""
        return DocumentPairs(self.a[mask], self.b[mask], self.resemblance[mask])


class Scored(NamedTuple):
    """Pairs of documents a[i] < b[i], their resemblances and scores: of a in b, and of b in a."""

    a: Ints
    b: Ints
    resemblance: Floats
    of_a: Floats
    of_b: Floats

    def __reduce__(self) -> tuple[object, ...]:
        return rebuilt, (Scored, *self)

    @classmethod
    def of(cls, a: Ints, b: Ints, shared: Ints, size_a: Ints, size_b: Ints, *, contained: bool) -> Scored:
        """Score pairs by containment or resemblance, from the numbers of common members and the sizes of their sets."""
        common = shared.astype(np.float64)
        with np.errstate(invalid="ignore"):  # 0 / 0 is nan
            resemblance: Floats = common / (size_a + size_b - shared).astype(np.float64)
            scores = (common / size_a, common / size_b) if contained else (resemblance, resemblance)
        return cls(a, b, resemblance, *scores)

    @property
    def score(self) -> Floats:
        """float64 (pairs,): the larger of both scores."""
        larger: Floats = np.fmax(self.of_a, self.of_b)
        return larger

    @property
    def pairs(self) -> DocumentPairs:
        """The pairs without scores."""
        return DocumentPairs(self.a, self.b, self.resemblance)

    def where(self, mask: Bools | Ints) -> Scored:
        """Select the pairs of a mask, or at positions, in their order."""
        a, b, resemblance, of_a, of_b = self
        return Scored(a[mask], b[mask], resemblance[mask], of_a[mask], of_b[mask])

    def accepted(self, threshold: float) -> Scored:
        """Select the pairs whose score reaches the threshold in at least one direction."""
        return self.where(self.score >= threshold)

    def joins(self, threshold: float) -> tuple[Ints, Ints, Floats]:
        """Return (members, others, scores): which document may join which, in both directions if both scores allow it."""
        members, others = np.concatenate([self.a, self.b]), np.concatenate([self.b, self.a])
        scores = np.concatenate([self.of_a, self.of_b])
        enough = scores >= threshold
        return members[enough], others[enough], scores[enough]

    @staticmethod
    def merged(parts: list[Scored], total: int) -> Scored:
        """Merge pairs of documents below `total`, without repeats, sorted by a, then b."""
        if not parts:
            none, nothing = np.empty(0, np.int64), np.empty(0, np.float64)
            return Scored(none, none, nothing, nothing, nothing)
        whole = Scored(*(end_to_end(column) for column in zip(*parts, strict=True)))
        numbers = whole.a * total + whole.b
        if (numbers[1:] > numbers[:-1]).all():  # true for the pairs of one search
            return whole
        return whole.where(np.unique(numbers, return_index=True)[1])


class Holders:
    """The documents that hold each value, in memory: sorted entries (value, document), and the pairs of their runs.

    Parameters
    ----------
    values : ndarray of uint64
    documents : ndarray of int64
        Document documents[i] holds values[i]; a document holds a value at most once.
    n : int
        Documents, at most 2^32.
    max_holders : int
        A value that more documents hold is common, and makes no pairs.

    Attributes
    ----------
    volume : ndarray of int64 (n,)
        The number of pairs by first document, counted once for each common value.
    common : ndarray of uint64 (c, 3)
        Common values: the value, the number of its holders, and the first holder. Ascending.

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
