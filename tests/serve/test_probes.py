"""What monitors ask for: /metrics with a token, /health and /ready without one."""

from __future__ import annotations

import errno
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from served import client, problem
from writing import Written, written

from ndcore.serve import decider
from ndcore.store import log as log_module


def metrics(asked: Written, scope: str = "read") -> Any:
    return asked.client.get("/metrics", headers={"authorization": f"Bearer {asked.tokens[scope]}"})


def test_metrics_need_a_token_that_may_read(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    with written(tmp_path) as asked:
        found = metrics(asked)
        assert found.status_code == 200 and found.headers["content-type"].startswith("text/plain; version=")
        assert "needs a token" in problem(asked.client.get("/metrics"), 401)
        assert "this needs read" in problem(metrics(asked, "write"), 403)


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with written(tmp_path) as asked:
        assert "pip install 'ndcore[metrics]'" in problem(metrics(asked), 404)
        problem(asked.client.get("/metrics"), 401)
        assert asked.ask("decide", {"key": "a", "text": "one two three"}).status_code == 200


def test_health_and_ready_need_no_token_and_tell_nothing_else(tmp_path: Path) -> None:
    with written(tmp_path, proxies=("10.0.0.1",)) as asked:
        assert asked.client.get("/health").json() == {"healthy": True}
        assert asked.client.get("/ready").json() == {"ready": True}
        assert asked.client.head("/ready").status_code == 200
        problem(asked.client.post("/health"), 405)


def test_not_ready_as_the_server_stops(tmp_path: Path) -> None:
    with written(tmp_path) as asked:
        asked.source.stop()
        found = asked.client.get("/ready")
        assert problem(found, 503) == "the server stops" and found.headers["retry-after"] == "5"
        assert asked.client.get("/health").status_code == 200


def test_not_ready_once_the_disk_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError, match="open the store again"), written(tmp_path) as asked:
        with monkeypatch.context() as failing:
            failing.setattr(log_module, "_sync_data", fail)
            problem(asked.ask("decide", {"key": "a", "text": "one two three"}), 500)
        told = problem(asked.client.get("/ready"), 503)
        assert told == "the store takes nothing more until the server is started again"
        assert asked.client.get("/health").status_code == 200


def test_not_ready_while_too_many_pages_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decider, "MOST_WAITING", decider.PART)
    with written(tmp_path) as asked:
        go, decide = threading.Event(), asked.store.decide_requests

        def wait(*arguments: Any) -> Any:
            go.wait(30)
            return decide(*arguments)

        monkeypatch.setattr(asked.store, "decide_requests", wait)
        pages = asked.store.prepare_requests([("a", "one two three", None)], [None])
        future = asked.source._decider.put(lambda: pages, 1, streamed=False).answered
        assert problem(asked.client.get("/ready"), 503) == "too many pages wait to be decided on"
        go.set()
        future.result(30)
        assert asked.client.get("/ready").status_code == 200


@pytest.mark.parametrize("path", ["/metrics", "/health", "/ready"])
def test_a_server_that_only_reads_has_none(path: str) -> None:
    assert client().get(path).status_code == 404
