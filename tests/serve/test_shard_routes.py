"""What a shard answers over HTTP: its map, to whom, the steps of a move, and requests for pages of other shards."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from writing import Fleet, written

from ndcore.serve import shard_routes as module
from ndcore.store.service_client import HOST_MOVES, OTHER_MAP


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    made = Fleet(tmp_path, monkeypatch)
    yield made
    made.close()


def problem(answer: Any, status: int, words: str, kind: str | None = None) -> None:
    assert answer.status_code == status, answer.text
    said = answer.json()
    assert words in said["detail"] and said.get("type") == kind, said


def test_the_map_is_told_to_readers_and_taken_from_admins(fleet: Fleet) -> None:
    a = fleet.shards["a"]
    assert a.ask("shard-map", scope="read").json() == fleet.map.as_dict()
    problem(a.ask("shard-map", scope="write"), 403, "this needs read")
    later = fleet.map.begin_move(fleet.host_at("a"), "b").as_dict()
    problem(a.ask("shard-map", later, scope="write"), 403, "this needs admin")
    assert a.ask("shard-map", later, scope="admin").json() == later == a.ask("shard-map", scope="read").json()
    problem(a.ask("shard-map", {"version": 1}), 400, "this is not a map of shards")
    problem(a.ask("shard-map", fleet.map.as_dict()), 409, "somebody else has changed it", OTHER_MAP)
    assert a.client.delete("/api/shard-map").status_code == 405


def test_a_server_without_shards_has_none_of_it(tmp_path: Path) -> None:
    with written(tmp_path) as alone:
        assert alone.ask("shard-map").status_code == alone.ask("host", params={"host": "x"}).status_code == 404
        assert alone.ask("decide", {"key": "x", "text": "one two"}, headers={"ndcore-shard-map": "7"}).status_code == 200


def test_pages_of_other_shards_and_other_versions_are_refused(fleet: Fleet) -> None:
    a, here, there = fleet.shards["a"], f"http://{fleet.host_at('a')}/", f"http://{fleet.host_at('b')}/"
    assert a.ask("decide", {"key": here, "text": "one two three"}).status_code == 200
    for ask in (
        lambda **given: a.ask("decide", {"key": there, "text": "one two three"}, **given),
        lambda **given: a.ask("history", params={"key": there}, **given),
        lambda **given: a.ask("seen", {"key": there}, **given),
        lambda **given: a.ask("remove", {"key": there}, **given),
        lambda **given: a.ask("text", params={"key": there}, **given),
        lambda **given: a.ask("peek", {"key": there, "text": "one"}, **given),
        lambda **given: a.ask("compare", params={"a": here, "b": there}, **given),
    ):
        problem(ask(), 409, "are at the shard b, by version 1", OTHER_MAP)
        problem(ask(headers={"ndcore-shard-map": "3"}), 409, "the client has version 3", OTHER_MAP)
        problem(ask(headers={"ndcore-shard-map": "1"}), 409, "are at the shard b", OTHER_MAP)
    problem(a.ask("about", headers={"ndcore-shard-map": "3"}), 409, "the client has version 3", OTHER_MAP)
    lines = a.ask("decide-many", [{"key": here, "text": "four five six"}, {"key": there, "text": "one two three"}])
    problem(lines, 409, "are at the shard b", OTHER_MAP)  # a part is kept as a whole or not at all
    assert len(a.store) == 1 and a.store.text(here) == "one two three"
    stale = a.ask("decide-many", [{"key": here, "text": "x"}], headers={"ndcore-shard-map": "3"})
    problem(stale, 409, "has version 3", OTHER_MAP)


def test_a_key_is_normalised_on_a_thread(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes seconds where a stranger has made a long one, and other requests go on."""
    a, threads = fleet.shards["a"], []
    member = a.source.member
    assert member is not None
    inner = member.check_word
    monkeypatch.setattr(member, "check_word", lambda word: threads.append(threading.current_thread().name) or inner(word))
    page = {"key": f"http://{fleet.host_at('a')}/", "text": "one two three"}
    assert a.ask("peek", page).status_code == 200
    assert a.ask("history", params={"key": page["key"]}).status_code == 404
    assert len(threads) == 2 and all(name.startswith("ndcore-serve") for name in threads), threads


def test_an_answer_that_was_lost_is_told_again_while_the_host_moves(fleet: Fleet) -> None:
    a, host = fleet.shards["a"], fleet.host_at("a")
    page = {"key": f"http://{host}/", "text": "one two three", "idempotency_key": "k", "date": 5}
    first = a.ask("decide", page).json()
    begun = fleet.map.begin_move(host, "b")
    a.ask("shard-map", begun.as_dict())
    assert a.ask("decide", page).json() == {**first, "repeated": True}
    problem(a.ask("decide", {**page, "idempotency_key": "l"}), 503, "is being moved", HOST_MOVES)
    a.ask("shard-map", begun.end_copy().as_dict())
    assert a.ask("decide", page).json() == {**first, "repeated": True}
    problem(a.ask("decide", {**page, "idempotency_key": "l"}), 409, "are at the shard b", OTHER_MAP)


def test_steps_of_a_move_need_an_admin_and_the_step(fleet: Fleet) -> None:
    a, b, host = fleet.shards["a"], fleet.shards["b"], fleet.host_at("a")
    version = {"ndcore-shard-map": "1"}

    def put(content: bytes = b"", scope: str = "admin", **headers: str) -> Any:
        return b.client.put("/api/host", params={"host": host}, content=content,
                            headers={"authorization": f"Bearer {b.tokens[scope]}", **headers})

    for asked in (a.ask("host", params={"host": host}, scope="write"), a.ask("find-host", {"host": host}, scope="read"),
                  a.ask("forget-host", {"host": host}, scope="write"), put(scope="write")):
        problem(asked, 403, "this needs admin")
    for asked in (a.ask("host", params={"host": host}, headers=version), put(b"x", **version),
                  a.ask("forget-host", {"host": host}, headers=version)):
        problem(asked, 409, "is not in step", OTHER_MAP)
    for body in ({}, {"host": 7}):
        problem(a.ask("find-host", body), 400, "the parameter host is a string")
    problem(a.ask("host"), 400, "the parameter host is a string, got None")
    assert a.ask("find-host", {"host": host}).json() == {"pages": 0}
    for shard in (a, b):
        shard.ask("shard-map", fleet.map.begin_move(host, "b").as_dict())
    version = {"ndcore-shard-map": "2"}
    problem(put(b"not an archive", **version), 400, "the archive cannot be read")
    problem(put(b"", **version), 400, "the archive cannot be read")
    sent = a.ask("host", params={"host": host}, headers=version)
    assert sent.status_code == 200 and sent.headers["ndcore-pages"] == "0"
    assert put(sent.content, **version).json() == {"pages": 0}
    assert not list(a.store.path.parent.glob(".*"))  # nothing is left beside the stores
    assert not list(b.store.path.parent.glob(".*"))


def test_a_step_that_fails_holds_nothing(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    a, host = fleet.shards["a"], fleet.host_at("a")
    a.ask("shard-map", fleet.map.begin_move(host, "b").as_dict())
    version = {"ndcore-shard-map": "2"}

    def fail(*_: Any) -> None:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(module, "pack", fail)
        problem(a.ask("host", params={"host": host}, headers=version), 507, "no space left")
    with monkeypatch.context() as patched:
        patched.setattr(module, "pack", lambda *_: 1 / 0)
        problem(a.ask("host", params={"host": host}, headers=version), 500, "the terminal of the server says why")
    assert a.ask("host", params={"host": host}, headers=version).status_code == 200
