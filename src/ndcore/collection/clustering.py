"""The clusters of a collection: the result of `cluster` (Broder et al. 1997, §4.1 and §5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Floats, Ints
from ndcore.collection.classes import CLASSES
from ndcore.collection.ids import Names
from ndcore.collection.phase3_pairs import CommonValues, CountedPairs, counted_pairs
from ndcore.collection.phase4_clusters import ClusterLabels, PairedCollection, enough_members, make_clusters
from ndcore.collection.segments import Segments
from ndcore.collection.settings import ClusterBy, Grouping, Policy, check_threshold, checked_count
from ndcore.collection.shelf import Shelf
from ndcore.pairs.assignments import Assignments
from ndcore.pairs.chains import Chains
from ndcore.readonly import NamedColumns, frozen

__all__ = ["Clustering", "Containments"]

_NONE = np.empty(0, np.int64)


class _Containments(NamedTuple):
    inner: Ints
    outer: Ints
    containment: Floats
    sample: Ints


class Containments(NamedColumns, _Containments):  # type: ignore[misc]
    """Which documents are contained in which: `inner` in `outer`, sorted by `inner`, then `outer`.

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
        sets of shingles may differ outside of the samples; nan for equal documents without a sample.
    leaders : int64 (n,)
        The first document that is the same; only leaders are in pairs.
    same : uint8 (n,)
        How a document is the same as its leader: a position in CLASSES.
    codes : uint8 (n,)
        `classes` as positions in CLASSES.
    threshold, policy, cluster, guard, least
        Parameters of phase four.
    floor : float
        Pairs were counted from this containment on, one way or the other. Lower thresholds are refused.
    common : CommonValues
        Values held by too many documents: they propose no pairs, but count in the pairs that other values propose.
    chains : Chains
        With cluster="components": components with members that do not resemble their representative enough.
    without_sample : int
        Documents that propose no pairs. One without shingles can only be identical to another; one with shingles and an
        empty sample can be identical or lexically equivalent.
    parameters : dict
        How pairs were found: method, max_holders, and what else the method takes.
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
    floor: float
    common: CommonValues
    chains: Chains
    without_sample: int
    parameters: dict[str, Any]
    ids: Sequence[Any] | Names | None
    segments: Segments = field(repr=False)
    shelf: Shelf = field(repr=False)

    @classmethod
    def of(
        cls, paired: PairedCollection, grouping: Grouping, clusters: ClusterLabels, ids: Sequence[Any] | Names | None = None
    ) -> Clustering:
        """Assemble the result of the three: what was counted, how it was grouped, and the clusters."""
        return cls(**paired._asdict(), **asdict(grouping), **clusters._asdict(), ids=ids)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return (f"<Clustering of {len(self)} documents at {self.threshold:g}: {len(self.representatives)} clusters of more "
                f"than one, {len(self.duplicates)} documents in them besides their first>")

    @cached_property
    def classes(self) -> NDArray[np.str_]:
        """The strongest relation of document i to labels[i], str (n,).

        kept: itself. identical: the same bytes. lexical: the same canonical tokens. shingle: equal sketches, so equal sets
        of shingles only where samples are whole. near. contained: with policy="containment" only.
        """
        return frozen(np.array(CLASSES)[self.codes])

    @property
    def representatives(self) -> Ints:
        """Positions of the documents that stand for others too."""
        return np.unique(self.labels[self.duplicates])

    @property
    def duplicates(self) -> Ints:
        """Positions of the documents that another stands for, ascending."""
        return np.flatnonzero(self.labels != np.arange(len(self)))

    @property
    def pairs(self) -> CountedPairs:
        """All pairs of leaders that were kept: a < b, and the overlaps of their samples."""
        return CountedPairs.joined(list(counted_pairs(self.shelf, len(self))))

    def members(self, document: int) -> Ints:
        """Return the positions of the cluster of a document, ascending. IndexError where it does not exist."""
        if not 0 <= document < len(self):
            raise IndexError(f"there is no document {document}; positions are 0 to {len(self) - 1}")
        return np.flatnonzero(self.labels == self.labels[document])

    def rethreshold(
        self, threshold: float | None = None, policy: Policy | None = None,
        cluster: ClusterBy | None = None, guard: float | None = None, least: int | None = None,
        threads: int | None = None,
    ) -> Clustering:
        """Cluster the counted pairs again with another threshold, policy or clustering: phase four alone.

        Parameters
        ----------
        threshold, policy, cluster, least
            As in `cluster`. None: as in this clustering.
        guard, threads
            As in `cluster`. A guard is for one clustering only, so None means none.

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
        paired = PairedCollection(*(getattr(self, name) for name in PairedCollection._fields))
        return Clustering.of(paired, grouping, make_clusters(paired, grouping, threads), self.ids)

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
            Documents with equal sketches stand together under `leaders`.

        Raises
        ------
        ValueError
            A threshold below `floor`, or `least` below 1.
        """
        check_threshold(threshold, self.floor)
        least = self.least if least is None else checked_count("least", least)
        found = [(_NONE, _NONE, np.empty(0), _NONE)]
        for a, b, overlaps in counted_pairs(self.shelf, len(self)):
            for inner, outer, containment, sample in (
                (a, b, overlaps.a_in_b, overlaps.in_a), (b, a, overlaps.b_in_a, overlaps.in_b),
            ):
                enough = (containment >= threshold) & enough_members(self.segments, a, b, sample, least)
                found.append((inner[enough], outer[enough], containment[enough], sample[enough]))
        columns = [np.concatenate(column) for column in zip(*found, strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        return Containments(*(column[order] for column in columns))
