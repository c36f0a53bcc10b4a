"""A client says what the store says."""

from __future__ import annotations

import datetime as dt
import errno
import os
import threading

import pytest
from stores import TEXT, opened, settings

import ndcore as nd

PAGES = [("a", TEXT, 0), (b"\xff", TEXT.encode(), "2020-01-02"), (-7, TEXT.upper(), dt.date(2020, 1, 3)),
         ("\ud800", "other \ud800 text of bytes", 1.5), ("a", TEXT + " more", None), ("empty", "", 3)]


@pytest.fixture
def both(tmp_path):
    """A store that listens, its client, and another store that is asked directly."""
    with opened(tmp_path, **settings()) as store, opened(tmp_path / "direct", **settings()) as direct, store.listen(), \
            nd.StoreClient(store.path) as client:
        yield store, client, direct


def without_date(verdict):
    return {**verdict.as_dict(), "date": None}


def test_everything_is_as_in_the_store(both):
    store, client, direct = both
    for page in PAGES:
        assert without_date(client.decide(*page)) == without_date(direct.decide(*page))
    assert list(map(without_date, client.decide_many(page for page in PAGES))) == [
        without_date(verdict) for verdict in direct.decide_many(PAGES)]
    assert without_date(client.peek(TEXT)) == without_date(direct.peek(TEXT))
    assert list(client.clusters()) == list(direct.clusters()) and len(client) == len(direct) == 5
    for key in ("a", b"\xff", -7, "\ud800"):
        assert key in client and client.cluster(key) == direct.cluster(key) and client.locate(key) == direct.locate(key)
        assert client.text(key) == direct.text(key) and type(client.text(key)) is type(direct.text(key))
        assert client.history(key) == store.history(key)
    assert "x" not in client
    ranked = ["x", -7, b"\xff", "a", "\ud800"]
    for more in ({}, {"best": "latest"}, {"best": [1, 2, 3, 4, 5], "earlier": ["empty", "\ud800"]}):
        assert client.collapse(ranked, **more) == store.collapse(ranked, **more) == direct.collapse(ranked, **more)
    assert client.history(-7) == direct.history(-7)
    client.remove(-7)
    assert -7 not in client
    assert client.expire(before="2019-01-01") == direct.expire(before="2019-01-01")
    assert client.stats()["documents"] == len(client)
    client.flush()


def test_many_clusters_and_pages(both, monkeypatch):
    from ndcore.store import socket, verdict

    store, client, _ = both
    monkeypatch.setattr(socket, "TOGETHER", 3)
    monkeypatch.setattr(verdict, "BATCH", 7)
    items = [(i, f"page {i} {i * 7} {i * 11}") for i in range(20)]
    assert [verdict.key for verdict in client.decide_many(iter(items))] == list(range(20))
    assert list(client.clusters()) == list(store.clusters())
    client.decide("again", items[3][1])
    assert list(client.clusters(2)) == list(store.clusters(2)) == [[3, "again"]]


def test_sessions(both):
    store, client, _ = both
    one, two = client.session("one"), store.session("two")
    assert one.decide("a", TEXT, 0).kept and two.decide("b", TEXT, 0).kept
    assert store.session("one").peek(TEXT).of == "a" and client.session("one").peek(TEXT).of == "a"
    assert two.commit() == []
    changed = one.commit()
    assert [(verdict.key, verdict.of) for verdict in changed] == [("a", "b")] and "a" in store
    one.decide("c", TEXT)
    assert one.cluster("c") == ["b", "a", "c"]
    one.discard()
    assert len(store.session("one")) == 0


def test_errors_are_the_errors_of_the_store(both, monkeypatch):
    store, client, _ = both
    for call, kind, message in (
            (lambda: client.cluster("x"), KeyError, "no page with the key 'x'"),
            (lambda: client.decide(None, "x"), TypeError, "the key is None"),
            (lambda: client.decide("a", 7), TypeError, "texts are str or bytes"),
            (lambda: client.decide("a", "x", "then"), ValueError, "ISO 8601"),
            (lambda: client.decide(1 << 64, "x"), ValueError, "64 bits"),
            (lambda: list(client.decide_many(["abc"])), TypeError, "an item is 'abc'"),
            (lambda: client.expire(None), TypeError, "before is None")):
        with pytest.raises(kind, match=message):
            call()

    def full(payloads):
        raise OSError(errno.ENOSPC, "No space left on device (1 MB are free there)", "/some/path")

    monkeypatch.setattr(store._directory.log, "append", full)
    with pytest.raises(OSError, match="are free there") as caught:
        client.decide("a", TEXT)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/some/path")
    monkeypatch.undo()
    assert client.decide("a", TEXT).kept


def test_no_store_or_no_listener(tmp_path):
    with pytest.raises(ConnectionError, match="no process listens"):
        nd.StoreClient(tmp_path)
    with opened(tmp_path, **settings()) as store, pytest.raises(ConnectionError, match="no process listens"):
        nd.StoreClient(store.path)


def test_threads_and_forks_share_a_client(both):
    store, client, _ = both

    def work(name):
        for i in range(20):
            assert client.decide(f"{name} {i}", f"{TEXT} {name} {i}").key == f"{name} {i}"

    threads = [threading.Thread(target=work, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if client.decide("child", TEXT).key == "child" and len(client) == 61 else 1
        finally:
            os._exit(code)
    assert client.peek(TEXT).key is None
    assert os.waitpid(child, 0)[1] == 0
    assert len(store) == 61
    assert repr(client) == f"<StoreClient {str(store.path)!r}>"
