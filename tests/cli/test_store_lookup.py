"""``ndcore store query``, ``locate`` and ``history``: the expectations are the pages of `stores`, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import jsonl, refused, run, text
from store_commands import PAGES, made

A1, B1, A2, PRINT = (str(page["key"]) for page in PAGES[:4])


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


# ---- query


def test_a_text(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.txt").write_text(text(2, 1))
    out = told(capsys, "query", store, tmp_path / "t.txt")
    assert out.startswith(f"near: represented by {A2}; resemblance 0.")
    assert f"the same text, character for character, as {PRINT}\n" in out
    assert f"2 pages in the cluster of {A2}\n" in out
    assert f"2024-05-04 00:00:00  1         {PRINT}\n" in out
    found = told_json(capsys, "query", store, tmp_path / "t.txt")
    assert (found["verdict"], found["of"], found["equal"]) == ("near", A2, PRINT)
    assert [(one["key"], one["date"][:10], one["versions"]) for one in found["cluster"]] == [
        (A2, "2024-05-03", 1), (PRINT, "2024-05-04", 1)]
    (tmp_path / "t.txt").write_text(text(9))
    assert told(capsys, "query", store, tmp_path / "t.txt") == "new: no page of the store resembles it at the threshold\n"
    assert told_json(capsys, "query", store, tmp_path / "t.txt")["cluster"] == []


def test_a_record_is_a_text(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.jsonl").write_bytes(jsonl([{"id": "x", "body": text(8)}, {"id": "y", "body": text(1)}]))
    assert told_json(capsys, "query", store, tmp_path / "r.jsonl:2", "--text-field", "body")["verdict"] == "identical"


def test_a_page_of_the_store(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "query", store, "--key", B1).startswith(f"2 pages in the cluster of {A1}\nlatest version")
    assert [one["key"] for one in told_json(capsys, "query", store, "--key", "7")["cluster"]] == [7]


def test_a_page_that_is_gone(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gone.jsonl").write_bytes(jsonl([{"key": PRINT, "gone": True, "date": "2024-05-09"}]))
    with (tmp_path / "gone.jsonl").open() as lines, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", lines)
        assert run("store", "decide", store, "-", "-q") == 0
    capsys.readouterr()
    assert f"2024-05-04 00:00:00  1         {PRINT} (gone)\n" in told(capsys, "query", store, "--key", PRINT)
    answer = told_json(capsys, "query", store, "--key", PRINT)
    assert answer["representative"] == A2
    assert [(one["key"], one["versions"], one["gone"]) for one in answer["cluster"]] == [(A2, 1, False), (PRINT, 1, True)]


def test_the_scope_of_a_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = made(tmp_path / "h", PAGES[:1], "--scope", "host")
    capsys.readouterr()
    (tmp_path / "t.txt").write_text(text(1))
    for host, verdict in (("a", "identical"), ("b", "kept")):
        found = told_json(capsys, "query", store, tmp_path / "t.txt", "--key", f"http://{host}.example/new")
        assert found["verdict"] == verdict


def test_refused(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "ask for a FILE" in refused(capsys, 2, "store", "query", store)
    assert refused(capsys, 2, "store", "query", store, B1) == f"{B1} is a page of the store: ask for it with --key"
    assert "no such file" in refused(capsys, 1, "store", "query", store, tmp_path / "none.txt")
    for command in ("locate", "history"):
        assert refused(capsys, 1, "store", command, store, "zzz") == f"{store}: no page has the key 'zzz'"
    assert refused(capsys, 1, "store", "query", store, "--key", "9" * 30).endswith(f"no page has the key '{'9' * 30}'")


# ---- lost and found


def test_locate(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "locate", store, A1) == f"{B1}\n"
    assert told(capsys, "locate", store, B1) == f"{B1}\n"
    assert told(capsys, "locate", store, "7") == "7\n"
    found = told_json(capsys, "locate", store, A2)
    assert {name: str(value)[:10] for name, value in found.items()} == {
        "key": A2[:10], "date": "2024-05-03", "found": PRINT[:10], "found_date": "2024-05-04"}
    assert found["found"] == PRINT


def test_history(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = [text(1), text(1).upper(), text(1, 1), text(5)]
    pages = [{"id": A1, "text": page, "d": f"2024-06-0{day}"} for day, page in enumerate(later, 1)]
    (tmp_path / "later.jsonl").write_bytes(jsonl(pages))
    assert run("store", "decide", store, tmp_path / "later.jsonl", "-q", "--date-field", "d") == 0
    found = told_json(capsys, "history", store, A1)
    assert [one["change"] for one in found] == [None, "unchanged", "lexical", "near", "other"]
    assert [one["date"][:10] for one in found] == ["2024-05-01", *(f"2024-06-0{day}" for day in range(1, 5))]
    assert [one["resemblance"] for one in found[:3]] == [None, 1.0, 1.0]
    assert 0.5 <= found[3]["resemblance"] < 1
    assert found[4]["resemblance"] == 0
    out = told(capsys, "history", store, A1)
    assert out.splitlines()[:3] == ["date                 resemblance  change", "2024-05-01 00:00:00               first",
                                    "2024-06-01 00:00:00  1.000        unchanged"]
    assert out.endswith(f"5 versions of {A1}; the text changed 2 times\n")


# ---- awkward keys


def test_keys_are_inert_on_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = ["[red]x[/red]", "\x1b[31mred", "a\nb", "\u202eabc", "-5", "--help", "é"]
    store = made(tmp_path / "k", [{"key": key, "text": text(1), "date": f"2024-05-0{n}"} for n, key in enumerate(keys, 1)])
    capsys.readouterr()
    out = told(capsys, "query", store, "--key", "é")
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert [line[31:] for line in out.splitlines()[2:]] == [
        "[red]x[/red]", "\\x1b[31mred", "a\\nb", "\\u202eabc", "-5", "--help", "é"]
    assert told(capsys, "locate", store, "--", "--help") == "é\n"
    assert [one["key"] for one in told_json(capsys, "query", store, "--key", "é")["cluster"]] == keys


def test_a_table_on_a_terminal(store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    out = told(capsys, "query", store, "--key", A2)
    for part in ("latest version", "versions", "2024-05-04 00:00:00", PRINT):
        assert part in out
