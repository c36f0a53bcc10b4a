"""Choose the clusters, pairs and losses that a report shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Floats, Ints, Text
from ndcore.dedup.classes import CLASSES
from ndcore.dedup.result import NearDuplicates, class_numbers
from ndcore.pairs.assignments import largest_clusters
from ndcore.report.model import MEMBERS, ROWS, ChosenClusters, Excerpt, Excerpts, Loss, Losses, Member, ShownCluster, View

CLUSTERS = 50  # clusters that are listed, the largest
VIEWS = 10  # clusters with two documents side by side; also the number of nearest pairs and of losses
STRONGEST = ("identical", "lexical", "shingle")  # classes with resemblance 1, the strongest first


class _Chosen(NamedTuple):
    """A cluster to show, with its members sorted, the least similar first."""

    label: int
    members: Ints
    verdicts: NDArray[np.str_]


def choose_clusters(
    labels: Ints,
    classes: Callable[[Ints], NDArray[np.str_]],
    resemblance: Floats,
    *,
    threshold: float | None,
    name: Callable[[int], str],
    note: Callable[[int], str],
    estimated: Callable[[int, int], bool],
    excerpts: Excerpts,
    score: Floats | None = None,
    limit: int = CLUSTERS,
    views: int = VIEWS,
) -> ChosenClusters:
    """Choose the `limit` largest clusters, the first ones at the same size, and the pairs nearest the threshold.

    Parameters
    ----------
    labels, resemblance : arrays (n,)
        As for `NearDuplicates`: document i is represented by labels[i], which may be i, or n or more.
    classes : callable
        Returns the classes of documents, given an array of positions.
    threshold : float or None
        A resemblance, or a score. None: no pairs near it are chosen.
    name, note : callable
        Return the name of a document, and a remark on it as a representative, given its position.
    estimated : callable
        Tells whether the resemblance of two positions is estimated from sketches.
    excerpts : callable
        Called once.
    score : array (n,), optional
        The scores that were compared with the threshold, if they are not the resemblances; members are sorted by them.
    views : int
        Number of clusters with an excerpt of their least similar member, not counting clusters of identical documents; and
        the largest number of pairs near the threshold, at most one from each cluster.

    Notes
    -----
    O(n log n).
    """
    dropped = np.flatnonzero(labels != np.arange(len(labels)))
    likeness = resemblance if score is None else score
    chosen = [_sort_members(label, members, classes, likeness) for label, members in largest_clusters(labels, limit)]
    viewed = {one.label: int(one.members[0]) for one in [one for one in chosen if one.verdicts[0] != "identical"][:views]}
    nearest = [] if threshold is None else _choose_nearest(labels, likeness, dropped, threshold, viewed, views)
    near_labels = labels[nearest].tolist()
    wanted = [*(one.label for one in chosen), *viewed.values(), *nearest, *near_labels]
    texts = excerpts(np.array(sorted(set(wanted)), np.int64))

    def member(position: int, verdict: str) -> Member:
        by_sketch = verdict not in ("identical", "lexical") and estimated(position, int(labels[position]))
        its_score = None if score is None else float(score[position])
        return Member(name(position), verdict, float(resemblance[position]), by_sketch, its_score)

    clusters = tuple(
        ShownCluster(
            name(label), note(label), 1 + len(members), _count_verdicts(verdicts), float(likeness[members[0]]),
            tuple(map(member, members[:MEMBERS].tolist(), verdicts[:MEMBERS].tolist())), texts.get(label),
            texts.get(viewed[label]) if label in viewed and label in texts else None,
        )
        for label, members, verdicts in chosen
    )
    verdicts = classes(np.array(nearest, np.int64)).tolist()
    return ChosenClusters(clusters, tuple(
        View(name(label), texts[label], member(position, verdict), texts[position])
        for position, label, verdict in zip(nearest, near_labels, verdicts, strict=True)
        if position in texts and label in texts
    ))


def _sort_members(label: int, members: Ints, classes: Callable[[Ints], NDArray[np.str_]], likeness: Floats) -> _Chosen:
    """Sort the members of a cluster, the least similar first; at the same likeness, the weakest class first."""
    verdicts = classes(members)
    strength = np.select([verdicts == each for each in STRONGEST], range(len(STRONGEST), 0, -1))
    known = np.nan_to_num(likeness[members], nan=1.0)  # without shingles they are identical
    order = np.lexsort((members, strength, known))
    return _Chosen(label, members[order], verdicts[order])


def _choose_nearest(
    labels: Ints, likeness: Floats, dropped: Ints, threshold: float, viewed: dict[int, int], limit: int
) -> list[int]:
    """Choose members at or just above the threshold, the nearest first, one from each cluster, and not `viewed` already."""
    passed = likeness[dropped] >= threshold  # False for nan
    above = dropped[passed & (likeness[dropped] < 1.0) & ~np.isin(dropped, list(viewed.values()))]
    order = above[np.lexsort((above, likeness[above]))]
    return order[np.sort(np.unique(labels[order], return_index=True)[1])][:limit].tolist()  # type: ignore[no-any-return]


def _count_verdicts(verdicts: NDArray[np.str_]) -> dict[str, int]:
    """Count verdicts by name."""
    names, counts = np.unique(verdicts, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


class ReviewList:
    """The dropped documents with the largest losses; their sizes and texts are read together with other excerpts.

    Parameters
    ----------
    result : NearDuplicates
        Made with ``lost=True``.

    Attributes
    ----------
    visits : mapping
        As for `ndcore.report.model.read_excerpts`.
    """

    def __init__(self, result: NearDuplicates) -> None:
        assert result.lost is not None
        self._result, self._lost = result, result.lost
        largest = np.argsort(-self._lost, kind="stable")[:ROWS]
        self._positions: list[int] = largest[self._lost[largest] > 0].tolist()
        self._classes = class_numbers(result)[self._positions].tolist()
        self._sizes: dict[int, int] = {}
        self._texts: Mapping[int, Excerpt] = {}
        self.visits: dict[int, Callable[[Text], None]] = {
            position: partial(self._measure, position) for position in self._positions
        }

    def _measure(self, position: int, text: Text) -> None:
        """Count the shingles of a document."""
        self._sizes[position] = len(np.unique(self._result.sources.shingling.fingerprints(text)))

    def read_with(self, excerpts: Excerpts) -> Excerpts:
        """Wrap `excerpts` in a function that also reads the texts of the largest losses."""

        def both(positions: Ints) -> dict[int, Excerpt]:
            viewed = np.array(self._positions[:VIEWS], np.int64)
            texts = excerpts(np.unique(np.concatenate([positions, viewed, self._result.labels[viewed]])))
            self._texts = texts
            return texts

        return both

    def list_losses(self, name: Callable[[int], str]) -> Losses:
        """Return the list, after the excerpts were read; `name` returns the name of a position."""
        listed = [self._loss(rank, position, name) for rank, position in enumerate(self._positions)]
        return Losses(int(self._lost.sum()), int(np.count_nonzero(self._lost)), tuple(listed))

    def _loss(self, rank: int, position: int, name: Callable[[int], str]) -> Loss:
        """Describe one loss."""
        result, texts = self._result, self._texts
        label = int(result.labels[position])
        score = float(result.score[position]) if result.rules.scored else None
        member = Member(name(position), CLASSES[self._classes[rank]], float(result.resemblance[position]), False, score)
        shown = rank < VIEWS and position in texts and label in texts
        view = View(name(label), texts[label], member, texts[position]) if shown else None
        return Loss(member, name(label), int(self._lost[position]), self._sizes.get(position, 0), view)
