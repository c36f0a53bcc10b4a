"""Clients say what the store says, send again what got no answer, and lose and repeat nothing when servers are killed."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from stores import FIELDS
from writing import Serving, Written, make_store, make_tokens, written

import ndcore as nd
from ndcore.reference.store import BruteForceStore as Reference
from ndcore.store import service_client as module
from ndcore.store.overall import OverallVerdict
from ndcore.store.service_client import AsyncServiceClient, Call, Reply, ServiceClient

PAGES: list[tuple[Any, Any, float]] = [
    ("a", "one two three four", 1.0), ("b", b"one two three four", 2.0), (7, "one two three four five", 3.0),
    (b"\xff", "p \ud800 q", 4.0), ("a", "one two three FOUR", 5.0), ("a", "other words here", 6.0), ("ü", "ü ö ä", 7.0),
]  # fmt: skip


OVERALL = [
    OverallVerdict("kept", None, None, None, "run", 1, True), OverallVerdict("near", b"\xff", "west", 0.5, "ü", -1, False),
    OverallVerdict("identical", 7, None, 1.0, "run", 2, True),
]


class Words(str):
    """A kind of str."""


@pytest.mark.parametrize("fast", [False, True])
def test_bodies_are_json_with_msgspec_and_without(monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    if fast:
        pytest.importorskip("msgspec")
    else:
        monkeypatch.setattr(module, "_make_fast_encoder", lambda: None)
    texts = ("", 'a "b" \\ \n\x00\x7f\u2028 é 𝄞', "\ud800", Words("kind"), "x" * 5000)
    rows: list[dict[str, Any]] = [
        {"key": key, "text": text} for key in ("k", 2**63 - 1, -(2**63), {"bytes": "ff"}) for text in texts]  # fmt: skip
    content, kind = module._content(rows)
    assert kind == "application/x-ndjson" and content.endswith(b"\n") and content.count(b"\n") == len(rows)
    assert list(map(json.loads, content.splitlines())) == rows
    for row in rows:
        content, kind = module._content(row)
        assert (json.loads(content), kind) == (row, "application/json")


class Direct(ServiceClient):
    """A client that asks an application without a socket."""

    def __init__(self, asked: Written, scope: str = "all", tries: int = 6) -> None:
        self.url, self._tries, self._errors, self.lost = "http://x", tries, (ConnectionResetError,), 0
        self._asked, self._scope = asked, scope
        self._http = self

    def request(self, method: str, url: str, **given: Any) -> Any:
        """Ask, and lose some answers."""
        headers = {"authorization": f"Bearer {self._asked.tokens[self._scope]}", **given.pop("headers", {})}
        response = self._asked.client.request(method, f"/api/{url}", headers=headers, **given)
        if self.lost:
            self.lost -= 1
            raise ConnectionResetError("lost")
        return response

    def close(self) -> None:
        """Close nothing."""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lambda _: None))
    with written(tmp_path) as made:
        yield made


def test_a_client_says_what_the_store_says(asked: Written, tmp_path: Path) -> None:
    client, store = Direct(asked), asked.store
    reference = Reference(threshold=0.5, width=2)
    verdicts = [client.decide(*PAGES[0]), *client.decide_many(PAGES[1:])]
    for page, verdict in zip(PAGES, verdicts, strict=True):
        told = reference.decide(*page)
        assert [getattr(verdict, name) for name in FIELDS] == [getattr(told, name) for name in FIELDS]
        assert verdict.date == int(page[2] * 1e6)
    assert len(client) == len(store) == 5 and "a" in client and b"\xff" in client and 7 in client and "7" not in client
    for key in ("a", "b", 7, b"\xff", "ü"):
        assert client.cluster(key) == store.cluster(key) and client.locate(key) == store.locate(key)
        assert client.history(key) == store.history(key) and client.text(key) == store.text(key)
        assert client.overall(key) is None
    for key, said in zip(("a", 7, b"\xff"), OVERALL, strict=True):
        store._directory.note_overall([(store._number(key), said)])
        assert client.overall(key) == said
    with pytest.raises(KeyError):
        client.overall("none")
    assert client.clusters() == list(store.clusters()) and client.clusters(2) == list(store.clusters(2))
    seen, told = client.peek("one two three four"), store.peek("one two three four")
    assert [getattr(seen, name) for name in FIELDS] == [getattr(told, name) for name in FIELDS]
    assert client.stats()["documents"] == 5 and client.stats()["settings"]["threshold"] == 0.5
    assert client.mark_gone("b") and not client.mark_gone("none") and store.history("b")[-1].change == "gone"
    client.remove(7)
    assert client.expire("1970-01-01T00:00:05Z") == 2 and len(store) == 2
    assert (tmp_path / "backups" / client.backup()).is_dir()


def test_long_lists_come_in_pages(asked: Written) -> None:
    client = Direct(asked)
    list(client.decide_many([(f"k{i}", "one two three", float(i)) for i in range(1100)]))
    for i in range(3):
        client.decide("k0", "one two three", float(i))
    assert client.cluster("k0") == asked.store.cluster("k0") and len(client.cluster("k5")) == 1100
    assert client.clusters() == list(asked.store.clusters()) and len(client.history("k0")) == 4


def test_errors_are_those_of_a_store(asked: Written) -> None:
    client = Direct(asked)
    client.decide("a", "one two", idempotency_key="1")
    for call, kind, words in [
        (lambda: client.decide(None, "x"), TypeError, "key"), (lambda: client.decide("a", 3), TypeError, "text"),
        (lambda: client.decide("a", "x", "tomorrow"), ValueError, "ISO 8601"),
        (lambda: client.decide(1 << 70, "x"), ValueError, "64 bits"),
        (lambda: client.decide("a", "x" * 100_001), ValueError, "100,001"),
        (lambda: client.decide("b", "one two", idempotency_key="1"), ValueError, "another page"),
        (lambda: client.decide("a", "x", idempotency_key="é"), ValueError, "ASCII"),
        (lambda: list(client.decide_many([("a", "b"), ("c", "d")], ["only one"])), ValueError, "fewer"),
        (lambda: list(client.decide_many([("c", "d"), ("b", "one two")], ["2", "1"])), ValueError, "1 pages before are"),
        (lambda: client.remove("none"), KeyError, "none"), (lambda: client.history("none"), KeyError, "none"),
        (lambda: client.expire(None), TypeError, "before"), (lambda: client.text("none"), KeyError, "none"),
        (lambda: Direct(asked, "read").decide("a", "b"), PermissionError, "write"),
    ]:  # fmt: skip
        with pytest.raises(kind, match=words):
            call()  # type: ignore[no-untyped-call]
    client.mark_gone("a")
    with pytest.raises(LookupError, match="gone"):
        client.locate("a")
    assert "c" in client  # before the page at fault


def test_an_answer_that_was_lost_is_asked_for_again_and_counts_once(asked: Written) -> None:
    client = Direct(asked)
    client.lost = 3
    first = client.decide("a", "one two")
    assert first.version is None and len(asked.store.history("a")) == 1
    client.lost = 2
    assert [verdict.version for verdict in client.decide_many([("b", "x y"), ("c", "z w")])] == [None, None]
    assert len(asked.store.history("b")) == 1
    client.lost = 99
    with pytest.raises(ConnectionError, match="6 tries"):
        client.decide("d", "p q")


def test_a_server_that_is_busy_or_stops_is_asked_again(
    asked: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=waits.append))
    monkeypatch.setattr("ndcore.serve.decider.MOST_WAITING", 1)
    client = Direct(asked, tries=3)
    with pytest.raises(ConnectionError, match="wait to be decided"):
        list(client.decide_many([("a", "b"), ("c", "d")]))
    assert waits == [1.0, 1.0]  # as Retry-After says
    monkeypatch.undo()
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lambda _: asked.source.__setattr__("_stopping", False)))
    asked.source.stop()
    verdicts = Direct(asked).decide_many([(f"k{i}", f"t {i}") for i in range(200)])
    assert [verdict.version for verdict in verdicts] == [None] * 200


@pytest.mark.parametrize(("content", "words"), [(b'{"error":{"status":500,"detail":"x"}}\n', "500"), (b"{}\n" * 2, None)])
def test_answers_that_are_cut(content: bytes, words: str | None) -> None:
    call = Call("decide-many", {}, [{}, {}])
    if words is None:
        assert module.answer_of(call, Reply(200, None, content)) == [{}, {}]
    else:
        with pytest.raises(RuntimeError, match=words):
            module.answer_of(call, Reply(200, None, content))
    with pytest.raises(module._Cut):
        module.answer_of(call, Reply(200, None, b"{}\n"))


def test_the_token_is_in_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(module.TOKEN, raising=False)
    with pytest.raises(ValueError, match="NDCORE_TOKEN"):
        ServiceClient("http://localhost:1")
    monkeypatch.setenv(module.TOKEN, "secret")
    with ServiceClient("http://localhost:1", tries=1) as client:
        assert repr(client) == "<ServiceClient 'http://localhost:1'>"
        with pytest.raises(ConnectionError) as raised:
            client.stats()
        assert "secret" not in str(raised.value)


def test_both_clients_have_the_same_methods() -> None:
    here, there = ({name for name in dir(kind) if not name.startswith("_")} for kind in (ServiceClient, AsyncServiceClient))
    assert there - here == {"has", "count"} and here <= there
    assert here <= set(dir(nd.Store))


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, str]]:
    place = tmp_path_factory.mktemp("serving")
    token = make_tokens(place / "tokens")["all"]
    made = Serving(make_store(place / "store"), place / "tokens")
    yield made, token
    made.end()


@pytest.mark.parametrize("kind", [ServiceClient, AsyncServiceClient])
def test_the_signatures_are_those_of_methods(kind: Any) -> None:
    names = ["decide", "peek", "mark_gone", "remove", "expire", "cluster", "locate", "history", "overall", "text"]
    for name in names:
        own, of_store = inspect.signature(getattr(kind, name)), inspect.signature(getattr(nd.Store, name))
        assert own.return_annotation == of_store.return_annotation, name
        shared = [parameter for parameter in own.parameters if parameter != "idempotency_key"]
        assert shared == list(of_store.parameters)[:len(shared)], name


def test_many_at_once_with_asyncio_and_threads(serving: tuple[Serving, str]) -> None:
    server, token = serving

    async def ask() -> list[nd.Verdict]:
        async with AsyncServiceClient(server.url, token) as client:
            verdicts = list(await asyncio.gather(*(client.decide(f"async {i}", f"only {i} here") for i in range(100))))
            assert await client.has("async 3") and not await client.has("none") and await client.count() >= 100
            assert [verdict.verdict async for verdict in client.decide_many([("async", "only 5 here")])] == ["identical"]
            with pytest.raises(KeyError):
                await client.remove("none")
            return verdicts

    assert [verdict.key for verdict in asyncio.run(ask())] == [f"async {i}" for i in range(100)]
    with ServiceClient(server.url, token) as client:
        said: list[Any] = []
        threads = [threading.Thread(target=lambda i=i: said.append(client.decide(f"thread {i}", f"t {i} u").key))
                   for i in range(16)]  # fmt: skip
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(said) == sorted(f"thread {i}" for i in range(16))


@pytest.mark.slow
def test_servers_that_are_killed_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """Two clients send pages while the server is killed and started again: each page is decided once, as a replay says."""
    token, store, told = make_tokens(tmp_path / "tokens")["all"], make_store(tmp_path / "store"), {}
    server, chance = Serving(store, tmp_path / "tokens"), random.Random(3)
    port, errors = server.port, list[BaseException]()

    def crawl(name: str, count: int) -> None:
        own = random.Random(name)
        pages = [(f"{name} {i}", " ".join(own.choices("abcdefg", k=5)), float(i)) for i in range(count)]
        try:
            with ServiceClient(f"http://127.0.0.1:{port}", token, tries=12) as client:
                for i in range(0, count, 10):
                    for page, verdict in zip(pages[i : i + 10], client.decide_many(pages[i : i + 10]), strict=True):
                        told[page[0]] = page, verdict
                    page = (f"{name} alone {i}", pages[i][1], 0.5)
                    told[page[0]] = page, client.decide(*page)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=crawl, args=(name, 300)) for name in ("x", "y")]
    for thread in threads:
        thread.start()
    kills = 0
    while any(thread.is_alive() for thread in threads) and kills < 6:
        time.sleep(0.15 + 0.3 * chance.random())
        server.end(signal.SIGKILL)
        kills += 1
        server = Serving(store, tmp_path / "tokens", port=port)
    for thread in threads:
        thread.join(120)
    server.end()
    assert not errors and kills >= 2 and len(told) == 2 * 330
    with nd.Store.open(store) as opened:
        assert opened.check() == []
        order = sorted(told, key=lambda key: opened._directory.state.columns.get("last", opened._number(key)))
        assert all(len(opened.history(key)) == 1 for key in told) and len(opened) == len(told)
    with nd.Store.open(make_store(tmp_path / "replay")) as replay:  # in the order of the log
        for key in order:
            page, verdict = told[key]
            assert verdict == replay.decide(*page)


def test_a_graceful_stop_answers_what_it_took(tmp_path: Path) -> None:
    token = make_tokens(tmp_path / "tokens")["all"]
    server = Serving(make_store(tmp_path / "store"), tmp_path / "tokens")
    told: list[Any] = []
    with ServiceClient(server.url, token, tries=1) as client:
        def send() -> None:
            try:
                told.extend(client.decide_many((f"k{i}", f"text {i} x") for i in range(5000)))
            except ConnectionError as error:
                told.append(str(error))

        thread = threading.Thread(target=send)
        thread.start()
        time.sleep(0.4)
        assert "Traceback" not in server.end()
        thread.join(60)
    kept = [verdict for verdict in told if isinstance(verdict, nd.Verdict)]
    with nd.Store.open(tmp_path / "store") as store:
        assert len(kept) <= len(store) and all(verdict.key in store for verdict in kept) and store.check() == []


@pytest.mark.parametrize("token", ["secret\n", "se cret", "sécret", "secret\x00"])
def test_a_token_that_no_header_holds_is_refused_without_its_words(token: str) -> None:
    with pytest.raises(ValueError, match="the token has a blank") as raised:
        ServiceClient("http://localhost:1", token)
    assert "cret" not in str(raised.value)


def test_what_would_be_done_twice_is_not_asked_again(asked: Written, tmp_path: Path) -> None:
    client = Direct(asked)
    client.decide("a", "one two", 1.0)
    for call in (client.backup, lambda: client.expire("2000-01-01"), lambda: client.remove("a")):
        client.lost = 1
        with pytest.raises(ConnectionError, match="may have been done"):
            call()
    assert len(list((tmp_path / "backups").iterdir())) == 1


def test_where_nobody_answers_the_address_is_named(asked: Written) -> None:
    client = Direct(asked, tries=2)
    for ask, words in (
        (client.stats, r"http://x gave no answer to about in 2 tries: lost$"),
        (lambda: client.decide("a", "b"), "http://x gave no answer to decide in 2 tries: lost; what was sent may be kept"),
        (lambda: client.expire(5.0), r"the answer of http://x to expire was lost \(lost\); it may have been done"),
    ):
        client.lost = 2
        with pytest.raises(ConnectionError, match=words):
            ask()


@pytest.mark.parametrize(
    ("status", "content", "kind"),
    [
        (404, b"<html>not here</html>", RuntimeError), (404, b'{"status": 404, "detail": "no page"}', RuntimeError),
        (404, b'{"status": 404, "detail": "x", "type": "urn:ndcore:unknown-key"}', KeyError),
        (200, b"<html></html>", RuntimeError), (200, b"{}\n{}\n{}\n", RuntimeError), (301, b"", RuntimeError),
    ],
)  # fmt: skip
def test_answers_of_something_else(status: int, content: bytes, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        module.answer_of(Call("decide-many", {}, [{}, {}]), Reply(status, None, content))


@pytest.mark.parametrize("content", [b"{}", b"[]", b'"x"', b'{"documents": "many"}'])
def test_an_answer_without_its_fields_is_not_an_error_of_the_caller(
    asked: Written, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    client = Direct(asked)
    monkeypatch.setattr(module, "reply_of", lambda _: Reply(200, None, content))
    for call in (lambda: len(client), lambda: client.decide("a", "b"), lambda: client.locate("a")):
        with pytest.raises(RuntimeError, match="ndcore serve --write does not"):
            call()


def test_a_server_cannot_let_a_client_wait_for_long(asked: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=waits.append))
    monkeypatch.setattr(module, "reply_of", lambda _: Reply(503, 1e20, b""))
    with pytest.raises(ConnectionError):
        Direct(asked, tries=2).stats()
    assert waits == [module.LONGEST_WAIT]


def test_long_keys_are_sent_in_small_requests() -> None:
    parts = list(module.parts_of((f"{i}" + "k" * 40_000, "text") for i in range(20)))
    assert [len(part) for part in parts] == [3] * 6 + [2]
    assert [len(part) for part in module.parts_of((f"k{i}", "text") for i in range(600))] == [256, 256, 88]
