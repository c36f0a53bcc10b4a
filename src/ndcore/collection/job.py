"""What to cluster and how, checked before anything is read or written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Ints
from ndcore.checks import checked_memory_limit
from ndcore.collection.classes import IDENTICAL, LEXICAL
from ndcore.collection.segments import Segments
from ndcore.collection.settings import ClusterBy, Grouping, Policy, Settings
from ndcore.filters.design import FilterDesign
from ndcore.parallel import thread_count
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.text.corpus import Corpus, TextCorpus, as_corpus
from ndcore.text.shingling import Shingling

__all__ = ["EarlierDocuments", "Given", "Job", "length", "readable"]

Given = Corpus | Sketches | Segments


class EarlierDocuments(NamedTuple):
    """The documents of a collection that is extended: their sketches, their leaders, and how they equal their leaders.

    They come before the new ones. Their texts are gone, and digests were not kept.
    """

    segments: Segments
    leaders: Ints
    same: NDArray[np.uint8]

    def digests(self, new: NDArray[np.uint8] | None, n: int) -> NDArray[np.uint8]:
        """Return rows of digests of `n` documents: stand-ins for the earlier ones, then `new` (None: stand-ins too).

        Two stand-ins are equal where the digests were, as far as is known. One equals a real digest
        with probability 2^-128.
        """
        rows = np.full((n, 4), 0x6E64636F7265, np.uint64)
        rows[:, 1] = rows[:, 3] = np.arange(n)
        for column, same in ((1, self.same == IDENTICAL), (3, (self.same == IDENTICAL) | (self.same == LEXICAL))):
            rows[np.flatnonzero(same), column] = self.leaders[same]
        digests = rows.view(np.uint8)
        if new is not None:
            digests[len(self.segments) :] = new
        return digests


@dataclass(frozen=True)
class Job:
    """What to cluster and how, checked.

    Attributes
    ----------
    given : Corpus, Sketches or Segments
    earlier : EarlierDocuments or None
    settings : Settings
        Of phases one to three.
    grouping : Grouping
        Of phase four.
    tell_apart : bool
    memory_limit : int or None
        Bytes for the work of a phase: half of the limit. The other half is for what is kept.
    threads : int or None
    """

    given: Given
    earlier: EarlierDocuments | None
    settings: Settings
    grouping: Grouping
    tell_apart: bool
    memory_limit: int | None
    threads: int | None

    @classmethod
    def of(
        cls, given: Given, earlier: EarlierDocuments | None = None, *, threshold: float,
        shingling: Shingling | None = None, sketcher: Sketcher | None,
        method: str, policy: Policy, cluster: ClusterBy, guard: float | None, least: int, max_holders: int, run: int,
        filter: FilterDesign | None, tell_apart: bool, memory_limit: int | str | None, threads: int | None,
    ) -> Job:
        """Check the parameters of `cluster`, and fill in its defaults. TypeError or ValueError as of `cluster`."""
        settings = Settings.of(
            given, shingling=shingling, sketcher=sketcher, method=method, threshold=threshold, max_holders=max_holders,
            run=run, filter=filter,
        )
        grouping = Grouping(settings.threshold, policy, cluster, guard, least)
        grouping.check(settings.method, settings.floor)
        limit = checked_memory_limit(memory_limit)
        half = None if limit is None else max(1, limit // 2)
        thread_count(threads)
        return cls(given, earlier, settings, grouping, bool(tell_apart), half, threads)

    @property
    def first(self) -> int:
        """Position of the first document given, after the earlier ones."""
        return 0 if self.earlier is None else len(self.earlier.segments)

    @property
    def shingling(self) -> Shingling | None:
        """How texts are read again to tell documents with equal sketches apart; None where they are not."""
        return self.settings.sketcher.shingling if self.settings.sketcher is not None and self.tell_apart else None


def readable(texts: Any) -> Given:
    """Return sketches as they are, and any texts as a corpus. TypeError as of `as_corpus`."""
    return texts if isinstance(texts, (Sketches, Segments)) else as_corpus(texts)


def length(given: Given) -> int | None:
    """Return the number of documents, or None where they must be read for it."""
    if isinstance(given, TextCorpus):
        return len(given.texts)
    return len(given) if isinstance(given, (Sketches, Segments)) else None
