"""A client for a store that another process has open, over its local socket."""

from __future__ import annotations

import datetime as dt
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, wraps
from inspect import isgeneratorfunction, signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from ndcore._types import AnyPath, Closing
from ndcore.store.session import StoreSession
from ndcore.store.socket import DIRECTORY, address, check_private, raise_error
from ndcore.store.store import Store
from ndcore.store.verdict import Date, Verdict, batches_of, microseconds, moment
from ndcore.store.wire import Message, plain_of, receive, send, value_of

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def remote(method: Callable[Concatenate[Any, Parameters], Result]) -> Callable[Concatenate[Any, Parameters], Result]:
    """Make a method of a client from a method of a store or a session: it calls the process that has the store open."""
    parameters, yields = signature(method), isgeneratorfunction(method)

    @wraps(method)
    def call(self: Any, /, *arguments: Parameters.args, **named: Parameters.kwargs) -> Any:
        bound = parameters.bind(self, *arguments, **named)
        bound.apply_defaults()
        _, *values = (_resolve_date(value) if name == "date" or (name == "before" and value is not None) else value
                      for name, value in bound.arguments.items())
        answer = self._call(method.__name__, *values)
        return iter(answer) if yields else answer

    return call


def _resolve_date(date: Date) -> dt.datetime:
    """Convert a date to the form that is sent; None becomes the time of the call."""
    return moment(microseconds(date))


class StoreClient(Closing):
    """A store that another process of this user has open and listens for: see `Store.listen`.

    Parameters
    ----------
    path : path
        The directory of the store.

    Raises
    ------
    ConnectionError
        No process listens for the store.
    PermissionError
        Other users could have replaced the socket.

    Notes
    -----
    The methods are the methods of `Store`, except `adecide`, `compact`, `check`, `merge`, `carry` and `refresh`. Several
    threads may call them; calls are serialised, and a forked process gets its own connection. The durability of the store
    determines what a verdict acknowledges. If the connection ends during a call, decide again: the same page is then an
    unchanged version.
    """

    def __init__(self, path: AnyPath) -> None:
        self._path = Path(path)
        self._lock, self._process = threading.Lock(), -1
        self._connection: socket.socket | None = None
        self._connect()

    def __repr__(self) -> str:
        return f"<StoreClient {os.fspath(self._path)!r}>"

    decide = remote(Store.decide)
    peek = remote(Store.peek)
    mark_gone = remote(Store.mark_gone)
    remove = remote(Store.remove)
    expire = remote(Store.expire)
    __contains__ = remote(Store.__contains__)
    __len__ = remote(Store.__len__)
    cluster = remote(Store.cluster)
    clusters = remote(Store.clusters)
    locate = remote(Store.locate)
    collapse = remote(Store.collapse)
    history = remote(Store.history)
    overall = remote(Store.overall)
    text = remote(Store.text)
    stats = remote(Store.stats)
    flush = remote(Store.flush)

    def decide_many(self, items: Iterable[Sequence[Any]]) -> Iterator[Verdict]:
        """Give the verdicts on many pages, in order, and keep the pages; see `Store.decide_many`."""
        for batch in batches_of(items):
            yield from self._call("decide_many", [(key, text, _resolve_date(date)) for key, text, date in batch])

    def session(self, name: str) -> ClientSession:
        """Return the session with a name, like `Store.session`. Sessions belong to the store, not to this connection."""
        return ClientSession(self, name)

    def close(self) -> None:
        """End the connection. The store stays open in its process."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self._process = None, -1

    # ---- the connection

    def _call(self, call: str, *arguments: Any, session: str | None = None) -> Any:
        """Call a method of the store, or of one of its sessions, and return the result."""
        texts: list[bytes] = []
        content = {"call": call, "session": session, "arguments": plain_of(arguments, texts)}
        with self._lock:
            connection = self._connect()
            try:
                send(connection, content, texts)
            except OSError as error:
                self._lose(error)
            answer = self._answer()
            value = value_of(answer.content["value"], answer.texts)
            while answer.content["more"]:
                answer = self._answer()
                value += value_of(answer.content["value"], answer.texts)
        return value

    def _answer(self) -> Message:
        """Receive a message. The lock is held."""
        answer = None
        try:
            answer = receive(self._connect())
        except (OSError, ValueError) as error:
            self._lose(error)
        except BaseException:  # such as Ctrl-C: the pending answer must not be taken for the next one
            self._drop()
            raise
        if answer is None:
            self._lose(None)
        assert answer is not None
        if "error" in answer.content:
            raise_error(answer.content)
        return answer

    def _drop(self) -> None:
        """Close an unusable connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _lose(self, error: Exception | None) -> None:
        """Raise ConnectionError."""
        self._drop()
        raise ConnectionError(f"{self._path}: the process that has the store open ended the connection; what was not "
                              "answered may be kept or not: decide it again") from error

    def _connect(self) -> socket.socket:
        """Return the connection of this process."""
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        place = self._path / DIRECTORY
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            check_private(place)
            with address(place) as short:
                connection.connect(short)
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
    """A session of a store in another process, with the methods of `Session`."""

    def __init__(self, client: StoreClient, name: str) -> None:
        self.name, self._call = name, partial(client._call, session=name)

    decide = remote(StoreSession.decide)
    peek = remote(StoreSession.peek)
    cluster = remote(StoreSession.cluster)
    commit = remote(StoreSession.commit)
    discard = remote(StoreSession.discard)
