"""The map of shards: hosts by the largest hash, hosts that were moved, versions, and maps that strangers write."""

from __future__ import annotations

import collections
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ndcore.storage.container import CorruptFile
from ndcore.store import shard_map as module
from ndcore.store.shard_map import CLEAR, ShardMap

SHARDS = {"a": "https://a.example", "b": "https://b.example", "c": "http://10.0.0.3:8765"}
GOLDEN = {"www.example.org": "b", "news.example": "c", "localhost": "c", "xn--bcher-kva.example": "a", "": "c"}
HOSTS = [f"host{i}.example" for i in range(3000)]


def winner(host: str, names: list[str], secret: str) -> str:
    """Return the shard with the largest hash, by the definition in DESIGN.md."""
    weights = {}
    for name in names:
        made = hashlib.sha256()
        for part in (bytes.fromhex(secret), name.encode(), b"\0", host.encode("utf-8", "surrogatepass")):
            made.update(part)
        weights[name] = int.from_bytes(made.digest(), "big")
    return max(weights, key=weights.__getitem__)


def test_the_owner_is_the_shard_with_the_largest_hash() -> None:
    made = ShardMap.create(SHARDS)
    for host in [*HOSTS[:300], "", "ü.example", "\ud800"]:
        assert made.owner(host) == made.owner(host) == winner(host, [*SHARDS], made.secret)


def test_owners_never_change() -> None:
    """As sha256sum of GNU coreutils says of the 16 bytes of the secret, a name, a byte 0 and a host."""
    made = ShardMap(1, SHARDS, bytes(range(16)).hex())
    assert {host: made.owner(host) for host in GOLDEN} == GOLDEN


def test_shards_get_equal_shares_and_a_further_one_takes_its_share_only() -> None:
    secret = "00" * 16
    before = ShardMap(1, SHARDS, secret)
    after = ShardMap(1, {**SHARDS, "d": "https://d.example"}, secret)
    counts = collections.Counter(map(before.owner, HOSTS))
    assert all(abs(count - 1000) < 4 * (3000 * 1 / 3 * 2 / 3) ** 0.5 for count in counts.values())  # 4 deviations
    changed = [host for host in HOSTS if before.owner(host) != after.owner(host)]
    assert {after.owner(host) for host in changed} == {"d"}
    assert abs(len(changed) - 750) < 4 * (3000 * 1 / 4 * 3 / 4) ** 0.5


def test_strangers_do_not_know_the_shard_of_a_host() -> None:
    one, two = ShardMap.create(SHARDS), ShardMap.create(SHARDS)
    assert one.secret != two.secret
    assert sum(one.owner(host) == two.owner(host) for host in HOSTS[:300]) < 150


def test_what_is_remembered_of_hosts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 10)
    made = ShardMap.create(SHARDS)
    for host in HOSTS[:100]:
        made.owner(host)
    assert len(made._ranked) <= 10


def test_a_move_is_three_versions() -> None:
    first = ShardMap.create(SHARDS)
    host = next(host for host in HOSTS if first.owner(host) == "a")
    begun = first.begin_move(host, "b")
    assert begun.owner(host) == "a" and begun.move is not None and begun.move.step == "copy"
    given = begun.end_copy()
    assert given.owner(host) == "b" and given.placed == {host: "b"} and given.move is not None and given.move.step == CLEAR
    ended = given.end_move()
    assert (ended.version, ended.move, ended.owner(host)) == (4, None, "b")
    back = ended.begin_move(host, "a").end_copy().end_move()
    assert back.placed == {} and back.owner(host) == "a"  # where its hash says
    for each in (first, begun, given, ended, back):
        assert ShardMap.from_dict(json.loads(json.dumps(each.as_dict()))) == each
    with pytest.raises(ValueError, match=f"{host} is being moved to b; first let that end"):
        begun.begin_move("other.example", "c")
    with pytest.raises(ValueError, match="there is no shard 'z'; the shards are a, b, c"):
        first.begin_move(host, "z")
    with pytest.raises(ValueError, match=f"the host {host} is at a already"):
        first.begin_move(host, "a")


def test_a_shard_joins_in_two_versions() -> None:
    first = ShardMap.create(SHARDS)
    begun = first.begin_join("d", "https://d.example")
    assert begun.version == 2 and all(begun.owner(host) == first.owner(host) for host in HOSTS)
    gets = {host for host in HOSTS if begun.outweighs("d", host)}
    assert gets == {host for host in HOSTS if winner(host, [*"abcd"], first.secret) == "d"}
    known = {host: first.owner(host) for host in HOSTS[:1000] if host in gets}
    joined = begun.end_join(known)
    for host in HOSTS:
        assert joined.owner(host) == ("d" if host in gets and host not in known else first.owner(host))
    moved = joined.begin_move(min(known), "d").end_copy().end_move()
    assert moved.owner(min(known)) == "d" and min(known) not in moved.placed
    for refused, words in ((lambda: begun.begin_join("e", "https://e"), "the shard d joins; first let that end"),
                           (lambda: begun.begin_move(HOSTS[0], "b"), "the shard d joins; first let that end"),
                           (lambda: first.begin_join("a", "https://e"), "there is a shard a already, at https://a.example"),
                           (lambda: first.begin_join("e", "https://a.example"), "two shards have the same address"),
                           (lambda: first.begin_join("e f", "https://e"), "the name 'e f' of a shard is not accepted")):
        with pytest.raises(ValueError, match=words):
            refused()


def test_a_file_of_a_map(tmp_path: Path) -> None:
    made = ShardMap.create(SHARDS)
    made.write(tmp_path / "map")
    assert ShardMap.read(tmp_path / "map") == made
    (tmp_path / "map").write_text("{}")
    with pytest.raises(CorruptFile, match=r"map: this is not a map of shards.*take the file of another shard"):
        ShardMap.read(tmp_path / "map")
    for damaged in (b"\xff", b"[" * 100_000):
        (tmp_path / "map").write_bytes(damaged)
        with pytest.raises(CorruptFile, match="map"):
            ShardMap.read(tmp_path / "map")


def _with(**changed: Any) -> dict[str, Any]:
    return {**replace(ShardMap.create(SHARDS), secret="00" * 16).as_dict(), **changed}


MOVE = {"host": "h", "source": "a", "target": "b", "step": "copy"}


@pytest.mark.parametrize("given", [
    None, [], "x", {}, {"format": "ndcore shards 1"}, _with(format="ndcore shards 2"), _with(more=1), _with(version=0),
    _with(version=True), _with(version="1"), _with(version=1 << 53), _with(shards={}), _with(shards=["a"]),
    _with(shards={"a b": "https://x"}), _with(shards={"": "https://x"}), _with(shards={"a": "ftp://x"}),
    _with(shards={"a": 5}), _with(shards={"a": "https://x\n"}), _with(shards={"a": "https://x", "b": "https://x"}),
    _with(shards={str(i): f"https://{i}" for i in range(1001)}), _with(secret="00"), _with(secret=5), _with(secret="x" * 32),
    _with(placed=[]), _with(placed={"h": "z"}), _with(placed={"h": ["a"]}), _with(placed=5), _with(move=5), _with(move={}),
    _with(move={**MOVE, "step": "x"}), _with(move={**MOVE, "target": "z"}), _with(move={**MOVE, "host": 5}),
    _with(placed={"h": "c"}, move=MOVE), _with(placed={"h": "a"}, move={**MOVE, "step": "clear"}),
    _with(move={**MOVE, "more": 1}), _with(joining="z"), _with(joining=5), _with(joining=[]), _with(joining="a", move=MOVE),
    _with(joining="c", placed={"h": "c"}), _with(joining="a", shards={"a": "https://a"}),
])  # fmt: skip
def test_what_is_no_map_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="this is not a map of shards"):
        ShardMap.from_dict(given)


def test_maps_of_moves_are_accepted() -> None:
    assert ShardMap.from_dict(_with(placed={"h": "a"}, move=MOVE)).owner("h") == "a"
    assert ShardMap.from_dict(_with(placed={"h": "b"}, move={**MOVE, "step": "clear"})).owner("h") == "b"


def test_long_hosts_are_not_remembered() -> None:
    """Strangers make hosts of a mebibyte, and 65,536 are remembered."""
    made = ShardMap.create({"a": "http://a", "b": "http://b"})
    assert made.rank("x" * 253) in "ab" and made.rank("x" * 254) in "ab"
    assert [*made._ranked] == ["x" * 253]


def test_a_move_does_not_begin_that_could_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ShardMap.create({"a": "http://a", "b": "http://b"})
    monkeypatch.setattr("ndcore.store.shard_map.MOST_PLACED", 1)
    hosts = [host for host in map(str, range(99)) if made.owner(host) == "a"]
    full = made.begin_move(hosts[0], "b").end_copy().end_move()
    with pytest.raises(ValueError, match="1 hosts were moved, and no more are accepted; move some back"):
        full.begin_move(hosts[1], "b")
    assert full.begin_move(hosts[0], "a").end_copy().placed == {}
