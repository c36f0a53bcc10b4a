"""A store that another process has open, over its local socket."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from ndcore._types import AnyPath, Text
from ndcore.store.socket import DIRECTORY, address, check_private, raise_error
from ndcore.store.verdict import Date, Key, Verdict, Version, microseconds
from ndcore.store.wire import Message, key_of, plain_key, receive, send, verdict_of, version_of

__all__ = ["ClientSession", "StoreClient"]

BATCH, BATCH_BYTES = 512, 4 << 20  # pages of a batch of `decide_many`, and bytes


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
        return self._decide(key, text, date, None)

    def decide_many(self, items: Iterable[Sequence[Any]]) -> Iterator[Verdict]:
        """Give the verdicts on many pages, in their order, and keep them, as `Store.decide_many`."""
        batch: list[list[Any]] = []
        texts: list[bytes] = []
        size = 0
        for item in items:
            if not isinstance(item, (tuple, list)) or not 2 <= len(item) <= 3:
                raise TypeError(f"an item is {item!r:.80}; give tuples of (key, text) or (key, text, date)")
            key, text, *rest = item
            is_str, content = _as_bytes(text)
            batch.append([_given(key), is_str, microseconds(rest[0] if rest else None)])
            texts.append(content)
            size += len(content)
            if len(batch) >= BATCH or size >= BATCH_BYTES:
                yield from self._batch(batch, texts)
                batch, texts, size = [], [], 0
        if batch:
            yield from self._batch(batch, texts)

    def peek(self, text: Text, key: Key | None = None) -> Verdict:
        """Give the verdict that `decide` would give on the page with a new key, and keep nothing."""
        return self._peek(text, key, None)

    def session(self, name: str) -> ClientSession:
        """Return the session of a name, as `Store.session`. Sessions belong to the store and not to this connection."""
        return ClientSession(self, name)

    # ---- forgetting

    def remove(self, key: Key) -> None:
        """Forget a page with all its versions. KeyError if there is none."""
        self._call({"call": "remove", "key": _given(key)})

    def expire(self, before: Date) -> int:
        """Forget the pages whose last version is older than a date, and return how many."""
        if before is None:
            raise TypeError("before is None; give a date: pages whose last version is older are forgotten")
        return int(self._call({"call": "expire", "before": microseconds(before)}).content["count"])

    # ---- asking

    def __contains__(self, key: object) -> bool:
        return bool(self._call({"call": "contains", "key": _given(key)}).content["found"])

    def __len__(self) -> int:
        return int(self._call({"call": "count"}).content["count"])

    def cluster(self, key: Key) -> list[Key]:
        """Return the keys in the cluster of a page, the representative first."""
        return _keys(self._call({"call": "cluster", "key": _given(key)}).content["keys"])

    def clusters(self) -> Iterator[list[Key]]:
        """Return all clusters, as `Store.clusters`."""
        found: list[list[Key]] = []
        with self._lock:
            answer = self._exchange({"call": "clusters"}, ())
            while True:
                found += map(_keys, answer.content["clusters"])
                if not answer.content.get("more"):
                    return iter(found)
                answer = self._answer()

    def locate(self, key: Key) -> Key:
        """Return the key of the cluster of a page whose last version is the most recent."""
        return _keys([self._call({"call": "locate", "key": _given(key)}).content["key"]])[0]

    def history(self, key: Key) -> list[Version]:
        """Return the versions of a page, in the order in which they came."""
        return [version_of(each) for each in self._call({"call": "history", "key": _given(key)}).content["versions"]]

    def text(self, key: Key) -> Text:
        """Return the text of the last version."""
        content, texts = self._call({"call": "text", "key": _given(key)})
        return texts[0].decode("utf-8", "surrogatepass") if content["str"] else texts[0]

    def stats(self) -> dict[str, Any]:
        """Return counts, as `Store.stats`."""
        return dict(self._call({"call": "stats"}).content["stats"])

    def flush(self) -> None:
        """Wait until everything that was decided is on disk."""
        self._call({"call": "flush"})

    def close(self) -> None:
        """End the connection. The store stays open in its process."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self._process = None, -1

    # ---- inside

    def _decide(self, key: Key, text: Text, date: Date, session: str | None) -> Verdict:
        is_str, content = _as_bytes(text)
        call = {"call": "decide", "key": _given(key), "str": is_str, "date": microseconds(date), "session": session}
        return verdict_of(self._call(call, [content]).content["verdict"])

    def _peek(self, text: Text, key: Key | None, session: str | None) -> Verdict:
        is_str, content = _as_bytes(text)
        call = {"call": "peek", "key": plain_key(key), "str": is_str, "session": session}
        return verdict_of(self._call(call, [content]).content["verdict"])

    def _batch(self, items: list[list[Any]], texts: list[bytes]) -> list[Verdict]:
        answer = self._call({"call": "decide_many", "items": items}, texts)
        return [verdict_of(each) for each in answer.content["verdicts"]]

    def _call(self, content: dict[str, Any], texts: Sequence[bytes] = ()) -> Message:
        """Ask for something and wait for the answer."""
        with self._lock:
            return self._exchange(content, texts)

    def _exchange(self, content: dict[str, Any], texts: Sequence[bytes]) -> Message:
        """Send a call and receive the first message of its answer. The lock is held."""
        connection = self._connected()
        try:
            send(connection, content, texts)
        except OSError as error:
            self._lose(error)
        return self._answer()

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

    name: str

    def __init__(self, client: StoreClient, name: str) -> None:
        self._client, self.name = client, name

    def decide(self, key: Key, text: Text, date: Date = None) -> Verdict:
        """Give the provisional verdict on a page, as `Session.decide`."""
        return self._client._decide(key, text, date, self.name)

    def peek(self, text: Text, key: Key | None = None) -> Verdict:
        """Give the verdict on a page with a new key, and hold nothing."""
        return self._client._peek(text, key, self.name)

    def commit(self) -> list[Verdict]:
        """Keep the pages of the session, and return the verdicts that changed."""
        answer = self._client._call({"call": "commit", "session": self.name})
        return [verdict_of(each) for each in answer.content["verdicts"]]

    def discard(self) -> None:
        """Forget the pages of the session."""
        self._client._call({"call": "discard", "session": self.name})


def _given(key: object) -> Any:
    """Return a key for JSON. TypeError for None and other types."""
    if not isinstance(key, (str, bytes, int)) or isinstance(key, bool):
        raise TypeError(f"the key {key!r:.80} is of type {type(key).__name__}; keys are str, bytes or int")
    return plain_key(key)


def _keys(plain: Iterable[Any]) -> list[Key]:
    """Return the keys that JSON holds."""
    return [key for key in map(key_of, plain) if key is not None]


def _as_bytes(text: object) -> tuple[bool, bytes]:
    """Return whether a text is a str, and its bytes."""
    if isinstance(text, str):
        return True, text.encode("utf-8", "surrogatepass")
    if not isinstance(text, bytes):
        raise TypeError(f"the text is {text!r:.40} of type {type(text).__name__}; texts are str or bytes")
    return False, text
