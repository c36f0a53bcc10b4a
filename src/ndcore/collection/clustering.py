"""Phase four of Broder et al. 1997, §4.1: make clusters of the pairs that resemble each other; the result of `cluster`.

In: the slots ``documents``, ``pairs/…`` and ``paired``, and the sketches. Out: a `Clustering`, which a collection stores in
the slot ``clusters``.

The paper joins pairs by union-find: "components" here. "star" and "greedy" assign documents to representatives, in the order
of the documents; "popular" follows Broder 1997, §4.4. The pairs are read once, in order: O(n) memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._cluster import components, star_ascending
from ndcore._types import Bools, Floats, Ints
from ndcore.collection import shelf as slots
from ndcore.collection.ids import Names
from ndcore.collection.segments import CommonValues, CountedPairs, Overlaps, Segments
from ndcore.collection.settings import ClusterBy, Grouping, Policy, Settings, check_threshold, checked_count
from ndcore.collection.shelf import Shelf, counted_pairs
from ndcore.pairs.assignments import Assignments
from ndcore.pairs.chains import Chains, chains, guarded
from ndcore.pairs.greedy import place_greedily
from ndcore.pairs.scored import DocumentPairs
from ndcore.readonly import NamedColumns, frozen

_NONE = np.empty(0, np.int64)
_UNCHAINED = Chains(_NONE, _NONE, _NONE, np.empty(0), np.empty(0), _NONE)


class _Containments(NamedTuple):
    inner: Ints
    outer: Ints
    containment: Floats
    sample: Ints


class Containments(NamedColumns, _Containments):  # type: ignore[misc]
    """The pairs of documents of which one contains the other: `inner` in `outer`, sorted by `inner`, then `outer`.

    `sample` is the number of members of the inner sample, from which the containment is estimated.
    """

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class Clustering(Assignments):
    """The clusters of a collection.

    Attributes
    ----------
    labels : int64 (n,)
        Position of the document that represents document i: the first of its cluster.
    resemblance : float64 (n,)
        Jaccard similarity to labels[i], estimated from the sketches: 1.0 to itself and for equal sketches, although their
        sets of shingles may differ outside the samples; nan for equal documents without a sample.
    leaders : int64 (n,)
        The first document that is the same, or that has the same label of ``one_per``; only leaders are in pairs.
    same : uint8 (n,)
        In what way a document is the same as its leader: a position in CLASSES.
    codes : uint8 (n,)
        `classes` as positions in CLASSES.
    threshold, policy, cluster, guard, least
        Parameters of phase four.
    chains : Chains
        With cluster="components": components with members that do not resemble their representative enough.
    ids : sequence or None

    Notes
    -----
    Arrays are read-only.
    """

    labels: Ints
    codes: NDArray[np.uint8]
    resemblance: Floats
    leaders: Ints
    same: NDArray[np.uint8]
    threshold: float
    policy: Policy
    cluster: ClusterBy
    guard: float | None
    least: int
    chains: Chains
    ids: Sequence[Any] | Names | None
    settings: Settings = field(repr=False)
    segments: Segments = field(repr=False)
    shelf: Shelf = field(repr=False)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return (f"<Clustering of {len(self)} documents at {self.threshold:g}: {len(self.representatives)} clusters of more "
                f"than one, {len(self.duplicates)} documents in them besides their first>")

    @cached_property
    def classes(self) -> NDArray[np.str_]:
        """The strongest relation of document i to labels[i], str (n,).

        kept: itself. identical: the same bytes. lexical: the same canonical tokens. shingle: equal sketches, which prove
        equal sets of shingles only if samples are whole. near. contained: only with policy="containment". version: an
        earlier document has its label of ``one_per``; they were not compared, and `resemblance` is nan.
        """
        return frozen(np.array(slots.CLASSES)[self.codes])

    @property
    def floor(self) -> float:
        """Pairs were counted from this containment on, in either direction. Lower thresholds are refused."""
        return self.settings.floor

    @property
    def parameters(self) -> dict[str, Any]:
        """How pairs were found: the method, max_holders, further parameters of the method, and options that were given."""
        return self.settings.described()

    @cached_property
    def common(self) -> CommonValues:
        """Values held by too many documents: they propose no pairs, but count in pairs that other values propose."""
        return CommonValues.sorted(self.shelf.read(slots.PAIRED, len(self))["common"])

    @property
    def without_sample(self) -> int:
        """The number of documents that propose no pairs because they have no sample.

        One without shingles can only be identical to another; one with shingles can be identical or lexically equivalent.
        """
        return int(np.count_nonzero(self.segments.empty))

    @property
    def pairs(self) -> CountedPairs:
        """All pairs of leaders that were kept: a < b, and the overlaps of their samples."""
        return CountedPairs.joined(list(counted_pairs(self.shelf, len(self))))

    def members(self, document: int) -> Ints:
        """Return the positions of the cluster of a document, ascending. Raises IndexError if it does not exist."""
        if not 0 <= document < len(self):
            raise IndexError(f"there is no document {document}; positions are 0 to {len(self) - 1}")
        return np.flatnonzero(self.labels == self.labels[document])

    def rethreshold(
        self, threshold: float | None = None, policy: Policy | None = None,
        cluster: ClusterBy | None = None, guard: float | None = None, least: int | None = None,
        threads: int | None = None,
    ) -> Clustering:
        """Cluster the counted pairs again with another threshold, policy or clustering: only phase four.

        Parameters
        ----------
        threshold, policy, cluster, least
            As for `cluster`. None: as in this clustering.
        guard, threads
            As for `cluster`. A guard applies only to one clustering, so None means no guard.

        Returns
        -------
        Clustering

        Raises
        ------
        ValueError
            A threshold below `floor`, or a parameter that `cluster` does not accept.
        """
        grouping = Grouping(
            self.threshold if threshold is None else threshold, self.policy if policy is None else policy,
            self.cluster if cluster is None else cluster, guard, self.least if least is None else least,
        )
        grouping.check(self.settings.method, self.floor, self.parameters)
        return cluster_pairs(self, grouping, threads)

    def contained(self, threshold: float = 0.8, least: int | None = None) -> Containments:
        """Find the pairs of leaders in which one is contained in the other at or above a threshold (Broder 1997, §2).

        Parameters
        ----------
        threshold : float
            A containment, at least `floor`.
        least : int, optional
            As in `cluster`. None: as in this clustering.

        Returns
        -------
        Containments
            Documents with equal sketches are represented by their `leaders`.

        Raises
        ------
        ValueError
            A threshold below `floor`, or `least` below 1.
        """
        check_threshold(threshold, self.floor)
        least = self.least if least is None else checked_count("least", least)
        rows = [(_NONE, _NONE, np.empty(0), _NONE)]
        for a, b, overlaps in counted_pairs(self.shelf, len(self)):
            for inner, outer, containment, sample in (
                (a, b, overlaps.a_in_b, overlaps.in_a), (b, a, overlaps.b_in_a, overlaps.in_b),
            ):
                enough = (containment >= threshold) & (self.segments.whole(a, b) | (sample >= least))
                rows.append((inner[enough], outer[enough], containment[enough], sample[enough]))
        columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        return Containments(*(column[order] for column in columns))


# ---- phase four


def unjoined(
    shelf: Shelf, segments: Segments, leaders: Ints, same: NDArray[np.uint8], settings: Settings, grouping: Grouping
) -> Clustering:
    """Return the clustering before pairs are joined, with each document under its leader; pairs are on the shelf."""
    return Clustering(leaders, same, np.ones(len(leaders)), leaders, same, **asdict(grouping), chains=_UNCHAINED, ids=None,
                      settings=settings, segments=segments, shelf=shelf)


def cluster_pairs(paired: Clustering, grouping: Grouping, threads: int | None) -> Clustering:
    """Cluster the leaders by their counted pairs, and put the documents that equal them into their clusters."""
    n, joined = len(paired), _UNCHAINED
    if grouping.cluster == "components":
        labels, joined = _components(paired, grouping, threads)
    elif grouping.cluster == "popular":
        labels = _popular(paired, grouping.threshold)
    else:
        labels, most = np.arange(n), np.full(n, -1.0)
        for a, b, weight in _links(paired, grouping):
            star_ascending(a, b, weight, grouping.cluster == "star", most, labels)
    codes, resemblance = _verdicts(paired, labels, grouping, threads)
    return replace(paired, **asdict(grouping), labels=labels[paired.leaders], codes=codes, resemblance=resemblance,
                   chains=joined)


def _links(paired: Clustering, grouping: Grouping) -> Iterator[DocumentPairs]:
    """Yield the pairs whose resemblance or containment is at least the threshold, part by part, ascending."""
    for a, b, overlaps in counted_pairs(paired.shelf, len(paired.segments)):
        weight = weigh(overlaps, paired.segments.whole(a, b), grouping)
        yield DocumentPairs(a, b, weight).where(weight >= grouping.threshold)


def weigh(overlaps: Overlaps, whole: Bools, grouping: Grouping) -> Floats:
    """Return the values to compare with the threshold: containments, or resemblances if too few members prove a containment.

    whole, bool (pairs,): both samples are the whole sets.
    """
    if grouping.policy == "resemblance":
        return overlaps.resemblance
    enough = whole | (np.minimum(overlaps.in_a, overlaps.in_b) >= grouping.least)
    return np.where(enough, overlaps.contained, overlaps.resemblance)


def _popular(paired: Clustering, threshold: float) -> Ints:
    """Cluster the leaders' sketches greedily by the most popular values of each cluster."""
    segments, settings = paired.segments, paired.settings
    taken = (paired.leaders == np.arange(len(segments))) & ~segments.aside(settings.min_shingles)
    return place_greedily(*segments.samples(taken), segments.moduli, threshold, settings.max_holders, popular=True)


def _components(paired: Clustering, grouping: Grouping, threads: int | None) -> tuple[Ints, Chains]:
    """Find connected components and their chains; split those that the guard refuses into stars."""
    n, segments, threshold = len(paired.segments), paired.segments, grouping.threshold
    labels, rank = np.arange(n), np.arange(n)
    for a, b, _ in _links(paired, grouping):
        labels = components(a, b, rank, labels)
    members = np.flatnonzero(labels != rank)
    overlaps = segments.compared(labels[members], members, threads)
    similar = np.ones(n)
    similar[members] = weigh(overlaps, segments.whole(labels[members], members), grouping)
    far = np.zeros(n, np.bool_)
    far[labels[~(similar >= threshold)]] = True
    inside = [DocumentPairs(_NONE, _NONE, np.empty(0))]
    inside += [part.where(far[labels[part.a]]) for part in _links(paired, grouping)]
    pairs = DocumentPairs(*(np.concatenate(column) for column in zip(*inside, strict=True)))
    joined = chains(labels, pairs, similar, threshold)
    return (labels if grouping.guard is None else guarded(labels, pairs, similar, grouping.guard, rank)), joined


def _verdicts(
    paired: Clustering, labels: Ints, grouping: Grouping, threads: int | None
) -> tuple[NDArray[np.uint8], Floats]:
    """Return the class of every document and its resemblance to its representative; `labels` are of leaders."""
    leaders, own = paired.leaders, np.arange(len(labels))
    whole = labels[leaders]
    resemblance = np.where(~paired.segments.empty | (whole == own), 1.0, np.nan)
    codes = np.where(whole == leaders, paired.same, slots.NEAR).astype(np.uint8)
    codes[whole == own] = slots.KEPT
    moved = np.flatnonzero((leaders == own) & (labels != own))
    resemblance[moved] = paired.segments.compared(labels[moved], moved, threads).resemblance
    others = whole != leaders
    resemblance[others] = resemblance[leaders[others]]
    if grouping.policy == "containment":
        codes[others & (resemblance < grouping.threshold)] = slots.CONTAINED
    older = paired.same == slots.VERSION
    codes[older], resemblance[older] = slots.VERSION, np.nan
    return codes, resemblance
