"""``ndcore store carry``, and where the other commands show what it took."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import refused, run, text
from store_commands import PAGES, made

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow.parquet as pq
from carried import row_of, table_of

from ndcore.store.store import Store

A1, B1, A2 = (page["key"] for page in PAGES[:3])


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = made(tmp_path / "s")
    rows = [row_of(A1, text(1), "near", "http://m.example/\x1b[1m", "west", 0.9375), row_of(A2, text(2)),
            row_of(B1, "text of the export"), row_of("http://a.example/none", "x"), row_of(A1, text(1), name="west")]
    pq.write_table(table_of(*rows), tmp_path / "verdicts.parquet")
    capsys.readouterr()
    return path


def test_what_is_carried_and_what_is_left_out(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("store", "carry", store, tmp_path / "verdicts.parquet", "--run", "2026-11", "--name", "east",
             "--date", "2026-11-24")
    assert run(*given) == 0
    assert capsys.readouterr().out == (
        "Carried the verdicts of 2 pages; 1 changed since the export, 1 not in the store, 1 of other stores\n")
    assert run(*given, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "store": store, "run": "2026-11", "carried": 0, "repeated": 2, "changed": 1, "unknown": 1, "older": 0,
        "undecided": 0, "elsewhere": 1}
    earlier = [*given[:5], "before", "--name", "east", "--date", "2026-10"]
    assert run(*earlier) == 0
    assert ("Carried the verdicts of 0 pages; 1 changed since the export, 1 not in the store, 2 with the verdict of a "
            "later run, 1 of other stores") in capsys.readouterr().out


def test_a_query_shows_both_statements(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def asked(*words: object) -> Any:
        assert run("store", "query", store, *words, "--json") == 0
        return json.loads(capsys.readouterr().out)

    assert asked("--key", A1)["overall"] is None
    (tmp_path / "t.txt").write_text(text(2, 1))
    (tmp_path / "new.txt").write_text(text(9))
    assert run("store", "carry", store, tmp_path / "verdicts.parquet", "-q", "--run", "2026-11", "--name", "east", "--date",
               "2026-11-24") == 0
    assert asked("--key", A1)["overall"] == {
        "verdict": "near", "of": "http://m.example/\x1b[1m", "store": "west", "resemblance": 0.9375, "run": "2026-11",
        "date": "2026-11-24T00:00:00+00:00", "here": False}
    assert asked(tmp_path / "t.txt")["overall"]["verdict"] == "kept" and asked(tmp_path / "new.txt")["overall"] is None
    assert asked("--key", B1)["overall"] is None and asked("--key", B1)["cluster"][0]["key"] == A1
    capsys.readouterr()
    assert run("store", "query", store, "--key", A1) == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "over all stores: near 0.938, represented by west: http://m.example/\\x1b[1m (run 2026-11 of 2026-11-24 00:00:00)")
    assert run("store", "query", store, tmp_path / "t.txt") == 0
    assert f"over all stores: {A2} is kept (run 2026-11 of 2026-11-24 00:00:00)" in capsys.readouterr().out


def test_refused(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = tmp_path / "verdicts.parquet"
    carry = ("store", "carry", store)
    assert "--run" in refused(capsys, 2, *carry, verdicts)
    assert refused(capsys, 1, *carry, tmp_path / "none", "--run", "r") == f"{tmp_path / 'none'}: No such file or directory"
    (tmp_path / "empty").mkdir()
    assert refused(capsys, 1, *carry, tmp_path / "empty", "--run", "r") == (
        f"{tmp_path / 'empty'}: the directory has no Parquet files")
    assert "give the name that this store had in its export" in refused(capsys, 1, *carry, verdicts, "--run", "r")
    assert "run is ''; it has" in refused(capsys, 1, *carry, verdicts, "--run", "")
    assert "no such store" in refused(capsys, 1, "store", "carry", tmp_path / "x", verdicts, "--run", "r")
    with Store.open(store):
        assert "open for writing by this process" in refused(capsys, 1, *carry, verdicts, "--run", "r", "--name", "east")
