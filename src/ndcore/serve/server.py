"""Open a store or a collection, bind an address of this computer, and serve with uvicorn."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ndcore._types import AnyPath
from ndcore.checks import imported
from ndcore.collection.collection import Collection
from ndcore.serve.answers import ServedSource
from ndcore.serve.collection_source import CollectionSource
from ndcore.serve.store_source import StoreSource
from ndcore.storage.job_description import COLLECTION
from ndcore.store.manifest import is_store
from ndcore.store.store import Store

PURPOSE = "ndcore serve"
MOST_HEADERS = 256 << 10  # bytes; an address may hold a long key


def check_installed() -> Any:
    """Import uvicorn, and return it. Raises ImportError unless it and Starlette, of the extra "serve", are installed."""
    imported("starlette", PURPOSE)
    return imported("uvicorn", PURPOSE)


def opened(path: AnyPath, seconds: float) -> ServedSource:
    """Open the store or the collection of a directory for reading.

    Raises
    ------
    FileNotFoundError
        The path holds none.
    CorruptFile, ValueError, OSError
        As `Store.open` and `Collection.open`.
    """
    place = Path(path)
    name = place.resolve().name
    if is_store(place):
        return StoreSource(Store.open(place, read_only=True), name, seconds)
    if COLLECTION.is_in(place):
        return CollectionSource(Collection.open(place), name)
    raise FileNotFoundError(errno.ENOENT, "holds neither a store nor a collection; make one with ndcore store create or "
                            "ndcore cluster", os.fspath(path))


def bind(host: str, port: int) -> socket.socket:
    """Bind a socket to a port of this computer.

    Parameters
    ----------
    host : str
        localhost, or an address from which only this computer can be reached: 127.0.0.1, ::1.
    port : int
        0: any that is free.

    Raises
    ------
    ValueError
        The host can be reached from other computers, or is not known.
    OSError
        The port is in use, or needs other rights.
    """
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ValueError(f"the host {host!r} is not known ({error}); leave it out, or give 127.0.0.1 or ::1") from error
    if not ipaddress.ip_address(place[0]).is_loopback:
        raise ValueError(f"the host {host!r} can be reached from other computers; only 127.0.0.1, ::1 and localhost are "
                         f"accepted. From elsewhere, use ssh -L {port or 8765}:127.0.0.1:{port or 8765}")
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


def write_url(bound: socket.socket) -> str:
    """Return the address of a bound socket for a browser."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(source: ServedSource, bound: socket.socket, limits: Any, ready: Callable[[str], None]) -> None:
    """Serve until a signal ends the process.

    Parameters
    ----------
    source : ServedSource
    bound : socket
        Of `bind`.
    limits : Limits
    ready : callable
        Called with the address before the first request is answered.

    Raises
    ------
    ImportError
        As `check_installed`.
    """
    check_installed()
    from ndcore.serve.app import application

    run(application(source, limits, [host_of(bound)]), bound, ready)


def host_of(bound: socket.socket) -> str:
    """Return the name of this computer in the address of a bound socket."""
    return write_url(bound).removeprefix("http://").rpartition(":")[0]


def run(application: Any, bound: socket.socket, ready: Callable[[str], None]) -> None:
    """Run an application on a bound socket until a signal ends the process; `ready` as in `serve`."""
    uvicorn = check_installed()
    config = uvicorn.Config(
        application, http="h11", ws="none", loop="asyncio", lifespan="off", log_level="warning",
        access_log=False, proxy_headers=False, server_header=False, date_header=False, limit_concurrency=256,
        timeout_keep_alive=5, timeout_graceful_shutdown=1, h11_max_incomplete_event_size=MOST_HEADERS,
    )
    bound.listen(128)  # whoever reads the address may ask at once
    ready(write_url(bound))
    uvicorn.Server(config).run(sockets=[bound])
