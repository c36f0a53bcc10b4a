"""What commands print with --json: one JSON object, the same for equal runs, and nothing beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ndcore as nd
from ndcore.cli.main import main

TEXTS = ["a rose is a rose is a rose", "A rose is a rose, is a rose!", "something else entirely, as it seems", "..."]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps({"id": f"d{i}", "text": text}) for i, text in enumerate(TEXTS)]
    Path("t.jsonl").write_text("\n".join([*lines, "broken"]) + "\n")
    Path("f.txt").write_text("1\n2\n255\n")
    return tmp_path


def account(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert main([*words]) == 0
    return json.loads(capsys.readouterr().out)


def test_dedup(capsys: pytest.CaptureFixture[str]) -> None:
    told = account(capsys, "dedup", "t.jsonl", "-o", "out", "--on-error", "skip", "--json")
    assert told == json.loads(Path("out/summary.json").read_text())
    assert told["counts"]["rejected"] == 1


def test_sketch_and_info(capsys: pytest.CaptureFixture[str]) -> None:
    told = account(capsys, "sketch", "t.jsonl", "-o", "s.nds", "--on-error", "skip", "--json")
    assert told["counts"] == {"read": 5, "sketched": 4, "without_shingles": 1, "rejected": 1}
    assert [(item["path"], item["line"]) for item in told["rejected"]] == [("t.jsonl", 5)]
    assert told["file_bytes"] == Path("s.nds").stat().st_size
    described = account(capsys, "info", "s.nds", "--json")
    assert (described["documents"], described["without_shingles"], described["ids"]) == (4, 1, True)
    assert described["recipe"]["id"] == told["recipe"]["id"] == nd.load("s.nds").recipe.id


def test_info_of_the_installation(capsys: pytest.CaptureFixture[str]) -> None:
    told = account(capsys, "info", "--json")
    assert told["ndcore"] == nd.__version__
    assert told["kernels"] == nd.variants()
    assert {"msgspec", "pyarrow", "rich"} <= set(told["packages"])


def test_hamming(capsys: pytest.CaptureFixture[str]) -> None:
    told = account(capsys, "hamming", "build", "f.txt", "-o", "i.ndh", "--max-distance", "2", "--bits", "8", "--json")
    assert (told["fingerprints"], told["max_distance"], told["bits"]) == (3, 2, 8)
    assert told["file_bytes"] == Path("i.ndh").stat().st_size
    assert account(capsys, "hamming", "info", "i.ndh", "--json") == told


def test_bench(capsys: pytest.CaptureFixture[str]) -> None:
    told = account(capsys, "bench", "--seconds", "0", "--threads", "1", "--json")
    assert told["checked_sketches"] > 50
    assert all(figure["megabytes_per_second"] > 0 for figure in told["figures"])
    assert {figure["sketch"] for figure in told["figures"]} == {"84 minima", "128 minima", "128 minima, fast", "bottom 200"}


def test_cluster_and_query(capsys: pytest.CaptureFixture[str]) -> None:
    told = account(capsys, "cluster", "t.jsonl", "-o", "c.ndc", "--on-error", "skip", "--json")
    assert told["counts"]["documents"] == 4
    assert account(capsys, "clusters", "c.ndc", "-o", "t.csv", "--json")["documents"] == 4
    assert main(["clusters", "c.ndc", "--json"]) == 2
    assert {match["id"] for match in account(capsys, "query", "c.ndc", "--id", "d0", "--json")} == {"d0", "d1"}
