"""Decide on many pages at once: what the indexes say of all of them first, then a short pass in their order.

Most pages have a key that the store does not know. Their places follow from the documents that the indexes name, and from
the earlier pages of the batch that share features with them. So they are decided without a change of the state, which gets
them together, in a *run*. A version that says what the last one said leaves the run alone too. Any other version, and a page
with the key of an earlier one of the batch, is decided alone, behind the run.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ndcore._candidates import Bitmaps
from ndcore._types import Ints, UInts
from ndcore.store import engine
from ndcore.store.engine import Place
from ndcore.store.evidence import Measured
from ndcore.store.labels import Plan
from ndcore.store.pages import Page, Pages
from ndcore.store.record_reader import FEW
from ndcore.store.records import DIGESTED, LEADER, Document, encode, encode_new
from ndcore.store.state import LEADS, LEADS_TOO, Added, State, kinds, mixed, repeated, shared
from ndcore.store.verdict import Key, Verdict

__all__ = ["Batch"]

SEARCHED = 32  # pages that are searched for together: thousands of documents may be found for each
PLAIN, KNOWN, ALONE = range(3)  # key and class are new; one may be known; the state must have all pages before


class Run:
    """Documents that were decided on, and that the state does not know yet."""

    def __init__(self) -> None:
        self.pages: list[int] = []  # positions in the batch
        self.labels: list[int] = []
        self.flags: list[int] = []
        self.payloads: list[bytes] = []
        self.followers: list[tuple[int, int]] = []  # (number, value to find it by) of documents that lead no class
        self.classes: dict[int, list[int]] = {}  # positions in the batch, by the value that finds the leader of a class

    def __len__(self) -> int:
        return len(self.pages)


class Batch:
    """Pages that are decided on together."""

    def __init__(self, state: State, pages: Pages) -> None:
        self.state, self.pages = state, pages
        self._plan, self._run = Plan(state), Run()
        self._documents: list[int | None] = [None] * len(pages)  # their numbers
        self._promoted: dict[int, UInts] = {}  # documents that became kept as others left, and their features
        self._numbers: list[int] = []  # of documents whose records wait
        self._payloads: list[bytes] = []  # these records
        self._flags = [engine.flags_of(state, *each) for each in zip(pages.valid.tolist(), pages.texts, strict=True)]
        self._search()

    def decide(self) -> list[Verdict]:
        """Decide on all pages, in their order."""
        ways = self._decide_plainly, self._decide_known, self._decide_alone
        verdicts = [ways[self._ways[i]](i) for i in range(len(self.pages))]
        self._apply_run()
        self._flush()
        return verdicts

    def _search(self) -> None:
        """Ask the indexes about all pages."""
        state, pages = self.state, self.pages
        self._leads = pages.row_hashes ^ np.uint64(mixed(LEADS, 0, True, 0)) ^ pages.scopes
        for i in np.flatnonzero(~pages.valid).tolist():
            self._leads[i] = state.value(LEADS, pages[i], pages[i].scope)
        self._key_known, self._class_known = (
            np.diff(index.search_many(values[:, None], 1, wanted, 1)[0]) > 0
            for index, values, wanted in ((state.indexes.keys, pages.hashed, state.live.bits),
                                          (state.indexes.digests, self._leads, None)))
        self._again = repeated(pages.hashed)  # pages with the key of an earlier one
        self._repeated = repeated(self._leads)  # pages with the signature of an earlier one
        ways = np.where(self._key_known | self._class_known | self._repeated, KNOWN, PLAIN)
        ways[self._again | pages.carried] = ALONE
        self._ways: list[int] = ways.tolist()
        self._search_kept()
        self._search_batch()
        self._compared = np.diff(self._ends) > 0
        self._compared[list(self._earlier)] = True
        self._compared &= pages.valid & (ways == PLAIN)
        self._prepare(np.flatnonzero(self._compared).tolist())

    def _search_kept(self) -> None:
        """Find for each page the documents before the batch that share features with it and may reach the threshold."""
        state, pages, found, sizes = self.state, self.pages, [], []
        for start in range(0, len(pages), SEARCHED):
            ends, documents = state.indexes.features.search_many(
                pages.features[start : start + SEARCHED], state.settings.need, state.kept.bits, 1)
            crowded = np.flatnonzero((np.diff(ends) > FEW) & pages.valid[start : start + SEARCHED]).tolist()
            rows = [documents]
            if crowded:
                rows = np.split(documents, ends[1:-1])
                state.evidence.prepare((pages[start + i] for i in crowded), [])
                for i in crowded:
                    rows[i] = state.near(pages[start + i], rows[i])
                ends = np.cumsum([0, *map(len, rows)])
            sizes.append(np.diff(ends))
            found += rows
        self._ends: Ints = np.concatenate([np.zeros(1, np.int64), *sizes]).cumsum()
        self._found: Ints = np.concatenate(found)

    def _search_batch(self) -> None:
        """Find for each page the earlier ones of the batch that share features with it and may reach the threshold."""
        settings, pages = self.state.settings, self.pages
        a, b = _sharing(pages.features, np.flatnonzero(pages.valid & ~self._repeated), settings.need)
        if len(a) > len(pages) and self.state.evidence.exact:
            rows, ends = np.unique(np.concatenate([a, b]), return_inverse=True)
            self.state.evidence.prepare((pages[i] for i in rows.tolist()), [])
            sets = [pages[i].shingles for i in rows.tolist()]
            offsets = np.cumsum([0, *map(len, sets)])
            bitmaps, documents = Bitmaps(np.diff(offsets).astype(np.uint32), False), ends.astype(np.uint32)
            bitmaps.add(np.arange(len(rows), dtype=np.uint32), np.concatenate(sets), offsets)
            near = bitmaps.near(documents[: len(a)], documents[len(a) :], settings.threshold).view(np.bool_)
            a, b = a[near], b[near]
        self._earlier: dict[int, list[int]] = {}
        for first, second in zip(a.tolist(), b.tolist(), strict=True):
            self._earlier.setdefault(second, []).append(first)

    def _prepare(self, compared: list[int]) -> None:
        """Make the shingle sets that the measures of some pages need."""
        evidence, pages = self.state.evidence, self.pages
        wanted = {*compared, *(j for i in compared for j in self._earlier.get(i, ()))}
        numbers = {number for i in compared for number in self._candidates(i) if not evidence.cached(number)}
        evidence.prepare((pages[i] for i in sorted(wanted)),
                         ((number, self.state.document(number).evidence) for number in sorted(numbers)))

    def _candidates(self, i: int) -> list[int]:
        """Return the documents before the batch that a page may resemble and that were kept, ascending."""
        found: list[int] = self._found[self._ends[i] : self._ends[i + 1]].tolist()
        return found

    # ---- one page

    def _decide_plainly(self, i: int) -> Verdict:
        """Decide on a page whose key and class are new."""
        if self._compared[i] or self._promoted:
            return self._add(i, engine.among(self._best(i)))
        return self._add(i, engine.NEW)

    def _decide_known(self, i: int) -> Verdict:
        """Decide on a page whose key the indexes know, or whose class they or the batch know."""
        state, page = self.state, self.pages[i]
        known = state.find(page.name, page.hashed) if self._key_known[i] else None
        if known is None:
            found = self._in_class(i, page)
            if found is not None:
                return self._add(i, found)
            return self._decide_alone(i) if self._repeated[i] else self._add(i, engine.among(self._best(i)))
        decision = engine.sight(state, page, known)
        if decision is None:
            return self._decide_alone(i)
        engine.apply(state, decision, -1)
        self._note(known, encode(decision.record))
        return decision.verdict

    def _in_class(self, i: int, page: Page) -> Place | None:
        """Find the place of a page with a new key in a class that the state or the run knows."""
        state, plan, lead = self.state, self._plan, int(self._leads[i])
        members = [j for j in self._run.classes.get(lead, ())
                   if self.pages[j].scope == page.scope and state.is_class(self.pages[j], page)]
        leader = engine.leader_of(plan, page) if self._class_known[i] else None
        if leader is not None:
            number, label, equal = leader[0], plan.label(leader[0]), engine.equal_of(plan, page, *leader)
        elif members:
            number, equal = self._number_of(members[0]), None
            label = self._run.labels[number - state.n]
        else:
            return None
        if equal is None:
            equal = next((self._number_of(j) for j in members if state.is_equal(self.pages[j], page)), None)
        return engine.in_class(page, number, label, equal, partial(self._measure, page))

    def _number_of(self, i: int) -> int:
        """Return the number of a page that became a document."""
        number = self._documents[i]
        assert number is not None
        return number

    def _measure(self, page: Page, number: int) -> Measured:
        """Measure a page against a document, of the state or of the run."""
        at = number - self.state.n
        if at < 0:
            return self._plan.measure(page, number)
        return self.state.evidence.measure_pages(page, self.pages[self._run.pages[at]])

    def _decide_alone(self, i: int) -> Verdict:
        """Decide on a page when the state knows all pages before it."""
        page = self.pages[i]
        self._apply_run()
        if self._again[i]:  # its last version must be in the log
            self._flush()
        decision = engine.decide(self.state, page)
        record = decision.record
        engine.apply(self.state, decision, -1)
        self._note(record.number, encode(record))
        if isinstance(record, Document):
            self._documents[i] = record.number
            self._promoted.update((number, decision.features[number]) for number, label, _ in record.changes.changed
                                  if number == label and number in decision.features)
            if self._repeated[i] and record.label == record.number:  # a kept page that `_earlier` does not have
                self._ways = [ALONE] * len(self._ways)
        return decision.verdict

    def _best(self, i: int) -> tuple[int, Measured] | None:
        """Find the kept document that a page resembles most: before the batch, or in it; of several, the first."""
        state, page = self.state, self.pages[i]
        if not page.valid:
            return None
        need, best = state.settings.need, None
        mates = {self._documents[j]: self.pages[j] for j in self._earlier.get(i, ())}
        promoted = (number for number, row in self._promoted.items() if shared(row, page.features) >= need)
        for number in sorted(number for number in {*self._candidates(i), *promoted, *mates} if number is not None):
            if not self._is_kept(number):
                continue
            mate = mates.get(number)
            found = self._plan.near(page, number) if mate is None else state.evidence.measure_pages(page, mate)
            if found is not None and found.near and (best is None or found.resemblance > best[1].resemblance):
                best = number, found
        return best

    def _is_kept(self, number: int) -> bool:
        """Tell whether a document, of the state or of the run, is kept now."""
        at = number - self.state.n
        return self._run.labels[at] == number if at >= 0 else number in self.state.kept

    def _key_of(self, number: int | None) -> Key | None:
        """Return the key of a document, of the state or of the run."""
        at = -1 if number is None else number - self.state.n
        return self.pages.keys[self._run.pages[at]] if at >= 0 else engine.key_of(self.state, number)

    # ---- what the state does not know yet

    def _add(self, i: int, place: Place) -> Verdict:
        """Add a page that becomes a document to the run."""
        state, pages, run = self.state, self.pages, self._run
        number = state.n + len(run)
        label, flags = number if place.label is None else place.label, place.role | self._flags[i]
        packed = pages.packed[i] if pages.codec is state.evidence.codec else None
        digests = pages[i].whole + pages[i].tokens if flags & DIGESTED else b""
        payload = encode_new(number, label, flags, place.verdict, pages.dates[i], digests, pages.names[i], b"",
                             state.evidence.pack(pages[i]) if packed is None else packed)
        of, equal = (None, None) if place.label is None else (self._key_of(place.label), self._key_of(place.equal))
        resemblance, contained, containing = (None, None, None) if place.measured is None else place.measured[:3]
        if label == number and pages.is_crowded(i):
            state.evidence.bitmaps.add(number, pages[i].shingles)
        if not place.role & LEADER:
            run.followers += [(number, state.value(kind, pages[i], pages[i].scope)) for kind in kinds(place.role)]
        run.classes.setdefault(int(self._leads[i]), []).append(i)
        run.pages.append(i)
        run.labels.append(label)
        run.flags.append(flags)
        run.payloads.append(payload)
        self._documents[i] = number
        self._note(number, payload)
        return Verdict(pages.keys[i], place.verdict, of, equal, resemblance, contained, containing, None, pages.dates[i],
                       state.evidence.exact)

    def _note(self, number: int, payload: bytes) -> None:
        """Note a record that is to be written."""
        self._numbers.append(number)
        self._payloads.append(payload)

    def _apply_run(self) -> None:
        """Tell the state the documents of the run."""
        state, pages, run, first = self.state, self.pages, self._run, self.state.n
        if not run:
            return
        at, flags = np.array(run.pages), np.array(run.flags, np.uint8)
        leading = np.flatnonzero(flags & LEADER)
        leaders = [pages[i] for i in at[leading].tolist()]
        owners = first + leading
        values = state.leading(self._leads[at[leading]], lambda i: state.value(LEADS_TOO, leaders[i], leaders[i].scope))
        if run.followers:
            owners = np.concatenate([owners, np.array([number for number, _ in run.followers], np.int64)])
            values = np.concatenate([values, np.array([value for _, value in run.followers], np.uint64)])
            order = np.argsort(owners, kind="stable")
            owners, values = owners[order], values[order]
        self._class_known |= self._repeated  # the state may have the classes of the run from now on
        self._run = Run()
        state.waiting.update(enumerate(run.payloads, first))
        state.add_many(Added(first, np.array(run.labels), flags, np.array(pages.dates)[at], pages.hashed[at],
                             pages.features[at], owners, values), None)

    def _flush(self) -> None:
        """Write what waits to the log."""
        if self._payloads:
            self.state.write(self._numbers, self._payloads)
            self._numbers, self._payloads = [], []


def _sharing(features: UInts, rows: Ints, need: int) -> tuple[Ints, Ints]:
    """Find the pairs a < b of some rows, ascending, that share at least `need` features, in the order of b, then a.

    O(rows · groups) where no feature is there twice, else the square of the rows with such features: a batch has hundreds.
    """
    _, ids, times = np.unique(features[rows], return_inverse=True, return_counts=True)
    rows = rows[(times[ids] > 1).reshape(len(rows), features.shape[1]).any(axis=1)]
    shared = np.zeros((len(rows), len(rows)), np.uint16)
    for column in features[rows].T:
        shared += column[:, None] == column
    b, a = np.nonzero(np.tril(shared >= need, -1))
    return rows[a], rows[b]
