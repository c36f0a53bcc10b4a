"""The middleware before all else: each request is counted and logged once, however it ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from writing import Written, written

from ndcore.serve.app import Limits, application
from ndcore.serve.counts import ServerCounts
from ndcore.serve.request_log import RequestLog
from ndcore.serve.watched import Watched, note_of

SECRET = "a text that nobody may read"


def run(app: Watched, path: str = "/x") -> list[dict[str, Any]]:
    """Ask an application whose body comes in two messages."""
    messages = [{"type": "http.request", "body": b"abc", "more_body": True}, {"type": "http.request", "body": b"de"}]
    found: list[dict[str, Any]] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        found.append(dict(message))

    asyncio.run(app({"type": "http", "path": path}, receive, send))  # type: ignore[arg-type]
    return found


def test_what_is_noted_of_a_request(tmp_path: Path) -> None:
    async def answers(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await receive()
        note = note_of(scope)
        note.token, note.pages = "crawler", 3
        await send({"type": "http.response.start", "status": 207})

    counts, log = ServerCounts(), RequestLog(tmp_path / "log")
    assert run(Watched(answers, {"/x": "decide"}, counts, log))[0]["status"] == 207
    run(Watched(answers, {}, counts, log))
    log.close()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [[line[name] for name in ("token", "route", "status", "pages", "bytes")] for line in lines] == [
        ["crawler", "decide", 207, 3, 5], ["crawler", "other", 207, 3, 5]]  # fmt: skip
    assert set(counts.requests) == {("decide", 207), ("other", 207)}


def test_an_application_that_fails_is_counted() -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("x")

    counts = ServerCounts()
    with pytest.raises(KeyError):
        run(Watched(fails, {}, counts))
    assert set(counts.requests) == {("other", 500)}


def test_the_log_has_no_token_and_nothing_that_was_sent(tmp_path: Path) -> None:
    with written(tmp_path) as asked:
        log = RequestLog(tmp_path / "log")
        watched = Logged(asked, log)
        page = {"key": "http://secret.example/key", "text": SECRET, "idempotency_key": "idempotent"}
        watched.ask("decide", page)
        watched.ask("decide", {**page, "text": f"{SECRET} twice"})  # another page with this idempotency key
        watched.ask("decide", page, scope="read")
        watched.ask("decide-many", [{"key": f"secret{i}", "text": SECRET} for i in range(70)])
        watched.ask("decide-many", [{"key": "secret", "text": SECRET}, "secret\n"])
        watched.ask("text", params={"key": page["key"]})
        watched.ask("secret", params={"key": "secret"})
        watched.client.post("/api/decide", json=page, headers={"authorization": "Bearer secret", "x-secret": "secret"})
        log.close()
    content = (tmp_path / "log").read_text()
    for word in ("secret", "nobody", "idempotent", "Bearer", *asked.tokens.values()):
        assert word not in content
    lines = [json.loads(line) for line in content.splitlines()]
    assert [[line[name] for name in ("token", "route", "status", "pages")] for line in lines] == [
        ["all", "decide", 200, 1],
        ["all", "decide", 422, 0],
        [None, "decide", 403, 0],
        ["all", "decide_many", 200, 70],
        ["all", "decide_many", 200, 1],
        ["all", "text", 200, 0],
        [None, "other", 404, 0],
        [None, "decide", 401, 0],
    ]
    assert lines[0]["bytes"] == len(json.dumps(page)) and lines[5]["bytes"] == 0


class Logged(Written):
    """The same server with a log."""

    def __init__(self, asked: Written, log: RequestLog) -> None:
        from writing import TestClient, TokenAccess, TokenFile

        self.tokens = asked.tokens
        access = TokenAccess(TokenFile(asked.store.path.parent / "tokens"))
        app = application(asked.source, Limits(), (), access, log)
        self.client = TestClient(app, base_url="http://dedup.example:8765")
        self.http = self.client
