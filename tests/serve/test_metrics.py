"""The metrics: what was decided and asked, what the store says, and a dashboard that names nothing else."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("prometheus_client")

from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families
from writing import Written, written

from ndcore.serve import metrics as module
from ndcore.serve.bodies import PART
from ndcore.serve.metrics import Metrics

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana.json"
TEXT = "one two three four five six seven eight nine ten"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    monkeypatch.setattr(module, "FRESH", 0)
    with written(tmp_path) as made:
        yield made


def samples(asked: Written) -> Samples:
    found = asked.client.get("/metrics", headers={"authorization": f"Bearer {asked.tokens['read']}"})
    assert found.status_code == 200
    return {(sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(found.text) for sample in family.samples}  # fmt: skip


def value(found: Samples, name: str, **labels: str) -> float:
    return found[f"ndcore_{name}", frozenset(labels.items())]


def test_the_counts_are_what_was_decided(asked: Written) -> None:
    told = [asked.ask("decide", {"key": "a", "text": TEXT}).json(),
            asked.ask("decide", {"key": "b", "text": TEXT.upper()}).json(),
            asked.ask("decide", {"key": "c", "text": f"{TEXT} eleven", "idempotency_key": "k"}).json()]  # fmt: skip
    page = {"key": "c", "text": f"{TEXT} eleven", "idempotency_key": "k"}
    assert asked.ask("decide", page).json()["repeated"]
    texts = [f"{i} {i + 1000} {i + 2000} {i + 3000}" for i in range(100)]
    lines = asked.ask("decide-many", [{"key": str(i), "text": text} for i, text in enumerate((*texts, TEXT, texts[3]))])
    told += [json.loads(line) for line in lines.text.splitlines()]
    assert asked.ask("decide", {"key": "x"}).status_code == 400
    verdicts = Counter(each["verdict"] for each in told)
    assert verdicts == {"kept": 101, "lexical": 1, "near": 1, "identical": 2}
    found = samples(asked)
    for verdict in ("kept", "identical", "lexical", "shingle", "near"):
        assert value(found, "decisions_total", verdict=verdict) == verdicts[verdict]
    assert value(found, "repeated_answers_total") == 1 and value(found, "waiting_pages") == 0
    assert value(found, "decision_measured_documents_count") == len(told)
    assert value(found, "decision_measured_documents_sum") == 1  # c with a: others are found by their digests
    assert value(found, "decision_measured_documents_bucket", le="0.0") == len(told) - 1
    assert value(found, "decision_duration_seconds_count", kind="single") == 4
    assert value(found, "decision_duration_seconds_count", kind="streamed") == -(-102 // PART)
    assert value(found, "request_duration_seconds_count", route="decide", status="200") == 4
    assert value(found, "request_duration_seconds_count", route="decide", status="400") == 1
    assert value(found, "request_duration_seconds_count", route="decide_many", status="200") == 1
    assert value(found, "request_duration_seconds_bucket", route="decide", status="200", le="+Inf") == 4
    stats = asked.store.stats()
    assert value(found, "documents") == stats["documents"] == len(told)
    assert value(found, "clusters") == stats["clusters"] == 101
    assert value(found, "log_bytes") == stats["log_bytes"] and value(found, "index_bytes") == stats["derived_bytes"]
    assert value(found, "backlog_segments") == value(found, "lost_pages") == value(found, "checkpoint_problem") == 0
    assert value(samples(asked), "request_duration_seconds_count", route="metrics", status="200") == 1


def test_paths_that_are_not_known_are_one_route(asked: Written) -> None:
    for i in range(20):
        asked.client.get(f"/api/x{i}")
    routes = {dict(labels)["route"] for name, labels in samples(asked) if name.endswith("request_duration_seconds_count")}
    assert routes == {"other"}


def test_a_problem_of_checkpoints_and_pages_that_were_lost_are_told(asked: Written) -> None:
    stats = asked.store.stats
    asked.store.stats = lambda: {**stats(), "checkpoint_problem": "no space", "lost": 3, "backlog": 2}  # type: ignore
    found = samples(asked)
    assert value(found, "checkpoint_problem") == 1 and value(found, "lost_pages") == 3
    assert value(found, "backlog_segments") == 2


def test_a_store_that_fails_leaves_the_other_metrics(asked: Written) -> None:
    def fail() -> Any:
        raise OSError(5, "the store is lost")

    asked.store.stats = fail  # type: ignore[method-assign]
    found = samples(asked)
    assert value(found, "waiting_pages") == 0 and ("ndcore_documents", frozenset[Any]()) not in found


def test_the_store_is_asked_now_and_then_and_by_one_thread(asked: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRESH", 60)
    calls, stats, go = [], asked.store.stats, threading.Event()

    def count() -> Any:
        calls.append(go.wait(30))
        return stats()

    asked.store.stats = count  # type: ignore[method-assign]
    made = Metrics(asked.source)
    first = threading.Thread(target=made.text)
    first.start()
    while not made._reading.locked():
        time.sleep(0.001)
    assert b"ndcore_waiting_pages" in made.text() and b"ndcore_documents" not in made.text()
    go.set()
    first.join()
    assert b"ndcore_documents 0.0" in made.text() and len(calls) == 1


def test_two_servers_share_nothing(tmp_path: Path, asked: Written) -> None:
    (tmp_path / "other").mkdir()
    with written(tmp_path / "other") as other:
        other.ask("decide", {"key": "a", "text": TEXT})
        assert value(samples(other), "decisions_total", verdict="kept") == 1
        assert value(samples(asked), "decisions_total", verdict="kept") == 0
    assert not [family.name for family in REGISTRY.collect() if family.name.startswith("ndcore")]


# ---- the dashboard


def test_every_panel_of_the_dashboard_names_metrics_of_the_server(asked: Written) -> None:
    asked.ask("decide", {"key": "a", "text": TEXT})
    served = {name for name, _ in samples(asked)}
    board = json.loads(DASHBOARD.read_text("utf-8"))
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    queries = [each["query"]["query"] for each in board["templating"]["list"] if each["type"] == "query"]
    shown: set[str] = set()
    for expression in (*expressions, *queries):
        names = set(re.findall(r"\b[a-z]\w+(?=\{)|(?<=label_values\()\w+", expression))
        assert names and names <= served, expression
        assert set(re.findall(r"\bndcore_\w+", expression)) == names, expression
        shown |= names
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in served}
    assert families == {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown}


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    board = json.loads(DASHBOARD.read_text("utf-8"))
    variables = {each["name"]: each for each in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource" and variables["datasource"]["query"] == "prometheus"
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    places = set[tuple[int, int]]()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + i, at["y"] + j) for i in range(at["w"]) for j in range(at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & places
        places |= cells
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= {*variables, "__rate_interval"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
