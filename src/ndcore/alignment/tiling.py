"""Which runs of one sequence are which runs of another: greedy string tiling, bounded to linear work.

After Wise (1993), "String similarity via greedy string tiling and running Karp–Rabin matching", which takes the longest
common run again and again, in cubic time at worst. Here runs around elements that stand once in each sequence come first
(their places are certain), then what repeats is given out from left to right, the longest of a few candidates each time,
unless it is part of a longer repeat of what has been found already.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Piece", "tile"]

CANDIDATES = 8  # places that are tried for an element that repeats


class Piece(NamedTuple):
    """The elements start … end − 1, which are tile `number` or, if `repeat`, (a part of) it in a further place."""

    start: int
    end: int
    number: int
    repeat: bool


def tile(a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[list[Piece], list[Piece]]:
    """Cut the elements that two sequences have in common into equal runs.

    Parameters
    ----------
    a, b : ndarray of int64
        Elements 0, 1, …; −1 is an element that the other sequence does not have. All others are in both.

    Returns
    -------
    pieces_a, pieces_b : list of Piece
        In order, disjoint, and together all elements that are not −1. Every number 0, 1, … stands once in each without
        `repeat`; these two runs are equal. Repeats are equal to a part of the run of their number.

    Notes
    -----
    O(n log n) for n elements, with at most `CANDIDATES` comparisons per element.
    """
    return _Tiling(a, b).pieces()


class _Tiling:
    def __init__(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> None:
        self.arrays = a, b
        self.size = 1 + max(a.max(initial=-1), b.max(initial=-1))
        self.lists = a.tolist(), b.tolist()
        self.owners = [-1] * len(a), [-1] * len(b)  # the tile of each element
        self.tiles: list[tuple[int, int, int]] = []  # starts in a and b, length

    def pieces(self) -> tuple[list[Piece], list[Piece]]:
        for i, j, length in self._anchors():
            if self.owners[0][i] < 0:
                self._claim_around(i, j, length)
        self._give_out(self._repeat_lengths(0), self._repeat_lengths(1))
        repeats = self._repeats(0), self._repeats(1)
        first = [[Piece(row[side], row[side] + row[2], number, False) for number, row in enumerate(self.tiles)]
                 for side in (0, 1)]
        return sorted(first[0] + repeats[0]), sorted(first[1] + repeats[1])

    def _anchors(self) -> Iterator[tuple[int, int, int]]:
        """Runs (start in a, start in b, length) of elements that stand once in each sequence, longest first."""
        a, b = self.arrays
        once = np.ones(self.size, np.bool_)
        place = np.zeros(self.size, np.int64)
        for sequence in (a, b):
            once &= np.bincount(sequence[sequence >= 0], minlength=self.size) == 1
        place[b[b >= 0]] = np.flatnonzero(b >= 0)
        i = np.flatnonzero(a >= 0)
        i = i[once[a[i]]]
        j = place[a[i]]
        begins = np.flatnonzero((np.diff(i, prepend=-2) != 1) | (np.diff(j, prepend=-2) != 1))
        lengths = np.diff(begins, append=len(i))
        for k in np.argsort(-lengths, kind="stable").tolist():
            yield int(i[begins[k]]), int(j[begins[k]]), int(lengths[k])

    def _claim_around(self, i: int, j: int, length: int) -> None:
        """A tile of the run, as long as what is free on both sides makes it."""
        (a, b), (in_a, in_b) = self.lists, self.owners
        while i and j and a[i - 1] == b[j - 1] >= 0 and in_a[i - 1] < 0 and in_b[j - 1] < 0:
            i, j, length = i - 1, j - 1, length + 1
        self._claim(i, j, length + self._free_run(i + length, j + length))

    def _claim(self, i: int, j: int, length: int) -> None:
        number = [len(self.tiles)] * length
        self.owners[0][i : i + length] = number
        self.owners[1][j : j + length] = number
        self.tiles.append((i, j, length))

    def _free_run(self, i: int, j: int) -> int:
        """How far a from i on and b from j on are equal and free."""
        (a, b), (in_a, in_b) = self.lists, self.owners
        start, most = i, i + min(len(a) - i, len(b) - j)
        while i < most and a[i] == b[j] >= 0 and in_a[i] < 0 and in_b[j] < 0:
            i, j = i + 1, j + 1
        return i - start

    def _give_out(self, repeats_a: list[int], repeats_b: list[int]) -> None:
        """Tiles of what is free in both sequences, from left to right, at least as long as the repeats there."""
        a, in_a, in_b = self.lists[0], *self.owners
        places = _Places(self.arrays[1], self.size)
        for i, element in enumerate(a):
            if element < 0 or in_a[i] >= 0:
                continue
            best, length = 0, 0
            for j in places.of(element, in_b):
                run = self._free_run(i, j) if in_b[j] < 0 else 0
                if run > length:
                    best, length = j, run
                if self._ends(0, i + run):
                    break
            if length and length >= max(repeats_a[i], repeats_b[best]):
                self._claim(i, best, length)

    def _repeats(self, side: int) -> list[Piece]:
        """Runs of what is free in the sequence `side` and equal to parts of tiles."""
        own, in_own, in_other = self.lists[side], self.owners[side], self.owners[1 - side]
        places = _Places(np.where(np.array(in_other, np.int64) >= 0, self.arrays[1 - side], -1), self.size)
        found: list[Piece] = []
        for i, element in enumerate(own):
            if element < 0 or in_own[i] >= 0 or (found and i < found[-1].end):
                continue
            best, length = 0, 0
            for j in places.of(element):
                run = self._repeated_run(side, i, j)
                if run > length:
                    best, length = j, run
                if self._ends(side, i + run):
                    break
            if length:
                found.append(Piece(i, i + length, in_other[best], True))
        return found

    def _repeat_lengths(self, side: int) -> list[int]:
        """Of each element of a sequence, the length of the repeat that it is in; 0: none."""
        lengths = [0] * len(self.lists[side])
        for start, end, _, _ in self._repeats(side):
            lengths[start:end] = [end - start] * (end - start)
        return lengths

    def _repeated_run(self, side: int, i: int, j: int) -> int:
        """How far the sequence `side` is free from i on, and equal to the tile of the other from j on."""
        own, other, in_own, in_other = self.lists[side], self.lists[1 - side], self.owners[side], self.owners[1 - side]
        start, number, most = i, in_other[j], i + min(len(own) - i, len(other) - j)
        while i < most and own[i] == other[j] and in_own[i] < 0 and in_other[j] == number:
            i, j = i + 1, j + 1
        return i - start

    def _ends(self, side: int, at: int) -> bool:
        """Whether no run in the sequence `side` can go on to `at`."""
        return at == len(self.lists[side]) or self.lists[side][at] < 0 or self.owners[side][at] >= 0


class _Places:
    """Where the elements 0 … size − 1 of a sequence stand."""

    def __init__(self, sequence: NDArray[np.int64], size: int) -> None:
        self.order = np.argsort(sequence, kind="stable").tolist()
        counts = np.bincount(sequence + 1, minlength=size + 1)
        self.ends = np.cumsum(counts).tolist()
        self.starts = self.ends[:]

    def of(self, element: int, owners: list[int] | None = None) -> list[int]:
        """The first `CANDIDATES` places; with `owners`, those that come before a free one are forgotten."""
        start, end = self.starts[element], self.ends[element + 1]
        while owners is not None and start < end and owners[self.order[start]] >= 0:
            start += 1
        self.starts[element] = start
        found: list[int] = self.order[start : min(end, start + CANDIDATES)]
        return found
