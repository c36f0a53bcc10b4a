"""A server as one of several shards: whose pages it answers for, by which version of the map, and stores of other shards."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from stores import settings

import ndcore as nd
from ndcore.serve.refusal import Refused
from ndcore.serve.shard_member import ShardMember
from ndcore.storage.container import CorruptFile
from ndcore.store.service_client import HOST_MOVES, OTHER_MAP
from ndcore.store.shard_map import ShardMap

MAP = ShardMap(1, {name: f"http://{name}.example" for name in "ab"}, "5a" * 16)
HERE, THERE = (next(f"h{i}.example" for i in range(99) if MAP.owner(f"h{i}.example") == name) for name in "ab")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[nd.Store]:
    MAP.write(tmp_path / "map")
    with nd.Store.open(tmp_path / "store", **settings(scope="host", keys="url")) as made:
        yield made


@pytest.fixture
def member(store: nd.Store, tmp_path: Path) -> ShardMember:
    return ShardMember("a", tmp_path / "map", store)


def refused(status: int, kind: str | None, words: str, ask: object, *given: object) -> None:
    with pytest.raises(Refused, match=words) as raised:
        ask(*given)  # type: ignore[operator]
    assert (raised.value.status, raised.value.kind) == (status, kind)


def test_it_answers_for_its_hosts(member: ShardMember) -> None:
    member.check_word(f"HTTP://{HERE.upper()}:80/a?b#c")
    refused(409, OTHER_MAP, f"the pages of the host '{THERE}' are at the shard b, by version 1", member.check_word,
            f"http://{THERE}/")
    refused(400, None, "a key is a str", member.check_word, 7)
    with member.writing(f"http://{HERE}/"):
        pass
    with member.deciding() as admit:
        admit(f"http://{HERE}/")
        refused(409, OTHER_MAP, "ask there", admit, f"http://{THERE}/")


def test_versions(member: ShardMember) -> None:
    member.check_version(None)
    member.check_version("1")
    member.check_version("2")  # this shard gets it next
    for given in ("0", "3", "1.0", "x" * 100):
        refused(409, OTHER_MAP, "has version 1; ask for it", member.check_version, given)


def test_later_maps_are_taken_and_kept(member: ShardMember, tmp_path: Path) -> None:
    begun = MAP.begin_move(HERE, "b")
    assert member.take_map(begun.as_dict()) == begun == member.map == ShardMap.read(tmp_path / "map")
    assert member.take_map(begun.as_dict()) == begun  # again
    refused(409, OTHER_MAP, "somebody else has changed it", member.take_map, MAP.as_dict())
    refused(409, OTHER_MAP, "version 2 is offered: somebody else", member.take_map, MAP.begin_move(THERE, "a").as_dict())
    refused(409, OTHER_MAP, "its secret is another", member.take_map, replace(begun, version=9, secret="00" * 16).as_dict())
    for names in ("bc", "abc", "a"):
        refused(409, OTHER_MAP, f"has the shards {', '.join(names)}, and the shard a knows a, b; a shard joins by",
                member.take_map, ShardMap(3, {name: f"http://{name}" for name in names}, MAP.secret).as_dict())
    there = replace(begun, version=3, shards={"a": "http://elsewhere", "b": "http://b.example"})
    assert member.take_map(there.as_dict()) == there  # an address may be another one
    member.map = begun
    begun.write(tmp_path / "map")
    refused(400, None, "this is not a map of shards", member.take_map, {"version": 7})
    assert member.map == begun == ShardMap.read(tmp_path / "map")


def test_a_host_that_moves(member: ShardMember) -> None:
    begun = MAP.begin_move(HERE, "b")
    member.take_map(begun.as_dict())
    member.check_word(f"http://{HERE}/")  # it is looked up here
    for ask in (lambda: member.writing(f"http://{HERE}/").__enter__(), lambda: member.resting().__enter__()):
        refused(503, HOST_MOVES, f"the host '{HERE}' is being moved from a to b; ask again", ask)
    with member.step("2", HERE, "source", "copy") as pages:
        assert pages.host == HERE
        refused(503, None, "busy with a step of a move", member.take_map, begun.end_copy().as_dict())
        refused(503, None, "busy", lambda: member.step("2", HERE, "source", "copy").__enter__())
    for version, host, role, step in (
        ("2", HERE, "target", "copy"), ("2", HERE, "source", "clear"), (None, HERE, "source", "copy"),
        ("2", THERE, "source", "copy"),
    ):  # fmt: skip
        refused(409, OTHER_MAP, "is not in step", lambda *asked: member.step(*asked).__enter__(), version, host, role, step)
    refused(409, OTHER_MAP, "has version 2", lambda: member.step("1", HERE, "source", "copy").__enter__())
    refused(409, OTHER_MAP, "is not in step", lambda: member.step("3", HERE, "source", "copy").__enter__())
    member.take_map(begun.end_copy().as_dict())
    refused(409, OTHER_MAP, "are at the shard b", member.check_word, f"http://{HERE}/")
    member.take_map(begun.end_copy().end_move().as_dict())
    with member.resting():
        pass


def test_no_page_is_decided_on_after_a_map_that_gives_it_away(member: ShardMember) -> None:
    """A map waits for the decision that is being made."""
    taken = threading.Thread(target=member.take_map, args=(MAP.begin_move(HERE, "b").as_dict(),))
    with member.deciding() as admit:
        admit(f"http://{HERE}/")
        taken.start()
        taken.join(0.2)
        assert taken.is_alive() and member.map == MAP
    taken.join(10)
    assert member.map.version == 2


def test_stores_and_maps_that_do_not_fit(store: nd.Store, tmp_path: Path) -> None:
    new = ShardMember("z", tmp_path / "map", store)  # it may join
    refused(409, OTHER_MAP, "are at the shard a", new.check_word, f"http://{HERE}/")
    with nd.Store.open(tmp_path / "other") as other, pytest.raises(ValueError, match="--scope host"):
        ShardMember("a", tmp_path / "map", other)
    (tmp_path / "broken").write_bytes(b"{}")
    with pytest.raises(CorruptFile, match="broken"):
        ShardMember("a", tmp_path / "broken", store)
    with pytest.raises(FileNotFoundError):
        ShardMember("a", tmp_path / "none", store)
    store.decide(f"http://{THERE}/1", "one two three")
    with pytest.raises(ValueError, match=f"http://{THERE}/1.*is this the store of another shard"):
        ShardMember("a", tmp_path / "map", store)
    with pytest.raises(ValueError, match="Or is the map an old one: take the file of another shard"):
        ShardMember("a", tmp_path / "map", store)
    begun = MAP.begin_move(THERE, "a")  # a copy that ended early has left it
    begun.write(tmp_path / "map")
    ShardMember("a", tmp_path / "map", store)


def test_hosts_that_a_joining_shard_would_get(member: ShardMember, store: nd.Store) -> None:
    hosts = [host for host in (f"h{i}.example" for i in range(200)) if MAP.owner(host) == "a"]
    joined = ShardMap(1, {**MAP.shards, "c": "http://c.example"}, MAP.secret)
    for host in hosts[:40]:
        store.decide(f"http://{host}/", "one two three")
    expected = {host for host in hosts[:40] if joined.owner(host) == "c"}
    assert len(expected) > 5 and set(member.list_hosts("c")) == expected
    store.decide(f"http://{hosts[41]}/", "one two three")
    begun = MAP.begin_join("c", "http://c.example")
    member.take_map(begun.as_dict())
    assert set(member.list_hosts("c")) == {host for host in hosts[:42] if host != hosts[40] and joined.owner(host) == "c"}
    for host in hosts[:60]:
        if joined.owner(host) == "c":  # with pages or without
            refused(503, HOST_MOVES, f"the shard c joins, and may get the host '{host}'", member.check_write, host)
        else:
            member.check_write(host)
        member.check_host(host)
    away = min(expected)
    member.take_map(begun.end_join(dict.fromkeys(expected, "a")).as_dict())
    assert member.map.owner(away) == "a"
    assert member.map.owner(next(host for host in hosts[60:] if joined.owner(host) == "c")) == "c"
    member.check_write(away)


def test_a_map_that_cannot_be_written_is_refused_at_the_start(
    store: nd.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, a move would find it when other shards have the next version already."""
    def fail(self: ShardMap, path: Path) -> None:
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(ShardMap, "write", fail)
    with pytest.raises(OSError, match=r"Read-only file system.*map"):
        ShardMember("a", tmp_path / "map", store)


def test_a_key_is_normalised_before_decisions_wait(member: ShardMember, monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes seconds where a stranger has made a long one."""
    def normalise(word: str) -> str:
        assert not member._lock.locked()
        return word

    monkeypatch.setattr("ndcore.serve.shard_member.normalise_url", normalise)
    with member.writing(f"http://{HERE}/"):
        assert member._lock.locked()


def test_what_was_found_of_a_host_is_remembered(member: ShardMember) -> None:
    first = member.pages_of(HERE)
    assert member.pages_of(HERE) is first
    assert member.pages_of(THERE) is not first and member.pages_of(THERE).host == THERE
