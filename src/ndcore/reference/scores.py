"""Scores of pairs, and the pairs that a verdict accepts (DESIGN.md, section 5, "Options of the verdict").

Every pair of leaders is compared exactly: no sketch, no filter, O(n^2) set intersections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from .leaders import Read
from .resemblance import ratio, resemblance

MIN_LEADERS = 20
"""Leaders that have a common shingle, at least."""

DROPS = ("resembling", "contained")


class Accepted(NamedTuple):
    """A pair of leaders that is accepted: resemblance of all their shingles, score of a in b, and score of b in a."""

    a: int
    b: int
    resemblance: float
    of_a: float
    of_b: float

    @property
    def score(self) -> float:
        """The larger of the two scores."""
        return max(self.of_a, self.of_b)


class CountedShingles(NamedTuple):
    """The shingles of each document that count, and the common ones, as (label of ``by``, shingle)."""

    shingles: list[frozenset[Hashable]]
    common: frozenset[tuple[Hashable, Hashable]]


def count_shingles(
    reads: Sequence[Read], leaders: Sequence[int], live: Sequence[int], share: float | None
) -> CountedShingles:
    """Leave the common shingles of its group out of every document.

    Parameters
    ----------
    reads : sequence of Read
    leaders : sequence of int
        The leader of each document.
    live : sequence of int
        The documents that are not versions of others, on both sides.
    share : float or None
        A shingle is common if more than this share of the live documents with shingles of its group have it, and at
        least 20 leaders do.  None: no shingle is common.
    """
    if share is None:
        return CountedShingles([read.shingles for read in reads], frozenset())
    if not 0 < share < 1:
        raise ValueError(f"drop_common is {share}; give a share of the documents in (0, 1)")
    documents: Counter[Hashable] = Counter(reads[i].group for i in live if reads[i].shingles)
    holders = Counter((reads[i].group, shingle) for i in live for shingle in reads[i].shingles)
    led = Counter((reads[i].group, shingle) for i in live if leaders[i] == i for shingle in reads[i].shingles)
    common = frozenset(
        found for found, count in holders.items() if count > share * documents[found[0]] and led[found] >= MIN_LEADERS
    )
    return CountedShingles([frozenset(s for s in read.shingles if (read.group, s) not in common) for read in reads], common)


def score(a: AbstractSet[Hashable], b: AbstractSet[Hashable], drop: str) -> float:
    """Return the score of a in b: |A ∩ B| over |A ∪ B|, or over |A| for "contained"; nan for 0/0."""
    return ratio(len(a & b), len(a | b if drop == "resembling" else a))


def accepted_pairs(
    reads: Sequence[Read], counted: CountedShingles, heads: Sequence[int], n: int, threshold: float, drop: str,
    min_shingles: int,
) -> list[Accepted]:
    """List the accepted pairs of leaders, ascending.

    Both have shingles, ``min_shingles`` or more, the same label of ``by`` and the same key; one of them is of the n texts;
    and the score of one in the other reaches the threshold.
    """
    able = [i for i in sorted(heads) if reads[i].shingles and len(reads[i].shingles) >= min_shingles]
    found = []
    for a in able:
        for b in able:
            if a < b and a < n and (reads[a].group, reads[a].key) == (reads[b].group, reads[b].key):
                x, y = counted.shingles[a], counted.shingles[b]
                of_a, of_b = score(x, y, drop), score(y, x, drop)
                if of_a >= threshold or of_b >= threshold:
                    found.append(Accepted(a, b, resemblance(reads[a].shingles, reads[b].shingles), of_a, of_b))
    return found
