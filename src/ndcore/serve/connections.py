"""Connections of uvicorn with deadlines, so that slow or idle clients cannot occupy all of them.

uvicorn limits the wait for the next request of a connection, but neither the wait for its first request nor a client that
does not read its answer; and beyond a number of connections it answers none. Here both are limited, and when all
connections are taken, the one that has been idle longest is closed. https://www.uvicorn.org/settings/#timeouts
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 400  # connections
LAST = 20.0  # seconds that requests in progress get when the server stops


def timed_connections(seconds: float) -> type[TimedConnection]:
    """Make the connection class of a server.

    seconds: time limit for a client to send the head of a request, and to read an answer that fills the buffer of its
    connection. The application limits the time for bodies.
    """
    return type("Connection", (TimedConnection,), {"seconds": seconds, "waiting": {}})


class TimedConnection(H11Protocol):
    """A connection. While no request of it is being answered it is idle; the longest idle one is closed for a new one."""

    seconds: ClassVar[float]
    waiting: ClassVar[dict[TimedConnection, None]]  # idle connections, the longest idle first
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the time limit of the first request."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            next(iter(self.waiting), self).transport.abort()
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Receive bytes, and stop the time limit when the head of a request is complete."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._end_wait()

    def on_response_complete(self) -> None:
        """Start the time limit of the next request, unless it has arrived already."""
        self._wait()
        super().on_response_complete()
        if self.cycle is not None and not self.cycle.response_complete:  # its head arrived with the previous request
            self._end_wait()

    def pause_writing(self) -> None:
        """Start the time limit for a client that does not read."""
        super().pause_writing()
        self._unread = self._unread or self.loop.call_later(self.seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop that time limit: the client reads again."""
        super().resume_writing()
        self._end_unread()

    def shutdown(self) -> None:
        """Close the connection after the request in progress."""
        super().shutdown()
        self.loop.call_later(LAST, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._end_wait()
        self._end_unread()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._end_wait()
        self.waiting[self] = None
        self._deadline = self.loop.call_later(self.seconds, self.transport.abort)

    def _end_wait(self) -> None:
        self.waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()

    def _end_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
