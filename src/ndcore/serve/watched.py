"""The outermost ASGI middleware of a server that writes: it counts each request and writes its line in the log."""

from __future__ import annotations

import time
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from ndcore.serve.counts import ServerCounts
from ndcore.serve.guard import App, Message, Receive, Send
from ndcore.serve.request_log import RequestLog

OTHER = "other"  # stands for all unknown paths
_NOTE = "ndcore.note"


@dataclass
class RequestNote:
    """Notes on a request in progress: the name of its token, decided pages, bytes, status."""

    token: str | None = None
    pages: int = 0
    received: int = 0
    status: int = 500


def note_of(scope: MutableMapping[str, Any]) -> RequestNote:
    """Return the notes on a request; if the server does not log, notes that are thrown away."""
    note: RequestNote = scope.setdefault(_NOTE, RequestNote())
    return note


class Watched:
    """The middleware.

    Parameters
    ----------
    app : ASGI application
    routes : mapping
        The names of routes by their paths.
    counts : ServerCounts
    log : RequestLog, optional
    """

    def __init__(self, app: App, routes: Mapping[str, str], counts: ServerCounts, log: RequestLog | None = None) -> None:
        self.app, self._routes, self._counts, self._log = app, routes, counts, log

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        note = scope[_NOTE] = RequestNote()
        came, began = time.time(), time.perf_counter()

        async def received() -> Message:
            message = await receive()
            note.received += len(message.get("body", b""))
            return message

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                note.status = message["status"]
            await send(message)

        try:
            await self.app(scope, received, sent)
        finally:
            seconds, route = time.perf_counter() - began, self._routes.get(scope["path"], OTHER)
            self._counts.count_request(route, note.status, seconds)
            if self._log is not None:
                self._log.write(came=came, token=note.token, route=route, status=note.status, seconds=seconds,
                                pages=note.pages, received=note.received)
