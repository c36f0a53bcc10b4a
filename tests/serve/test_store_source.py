"""A store that is asked: it follows its writer, one request at a time, and a long walk ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from commands import text

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from served import BruteForce

from ndcore.serve.refusal import Refused
from ndcore.serve.store_source import StoreSource


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
        def clusters(self) -> Iterator[list[Any]]:
            while True:
                yield ["alone"]

    with pytest.raises(Refused, match=r"longer than 0\.05 seconds") as refused:
        StoreSource(Long(), "x", 0.05).clusters({"page": 1, "size": 50, "least": 2})
    assert refused.value.status == 503


def test_what_a_store_refuses() -> None:
    class Strict(BruteForce):
        def peek(self, page: Any, key: Any = None) -> Any:
            raise ValueError(f"a text for the scope of {key!r}")

    with pytest.raises(Refused, match="scope of 'http://x/'") as refused:
        StoreSource(Strict(), "x").peek({"text": "", "key": "http://x/", "page": 1, "size": 50, "least": 2})
    assert refused.value.status == 400
