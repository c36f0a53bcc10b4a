"""Endpoints of a shard: the map of shards, and the transfer of the pages of a host."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from ndcore.files.json_values import to_json
from ndcore.serve.bodies import next_chunk, parse_object, read_body
from ndcore.serve.refusal import Refused
from ndcore.serve.routes import ADMIN, READ
from ndcore.serve.written_source import WrittenSource, meaning_of_errors
from ndcore.storage.staging import Staging
from ndcore.store.host_pages import pack, take_host
from ndcore.store.service_client import MAP_VERSION
from ndcore.store.shard_map import CLEAR, COPY

MOST_MAP = 64 << 20  # bytes of a map

Endpoint = Callable[[Request], Awaitable[Response]]


class ShardRoutes:
    """The endpoints, by their paths and methods.

    Parameters
    ----------
    source : WrittenSource
        A source with a `ShardMember`.
    allow : callable
        Raises Refused unless a request may use routes of a scope.
    seconds : float
        Time limit for the body with the map, and for the next bytes of an archive.
    """

    def __init__(self, source: WrittenSource, allow: Callable[[Request, str], None], seconds: float) -> None:
        assert source.member is not None
        self._source, self._member, self._allow, self._seconds = source, source.member, allow, seconds
        self.endpoints: list[tuple[str, str, Endpoint]] = [
            ("/api/shard-map", "GET", self.tell_map), ("/api/shard-map", "POST", self.take_map),
            ("/api/find-host", "POST", self.find_host), ("/api/host", "GET", self.send_host),
            ("/api/host", "PUT", self.take_host), ("/api/forget-host", "POST", self.forget_host),
            ("/api/joining-hosts", "POST", self.list_hosts),
        ]

    async def tell_map(self, request: Request) -> Response:
        """Answer with the map."""
        self._allow(request, READ)
        return _answer(self._member.map.as_dict())

    async def take_map(self, request: Request) -> Response:
        """Accept a later version of the map, and answer with the map that the shard now has."""
        given = await self._body(request)
        with meaning_of_errors():
            return _answer((await asyncio.to_thread(self._member.take_map, given)).as_dict())

    async def find_host(self, request: Request) -> Response:
        """Find and count the pages of a host ahead of a move, so that writes need not wait for the search."""
        pages = self._member.pages_of(_word(await self._body(request), "host"))
        with meaning_of_errors():
            return _answer({"pages": len(await asyncio.to_thread(pages.find))})

    async def send_host(self, request: Request) -> Response:
        """Send the pages of a host that is being moved away, as an archive of a store."""
        self._allow(request, ADMIN)
        host, version = _word(request.query_params, "host"), request.headers.get(MAP_VERSION)

        def make() -> tuple[contextlib.ExitStack, Path, int]:
            with contextlib.ExitStack() as stack:
                pages = stack.enter_context(self._member.step(version, host, "source", COPY))
                place = stack.enter_context(self._staging()).new
                count = pages.copy(place)
                archive = place.with_suffix(".tar")
                pack(place, archive)
                return stack.pop_all(), archive, count

        with meaning_of_errors():
            held, archive, count = await asyncio.to_thread(make)
        return _ArchiveResponse(archive, held, count)

    async def take_host(self, request: Request) -> Response:
        """Replace the pages of a host by the archive of a move to this shard, and answer with their number."""
        self._allow(request, ADMIN)
        host, version = _word(request.query_params, "host"), request.headers.get(MAP_VERSION)
        loop, chunks = asyncio.get_running_loop(), aiter(request.stream())
        late = f"the archive did not go on in {self._seconds:g} seconds"
        with meaning_of_errors(), self._member.step(version, host, "target", COPY) as pages, self._staging() as staging:
            archive = staging.new.with_suffix(".tar")
            with archive.open("xb") as file:
                while (chunk := await next_chunk(chunks, loop.time() + self._seconds, late)) is not None:
                    file.write(chunk)
            return _answer({"pages": await asyncio.to_thread(take_host, pages, archive, staging.new)})

    async def forget_host(self, request: Request) -> Response:
        """Remove the pages of a host that was moved away, and answer with their number."""
        host, version = _word(await self._body(request), "host"), request.headers.get(MAP_VERSION)
        with meaning_of_errors(), self._member.step(version, host, "source", CLEAR) as pages:
            return _answer({"pages": await asyncio.to_thread(pages.forget)})

    async def list_hosts(self, request: Request) -> Response:
        """List the hosts with pages here that a joining shard would get."""
        shard = _word(await self._body(request), "shard")
        with meaning_of_errors():
            return _answer({"hosts": await asyncio.to_thread(self._member.list_hosts, shard)})

    async def _body(self, request: Request) -> dict[str, Any]:
        """Read the body of a request of an admin: an object of JSON."""
        self._allow(request, ADMIN)
        body = await read_body(request.stream(), request.headers.get("content-length"), MOST_MAP, self._seconds)
        return dict(parse_object(body, "the body"))

    def _staging(self) -> Staging:
        """Return a temporary place beside the store, after removing what a killed server left there."""
        return Staging(self._source.store.path.with_name(f"{self._source.store.path.resolve().name}.host"))


class _ArchiveResponse(FileResponse):
    """A response that sends an archive, and in any case releases the step of the move at its end."""

    def __init__(self, archive: Path, held: contextlib.ExitStack, pages: int) -> None:
        super().__init__(archive, media_type="application/x-tar", headers={"ndcore-pages": str(pages)})
        self._held = held

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with self._held:
            await super().__call__(scope, receive, send)


def _word(given: Mapping[str, Any], name: str) -> str:
    """Return a parameter of a request. Raises Refused if it is missing."""
    word = given.get(name)
    if not isinstance(word, str):
        raise Refused(400, f"the parameter {name} is a string, got {word!r:.80}")
    return word


def _answer(value: object) -> Response:
    return Response(to_json(value), media_type="application/json")
