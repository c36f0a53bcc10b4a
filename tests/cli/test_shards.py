"""``ndcore store shards``, ``move`` and ``join``, and servers that are shards: as commands of real processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import refused, run
from writing import make_shards, make_store, make_tokens, serve_shards

import ndcore as nd
from ndcore.store.shard_map import ShardMap


def test_a_map_is_made_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "map"
    assert run("store", "shards", path, "a=https://a.example", "b=https://b.example:8765") == 0
    assert capsys.readouterr().out == (f"Made the map of 2 shards, {path}; copy it to each server, and start there ndcore "
                                       "serve --write STORE --shard NAME --shard-map FILE\n")
    made = ShardMap.read(path)
    assert made.shards == {"a": "https://a.example", "b": "https://b.example:8765"} and made.version == 1
    assert "a new map would give hosts to other shards" in refused(capsys, 2, "store", "shards", path, "a=https://a.example")
    for words, reason in (
        (["a"], "'a' is not NAME=URL"), (["a=https://a", "a=https://b"], "the name a is there twice"),
        (["a b=https://a"], "the name 'a b' of a shard"), (["a=a.example"], "does not begin with https://"),
        (["a=https://a", "b=https://a"], "two shards have the same address"),
    ):
        assert reason in refused(capsys, 2, "store", "shards", tmp_path / "other", *words)
    assert not (tmp_path / "other").exists()
    assert run("store", "shards", tmp_path / "json", "a=https://a", "--json") == 0
    assert json.loads(capsys.readouterr().out) == ShardMap.read(tmp_path / "json").as_dict()


def test_a_host_moves_between_two_servers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = make_tokens(tmp_path / "tokens")
    made, ports = make_shards(tmp_path, "ab")
    addresses, servers = made.shards, serve_shards(tmp_path, ports, "ab")
    host = next(f"h{i}.example" for i in range(99) if made.owner(f"h{i}.example") == "a")
    try:
        with nd.ShardedStore(addresses["b"], token=tokens["all"]) as fleet:
            pages = ((f"http://{host}/{i}", f"{i} b c") for i in range(300))
            assert sum(verdict.kept for verdict in fleet.decide_many(pages)) == 300
        monkeypatch.setenv("NDCORE_TOKEN", tokens["write"])
        assert "read" in refused(capsys, 1, "store", "move", addresses["a"], host, "b")
        monkeypatch.setenv("NDCORE_TOKEN", tokens["all"])
        assert "there is no shard 'z'; the shards are a, b" in refused(capsys, 2, "store", "move", addresses["a"], host, "z")
        assert run("store", "move", addresses["a"], host, "b") == 0
        assert capsys.readouterr().out == f"Moved 300 pages of {host} to b, by version 4 of the map\n"
        assert run("store", "move", addresses["a"], host, "b", "--quiet") == 0
        assert capsys.readouterr().out == ""
        assert run("store", "move", addresses["b"], host, "b", "--json") == 0
        assert json.loads(capsys.readouterr().out) == {"host": host, "shard": "b", "pages": None, "version": 4}
        made.write(tmp_path / "map-c")
        make_store(tmp_path / "c", scope="host")
        servers |= serve_shards(tmp_path, {"c": 0}, "c")
        assert "is not NAME=URL" in refused(capsys, 2, "store", "join", addresses["a"], "c")
        assert run("store", "join", addresses["a"], f"c={servers['c'].url}") == 0
        assert capsys.readouterr().out == "c is one of 3 shards, by version 6 of the map\n"
        assert run("store", "join", addresses["b"], f"c={servers['c'].url}", "--json") == 0
        assert json.loads(capsys.readouterr().out) == ShardMap.read(tmp_path / "map-c").as_dict()
        monkeypatch.delenv("NDCORE_TOKEN")
        assert "NDCORE_TOKEN" in refused(capsys, 2, "store", "move", addresses["a"], host, "a")
    finally:
        for server in servers.values():
            assert "Traceback" not in server.end()
    with nd.Store.open(tmp_path / "a") as a, nd.Store.open(tmp_path / "b") as b:
        assert (len(a), len(b)) == (0, 300)


def test_servers_that_are_no_shard_of_the_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_tokens(tmp_path / "tokens")
    store = make_store(tmp_path / "store")
    ShardMap.create({"a": "https://a.example"}).write(tmp_path / "map")
    serve = ("serve", "--write", store, "--tokens", tmp_path / "tokens", "--port", 0)
    assert "needs both --shard NAME and --shard-map" in refused(capsys, 2, *serve, "--shard", "a")
    assert "needs both" in refused(capsys, 2, *serve, "--shard-map", tmp_path / "map")
    assert "--scope host" in refused(capsys, 1, *serve, "--shard", "a", "--shard-map", tmp_path / "map")
    assert "--shard needs --write" in refused(capsys, 2, "serve", store, "--shard", "a", "--shard-map", tmp_path / "map")
