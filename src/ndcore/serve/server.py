"""Open a store or a collection, bind an address, and serve with uvicorn."""

from __future__ import annotations

import errno
import gc
import ipaddress
import os
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndcore._types import AnyPath
from ndcore.checks import imported
from ndcore.collection.collection import Collection
from ndcore.serve.answers import ServedSource
from ndcore.serve.collection_source import CollectionSource
from ndcore.serve.request_log import RequestLog
from ndcore.serve.shard_member import ShardMember
from ndcore.serve.store_source import StoreSource
from ndcore.serve.written_source import WrittenSource
from ndcore.storage.job_description import COLLECTION
from ndcore.store.manifest import is_store
from ndcore.store.store import Store

if TYPE_CHECKING:
    from ndcore.serve.app import Access

PURPOSE = "ndcore serve"
MOST_HEADERS = 256 << 10  # bytes; an address may hold a long key


def check_installed(purpose: str = PURPOSE) -> Any:
    """Import uvicorn, and return it. Raises ImportError unless it and Starlette, of the extra "serve", are installed."""
    imported("starlette", purpose)
    return imported("uvicorn", purpose)


def opened(path: AnyPath, seconds: float) -> ServedSource:
    """Open the store or the collection of a directory for reading.

    Raises
    ------
    FileNotFoundError
        The path holds neither.
    CorruptFile, ValueError, OSError
        As raised by `Store.open` and `Collection.open`.
    """
    place = Path(path)
    name = place.resolve().name
    if is_store(place):
        return StoreSource(Store.open(place, read_only=True), name, seconds)
    if COLLECTION.is_in(place):
        return CollectionSource(Collection.open(place), name)
    raise FileNotFoundError(errno.ENOENT, "holds neither a store nor a collection; make one with ndcore store create or "
                            "ndcore cluster", os.fspath(path))


def opened_for_writing(
    path: AnyPath, seconds: float, keep: float, backups: AnyPath | None, shard: tuple[str, AnyPath] | None = None
) -> WrittenSource:
    """Open the store of a directory for writing.

    keep: seconds for which idempotency keys are remembered; backups: the directory of backups, or None; shard: the name of
    this shard and the file of the map of shards, or None.

    Raises
    ------
    FileNotFoundError
        The path holds no store, or the directory of backups is missing.
    CorruptFile, ValueError, OSError
        As raised by `Store.open` and `ShardMember`.
    """
    place = Path(path)
    if not is_store(place):
        raise FileNotFoundError(errno.ENOENT, "holds no store; make one with ndcore store create", os.fspath(path))
    if backups is not None and not Path(backups).is_dir():
        raise FileNotFoundError(errno.ENOENT, "is not a directory; make it for the backups", os.fspath(backups))
    copies = None if backups is None else Path(backups)
    store = Store.open(place)
    try:
        member = None if shard is None else ShardMember(*shard, store)
    except BaseException:
        store.close()
        raise
    return WrittenSource(store, place.resolve().name, seconds, keep=keep, backups=copies, member=member)


def check_tls(certificate: AnyPath, key: AnyPath) -> None:
    """Raise ValueError unless the files hold a certificate and its key, OSError if they cannot be read."""
    for path in (certificate, key):
        Path(path).open("rb").close()
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        names = f"{os.fspath(certificate)} and {os.fspath(key)}"
        raise ValueError(f"{names} are not a certificate and its key as PEM: {error}") from error


def bind(host: str, port: int, *, anywhere: bool = False) -> socket.socket:
    """Bind a socket to a port of this computer.

    Parameters
    ----------
    host : str
        localhost, or an address from which only this computer can be reached: 127.0.0.1, ::1.
    port : int
        0: any free port.
    anywhere : bool
        Whether addresses that other computers can reach are accepted too.

    Raises
    ------
    ValueError
        The host can be reached from other computers, or is not known.
    OSError
        The port is in use, or needs other privileges.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ValueError(f"the host {host!r} is not known ({error}); leave it out, or give 127.0.0.1 or ::1") from error
    if not anywhere and not ipaddress.ip_address(place[0]).is_loopback:
        raise ValueError(f"the host {host!r} can be reached from other computers; only 127.0.0.1, ::1 and localhost are "
                         f"accepted. From elsewhere, use ssh -L {port or 8765}:127.0.0.1:{port or 8765}; or --write, with "
                         "--tls-certificate and --tls-key, or behind a --proxy that has them")
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
    except OSError as error:
        made.close()
        used = error.errno == errno.EADDRINUSE
        advice = "in use; choose another with --port, or --port 0 for any that is free" if used else error.strerror
        raise OSError(error.errno, str(advice), f"port {port} of {host}") from error
    return made


def write_url(bound: socket.socket, scheme: str = "http") -> str:
    """Write the URL of a bound socket."""
    host, port = bound.getsockname()[:2]
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(source: ServedSource, bound: socket.socket, limits: Any, ready: Callable[[str], None]) -> None:
    """Serve until a signal ends the process.

    Parameters
    ----------
    source : ServedSource
    bound : socket
        From `bind`.
    limits : Limits
    ready : callable
        Called with the URL as soon as requests are answered and a signal ends the process in an orderly way.

    Raises
    ------
    ImportError
        As raised by `check_installed`.
    """
    check_installed()
    from ndcore.serve.app import application

    run(application(source, limits, [host_of(bound)]), bound, ready, seconds=limits.seconds)


def host_of(bound: socket.socket) -> str:
    """Return the host part of the URL of a bound socket."""
    return write_url(bound).removeprefix("http://").rpartition(":")[0]


def run(
    application: Any, bound: socket.socket, ready: Callable[[str], None], *, seconds: float = 30.0,
    stop: Callable[[], None] | None = None, tls: tuple[AnyPath, AnyPath] | None = None,
) -> None:
    """Run an application on a bound socket until a signal ends the process; `ready` as in `serve`.

    seconds: time limit for the head of a request. stop: called when a signal arrives; requests in progress then get `LAST`
    seconds to finish. tls: files of the certificate and of its key.
    """
    uvicorn = check_installed()
    from ndcore.serve.connections import timed_connections

    certificate, key = (None, None) if tls is None else (os.fspath(tls[0]), os.fspath(tls[1]))
    config = uvicorn.Config(
        application, http=timed_connections(seconds), ws="none", loop="asyncio", lifespan="off", log_level="warning",
        access_log=False, proxy_headers=False, server_header=False, date_header=False,
        timeout_keep_alive=5, timeout_graceful_shutdown=1 if stop is None else 30,
        h11_max_incomplete_event_size=MOST_HEADERS, ssl_certfile=certificate, ssl_keyfile=key,
    )

    class Server(uvicorn.Server):  # type: ignore[misc, name-defined]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            # Only now does a signal end the process in an orderly way.
            ready(write_url(bound, "http" if tls is None else "https"))

        def handle_exit(self, *signal: Any) -> None:
            if stop is not None:
                stop()
            super().handle_exit(*signal)

    bound.listen(128)
    Server(config).run(sockets=[bound])


def serve_writing(
    source: WrittenSource, access: Access, bound: socket.socket, limits: Any, ready: Callable[[str], None],
    tls: tuple[AnyPath, AnyPath] | None = None, log: RequestLog | None = None,
) -> None:
    """Serve a store that is written through the server until a signal ends the process, then close it.

    At the end, queued pages are answered, and streams end after their current part.

    Parameters
    ----------
    source : WrittenSource
    access : Access
        As for `application`.
    bound, limits, ready
        As for `serve`.
    tls : (path, path), optional
        The certificate with its chain, and its key, as PEM.
    log : RequestLog, optional
        It is closed at the end.
    """
    check_installed()
    from ndcore.serve.app import application

    try:
        site = application(source, limits, (), access, log)
        gc.collect()
        gc.freeze()  # else the collector walks all imported modules every few seconds, and no thread runs for 15 to 30 ms
        run(site, bound, ready, seconds=limits.seconds, stop=source.stop, tls=tls)
    finally:
        if log is not None:
            log.close()
        source.close()
