"""Let other processes write to a store through the process that has it open, by a socket in a directory of mode 0700."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any, NoReturn

from ndcore._types import AnyPath, Closing
from ndcore.store.wire import Message, plain_of, receive, send, value_of

DIRECTORY, NAME = "socket", "s"
LONGEST = 100  # longest path of a socket, in bytes, that every system accepts
TOGETHER = 1000  # clusters or verdicts that are sent together
MOST_CONNECTIONS = 1024

Reply = tuple[dict[str, Any], list[bytes]]


class Listener(Closing):
    """A server for the clients of a store, each on a thread, until `close`. Made by `Store.listen`; a context manager.

    Notes
    -----
    The directory "socket" in the store has mode 0700, and a client must run as the same user or as root. Messages are JSON
    and texts (`wire`): no client can make this process run anything but the calls of a store.
    """

    def __init__(self, store: Any, path: Path) -> None:
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
            (place / NAME).unlink(missing_ok=True)  # left by a killed process: this one has the lock of the store
            with address(place) as short:
                self._socket.bind(short)
            self._socket.listen(128)
        except BaseException:
            self._socket.close()
            raise
        self._accepting = threading.Thread(target=self._accept, name="ndcore listener", daemon=True)
        self._accepting.start()

    @property
    def closed(self) -> bool:
        """Whether the listener is closed."""
        return self._closed

    def close(self) -> None:
        """End all connections and remove the socket, after answering calls in progress."""
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

    def _accept(self) -> None:
        """Accept connections until the listener is closed."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if self._closed:
                    return
                continue  # the client disconnected, or too many files are open
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
            with connection, contextlib.suppress(OSError):  # the client disconnected
                while (message := self._next(connection)) is not None:
                    try:
                        for content, texts in _answers(self._store, message):
                            send(connection, content, texts)
                    except OSError as error:
                        if isinstance(error, ConnectionError):
                            raise
                        send(connection, _plain_error(error))
                    except Exception as error:  # any error is sent to the client
                        send(connection, _plain_error(error))
        finally:
            with self._lock:
                self._connections.discard(connection)
                self._threads.discard(threading.current_thread())

    def _next(self, connection: socket.socket) -> Message | None:
        """Wait for a call. A client that breaks the protocol gets an error, and its connection is closed."""
        try:
            return receive(connection)
        except ValueError as error:
            send(connection, _plain_error(error))
            return None


# ---- places


@contextlib.contextmanager
def address(place: Path) -> Iterator[str]:
    """Yield an address for the socket in a directory: its path, or a shorter one if the path is too long for a socket."""
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
    """Check that no other user can read or replace files in a directory. Raises PermissionError or FileNotFoundError."""
    status = os.lstat(place)
    if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o077 or not (
            status.st_uid in (os.geteuid(), 0) or os.geteuid() == 0):
        raise PermissionError(1, "must be a directory of yours with mode 0700: remove it, and the store makes it again",
                              os.fspath(place))


def _is_ours(connection: socket.socket) -> bool:
    """Tell whether a client runs as this user or as root. True if the system cannot tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return user in (os.geteuid(), 0)


# ---- calls

# Methods of a store or a session that a message may call, and their largest numbers of arguments.
CALLS: dict[str, int] = {}


def for_clients(*methods: Callable[..., Any]) -> None:
    """Allow clients to call methods. Clients cannot set `threads`."""
    for method in methods:
        CALLS[method.__name__] = len([name for name in signature(method).parameters if name not in ("self", "threads")])


def _answers(store: Any, message: Message) -> Iterator[Reply]:
    """Run the call in a message, and yield the replies. The items of an iterator are split over several replies."""
    call, session = message.content.get("call"), message.content.get("session")
    if not isinstance(call, str) or call not in CALLS:
        raise ValueError(f"the call {call!r:.80} is not known; known are {', '.join(sorted(CALLS))}")
    arguments = value_of(message.content.get("arguments"), message.texts)
    if not isinstance(arguments, list) or len(arguments) > CALLS[call]:
        raise ValueError(f"the call {call!r} takes a list of {CALLS[call]} arguments at most, got {arguments!r:.80}")
    answer = getattr(store if session is None else store.session(session), call)(*arguments)
    more = isinstance(answer, Iterator)
    while more:
        part = list(itertools.islice(answer, TOGETHER))
        more = len(part) == TOGETHER
        yield _reply(part, more)
    if not isinstance(answer, Iterator):
        yield _reply(answer, False)


def _reply(value: Any, more: bool) -> Reply:
    texts: list[bytes] = []
    return {"value": plain_of(value, texts), "more": more}, texts


# ---- errors

_ERRORS = (ValueError, TypeError, KeyError, LookupError, OSError, MemoryError)


def _plain_error(error: Exception) -> dict[str, Any]:
    """Convert an error for JSON."""
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
