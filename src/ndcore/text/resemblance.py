"""Exact resemblance (Jaccard similarity) and containment of two texts."""

from __future__ import annotations

from typing import NamedTuple

from ndcore._types import Text
from ndcore.text.shingling import Shingling, given_shingling


def ratio(numerator: float, denominator: float) -> float:
    """Divide as float64; nan for 0 / 0."""
    return float(numerator) / float(denominator) if denominator else float("nan")


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
        """|A∩B| / |A∪B|; nan if either is empty."""
        return ratio(self.common, self.union) if self.size_a and self.size_b else float("nan")

    @property
    def containment(self) -> float:
        """|A∩B| / |A|; nan if either is empty."""
        return ratio(self.common, self.size_a) if self.size_a and self.size_b else float("nan")


def overlap(a: Text, b: Text, shingling: Shingling | None = None) -> Overlap:
    """Count the shingle fingerprints of two texts, and the common ones. O(len a + len b)."""
    return Overlap(*given_shingling(shingling).overlap(a, b))


def resemblance(a: Text, b: Text, shingling: Shingling | None = None) -> float:
    """Compute the exact resemblance (Jaccard similarity) |A∩B| / |A∪B| of the shingle sets of two texts.

    Parameters
    ----------
    a, b : str or bytes
    shingling : Shingling, optional
        None: words, 5 to a shingle.

    Returns
    -------
    float
        0 to 1; nan if either text has no shingles.

    Raises
    ------
    TypeError, ValueError
        A text is neither str nor bytes, or is too short with short="error".

    Notes
    -----
    Shingles are compared by their fingerprints. O(len a + len b). `jaccard` is another name for this function.

    References
    ----------
    Broder, "On the resemblance and containment of documents", 1997, §2. DOI 10.1109/SEQUEN.1997.666900.

    >>> resemblance("a rose is a rose is a rose", "a rose is a flower which is a rose", Shingling(width=2))
    0.5
    """
    return overlap(a, b, shingling).resemblance


def containment(a: Text, b: Text, shingling: Shingling | None = None) -> float:
    """Compute the exact containment |A∩B| / |A| of text a in text b, on their shingle sets.

    Parameters, errors and reference as in `resemblance`.

    Returns
    -------
    float
        0 to 1; nan if either text has no shingles.

    >>> containment("a rose is a rose", "a rose is a rose is a rose, by any other name", Shingling(width=3))
    1.0
    """
    return overlap(a, b, shingling).containment


jaccard = resemblance
