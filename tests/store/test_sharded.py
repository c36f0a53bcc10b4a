"""A store in shards says what one store says, finds the shard of each page, and loses and repeats nothing when killed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from clocks import clock_with
from stores import FIELDS
from stores import host as host_of
from writing import Fleet, make_shards, make_store, make_tokens, serve_shards, written

import ndcore as nd
from ndcore.reference.store import BruteForceStore as Reference
from ndcore.store import service_client
from ndcore.store.overall import OverallVerdict
from ndcore.store.resharding import move_host
from ndcore.store.shard_map import ShardMap
from ndcore.store.sharded import ShardClient

ADDRESSES = [f"http://{name}.example" for name in "abc"]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    made = Fleet(tmp_path, monkeypatch)
    yield made
    made.close()


def pages(count: int, seed: int = 1, hosts: int = 12) -> list[tuple[str, str, float]]:
    """Return pages of several hosts, many of them near others of their host."""
    chance = random.Random(seed)
    return [(f"http://h{chance.randrange(hosts)}.example/{i}", " ".join(chance.choices("abcdef", k=5)), float(i))
            for i in range(count)]


def test_shards_together_say_what_one_store_says(fleet: Fleet) -> None:
    reference = Reference(threshold=0.5, width=2, scope=host_of)
    given = pages(300)
    with nd.ShardedStore(ADDRESSES[1], token="x") as store:
        expected = [reference.decide(*page) for page in given]
        said = [store.decide(*page) for page in given[:30]]
        verdicts = store.decide_many(given[30:])
        said += [next(verdicts)]  # the others are decided on meanwhile
        said += verdicts
        for verdict, (key, *_), other in zip(said, given, expected, strict=True):
            assert verdict.key == key
            assert [getattr(verdict, field) for field in FIELDS] == [getattr(other, field) for field in FIELDS]
        assert {store.shard(key) for key, *_ in given} == {*"abc"}
        assert len(store) == 300 and given[7][0] in store and "http://h1.example/none" not in store
        key, text, _ = given[150]
        assert store.text(key) == text and store.cluster(key) == reference.cluster(key)
        assert store.locate(key) == reference.locate(key) and len(store.history(key)) == 1
        shard = fleet.shards[store.shard(key)].store
        said = OverallVerdict("near", "k", "west", 0.5, "run", 1, False)
        shard._directory.note_overall([(shard._number(key), said)])
        assert store.overall(key) == said and store.overall(given[7][0]) is None
        assert store.peek(text, key=key).of == reference.cluster(key)[0]
        assert sorted(store.clusters(2)) == sorted(members for members in reference.clusters().values() if len(members) > 1)
        assert {name: stats["documents"] for name, stats in store.stats().items()} == {
            name: len(shard.store) for name, shard in fleet.shards.items()}
        assert store.mark_gone(key, 1000.0) and not store.mark_gone("http://h1.example/none")
        assert store.history(key)[-1].change == "gone"
        store.remove(key)
        with pytest.raises(KeyError, match="none"):
            store.remove("http://h1.example/none")
        assert store.expire(100.0) == 100 and len(store) == 199
        names = store.backup()
        assert sorted(names) == [*"abc"] and all(names.values())
        store.flush()
        assert repr(store) == "<ShardedStore of 3 shards, version 1 of the map>"


def test_pages_of_a_host_stay_in_their_order_when_the_host_moves(fleet: Fleet) -> None:
    """A move comes in the middle of a stream, several parts of which wait."""
    host = fleet.host_at("a")
    given = [(f"http://{host}/{i}", f"a b c d {i % 7}", float(i)) for i in range(3000)]
    moved = False

    def move(method: str, name: str, path: str) -> None:
        nonlocal moved
        if path == "/api/decide-many" and not moved and len(fleet.shards["a"].store) > 500:
            moved = True
            threading.Thread(target=move_host, args=(ADDRESSES, host, "b", "x")).start()
            time.sleep(0.05)

    fleet.before = move
    with nd.ShardedStore(ADDRESSES, token="x") as store:
        verdicts = list(store.decide_many(iter(given)))
    assert [verdict.key for verdict in verdicts] == [key for key, *_ in given]
    assert moved and len(fleet.shards["b"].store) == 3000
    with nd.Store.open(fleet.shards["b"].store.path, read_only=True) as here:
        keys = sorted((key for members in here.clusters() for key in members),
                      key=lambda key: here._directory.state.columns.get("last", here._number(key)))
    assert keys == [key for key, *_ in given]


def test_errors(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="there is no address of a shard"):
        nd.ShardedStore([], token="x")
    with pytest.raises(ValueError, match="by"):
        nd.ShardedStore(ADDRESSES, by="page", token="x")  # type: ignore[arg-type]
    with nd.ShardedStore(ADDRESSES, token="x") as store:
        with pytest.raises(TypeError, match="a key is a URL"):
            store.decide(7, "one two three")
        with pytest.raises(ValueError, match="fewer idempotency keys than pages"):
            list(store.decide_many(pages(3), idempotency_keys=["a"]))
        first = store.decide("http://h1.example/", "one two three", 5.0, idempotency_key="k")
        assert store.decide("http://h1.example/", "one two three", 5.0, idempotency_key="k") == first
        with pytest.raises(ValueError, match="was used for another page"):
            store.decide("http://h1.example/", "other", 5.0, idempotency_key="k")
    member = fleet.shards["c"].source.member
    assert member is not None
    with monkeypatch.context() as patched:
        patched.setattr(member, "map", ShardMap.create(fleet.map.shards))
        with pytest.raises(ValueError, match="are shards of different maps"):
            nd.ShardedStore(ADDRESSES, token="x")
    settings = fleet.shards["b"].store.settings
    object.__setattr__(settings, "threshold", 0.75)
    with pytest.raises(ValueError, match=r"the shard b has threshold=0.75, and another one 0.5; shards have the same"):
        nd.ShardedStore(ADDRESSES, token="x")


def test_a_server_that_is_no_shard(fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "alone").mkdir()
    with written(tmp_path / "alone") as alone:
        monkeypatch.setitem(fleet.shards, "a", alone)
        with pytest.raises(ValueError, match=r"http://a.example is not a shard"):
            nd.ShardedStore(ADDRESSES, token="x")


def test_the_first_shard_that_answers_knows_the_others(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_client, "time", clock_with(sleep=lambda _: None))

    def lose(method: str, name: str, path: str) -> None:
        if name == "a" and path == "/api/shard-map":
            raise httpx.ConnectError("refused")

    fleet.before = lose
    with nd.ShardedStore(ADDRESSES[:2], token="x") as store:
        assert store.map == fleet.map
    with pytest.raises(ConnectionError, match="refused"):
        nd.ShardedStore(ADDRESSES[:1], token="x")


def test_a_client_that_begins_at_a_shard_with_an_old_map(fleet: Fleet) -> None:
    """An operator restored the file of a shard, from which a host has moved: its pages are at one shard all the same."""
    host = fleet.host_at("a")
    move_host(ADDRESSES, host, "b", "x")
    member = fleet.shards["a"].source.member
    assert member is not None
    member.map = fleet.map
    with nd.ShardedStore(ADDRESSES[0], token="x") as store:
        assert store.map == fleet.maps()[1]
        assert store.decide(f"http://{host}/", "one two three").kept
    assert len(fleet.shards["b"].store) == 1 and not len(fleet.shards["a"].store)


def test_all_shards_are_asked_by_one_version_of_the_map(fleet: Fleet) -> None:
    """A host moves from a shard that was not asked yet to one that was: its pages are counted, and expire, once."""
    host = fleet.host_at("c")
    given = [(f"http://{host}/{i}", f"{i} b c d", float(i)) for i in range(20)]
    counts = (len, lambda store: sum(map(len, store.clusters())), lambda store: store.expire(10.0))
    for ask, expected in zip(counts, (20, 20, 10), strict=True):
        with nd.ShardedStore(ADDRESSES, token="x") as store:
            list(store.decide_many(given))
            asked = 0

            def move(method: str, name: str, path: str) -> None:
                nonlocal asked
                asked += name == "b" and path != "/api/shard-map"
                if asked == 1 and name == "b":
                    asked += 1
                    fleet.before = lambda *_: None
                    move_host(ADDRESSES, host, "a", "x")

            fleet.before = move
            assert ask(store) == expected  # type: ignore[operator]
            assert asked == 2 and store.shard(given[0][0]) == "a"
            move_host(ADDRESSES, host, "c", "x")


def test_a_shard_that_hangs_does_not_keep_others_from_the_next_version(fleet: Fleet) -> None:
    host, hanging, tries = fleet.host_at("c"), False, 0

    def hang(method: str, name: str, path: str) -> None:
        nonlocal tries
        if hanging and name == "a":
            tries += 1
            raise httpx.ReadTimeout("no answer")

    fleet.before = hang
    with nd.ShardedStore(ADDRESSES, token="x") as store:
        move_host(ADDRESSES, host, "b", "x")
        hanging = True
        assert store.decide(f"http://{host}/", "one two three").kept
        assert tries == 1  # of six


def test_clients_say_their_version() -> None:
    client = ShardClient("http://x", "t")
    client.set_version(7)
    assert client._http.headers["ndcore-shard-map"] == "7"
    client.close()


CRAWL = """
import json, sys
import ndcore as nd
from test_sharded import own_pages
name, address, told = sys.argv[1:]
with nd.ShardedStore(address, tries=12) as store, open(told, "a") as file:
    given = own_pages(name)
    for i in range(0, len(given), 20):
        for verdict in store.decide_many(given[i : i + 19]):
            print(json.dumps(verdict.as_dict(), default=str), file=file, flush=True)
        for page in given[i + 19 : i + 20]:
            print(json.dumps(store.decide(*page).as_dict(), default=str), file=file, flush=True)
print("done")
"""


def own_pages(name: str) -> list[tuple[str, str, float]]:
    """Return the pages of a crawler."""
    return [(f"{key}-{name}", text, date) for key, text, date in pages(600, seed=ord(name))]


@pytest.mark.slow
def test_four_processes_two_shards_kills_and_a_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four crawlers one is killed, a shard is killed and started again, and a host moves: a replay says the same."""
    token = make_tokens(tmp_path / "tokens")["all"]
    monkeypatch.setenv("NDCORE_TOKEN", token)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent) + ":" + str(Path(__file__).parents[1]), prepend=":")
    made, ports = make_shards(tmp_path, "ab")
    servers = serve_shards(tmp_path, ports, "ab")
    crawlers = {name: subprocess.Popen([sys.executable, "-c", CRAWL, name, servers["a"].url, str(tmp_path / f"told-{name}")],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for name in "wxyz"}

    def count_lines(name: str) -> int:
        told = tmp_path / f"told-{name}"
        return told.read_bytes().count(b"\n") if told.exists() else 0

    def wait_for(lines: int, name: str) -> None:
        end = time.monotonic() + 60
        while count_lines(name) < lines:
            assert time.monotonic() < end and crawlers[name].poll() is None, crawlers[name].communicate()
            time.sleep(0.01)

    wait_for(80, "w")
    crawlers["w"].send_signal(signal.SIGKILL)
    wait_for(120, "x")
    servers["a"].end(signal.SIGKILL)
    before = {name: count_lines(name) for name in "xyz"}
    servers |= serve_shards(tmp_path, ports, "a")
    for name, lines in before.items():  # idempotency keys stay behind when a host moves: first let lost answers come again
        wait_for(min(lines + 40, 600), name)
    wait_for(200, "y")
    moved = next(f"h{i}.example" for i in range(12) if made.owner(f"h{i}.example") == "a")
    _, count = move_host([server.url for server in servers.values()], moved, "b", token)
    assert count
    for name, crawler in crawlers.items():
        out, err = crawler.communicate(timeout=120)
        assert (out, err, crawler.returncode) == (("done\n", "", 0) if name != "w" else ("", "", -9))
    for server in servers.values():
        server.end()
    told = {}
    for name in crawlers:
        for line in (tmp_path / f"told-{name}").read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                verdict = json.loads(line)
                told[verdict["key"]] = verdict
    texts = {key: (key, text, date) for name in crawlers for key, text, date in own_pages(name)}
    assert len(told) >= 3 * 600 + 80
    kept = 0
    for name in "ab":
        again = make_store(tmp_path / f"replay-{name}", scope="host")
        with nd.Store.open(tmp_path / name) as store, nd.Store.open(again) as replay:
            assert store.check() == []
            order = sorted((key for members in store.clusters() for key in members),
                           key=lambda key: store._directory.state.columns.get("last", store._number(key)))
            assert moved not in {host_of(key) for key in order} or name == "b"
            for key in order:
                assert len(store.history(key)) == 1
                verdict = replay.decide(*texts[key])
                if key in told:
                    kept += 1
                    assert json.loads(json.dumps(verdict.as_dict(), default=str)) == told[key]
    assert kept == len(told)  # nothing that was acknowledged is lost
