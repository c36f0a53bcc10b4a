"""The review list of a report: which dropped documents cost most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ndcore._types import Ints, Text
from ndcore.dedup.classes import CLASSES
from ndcore.dedup.result import NearDuplicates, class_numbers
from ndcore.report.model import ROWS, Excerpt, Excerpts, Loss, Losses, Member, View

__all__ = ["ReviewList"]

VIEWS = 10  # losses with both documents side by side


class ReviewList:
    """The dropped documents with the largest losses; their sizes and texts are read together with other excerpts.

    Parameters
    ----------
    result : NearDuplicates
        Made with ``lost=True``.

    Attributes
    ----------
    visits : mapping
        As in `ndcore.report.model.read_excerpts`.
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

    def joined(self, excerpts: Excerpts) -> Excerpts:
        """Return `excerpts` as a function that also reads the texts of the largest losses."""

        def both(positions: Ints) -> dict[int, Excerpt]:
            viewed = np.array(self._positions[:VIEWS], np.int64)
            found = excerpts(np.unique(np.concatenate([positions, viewed, self._result.labels[viewed]])))
            self._texts = found
            return found

        return both

    def losses(self, name: Callable[[int], str]) -> Losses:
        """Return the list, after the excerpts were read; `name` is from a position to a name."""
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
