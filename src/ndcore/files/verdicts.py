"""The result of ``near_duplicates`` in the terms of the user: ids and places of documents instead of positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ndcore._types import AnyArray, Bools, Floats, Ints
from ndcore.clusters.assignments import largest_clusters
from ndcore.dedup.classes import CLASSES, RARE
from ndcore.dedup.rules import Rules
from ndcore.files.document_fields import Ids
from ndcore.files.json_values import finite
from ndcore.files.provenance import Place

ESTIMATED = ("shingle", "near", "contained", "chained")  # where sketches stand for texts


class Result(Protocol):
    """The part of ``NearDuplicates`` that is needed here."""

    @property
    def labels(self) -> Ints: ...
    @property
    def classes(self) -> AnyArray: ...
    @property
    def resemblance(self) -> Floats: ...
    @property
    def cluster_sizes(self) -> Ints: ...
    @property
    def mask(self) -> Bools: ...
    @property
    def score(self) -> Floats: ...
    @property
    def lost(self) -> Ints | None: ...
    @property
    def rules(self) -> Rules: ...


class Cluster(NamedTuple):
    """A representative and the documents that it stands for; `lowest` is their lowest resemblance, or score.

    None: they have no shingles.
    """

    representative: int
    against: bool
    dropped: int
    classes: dict[str, int]
    lowest: float | None


class Verdicts:
    """The result of ``near_duplicates`` over documents with ids.

    Parameters
    ----------
    result : NearDuplicates
    ids, against : sequences of ids
        Ids of the texts, and of the documents of ``against=`` (empty without).
    sketched, against_sketched : bool
        Only sketches were given, so that resemblances are estimates.
    place, against_place : callable or None
        From a position to the Place of a document; None where only sketches were given.

    Attributes
    ----------
    kept : bool array, shape (n,)
    score : float array or None
        What was compared with the threshold; None where that is the resemblance.
    lost : int array or None
        Shingles of each dropped document that no kept document has; None where they were not counted.
    """

    def __init__(
        self,
        result: Result,
        ids: Sequence[str | int] | Ids,
        against: Sequence[str | int] | Ids = (),
        sketched: bool = False,
        against_sketched: bool = False,
        has_against: bool = False,
        place: Callable[[int], Place] | None = None,
        against_place: Callable[[int], Place] | None = None,
    ) -> None:
        self.ids, self.against = ids, against
        self.labels, self.classes, self.resemblance = result.labels, result.classes, result.resemblance
        self.score = result.score if result.rules.scored else None
        self.lost = result.lost
        self.has_against = has_against or len(against) > 0
        self._place, self._against_place = place, against_place
        self.sizes = result.cluster_sizes
        self._sketched, self._against_sketched = sketched, against_sketched
        self.kept = result.mask

    def __len__(self) -> int:
        return len(self.labels)

    def name(self, position: int) -> str | int:
        """Return the id of a document; positions from n on belong to ``against``."""
        n = len(self.labels)
        return self.ids[position] if position < n else self.against[position - n]

    def place(self, position: int, prefix: str = "") -> dict[str, Any]:
        """Return the fields of the place of a document, where it is known; positions as in `name`."""
        n = len(self.labels)
        known, inside = (self._place, position) if position < n else (self._against_place, position - n)
        return {} if known is None else known(inside).fields(prefix)

    def line(self, position: int) -> dict[str, Any]:
        """Return the line of ``clusters.jsonl`` on one document."""
        return {"id": self.name(position), **self.place(position), **self.describe(position)}

    def describe(self, position: int) -> dict[str, Any]:
        """Return class, representative, resemblance and size of the cluster of one document, for annotations.

        Also the score and the number of shingles lost, where an option brings them.
        """
        label, verdict = int(self.labels[position]), str(self.classes[position])
        found: dict[str, Any] = {
            "class": verdict,
            "representative": self.name(label),
            **self.place(label, "representative_"),
            "resemblance": finite(self.resemblance[position]),
            **({} if self.score is None else {"score": finite(self.score[position])}),
            "cluster_size": int(self.sizes[position]),
            **({} if self.lost is None else {"lost": int(self.lost[position])}),
        }
        beyond = label >= len(self.labels)
        if beyond:
            found["against"] = True
        if verdict in ESTIMATED and (self._sketched or (beyond and self._against_sketched)):
            found["estimated"] = True
        return found

    def counts(self, start: int = 0, stop: int | None = None) -> dict[str, int]:
        """Count the dropped documents of each class from `start` to `stop`; rare classes only where they occur."""
        names, numbers = np.unique(self.classes[start:stop], return_counts=True)
        found = dict(zip([str(name) for name in names], numbers.tolist(), strict=True))
        return {name: found.get(name, 0) for name in CLASSES[1:] if name not in RARE or name in found}

    def by_loss(self) -> Ints:
        """Return the positions of dropped documents: in order, or those that lose most shingles first where it is known."""
        dropped = np.flatnonzero(~self.kept)
        return dropped if self.lost is None else dropped[np.argsort(-self.lost[dropped], kind="stable")]

    def largest(self, limit: int) -> list[Cluster]:
        """Return the `limit` representatives that stand for most documents; of equals, the first."""
        return [self._cluster(label, duplicates) for label, duplicates in largest_clusters(self.labels, limit)]

    def clusters(self) -> int:
        """Count the representatives that stand for other documents."""
        return len(np.unique(self.labels[~self.kept]))

    def _cluster(self, label: int, members: Ints) -> Cluster:
        """Describe one cluster."""
        classes = Counter(str(name) for name in self.classes[members])
        lowest = (self.resemblance if self.score is None else self.score)[members]
        known = lowest[~np.isnan(lowest)]
        return Cluster(
            label,
            label >= len(self.labels),
            len(members),
            {name: classes[name] for name in CLASSES if classes[name]},
            float(known.min()) if len(known) else None,
        )
