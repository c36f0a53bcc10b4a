"""A store that another process has open, over its local socket."""

from __future__ import annotations

import datetime as dt
import os
import socket
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from ndcore._types import AnyPath, Text
from ndcore.store.socket import DIRECTORY, address, check_private, raise_error
from ndcore.store.verdict import Date, Key, Verdict, Version, batches_of, microseconds, moment
from ndcore.store.wire import Message, plain_of, receive, send, value_of

__all__ = ["ClientSession", "StoreClient"]


class StoreClient:
    """A store that another process of this user has open and listens for: see `Store.listen`.

    Parameters
    ----------
    path : path
        The directory of the store.

    Raises
    ------
    ConnectionError
        No process listens.
    PermissionError
        Others could have replaced the socket.

    Notes
    -----
    The methods are the methods of `Store`, except `adecide`, `compact`, `check`, `merge` and `refresh`. Several threads may
    call them, one after the other; a forked process gets a connection of its own. The durability of the store says what a
    verdict acknowledges. If the connection ends within a call, decide again: the same page is then an unchanged version.
    """

    def __init__(self, path: AnyPath) -> None:
        self._path = Path(path)
        self._lock, self._process = threading.Lock(), -1
        self._connection: socket.socket | None = None
        self._connected()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<StoreClient {os.fspath(self._path)!r}>"

    # ---- deciding

    def decide(self, key: Key, text: Text, date: Date = None) -> Verdict:
        """Give the verdict on a page, and keep the page, as `Store.decide`."""
        return self._call("decide", key, text, _sent(date))  # type: ignore[no-any-return]

    def decide_many(self, items: Iterable[Sequence[Any]]) -> Iterator[Verdict]:
        """Give the verdicts on many pages, in their order, and keep them, as `Store.decide_many`."""
        for batch in batches_of(items):
            yield from self._call("decide_many", [(key, text, _sent(date)) for key, text, date in batch])

    def peek(self, text: Text, key: Key | None = None) -> Verdict:
        """Give the verdict that `decide` would give on the page with a new key, and keep nothing."""
        return self._call("peek", text, key)  # type: ignore[no-any-return]

    def session(self, name: str) -> ClientSession:
        """Return the session of a name, as `Store.session`. Sessions belong to the store and not to this connection."""
        return ClientSession(self, name)

    # ---- forgetting

    def remove(self, key: Key) -> None:
        """Forget a page with all its versions. KeyError if there is none."""
        self._call("remove", key)

    def expire(self, before: Date) -> int:
        """Forget the pages whose last version is older than a date, and return how many."""
        return self._call("expire", None if before is None else _sent(before))  # type: ignore[no-any-return]

    # ---- asking

    def __contains__(self, key: object) -> bool:
        return self._call("__contains__", key)  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return self._call("__len__")  # type: ignore[no-any-return]

    def cluster(self, key: Key) -> list[Key]:
        """Return the keys in the cluster of a page, the representative first."""
        return self._call("cluster", key)  # type: ignore[no-any-return]

    def clusters(self, least: int = 1) -> Iterator[list[Key]]:
        """Return the clusters of `least` pages or more, as `Store.clusters`."""
        return iter(self._call("clusters", least))

    def locate(self, key: Key) -> Key:
        """Return the key of the cluster of a page whose last version is the most recent."""
        return self._call("locate", key)  # type: ignore[no-any-return]

    def history(self, key: Key) -> list[Version]:
        """Return the versions of a page, in the order in which they came."""
        return self._call("history", key)  # type: ignore[no-any-return]

    def text(self, key: Key) -> Text:
        """Return the text of the last version."""
        return self._call("text", key)  # type: ignore[no-any-return]

    def stats(self) -> dict[str, Any]:
        """Return counts, as `Store.stats`."""
        return self._call("stats")  # type: ignore[no-any-return]

    def flush(self) -> None:
        """Wait until everything that was decided is on disk."""
        self._call("flush")

    def close(self) -> None:
        """End the connection. The store stays open in its process."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self._process = None, -1

    # ---- inside

    def _call(self, call: str, *arguments: Any, session: str | None = None) -> Any:
        """Call a method of the store, or of one of its sessions, and return what it returns."""
        texts: list[bytes] = []
        content = {"call": call, "session": session, "arguments": plain_of(arguments, texts)}
        with self._lock:
            connection = self._connected()
            try:
                send(connection, content, texts)
            except OSError as error:
                self._lose(error)
            answer = self._answer()
            found = value_of(answer.content["value"], answer.texts)
            while answer.content["more"]:
                answer = self._answer()
                found += value_of(answer.content["value"], answer.texts)
        return found

    def _answer(self) -> Message:
        """Receive a message. The lock is held."""
        answer = None
        try:
            answer = receive(self._connected())
        except (OSError, ValueError) as error:
            self._lose(error)
        except BaseException:  # Ctrl-C: an answer is on its way, and must not be taken for the next one
            self._drop()
            raise
        if answer is None:
            self._lose(None)
        assert answer is not None
        if "error" in answer.content:
            raise_error(answer.content)
        return answer

    def _drop(self) -> None:
        """Close a connection that cannot be used any more; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _lose(self, error: Exception | None) -> None:
        """Raise ConnectionError."""
        self._drop()
        raise ConnectionError(f"{self._path}: the process that has the store open ended the connection; what was not "
                              "answered may be kept or not: decide it again") from error

    def _connected(self) -> socket.socket:
        """Return the connection of this process."""
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        place = self._path / DIRECTORY
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            check_private(place)
            with address(place) as found:
                connection.connect(found)
        except (FileNotFoundError, ConnectionError):
            connection.close()
            raise ConnectionError(f"{self._path}: no process listens for this store; call listen() in the one that has it "
                                  "open") from None
        except BaseException:
            connection.close()
            raise
        self._connection, self._process = connection, os.getpid()
        return connection


class ClientSession:
    """A session of a store in another process; the methods of `Session`."""

    def __init__(self, client: StoreClient, name: str) -> None:
        self.name, self._call = name, partial(client._call, session=name)

    def decide(self, key: Key, text: Text, date: Date = None) -> Verdict:
        """Give the provisional verdict on a page, as `Session.decide`."""
        return self._call("decide", key, text, _sent(date))  # type: ignore[no-any-return]

    def peek(self, text: Text, key: Key | None = None) -> Verdict:
        """Give the verdict on a page with a new key, and hold nothing."""
        return self._call("peek", text, key)  # type: ignore[no-any-return]

    def cluster(self, key: Key) -> list[Key]:
        """Return the keys in the cluster of a page, pages of the session too."""
        return self._call("cluster", key)  # type: ignore[no-any-return]

    def commit(self) -> list[Verdict]:
        """Keep the pages of the session, and return the verdicts that changed."""
        return self._call("commit")  # type: ignore[no-any-return]

    def discard(self) -> None:
        """Forget the pages of the session."""
        self._call("discard")


def _sent(date: Date) -> dt.datetime:
    """Return a date as it is sent: None is the time of the call."""
    return moment(microseconds(date))
