"""A store and a collection that are served, and what asks them. No test is here."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from commands import text

import ndcore as nd
from ndcore.reference.store import BruteForceStore as Reference

pytest.importorskip("starlette")
pytest.importorskip("httpx")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer versions of Starlette prefer another client
    from starlette.testclient import TestClient

from ndcore.serve.app import Limits, application
from ndcore.serve.collection_source import CollectionSource
from ndcore.serve.server import opened
from ndcore.serve.store_source import StoreSource
from ndcore.store.settings import StoreSettings
from ndcore.store.store import Store

URL = "http://127.0.0.1:8765"
DAY = 86_400_000_000  # microseconds
WIDTH = 3
THRESHOLD = 0.5
HOSTILE_KEYS = (
    "../../etc/passwd",
    "<script>document.title='ran'</script>",
    "'\"><img src=x onerror=alert(1)>",
    "a&b=c#d?e%2e",
    "\u202ex\x00y\x1b[31m",
    "\ud800",
    "é" * 300,
    " ",
    "",
)

# (key, text, day), in the order of acknowledgement: a has a copy, a near-duplicate that was seen last, and three versions.
PAGES: tuple[tuple[Any, str, int], ...] = (
    ("a", text(1), 1),
    ("copy", text(1), 2),
    ("a", text(1), 3),
    ("a", text(1).upper(), 4),
    ("near", text(1, 1), 9),
    (7, text(2), 5),
    (b"\xffkey", text(2, 1), 6),
    ("7x", text(3), 7),
    ("7x", text(3, 2), 8),
    ("7x", text(4), 9),
    ("empty", "", 1),
)


class BruteForce:
    """The reference of a store with the methods that a server asks: answers are the batch result."""

    def __init__(self, pages: Any = PAGES) -> None:
        self.settings = StoreSettings.of({"threshold": THRESHOLD, "shingling": nd.Shingling(width=WIDTH)})
        self.known = Reference(THRESHOLD, width=WIDTH)
        self.refreshed = 0
        for key, page, day in pages:
            self.known.decide(key, page, day * DAY)

    def __contains__(self, key: Any) -> bool:
        return key in self.known._pages

    def __len__(self) -> int:
        return len(self.known._pages)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.known, name)

    def peek(self, page: Any, key: Any = None) -> Any:
        return SimpleNamespace(**asdict(self.known.peek(page, key)), exact=True)

    def clusters(self, least: int = 1) -> Any:
        return (members for members in self.known.clusters().values() if len(members) >= least)

    def text(self, key: Any) -> Any:
        return self.known._pages[key].last

    def overall(self, key: Any) -> None:
        """Return that no run over many stores said anything: the definition knows one store."""

    def stats(self) -> dict[str, Any]:
        return {"documents": len(self), "bytes": 12, "settings": self.settings.as_dict()}

    def refresh(self) -> None:
        self.refreshed += 1


def store_client(folder: Path, pages: Any = PAGES) -> TestClient:
    """What asks a server of a store on disk, opened as `ndcore serve` opens it."""
    with Store.open(folder / "crawl", threshold=THRESHOLD, shingling=nd.Shingling(width=WIDTH)) as store:
        for key, page, day in pages:
            store.decide(key, page, day * DAY / 1e6)
    return TestClient(application(opened(folder / "crawl", 30)), base_url=URL)


def client(store: Any = None, limits: Limits | None = None) -> TestClient:
    """What asks a server of a store."""
    return TestClient(application(StoreSource(store or BruteForce(), "crawl"), limits), base_url=URL)


def collection_client(folder: Path) -> TestClient:
    """What asks a server of a collection of the texts 1, 1, a near-duplicate of it, 2 and 3."""
    texts = [text(1), text(1), text(1, 1), text(2), text(3)]
    made = nd.Collection.build(
        folder / "c",
        texts,
        ["a", "b", "<b>c</b>", "4", "e"],
        threshold=THRESHOLD,
        sketcher=nd.ModSketcher(modulus=1, shingling=nd.Shingling(width=WIDTH)),
    )
    return TestClient(application(CollectionSource(made, "made")), base_url=URL)


def answered(found: Any) -> Any:
    """The JSON of an answer, after its status and type."""
    assert found.status_code == 200, found.text
    assert found.headers["content-type"] == "application/json"
    return json.loads(found.content)


def problem(found: Any, status: int) -> str:
    """The detail of a problem of the API."""
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    told = json.loads(found.content)
    assert told["status"] == status and set(told) - {"type"} == {"title", "status", "detail"}
    return str(told["detail"])
