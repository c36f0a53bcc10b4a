"""Sessions: pages with provisional verdicts that are not yet committed to the store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

from ndcore._types import Text
from ndcore.store import engine, versions
from ndcore.store.columns import Bitmap
from ndcore.store.directory import Directory
from ndcore.store.evidence import Evidence
from ndcore.store.pages import Page, Pages
from ndcore.store.records import Document, Record
from ndcore.store.socket import for_clients
from ndcore.store.state import Indexes, State
from ndcore.store.verdict import Date, Key, Verdict, given_key

BATCH = 512  # pages that are committed together


class _Fork(State):
    """A state in memory on top of another state, which does not change and must not be changed meanwhile."""

    def __init__(self, state: State) -> None:
        super().__init__(state.settings, state.preparer, state.log, state.columns.fork(), Bitmap(state.live.bits.copy()),
                         Bitmap(state.kept.bits.copy()), Indexes(*(index.fork() for index in state.indexes)))
        self.evidence.codec = state.evidence.codec
        self._own: dict[int, Document] = {}

    def document(self, number: int) -> Document:
        """Read the record of a document, which may be only in memory."""
        record = self._own.get(number)
        return super().document(number) if record is None else record

    def apply(self, record: Record, position: int, page: Page | None = None, features: Any = None) -> None:
        """Apply a record that is only in memory."""
        if isinstance(record, Document):
            self._own[record.number] = record
        super().apply(record, position, page, features)


def _drop_text(page: Page, evidence: Evidence) -> Page:
    """Drop the text of a page; its shingles are made again when it is compared."""
    packed = evidence.pack(page)
    _ = page.whole, page.tokens
    if evidence.kind == "sketch" and page.valid:
        _ = page.size
    page.text, page.source = type(page.text)(), partial(evidence.shingles, packed)
    page.drop_shingles()
    return page


class StoreSession:
    """Pages that are decided before they are kept. Made by `Store.session`.

    A verdict of a session is provisional: it is the verdict of the main job on the page after all committed pages and the
    earlier pages of the session. Others do not see these pages until `commit`. In a ``with`` block, the session is
    discarded at the end.

    Attributes
    ----------
    name : str

    Notes
    -----
    Until they are committed, pages are in memory, about as large as their records in the log, and are lost if the process
    ends. If other pages are kept or removed meanwhile, the next call decides again on all pages of the session, without
    reading their texts.
    """

    def __init__(
        self, directory: Directory, name: str, sessions: dict[str, StoreSession],
        decide: Callable[[Pages], list[Verdict]],
    ) -> None:
        self.name, self._directory, self._sessions, self._decide = name, directory, sessions, decide
        self._pages: list[Page] = []
        self._given: list[Verdict] = []
        self._changed: list[Verdict] = []  # changed verdicts of pages that a commit kept before it failed
        self._fork: _Fork | None = None
        self._base: tuple[State, int] | None = None  # the state below the fork, and its version

    def __len__(self) -> int:
        """Count the uncommitted pages."""
        return len(self._pages)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.discard()

    def __repr__(self) -> str:
        return f"<Session {self.name!r}, {len(self)} pages>"

    def decide(self, key: Key, text: Text, date: Date = None) -> Verdict:
        """Give the provisional verdict on a page, and hold the page. The arguments are as for `Store.decide`."""
        directory = self._directory
        page = directory.preparer.page(given_key(key), text, date)
        with directory.lock:
            directory.check_writable()
            state = self._state()
            directory.state.evidence.pack(page)
            verdict = engine.hold(state, page)
            self._pages.append(_drop_text(page, directory.state.evidence))
            self._given.append(verdict)
        return verdict

    def peek(self, text: Text, key: Key | None = None) -> Verdict:
        """Give the verdict that `decide` would give on the page with a new key, without holding it. key: for its scope."""
        page = self._directory.preparer.page(None, text, None, like=key)
        with self._directory.lock:
            return engine.look(self._state(), page)

    def cluster(self, key: Key) -> list[Key]:
        """Return the keys in the cluster of a page, including pages of the session. Raises KeyError for an unknown key."""
        with self._directory.lock:
            state = self._state()
            _, name, hashed = self._directory.preparer.name_key(key)
            number = state.find(name, hashed)
            if number is None:
                raise KeyError(f"neither the store nor the session has a page with the key {key!r:.200}")
            return versions.cluster_of(state, number)

    def commit(self) -> list[Verdict]:
        """Keep the pages in order, and return the verdicts that have changed since they were given.

        The pages are on disk when this returns. The session is then empty and can be used again.

        Raises
        ------
        OSError
            The disk is full. Pages that are not kept yet stay in the session: commit again.

        Notes
        -----
        After a crash meanwhile, the first pages or all of them are kept. Time: one `decide` for each page, without the
        sketching.
        """
        with self._directory.lock:
            self._directory.check_writable()
            while self._pages:
                pages, given = self._pages[:BATCH], self._given[:BATCH]
                final = self._decide(Pages.of(pages))
                self._changed += [new for old, new in zip(given, final, strict=True) if new != old]
                del self._pages[:BATCH], self._given[:BATCH]
                self._fork = None
            self._directory.log.sync()
            changed, self._changed = self._changed, []
        return changed

    def discard(self) -> None:
        """Discard the pages of the session, and the session."""
        with self._directory.lock:
            self._pages, self._given, self._changed, self._fork = [], [], [], None
            self._sessions.pop(self.name, None)

    def _state(self) -> _Fork:
        """Return the state with the pages of the session. The lock is held."""
        self._directory.check_usable()
        state = self._directory.state
        base = state, state.log.end
        if self._fork is None or self._base is None or self._base[0] is not base[0] or self._base[1] != base[1]:
            fork = _Fork(state)
            for page in self._pages:
                engine.hold(fork, page)
                page.drop_shingles()
            self._fork, self._base = fork, base
        return self._fork


for_clients(StoreSession.decide, StoreSession.peek, StoreSession.cluster, StoreSession.commit, StoreSession.discard)
