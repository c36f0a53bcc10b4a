"""Greedy string tiling, bounded to linear work: find the runs of one sequence that equal runs of another.

The naive algorithm (Wise, "String similarity via greedy string tiling and running Karp-Rabin matching", 1993) is

    while a free run of a equals a free run of b:
        make the longest such pair a tile; its elements are not free any more

in cubic time at worst. Among runs of the same length it takes any, so short repeats may be matched far from their context.
Here a sequence of passes first takes the certain places, and then tries a bounded number of places for each element:

1. Anchors: runs of elements that occur once in each sequence become tiles, longest first, each extended to both sides by
   elements that are equal and free.
2. Repeats in a, and in b: find the free runs that equal a part of a tile. Nothing is decided; only their lengths count.
3. Rest: from left to right, a free run of a and the longest equal free run of b, of at most CANDIDATES places, become a
   tile, unless it would be shorter than the repeats of step 2 that it begins in.
4. Repeats again, by all tiles: free runs that equal a part of a tile are pieces of that tile's number.

After step 4 no element is free: its equals in the other sequence are in tiles, or step 3 would have made it part of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ndcore._types import Ints

CANDIDATES = 8  # places that are tried for an element that repeats


class TilePiece(NamedTuple):
    """The elements start … end − 1, which are tile `number` or, if `repeat`, a further occurrence of it or of a part."""

    start: int
    end: int
    number: int
    repeat: bool


def tile(a: Ints, b: Ints) -> tuple[list[TilePiece], list[TilePiece]]:
    """Split the common elements of two sequences into equal runs.

    Parameters
    ----------
    a, b : ndarray of int64
        Elements 0, 1, …; −1 is an element that the other sequence does not have. All others are in both.

    Returns
    -------
    pieces_a, pieces_b : list of Piece
        In order, disjoint, and together all elements that are not −1. Every number 0, 1, … occurs once in each without
        `repeat`; these two runs are equal. Repeats are equal to a part of the run of their number.

    Notes
    -----
    O(n log n) for n elements, with at most `CANDIDATES` comparisons per element.
    """
    tiling = _Tiling(a, b)
    tiling.claim_anchors()
    tiling.claim_rest(tiling.repeat_lengths(0), tiling.repeat_lengths(1))
    return tiling.pieces(0), tiling.pieces(1)


def heaviest_in_order(weights: list[int], order: list[int]) -> frozenset[int]:
    """Find the heaviest increasing subsequence of `order`, a permutation of the positions of `weights`. O(n log n)."""
    best = [(0, 0)] * (len(order) + 1)  # Fenwick tree: (weight, 1 + value) of the best chain that ends at a value or before
    previous: dict[int, int] = {}
    for value in order:
        at, top = value, (0, 0)
        while at:
            top = max(top, best[at])
            at &= at - 1
        previous[value + 1] = top[1]
        top, at = (top[0] + weights[value], value + 1), value + 1
        while at < len(best):
            best[at] = max(best[at], top)
            at += at & -at
    last = max(best)[1]
    chain = set()
    while last:
        chain.add(last - 1)
        last = previous[last]
    return frozenset(chain)


class _Tiling:
    """Sequences 0 (a) and 1 (b), and the tiles claimed so far. An element is free while it is in no tile."""

    def __init__(self, a: Ints, b: Ints) -> None:
        self.arrays = a, b
        self.size = 1 + max(a.max(initial=-1), b.max(initial=-1))
        self.lists = a.tolist(), b.tolist()
        self.owners = [-1] * len(a), [-1] * len(b)  # the tile of each element; −1: free
        self.tiles: list[tuple[int, int, int]] = []  # starts in a and b, length

    def claim_anchors(self) -> None:
        """Make tiles of runs of elements that occur once in each sequence, longest first."""
        (a, b), (in_a, in_b) = self.lists, self.owners
        for i, j, length in self._anchors():
            if in_a[i] >= 0:
                continue
            while i and j and a[i - 1] == b[j - 1] >= 0 and in_a[i - 1] < 0 and in_b[j - 1] < 0:
                i, j, length = i - 1, j - 1, length + 1
            more = self._equal_run(0, i + length, j + length) if j + length < len(b) and in_b[j + length] < 0 else 0
            self._claim(i, j, length + more)

    def _anchors(self) -> Iterator[tuple[int, int, int]]:
        """Yield (start in a, start in b, length) of the runs of such elements, longest first."""
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

    def repeat_lengths(self, side: int) -> list[int]:
        """Compute for each element of a sequence the length of the repeat that contains it; 0: none."""
        lengths = [0] * len(self.lists[side])
        for start, end, _, _ in self._repeats(side):
            lengths[start:end] = [end - start] * (end - start)
        return lengths

    def claim_rest(self, repeats_a: list[int], repeats_b: list[int]) -> None:
        """Make tiles of free runs from left to right, each at least as long as the repeats that it begins in."""
        in_a, in_b = self.owners
        places = _ElementPositions(self.arrays[1], self.size)
        for i, element in enumerate(self.lists[0]):
            if element >= 0 and in_a[i] < 0:
                j, length = self._longest(0, i, [j for j in places.first(element, in_b) if in_b[j] < 0])
                if length and length >= max(repeats_a[i], repeats_b[j]):
                    self._claim(i, j, length)

    def pieces(self, side: int) -> list[TilePiece]:
        """Return all pieces of a sequence: its tiles, and the repeats among the free elements."""
        tiles = [TilePiece(row[side], row[side] + row[2], number, False) for number, row in enumerate(self.tiles)]
        return sorted(tiles + self._repeats(side))

    def _repeats(self, side: int) -> list[TilePiece]:
        """Find the free runs of a sequence that equal parts of tiles."""
        in_own, in_other = self.owners[side], self.owners[1 - side]
        places = _ElementPositions(np.where(np.array(in_other, np.int64) >= 0, self.arrays[1 - side], -1), self.size)
        repeats: list[TilePiece] = []
        for i, element in enumerate(self.lists[side]):
            if element >= 0 and in_own[i] < 0 and (not repeats or i >= repeats[-1].end):
                j, length = self._longest(side, i, places.first(element))
                if length:
                    repeats.append(TilePiece(i, i + length, in_other[j], True))
        return repeats

    def _longest(self, side: int, i: int, places: list[int]) -> tuple[int, int]:
        """Return (place, length) of the longest run that equals the sequence from i on; of equals the first."""
        best, longest = 0, 0
        for j in places:
            length = self._equal_run(side, i, j)
            if length > longest:
                best, longest = j, length
            if self._ends(side, i + length):
                break
        return best, longest

    def _equal_run(self, side: int, i: int, j: int) -> int:
        """Count the free elements from i on that equal the other sequence from j on, within its tile or its free run."""
        own, other, in_own, in_other = self.lists[side], self.lists[1 - side], self.owners[side], self.owners[1 - side]
        start, number, end = i, in_other[j], i + min(len(own) - i, len(other) - j)
        while i < end and own[i] == other[j] >= 0 and in_own[i] < 0 and in_other[j] == number:
            i, j = i + 1, j + 1
        return i - start

    def _ends(self, side: int, at: int) -> bool:
        """Tell whether a run must end before the element `at`, which is outside, in one sequence only, or in a tile."""
        return at == len(self.lists[side]) or self.lists[side][at] < 0 or self.owners[side][at] >= 0

    def _claim(self, i: int, j: int, length: int) -> None:
        """Make the run at i in a and at j in b a tile."""
        number = [len(self.tiles)] * length
        self.owners[0][i : i + length] = number
        self.owners[1][j : j + length] = number
        self.tiles.append((i, j, length))


class _ElementPositions:
    """Positions of the elements 0 … size − 1 in a sequence."""

    def __init__(self, sequence: Ints, size: int) -> None:
        self.order = np.argsort(sequence, kind="stable").tolist()
        counts = np.bincount(sequence + 1, minlength=size + 1)
        self.ends = np.cumsum(counts).tolist()
        self.starts = self.ends[:]

    def first(self, element: int, owners: list[int] | None = None) -> list[int]:
        """Return the first `CANDIDATES` positions; with `owners`, forget positions before the first free one."""
        start, end = self.starts[element], self.ends[element + 1]
        while owners is not None and start < end and owners[self.order[start]] >= 0:
            start += 1
        self.starts[element] = start
        candidates: list[int] = self.order[start : min(end, start + CANDIDATES)]
        return candidates
