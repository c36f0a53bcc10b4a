"""``ndcore dedup --dry-run`` with the options that need the shingle sets of all documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import jsonl, run, text


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(jsonl([{"id": i, "text": text(i)} for i in range(1, 6)]))
    return path


@pytest.mark.parametrize("options", [
    ["--filter", "complete"], ["--drop", "contained"], ["--drop-common", "0.1"], ["--lost"],
], ids=" ".join)
def test_dry_run(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.setattr("ndcore.cli.dedup.SETS_IN_MEMORY", 1000)  # bytes, past which sets are in a file
    assert run("dedup", corpus, "-o", tmp_path / "out", "--dry-run", "--json", "--filter", "lsh") == 0
    assert json.loads(capsys.readouterr().out)["temporary"] == {"low": 0, "high": 0}
    assert run("dedup", corpus, "-o", tmp_path / "out", "--dry-run", "--json") == 0
    chosen = json.loads(capsys.readouterr().out)["temporary"]  # the filter is chosen when the first documents are read
    assert chosen["low"] == 0 and chosen["high"] == pytest.approx(8 * 5 * 35, rel=0.3)
    assert run("dedup", corpus, "-o", tmp_path / "out", "--dry-run", "--json", *options) == 0
    low, high = json.loads(capsys.readouterr().out)["temporary"].values()
    assert low == high == pytest.approx(8 * 5 * 35, rel=0.3)  # estimated from signatures
    assert run("dedup", corpus, "-o", tmp_path / "out", "--dry-run", *options) == 0
    assert "  temporary  " in capsys.readouterr().out
