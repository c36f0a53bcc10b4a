"""Weights of the shingles of documents: total weights, and the weight that two documents have in common."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ndcore._types import AnyArray, Ints, UInts
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.sketch.weights import FeatureWeights
from ndcore.storage.spill import SpooledSets

LOWER = 1 - 1e-9  # a factor that exceeds the rounding errors of a bound

_Sets = tuple[Ints, UInts, Ints]


class ShingleWeights:
    """The weights of the members of shingle sets, in units of 2^-16, so that sums are exact.

    Beyond half the limit of the sets, weights are in a temporary file; they take half as many bytes as the sets.

    Parameters
    ----------
    sets : ShingleSets
        Nothing is added to them afterwards.
    weights : FeatureWeights
        All above 0.

    Attributes
    ----------
    totals : int64 (documents,)
        The weight of each document's set; 0 without a set.
    ratio : float
        The largest weight of a member, divided by the smallest one.
    """

    totals: Ints
    ratio: float

    def __init__(self, sets: ShingleSets, weights: FeatureWeights) -> None:
        self.sets, self.totals = sets, np.zeros(sets.n, np.int64)
        self._units = SpooledSets(sets.limit // 2, np.uint32)
        least, most, table = np.iinfo(np.uint32).max, 1, weights.table(0)

        def weigh(chunk: _Sets) -> tuple[Ints, NDArray[np.uint32], Ints]:
            positions, values, offsets = chunk
            return positions, table.find(values).view(np.uint32), offsets

        for positions, units, offsets in map_pieces(weigh, sets.chunks(), sets.threads):
            self._units.append(units, offsets)
            self.totals[positions] = np.diff(sum_before(units)[offsets])
            least, most = min(least, int(units.min(initial=least))), max(most, int(units.max(initial=most)))
        self.ratio = max(1.0, most / least)

    def chunks(self) -> Iterator[tuple[Ints, UInts, Ints, NDArray[np.uint32]]]:
        """Yield the chunks of the sets with the weight of each member."""
        units, start = self._units.values(), 0
        for positions, values, offsets in self.sets.chunks():
            yield positions, values, offsets, units[start : start + len(values)]
            start += len(values)

    def common(self, a: Ints, b: Ints, report: Progress | None = None) -> Ints:
        """Sum the weights of the common shingles of each pair (a[i], b[i]) of documents, which must have been read."""
        return self.sets.common(a, b, report, self._units)

    def sizes(self, positions: Ints) -> Ints:
        """Return the weight of the set of each of these documents."""
        return self.totals[positions]

    def least_unweighted(self, threshold: float) -> float:
        """Return a score that pairs at or above the threshold reach without weights, too.

        Of a pair with the weighted score t, the shingles that count against it weigh at most 1/t − 1 times as much as the
        common ones, so there are at most ratio · (1/t − 1) times as many.
        """
        return LOWER / (1 + self.ratio * (1 / threshold - 1))


def sum_before(units: AnyArray) -> Ints:
    """Return the sum of the first 0, 1, … n weights, int64 (n + 1,)."""
    sums = np.zeros(len(units) + 1, np.int64)
    np.cumsum(units, out=sums[1:], dtype=np.int64)
    return sums
