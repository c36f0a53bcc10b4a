"""Decide on pages: from a prepared page and the state to a verdict and the record that acknowledges it."""

from __future__ import annotations

from typing import NamedTuple

from ndcore._types import UInts
from ndcore.store.evidence import Measured
from ndcore.store.keys import decoded
from ndcore.store.labels import Plan
from ndcore.store.pages import Page
from ndcore.store.records import DIGESTED, LEADER, STR, VALID, VARIANT, Changes, Document, Sighting
from ndcore.store.state import LEADS, VARIES, State
from ndcore.store.verdict import Key, Verdict, Version

__all__ = ["Decision", "apply", "decide", "flags_of", "key_of", "look", "near"]

WHOLE = Measured(1.0, 1.0, 1.0)


class Decision(NamedTuple):
    """A verdict, the record that acknowledges it, and what applying the record needs."""

    verdict: Verdict
    record: Document | Sighting
    page: Page
    features: dict[int, UInts]


class Place(NamedTuple):
    """Where a page belongs: its representative, by number (None: itself), its role, and how it compares."""

    label: int | None
    role: int
    verdict: str
    equal: int | None
    measured: Measured | None


def decide(state: State, page: Page) -> Decision:
    """Give the verdict on a page with a key; the state stays as it is until `apply`.

    O(features found + candidates) and the evidence of each candidate; a version that changes its text costs a removal too
    (`Plan`).
    """
    known = state.find(page.name, page.hashed)
    if known is None:
        return _as_document(state, page, Plan(state), None, None, 0)
    last, document = state.last(known), state.document(known)
    change, score = _compare(state, last, document, page)
    previous = state.columns.get("last", known)
    if change in ("unchanged", "lexical"):
        return _as_sighting(state, page, last, document, change, score, previous)
    return _as_document(state, page, Plan(state, [known]), change, score, previous)


def look(state: State, page: Page) -> Verdict:
    """Give the verdict on a page that is not kept."""
    plan = Plan(state)
    return _verdict(state, page, place(plan, page), None)


def apply(state: State, decision: Decision, position: int) -> None:
    """Apply a decision to the state. position: of its record in the log, −1 where it is not written yet."""
    state.apply(decision.record, position, decision.page, decision.features)


def place(plan: Plan, page: Page) -> Place:
    """Find where a page belongs that comes after all live documents."""
    leader = next(iter(plan.of_class(LEADS, page, page.scope)), None)
    if leader is None:
        best = plan.best(page) if page.valid else None
        if best is None:
            return Place(None, LEADER | VARIANT, "kept", None, None)
        return Place(best[0], LEADER | VARIANT, near(best[1]), None, best[1])
    number, record = leader
    if plan.state.is_equal(record, page):
        equal: int | None = number
    else:
        equal = next((each for each, _ in plan.of_class(VARIES, page, page.scope)), None)
    label = plan.label(number)
    if label == number:
        verdict, measured = "identical" if equal == number else "lexical", WHOLE if page.valid else None
    else:
        measured = plan.measure(page, label)
        verdict = near(measured)
    return Place(label, 0 if equal is not None else VARIANT, verdict, equal, measured)


def flags_of(state: State, page: Page) -> int:
    """Return the flags of the record of a page, without its role. Digests are stored where no text is kept."""
    digested = state.evidence.kind != "text" or not page.valid
    return (VALID if page.valid else 0) | (STR if isinstance(page.text, str) else 0) | (DIGESTED if digested else 0)


def near(measured: Measured) -> str:
    """Name the class of a page that differs from its representative."""
    return "shingle" if measured.resemblance == 1.0 else "near"


def _compare(state: State, last: Document | Sighting, document: Document, page: Page) -> tuple[str, float | None]:
    """Compare a page with the last version of its key: the change, and the resemblance."""
    both = document.valid and page.valid
    before = last.whole if isinstance(last, Sighting) else state.whole(document)
    if before == page.whole and document.valid == page.valid:
        return "unchanged", 1.0 if both else None
    if both and state.is_class(document, page):
        return "lexical", 1.0
    if not both:
        return "other", None
    score = state.evidence.measure(page, document.number, document.evidence).resemblance
    return "near" if score >= state.settings.threshold else "other", score


def _as_document(
    state: State, page: Page, plan: Plan, change: str | None, score: float | None, previous: int
) -> Decision:
    """Decide on a page that becomes a document, at the end of the order."""
    found = place(plan, page)
    number = state.n
    flags = found.role | flags_of(state, page)
    changes = plan.changes if plan.removed else Changes()
    last = Version(page.date, change, score) if change or not page.past else page.past[-1]
    record = Document(
        number, number if found.label is None else found.label, flags, found.verdict, last.change, page.date,
        page.whole if flags & DIGESTED else b"", page.tokens if flags & DIGESTED else b"", page.name, previous,
        last.resemblance, changes, () if change else page.past[:-1], state.evidence.pack(page),
    )
    return Decision(_verdict(state, page, found, change), record, page, plan.features)


def _as_sighting(
    state: State, page: Page, last: Document | Sighting, document: Document, change: str, score: float | None, previous: int
) -> Decision:
    """Decide on a version that leaves the live document and its place alone."""
    origin = last.origin if isinstance(last, Sighting) else previous
    record = Sighting(document.number, origin, VALID if page.valid else 0, change, page.date, page.whole, previous, score,
                      state.evidence.pack(page) if change == "lexical" and state.evidence.kind == "text" else b"")
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


def _verdict(state: State, page: Page, found: Place, change: str | None) -> Verdict:
    """Make the verdict of a place."""
    resemblance, contained, containing = (None, None, None) if found.measured is None else found.measured
    return Verdict(
        page.key, found.verdict, key_of(state, found.label), key_of(state, found.equal), resemblance, contained, containing,
        change, page.date, state.evidence.exact,
    )


def key_of(state: State, number: int | None) -> Key | None:
    """Return the key of a document."""
    return None if number is None else decoded(state.document(number).name)
