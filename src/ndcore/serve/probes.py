"""Endpoints for monitoring a server that writes: /metrics, which needs a token; /health and /ready, which do not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property

from starlette.requests import Request
from starlette.responses import Response

from ndcore.files.json_values import to_json
from ndcore.serve.metrics import Metrics
from ndcore.serve.refusal import Refused
from ndcore.serve.written_source import WrittenSource

Endpoint = Callable[[Request], Awaitable[Response]]


class ProbeRoutes:
    """The endpoints, by their paths.

    Parameters
    ----------
    source : WrittenSource
    allow : callable
        Raises Refused unless a request may use routes of the scope read.
    run : callable
        Runs a function on a thread, like `WorkerThreads.run`.
    """

    def __init__(
        self, source: WrittenSource, allow: Callable[[Request], None],
        run: Callable[[Callable[[], bytes]], Awaitable[bytes]],
    ) -> None:
        self._source, self._allow, self._run = source, allow, run
        self.endpoints: dict[str, Endpoint] = {"/metrics": self.metrics, "/health": self.health, "/ready": self.ready}

    @cached_property
    def _metrics(self) -> Metrics:
        return Metrics(self._source)

    async def metrics(self, request: Request) -> Response:
        """Answer with all metrics; with 404 if their library is not installed."""
        self._allow(request)
        try:
            metrics = self._metrics
        except ImportError as error:
            raise Refused(404, str(error)) from error
        return Response(await self._run(metrics.text), headers={"content-type": metrics.content_type})

    async def health(self, request: Request) -> Response:
        """Answer with 200: the process runs."""
        return Response(to_json({"healthy": True}), media_type="application/json")

    async def ready(self, request: Request) -> Response:
        """Answer with 200 if the server accepts pages; otherwise with 503 and the reason."""
        obstacle = self._source.obstacle
        if obstacle is not None:
            raise Refused(503, obstacle, {"retry-after": "5"})
        return Response(to_json({"ready": True}), media_type="application/json")
