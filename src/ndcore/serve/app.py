"""The ASGI application: it answers each route as a page and as JSON, behind the guard, on a bounded number of threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from inspect import iscoroutinefunction
from typing import Any, Protocol, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as Path

from ndcore.files.json_values import to_json
from ndcore.serve.answers import PageDecision, ServedSource, encode
from ndcore.serve.arrow_bodies import ArrowAnswers, ArrowRows
from ndcore.serve.bodies import (
    LINES,
    check_coding,
    check_texts,
    is_arrow,
    parse_body,
    parse_object,
    parse_query,
    read_body,
    read_lines,
    wants_arrow,
)
from ndcore.serve.guard import App, Guard
from ndcore.serve.openapi import openapi
from ndcore.serve.pages import PAGE_POLICY, SHOW, show_problem
from ndcore.serve.probes import ProbeRoutes
from ndcore.serve.refusal import Refused
from ndcore.serve.request_log import RequestLog
from ndcore.serve.routes import READ, Route, paths_of
from ndcore.serve.shard_routes import ShardRoutes
from ndcore.serve.watched import Watched, note_of
from ndcore.serve.written_source import StreamPart, WrittenSource
from ndcore.store.service_client import MAP_VERSION

MOST_TEXT, SECONDS = 16 << 20, 30.0

log = logging.getLogger("ndcore.serve")


@dataclass(frozen=True)
class Limits:
    """Limits of a request: bytes of a text, and seconds to read a body or to answer."""

    text: int = MOST_TEXT
    seconds: float = SECONDS


class Access(Protocol):
    """Who may ask for what.

    check: return the name of the client; raise Refused unless its request may use routes of the scope `needed`.
    """

    def check(self, scope: MutableMapping[str, Any], needed: str) -> str: ...


def application(
    source: ServedSource, limits: Limits | None = None, hosts: Iterable[str] = (), access: Access | None = None,
    log: RequestLog | None = None,
) -> App:
    """Make the ASGI application that serves a store or a collection.

    Parameters
    ----------
    source : StoreSource or CollectionSource
    limits : Limits, optional
    hosts : iterable of str
        Names of this computer that the Host header may have, beside localhost, 127.0.0.1 and [::1].
    access : Access, optional
        Checked before the body of a request is read. With it, only programs are served, from any address, and no pages.
    log : RequestLog, optional
        The log of requests; only for a store that is written through the server.
    """
    limits = limits or Limits()
    work = WorkerThreads(limits.seconds)
    routes = []
    for named in paths_of(source.kind).values():
        by_method = {route.method: route for route in named}
        methods = list(by_method)
        for path, as_page in ((named[0].page, True), (named[0].api, False)):
            if named[0].streamed and not as_page:
                routes.append(Path(path, _make_stream(source, named[0], limits, access), methods=methods))
            elif access is None or not as_page:
                routes.append(Path(path, _make_endpoint(source, by_method, as_page, limits, work, access), methods=methods))
    document = _describe(source.kind)

    async def described(request: Request) -> Response:
        return Response(document, media_type="application/json")

    routes.append(Path("/openapi.json", described))
    if isinstance(source, WrittenSource) and source.member is not None:
        shard = ShardRoutes(source, lambda request, scope: _allow(request, access, scope), limits.seconds)
        routes += [Path(path, _failing_well(path, endpoint), methods=[method]) for path, method, endpoint in shard.endpoints]
    if isinstance(source, WrittenSource) and access is not None:
        probes = ProbeRoutes(source, lambda request: _allow(request, access, READ), work.run)
        routes += [Path(path, endpoint) for path, endpoint in probes.endpoints.items()]
    pages = access is None
    site = Starlette(routes=routes, exception_handlers=_problem_handlers(pages))
    site.router.redirect_slashes = False
    guard = Guard(site, lambda scope, error: _answer_problem(error, scope["path"], pages), hosts if pages else None)
    if not isinstance(source, WrittenSource):
        return guard
    names = {path.path: path.path.removeprefix("/api").strip("/").replace("-", "_") for path in routes}
    return Watched(guard, names, source.counts, log)


@cache
def _describe(kind: str) -> bytes:
    """Encode the OpenAPI document of a server."""
    return to_json(openapi(kind), indent=1)


def _allow(request: Request, access: Access | None, scope: str) -> None:
    """Check that a request may use routes of a scope, and note the client. Raises Refused otherwise."""
    if access is not None:
        note_of(request.scope).token = access.check(request.scope, scope)


def _check_version(source: ServedSource, request: Request) -> None:
    """Raise Refused if the client has another version of the map of shards."""
    if isinstance(source, WrittenSource) and source.member is not None:
        source.member.check_version(request.headers.get(MAP_VERSION))


def _check_words(source: ServedSource, route: Route, values: dict[str, Any]) -> None:
    """Raise Refused if a request looks up a page of another shard. Slow for long keys, which are normalised."""
    if isinstance(source, WrittenSource) and source.member is not None and route.scope == READ:
        for name in ("key", "a", "b"):
            if name in values:
                source.member.check_word(values[name])


def _make_endpoint(
    source: ServedSource, routes: dict[str, Route], as_page: bool, limits: Limits, work: WorkerThreads,
    access: Access | None,
) -> Callable[[Request], Any]:
    """Make the endpoint that answers a route as a page or as JSON."""
    def render(route: Route, answer: Any, values: dict[str, Any]) -> bytes:
        return SHOW[route.name](answer, values).encode("utf-8", "replace") if as_page else encode(answer)

    def respond(route: Route, values: dict[str, Any]) -> bytes:
        _check_words(source, route, values)
        return render(route, getattr(source, route.name)(values), values)

    async def endpoint(request: Request) -> Response:
        route = routes["GET" if request.method == "HEAD" else request.method]
        _allow(request, access, route.scope)
        given = parse_query(request.scope["query_string"])
        given += [("idempotency_key", key.strip('"')) for key in request.headers.getlist("idempotency-key")]
        if route.posted:
            check_coding(request.headers.get("content-encoding"))
            body = await read_body(request.stream(), request.headers.get("content-length"), limits.text, limits.seconds)
            given += parse_body(route, request.headers.get("content-type", ""), body, as_page)
        values = route.values(given)
        check_texts(values, limits.text)
        _check_version(source, request)
        try:
            if iscoroutinefunction(getattr(source, route.name)):
                content = render(route, await getattr(source, route.name)(values), values)
            else:
                content = await work.run(respond, route, values)
        except Refused:
            raise
        except Exception as error:
            raise _fail(route.name, error) from error
        if as_page:
            return Response(content, media_type="text/html", headers={"content-security-policy": PAGE_POLICY})
        note_of(request.scope).pages += route.answer is PageDecision
        return Response(content, media_type="application/json")

    return endpoint


def _make_stream(source: ServedSource, route: Route, limits: Limits, access: Access | None) -> Callable[[Request], Any]:
    """Make the endpoint of a route whose body and answer are streams of JSON lines or of Arrow."""
    async def parts(request: Request, rows: ArrowRows | None) -> AsyncIterator[StreamPart]:
        read: AsyncIterator[list[Any]] = (
            read_lines(request.stream(), limits.text, limits.seconds, sized="content-length" in request.headers)
            if rows is None else rows.parts())
        number = 0
        async for pages in read:
            yield partial(parse, pages, number, "line" if rows is None else "row")
            number += len(pages)

    def parse(
        pages: list[Any], number: int, unit: str, give_way: Callable[[], None]
    ) -> tuple[list[dict[str, Any]], Refused | None]:
        part: list[dict[str, Any]] = []
        try:
            for page in pages:
                give_way()
                values = route.values(parse_object(page, "it") if unit == "line" else page)
                check_texts(values, limits.text)
                part.append(values)
        except Refused as error:
            number += len(part) + 1
            return part, Refused(error.status, f"{unit} {number} of the stream: {error.message}")
        return part, None

    async def endpoint(request: Request) -> Response:
        _allow(request, access, route.scope)
        _check_version(source, request)
        check_coding(request.headers.get("content-encoding"))
        sent = is_arrow(request.headers.get("content-type", ""))
        rows = ArrowRows(request.stream(), limits.text, limits.seconds) if sent else None
        encoder = ArrowAnswers(rows) if wants_arrow(",".join(request.headers.getlist("accept")), sent) else _LineAnswers()
        answers: AsyncIterator[list[Any]] = getattr(source, route.name)(parts(request, rows))
        try:
            first: list[Any] = await anext(answers, [])
        except (Refused, ClientDisconnect):
            raise
        except Exception as error:
            raise _fail(route.name, error) from error
        return _StreamedAnswers(route, first, answers, encoder)

    return endpoint


class _LineAnswers:
    """Encode answers as JSON lines; if the stream ends early, the last line has the reason."""

    media_type = LINES[0]

    def encode(self, answers: list[Any]) -> bytes:
        return b"".join(encode(answer) + b"\n" for answer in answers)

    def encode_problem(self, problem: dict[str, Any]) -> bytes:
        return to_json({"error": problem}) + b"\n"

    def finish(self) -> bytes:
        return b""


class _StreamedAnswers(Response):
    """A response that sends answers as they are ready, and the reason if it ends early."""

    def __init__(self, route: Route, first: list[Any], others: AsyncIterator[list[Any]],
                 encoder: ArrowAnswers | _LineAnswers) -> None:
        self.status_code, self.background, self.body, self.media_type = 200, None, b"", encoder.media_type
        self.init_headers()
        del self.raw_headers[0]  # Content-Length: the length of a stream is not known
        self._route, self._first, self._others, self._encoder = route, first, others, encoder

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        answers = self._first
        try:
            while answers:
                note_of(scope).pages += len(answers)
                await self._send(send, self._encoder.encode(answers))
                answers = await anext(self._others, [])
        except ClientDisconnect:
            return
        except Refused as error:
            await self._send(send, self._encoder.encode_problem(_problem(error)))
        except Exception as error:
            await self._send(send, self._encoder.encode_problem(_problem(_fail(self._route.name, error))))
        await self._send(send, self._encoder.finish(), more=False)

    async def _send(self, send: Any, body: bytes, more: bool = True) -> None:
        await send({"type": "http.response.body", "body": body, "more_body": more})


# ---- requests that fail


def _failing_well(name: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Any]:
    """Wrap an endpoint so that its unexpected errors become refusals."""
    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (Refused, ClientDisconnect):
            raise
        except Exception as error:
            raise _fail(name, error) from error

    return answered


def _fail(name: str, error: Exception) -> Refused:
    """Return the refusal of a request that failed, and log why."""
    log.error("%s cannot be answered", name, exc_info=error)
    return Refused(500, "the question could not be answered; the terminal of the server says why")


def _problem(error: Refused) -> dict[str, Any]:
    """Return a problem for JSON (RFC 9457)."""
    kind = {} if error.kind is None else {"type": error.kind}
    return {**kind, "title": HTTPStatus(error.status).phrase, "status": error.status, "detail": error.message}


def _answer_problem(error: Refused, path: str, pages: bool) -> Response:
    """Answer with a problem, as a page or as JSON."""
    if not pages or path.startswith("/api/") or path == "/openapi.json":
        return Response(to_json(_problem(error)), error.status, error.headers, "application/problem+json")
    page = show_problem(error.status, HTTPStatus(error.status).phrase, error.message).encode("utf-8", "replace")
    return Response(page, error.status, {**error.headers, "content-security-policy": PAGE_POLICY}, "text/html")


def _problem_handlers(pages: bool) -> dict[Any, Callable[[Request, Any], Awaitable[Response]]]:
    """Make the handlers of errors, which answer as pages if the server has pages, and as JSON under the paths of JSON."""
    words = {
        404: "there is no page of this name; keys are looked up by their value, not by a path",
        405: "the method {method:.20} is not accepted here",
    }

    async def refuse(request: Request, error: Refused) -> Response:
        return _answer_problem(error, request.scope["path"], pages)

    async def refuse_path(request: Request, error: HTTPException) -> Response:
        message = words.get(error.status_code, str(error.detail)).format(method=request.method)
        return _answer_problem(Refused(error.status_code, message, dict(error.headers or {})), request.scope["path"], pages)

    async def leave(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=400)  # the client disconnected while its request was read

    return {HTTPException: refuse_path, Refused: refuse, ClientDisconnect: leave}


T = TypeVar("T")

THREADS, WAITING = 4, 32


class WorkerThreads:
    """Threads that answer requests.

    Parameters
    ----------
    seconds : float
        The time limit of a request. A request that takes longer is refused, and its thread is free when the function
        returns. While all threads are busy and the queue is full, further requests are refused at once.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ndcore-serve")
        self._running = 0

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a function on a thread, and return its result. Raises Refused if that takes too long."""
        if self._running >= THREADS + WAITING:
            raise Refused(503, f"the server is busy with {self._running} requests; ask again in a few seconds",
                          {"retry-after": "2"})
        self._running += 1
        future = self._threads.submit(function, *arguments)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._finished))
        return await self.within(asyncio.wrap_future(future))

    async def within(self, work: Awaitable[T]) -> T:
        """Await something within the time limit of a request. Raises Refused if it takes longer."""
        try:
            return await asyncio.wait_for(work, self.seconds)
        except TimeoutError:
            raise Refused(503, f"the answer takes longer than {self.seconds:g} seconds; ask for less, or start the server "
                               "with a larger --timeout") from None

    def _finished(self) -> None:
        self._running -= 1
