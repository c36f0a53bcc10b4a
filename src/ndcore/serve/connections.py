"""Connections of uvicorn that strangers cannot hold: requests and the reading of answers have deadlines, and room is made.

uvicorn has a time for the next request of a connection, none for the first one and none for who does not read, and beyond a
number of connections it answers nobody. https://www.uvicorn.org/settings/#timeouts
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 400  # connections
LAST = 20.0  # seconds that a request that is being answered has when the server stops


def timed_connections(seconds: float) -> type[TimedConnection]:
    """Make the class of the connections of a server.

    seconds: in which a request must have come up to its body, however its bytes trickle, and in which a client must read
    what fills its connection. The application times bodies.
    """
    return type("Connection", (TimedConnection,), {"seconds": seconds, "waiting": {}})


class TimedConnection(H11Protocol):
    """A connection: where no request is being answered it waits, and the one that waits longest makes room for a new one."""

    seconds: ClassVar[float]
    waiting: ClassVar[dict[TimedConnection, None]]  # in the order in which they began to wait
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            next(iter(self.waiting), self).transport.abort()
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take bytes, and end to wait when they make a request."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._end_wait()

    def on_response_complete(self) -> None:
        """Wait for the next request, if it has not come already."""
        self._wait()
        super().on_response_complete()
        if self.cycle is not None and not self.cycle.response_complete:  # its head came with the one before
            self._end_wait()

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not read."""
        super().pause_writing()
        self._unread = self._unread or self.loop.call_later(self.seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """End to wait for it."""
        super().resume_writing()
        self._end_unread()

    def shutdown(self) -> None:
        """End the connection with its present request."""
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
