"""Connections of uvicorn that are closed where a request does not come: its head has a deadline, however its bytes trickle.

uvicorn has a time for the next request of a connection, and none for the first one, and its time ends with the first byte.
https://www.uvicorn.org/settings/#timeouts
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class TimedConnection(H11Protocol):
    """A connection whose requests must have come up to their body within `seconds`; the application times bodies."""

    seconds = 30.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(self.seconds, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Take bytes. They begin the time of a request where none is being answered."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.seconds, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._forget_deadline()
        super().connection_lost(exc)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
