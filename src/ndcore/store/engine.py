"""Decide on pages: from prepared pages and the state to verdicts and the records that acknowledge them.

Pages are decided in batches; a single page is a batch of one. The steps are the same for each page: its key, its class, the
kept documents that may resemble it, their scores, its place (`Plan.place`), its record (`decide`).

Several pages are searched for together, and those with new keys are added to the state together (`BatchPlan`). A version
with the same words as the last one does not affect other documents. Any other version, a page with the key of an earlier
page of the batch, and a single page are decided only when all earlier pages are in the state. Making arrays of a single
page and searching for it ahead would more than double the time of its decision (580 instead of 240 µs).
"""

from __future__ import annotations

from typing import NamedTuple

from ndcore._types import Text, UInts
from ndcore.store.batches import ALONE, NEW, BatchPlan
from ndcore.store.labels import KEPT, LabelPlace, Plan
from ndcore.store.pages import Page, Pages
from ndcore.store.receipts import Receipt, encode_verdict, wrap
from ndcore.store.records import DIGESTED, GONE, STR, VALID, Document, Sighting, encode, encode_new
from ndcore.store.state import State
from ndcore.store.verdict import Key, Verdict, Version
from ndcore.store.version_change import judge_change


class Decision(NamedTuple):
    """A verdict, the record that acknowledges it, and the values that are needed to apply the record."""

    verdict: Verdict
    record: Document | Sighting
    page: Page
    features: dict[int, UInts]


class VersionComparison(NamedTuple):
    """The comparison of a page with the last version of its key: both records, and the position of the last one."""

    version: Version
    last: Document | Sighting
    document: Document
    previous: int

    @property
    def again(self) -> bool:
        """Whether the version has the same text as the last one."""
        return self.version.change in ("unchanged", "lexical")


# ---- one page


def decide(state: State, page: Page) -> Decision:
    """Give the verdict on a page with a key, without changing the state.

    O(features found + candidates), and the evidence of each candidate is read; a version with a changed text also costs a
    removal (`Plan`).
    """
    known = state.find(page.name, page.hashed)
    if known is None:
        return _decide_document(Plan(state), page, None)
    compared = _compare(state, known, page)
    if compared.again:
        return _decide_sighting(Plan(state), page, compared)
    return _decide_document(Plan(state, [known]), page, compared)


def hold(state: State, page: Page) -> Verdict:
    """Decide on a page in a state that is only in memory."""
    decision = decide(state, page)
    state.apply(decision.record, -1, page, decision.features)
    return decision.verdict


def gone_record(state: State, number: int, date: int) -> Sighting | None:
    """Make the record that the page of a live document is gone; None if that is recorded already."""
    if state.columns.get("flags", number) & GONE:
        return None
    last, previous = state.last(number), state.columns.get("last", number)
    origin = last.origin if isinstance(last, Sighting) else previous
    return Sighting(number, origin, last.flags & VALID, Version(date, "gone", None), state.whole(last), previous)


def look(state: State, page: Page) -> Verdict:
    """Give the verdict on a page without keeping it."""
    plan = Plan(state)
    return _verdict(plan, page.key, page.version(), plan.place(page))


def _flags_of(state: State, valid: bool, text: Text) -> int:
    """Return the flags of the record of a page, without its role. Digests are stored if no text is kept."""
    digested = state.evidence.kind != "text" or not valid
    return (VALID if valid else 0) | (STR if isinstance(text, str) else 0) | (DIGESTED if digested else 0)


def _compare(state: State, known: int, page: Page) -> VersionComparison:
    """Compare a page with the last version of its key."""
    last, document = state.last(known), state.document(known)

    def agree() -> bool:  # a function, because it may read the text of the document
        return state.scope(document) == page.scope

    def measure() -> tuple[float, bool]:
        measured = state.evidence.measure(page, document.number, document.evidence)
        return measured.resemblance, measured.near and agree()

    change = judge_change(same=state.whole(last) == page.whole and document.valid == page.valid,
                          both=document.valid and page.valid,
                          words=lambda: agree() and state.is_class(document, page), measure=measure)
    version = page.version(*change)
    return VersionComparison(version, last, document, state.columns.get("last", known))


def _decide_document(plan: Plan, page: Page, last: VersionComparison | None) -> Decision:
    """Decide on a page that becomes the last document. last: the last version of its key; None: a new key."""
    place, state, number = plan.place(page), plan.state, plan.state.n
    flags = place.role | _flags_of(state, page.valid, page.text) | (DIGESTED if page.revised else 0)
    version, previous = (page.version(), 0) if last is None else (last.version, last.previous)
    past = page.past if last is None else ()
    digested = bool(flags & DIGESTED)
    record = Document(
        number=number, label=number if place.label is None else place.label, flags=flags, verdict=place.verdict,
        version=past[-1] if past else version, previous=previous, history=past[:-1],
        whole=page.whole if digested else b"", tokens=page.tokens if digested else b"", name=page.name,
        changes=plan.changes, evidence=state.evidence.pack(page),
    )
    return Decision(_verdict(plan, page.key, version, place), record, page, plan.features)


def _decide_sighting(plan: Plan, page: Page, compared: VersionComparison) -> Decision:
    """Decide on a version that does not change the place of the live document."""
    version, last, document, previous = compared
    origin = last.origin if isinstance(last, Sighting) else previous
    lexical = version.change == "lexical" and plan.state.evidence.kind == "text"
    record = Sighting(document.number, origin, VALID if page.valid else 0, version, page.whole, previous,
                      plan.state.evidence.pack(page) if lexical else b"")
    return Decision(_verdict(plan, page.key, version, plan.place_of(document, page)), record, page, {})


def _verdict(plan: Plan, key: Key | None, version: Version, place: LabelPlace) -> Verdict:
    """Make the verdict from the comparison with the last version and the place of the page."""
    of = None if place.label is None else plan.key_of(place.label)
    equal = None if place.equal is None else plan.key_of(place.equal)
    resemblance, contained, containing = (None, None, None) if place.measured is None else place.measured[:3]
    exact = plan.state.evidence.exact
    return Verdict(key, place.verdict, of, equal, resemblance, contained, containing, version.change, version.date, exact)


# ---- many pages


class Batch:
    """Pages that are decided together, at least one.

    Attributes
    ----------
    changed : bool
        Whether the state or its indexes may be half changed after an error.
    positions : list of int
        The positions in the log of the pages' records, in order.
    measured : list of int
        The number of documents with which each page was compared.
    """

    def __init__(self, state: State, pages: Pages) -> None:
        self._state, self._pages, self.changed = state, pages, False
        self.positions: list[int] = []
        self.measured: list[int] = []
        self._records: list[tuple[int, bytes]] = []  # waiting to be written: numbers of documents, records as bytes
        self._receipts: list[tuple[int, Receipt]] = []  # the receipts of these records

    def decide(self) -> list[Verdict]:
        """Decide on all pages in order, and write the records that acknowledge them."""
        state, pages = self._state, self._pages
        before = state.evidence.measured
        if len(pages) == 1:
            decision = decide(state, pages[0])
            self.measured = [state.evidence.measured - before]
            decision.record.receipt = self._receipt(0, decision.verdict)
            position = state.log.append([encode(decision.record)])[0]  # faster: takes half the time of `State.write`
            self.changed, self.positions = True, [position]
            state.apply(decision.record, position, decision.page, decision.features)
            return [decision.verdict]
        self.changed = True
        plan = BatchPlan(state, pages)
        verdicts = []
        for i, way in enumerate(plan.ways):
            verdict = self._decide(plan, i, way)
            verdicts.append(verdict)
            self.measured.append(state.evidence.measured - before)
            before = state.evidence.measured
            if (receipt := self._receipt(i, verdict)) is not None:
                number, payload = self._records[-1]
                self._records[-1] = number, wrap(receipt, payload)
                self._receipts.append((number, receipt))
        plan.apply_run()
        self._write()
        return verdicts

    def _decide(self, plan: BatchPlan, i: int, way: int) -> Verdict:
        """Decide on one page of several."""
        state = self._state
        if way == NEW and not plan.promoted:
            return self._add(plan, i, KEPT)
        page, decision = self._pages[i], None
        if way != ALONE:
            known = state.find(page.name, page.hashed) if plan.key_known[i] else None
            if known is None:
                return self._add(plan, i, plan.before(i).place(page))
            compared = _compare(state, known, page)
            decision = _decide_sighting(Plan(state), page, compared) if compared.again else None
        if decision is None:
            plan.apply_run()
            if plan.again[i]:  # the last version of its key must be in the log
                self._write()
            decision = decide(state, page)
        record = decision.record
        state.apply(record, -1, page, decision.features)
        self._records.append((record.number, encode(record)))
        if isinstance(record, Document):
            plan.know(i, record, decision.features)
        return decision.verdict

    def _add(self, plan: BatchPlan, i: int, place: LabelPlace) -> Verdict:
        """Add a page that becomes a document to the run."""
        state, pages, number = self._state, self._pages, plan.end
        label = number if place.label is None else place.label
        flags = place.role | _flags_of(state, pages.valid[i], pages.texts[i])
        packed = pages.packed[i] if pages.codec is state.evidence.codec else None
        digests = pages[i].whole + pages[i].tokens if flags & DIGESTED else b""
        version = pages.version(i)
        payload = encode_new(number, label, flags, place.verdict, version, digests, pages.names[i], b"",
                             state.evidence.pack(pages[i]) if packed is None else packed)
        plan.add(i, number, label, flags, payload)
        self._records.append((number, payload))
        return _verdict(plan, pages.keys[i], version, place)

    def _receipt(self, i: int, verdict: Verdict) -> Receipt | None:
        """Return the receipt of a page with its answer; None if its request has no idempotency key."""
        receipt = self._pages.receipts[i] if self._pages.receipts else None
        return None if receipt is None else receipt.answered(encode_verdict(verdict))

    def _write(self) -> None:
        """Write the waiting records to the log."""
        if self._records:
            self._state.index_receipts(self._receipts, self._state.log.end)
            self.positions += self._state.write(self._records)
            self._records, self._receipts = [], []
