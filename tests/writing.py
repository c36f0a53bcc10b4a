"""A store that is written through a server, and tokens for it. No test is here."""

from __future__ import annotations

import contextlib
import itertools
import json
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stores import settings

import ndcore as nd

pytest.importorskip("starlette")
pytest.importorskip("httpx")

import httpx

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer versions of Starlette prefer another client
    from starlette.testclient import TestClient

from ndcore.serve.access import TokenAccess
from ndcore.serve.app import Limits, application
from ndcore.serve.shard_member import ShardMember
from ndcore.serve.tokens import TokenFile, add_token
from ndcore.serve.written_source import WrittenSource
from ndcore.store.shard_map import ShardMap
from ndcore.store.sharded import ShardClient

LINES = {"content-type": "application/x-ndjson"}


def make_tokens(place: Path) -> dict[str, str]:
    """Make a file of tokens, one for each scope and one for all, and return them."""
    made = {scope: add_token(place, scope, [scope]) for scope in ("read", "write", "admin")}
    return {**made, "all": add_token(place, "all", ["read", "write", "admin"])}


class Written:
    """An application that writes to a store of small texts (`stores`), and what asks it. shard: its name and its map."""

    def __init__(
        self, place: Path, seconds: float = 30.0, proxies: tuple[str, ...] = (), shard: tuple[str, Path] | None = None,
        **options: Any,
    ) -> None:
        self.tokens = make_tokens(place / "tokens")
        self.store = nd.Store.open(place / "store", **settings(**({} if shard is None else {"scope": "host"})))
        (place / "backups").mkdir()
        member = None if shard is None else ShardMember(*shard, self.store)
        self.source = WrittenSource(self.store, "store", seconds, backups=place / "backups", member=member, **options)
        access = TokenAccess(TokenFile(place / "tokens"), proxies)
        self.app = application(self.source, Limits(seconds=seconds, text=100_000), (), access)
        self.client = TestClient(self.app, base_url="http://dedup.example:8765")
        self.http = reach(self.client)

    def ask(self, route: str, body: Any = None, scope: str = "all", **given: Any) -> Any:
        """Ask a route: lines for a list, JSON for a dict, by GET without a body."""
        headers = {"authorization": f"Bearer {self.tokens[scope]}", **given.pop("headers", {})}
        if body is None:
            return self.http.get(f"/api/{route}", headers=headers, **given)
        if isinstance(body, list):
            content = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in body)
            return self.http.post(f"/api/{route}", content=content, headers={**LINES, **headers}, **given)
        kind = {"content-type": "application/json"}
        return self.http.post(f"/api/{route}", content=json.dumps(body), headers={**kind, **headers}, **given)


@contextlib.contextmanager
def written(place: Path, **options: Any) -> Iterator[Written]:
    """Give an application, and close its store."""
    made = Written(place, **options)
    try:
        with made.client:
            yield made
    finally:
        made.source.close()


class Killed(BaseException):
    """Who asks the shards is killed."""


class Fleet:
    """Applications that serve the shards of a store, a, b and c, which clients reach without a socket.

    address: of a shard, its name in braces.
    before, after: called with the method, the shard and the path of each request of a `ShardClient`, before and after it.
    """

    def __init__(
        self, place: Path, monkeypatch: pytest.MonkeyPatch, names: Iterable[str] = "abc", address: str = "http://{}.example"
    ) -> None:
        self.map = ShardMap(1, {name: address.format(name) for name in names}, "5a" * 16)
        self.shards: dict[str, Written] = {}
        self.before: Callable[[str, str, str], None] = lambda *_: None
        self.after: Callable[[str, str, str], None] = lambda *_: None
        self._place = place
        for name in self.map.shards:
            self.serve(name)

        def opened(httpx: Any) -> Any:
            return lambda base_url, **_: _FleetConnection(self, base_url.split("/")[2].partition(".")[0], base_url)

        monkeypatch.setattr(ShardClient, "_open", staticmethod(opened))

    def serve(self, name: str) -> None:
        """Serve an empty shard, which has the first map."""
        (self._place / name).mkdir()
        self.map.write(self._place / name / "map")
        self.shards[name] = Written(self._place / name, shard=(name, self._place / name / "map"))
        self.shards[name].client.__enter__()

    def host_at(self, shard: str, number: int = 0) -> str:
        """Return a host of a shard by the first map."""
        hosts = (f"h{i}.example" for i in itertools.count())
        return next(itertools.islice((host for host in hosts if self.map.owner(host) == shard), number, None))

    def maps(self) -> list[ShardMap]:
        """The maps of the shards."""
        return [shard.source.member.map for shard in self.shards.values() if shard.source.member is not None]

    @contextlib.contextmanager
    def killing(self, number: int, *, late: bool) -> Iterator[None]:
        """Raise `Killed` at the request of a number, from 0 on, and at all behind it: before it, or `late`, after it."""
        left = number

        def kill(method: str, name: str, path: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed

        setattr(self, "after" if late else "before", kill)
        try:
            yield
        finally:
            self.before = self.after = lambda *_: None

    def close(self) -> None:
        """Close the stores."""
        for shard in self.shards.values():
            shard.client.__exit__()
            shard.source.close()


class _FleetConnection(httpx.Client):
    """What httpx is to a `ShardClient`."""

    def __init__(self, fleet: Fleet, name: str, base_url: str) -> None:
        shard = fleet.shards[name]
        super().__init__(base_url=base_url, headers={"authorization": f"Bearer {shard.tokens['all']}"},
                         transport=_InThreadOf(shard.client), trust_env=False)
        self._fleet, self._name = fleet, name

    def send(self, request: Any, **given: Any) -> Any:
        """Send a request, and tell the fleet."""
        told = request.method, self._name, request.url.path
        self._fleet.before(*told)
        answer = super().send(request, **given)
        self._fleet.after(*told)
        return answer


class _InThreadOf(httpx.BaseTransport):
    """Lets an application answer in the thread of a `TestClient` that has been entered, whole requests at a time."""

    def __init__(self, client: TestClient) -> None:
        self._client, self._asked = client, httpx.ASGITransport(client.app, client=("testclient", 50000))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer, which has been read."""
        assert self._client.portal is not None
        return self._client.portal.call(self._answer, httpx.Request(
            request.method, request.url, headers=request.headers, content=request.read()))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = await self._asked.handle_async_request(request)
        return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(await answer.aread()))


def reach(client: TestClient) -> httpx.Client:
    """Return a client for an application that a `TestClient` has entered, by one change of threads for each request."""
    return httpx.Client(base_url=client.base_url, transport=_InThreadOf(client), trust_env=False)


class Serving:
    """A process ``ndcore serve --write``: its address, and how it ends."""

    def __init__(self, store: Path, tokens: Path, *options: str, port: int = 0) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ndcore", "serve", "--write", str(store), "--tokens", str(tokens), "--port", str(port),
             "--json", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(self._process.communicate()[1])
        self.url = json.loads(line)["url"]
        self.port = int(self.url.rstrip("/").rpartition(":")[2])

    def end(self, signal_: int = signal.SIGTERM) -> str:
        """End the process, and return what it wrote to standard error."""
        self._process.send_signal(signal_)
        return self._process.communicate(timeout=60)[1]

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid


def serve_shards(place: Path, ports: dict[str, int], names: Iterable[str]) -> dict[str, Serving]:
    """Start processes that serve shards, each with the map in a file of its own, ``map-NAME``; `place` has the tokens."""
    return {name: Serving(place / name, place / "tokens", "--shard", name, "--shard-map", str(place / f"map-{name}"),
                          port=ports[name]) for name in names}


def make_shards(place: Path, names: str) -> tuple[ShardMap, dict[str, int]]:
    """Make the stores of shards on free ports of this computer, and their map; return the map and the ports."""
    ports = {}
    for name in names:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports[name] = free.getsockname()[1]
    made = ShardMap(1, {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}, "5a" * 16)
    for name in names:
        make_store(place / name, scope="host")
        made.write(place / f"map-{name}")
    return made, ports


def make_store(place: Path, **other: Any) -> Path:
    """Make an empty store with the settings of small texts."""
    with nd.Store.open(place, **settings(**other)):
        return place
