"""Plan the decisions on a batch of pages: compare each with the state, and with earlier pages that are not yet in the state.

The indexes are searched for all pages at once. Most pages have a new key: their places follow from the documents that the
indexes return, and from the earlier pages of the batch that share features with them. So they form a *run*, which is
applied to the state at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from ndcore._candidates import Bitmaps
from ndcore._types import Bools, Ints, UInts
from ndcore.store.evidence import FEW, Measured
from ndcore.store.labels import Plan
from ndcore.store.pages import Page, Pages
from ndcore.store.records import Document
from ndcore.store.state import Added, State, count_shared, find_repeated_values
from ndcore.store.verdict import Key

SEARCHED = 32  # pages that are searched for at once: each may have thousands of results
NEW, COMPARED, ALONE = range(3)  # a page that resembles none; may resemble some; needs all earlier pages in the state


class PageRun:
    """Documents of a batch that are decided but not yet in the state."""

    def __init__(self) -> None:
        self.pages: list[int] = []  # positions in the batch
        self.labels: list[int] = []
        self.flags: list[int] = []
        self.payloads: list[bytes] = []
        self.classes: dict[int, list[int]] = {}  # document numbers by the value under which the leader of a class is found

    def __len__(self) -> int:
        return len(self.pages)


class BatchPlan(Plan):
    """The plan for each page of a batch, which takes its earlier pages into account. No document leaves.

    Attributes
    ----------
    pages : Pages
    ways : list of int
        How each page is decided: NEW, COMPARED or ALONE.
    again : bool (n,)
        Whether an earlier page has the same key.
    key_known : bool (n,)
        Whether the state may have the key.
    promoted : dict
        Features, by document number, of kept documents that are not in the indexes.
    """

    def __init__(self, state: State, pages: Pages) -> None:
        super().__init__(state)
        self.pages, self._run, self._at = pages, PageRun(), 0
        self._documents: dict[int, int] = {}  # positions in the batch by the numbers that pages have been given
        self._numbers: dict[int, int] = {}  # these numbers by position
        self.promoted: dict[int, UInts] = {}
        self._search()

    def _search(self) -> None:
        """Search the indexes for all pages at once."""
        state, pages = self.state, self.pages
        self._leads = state.leads(pages.row_hashes, pages.scopes, pages.valid, pages.__getitem__)
        self.key_known, self._class_known = (
            _has_results(index.search_many(values[:, None], 1, wanted)[0])
            for index, values, wanted in ((state.indexes.keys, pages.hashed, state.live.bits),
                                          (state.indexes.digests, self._leads, None)))
        self.again = find_repeated_values(pages.hashed)  # whether an earlier page has the same key
        self._repeated = find_repeated_values(self._leads)  # whether an earlier page has the same signature
        known = self.key_known | self._class_known | self._repeated
        alone = self.again | pages.carried
        self._search_kept()
        self._search_batch()
        compared = _has_results(self._ends)
        compared[list(self._earlier)] = True
        compared &= pages.valid & ~known & ~alone
        self._prepare(np.flatnonzero(compared).tolist())
        ways = np.where(known | compared, COMPARED, NEW)
        ways[alone] = ALONE
        self.ways: list[int] = ways.tolist()

    def _search_kept(self) -> None:
        """Find for each page the documents of the state that share features with it and may reach the threshold."""
        state, pages, near, sizes = self.state, self.pages, [], []
        for start in range(0, len(pages), SEARCHED):
            ends, documents = state.indexes.features.search_many(
                pages.features[start : start + SEARCHED], state.settings.need, state.kept.bits)
            crowded = np.flatnonzero((np.diff(ends) > FEW) & pages.valid[start : start + SEARCHED]).tolist()
            rows = [documents]
            if crowded:
                rows = np.split(documents, ends[1:-1])
                state.evidence.prepare((pages[start + i] for i in crowded), [])
                for i in crowded:
                    rows[i] = state.near(pages[start + i], rows[i])
                ends = np.cumsum([0, *map(len, rows)])
            sizes.append(np.diff(ends))
            near += rows
        self._ends: Ints = np.concatenate([np.zeros(1, np.int64), *sizes]).cumsum()
        self._near: Ints = np.concatenate(near)

    def _search_batch(self) -> None:
        """Find for each page the earlier pages of the batch that share features with it and may reach the threshold."""
        settings, pages = self.state.settings, self.pages
        a, b = _find_sharing(pages.features, np.flatnonzero(pages.valid & ~self._repeated), settings.need)
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
        """Make the shingle sets by which some pages will be compared."""
        evidence, pages = self.state.evidence, self.pages
        wanted = {*compared, *(j for i in compared for j in self._earlier.get(i, ()))}
        numbers = {number for i in compared for number in self._candidates(i) if not evidence.is_cached(number)}
        evidence.prepare((pages[i] for i in sorted(wanted)),
                         ((number, self.state.document(number).evidence) for number in sorted(numbers)))

    def _candidates(self, i: int) -> list[int]:
        """Return the kept documents of the state that a page may resemble, ascending."""
        documents: list[int] = self._near[self._ends[i] : self._ends[i + 1]].tolist()
        return documents

    def _mates(self, i: int) -> list[int]:
        """Return the documents of the batch that a page may resemble."""
        return [self._numbers[j] for j in self._earlier.get(i, ()) if j in self._numbers]

    # ---- the plan for a page

    def before(self, i: int) -> BatchPlan:
        """Begin the plan for the page at a position of the batch."""
        self._at = i
        return self

    def label(self, number: int) -> int:
        """Return the number of the representative of a document."""
        at = number - self.state.n
        return self._run.labels[at] if at >= 0 else super().label(number)

    def key_of(self, number: int) -> Key:
        """Return the key of a document."""
        i = self._documents.get(number)
        return super().key_of(number) if i is None else cast(Key, self.pages.keys[i])

    def scope_of(self, number: int) -> int:
        """Return the scope of a document."""
        i = self._documents.get(number)
        return super().scope_of(number) if i is None else int(self.pages.scopes[i])

    def score(self, page: Page, number: int) -> Measured:
        """Score a page against a document; both have shingles."""
        i = self._documents.get(number)
        if i is None:
            return super().score(page, number)
        return self.state.evidence.measure_pages(page, self.pages[i])

    def leader(self, page: Page) -> tuple[int, Page | Document] | None:
        """Find the leader of the class of a page."""
        number = super().leader(page) if self._class_known[self._at] else None
        return next(self._members(page), None) if number is None else number

    def variant(self, page: Page) -> int | None:
        """Find the first document with the bytes of a page, in its class, other than the leader."""
        variant = super().variant(page) if self._class_known[self._at] else None
        if variant is not None:
            return variant
        return next((number for number, member in self._members(page) if self.state.is_equal(member, page)), None)

    def _members(self, page: Page) -> Iterator[tuple[int, Page]]:
        """Yield the documents of the run that are in the class of a page."""
        for number in self._run.classes.get(int(self._leads[self._at]), ()):
            member = self.pages[self._documents[number]]
            if member.scope == page.scope and self.state.is_class(member, page):
                yield number, member

    def _find_kept_near(self, page: Page) -> list[int]:
        """Find the kept documents that share enough features with a page and may reach the threshold, ascending."""
        need = self.state.settings.need
        if self._repeated[self._at]:  # `_earlier` omits pages with the signature of an earlier one
            self.apply_run()
            return super()._find_kept_near(page)
        promoted = (number for number, row in self.promoted.items() if count_shared(row, page.features) >= need)
        mates = self._mates(self._at)
        return [number for number in sorted({*self._candidates(self._at), *promoted, *mates}) if self._is_kept(number)]

    def _is_kept(self, number: int) -> bool:
        """Tell whether a document is kept now."""
        at = number - self.state.n
        return self._run.labels[at] == number if at >= 0 else number in self.state.kept

    # ---- documents that are not yet in the state

    @property
    def end(self) -> int:
        """The number of the next document."""
        return self.state.n + len(self._run)

    def add(self, i: int, number: int, label: int, flags: int, payload: bytes) -> None:
        """Add the page at a position to the run, as document `number`, which is `end`. flags, payload: of its record."""
        state, run, page = self.state, self._run, self.pages
        if label == number and page.is_crowded(i):
            state.evidence.bitmaps.add(number, page[i].shingles)
        run.classes.setdefault(int(self._leads[i]), []).append(number)
        run.pages.append(i)
        run.labels.append(label)
        run.flags.append(flags)
        run.payloads.append(payload)
        self._know(i, number, label)

    def know(self, i: int, document: Document, features: dict[int, UInts]) -> None:
        """Record that the state has the page at a position as a document. features: of documents that the page changed."""
        self._know(i, document.number, document.label)
        self.promoted.update((number, features[number]) for number, label, _ in document.changes.changed
                             if number == label and number in features)

    def _know(self, i: int, number: int, label: int) -> None:
        """Record the number and the label of a page."""
        self._documents[number], self._numbers[i] = i, number
        if label == number and self._repeated[i]:
            self.promoted[number] = self.pages[i].features

    def apply_run(self) -> None:
        """Apply the documents of the run to the state."""
        state, pages, run, first = self.state, self.pages, self._run, self.state.n
        self._class_known |= self._repeated  # from now on the state may have the classes of earlier pages
        if not run:
            return
        at = np.array(run.pages)
        self._run = PageRun()
        state.waiting.update(enumerate(run.payloads, first))
        state.add_many(Added(first, np.array(run.labels), np.array(run.flags, np.uint8), np.array(pages.dates)[at],
                             pages.hashed[at], pages.features[at], pages.scopes[at], self._leads[at],
                             lambda i: pages[run.pages[i]]), None)


def _has_results(offsets: Ints) -> Bools:
    """Tell which rows of a search have results. offsets: of `search_many`."""
    some: Bools = offsets[1:] > offsets[:-1]  # a fifth of the time of np.diff
    return some


def _find_sharing(features: UInts, rows: Ints, need: int) -> tuple[Ints, Ints]:
    """Find the pairs a < b of some rows, ascending, that share at least `need` features, in the order of b, then a.

    O(rows · groups) if all features differ, else quadratic in the rows that share one; a batch has hundreds of rows.
    """
    _, ids, times = np.unique(features[rows], return_inverse=True, return_counts=True)
    rows = rows[(times[ids] > 1).reshape(len(rows), features.shape[1]).any(axis=1)]
    shared = np.zeros((len(rows), len(rows)), np.uint16)
    for column in features[rows].T:
        shared += column[:, None] == column
    b, a = np.nonzero(shared >= need)
    earlier = a < b
    return rows[a[earlier]], rows[b[earlier]]
