"""A collection in clusters: the four phases of Broder et al. 1997, §4.1, and what §5 adds to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore import _pairs
from ndcore._types import Ints
from ndcore.checks import checked_threshold, is_int
from ndcore.clusters.assignments import Assignments
from ndcore.clusters.chains import Chains, chains, guarded
from ndcore.clusters.greedy import greedy_clusters
from ndcore.clusters.pairs import Pairs
from ndcore.collection.ids import Names
from ndcore.collection.phase3_pairs import CountedPairs, counted_pairs, unmarked
from ndcore.collection.segments import Overlaps, Segments
from ndcore.collection.shelf import Shelf
from ndcore.readonly import frozen

__all__ = [
    "CLASSES",
    "CLUSTERINGS",
    "POLICIES",
    "ClusterBy",
    "Clustering",
    "CommonValues",
    "Containments",
    "Policy",
    "check_grouping",
    "check_policy",
    "group",
]

Policy = Literal["resemblance", "containment"]
ClusterBy = Literal["star", "components", "greedy", "popular"]

CLASSES = ("kept", "identical", "lexical", "shingle", "near", "contained")
CLUSTERINGS = ("star", "components", "greedy", "popular")
POLICIES = ("resemblance", "containment")
NEAR, CONTAINED = 4, 5


class Containments(NamedTuple):
    """Which documents are contained in which: `inner` in `outer`, by `inner`, then `outer`; estimated from so many members
    of the inner sample."""

    inner: Ints
    outer: Ints
    containment: NDArray[np.float64]
    sample: Ints


class CommonValues(NamedTuple):
    """Values held by more documents than max_holders, most holders first: how many, and the first that holds each."""

    value: NDArray[np.uint64]
    holders: Ints
    example: Ints


@dataclass(frozen=True)
class Clustering(Assignments):
    """The clusters of a collection.

    Attributes
    ----------
    labels : int64 (n,)
        Position of the document that represents document i: the first of its cluster.
    resemblance : float64 (n,)
        To labels[i], estimated from the sketches: 1.0 for itself and equal sketches, whose sets of shingles may still
        differ outside of the samples; nan for equal documents without a sample.
    leaders : int64 (n,)
        The first document that is the same; only leaders are in pairs.
    same : uint8 (n,)
        How: a position in CLASSES.
    codes : uint8 (n,)
        `classes` as positions in CLASSES.
    threshold, policy, cluster, guard, least
        Of the last phase.
    floor : float
        Pairs were counted from this containment on, one way or the other: no threshold below can be asked for.
    common : CommonValues
        They propose no pairs, and count in those that other values propose.
    chains : Chains
        With cluster="components": those with members that do not resemble their representative enough.
    without_sample : int
        Documents that propose no pairs. Without shingles, one can only be identical to another; with shingles and an empty
        sample, identical or lexically equivalent.
    parameters : dict
        How pairs were found: method, max_holders, and what else the method takes.
    ids : sequence or None

    Notes
    -----
    Arrays are read-only.
    """

    labels: Ints
    codes: NDArray[np.uint8]
    resemblance: NDArray[np.float64]
    leaders: Ints
    same: NDArray[np.uint8]
    threshold: float
    policy: str
    cluster: str
    guard: float | None
    least: int
    floor: float
    common: CommonValues
    chains: Chains
    without_sample: int
    parameters: dict[str, Any]
    ids: Sequence[Any] | Names | None
    segments: Segments = field(repr=False)
    shelf: Shelf = field(repr=False)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return (f"<Clustering of {len(self)} documents at {self.threshold:g}: {len(self.representatives)} clusters of more "
                f"than one, {len(self.duplicates)} documents in them besides their first>")

    @cached_property
    def classes(self) -> NDArray[np.str_]:
        """The strongest that holds between i and labels[i], str (n,): kept, identical (the same bytes), lexical (the same
        canonical tokens), shingle (equal sketches: equal sets only where samples are whole), near, contained (with
        policy="containment" only)."""
        return frozen(np.array(CLASSES)[self.codes])

    @property
    def representatives(self) -> Ints:
        """Positions of those that stand for more than themselves."""
        return np.unique(self.labels[self.duplicates])

    @property
    def duplicates(self) -> Ints:
        """Positions of those that another stands for, ascending."""
        return np.flatnonzero(self.labels != np.arange(len(self)))

    @property
    def pairs(self) -> CountedPairs:
        """All pairs of leaders that were kept: a < b, and the overlaps of their samples."""
        parts = list(counted_pairs(self.shelf, len(self)))
        if not parts:
            nothing = np.empty(0, np.int64)
            return CountedPairs(nothing, nothing, Overlaps(nothing, nothing, nothing))
        overlaps = Overlaps(*(np.concatenate([getattr(part.overlaps, name) for part in parts])
                              for name in ("common", "in_a", "in_b")))
        return CountedPairs(np.concatenate([part.a for part in parts]), np.concatenate([part.b for part in parts]), overlaps)

    def members(self, document: int) -> Ints:
        """The cluster of a document: positions, ascending. IndexError where there is no such document."""
        if not 0 <= document < len(self):
            raise IndexError(f"there is no document {document}; positions are 0 to {len(self) - 1}")
        return np.flatnonzero(self.labels == self.labels[document])

    def clusters(self) -> Iterator[Ints]:
        """Clusters of two documents and more, the largest first, of equal ones by representative; members ascending."""
        among = np.flatnonzero(np.bincount(self.labels, minlength=len(self))[self.labels] > 1)
        order = among[np.argsort(self.labels[among], kind="stable")]
        starts = np.flatnonzero(np.diff(self.labels[order], prepend=-1))
        parts = np.split(order, starts[1:]) if len(order) else []
        return iter(sorted(parts, key=lambda part: (-len(part), int(self.labels[part[0]]))))

    def rethreshold(
        self, threshold: float | None = None, policy: Policy | None = None,
        cluster: ClusterBy | None = None, guard: float | None = None, least: int | None = None,
        threads: int | None = None,
    ) -> Clustering:
        """The same collection with another threshold, policy or clustering: only the last phase is done again.

        None: as it is here, but for the guard, which is for one clustering only. ValueError for a threshold below `floor`.
        """
        threshold = self.threshold if threshold is None else threshold
        return group(
            self, threshold=threshold, policy=self.policy if policy is None else policy,
            cluster=self.cluster if cluster is None else cluster, guard=guard,
            least=self.least if least is None else least, threads=threads,
        )

    def contained(self, threshold: float = 0.8, least: int | None = None) -> Containments:
        """Pairs of leaders of which one is contained in the other at or above a threshold (Broder 1997, §2).

        `least`: as of `cluster`; None: as it is here. Documents with equal sketches stand together under `leaders`.
        ValueError for a threshold below `floor`.
        """
        _check_threshold(threshold, self.floor)
        least = self.least if least is None else checked_least(least)
        found = [(_NONE, _NONE, np.empty(0), _NONE)]
        for a, b, overlaps in counted_pairs(self.shelf, len(self)):
            whole = self.segments.whole(a, b)
            for inner, outer, containment, sample in (
                (a, b, overlaps.a_in_b, overlaps.in_a), (b, a, overlaps.b_in_a, overlaps.in_b),
            ):
                enough = (containment >= threshold) & (whole | (sample >= least))
                found.append((inner[enough], outer[enough], containment[enough], sample[enough]))
        columns = [np.concatenate(column) for column in zip(*found, strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        return Containments(*(column[order] for column in columns))


def _check_threshold(threshold: float, floor: float) -> None:
    checked_threshold(threshold)
    if threshold < floor:
        raise ValueError(f"pairs were counted from {floor:g} on, a threshold of {threshold:g} needs more of them: "
                         f"cluster again with threshold={threshold:g}")


def checked_least(least: int) -> int:
    """ValueError where it is no number of members."""
    if not is_int(least) or least < 1:
        raise ValueError(f"least must be an int of at least 1, got {least!r}")
    return int(least)


def check_policy(policy: str) -> None:
    """Raise ValueError where a threshold is for no such quantity."""
    if policy not in POLICIES:
        raise ValueError(f"policy must be one of {', '.join(POLICIES)}, got {policy!r}")


def check_grouping(
    method: str, threshold: float, floor: float, policy: str, cluster: str, guard: float | None, least: int
) -> None:
    """ValueError where the last phase has no such parameters, or not after this method."""
    _check_threshold(threshold, floor)
    checked_least(least)
    check_policy(policy)
    if cluster not in CLUSTERINGS:
        raise ValueError(f"cluster must be one of {', '.join(CLUSTERINGS)}, got {cluster!r}")
    if cluster == "popular" and policy != "resemblance":
        raise ValueError("cluster='popular' clusters by resemblance; by containment, use star, components or greedy")
    if cluster == "popular" and method != "shingles":
        raise ValueError("cluster='popular' is made of mod sketches: use method='shingles'")
    if method == "features" and policy == "containment":
        raise ValueError("signatures do not tell containment; use method='shingles' with policy='containment'")
    if guard is not None and (cluster != "components" or not 0 < guard <= threshold):
        raise ValueError(f"guard={guard!r} is for cluster='components', above 0 and at most the threshold, {threshold:g}")


def group(
    draft: Clustering, *, threshold: float, policy: str, cluster: str, guard: float | None, least: int, threads: int | None
) -> Clustering:
    """The last phase: clusters of the pairs on the shelf (Broder et al. 1997, §4.1; Broder 1997, §4.4).

    Pairs are read once, in order: O(n) memory.
    """
    check_grouping(draft.parameters["method"], threshold, draft.floor, policy, cluster, guard, least)
    n, leaders = len(draft), draft.leaders
    links = _Links(draft, threshold, policy, least)
    if cluster == "components":
        labels, chains = _components(draft.segments, links, n, guard, threads)
    else:
        labels = _popular(draft, threshold) if cluster == "popular" else _stars(links, n, cluster == "star")
        chains = UNCHAINED
    whole = labels[leaders]
    codes, resemblance = _verdicts(draft, whole, labels, policy, threshold, threads)
    return replace(
        draft, labels=whole, codes=codes, resemblance=resemblance, threshold=threshold, policy=policy, cluster=cluster,
        guard=guard, least=least, chains=chains,
    )


_NONE = np.empty(0, np.int64)
UNCHAINED = Chains(_NONE, _NONE, _NONE, np.empty(0), np.empty(0), _NONE)


class _Links:
    """(a, b, weight) of the pairs that are enough, part by part."""

    def __init__(self, draft: Clustering, threshold: float, policy: str, least: int) -> None:
        self.shelf, self.segments = draft.shelf, draft.segments
        self.threshold, self.policy, self.least = threshold, policy, least

    def __iter__(self) -> Iterator[tuple[Ints, Ints, NDArray[np.float64]]]:
        for a, b, overlaps in counted_pairs(self.shelf, len(self.segments)):
            weight = self.weight(a, b, overlaps)
            enough = weight >= self.threshold
            yield a[enough], b[enough], weight[enough]

    def weight(self, a: Ints, b: Ints, overlaps: Overlaps) -> NDArray[np.float64]:
        """What is compared with the threshold: the resemblance where too few members tell a containment."""
        if self.policy == "resemblance":
            return overlaps.resemblance
        told = self.segments.whole(a, b) | (np.minimum(overlaps.in_a, overlaps.in_b) >= self.least)
        return np.where(told, overlaps.contained, overlaps.resemblance)


def _stars(links: _Links, n: int, best: bool) -> Ints:
    labels, most = np.arange(n), np.full(n, -1.0)
    for a, b, weight in links:
        _pairs.star_ascending(a, b, weight, best, most, labels)
    return labels


def _popular(draft: Clustering, threshold: float) -> Ints:
    """Greedy clusters of the leaders' sketches by their most popular values."""
    segments = draft.segments
    taken = (draft.leaders == np.arange(len(draft))) & ~unmarked(segments)
    values, offsets = segments.samples(taken)
    return greedy_clusters(
        values, offsets, threshold=threshold, representative="popular", moduli=segments.moduli,
        max_holders=draft.parameters["max_holders"],
    )


def _components(
    segments: Segments, links: _Links, n: int, guard: float | None, threads: int | None
) -> tuple[Ints, Chains]:
    """Connected components, with an account of those that hang together by chains, split where the guard says so."""
    labels, rank = np.arange(n), np.arange(n)
    for a, b, _ in links:
        labels = _pairs.components(a, b, rank, labels)
    members = np.flatnonzero(labels != rank)
    overlaps = segments.compared(labels[members], members, threads)
    similar = np.ones(n)
    similar[members] = links.weight(labels[members], members, overlaps)
    far = np.zeros(n, np.bool_)
    far[labels[~(similar >= links.threshold)]] = True
    inside = [Pairs(_NONE, _NONE, np.empty(0))]
    inside += [Pairs(*part).where(far[labels[part[0]]]) for part in links]
    pairs = Pairs(*(np.concatenate(column) for column in zip(*inside, strict=True)))
    found = chains(labels, pairs, similar, links.threshold)
    return (labels if guard is None else guarded(labels, pairs, similar, guard, rank)), found


def _verdicts(
    draft: Clustering, whole: Ints, labels: Ints, policy: str, threshold: float, threads: int | None
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    n, leaders = len(draft), draft.leaders
    resemblance = np.where(~unmarked(draft.segments) | (whole == np.arange(n)), 1.0, np.nan)
    codes = np.where(whole == leaders, draft.same, NEAR).astype(np.uint8)
    codes[whole == np.arange(n)] = 0
    moved = np.flatnonzero((leaders == np.arange(n)) & (labels != np.arange(n)))
    resemblance[moved] = draft.segments.compared(labels[moved], moved, threads).resemblance
    others = whole != leaders
    resemblance[others] = resemblance[leaders[others]]
    if policy == "containment":
        codes[others & (resemblance < threshold)] = CONTAINED
    return codes, resemblance
