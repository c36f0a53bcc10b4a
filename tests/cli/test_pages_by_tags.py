"""Pages that no parser read are counted and named by every command that reads HTML; see also files/test_html_bounds."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ndcore.cli.main import main

pytest.importorskip("resiliparse", reason="the extra web is not installed")

WORDS = "five six seven eight nine ten eleven twelve"
DEEP = "<div>" * 16_000 + WORDS
BY_TAGS = "too deeply nested for a parser, or with too many attributes, compared by the text between the tags"
NOTE = f"note: 1 page {BY_TAGS}"


@pytest.fixture
def pages(tmp_path: Path) -> str:
    rows = [{"id": "flat", "text": "<p>one two three four"}, {"id": "deep", "text": DEEP}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(tmp_path / "in.jsonl")


@pytest.fixture
def listed(pages: str) -> list[dict[str, Any]]:
    return [{"id": "deep", "file": pages, "line": 2}]


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[str, str]:
    assert main(list(map(str, words))) == 0
    return tuple(capsys.readouterr())  # type: ignore[return-value]


def test_passages(tmp_path: Path, pages: str, listed: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text(WORDS)
    html = ("--html", "page")
    out, _ = run(capsys, "repeats", pages, "-o", tmp_path / "r", "--min-tokens", 3, *html)
    assert NOTE in out and json.loads((tmp_path / "r" / "summary.json").read_text())["pages_by_tags"] == listed
    words = ("sources", tmp_path / "a.txt", "--in", pages, "--min-tokens", 3, *html)
    assert NOTE in run(capsys, *words)[0]
    assert json.loads(run(capsys, *words, "--json")[0])["pages_by_tags"] == listed
    items = tmp_path / "items.jsonl"
    items.write_bytes(Path(pages).read_bytes())
    out, _ = run(capsys, "contamination", items, "--in", pages, "-o", tmp_path / "c", "--min-tokens", 3, *html)
    account = json.loads((tmp_path / "c" / "summary.json").read_text())
    assert account["pages_by_tags"] == listed
    assert account["items"]["pages_by_tags"] == [{**listed[0], "file": str(items)}]
    assert f"note: 2 pages {BY_TAGS}; summary.json lists them" in out


def test_one_document(tmp_path: Path, pages: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep.html").write_text(DEEP)
    (tmp_path / "flat.html").write_text("<p>one two three four")
    _, told = run(capsys, "compare", tmp_path / "deep.html", f"{pages}#deep", "--html", "page")
    assert told == "".join(f"ndcore: note: {name} is {BY_TAGS}\n" for name in (tmp_path / "deep.html", f"{pages}#deep"))
    assert run(capsys, "compare", tmp_path / "flat.html", f"{pages}#flat", "--html", "page")[1] == ""


def test_a_store(
    tmp_path: Path, pages: str, listed: list[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "store", "create", tmp_path / "s")
    words = ("store", "decide", tmp_path / "s", "--html", "page", "--date", "2024-05-01")
    assert f"{NOTE}; --json lists them" in run(capsys, *words, pages)[0]
    [account] = json.loads(run(capsys, *words, pages, "--json")[0])["pages_by_tags"]
    assert account == {**listed[0], "date": "2024-05-01T00:00:00Z"}
    rows = zip("abc", ("<p>one", DEEP, DEEP), strict=True)
    sent = "".join(json.dumps({"key": key, "text": page}) + "\n" for key, page in rows)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(sent.encode())))
    answers = [json.loads(line) for line in run(capsys, *words, "-")[0].splitlines()]
    assert [(answer["key"], answer.get("by_tags")) for answer in answers] == [("a", None), ("b", True), ("c", True)]
