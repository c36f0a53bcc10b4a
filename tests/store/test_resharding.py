"""Hosts move between shards: with all their pages and versions, whoever is killed at what step, one move at a time."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clocks import clock_with
from stores import FIELDS
from stores import host as host_of
from writing import Fleet, Killed

import ndcore as nd
from ndcore.reference.store import BruteForceStore as Reference
from ndcore.store import host_pages, service_client, sharded
from ndcore.store import store as stores
from ndcore.store.resharding import add_shard, move_host
from ndcore.store.service_client import OtherShardMap
from ndcore.store.shard_map import ShardMap

ADDRESSES = [f"http://{name}.example" for name in "abc"]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    monkeypatch.setattr(stores, "READ", 4)
    monkeypatch.setattr(host_pages, "READ", 4)
    made = Fleet(tmp_path, monkeypatch)
    yield made
    made.close()


def crawl(store: Any, hosts: list[str], count: int, seed: int, reference: Reference | None = None) -> None:
    """Decide on pages of hosts, on versions of them and on pages that are gone, and compare with a reference."""
    chance = random.Random(seed)
    for i in range(count):
        key, date = f"http://{chance.choice(hosts)}/{chance.randrange(count // 4)}", float(seed * 1000 + i)
        if chance.random() < 0.3:
            known = store.mark_gone(key, date)
            assert reference is None or reference.mark_gone(key, date) == known
            continue
        text = chance.choice(["a b c d e", "a b c d f", "A b c, d e", "x y z u v", " ".join(chance.choices("abcdef", k=5))])
        verdict = store.decide(key, text, date)
        if reference is not None:
            expected = reference.decide(key, text, date)
            assert [getattr(verdict, field) for field in FIELDS] == [getattr(expected, field) for field in FIELDS]


def content(fleet: Fleet, host: str) -> list[tuple[str, Any]]:
    """Return which shards have pages of a host, and what they have: in their order, with clusters and versions."""
    held = []
    for name, shard in fleet.shards.items():
        store = shard.store
        keys = sorted(key for members in store.clusters() for key in members if key.split("/")[2] == host)
        if keys:
            held.append((name, [(key, store.text(key), store.history(key), store.cluster(key)) for key in keys]))
    return held


def test_a_host_moves_with_its_pages_versions_and_clusters(fleet: Fleet) -> None:
    host, other, elsewhere = fleet.host_at("a"), fleet.host_at("a", 1), fleet.host_at("b")
    reference = Reference(threshold=0.5, width=2, scope=host_of)
    with nd.ShardedStore(ADDRESSES[0], token="x") as store:
        crawl(store, [host, other, elsewhere], 120, 1, reference)
        [(_, before)] = content(fleet, host)
        assert any(len(history) > 2 for *_, history, _ in before)
        assert any(history[-1].change == "gone" for *_, history, _ in before)
        last, moved = move_host(ADDRESSES[2], host, "c", "x")
        assert (last.version, last.move, last.placed, moved) == (4, None, {host: "c"}, len(before))
        assert fleet.maps() == [last] * 3
        assert content(fleet, host) == [("c", before)]
        assert len(content(fleet, other)) == len(content(fleet, elsewhere)) == 1
        assert store.shard(f"http://{host}/") == "a"  # the client does not know yet
        crawl(store, [host, other, elsewhere], 120, 2, reference)
        assert store.shard(f"http://{host}/") == "c"
        move_host(ADDRESSES, host, "a", "x")
        assert fleet.maps()[0].placed == {}
        crawl(store, [host, other, elsewhere], 60, 3, reference)
    assert all(shard.store.check() == [] for shard in fleet.shards.values())


@pytest.mark.parametrize("late", [False, True])
def test_a_move_goes_on_where_it_was_killed(fleet: Fleet, monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
    """The one who moves is killed at each request, before or after it was answered; writes never go to two shards."""
    monkeypatch.setattr(sharded, "PATIENCE", 0.0)
    host, steps = fleet.host_at("a"), 0
    with nd.ShardedStore(ADDRESSES[0], token="x") as store:
        crawl(store, [host, fleet.host_at("a", 1)], 24, 1)
    [(_, before)] = content(fleet, host)
    for kill_at in range(100):
        target = "ca"[kill_at % 2]
        try:
            with fleet.killing(kill_at, late=late):
                move_host(ADDRESSES, host, target, "x")
            break
        except Killed:
            steps += 1
        held = [name for name, shard in fleet.shards.items() if _writes(shard, host)]
        assert len(held) <= 1
        if held:
            with nd.ShardedStore(ADDRESSES, token="x") as store:
                assert store.history(before[0][0]) == before[0][2]
        move_host(ADDRESSES, host, target, "x")
        assert content(fleet, host) == [(target, before)]
        assert len({each.version for each in fleet.maps()}) == 1 and fleet.maps()[0].move is None
    assert steps > 15


def _writes(shard: Any, host: str) -> bool:
    """Tell whether a shard takes a page of a host now."""
    asked = shard.ask("decide", {"key": f"http://{host}/probe", "text": "probe"})
    if asked.status_code == 200:
        shard.store.remove(f"http://{host}/probe")
    return bool(asked.status_code == 200)


@pytest.mark.parametrize("failing", ["_take", "_remove"])
def test_a_shard_that_fails_in_the_middle_of_a_step(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """The new shard ends in the middle of taking pages, or the old one in the middle of forgetting them."""
    host = fleet.host_at("a")
    with nd.ShardedStore(ADDRESSES[0], token="x") as store:
        crawl(store, [host], 60, 1)
    [(_, before)] = content(fleet, host)
    inner, target, calls = getattr(nd.Store, failing), fleet.shards["b"].store, 0

    def fail(self: nd.Store, *given: Any, **named: Any) -> Any:
        nonlocal calls
        if failing == "_take" and self is target:
            inner(self, given[0], given[1][:10])
            raise OSError(5, "the disk is broken")
        if failing == "_remove":
            calls += 1
            if calls == 2:
                raise OSError(5, "the disk is broken")
        return inner(self, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(nd.Store, failing, fail)
        with pytest.raises(RuntimeError, match="500"):
            move_host(ADDRESSES, host, "b", "x")
    held = dict(content(fleet, host))
    assert len(held) == 2 and len(held["b" if failing == "_take" else "a"]) < len(before)
    with nd.ShardedStore(ADDRESSES, token="x") as store:
        clusters = {tuple(members) for *_, members in before}
        assert sorted(store.clusters()) == sorted(map(list, clusters))  # each once, while both shards have some
    _, moved = move_host(ADDRESSES, host, "b", "x")
    assert moved == (len(before) if failing == "_take" else None)
    assert content(fleet, host) == [("b", before)]


def test_a_suspended_move_does_not_end_a_copy_that_another_try_left_undone(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A move is suspended when its copy is complete; a second try begins to copy again and fails; then the first goes on."""
    host, target = fleet.host_at("a"), fleet.shards["b"].store
    with nd.ShardedStore(ADDRESSES[0], token="x") as store:
        crawl(store, [host], 60, 1)
    [(_, before)] = content(fleet, host)
    inner = nd.Store._take

    def fail(self: nd.Store, other: nd.Store, numbers: list[int]) -> int:
        if self is target:
            inner(self, other, numbers[:3])
            raise OSError(28, "no space left on device")
        return inner(self, other, numbers)

    def try_again(method: str, name: str, path: str) -> None:
        if method == "PUT":
            fleet.after = lambda *_: None
            with monkeypatch.context() as patched:
                patched.setattr(nd.Store, "_take", fail)
                with pytest.raises(OSError, match="no space left"):
                    move_host(ADDRESSES, host, "b", "x")

    fleet.after = try_again
    with pytest.raises(OtherShardMap, match=f"the shard b has no complete copy of the host '{host}'"):
        move_host(ADDRESSES, host, "b", "x")
    assert dict(content(fleet, host))["a"] == before
    assert move_host(ADDRESSES, host, "b", "x")[1] == len(before)
    assert content(fleet, host) == [("b", before)]


def test_a_copy_counts_until_its_shard_starts_again(fleet: Fleet) -> None:
    """The new shard is started again when the copy is complete: it is copied again, and nothing is stuck."""
    host = fleet.host_at("a")
    with nd.ShardedStore(ADDRESSES[0], token="x") as store:
        crawl(store, [host], 20, 1)
    [(_, before)] = content(fleet, host)
    member = fleet.shards["b"].source.member
    assert member is not None

    def start_again(method: str, name: str, path: str) -> None:
        if method == "PUT":
            fleet.after = lambda *_: None
            member.__init__("b", member._path, fleet.shards["b"].store)  # type: ignore[misc]

    fleet.after = start_again
    with pytest.raises(OtherShardMap, match="no complete copy"):
        move_host(ADDRESSES, host, "b", "x")
    assert move_host(ADDRESSES, host, "b", "x")[1] == len(before)
    assert content(fleet, host) == [("b", before)]


def test_of_two_moves_at_the_same_time_one_is_refused(fleet: Fleet) -> None:
    host, other = fleet.host_at("a"), fleet.host_at("b")
    moving = False

    def begin_another(method: str, name: str, path: str) -> None:
        nonlocal moving
        if not moving and (method, path) == ("POST", "/api/find-host"):
            moving = True
            move_host(ADDRESSES, other, "c", "x")

    fleet.before = begin_another
    with pytest.raises(OtherShardMap, match="somebody else has changed it"):
        move_host(ADDRESSES, host, "b", "x")
    fleet.before = lambda *_: None
    assert fleet.maps()[0].placed == {other: "c"}
    moved, _ = move_host(ADDRESSES, host, "b", "x")
    assert moved.placed == {host: "b", other: "c"}


def test_another_move_that_is_under_way_is_named(fleet: Fleet) -> None:
    host, other = fleet.host_at("a"), fleet.host_at("b")

    def kill(method: str, name: str, path: str) -> None:
        if method == "PUT":
            raise Killed

    fleet.before = kill
    with pytest.raises(Killed):
        move_host(ADDRESSES, host, "b", "x")
    fleet.before = lambda *_: None
    for asked, target in ((other, "c"), (host, "c")):
        with pytest.raises(ValueError, match=f"the host {host} is being moved to b; first let that end"):
            move_host(ADDRESSES, asked, target, "x")
    assert move_host(ADDRESSES, host, "b", "x")[0].move is None


@pytest.mark.parametrize("late", [False, True])
def test_a_move_that_cannot_end_is_abandoned(fleet: Fleet, late: bool) -> None:
    """The new shard takes no copy; who abandons the move is killed at each request, and tries again."""
    host = fleet.host_at("a")
    with nd.ShardedStore(ADDRESSES[0], token="x") as store:
        crawl(store, [host, fleet.host_at("b")], 20, 1)
        [(_, before)] = content(fleet, host)
        for kill_at in range(100):
            def lose(method: str, name: str, path: str) -> None:
                if path == "/api/shard-map" and method == "POST" and fleet.maps()[1].move is not None:
                    raise Killed  # what was copied is at both shards

            fleet.before = lambda method, name, path: lose(method, name, path) if name == "b" else None
            with pytest.raises(Killed):
                move_host(ADDRESSES, host, "b", "x")
            left = kill_at

            def kill(method: str, name: str, path: str) -> None:
                nonlocal left
                left -= 1
                if left < 0:
                    raise Killed

            fleet.before = lambda *_: None
            setattr(fleet, "after" if late else "before", kill)
            with contextlib.suppress(Killed):
                move_host(ADDRESSES, host, "a", "x")
            ended = left >= 0
            fleet.before = fleet.after = lambda *_: None
            last, moved = move_host(ADDRESSES, host, "a", "x")
            assert (last.placed, last.move, moved) == ({}, None, None) and fleet.maps() == [last] * 3
            assert content(fleet, host) == [("a", before)]
            if ended:
                break
        assert kill_at > 8
        assert store.decide(f"http://{host}/later", "one two three").kept
    assert fleet.shards["b"].store.check() == []


def test_of_an_end_and_an_abandoned_move_one_is_taken(fleet: Fleet) -> None:
    host = fleet.host_at("a")
    with nd.ShardedStore(ADDRESSES[0], token="x") as store:
        crawl(store, [host], 20, 1)
    [(_, before)] = content(fleet, host)

    def abandon(method: str, name: str, path: str) -> None:
        if method == "PUT":
            fleet.after = lambda *_: None
            move_host(ADDRESSES, host, "a", "x")

    fleet.after = abandon
    with pytest.raises(OtherShardMap, match="somebody else has changed it"):
        move_host(ADDRESSES, host, "b", "x")
    assert content(fleet, host) == [("a", before)] and fleet.maps()[0].placed == {}


def test_a_shard_with_an_old_map_gets_the_present_one(fleet: Fleet) -> None:
    """An operator restored the file of a shard: clients are refused there until it has the map of the others."""
    host, other = fleet.host_at("a"), fleet.host_at("a", 1)
    move_host(ADDRESSES, host, "b", "x")
    member = fleet.shards["a"].source.member
    assert member is not None
    member.map = fleet.map
    assert move_host(ADDRESSES, other, "c", "x")[0].placed == {host: "b", other: "c"}
    assert len({each.version for each in fleet.maps()}) == 1


def test_hosts_that_no_key_has_are_refused(fleet: Fleet) -> None:
    """A move of them would move nothing, and say that it is done."""
    with pytest.raises(ValueError, match="could not be sent"):
        move_host(ADDRESSES, "\ud800.example", "b", "x")
    for host in ("H1.example", "h1.example:80", "http://h1.example/", "u@h1.example", "h1/a", "[::1]", "h1\n.example"):
        with pytest.raises(ValueError, match=r"the host .* is not a host as the shards write it"):
            move_host(ADDRESSES, host, "b", "x")
    for shard in fleet.shards.values():
        object.__setattr__(shard.store.settings, "keys", "url")
    with pytest.raises(ValueError, match=r"'mü.example' is not a host as the shards write it; they have 'xn--m-eha"):
        move_host(ADDRESSES, "mü.example", "b", "x")
    assert fleet.maps() == [fleet.map] * 3
    for host in ("::1", "127.0.0.1", "", "a.example.", "a_b", "xn--m-eha.example"):
        other = next(name for name in "abc" if name != fleet.maps()[0].owner(host))
        assert move_host(ADDRESSES, host, other, "x")[1] == 0


def test_shards_with_other_settings_are_refused_before_writes_wait(fleet: Fleet) -> None:
    """The new shard would refuse each copy."""
    object.__setattr__(fleet.shards["b"].store.settings, "threshold", 0.75)
    with pytest.raises(ValueError, match=r"the shard b has threshold=0\.75, and another one 0\.5"):
        move_host(ADDRESSES, fleet.host_at("a"), "b", "x")
    assert fleet.maps() == [fleet.map] * 3


def test_a_host_without_pages_moves(fleet: Fleet) -> None:
    assert move_host(ADDRESSES, "new.example", next(n for n in "abc" if n != fleet.map.owner("new.example")), "x")[1] == 0


def test_a_shard_that_is_busy_with_a_step_is_an_error_of_connections(fleet: Fleet) -> None:
    """Another try holds the step."""
    host, busy = fleet.host_at("a"), contextlib.ExitStack()
    member = fleet.shards["a"].source.member
    assert member is not None

    def hold(method: str, name: str, path: str) -> None:
        if (method, path) == ("GET", "/api/host"):
            busy.enter_context(member._moves())

    fleet.before = hold
    with busy, pytest.raises(ConnectionError, match="the shard a is busy with a step of a move; ask again"):
        move_host(ADDRESSES, host, "b", "x")
    fleet.before = lambda *_: None
    assert move_host(ADDRESSES, host, "b", "x")[0].move is None


def test_writes_wait_for_a_host_that_is_copied(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    host, other = fleet.host_at("a"), fleet.host_at("a", 1)
    waits: list[float] = []

    def write(method: str, name: str, path: str) -> None:
        if method == "PUT" and not waits:
            fleet.before = lambda *_: None
            fleet.shards["a"].store.decide(f"http://{host}/before", "one two three")  # not by a client
            with nd.ShardedStore(ADDRESSES, token="x") as store:
                monkeypatch.setattr(service_client, "MOVES", 3)
                monkeypatch.setattr(service_client, "time", clock_with(sleep=waits.append))
                assert store.decide(f"http://{other}/", "one two three").kept  # another host does not wait
                with pytest.raises(ConnectionError, match=f"the host '{host}' is being moved from a to b"):
                    store.decide(f"http://{host}/", "one two three")
                with pytest.raises(ConnectionError, match="is being moved"):
                    list(store.decide_many([(f"http://{host}/", "one two three")]))
                with pytest.raises(ConnectionError, match="is being moved"):
                    store.mark_gone(f"http://{host}/")
                with pytest.raises(ConnectionError, match="is being moved"):
                    store.remove(f"http://{host}/before")
                with pytest.raises(ConnectionError, match="is being moved"):
                    store.expire(1e9)
                assert f"http://{host}/before" in store  # reads do not wait

    fleet.before = write
    move_host(ADDRESSES, host, "b", "x")
    assert waits.count(1.0) >= 5 * 3 and fleet.maps()[0].owner(host) == "b"


@pytest.mark.parametrize("step", [2, 3, 4])
def test_other_hosts_go_on_while_one_shard_lacks_a_step(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Who moves is killed when the first shard has a version, and the others have the one before."""
    host = fleet.host_at("a")
    monkeypatch.setattr(sharded, "PATIENCE", 0.0)
    given = 0

    def kill(method: str, name: str, path: str) -> None:
        nonlocal given
        given += (method, path) == ("POST", "/api/shard-map")
        if given == 3 * (step - 1) + 1:
            raise Killed

    fleet.after = kill
    with pytest.raises(Killed):
        move_host(ADDRESSES, host, "b", "x")
    fleet.after = lambda *_: None
    assert sorted(each.version for each in fleet.maps()) == [step - 1, step - 1, step]
    for versions in (ADDRESSES, ADDRESSES[:1], ADDRESSES[1:2]):
        with nd.ShardedStore(versions, token="x") as store:
            for name in "abc":
                assert store.decide(f"http://{fleet.host_at(name, 1)}/", "one two three").kept
            assert len(store.clusters()) == 3


def test_a_client_waits_until_all_shards_have_a_version(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    host = fleet.host_at("a")
    member = fleet.shards["b"].source.member
    assert member is not None
    with nd.ShardedStore(ADDRESSES, token="x") as store:
        move_host(ADDRESSES, host, "b", "x")
        present, member.map = member.map, fleet.map  # b is late
        tried: list[float] = []

        def sleep(seconds: float) -> None:
            tried.append(seconds)
            if len(tried) == 3:
                member.map = present

        monkeypatch.setattr(sharded, "time", clock_with(sleep=sleep))
        assert store.decide(f"http://{host}/", "one two three").kept
        assert len(tried) == 3
        member.map = fleet.map
        monkeypatch.setattr(sharded, "PATIENCE", 0.0)
        with pytest.raises(OtherShardMap, match=r"the client has version 4 of the map.*the shard b has version 1"):
            store.decide(f"http://{host}/", "one two three")


def test_the_map_in_the_file_survives_the_server(fleet: Fleet, tmp_path: Path) -> None:
    move_host(ADDRESSES, fleet.host_at("a"), "b", "x")
    assert [ShardMap.read(tmp_path / name / "map") for name in "abc"] == fleet.maps()


def test_a_shard_joins_and_gets_new_hosts(fleet: Fleet) -> None:
    fleet.serve("d")
    hosts = [fleet.host_at(name, number) for name in "abc" for number in range(8)]
    reference = Reference(threshold=0.5, width=2, scope=host_of)
    with nd.ShardedStore(ADDRESSES, token="x") as store:
        crawl(store, hosts, 60, 1, reference)
        move_host(ADDRESSES, hosts[0], "b", "x")
        last = add_shard(ADDRESSES[1], "d", "http://d.example", "x")
        assert fleet.maps() == [last] * 4 and last.joining is None and [*last.shards] == [*"abcd"]
        for host in hosts:
            assert len(content(fleet, host)) <= 1 and last.owner(host) in {name for name, _ in content(fleet, host)} | {"d"}
        stays = [host for host in hosts if content(fleet, host) and last.placed.get(host) in [*"abc"] and host != hosts[0]]
        assert stays  # they have pages, and would be at d else
        new = next(f"new{i}.example" for i in range(99) if last.owner(f"new{i}.example") == "d")
        crawl(store, [*hosts, new], 60, 2, reference)
        assert store.shard(f"http://{new}/") == "d" and content(fleet, new)[0][0] == "d"
        assert move_host(ADDRESSES, stays[0], "d", "x")[0].placed.keys() == last.placed.keys() - {stays[0]}
        crawl(store, [*hosts, new], 60, 3, reference)
    assert add_shard(ADDRESSES, "d", "http://d.example", "x") == fleet.maps()[0]  # again


@pytest.mark.parametrize("late", [False, True])
def test_a_shard_goes_on_joining_where_that_was_killed(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """Whatever request is the last one, the next try ends it, and no host is at a shard that does not have its pages."""
    monkeypatch.setattr(sharded, "PATIENCE", 0.0)
    hosts = [fleet.host_at(name, number) for name in "abc" for number in range(8)]
    with nd.ShardedStore(ADDRESSES, token="x") as store:
        for host in hosts:
            store.decide(f"http://{host}/", "a b c d e")
    kills, names = 0, iter("defghijklmnopqrstuvwxyz")
    name = next(names)
    fleet.serve(name)
    for kill_at in range(60):
        try:
            with fleet.killing(kill_at, late=late):
                add_shard(ADDRESSES[kill_at % 3], name, f"http://{name}.example", "x")
            break
        except Killed:
            kills += 1
        asked = f"new{kill_at}.example"
        held = [each for each, shard in fleet.shards.items() if _writes(shard, asked)]
        assert len(held) <= 1
        last = add_shard(ADDRESSES[0], name, f"http://{name}.example", "x")
        assert {each.version for each in fleet.maps()} == {last.version} and last.joining is None
        assert all([where for where, _ in content(fleet, host)] == [last.owner(host)] for host in hosts)
        if kill_at % 4 == 3:  # the next one
            name = next(names)
            fleet.serve(name)
    assert kills > 10


def test_shards_that_cannot_join(fleet: Fleet) -> None:
    fleet.serve("d")
    fleet.shards["d"].store.decide("http://x.example/", "one two three")
    with pytest.raises(ValueError, match=r"http://d\.example has 1 pages already; a new shard is empty"):
        add_shard(ADDRESSES, "d", "http://d.example", "x")
    fleet.shards["d"].store.remove("http://x.example/")
    object.__setattr__(fleet.shards["d"].store.settings, "threshold", 0.75)
    with pytest.raises(ValueError, match=r"http://d\.example has threshold=0\.75, and another one 0\.5"):
        add_shard(ADDRESSES, "d", "http://d.example", "x")
    with pytest.raises(ValueError, match=r"there is a shard a already, at http://a\.example"):
        add_shard(ADDRESSES, "a", "http://d.example", "x")
    assert fleet.maps()[:3] == [fleet.map] * 3
    begun = fleet.map.begin_move(fleet.host_at("a"), "b")
    fleet.shards["a"].ask("shard-map", begun.as_dict())
    with pytest.raises(ValueError, match="is being moved to b; first let that end"):
        add_shard(ADDRESSES, "d", "http://d.example", "x")
