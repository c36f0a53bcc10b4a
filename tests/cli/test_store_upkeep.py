"""``ndcore store stats``, ``check``, ``compact`` and ``expire``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commands import jsonl, refused, run, text
from stores import PAGES, made

from ndcore.store.store import Store


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = made(tmp_path / "s")
    capsys.readouterr()
    return path


def told(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert run("store", *words) == 0
    return capsys.readouterr().out


def told_json(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    return json.loads(told(capsys, *words, "--json"))


def test_stats(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = told_json(capsys, "stats", store)
    assert (found["store"], found["documents"], found["clusters"]) == (store, 5, 3)
    out = told(capsys, "stats", store)
    assert out.startswith(f"{store}\n  documents ")
    assert re.search(r"^  shingles +of 5 tokens, unit word$", out, re.MULTILINE)
    assert "secret" not in out
    assert "secret" not in found["settings"]
    assert found["settings"]["shingling"]["width"] == "5"


def test_check(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "check", store) == "5 pages; everything is sound\n"
    assert told_json(capsys, "check", store)["problems"] == []
    (log,) = Path(store).rglob("*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    assert run("store", "check", store) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[-1].endswith("problems") or out.splitlines()[-1].endswith("1 problem")
    assert len(out.splitlines()) >= 2
    assert run("store", "check", store, "--json") == 1
    assert json.loads(capsys.readouterr().out)["problems"]


def test_expire_and_compact(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "expire", store, "--before", "2024-05-03") == "Removed 2 pages; the store has 3 pages\n"
    assert told_json(capsys, "expire", store, "--before", "2024-05-03") == {"store": store, "removed": 0, "live": 3}
    with Store.open(store, read_only=True) as found:
        assert [page["key"] in found for page in PAGES] == [False, False, True, True, True]
    sizes = told_json(capsys, "compact", store)
    assert sizes["live"] == 3
    assert sizes["bytes_after"] == sum(path.stat().st_size for path in Path(store).rglob("*") if path.is_file())
    assert " became " in told(capsys, "compact", store)
    gone = str(PAGES[0]["key"]).encode()
    assert not any(gone in path.read_bytes() for path in Path(store).rglob("*") if path.is_file())
    assert "--before" in refused(capsys, 2, "store", "expire", store)


def test_a_store_is_not_read_as_documents(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text(text(1))
    Path(store).rename(tmp_path / "docs" / "s")
    assert run("dedup", tmp_path / "docs", "-o", tmp_path / "out", "-q") == 0
    account = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert account["ignored"] == [{"path": str(tmp_path / "docs" / "s"), "kind": "store of ndcore"}]
    told = refused(capsys, 2, "dedup", tmp_path / "docs" / "s", "-o", tmp_path / "out2")
    assert "is a store of ndcore store" in told


def test_quiet(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("compact", store), ("expire", store, "--before", "2024-05")):
        assert told(capsys, *words, "-q") == ""
    (tmp_path / "p.jsonl").write_bytes(jsonl([{"id": "y", "text": text(5)}]))
    assert told(capsys, "decide", store, tmp_path / "p.jsonl", "-q") == ""
