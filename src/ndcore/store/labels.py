"""Maintain star clusters exactly when documents are removed.

A document depends only on earlier ones: on its class, and on the kept documents that it resembles. So the documents that a
removal may change are visited in ascending order, and each is compared again with the kept documents before it. If its kept
status changes, the later documents that depend on it are visited, too. The cost is a search and a few comparisons for each
visited document: the members of the cluster whose representative left, and the documents that resemble a newly kept one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ndcore._types import UInts
from ndcore.store.evidence import Measured
from ndcore.store.keys import decode_key
from ndcore.store.pages import Page
from ndcore.store.records import LEADER, VARIANT, Changes, Document
from ndcore.store.state import COPIES, FOLLOWS, LEADS, VARIES, State, count_shared
from ndcore.store.verdict import Judged, Key

WHOLE = Measured(1.0, 1.0, 1.0, True)


class LabelPlace(NamedTuple):
    """The place of a page: the number of its representative (None: itself), its role, and its scores."""

    label: int | None
    role: int
    verdict: Judged
    equal: int | None
    measured: Measured | None


KEPT = LabelPlace(None, LEADER | VARIANT, "kept", None, None)


class Plan:
    """A plan of the state after some documents have left. It does not change the state; `changes` has the changes to apply.

    Attributes
    ----------
    removed : set of int
    labels, roles : dict
        New labels and roles, by document number, that differ from the state.
    features : dict
        Features of the documents that were compared again.
    """

    def __init__(self, state: State, removed: Iterable[int] = ()) -> None:
        self.state, self.removed = state, {number for number in removed if number in state.live}
        self.labels: dict[int, int] = {}
        self.roles: dict[int, int] = {}
        self.features: dict[int, UInts] = {}
        self._kept: dict[int, bool] = {}  # whether documents are kept, where that changes
        self._promoted: dict[int, Document] = {}
        self._heap: list[int] = []
        self._queued: set[int] = set()
        if self.removed:
            self._settle()

    @property
    def changes(self) -> Changes:
        """The changes to apply to the state."""
        if not self.removed:
            return Changes()
        numbers = sorted({*self.labels, *self.roles})
        return Changes(tuple(sorted(self.removed)), tuple((i, self.label(i), self.role(i)) for i in numbers))

    def label(self, number: int) -> int:
        """Return the number of the representative of a document."""
        label = self.labels.get(number)
        return self.state.columns.get("label", number) if label is None else label

    def role(self, number: int) -> int:
        """Return the role of a document."""
        role = self.roles.get(number)
        return self.state.role(number) if role is None else role

    def place(self, page: Page) -> LabelPlace:
        """Find the place of a page that is added after all documents of the plan."""
        leader = self.leader(page)
        if leader is None:
            best = self.best(page) if page.valid else None
            return KEPT if best is None else LabelPlace(best[0], LEADER | VARIANT, _name_class(best[1]), None, best[1])
        number, record = leader
        label = self.label(number)
        equal = number if self.state.is_equal(record, page) else self.variant(page)
        role = VARIANT if equal is None else 0
        if label != number:
            measured = self.score(page, label)
            return LabelPlace(label, role, _name_class(measured), equal, measured)
        return LabelPlace(label, role, "identical" if equal == number else "lexical", equal, WHOLE if page.valid else None)

    def place_of(self, document: Document, page: Page) -> LabelPlace:
        """Return the place of a live document; `page` has its tokens."""
        state, number = self.state, document.number
        label, role, equal = self.label(number), self.role(number), None
        if not role & VARIANT:
            holders = [*self.of_class(LEADS, page, page.scope), *self.of_class(VARIES, document, page.scope)]
            equal = next((each for each, record in holders if state.is_equal(record, document)), None)
        if label == number:
            return LabelPlace(None, role, "kept", equal, None)
        head = state.document(label)
        if state.is_equal(head, document):
            return LabelPlace(label, role, "identical", equal, WHOLE if page.valid else None)
        if head.valid and state.is_class(head, document):
            return LabelPlace(label, role, "lexical", equal, WHOLE)
        measured = self.score(page, label)
        return LabelPlace(label, role, _name_class(measured), equal, measured)

    def key_of(self, number: int) -> Key:
        """Return the key of a document."""
        return decode_key(self.state.document(number).name)

    def scope_of(self, number: int) -> int:
        """Return the scope of a document."""
        return self.state.scope(self.state.document(number))

    def leader(self, page: Page) -> tuple[int, Page | Document] | None:
        """Find the leader of the class of a page."""
        return next(iter(self.of_class(LEADS, page, page.scope)), None)

    def variant(self, page: Page) -> int | None:
        """Find the first document of the class of a page with its bytes that does not lead."""
        return next((number for number, _ in self.of_class(VARIES, page, page.scope)), None)

    def of_class(self, kind: int, like: Page | Document, scope: int) -> list[tuple[int, Document]]:
        """Find documents like `State.of_class`, but in the state after the plan; ascending."""
        records = dict(self.state.of_class(kind, like, scope, self.removed.__contains__))
        for number, record in self._promoted.items():
            if kind == COPIES or record.valid != like.valid or self.state.scope(record) != scope:
                continue
            by_class = kind in (LEADS, FOLLOWS)
            same = self.state.is_class(record, like) if by_class else self.state.is_equal(record, like)
            if same and (self.roles[number] & LEADER != 0) == (kind == LEADS):
                records[number] = record
        return sorted(records.items(), key=lambda item: item[0])

    def best(self, page: Page, before: int | None = None) -> tuple[int, Measured] | None:
        """Find the near kept document that a page resembles most; ties go to the first."""
        best = None
        for number in self._find_kept_near(page):
            if before is not None and number >= before:
                break
            measured = self.near(page, number)
            if measured is not None and (best is None or measured.resemblance > best[1].resemblance):
                best = number, measured
        return best

    def near(self, page: Page, number: int) -> Measured | None:
        """Measure a page against a document; None unless both are near and in the same scope.

        Features of two scopes can be equal only by chance. Then the texts, or the hosts, decide.
        """
        measured = self.score(page, number)
        return measured if measured.near and (not page.scope or self.scope_of(number) == page.scope) else None

    def score(self, page: Page, number: int) -> Measured:
        """Score a page against a document; both have shingles."""
        evidence = self.state.evidence
        return evidence.measure(page, number, None if evidence.is_cached(number) else self.state.document(number).evidence)

    def _find_kept_near(self, page: Page) -> list[int]:
        """Find the kept documents that share enough features with a page and may reach the threshold, ascending."""
        near: list[int] = self.state.near(page, self.state.find_sharing(page.features, True)).tolist()
        if not self.removed:
            return near
        numbers = {i for i in near if i not in self.removed and self._kept.get(i, True)}
        need = self.state.settings.need
        numbers.update(i for i, kept in self._kept.items() if kept and count_shared(self.features[i], page.features) >= need)
        return sorted(numbers)

    # ---- removal

    def _settle(self) -> None:
        """Find the labels and roles of all documents that the removal changes."""
        removed = [(number, self.state.role(number)) for number in sorted(self.removed)]
        documents = {number: self.state.document(number) for number, role in removed if role}
        for number, _ in ((i, role) for i, role in removed if role & VARIANT):
            self._pass_on_bytes(documents[number])
        for number, _ in ((i, role) for i, role in removed if role & LEADER):
            self._pass_on_class(documents[number])
        while self._heap:
            self._compare_again(heapq.heappop(self._heap))

    def _pass_on_bytes(self, gone: Document) -> None:
        """Make the first remaining copy a variant in place of a document that leaves."""
        def passed(number: int) -> bool:
            return number in self.removed or self.role(number) != 0

        for number, record in self.state.of_class(COPIES, gone, self.state.scope(gone), passed):
            self.roles[number] = VARIANT
            self._promoted[number] = record
            return

    def _pass_on_class(self, gone: Document) -> None:
        """Give the class of a leaving leader a new leader, and queue the documents that depend on it."""
        scope = self.state.scope(gone)
        following = self.of_class(VARIES if not gone.valid else FOLLOWS, gone, scope)
        if following:
            number, record = following[0]
            self.roles[number] = LEADER | VARIANT
            self._promoted[number] = record
            self._queue(number)
        if gone.number in self.state.kept:
            self._queue_members(gone.number)

    def _queue(self, number: int) -> None:
        if number not in self._queued:
            self._queued.add(number)
            heapq.heappush(self._heap, number)

    def _queue_members(self, number: int) -> None:
        """Queue the leaders in the cluster of a document, in the present state."""
        for member in self.state.columns.members(number):
            if member != number and member not in self.removed and self.role(member) & LEADER:
                self._queue(member)

    def _compare_again(self, number: int) -> None:
        """Find the label of a leader from the documents before it, and queue the documents that depend on it."""
        state = self.state
        page = state.page(number)
        self.features[number] = page.features
        best = self.best(page, number) if page.valid else None
        label = number if best is None else best[0]
        if label != state.columns.get("label", number):
            for member in self._class_of(number, page):
                self.labels[member] = label
        if (label == number) == (number in state.kept):
            return
        self._kept[number] = label == number
        if label != number:
            self._queue_members(number)
            return
        others = np.concatenate([state.find_sharing(page.features, kept) for kept in (True, False)])
        for other in state.near(page, np.unique(others[others > number])).tolist():
            if (other not in self.removed and self.role(other) & LEADER
                    and self.near(page, other) is not None):
                self._queue(other)

    def _class_of(self, number: int, page: Page) -> set[int]:
        """Return the numbers of a leader and of the other documents of its class."""
        scope, members = page.scope, {number}
        variants = self.of_class(FOLLOWS, page, scope) if page.valid else []
        likes: list[Page | Document] = [page, *(record for _, record in variants)]
        for like in likes:
            members.update(each for each, _ in self.of_class(COPIES, like, scope) if self.role(each) & LEADER == 0)
        members.update(each for each, _ in variants)
        return members


def _name_class(measured: Measured) -> Judged:
    """Name the class of a page that differs from its representative."""
    return "shingle" if measured.resemblance == 1.0 else "near"
