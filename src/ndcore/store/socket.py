"""Other processes write to a store through the process that has it open: a local socket in a directory of mode 0700."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, Protocol, Self

from ndcore._types import AnyPath, Text
from ndcore.store.verdict import Date, Key, Verdict, Version, moment
from ndcore.store.wire import Message, key_of, plain_key, plain_verdict, plain_version, receive, send

__all__ = ["DIRECTORY", "Listener", "Serving", "address", "check_private", "raise_error"]

DIRECTORY, NAME = "socket", "s"
LONGEST = 100  # bytes of a path that every system accepts for a socket
CLUSTERS = 1000  # sent at once
MOST_CONNECTIONS = 1024

Reply = tuple[dict[str, Any], list[bytes]]
Answers = Iterator[Reply]


class ServedSession(Protocol):
    """A session, as a listener uses it."""

    def decide(self, key: Key, text: Text, date: Date = None) -> Verdict: ...
    def peek(self, text: Text, key: Key | None = None) -> Verdict: ...
    def commit(self) -> list[Verdict]: ...
    def discard(self) -> None: ...


class Serving(Protocol):
    """A store, as a listener uses it."""

    def decide(self, key: Key, text: Text, date: Date = None) -> Verdict: ...
    def decide_many(self, items: Any, threads: int | None = None) -> Iterator[Verdict]: ...
    def peek(self, text: Text, key: Key | None = None) -> Verdict: ...
    def remove(self, key: Key) -> None: ...
    def expire(self, before: Date) -> int: ...
    def cluster(self, key: Key) -> list[Key]: ...
    def clusters(self) -> Iterator[list[Key]]: ...
    def locate(self, key: Key) -> Key: ...
    def history(self, key: Key) -> list[Version]: ...
    def text(self, key: Key) -> Text: ...
    def stats(self) -> dict[str, Any]: ...
    def flush(self) -> None: ...
    def session(self, name: str) -> Any: ...
    def __contains__(self, key: object) -> bool: ...
    def __len__(self) -> int: ...


class Listener:
    """Answers clients of a store, each on a thread, until `close`. Made by `Store.listen`; a context manager.

    Notes
    -----
    The directory "socket" in the store has mode 0700, and a client must run as the same user, or as root. Messages are JSON
    with texts beside it (`wire`): no client can make this process run anything else than the calls of a store.
    """

    def __init__(self, store: Serving, path: Path) -> None:
        place = path / DIRECTORY
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
        check_private(place)
        self._store, self._place = store, place
        self._lock, self._connections = threading.Lock(), set[socket.socket]()
        self._threads: set[threading.Thread] = set()
        self._closed = False
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this system has no local sockets; write from one process")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            (place / NAME).unlink(missing_ok=True)  # of a process that was killed: this one has the lock of the store
            with address(place) as found:
                self._socket.bind(found)
            self._socket.listen(128)
        except BaseException:
            self._socket.close()
            raise
        self._accepting = threading.Thread(target=self._accept, name="ndcore listener", daemon=True)
        self._accepting.start()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def close(self) -> None:
        """End all connections and remove the socket. A call that is being answered is answered first."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            open_now, threads = list(self._connections), list(self._threads)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in open_now:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        for thread in (self._accepting, *threads):
            if thread is not threading.current_thread():
                thread.join(30)
        (self._place / NAME).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _accept(self) -> None:
        """Take connections until the listener is closed."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if self._closed:
                    return
                continue  # the client went away, or too many files are open
            thread = threading.Thread(target=self._serve, args=(connection,), name="ndcore client", daemon=True)
            with self._lock:
                if self._closed or len(self._connections) >= MOST_CONNECTIONS or not _is_ours(connection):
                    connection.close()
                    continue
                self._connections.add(connection)
                self._threads.add(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        """Answer the calls of one client."""
        try:
            with connection, contextlib.suppress(OSError):  # a client that went away
                while (message := self._next(connection)) is not None:
                    try:
                        for content, texts in _answers(self._store, message):
                            send(connection, content, texts)
                    except OSError as error:
                        if isinstance(error, ConnectionError):
                            raise
                        send(connection, _plain_error(error))
                    except Exception as error:  # whatever it is, it is for the client
                        send(connection, _plain_error(error))
        finally:
            with self._lock:
                self._connections.discard(connection)
                self._threads.discard(threading.current_thread())

    def _next(self, connection: socket.socket) -> Message | None:
        """Wait for a call. A client that does not speak the language is told so, and left."""
        try:
            return receive(connection)
        except ValueError as error:
            send(connection, _plain_error(error))
            return None


# ---- places


@contextlib.contextmanager
def address(place: Path) -> Iterator[str]:
    """Give an address for the socket in a directory: its path, or a shorter one where the path is too long for a socket."""
    path = os.fspath(place / NAME)
    if len(os.fsencode(path)) <= LONGEST:
        yield path
        return
    descriptor = os.open(place, os.O_RDONLY)
    try:
        short = f"/proc/self/fd/{descriptor}"
        if not Path(short).is_dir():
            raise OSError(36, f"the path is longer than the {LONGEST} bytes that a socket takes; use a shorter one", path)
        yield f"{short}/{NAME}"
    finally:
        os.close(descriptor)


def check_private(place: AnyPath) -> None:
    """Check that nobody else can read or replace what is in a directory. Raises PermissionError, FileNotFoundError."""
    found = os.lstat(place)
    if not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077 or not (
            found.st_uid in (os.geteuid(), 0) or os.geteuid() == 0):
        raise PermissionError(1, "must be a directory of yours with mode 0700: remove it, and the store makes it again",
                              os.fspath(place))


def _is_ours(connection: socket.socket) -> bool:
    """Tell whether a client runs as this user, or as root. True where the system cannot tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return user in (os.geteuid(), 0)


# ---- calls


def _answers(store: Serving, message: Message) -> Answers:
    """Do what a message asks for."""
    content, texts = message
    call = content.get("call")
    if not isinstance(call, str) or call not in CALLS:
        raise ValueError(f"the call {call!r:.80} is not known; known are {', '.join(sorted(CALLS))}")
    target = store if content.get("session") is None else store.session(_string(content["session"]))
    return CALLS[call](target, content, texts)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is not a str")
    return value


def _key(content: dict[str, Any]) -> Key:
    key = key_of(content.get("key"))
    if key is None:
        raise ValueError("the call has no key")
    return key


def _text(texts: list[bytes], at: int, is_str: Any) -> Text:
    if at >= len(texts):
        raise ValueError("a text of the message is missing")
    return texts[at].decode("utf-8", "surrogatepass") if is_str else texts[at]


def _date(plain: Any) -> Date:
    if plain is None:
        return None
    if not isinstance(plain, int) or isinstance(plain, bool):
        raise ValueError(f"the date {plain!r:.80} is not a number of microseconds")
    return moment(plain)


def _decide(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    found = store.decide(_key(content), _text(texts, 0, content.get("str")), _date(content.get("date")))
    yield {"verdict": plain_verdict(found)}, []


def _decide_many(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    items = []
    for at, (key, is_str, date) in enumerate(content["items"]):
        items.append((_key({"key": key}), _text(texts, at, is_str), _date(date)))
    yield {"verdicts": [plain_verdict(found) for found in store.decide_many(items)]}, []


def _peek(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    found = store.peek(_text(texts, 0, content.get("str")), key_of(content.get("key")))
    yield {"verdict": plain_verdict(found)}, []


def _commit(session: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    yield {"verdicts": [plain_verdict(found) for found in session.commit()]}, []


def _discard(session: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    session.discard()
    yield {}, []


def _remove(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    store.remove(_key(content))
    yield {}, []


def _expire(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    yield {"count": store.expire(_date(content.get("before")))}, []


def _cluster(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    yield {"keys": [plain_key(key) for key in store.cluster(_key(content))]}, []


def _clusters(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    part: list[list[Any]] = []
    for members in store.clusters():
        part.append([plain_key(key) for key in members])
        if len(part) >= CLUSTERS:
            yield {"clusters": part, "more": True}, []
            part = []
    yield {"clusters": part}, []


def _locate(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    yield {"key": plain_key(store.locate(_key(content)))}, []


def _history(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    yield {"versions": [plain_version(each) for each in store.history(_key(content))]}, []


def _read_text(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    found = store.text(_key(content))
    if isinstance(found, str):
        yield {"str": True}, [found.encode("utf-8", "surrogatepass")]
    else:
        yield {"str": False}, [found]


def _contains(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    yield {"found": _key(content) in store}, []


def _count(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    yield {"count": len(store)}, []


def _stats(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    yield {"stats": store.stats()}, []


def _flush(store: Any, content: dict[str, Any], texts: list[bytes]) -> Answers:
    store.flush()
    yield {}, []


CALLS: dict[str, Callable[[Any, dict[str, Any], list[bytes]], Answers]] = {
    "decide": _decide, "decide_many": _decide_many, "peek": _peek, "commit": _commit, "discard": _discard, "remove": _remove,
    "expire": _expire, "cluster": _cluster, "clusters": _clusters, "locate": _locate, "history": _history,
    "text": _read_text, "contains": _contains, "count": _count, "stats": _stats, "flush": _flush,
}


# ---- errors

_ERRORS = (ValueError, TypeError, KeyError, LookupError, OSError, MemoryError)


def _plain_error(error: Exception) -> dict[str, Any]:
    """Return an error for JSON."""
    kind = next((each.__name__ for each in _ERRORS if type(error) is each),
                next((each.__name__ for each in _ERRORS if isinstance(error, each)), "RuntimeError"))
    if isinstance(error, OSError) and error.errno is not None:
        return {"error": kind, "errno": error.errno, "message": error.strerror, "path": str(error.filename or "")}
    return {"error": kind, "message": str(error.args[0]) if error.args else type(error).__name__}


def raise_error(plain: dict[str, Any]) -> NoReturn:
    """Raise the error that the process of the store reported."""
    kind = next((each for each in _ERRORS if each.__name__ == plain["error"]), RuntimeError)
    if kind is OSError and "errno" in plain:
        raise OSError(plain["errno"], plain["message"], plain["path"] or None)
    raise kind(plain["message"])
