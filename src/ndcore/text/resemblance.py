"""Resemblance and containment of two texts, exactly (Broder 1997, §2), and sizes of sets from their sketches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ndcore._pairs import common, distinct
from ndcore._types import Text
from ndcore.text.shingling import Shingling, checked_shingling

__all__ = ["Overlap", "containment", "jaccard", "overlap", "ratio", "resemblance"]


def ratio(numerator: float, denominator: float) -> float:
    """numerator / denominator as float64; nan for 0 / 0."""
    return float(np.float64(numerator) / np.float64(denominator)) if denominator else float("nan")


class Overlap(NamedTuple):
    """Sizes of two sets of shingles and of their intersection."""

    common: int
    size_a: int
    size_b: int

    @property
    def union(self) -> int:
        return self.size_a + self.size_b - self.common

    @property
    def resemblance(self) -> float:
        """|A∩B| / |A∪B|; nan where either is empty."""
        return ratio(self.common, self.union) if self.size_a and self.size_b else float("nan")

    @property
    def containment(self) -> float:
        """|A∩B| / |A|: how much of a is in b; nan where either is empty."""
        return ratio(self.common, self.size_a) if self.size_a and self.size_b else float("nan")


def overlap(a: Text, b: Text, shingling: Shingling | None = None) -> Overlap:
    """Exact sizes of the sets of shingle fingerprints of two texts and of their intersection. O(len a + len b)."""
    values, offsets = distinct(*(checked_shingling(shingling) or Shingling()).fingerprints_many([a, b], threads=1))
    [shared] = common(values, offsets, np.array([0]), np.array([1]))
    size_a, size_b = np.diff(offsets)
    return Overlap(int(shared), int(size_a), int(size_b))


def resemblance(a: Text, b: Text, shingling: Shingling | None = None) -> float:
    """Exact resemblance of two texts: |A∩B| / |A∪B| of their sets of shingle fingerprints (Broder 1997, §2).

    Parameters
    ----------
    a, b : str or bytes
    shingling : Shingling, optional
        None: words, 5 to a shingle.

    Returns
    -------
    float
        0 to 1; nan where either text has no shingles. `jaccard` is another name of this function.

    >>> resemblance("a rose is a rose is a rose", "a rose is a flower which is a rose", Shingling(width=2))
    0.5
    """
    return overlap(a, b, shingling).resemblance


def containment(a: Text, b: Text, shingling: Shingling | None = None) -> float:
    """Exact containment of a in b: |A∩B| / |A| of their sets of shingle fingerprints (Broder 1997, §2).

    nan where either text has no shingles. Parameters as of `resemblance`.
    """
    return overlap(a, b, shingling).containment


jaccard = resemblance
