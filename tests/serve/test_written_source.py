"""The service that writes, over HTTP: verdicts, streams, idempotency keys, scopes, refusals, and what it keeps."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stores import FIELDS
from writing import Written, written

import ndcore as nd
from ndcore.reference.store import BruteForceStore as Reference
from ndcore.serve.bodies import PART
from ndcore.serve.decider import SLICE
from ndcore.serve.refusal import Refused
from ndcore.serve.routes import ADMIN, READ, WRITE, WRITTEN, routes_of
from ndcore.storage.container import CorruptFile


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Written]:
    with written(tmp_path) as made:
        yield made


def lines(response: Any) -> list[dict[str, Any]]:
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in response.text.splitlines()]


PAGES = [("a", "one two three four"), ("b", "one two three four"), ("c", "one two three four five"), ("a", "six seven"),
         ("d", "ONE two three four"), (7, "one two three four"), ("a", "six seven")]  # fmt: skip


def test_verdicts_are_those_of_the_reference(asked: Written) -> None:
    reference = Reference(threshold=0.5, width=2)
    page = [{"key": key, "text": text, "date": 5.0} for key, text in PAGES]
    answers = [asked.ask("decide", page[0]).json(), *lines(asked.ask("decide-many", page[1:]))]
    for (key, text), answer in zip(PAGES, answers, strict=True):
        told = reference.decide(key, text, 5.0)
        assert [answer[name] for name in FIELDS] == [getattr(told, name) for name in FIELDS]
        assert answer["key"] == key and answer["date"] == "1970-01-01T00:00:05Z" and not answer["repeated"]
    places = [answer["place"] for answer in answers]
    assert places == sorted(set(places))


def test_keys_and_texts_of_all_kinds(asked: Written) -> None:
    for key, text in (("s", "a b"), (-5, "a c"), ({"bytes": "ff00"}, "a d"), ("\ud800", "a \ud800")):
        assert asked.ask("decide", {"key": key, "text": text}).json()["key"] == key
    raw = base64.b64encode(b"\xff x y").decode()
    assert asked.ask("decide", {"key": "raw", "text": {"base64": raw}}).status_code == 200
    assert asked.store.text("raw") == b"\xff x y" and asked.store.text(b"\xff\x00") == "a d"
    assert asked.ask("text", params={"key": "raw"}).json() == {"text": {"bytes": b"\xff x y".hex()}}
    assert asked.ask("text", params={"key": "-5"}).json() == {"text": "a c"}
    plain = asked.client.post("/api/decide", params={"key": "plain"}, content=b"p \xff q", headers={
        "authorization": f"Bearer {asked.tokens['write']}", "content-type": "text/plain"})  # fmt: skip
    assert plain.status_code == 200 and asked.store.text("plain") == b"p \xff q"


def test_an_idempotency_key_is_answered_once(asked: Written) -> None:
    page = {"key": "a", "text": "one two three"}
    for quote in ("", '"'):
        first = asked.ask("decide", page, headers={"idempotency-key": f"{quote}1{quote}"}).json()
    assert first["repeated"] and len(asked.store.history("a")) == 1
    assert asked.ask("decide", {**page, "idempotency_key": "1"}).json() == first
    other = asked.ask("decide", {**page, "text": "other", "idempotency_key": "1"})
    assert other.status_code == 422 and "'1'" in other.json()["detail"]
    twice = asked.ask("decide", {**page, "idempotency_key": "1"}, headers={"idempotency-key": "1"})
    assert twice.status_code == 400 and "twice" in twice.json()["detail"]
    elsewhere = asked.ask("seen", {"key": "a"}, headers={"idempotency-key": "1"})
    assert elsewhere.status_code == 400 and "idempotency_key" in elsewhere.json()["detail"]
    for key in ("", "é", "x" * 257):
        assert asked.ask("decide", {**page, "idempotency_key": key}).status_code in ((400,) if key else (200,))


@pytest.mark.parametrize(
    ("bad", "status", "words"),
    [
        ("no json\n", 400, "line 4"), ('{"key": "x"}\n', 400, "line 4.*text is missing"), ("[1]\n", 400, "line 4.*object"),
        ('{"key": "x", "text": "y", "key": "z"}\n', 400, "line 4.*'key' is given twice"),
        ('{"key": "x", "text": 5}\n', 400, "line 4.*text is a string"),
        ('{"key": "x", "text": "y", "other": 1}\n', 400, "line 4.*other"),
        ('{"key": "x", "text": "y", "date": "tomorrow"}\n', 400, "line 4.*ISO 8601"),
        ('{"key": "x", "text": {"base64": "?"}}\n', 400, "line 4.*base64"),
        (json.dumps({"key": "x", "text": "y" * 100_001}) + "\n", 413, "line 4.*100,001 bytes"),
        ('{"key": "x", "text": "' + "y" * 1_500_000, 413, "a line of the stream"),
        ('{"key": "x", "text": "other", "idempotency_key": "1"}\n', 422, "'1'"),
    ],
)  # fmt: skip
def test_a_stream_that_ends_early_keeps_exactly_the_pages_it_has_answered(
    asked: Written, bad: str, status: int, words: str
) -> None:
    before = [{"key": f"p{i}", "text": f"text {i} of these", "idempotency_key": str(i)} for i in range(3)]
    answers = lines(asked.ask("decide-many", [*before, bad, {"key": "behind", "text": "z"}]))
    problem = answers.pop()["error"]
    assert problem["status"] == status
    assert re.search(words, problem["detail"]), problem
    assert [answer["key"] for answer in answers] == ["p0", "p1", "p2"] and len(asked.store) == 3
    again = lines(asked.ask("decide-many", [*before, {"key": "behind", "text": "z"}]))
    assert [answer["repeated"] for answer in again] == [True, True, True, False] and len(asked.store) == 4


def test_the_first_line_at_fault_is_a_refusal(asked: Written) -> None:
    refused = asked.ask("decide-many", ["no json\n"])
    assert refused.status_code == 400 and refused.headers["content-type"] == "application/problem+json"
    assert lines(asked.ask("decide-many", [])) == lines(asked.ask("decide-many", ["\n", "  \n"])) == []
    last = asked.ask("decide-many", ['{"key": "a", "text": "no end of the line"}'])
    assert [answer["key"] for answer in lines(last)] == ["a"]


def test_bodies_that_are_refused(asked: Written) -> None:
    page = {"key": "a", "text": "b"}
    assert asked.ask("decide-many", page).status_code == 415
    for route, body in (("decide", page), ("decide-many", [page])):
        for coding in ("gzip", "zstd", "br, gzip"):
            refused = asked.ask(route, body, headers={"content-encoding": coding})
            assert refused.status_code == 415 and coding in refused.json()["detail"]
    assert asked.ask("decide", {**page, "text": "x" * 100_001}).status_code == 413
    assert asked.ask("decide", {"key": None, "text": "x"}).status_code == 400
    assert asked.ask("decide", {"key": True, "text": "x"}).status_code == 400
    assert asked.ask("decide", {"key": 1 << 70, "text": "x"}).status_code == 400
    assert asked.ask("decide", {"key": "a" * 1_200_000, "text": "x"}).status_code == 400
    assert len(asked.store) == 0


def test_gone_removed_expired_and_backed_up(asked: Written, tmp_path: Path) -> None:
    asked.ask("decide-many", [{"key": key, "text": "one two three", "date": day} for day, key in enumerate("abc")])
    assert asked.ask("seen", {"key": "c", "date": 9}).json() == {"known": True}
    assert asked.ask("seen", {"key": "none"}).json() == {"known": False}
    assert asked.ask("locate", params={"key": "a"}).json()["located"] == "b"
    for key in "ab":
        asked.ask("seen", {"key": key})
    gone = asked.ask("locate", params={"key": "a"})
    assert gone.status_code == 410 and "gone" in gone.json()["detail"]
    assert asked.ask("remove", {"key": "a"}).json() == {"pages": 1}
    assert asked.ask("remove", {"key": "a"}).status_code == 404
    assert asked.ask("expire", {"before": 2}).json() == {"pages": 1} and len(asked.store) == 1
    assert asked.ask("expire", {}).status_code == 400
    name = asked.ask("backup", {}).json()["name"]
    with nd.Store.open(tmp_path / "backups" / name, read_only=True) as copy:
        assert len(copy) == 1
    assert asked.ask("backup", {"path": "/tmp/x"}).status_code == 400
    names = [asked.ask("backup", {}).json()["name"] for _ in range(3)]
    assert len({name, *names}) == 4


def test_a_backup_needs_a_directory(tmp_path: Path) -> None:
    with written(tmp_path) as asked:
        asked.source._backups = None
        refused = asked.ask("backup", {})
        assert refused.status_code == 404 and "--backups" in refused.json()["detail"]


@pytest.mark.parametrize("route", routes_of(WRITTEN), ids=lambda route: f"{route.method} {route.name}")
def test_every_route_asks_for_its_scope(asked: Written, route: Any) -> None:
    path = route.api.removeprefix("/api/")
    body = None if not route.posted else [] if route.streamed else {}
    assert route.scope == (ADMIN if path in ("remove", "expire", "backup") else
                           WRITE if path in ("decide", "decide-many", "seen") else READ)  # fmt: skip
    for scope in (READ, WRITE, ADMIN):
        response = asked.ask(path, body, scope)
        assert (response.status_code == 403) == (scope != route.scope), response.text
    for headers in ({"authorization": "Bearer nobody"}, {"authorization": ""}):
        response = asked.ask(path, body, headers=headers)
        assert response.status_code == 401 and response.headers["www-authenticate"].startswith("Bearer")


def test_the_token_is_asked_for_before_the_body_is_read(asked: Written) -> None:
    async def receive() -> Any:
        raise AssertionError("read")

    async def send(message: Any) -> None:
        sent.append(message)

    for route in ("decide", "decide-many", "backup"):
        sent: list[Any] = []
        scope = {"type": "http", "method": "POST", "path": f"/api/{route}", "query_string": b"", "headers": [],
                 "root_path": ""}
        asyncio.run(asked.app(scope, receive, send))  # type: ignore[arg-type]
        assert sent[0]["status"] == 401


def test_there_are_no_pages_and_browsers_are_refused(asked: Written) -> None:
    for path in ("/", "/clusters", "/api/none"):
        response = asked.client.get(path, headers={"authorization": f"Bearer {asked.tokens['all']}"})
        assert response.status_code == 404 and response.headers["content-type"] == "application/problem+json"
    for header in ({"origin": "http://dedup.example:8765"}, {"origin": "null"}, {"sec-fetch-site": "same-origin"}):
        assert asked.ask("about", headers=header).status_code == 403
    assert asked.client.get("/openapi.json").status_code == 200


def test_a_fault_of_the_server_is_told_without_its_words(
    asked: Written, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "the text of a page"
    monkeypatch.setattr(asked.store, "decide_requests", lambda *_: (_ for _ in ()).throw(RuntimeError("broken")))
    for route, body in (("decide", {"key": "a", "text": secret}), ("decide-many", [{"key": "a", "text": secret}])):
        response = asked.ask(route, body)
        assert response.status_code == 500 and "broken" not in response.text
    assert "broken" in caplog.text and secret not in caplog.text and asked.tokens["all"] not in caplog.text
    monkeypatch.setattr(asked.store, "decide_requests", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    response = asked.ask("decide", {"key": "a", "text": "b"})
    assert response.status_code == 507 and response.headers["retry-after"]


def test_a_server_that_stops_ends_streams_after_a_part(asked: Written) -> None:
    asked.source.stop()
    answers = lines(asked.ask("decide-many", [{"key": f"k{i}", "text": f"t {i}"} for i in range(300)]))
    assert answers[-1]["error"]["status"] == 503 and len(answers) - 1 == len(asked.store) < 300


def test_pages_of_one_template_take_as_long_at_the_end(tmp_path: Path) -> None:
    """Thousands of pages at a resemblance of 0.6 to each other cost a bounded number of comparisons."""
    template = " ".join(f"word{i}" for i in range(120))
    with written(tmp_path) as asked:
        answers = lines(asked.ask("decide-many", [
            {"key": f"k{i}", "text": f"{template} " + " ".join(f"{i}x{j}" for j in range(20))} for i in range(2000)]))
        assert len(answers) == 2000 and {answer["verdict"] for answer in answers[1:]} == {"near"}


@pytest.mark.parametrize("call", ["put", "decided"])
def test_what_fails_in_the_midst_of_a_stream_ends_it_after_all_that_is_kept(
    asked: Written, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Too many pages wait, or the disk is full: the two parts, or the three slices, before are kept and answered."""
    calls, decider, store = [0], asked.source._decider, asked.store
    put, decide = decider.put, store.decide_requests
    good, kept = (2, 2 * PART) if call == "put" else (3, 3 * SLICE)

    def refuse(*given: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] > good:
            raise Refused(429, "too many") if call == "put" else OSError(28, "No space left")
        return put(*given, **named) if call == "put" else decide(*given, **named)

    monkeypatch.setattr(*((decider, "put") if call == "put" else (store, "decide_requests")), refuse)
    answers = lines(asked.ask("decide-many", [{"key": f"k{i}", "text": f"t {i} u"} for i in range(4 * PART)]))
    assert answers.pop()["error"]["status"] == (429 if call == "put" else 507)
    assert [answer["key"] for answer in answers] == [f"k{i}" for i in range(kept)] and len(asked.store) == kept


@pytest.mark.parametrize("date", [10**400, 1e308, "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+01:00", -1e300])
def test_dates_out_of_all_years_are_refused(asked: Written, date: Any) -> None:
    for route in ("decide", "seen"):
        body = {"key": "a", "date": date, **({"text": "b"} if route == "decide" else {})}
        refused = asked.ask(route, body)
        assert refused.status_code == 400 and "1 and 9999" in refused.json()["detail"]
    assert asked.ask("expire", {"before": date}).status_code == 400


def test_a_full_disk_is_told_by_every_route(asked: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    asked.ask("decide", {"key": "a", "text": "b c"})
    reloads: list[int] = []
    monkeypatch.setattr(asked.store._directory, "reload", lambda: reloads.append(1))
    monkeypatch.setattr(asked.store._directory.log, "append", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    monkeypatch.setattr(asked.store, "backup", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    key = {"key": "a"}
    for route, body in (("seen", key), ("remove", key), ("expire", {"before": "2030-01-01"}), ("backup", {})):
        response = asked.ask(route, body)
        assert response.status_code == 507 and response.headers["retry-after"], route
    assert not reloads  # nothing was changed, so the state need not be made again


def test_paths_with_a_slash_behind_them_are_not_redirected(asked: Written) -> None:
    assert asked.client.get("/api/about/", follow_redirects=False).status_code == 404


def test_damage_is_no_fault_of_who_asks(asked: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked.store, "decide_requests", lambda *_: (_ for _ in ()).throw(CorruptFile("a receipt")))
    assert asked.ask("decide", {"key": "a", "text": "b"}).status_code == 500
