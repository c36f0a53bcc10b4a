"""The decider: order, single pages first, errors for whom they belong to, bounds, and an end that loses nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stores import settings

import ndcore as nd
from ndcore.serve import decider as module
from ndcore.serve.decider import Decider
from ndcore.serve.refusal import Refused
from ndcore.serve.written_source import WrittenSource


@pytest.fixture
def store(tmp_path: Path) -> Iterator[nd.Store]:
    with nd.Store.open(tmp_path / "store", **settings()) as made:
        yield made


def make_decider(store: nd.Store) -> Decider:
    return Decider(store, lambda pages: store.decide_requests(pages, 60))


def put(decider: Decider, store: nd.Store, *keys: str, streamed: bool = True) -> Any:
    items = [(key, "one two three", 5.0) for key in keys]
    return decider.put(lambda: store.prepare_requests(items, [None] * len(keys)), len(keys), streamed=streamed).answered


def test_answers_are_those_of_the_store_in_the_order_of_asking(store: nd.Store) -> None:
    decider = make_decider(store)
    futures = [put(decider, store, f"{i}a", f"{i}b", streamed=bool(i % 2)) for i in range(20)]
    answers = [future.result() for future in futures]
    decider.close()
    assert [[each.verdict.key for each in answer] for answer in answers] == [[f"{i}a", f"{i}b"] for i in range(20)]
    singles = [answer[0].place for answer in answers[::2]]
    streamed = [answer[0].place for answer in answers[1::2]]
    assert singles == sorted(singles) and streamed == sorted(streamed) and decider.waiting == 0


def test_single_pages_go_before_streams(store: nd.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()
    decide = store.decide_requests

    def slow(*given: Any) -> Any:
        begun.set()
        assert go.wait(30)
        return decide(*given)

    monkeypatch.setattr(store, "decide_requests", slow)
    decider = make_decider(store)
    first = put(decider, store, "first", streamed=True)
    assert begun.wait(30)
    streamed, single = put(decider, store, "streamed", streamed=True), put(decider, store, "single", streamed=False)
    go.set()
    places = [future.result()[0].place for future in (first, single, streamed)]
    decider.close()
    assert places == sorted(places)


def test_a_single_page_goes_between_two_slices_of_a_stream(store: nd.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go, sizes, decide = threading.Event(), threading.Event(), list[int](), store.decide_requests

    def slow(pages: Any, *given: Any) -> Any:
        sizes.append(len(pages))
        begun.set()
        assert go.wait(30)
        return decide(pages, *given)

    monkeypatch.setattr(store, "decide_requests", slow)
    monkeypatch.setattr(module, "SLICE", 2)
    decider = make_decider(store)
    streamed = put(decider, store, *"abcde", streamed=True)
    assert begun.wait(30)
    single = put(decider, store, "single", streamed=False)
    go.set()
    places = [answer.place for answer in streamed.result()]
    assert places == sorted(places) and places[1] < single.result()[0].place < places[2]
    decider.close()
    assert sizes == [2, 1, 2, 1] and decider.waiting == 0


def test_streams_are_prepared_only_when_the_answers_of_single_pages_have_left(store: nd.Store) -> None:
    decider, left = make_decider(store), list[bool]()
    decider.give_way(time.perf_counter() + 30)  # no page waits
    put(decider, store, "single", streamed=False).result(30)
    decider.give_way(time.perf_counter() + 0.01)  # not for longer
    preparing = threading.Thread(target=lambda: (decider.give_way(time.perf_counter() + 30), left.append(True)))
    preparing.start()
    preparing.join(0.05)
    assert not left
    decider.leave()
    preparing.join(30)
    decider.close()
    assert left == [True]


def test_streams_are_decided_only_when_the_answers_of_single_pages_have_left(
    store: nd.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GIVEN", 30)
    decider = make_decider(store)
    for key in ("one", "two"):
        put(decider, store, key, streamed=False).result(30)
    streamed = put(decider, store, "streamed")
    third = put(decider, store, "third", streamed=False)  # goes before it meanwhile
    third.result(30)
    for _ in range(3):
        assert not streamed.done()
        decider.leave()
    streamed.result(30)
    monkeypatch.setattr(module, "GIVEN", 0.01)  # not for longer
    put(decider, store, "four", streamed=False).result(30)
    put(decider, store, "another stream").result(30)
    decider.close()


def test_parts_of_streams_are_synced_with_the_single_page_that_is_queued(
    store: nd.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, queued, flushed, early = threading.Event(), threading.Event(), threading.Event(), list[bool]()
    decide, flush = store.decide_requests, store.flush

    def decide_slowly(pages: Any, *given: Any) -> Any:
        if pages.keys[0] == "second":
            begun.set()
            assert queued.wait(30)
        if pages.keys[0] == "single":
            early.append(flushed.wait(0.3))
        return decide(pages, *given)

    monkeypatch.setattr(store, "decide_requests", decide_slowly)
    monkeypatch.setattr(store, "flush", lambda: (flush(), flushed.set()))
    decider = make_decider(store)
    answered = [put(decider, store, key) for key in ("first", "second")]
    assert begun.wait(30)
    answered.append(put(decider, store, "single", streamed=False))
    queued.set()
    assert [each.result(30)[0].verdict.key for each in answered] == ["first", "second", "single"]
    decider.close()
    assert early == [False]


def test_answers_that_have_left_are_counted_by_the_service(store: nd.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def decide(source: WrittenSource) -> None:
        decide_requests = store.decide_requests
        for name in ("decide_requests", "flush"):
            monkeypatch.setattr(store, name, lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
            with pytest.raises(Refused, match="full"):
                await source.decide({"key": name, "text": "one two three"})
            monkeypatch.setattr(store, "decide_requests", decide_requests)
        monkeypatch.setattr(store, "flush", flush)
        await source.decide({"key": "a", "text": "one two three"})
        leaving = asyncio.ensure_future(source.decide({"key": "b", "text": "one two three"}))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        await asyncio.sleep(0)

    flush, source = store.flush, WrittenSource(store, "store")
    asyncio.run(decide(source))
    begun = time.perf_counter()
    source._decider.give_way(begun + 30)
    assert time.perf_counter() < begun + 30
    source.close()


@pytest.mark.parametrize("kept", [0, 2])
def test_slices_before_an_error_are_answered(store: nd.Store, monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    decide = store.decide_requests

    def fail(pages: Any, *given: Any) -> Any:
        if len(store) == kept:
            raise OSError(28, "full")
        return decide(pages, *given)

    monkeypatch.setattr(store, "decide_requests", fail)
    monkeypatch.setattr(module, "SLICE", 2)
    decider = make_decider(store)
    items = [(key, "one two three", 5.0) for key in "abcdef"]
    job = decider.put(lambda: store.prepare_requests(items, [None] * 6), 6, streamed=True)
    with pytest.raises(OSError, match="full"):
        job.decided.result(30)
    if kept:
        assert [answer.verdict.key for answer in job.answered.result(30)] == ["a", "b"]
    else:
        with pytest.raises(OSError, match="full"):
            job.answered.result(30)
    decider.close()
    assert len(store) == kept and decider.waiting == 0


def test_a_stream_ends_at_a_page_whose_idempotency_key_had_another_page(
    store: nd.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLICE", 2)
    decider = make_decider(store)
    items = [(key, "one two three", 5.0) for key in "abcdef"]
    job = decider.put(lambda: store.prepare_requests(items, ["1", "2", "3", "1", "5", "6"]), 6, streamed=True)
    assert job.decided.result(30) == 3 and [each.verdict.key for each in job.answered.result(30)] == ["a", "b", "c"]
    decider.close()
    assert len(store) == 3


def test_an_error_is_for_its_pages_and_the_next_ones_are_decided(store: nd.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    decider, decide = make_decider(store), store.decide_requests
    monkeypatch.setattr(store, "decide_requests", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        put(decider, store, "a", streamed=False).result()
    monkeypatch.setattr(store, "decide_requests", decide)
    assert put(decider, store, "b", streamed=False).result()[0].verdict.key == "b" and decider.waiting == 0
    monkeypatch.setattr(store, "flush", lambda: (_ for _ in ()).throw(OSError(5, "failed")))
    with pytest.raises(OSError, match="failed"):  # decided on, and not on disk: not acknowledged
        put(decider, store, "c", streamed=True).result()
    decider.close()


def test_too_many_pages_and_a_server_that_stops(store: nd.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    decider = make_decider(store)
    with pytest.raises(Refused) as refused:
        put(decider, store, "a", "b", "c", "d", streamed=True)
    assert refused.value.status == 429 and refused.value.headers == {"retry-after": "1"}
    waiting = put(decider, store, "a", streamed=True)
    decider.close()
    assert waiting.result()[0].verdict.kept
    with pytest.raises(Refused) as refused:
        put(decider, store, "b", streamed=True)
    assert refused.value.status == 503 and "retry-after" in refused.value.headers


def test_answers_come_after_the_disk(store: nd.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    order, flush = [], store.flush
    monkeypatch.setattr(store, "flush", lambda: (order.append("disk"), flush()))
    decider = make_decider(store)
    future = put(decider, store, "a", streamed=False)
    future.add_done_callback(lambda _: order.append("answer"))
    decider.close()
    assert order == ["disk", "answer"]


def test_who_leaves_while_it_waits_holds_up_nobody(store: nd.Store) -> None:
    async def leave() -> None:
        waiting = asyncio.wrap_future(put(decider, store, "a"))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    decider = make_decider(store)
    asyncio.run(leave())
    assert put(decider, store, "b").result(30)[0].verdict.key == "b"
    decider.close()
    assert "a" in store


@pytest.mark.parametrize("streamed", [False, True])
def test_a_part_of_a_stream_goes_to_disk_with_the_next_job_and_a_single_page_at_once(
    store: nd.Store, monkeypatch: pytest.MonkeyPatch, streamed: bool
) -> None:
    waiting, flushed, alone = threading.Event(), threading.Event(), list[bool]()
    decide, flush = store.decide_requests, store.flush

    def decide_slowly(pages: Any, *given: Any) -> Any:
        assert waiting.wait(30)
        if pages.keys[0] == "second":
            alone.append(flushed.wait(0.5 if streamed else 30))
        return decide(pages, *given)

    monkeypatch.setattr(store, "decide_requests", decide_slowly)
    monkeypatch.setattr(store, "flush", lambda: (flush(), flushed.set()))
    decider = make_decider(store)
    answered = [put(decider, store, key, streamed=streamed) for key in ("first", "second")]
    waiting.set()
    assert [future.result()[0].verdict.key for future in answered] == ["first", "second"]
    assert alone == [not streamed]
    decider.close()
