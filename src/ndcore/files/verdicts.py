"""The result of ``near_duplicates`` with ids and places of documents instead of positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np

from ndcore._signals import stoppable
from ndcore._types import Ints
from ndcore.dedup.classes import CLASSES, RARE
from ndcore.dedup.result import NearDuplicates, class_numbers
from ndcore.files.document_fields import Ids
from ndcore.files.json_values import finite_all, write_time
from ndcore.files.outputs import OutputDirectory
from ndcore.files.provenance import Place
from ndcore.files.table_files import ABSENT, encode_lines, list_records
from ndcore.pairs.assignments import largest_clusters

CLUSTERS = "clusters.jsonl"
ROWS = 1 << 14  # documents whose lines are made together
DESCRIBED = 1 << 10  # documents that are described together
ESTIMATED = ("shingle", "near", "contained", "chained")  # if only sketches were given


PlaceColumns: TypeAlias = Callable[[Ints], Sequence[list[Any]]]


class ClusterSummary(NamedTuple):
    """A representative and the documents dropped for it; `lowest` is their lowest resemblance or score.

    `lowest` is None if the dropped documents have no shingles.
    """

    representative: int
    against: bool
    dropped: int
    classes: dict[str, int]
    lowest: float | None


class NamedVerdicts:
    """The result of ``near_duplicates`` over documents with ids.

    Parameters
    ----------
    result : NearDuplicates
    ids, against : sequences of ids
        Ids of the texts, and of the documents of ``against=`` (empty without).
    sketched, against_sketched : bool
        Only sketches were given, so that resemblances are estimates.
    places, against_places : callable or None
        Map positions to the columns of `Place`; None if only sketches were given.

    Attributes
    ----------
    kept : bool array, shape (n,)
    classes : uint8 array, shape (n,)
        The class of each document as its position in `CLASSES`.
    score : float array or None
        The scores that were compared with the threshold; None if they are the resemblances.
    lost : int array or None
        Shingles of each dropped document that no kept document has; None if they were not counted.
    """

    def __init__(
        self,
        result: NearDuplicates,
        ids: Sequence[str | int] | Ids,
        against: Sequence[str | int] | Ids = (),
        sketched: bool = False,
        against_sketched: bool = False,
        has_against: bool = False,
        places: PlaceColumns | None = None,
        against_places: PlaceColumns | None = None,
    ) -> None:
        self.ids, self.against = ids, against
        self.labels, self.classes, self.resemblance = result.labels, class_numbers(result), result.resemblance
        self.score = result.score if result.rules.scored else None
        self.lost = result.lost
        self.has_against = has_against or len(against) > 0
        self._places, self._against_places = places, against_places
        self.sizes = result.cluster_sizes
        self._sketched, self._against_sketched = sketched, against_sketched
        self.kept = result.mask
        self._described: tuple[int, list[dict[str, Any]]] = -1, []

    def __len__(self) -> int:
        return len(self.labels)

    def name(self, position: int) -> str | int:
        """Return the id of a document; positions from n on belong to ``against``."""
        n = len(self.labels)
        return self.ids[position] if position < n else self.against[position - n]

    def names(self, positions: Ints) -> list[str | int]:
        """Return the ids of documents; positions as in `name`."""
        sides = [lambda inside, ids=ids: [_take_ids(ids, inside)] for ids in (self.ids, self.against)]
        return self._join_sides(positions, *sides)[0]

    def places(self, positions: Ints) -> list[list[Any]]:
        """Return the columns of `Place` for documents, all None if a place is unknown; positions as in `name`."""
        return self._join_sides(positions, self._places or _make_empty_places, self._against_places or _make_empty_places)

    def _join_sides(self, positions: Ints, of_texts: PlaceColumns, of_against: PlaceColumns) -> list[list[Any]]:
        """Look up columns for documents of both sides, by one function for each side."""
        beyond = positions >= len(self.labels)
        if not beyond.any():
            return list(of_texts(positions))
        place = np.empty(len(positions), np.int64)
        place[np.argsort(beyond, kind="stable")] = np.arange(len(positions))
        texts, against = of_texts(positions[~beyond]), of_against(positions[beyond] - len(self.labels))
        whole = [[*new, *old] for new, old in zip(texts, against, strict=True)]
        return [[column[i] for i in place.tolist()] for column in whole]

    def line(self, position: int) -> dict[str, Any]:
        """Return the line of ``clusters.jsonl`` on one document."""
        return list_records(self._lines(np.array([position])))[0]

    def describe(self, position: int) -> dict[str, Any]:
        """Return class, representative, resemblance and size of the cluster of one document, for annotations.

        Includes the score and the number of lost shingles if an option asks for them.
        """
        start = position - position % DESCRIBED
        if self._described[0] != start:  # annotations request documents in order
            part = np.arange(start, min(start + DESCRIBED, len(self)))
            self._described = start, list_records(self.columns(part))
        return self._described[1][position - start]

    def _lines(self, positions: Ints) -> dict[str, list[Any]]:
        """Return the lines of ``clusters.jsonl`` on documents, as columns."""
        return {"id": self.names(positions), **self._get_place_columns(positions, ""), **self.columns(positions)}

    def write(self, file: IO[bytes]) -> None:
        """Write the lines of ``clusters.jsonl``, one for each dropped document, in the order of `by_loss`."""
        dropped = self.by_loss()
        for start in stoppable(range(0, len(dropped), ROWS)):
            file.write(encode_lines(self._lines(dropped[start : start + ROWS])))

    def columns(self, positions: Ints) -> dict[str, list[Any]]:
        """Return the fields of `describe` for many documents, as columns; `ABSENT` if a document lacks a field."""
        labels = self.labels[positions]
        beyond = labels >= len(self.labels)
        classes = [CLASSES[number] for number in self.classes[positions].tolist()]
        columns: dict[str, list[Any]] = {
            "class": classes,
            "representative": self.names(labels),
            **self._get_place_columns(labels, "representative_"),
            "resemblance": finite_all(self.resemblance[positions]),
        }
        if self.score is not None:
            columns["score"] = finite_all(self.score[positions])
        columns["cluster_size"] = self.sizes[positions].tolist()
        if self.lost is not None:
            columns["lost"] = self.lost[positions].tolist()
        sketched = self._sketched | (beyond & self._against_sketched)
        columns["against"] = [True if there else ABSENT for there in beyond.tolist()]
        columns["estimated"] = [True if there and name in ESTIMATED else ABSENT
                                for there, name in zip(sketched.tolist(), classes, strict=True)]
        return columns

    def _get_place_columns(self, positions: Ints, prefix: str) -> dict[str, list[Any]]:
        """Return the fields of the places of documents, as columns. If a document has a file it has a line, also None."""
        files, lines, offsets, dates = self.places(positions)
        lines = [ABSENT if file is None else line for file, line in zip(files, lines, strict=True)]
        dates = [None if date is None else write_time(date) for date in dates]
        return {f"{prefix}file": _leave_out(files), f"{prefix}line": lines, f"{prefix}offset": _leave_out(offsets),
                f"{prefix}date": _leave_out(dates)}

    def counts(self, start: int = 0, stop: int | None = None) -> dict[str, int]:
        """Count the dropped documents of each class from `start` to `stop`; rare classes only if they occur."""
        numbers = np.bincount(self.classes[start:stop], minlength=len(CLASSES)).tolist()
        return {name: number for name, number in zip(CLASSES[1:], numbers[1:], strict=True) if name not in RARE or number}

    def by_loss(self) -> Ints:
        """List the positions of dropped documents: by lost shingles, most first, if these are known; else in order."""
        dropped = np.flatnonzero(~self.kept)
        return dropped if self.lost is None else dropped[np.argsort(-self.lost[dropped], kind="stable")]

    def largest(self, limit: int) -> list[ClusterSummary]:
        """List the `limit` representatives with the most dropped documents; ties by position."""
        return [self._summarize_cluster(label, duplicates) for label, duplicates in largest_clusters(self.labels, limit)]

    def clusters(self) -> int:
        """Count the representatives for which documents were dropped."""
        return len(np.unique(self.labels[~self.kept]))

    def _summarize_cluster(self, label: int, members: Ints) -> ClusterSummary:
        """Describe one cluster."""
        classes = np.bincount(self.classes[members], minlength=len(CLASSES)).tolist()
        lowest = (self.resemblance if self.score is None else self.score)[members]
        known = lowest[~np.isnan(lowest)]
        return ClusterSummary(
            label,
            label >= len(self.labels),
            len(members),
            {name: number for name, number in zip(CLASSES, classes, strict=True) if number},
            float(known.min()) if len(known) else None,
        )


def write_clusters(output: OutputDirectory, verdicts: NamedVerdicts) -> None:
    """Write ``clusters.jsonl``."""
    with output.below(CLUSTERS).open("xb", buffering=1 << 20) as file:
        verdicts.write(file)


def _take_ids(ids: Sequence[str | int] | Ids, positions: Ints) -> list[str | int]:
    """Return the ids at these positions."""
    return ids.take(positions) if isinstance(ids, Ids) else [ids[i] for i in positions.tolist()]


def _make_empty_places(positions: Ints) -> list[list[Any]]:
    """Return the columns of `Place` for documents whose places are unknown."""
    return [[None] * len(positions) for _ in Place._fields]


def _leave_out(values: list[Any]) -> list[Any]:
    """Put `ABSENT` in place of None."""
    return [ABSENT if value is None else value for value in values]
