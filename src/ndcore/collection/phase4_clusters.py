"""Phase four of Broder et al. 1997, §4.1: clusters of the pairs that resemble each other enough.

In: the slots ``documents``, ``pairs/…`` and ``paired``, and the sketches. Out: `ClusterLabels`, a label for every document.
They become a `Clustering`, which a collection puts in the slot ``clusters``.

The paper joins pairs by union-find: "components" here. "star" and "greedy" assign documents to representatives, in the order
of the documents; "popular" follows Broder 1997, §4.4. The pairs are read once, in order: O(n) memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._cluster import components, star_ascending
from ndcore._types import Bools, Floats, Ints
from ndcore.collection.classes import CONTAINED, KEPT, NEAR
from ndcore.collection.phase3_pairs import CommonValues, common_values, counted_pairs
from ndcore.collection.segments import Overlaps, Segments
from ndcore.collection.settings import Grouping, Settings
from ndcore.collection.shelf import Shelf
from ndcore.pairs.chains import Chains, chains, guarded
from ndcore.pairs.greedy import greedy_clusters
from ndcore.pairs.scored import Pairs

__all__ = ["ClusterLabels", "PairedCollection", "enough_members", "make_clusters", "weigh"]

_NONE = np.empty(0, np.int64)
_UNCHAINED = Chains(_NONE, _NONE, _NONE, np.empty(0), np.empty(0), _NONE)


class PairedCollection(NamedTuple):
    """A collection after phase three: its pairs are counted, clusters are not made yet.

    The attributes are as in `Clustering`.
    """

    leaders: Ints
    same: NDArray[np.uint8]
    floor: float
    common: CommonValues
    without_sample: int
    parameters: dict[str, Any]
    segments: Segments
    shelf: Shelf

    @classmethod
    def of(
        cls, shelf: Shelf, segments: Segments, leaders: Ints, same: NDArray[np.uint8], settings: Settings
    ) -> PairedCollection:
        """Describe the collection on a shelf, whose pairs were counted with these settings."""
        return cls(
            leaders, same, settings.floor, common_values(shelf, len(segments)), int(np.count_nonzero(segments.empty)),
            settings.described(), segments, shelf,
        )


class ClusterLabels(NamedTuple):
    """The outcome of phase four; attributes of `Clustering`."""

    labels: Ints
    codes: NDArray[np.uint8]
    resemblance: Floats
    chains: Chains


def make_clusters(paired: PairedCollection, grouping: Grouping, threads: int | None) -> ClusterLabels:
    """Cluster the leaders by their counted pairs, and put the documents that equal them into their clusters.

    ValueError where the grouping is not accepted, or not for these pairs.
    """
    grouping.check(paired.parameters["method"], paired.floor)
    n = len(paired.segments)
    links = _Links(paired, grouping)
    found = _UNCHAINED
    if grouping.cluster == "components":
        labels, found = _components(links, n, grouping.guard, threads)
    elif grouping.cluster == "popular":
        labels = _popular(paired, grouping.threshold)
    else:
        labels = _stars(links, n, grouping.cluster == "star")
    return ClusterLabels(labels[paired.leaders], *_verdicts(paired, labels, grouping, threads), found)


def enough_members(segments: Segments, a: Ints, b: Ints, members: Ints, least: int) -> Bools:
    """Tell which pairs have samples that tell a containment: whole sets, or at least `least` members."""
    return segments.whole(a, b) | (members >= least)


class _Links:
    """The pairs that are linked: their resemblance or containment is at least the threshold."""

    def __init__(self, paired: PairedCollection, grouping: Grouping) -> None:
        self.shelf, self.segments, self.grouping = paired.shelf, paired.segments, grouping

    def __iter__(self) -> Iterator[Pairs]:
        """Yield the links with their weights, part by part, ascending."""
        for a, b, overlaps in counted_pairs(self.shelf, len(self.segments)):
            weight = self.weight(a, b, overlaps)
            yield Pairs(a, b, weight).where(weight >= self.grouping.threshold)

    def weight(self, a: Ints, b: Ints, overlaps: Overlaps) -> Floats:
        """Return what is compared with the threshold."""
        return weigh(overlaps, self.segments.whole(a, b), self.grouping)


def weigh(overlaps: Overlaps, whole: Bools, grouping: Grouping) -> Floats:
    """Return what is compared with the threshold: the resemblance where too few members tell a containment.

    whole, bool (pairs,): both samples are the whole sets.
    """
    if grouping.policy == "resemblance":
        return overlaps.resemblance
    enough = whole | (np.minimum(overlaps.in_a, overlaps.in_b) >= grouping.least)
    return np.where(enough, overlaps.contained, overlaps.resemblance)


def _stars(links: _Links, n: int, best: bool) -> Ints:
    """Assign documents, in order, to the representative they resemble most (`best`), or to the first they resemble."""
    labels, most = np.arange(n), np.full(n, -1.0)
    for a, b, weight in links:
        star_ascending(a, b, weight, best, most, labels)
    return labels


def _popular(paired: PairedCollection, threshold: float) -> Ints:
    """Cluster the leaders' sketches greedily by the most popular values of each cluster."""
    segments = paired.segments
    taken = (paired.leaders == np.arange(len(segments))) & ~segments.empty
    values, offsets = segments.samples(taken)
    return greedy_clusters(
        values, offsets, threshold=threshold, representative="popular", moduli=segments.moduli,
        max_holders=paired.parameters["max_holders"],
    )


def _components(links: _Links, n: int, guard: float | None, threads: int | None) -> tuple[Ints, Chains]:
    """Find connected components and their chains; split those that the guard refuses into stars."""
    labels, rank = np.arange(n), np.arange(n)
    for a, b, _ in links:
        labels = components(a, b, rank, labels)
    members = np.flatnonzero(labels != rank)
    overlaps = links.segments.compared(labels[members], members, threads)
    similar = np.ones(n)
    similar[members] = links.weight(labels[members], members, overlaps)
    threshold = links.grouping.threshold
    far = np.zeros(n, np.bool_)
    far[labels[~(similar >= threshold)]] = True
    inside = [Pairs(_NONE, _NONE, np.empty(0))]
    inside += [part.where(far[labels[part.a]]) for part in links]
    pairs = Pairs(*(np.concatenate(column) for column in zip(*inside, strict=True)))
    found = chains(labels, pairs, similar, threshold)
    return (labels if guard is None else guarded(labels, pairs, similar, guard, rank)), found


def _verdicts(
    paired: PairedCollection, labels: Ints, grouping: Grouping, threads: int | None
) -> tuple[NDArray[np.uint8], Floats]:
    """Return class and resemblance of every document to the representative of its cluster; `labels` are of leaders."""
    leaders, own = paired.leaders, np.arange(len(labels))
    whole = labels[leaders]
    resemblance = np.where(~paired.segments.empty | (whole == own), 1.0, np.nan)
    codes = np.where(whole == leaders, paired.same, NEAR).astype(np.uint8)
    codes[whole == own] = KEPT
    moved = np.flatnonzero((leaders == own) & (labels != own))
    resemblance[moved] = paired.segments.compared(labels[moved], moved, threads).resemblance
    others = whole != leaders
    resemblance[others] = resemblance[leaders[others]]
    if grouping.policy == "containment":
        codes[others & (resemblance < grouping.threshold)] = CONTAINED
    return codes, resemblance
