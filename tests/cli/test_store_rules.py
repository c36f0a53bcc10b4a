"""``ndcore store rules``: rules by host with support, confidence and examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import refused, run, text
from store_commands import made

URLS = ("http://a.example/p/{}", "http://a.example/p/{}?sid=7{}", "http://b.example/print/{}", "http://b.example/{}")


def words(number: int) -> str:
    """Make a text."""
    return " ".join(text(100 * number + k) for k in range(4))


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Make a store: parameters on one host; a folder on another, with print versions that are near-duplicates."""
    pages: list[dict[str, Any]] = [
        {"key": url.format(i, i), "text": words(i) + " printed" * ("print" in url), "date": "2026-01-01"}
        for i in range(6) for url in URLS[::-1]]
    pages += [{"key": "x.txt", "text": words(50), "date": "2026-01-01"}]
    path = made(tmp_path / "s", pages, "--keys", "plain")
    capsys.readouterr()
    return path


def test_as_text(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("store", "rules", store) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1 rule of 24 pages on 2 hosts", "1 key left out: not a URL",
        "support  confidence  host              rule                               example",
        "6        1.000       http://a.example  the parameter sid changes nothing  /p/0?sid=70 is /p/0"]


def test_as_json(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("store", "rules", store, "--json") == 0
    [rule] = json.loads(capsys.readouterr().out)
    assert (rule["host"], rule["kind"], rule["old"], rule["new"]) == ("http://a.example", "parameter", "sid", "")
    assert rule["rule"] == "the parameter sid changes nothing"
    assert (rule["support"], rule["against"], rule["confidence"]) == (6, 0, 1.0)
    assert rule["examples"][0] == ["http://a.example/p/0?sid=70", "http://a.example/p/0"]


def test_a_store_without_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(tmp_path / "s", [])
    capsys.readouterr()
    assert run("store", "rules", path) == 0 and capsys.readouterr().out == "0 rules of 0 pages on 0 hosts\n"
    assert run("store", "rules", path, "--json") == 0 and json.loads(capsys.readouterr().out) == []
    assert "no such store" in refused(capsys, 1, "store", "rules", tmp_path / "none")
