"""A store that is asked: it follows its writer, one request at a time, and a long walk ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Tree
from commands import text

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from served import URL, BruteForce, TestClient, answered, problem

from ndcore.serve.app import application
from ndcore.serve.refusal import Refused
from ndcore.serve.server import opened
from ndcore.serve.store_source import StoreSource
from ndcore.store.overall import OverallVerdict
from ndcore.store.store import Store


def test_what_the_writer_adds_is_seen() -> None:
    store = BruteForce()
    source = StoreSource(store, "x")
    assert source.clusters({"page": 1, "size": 50, "least": 2}).page.total == 2
    store.known.decide("another", text(3, 2), 0)
    store.known.decide("its copy", text(3, 2), 0)
    assert source.clusters({"page": 1, "size": 50, "least": 2}).page.total == 3
    assert store.refreshed == 2


def test_one_request_at_a_time() -> None:
    busy: list[int] = []
    most: list[int] = []

    class Slow(BruteForce):
        def locate(self, key: Any) -> Any:
            busy.append(1)
            most.append(len(busy))
            time.sleep(0.02)
            busy.pop()
            return self.known.locate(key)

    source = StoreSource(Slow(), "x")
    threads = [threading.Thread(target=source.locate, args=({"key": "a"},)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4


def test_a_long_walk_ends() -> None:
    class Long(BruteForce):
        def clusters(self, least: int = 1) -> Iterator[list[Any]]:
            while True:
                yield ["alone"]

    with pytest.raises(Refused, match=r"longer than 0\.05 seconds") as refused:
        StoreSource(Long(), "x", 0.05).clusters({"page": 100_000, "size": 500, "least": 1})
    assert refused.value.status == 503


def test_hosts_and_urls(tmp_path: Path) -> None:
    """Keys are written as the store writes them, and a text is compared with pages of the host of its URL."""
    pytest.importorskip("w3lib")
    with Store.open(tmp_path / "crawl", scope="host", keys="url") as store:
        store.decide("http://a.example/x?b=1&a=2#part", text(1))
        store.decide("http://b.example/", text(2))
        asked = TestClient(application(opened(tmp_path / "crawl", 5)), base_url=URL)
        told = answered(asked.get("/api/document", params={"key": "http://a.example/x?b=1&a=2"}))
        assert told["key"] == told["cluster"]["representative"] == "http://a.example/x?a=2&b=1"
        bodies = [{"text": text(2), "key": f"http://{host}.example/"} for host in "ab"]
        found = [answered(asked.post("/api/peek", json=body)) for body in bodies]
        assert [each["judgement"]["verdict"] for each in found] == ["kept", "identical"]
        assert "URL of the page" in asked.get("/").text
        page = asked.post("/peek", data={"text": text(2), "key": "http://b.example/\"><b>", "differences": "1"}).text
        assert "Identical" in page and "value=\"http://b.example/&quot;&gt;&lt;b&gt;\"" in page
        for key in ("7", "http://[", ""):
            problem(asked.get("/api/document", params={"key": key}), 404)
        store.remove("http://b.example/")
        store.compact()  # the server follows
        problem(asked.get("/api/document", params={"key": "http://b.example/"}), 404)
        assert answered(asked.get("/api/about"))["documents"] == 1


def test_what_a_run_over_many_stores_said(tmp_path: Path) -> None:
    attack = "https://m.example/<script>"
    with Store.open(tmp_path / "crawl") as store:
        for key in "abc":
            store.decide(key, text(ord(key)))
        near = OverallVerdict("near", attack, "we<b>st", 0.93, "2026<i>", 0, False)
        here = OverallVerdict("identical", "a", "east", 1.0, "2026-11", 0, True)
        store._directory.note_overall([(0, OverallVerdict("kept", None, None, None, "2026-11", 0, True)), (1, near)])
        asked = TestClient(application(opened(tmp_path / "crawl", 5)), base_url=URL)
        told = [answered(asked.get("/api/document", params={"key": key}))["overall"] for key in "abc"]
        assert told[1:] == [{"verdict": "near", "of": attack, "store": "we<b>st", "resemblance": 0.93, "run": "2026<i>",
                             "date": "1970-01-01T00:00:00Z", "here": False}, None]
        assert told[0]["verdict"] == "kept" and told[0]["of"] is told[0]["resemblance"] is None
        store._directory.note_overall([(2, here)])  # the server follows
        shown = [asked.get("/document", params={"key": key}).text for key in "abc"]
        words = [" ".join(" ".join(Tree(page).text).split()) for page in shown]
        assert "Over all stores represents itself by the run 2026-11 of 1970-01-01" in words[0]
        assert f"near, resemblance 0.930 , represented by we<b>st: {attack} by the run 2026<i> of" in words[1]
        assert 'key=https' not in shown[1] and attack not in shown[1] and "we<b>st" not in shown[1]
        assert "identical, resemblance 1.000 , represented by east: a" in words[2] and 'href="/document?key=a"' in shown[2]


@pytest.mark.parametrize(("evidence", "exact"), [("shingles", True), ("sketch", False)])
def test_stores_without_texts(tmp_path: Path, evidence: Any, exact: bool) -> None:
    with Store.open(tmp_path / "crawl", evidence=evidence) as store:
        store.decide("a", text(1))
        store.decide("b", text(1))
    asked = TestClient(application(opened(tmp_path / "crawl", 5)), base_url=URL)
    told = answered(asked.post("/api/peek", json={"text": text(1).upper(), "differences": 1}))
    assert told["judgement"]["of"] == "a" and told["judgement"]["exact"] == exact and told["differences"] is None
    assert answered(asked.get("/api/document?key=b"))["text"] is None
    assert "keeps no texts" in problem(asked.get("/api/compare?a=a&b=b"), 404)
    assert ("estimated from sketches" in asked.post("/peek", data={"text": text(1).upper()}).text) != exact


def test_readers_beside_a_writer(tmp_path: Path) -> None:
    """Every answer is of one moment: members of a cluster have versions and dates, whatever is written meanwhile."""
    with Store.open(tmp_path / "crawl", threshold=0.5) as store:
        store.decide("first", text(1))
        source = StoreSource(Store.open(tmp_path / "crawl", read_only=True), "crawl")
        failed: list[Exception] = []
        stop = threading.Event()

        def ask() -> None:
            try:
                while not stop.is_set():
                    found = source.document({"key": "first", "page": 1, "versions": 1, "size": 500})
                    assert found.cluster.members[0].key == "first" and len(found.cluster.members) == found.cluster.documents
                    source.clusters({"page": 1, "size": 50, "least": 2})
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(120):
            store.decide(f"copy {number}", text(1, number % 2))
            if number % 3 == 2:
                store.remove(f"copy {number - 1}")
            if number == 60:
                store.compact()
        stop.set()
        for thread in threads:
            thread.join()
        assert failed == []
        assert source.about({}).documents == 81


def test_what_a_store_refuses() -> None:
    class Strict(BruteForce):
        def peek(self, page: Any, key: Any = None) -> Any:
            raise ValueError(f"a text for the scope of {key!r}")

    with pytest.raises(Refused, match="scope of 'http://x/'") as refused:
        StoreSource(Strict(), "x").peek({"text": "", "key": "http://x/", "page": 1, "size": 50, "least": 2})
    assert refused.value.status == 400
