"""How a store is shared: sessions, a socket for other processes, and pages of another store."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from ndcore.store.directory import Directory
from ndcore.store.pages import Page
from ndcore.store.session import Session
from ndcore.store.verdict import Verdict

if TYPE_CHECKING:
    from ndcore.store.socket import Listener

__all__ = ["OwnLock", "Sharing"]


class OwnLock(AbstractContextManager[None]):
    """The lock of a store, which refuses whoever may not use the store: every method that reads or writes takes it.

    A fork is refused before it waits: a thread that it does not have may hold the lock. `bare` is the lock itself.
    """

    bare: threading.RLock

    def __init__(self, directory: Directory) -> None:
        self.bare, self._directory = threading.RLock(), directory

    def __enter__(self) -> None:
        if self._directory.forked:
            self._directory.check_usable()
        self.bare.acquire()
        try:
            self._directory.check_usable()
        except BaseException:
            self.bare.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None:
        self.bare.release()
        return None


class Sharing:
    """Methods of `Store`."""

    _directory: Directory
    _lock: OwnLock

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._listener: Listener | None = None

    def session(self, name: str) -> Session:
        """Return the session of a name: pages that are decided on now and kept by `Session.commit`.

        A session sees its own pages and the committed ones; other sessions, and the methods of the store, do not see its
        pages. The name stands for the same session until it is discarded, also for clients (`listen`).
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of a session is a str, got {name!r:.80}")
        with self._lock:
            self._directory.check_writable()
            found = self._sessions.get(name)
            if found is None:
                found = self._sessions[name] = Session(self, name, self._forget_session)
        return found

    def listen(self) -> Listener:
        """Let other processes of this user write to the store, with `StoreClient`, until the listener or store is closed.

        Returns
        -------
        Listener
            A context manager.

        Notes
        -----
        Calls are answered on a thread for each client. The socket is in a directory of mode 0700 within the store.
        """
        from ndcore.store.socket import Listener

        with self._lock:
            self._directory.check_writable()
            if self._listener is None or self._listener.closed:
                self._listener = Listener(cast(Any, self), self._directory.path)
            return self._listener

    def merge(self, other: Sharing) -> int:
        """Keep the pages of another store, in their order, as if they were decided on now, with their dates.

        Parameters
        ----------
        other : Store
            With the same settings, except threshold, min_shingles and filter. It stays as it is, and must not change
            meanwhile.

        Returns
        -------
        int
            How many pages of `other` there were.

        Notes
        -----
        A new key brings its history along. For a key that both stores have, the version of `other` is a new version here,
        and the versions before it stay behind. All are on disk when this returns.
        """
        from ndcore.store.merge import merged

        return merged(self, other)

    def _forget_session(self, name: str) -> None:
        """Let the name of a session stand for a new one."""
        self._sessions.pop(name, None)

    def _stop_sharing(self) -> None:
        """End the listener and forget the sessions."""
        if self._listener is not None:
            self._listener.close()
        self._sessions.clear()

    def _decide(self, pages: Sequence[Page]) -> list[Verdict]:
        raise NotImplementedError

    def flush(self) -> None:
        raise NotImplementedError
