"""Runs too long to be expanded to pairs: compare their representatives with the other documents of the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ndcore._types import Ints
from ndcore.dedup.candidates import Run, Search
from ndcore.dedup.leaders import Leaders
from ndcore.dedup.rules import Rules
from ndcore.dedup.verify import Scored, Verifier

__all__ = ["Draft", "settle_runs"]


class Draft(NamedTuple):
    """Accepted pairs of leaders, sorted; the label of each document by these; the entries of `NearDuplicates.common`."""

    pairs: Scored
    labels: Ints
    common: list[dict[str, int]]


class _LongRun:
    """A run in keep order, and how far it was compared."""

    def __init__(self, run: Run, rank: Ints) -> None:
        self.group = run.group
        self.example = int(run.documents[0])
        self.documents = run.documents[np.argsort(rank[run.documents], kind="stable")]
        self.ranks = rank[self.documents]
        self.representatives = 0
        self.cut: set[int] = set()  # places of representatives that were not compared within this run

    def place(self, rank: int) -> int:
        """Return the place of a document of the run."""
        return int(np.searchsorted(self.ranks, rank))

    def account(self, labels: Ints) -> dict[str, int]:
        """Return the entry of `NearDuplicates.common`."""
        first = min((at for at in self.cut if labels[self.documents[at]] == self.documents[at]), default=len(self.documents))
        return {"group": self.group, "holders": len(self.documents), "example": self.example,
                "representatives": self.representatives, "cut": len(self.documents) - first}


class _LongRuns:
    """All long runs, and the comparisons made within them so far."""

    def __init__(self, search: Search, verifier: Verifier, leaders: Leaders, rules: Rules) -> None:
        self.search, self.verifier, self.rules, self.threshold = search, verifier, rules, rules.threshold
        self.rank = leaders.rank
        self.runs = [_LongRun(run, self.rank) for run in search.runs]
        self.limit = None if rules.prefix is not None else rules.max_holders
        members = np.concatenate([run.documents for run in self.runs])
        self._runs = np.repeat(np.arange(len(self.runs)), [len(run.documents) for run in self.runs])
        by_rank = np.argsort(self.rank[members], kind="stable")
        members, self._runs = members[by_rank], self._runs[by_rank]
        self.documents, self._starts = np.unique(self.rank[members], return_index=True)
        self.documents = members[self._starts]  # in keep order
        self._starts = np.append(self._starts, len(members))
        self._compared = np.zeros(len(self.documents), np.bool_)
        self._joining: dict[int, Ints] = {}  # by place: the documents that may join this one

    def _runs_of(self, place: int) -> list[_LongRun]:
        """Return the runs that hold a document."""
        return [self.runs[i] for i in self._runs[self._starts[place] : self._starts[place + 1]].tolist()]

    def compare_representatives(self, labels: Ints) -> Iterator[Scored]:
        """Go through the documents in keep order; yield the pairs of each representative that was not compared before.

        A representative that may join an earlier one will not stay a representative, so it waits for the next round.
        """
        joining = np.zeros(len(labels), np.bool_)
        for place in np.flatnonzero(labels[self.documents] == self.documents).tolist():
            document = int(self.documents[place])
            if not self._compared[place] and not joining[document]:
                found = self._compare(place)
                if found is None:
                    continue
                self._compared[place] = True
                members, others, _ = found.joins(self.threshold)
                self._joining[place] = members[others == document]
                yield found
            if self._compared[place]:
                joining[self._joining[place]] = True

    def _compare(self, place: int) -> Scored | None:
        """Compare a document with the later ones of its runs, with `reassign` with all of them; None if every run is cut."""
        document, rank = int(self.documents[place]), int(self.rank[self.documents[place]])
        others = []
        for run in self._runs_of(place):
            at = run.place(rank)
            if run.representatives == self.limit:
                run.cut.add(at)
                continue
            run.representatives += 1
            others.append(run.documents[at + 1 :])
            if self.rules.reassign:
                others.append(run.documents[:at])
        return self._verify(document, np.unique(np.concatenate(others))) if others else None

    def connect(self, labels: Ints) -> Iterator[Scored]:
        """Yield the pairs that join different components of one run.

        Of two documents, one that is not in the main component of the run is compared with the other.
        """
        main = [_most_frequent(labels[run.documents]) for run in self.runs]
        seen = np.zeros(len(labels), np.bool_)
        seen[self.documents[self._compared]] = True
        for place, document in enumerate(self.documents.tolist()):
            others = []
            for i in self._runs[self._starts[place] : self._starts[place + 1]].tolist():
                if labels[document] == main[i]:
                    continue
                at, documents = self.runs[i].place(int(self.rank[document])), self.runs[i].documents
                before = documents[:at]
                others.append(before[(labels[before] == main[i]) & ~seen[before]])
                if not seen[document]:
                    after = documents[at + 1 :]
                    others.append(after[labels[after] != labels[document]])
            if others and len(found := np.unique(np.concatenate(others))):
                yield self._verify(document, found)

    def _verify(self, document: int, others: Ints) -> Scored:
        """Return the accepted pairs of a document with candidates among the others."""
        others = self.search.partners(document, others)
        return self.verifier.verify(np.full(len(others), document), others, self.threshold)


def _most_frequent(labels: Ints) -> int:
    """Return the most frequent of the labels."""
    found, count = np.unique(labels, return_counts=True)
    return int(found[np.argmax(count)])


def settle_runs(pairs: Scored, search: Search, verifier: Verifier, leaders: Leaders, rules: Rules) -> Draft:
    """Choose representatives by the verified pairs, and by further pairs found in the long runs.

    In keep order, each representative in a run that may join none before it is compared with all documents that follow. The
    pairs found change the representatives, so this is repeated for the new ones until no pairs are added: then all
    representatives in a run have been compared with one another. A filter of signatures compares up to max_holders
    representatives a run. A complete filter compares all, and for components also documents of different components.

    Notes
    -----
    Linear in the length of a run times the representatives in it; for components also times the documents outside of its
    main component.
    """
    labels = leaders.choose_representatives(pairs, rules)
    if not search.runs:
        return Draft(pairs, labels, [])
    runs = _LongRuns(search, verifier, leaders, rules)
    while added := list(runs.compare_representatives(labels)):
        pairs = Scored.merged([pairs, *added], len(labels))
        labels = leaders.choose_representatives(pairs, rules)
    if rules.cluster == "components" and rules.prefix is not None:
        pairs = Scored.merged([pairs, *runs.connect(labels)], len(labels))
        labels = leaders.choose_representatives(pairs, rules)
    return Draft(pairs, labels, [run.account(labels) for run in runs.runs])
