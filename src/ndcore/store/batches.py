"""Decide on many pages at once: what the indexes say of all of them first, then a short pass in their order.

A page is *plain* where the indexes know neither its key nor its tokens, and no earlier page of the batch has them. Its place
follows from the kept documents and the earlier pages of the batch that share features with it. Other pages are decided one
by one (`engine.decide`), and after one that makes an earlier document leave, all are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ndcore._types import Bools, Ints, UInts
from ndcore.store import engine
from ndcore.store.engine import Decision
from ndcore.store.evidence import Measured
from ndcore.store.labels import Plan
from ndcore.store.pages import Page
from ndcore.store.records import DIGESTED, LEADER, VARIANT, Document
from ndcore.store.state import LEADS, State
from ndcore.store.verdict import Key, Verdict

__all__ = ["Batch"]

CROWDED = 1 << 16  # pairs with a feature in common in a batch; with more, its pages are decided one by one


class Batch:
    """Pages that are decided together.

    write: writes decisions, in their order, to the log, and tells the state where they are.
    """

    def __init__(self, state: State, pages: Sequence[Page], write: Callable[[list[Decision]], None]) -> None:
        self.state, self.pages, self.write = state, pages, write
        self.plan = Plan(state)
        self._numbers: list[int | None] = [None] * len(pages)  # of pages that are kept
        self._run: list[Decision] = []  # plain pages that the state does not know yet
        self._waiting: list[Decision] = []
        self._keys: set[bytes] = set()  # of pages that wait
        self._search()

    def decide(self) -> list[Verdict]:
        """Decide on all pages, in their order."""
        verdicts = []
        for i, page in enumerate(self.pages):
            decision = self._decide_plainly(i, page) if self._plain[i] else self._decide_alone(i, page)
            verdicts.append(decision.verdict)
        self._apply_run()
        self.write(self._waiting)
        return verdicts

    def _search(self) -> None:
        """Ask the indexes about all pages."""
        state, pages = self.state, self.pages
        hashed = np.array([page.hashed for page in pages], np.uint64)
        leads = np.array([state.value(LEADS, page, page.scope) for page in pages], np.uint64)
        self._hashed, self._features = hashed, np.stack([page.features for page in pages])
        plain = np.array([not page.past for page in pages])
        for index, values in ((state.indexes.keys, hashed), (state.indexes.digests, leads)):
            ends, _ = index.search_many(values[:, None], 1, state.live.bits, 1)
            plain &= np.diff(ends) == 0
            plain[_repeated(values)] = False
        self._ends: Ints
        self._found: Ints
        self._ends, self._found = state.indexes.features.search_many(
            self._features, state.settings.need, state.kept.bits, 1)
        earlier = _sharing(self._features, np.array([page.valid for page in pages]), state.settings.need)
        self._plain: list[bool] = plain.tolist() if earlier is not None else [False] * len(pages)
        self._earlier = earlier or {}

    def _decide_plainly(self, i: int, page: Page) -> Decision:
        """Decide on a plain page."""
        state = self.state
        number = state.n + len(self._run)
        best = self._best(i, page) if page.valid else None
        label, key, measured = (number, None, None) if best is None else best
        verdict = "kept" if measured is None else engine.near(measured)
        flags = LEADER | VARIANT | engine.flags_of(state, page)
        whole, tokens = (page.whole, page.tokens) if flags & DIGESTED else (b"", b"")
        record = Document(number, label, flags, verdict, None, page.date, whole, tokens, page.name,
                          evidence=state.evidence.pack(page))
        resemblance, contained, containing = (None, None, None) if measured is None else measured
        decision = Decision(Verdict(page.key, verdict, key, None, resemblance, contained, containing, None, page.date,
                                    state.evidence.exact), record, page, {})
        if best is None:
            self._numbers[i] = number
        self._run.append(decision)
        return decision

    def _best(self, i: int, page: Page) -> tuple[int, Key | None, Measured] | None:
        """Find the kept document that a page resembles most: before the batch, or in it. (Number, key, measures.)"""
        best: tuple[int, Key | None, Measured] | None = None
        threshold = self.state.settings.threshold
        for number in self._found[self._ends[i] : self._ends[i + 1]].tolist():
            measured = self.plan.measure(page, number)
            if measured.resemblance >= threshold and (best is None or measured.resemblance > best[2].resemblance):
                best = number, None, measured
        if best is not None:
            best = best[0], engine.key_of(self.state, best[0]), best[2]
        for j in self._earlier.get(i, ()):
            kept = self._numbers[j]
            if kept is not None:
                measured = self.state.evidence.measure_pages(page, self.pages[j])
                if measured.resemblance >= threshold and (best is None or measured.resemblance > best[2].resemblance):
                    best = kept, self.pages[j].key, measured
        return best

    def _decide_alone(self, i: int, page: Page) -> Decision:
        """Decide on a page that the indexes may know."""
        self._apply_run()
        if page.name in self._keys:  # its last version must be in the log
            self.write(self._waiting)
            self._keys.clear()
        decision = engine.decide(self.state, page)
        engine.apply(self.state, decision, -1)
        self._keys.add(page.name)
        self._waiting.append(decision)
        record = decision.record
        if isinstance(record, Document):
            if record.label == record.number:
                self._numbers[i] = record.number
            if record.changes:
                self._plain = [False] * len(self.pages)
        return decision

    def _apply_run(self) -> None:
        """Apply the plain pages that were decided."""
        run, self._run = self._run, []
        if not run:
            return
        records = [decision.record for decision in run if isinstance(decision.record, Document)]
        pages = [decision.page for decision in run]
        self.state.add_many(records, None, np.array([page.hashed for page in pages], np.uint64),
                            np.stack([page.features for page in pages]), [page.row_hash for page in pages])
        self._keys.update(page.name for page in pages)
        self._waiting += run


def _repeated(values: UInts) -> Ints:
    """Return the positions of values that stand at an earlier position too."""
    first = np.unique(values, return_index=True)[1]
    repeated = np.ones(len(values), np.bool_)
    repeated[first] = False
    return np.flatnonzero(repeated)


def _sharing(features: UInts, valid: Bools, need: int) -> dict[int, list[int]] | None:
    """Find for each row the earlier rows that share at least `need` features, ascending; None where there are too many."""
    n, groups = features.shape
    values = features.ravel()
    order = np.argsort(values, kind="stable")
    values, owner = values[order], order // groups
    codes, size, step = [], 0, 1
    while True:
        same = np.flatnonzero(values[step:] == values[:-step])
        if not len(same):
            break
        a, b = owner[same], owner[same + step]
        a, b = np.minimum(a, b), np.maximum(a, b)
        chosen = valid[a] & valid[b] & (a != b)
        codes.append((b * n + a)[chosen])
        size, step = size + len(same), step + 1
        if size > CROWDED:
            return None
    found: dict[int, list[int]] = {}
    if codes:
        pairs, counts = np.unique(np.concatenate(codes), return_counts=True)
        for code in pairs[counts >= need].tolist():
            found.setdefault(code // n, []).append(code % n)
    return found
