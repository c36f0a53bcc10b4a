"""Decide on pages: from a prepared page and the state to a verdict and the record that acknowledges it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ndcore._types import Text, UInts
from ndcore.store.evidence import Measured
from ndcore.store.keys import decoded
from ndcore.store.labels import Plan
from ndcore.store.pages import Page
from ndcore.store.records import DIGESTED, LEADER, STR, VALID, VARIANT, Changes, Document, Sighting
from ndcore.store.state import LEADS, VARIES, State
from ndcore.store.verdict import Change, Judged, Key, Verdict, Version

__all__ = [
    "NEW", "Decision", "Place", "among", "apply", "decide", "equal_of", "flags_of", "in_class", "key_of", "leader_of",
    "look", "near", "sight",
]

WHOLE = Measured(1.0, 1.0, 1.0, True)


class Decision(NamedTuple):
    """A verdict, the record that acknowledges it, and what applying the record needs."""

    verdict: Verdict
    record: Document | Sighting
    page: Page
    features: dict[int, UInts]


class VersionComparison(NamedTuple):
    """A page beside the last version of its key: records, the change, the resemblance, the position of the last version."""

    last: Document | Sighting
    document: Document
    change: Change
    score: float | None
    previous: int

    @property
    def again(self) -> bool:
        """Whether the version says what the last one said."""
        return self.change in ("unchanged", "lexical")


class Place(NamedTuple):
    """Where a page belongs: its representative, by number (None: itself), its role, and how it compares."""

    label: int | None
    role: int
    verdict: Judged
    equal: int | None
    measured: Measured | None


NEW = Place(None, LEADER | VARIANT, "kept", None, None)


def decide(state: State, page: Page) -> Decision:
    """Give the verdict on a page with a key; the state stays as it is until `apply`.

    O(features found + candidates) and the evidence of each candidate; a version that changes its text costs a removal too
    (`Plan`).
    """
    known = state.find(page.name, page.hashed)
    if known is None:
        return _as_document(state, page, Plan(state), None, None, 0)
    found = _compare(state, known, page)
    if found.again:
        return _as_sighting(state, page, found)
    return _as_document(state, page, Plan(state, [known]), found.change, found.score, found.previous)


def sight(state: State, page: Page, known: int) -> Decision | None:
    """Decide on a version that leaves the live document of its key, and its place, alone; None for another version."""
    found = _compare(state, known, page)
    return _as_sighting(state, page, found) if found.again else None


def look(state: State, page: Page) -> Verdict:
    """Give the verdict on a page that is not kept."""
    plan = Plan(state)
    return _verdict(state, page, place(plan, page), None)


def apply(state: State, decision: Decision, position: int) -> None:
    """Apply a decision to the state. position: of its record in the log, −1 where it is not written yet."""
    state.apply(decision.record, position, decision.page, decision.features)


def place(plan: Plan, page: Page) -> Place:
    """Find where a page belongs that comes after all live documents."""
    leader = leader_of(plan, page)
    if leader is None:
        return among(plan.best(page) if page.valid else None)
    number = leader[0]
    return in_class(page, number, plan.label(number), equal_of(plan, page, *leader), partial(plan.measure, page))


def leader_of(plan: Plan, page: Page) -> tuple[int, Document] | None:
    """Find the leader of the class of a page."""
    return next(iter(plan.of_class(LEADS, page, page.scope)), None)


def among(best: tuple[int, Measured] | None) -> Place:
    """Return the place of a page that begins a class. best: the kept document that it resembles most."""
    if best is None:
        return NEW
    return Place(best[0], LEADER | VARIANT, near(best[1]), None, best[1])


def equal_of(plan: Plan, page: Page, number: int, record: Document) -> int | None:
    """Find the first document with the bytes of a page, in the class of a leader (its number, its record)."""
    if plan.state.is_equal(record, page):
        return number
    return next((each for each, _ in plan.of_class(VARIES, page, page.scope)), None)


def in_class(page: Page, leader: int, label: int, equal: int | None, measure: Callable[[int], Measured]) -> Place:
    """Return the place of a page in a class. label: of its leader; equal: as `equal_of`; measure: against a document."""
    role = VARIANT if equal is None else 0
    if label != leader:
        measured = measure(label)
        return Place(label, role, near(measured), equal, measured)
    return Place(label, role, "identical" if equal == leader else "lexical", equal, WHOLE if page.valid else None)


def flags_of(state: State, valid: bool, text: Text) -> int:
    """Return the flags of the record of a page, without its role. Digests are stored where no text is kept."""
    digested = state.evidence.kind != "text" or not valid
    return (VALID if valid else 0) | (STR if isinstance(text, str) else 0) | (DIGESTED if digested else 0)


def near(measured: Measured) -> Judged:
    """Name the class of a page that differs from its representative."""
    return "shingle" if measured.resemblance == 1.0 else "near"


def _compare(state: State, known: int, page: Page) -> VersionComparison:
    """Compare a page with the last version of its key."""
    last, document = state.last(known), state.document(known)
    previous = state.columns.get("last", known)
    both = document.valid and page.valid
    if state.whole(last) == page.whole and document.valid == page.valid:
        return VersionComparison(last, document, "unchanged", 1.0 if both else None, previous)
    if not both:
        return VersionComparison(last, document, "other", None, previous)
    agree = state.scope(document) == page.scope
    if agree and state.is_class(document, page):
        return VersionComparison(last, document, "lexical", 1.0, previous)
    measured = state.evidence.measure(page, document.number, document.evidence)
    change: Change = "near" if agree and measured.near else "other"
    return VersionComparison(last, document, change, measured.resemblance, previous)


def _as_document(
    state: State, page: Page, plan: Plan, change: Change | None, score: float | None, previous: int
) -> Decision:
    """Decide on a page that becomes a document, at the end of the order."""
    found = place(plan, page)
    number = state.n
    flags = found.role | flags_of(state, page.valid, page.text) | (DIGESTED if page.revised else 0)
    changes = plan.changes if plan.removed else Changes()
    last = Version(page.date, change, score) if change or not page.past else page.past[-1]
    record = Document(
        number, number if found.label is None else found.label, flags, found.verdict, last.change, page.date,
        page.whole if flags & DIGESTED else b"", page.tokens if flags & DIGESTED else b"", page.name, previous,
        last.resemblance, changes, () if change else page.past[:-1], state.evidence.pack(page),
    )
    return Decision(_verdict(state, page, found, change), record, page, plan.features)


def _as_sighting(state: State, page: Page, found: VersionComparison) -> Decision:
    """Decide on a version that leaves the live document and its place alone."""
    last, document, change = found.last, found.document, found.change
    origin = last.origin if isinstance(last, Sighting) else found.previous
    lexical = change == "lexical" and state.evidence.kind == "text"
    record = Sighting(document.number, origin, VALID if page.valid else 0, change, page.date, page.whole, found.previous,
                      found.score, state.evidence.pack(page) if lexical else b"")
    return Decision(_verdict(state, page, _place_of(state, document, page), change), record, page, {})


def _place_of(state: State, document: Document, page: Page) -> Place:
    """Return where a live document stands now; the page has its tokens."""
    number = document.number
    label = state.columns.get("label", number)
    role = state.role(number)
    equal = None
    if not role & VARIANT:
        plan = Plan(state)
        holders = [*plan.of_class(LEADS, page, page.scope), *plan.of_class(VARIES, document, page.scope)]
        equal = next((each for each, record in holders if state.is_equal(record, document)), None)
    if label == number:
        return Place(None, role, "kept", equal, None)
    head = state.document(label)
    if state.is_equal(head, document):
        return Place(label, role, "identical", equal, WHOLE if page.valid else None)
    if head.valid and state.is_class(head, document):
        return Place(label, role, "lexical", equal, WHOLE)
    measured = state.evidence.measure(page, label, head.evidence)
    return Place(label, role, near(measured), equal, measured)


def _verdict(state: State, page: Page, found: Place, change: Change | None) -> Verdict:
    """Make the verdict of a place."""
    resemblance, contained, containing = (None, None, None) if found.measured is None else found.measured[:3]
    return Verdict(
        page.key, found.verdict, key_of(state, found.label), key_of(state, found.equal), resemblance, contained, containing,
        change, page.date, state.evidence.exact,
    )


def key_of(state: State, number: int | None) -> Key | None:
    """Return the key of a document."""
    return None if number is None else decoded(state.document(number).name)
