"""The ASGI application: each route as a page and as JSON, behind the guard, answered on bounded threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as Path

from ndcore.files.json_values import to_json
from ndcore.serve.answers import ServedSource, encode
from ndcore.serve.bodies import check_texts, parse_body, parse_query, read_body
from ndcore.serve.guard import App, Guard
from ndcore.serve.openapi import openapi
from ndcore.serve.pages import PAGE_POLICY, SHOW, show_problem
from ndcore.serve.refusal import Refused
from ndcore.serve.routes import Route, paths_of

MOST_TEXT, SECONDS = 16 << 20, 30.0

log = logging.getLogger("ndcore.serve")


@dataclass(frozen=True)
class Limits:
    """Limits of a request: bytes of a text, and seconds to read a body or to answer."""

    text: int = MOST_TEXT
    seconds: float = SECONDS


def application(source: ServedSource, limits: Limits | None = None, hosts: Iterable[str] = ()) -> App:
    """Make the ASGI application that serves a store or a collection.

    Parameters
    ----------
    source : StoreSource or CollectionSource
    limits : Limits, optional
    hosts : iterable of str
        Names of this computer that requests may name, beside localhost, 127.0.0.1 and [::1].
    """
    limits = limits or Limits()
    work = WorkerThreads(limits.seconds)
    routes = []
    for named in paths_of(source.kind).values():
        by_method = {route.method: route for route in named}
        methods = list(by_method)
        for path, as_page in ((named[0].page, True), (named[0].api, False)):
            routes.append(Path(path, _make_endpoint(source, by_method, as_page, limits, work), methods=methods))
    document = to_json(openapi(source.kind), indent=1)

    async def described(request: Request) -> Response:
        return Response(document, media_type="application/json")

    routes.append(Path("/openapi.json", described))
    handlers: Any = {HTTPException: _answer_wrong_path, Refused: _answer_refusal, ClientDisconnect: _answer_nobody}
    site = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(site, lambda scope, error: _answer_problem(scope["path"], error), hosts)


def _make_endpoint(
    source: ServedSource, routes: dict[str, Route], as_page: bool, limits: Limits, work: WorkerThreads
) -> Callable[[Request], Any]:
    """Make the endpoint of a page or of its JSON."""
    def answered(route: Route, asked: dict[str, Any]) -> bytes:
        answer = getattr(source, route.name)(asked)
        if not as_page:
            return encode(answer)
        return SHOW[route.name](answer, asked).encode("utf-8", "replace")

    async def endpoint(request: Request) -> Response:
        route = routes["GET" if request.method == "HEAD" else request.method]
        given = parse_query(request.scope["query_string"])
        if route.posted:
            body = await work.within(read_body(request.stream(), request.headers.get("content-length"), limits.text))
            given += parse_body(route, request.headers.get("content-type", ""), body, as_page)
        asked = route.values(given)
        check_texts(asked, limits.text)
        try:
            content = await work.run(answered, route, asked)
        except Refused:
            raise
        except Exception as error:
            log.exception("%s cannot be answered", route.name)
            raise Refused(500, "the question could not be answered; the terminal of the server says why") from error
        if as_page:
            return Response(content, media_type="text/html", headers={"content-security-policy": PAGE_POLICY})
        return Response(content, media_type="application/json")

    return endpoint


# ---- requests without an answer


def _answer_problem(path: str, error: Refused, headers: dict[str, str] | None = None) -> Response:
    """Answer with a problem, as a page or as JSON (RFC 9457)."""
    title = HTTPStatus(error.status).phrase
    given = dict(headers or {})
    if path.startswith("/api/") or path == "/openapi.json":
        content = to_json({"title": title, "status": error.status, "detail": error.message})
        return Response(content, error.status, given, "application/problem+json")
    page = show_problem(error.status, title, error.message).encode("utf-8", "replace")
    return Response(page, error.status, {**given, "content-security-policy": PAGE_POLICY}, "text/html")


async def _answer_refusal(request: Request, error: Refused) -> Response:
    """Answer a request that was refused."""
    return _answer_problem(request.scope["path"], error)


async def _answer_wrong_path(request: Request, error: HTTPException) -> Response:
    """Answer requests for other paths, or by other methods."""
    words = {
        404: "there is no page of this name; keys are looked up by their value, not by a path",
        405: f"the method {request.method:.20} is not accepted here",
    }
    message = words.get(error.status_code, str(error.detail))
    return _answer_problem(request.scope["path"], Refused(error.status_code, message), dict(error.headers or {}))


async def _answer_nobody(request: Request, error: ClientDisconnect) -> Response:
    """Answer nobody: the client has left while its request was read."""
    return Response(status_code=400)


T = TypeVar("T")

THREADS, WAITING = 4, 32


class WorkerThreads:
    """Threads that answer requests.

    Parameters
    ----------
    seconds : float
        A request that takes longer is refused. Its thread ends when its step does; as long as all threads are busy and the
        queue is full, further requests are refused at once.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ndcore-serve")
        self._running = 0

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a function on a thread, and return its result. Raises Refused if that takes too long."""
        if self._running >= THREADS + WAITING:
            raise Refused(503, f"the server is busy with {self._running} requests; ask again in a few seconds")
        self._running += 1
        future = self._threads.submit(function, *arguments)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._finished))
        return await self.within(asyncio.wrap_future(future))

    async def within(self, work: Awaitable[T]) -> T:
        """Await something for the time that a request may take. Raises Refused if it takes longer."""
        try:
            return await asyncio.wait_for(work, self.seconds)
        except TimeoutError:
            raise Refused(503, f"the answer takes longer than {self.seconds:g} seconds; ask for less, or start the server "
                               "with a larger --timeout") from None

    def _finished(self) -> None:
        self._running -= 1
