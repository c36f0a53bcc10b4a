"""``ndcore sources``: passages and where they occur, the text itself left out, the page, refusals."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from browser import HOSTILE, Tree
from commands import jsonl, refused, run

import ndcore as nd

pytest.importorskip("msgspec")

HILLS = "The committee met on Tuesday to discuss the weather of the northern hills"
TERMS = "Whoever copies this text copies its terms as well"
DRAFT = f"My own words. {HILLS}. {TERMS}, and nobody may remove them."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("draft.txt").write_text(DRAFT)
    Path("there").mkdir()
    Path("there/a.txt").write_text("nothing at all")
    Path("there/b.txt").write_text(f"One. {HILLS}!")
    rows = [{"id": "c", "text": "empty"}, {"id": "d", "text": f"{HILLS}. {TERMS}. So far."}, {"id": "e", "text": TERMS}]
    Path("there/c.jsonl").write_bytes(jsonl(rows))
    return tmp_path


def account(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    assert run("sources", *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_passages_documents_and_their_places(capsys):
    told = account(capsys, "draft.txt", "--in", "there")
    assert told["tokens"] == {"all": 30, "found": 22}
    assert told["counts"] == {"read": 5, "documents": 5, "with_passages": 3, "passages": 1, "rejected": 0}
    assert [(row["id"], row["line"], row["tokens"], row["shared"], row["longest"]) for row in told["documents"]] == [
        ("d", 2, 24, 22, 22), ("b.txt", None, 14, 13, 13), ("e", 3, 9, 9, 9)]
    (passage,) = told["passages"]
    assert DRAFT[passage["start_char"] : passage["end_char"]] == f"{HILLS}. {TERMS}"
    assert (passage["source"], passage["source_file"], passage["source_line"], passage["copies"]) == (
        "d", "there/c.jsonl", 2, 2)
    told = account(capsys, "draft.txt", "--in", "there/b.txt", "--min-tokens", 13)
    assert [(row["source"], row["start"], row["end"]) for row in told["passages"]] == [("b.txt", 3, 16)]


def test_the_report_for_people(capsys):
    assert run("sources", "draft.txt", "--in", "there") == 0
    told = capsys.readouterr().out
    assert told.startswith("22 of 30 tokens (73.3 %) of draft.txt occur in 3 of 5 documents, in 1 passage of 8 tokens or ")
    assert "\n        22 of 24 tokens  there/c.jsonl:2\n" in told
    assert "\n  tokens 3 to 25: there/c.jsonl:2, 2 places with its own\n    \"The committee met" in told
    assert run("sources", "draft.txt", "--in", "there/a.txt") == 0
    assert capsys.readouterr().out == (
        "0 of 30 tokens (0.0 %) of draft.txt occur in 0 of 1 document, in 0 passages of 8 tokens or more\n")
    Path("many.jsonl").write_bytes(jsonl([{"text": f"{i} {DRAFT}"} for i in range(12)]))
    assert run("sources", "draft.txt", "--in", "many.jsonl") == 0
    assert "  and 2 documents more; --json lists all" in capsys.readouterr().out
    assert run("sources", "draft.txt", "--in", "many.jsonl", "-q") == 0
    assert capsys.readouterr().out == ""


def test_the_text_itself_is_left_out_once(capsys):
    Path("there/me.txt").write_text(DRAFT)
    assert account(capsys, "there/me.txt", "--in", "there")["tokens"]["found"] == 22
    assert account(capsys, "draft.txt", "--in", "there")["tokens"]["found"] == 30
    for name in ("there/c.jsonl:2", "there/c.jsonl#d"):
        told = account(capsys, name, "--in", "there/c.jsonl", "there/b.txt")
        assert [row["id"] for row in told["documents"]] == ["b.txt", "e"]
        assert told["tokens"] == {"all": 24, "found": 22}
    Path("twice.jsonl").write_bytes(jsonl([{"text": DRAFT}] * 2))
    assert [row["line"] for row in account(capsys, "twice.jsonl:1", "--in", "twice.jsonl")["documents"]] == [2]


def test_the_text_and_the_collection_may_have_other_fields(capsys):
    Path("mine.jsonl").write_bytes(jsonl([{"nr": 7, "head": "My own words.", "body": f"{HILLS}. {TERMS}."}]))
    Path("theirs.jsonl").write_bytes(jsonl([{"key": "x", "content": f"{HILLS}. {TERMS}. So far."}]))
    theirs = ["--in", "theirs.jsonl", "--text-field", "content", "--id-field", "key"]
    mine = ["--item-field", "head", "--item-field", "body", "--item-id-field", "nr"]
    told = account(capsys, "mine.jsonl#7", *theirs, *mine)
    assert told["tokens"] == {"all": 25, "found": 22}
    assert [row["id"] for row in told["documents"]] == ["x"]
    assert account(capsys, "mine.jsonl:1", *theirs, *mine[:4])["tokens"] == told["tokens"]
    own = ["--text-field", "body", "--id-field", "nr"]  # a record has the fields of the collection, unless others are named
    assert account(capsys, "mine.jsonl#7", "--in", "mine.jsonl", *own)["tokens"] == {"all": 22, "found": 0}
    assert "use --item-field body" in refused(capsys, 1, "sources", "mine.jsonl:1", *theirs, "--item-field", "text")
    assert "no id field 'key'" in refused(capsys, 1, "sources", "mine.jsonl#7", *theirs, *mine[:4])


def test_the_same_tokens_are_found_as_by_contamination(capsys):
    rng = random.Random(3)
    words = [f"w{i}" for i in range(4)]
    for _ in range(15):
        text = " ".join(rng.choices(words, k=30))
        corpus = [" ".join(rng.choices(words, k=20)) for _ in range(5)]
        Path("t.txt").write_text(text)
        Path("t.jsonl").write_bytes(jsonl([{"text": document} for document in corpus]))
        told = account(capsys, "t.txt", "--in", "t.jsonl", "--min-tokens", 4)
        expected = nd.contamination([text], corpus, 4)
        assert told["tokens"]["found"] == expected.covered[0]
        flags = np.zeros(30, np.bool_)
        for row in told["passages"]:
            flags[row["start"] : row["end"]] = True
            there = corpus[row["source_line"] - 1].split()[row["source_start"] : row["source_end"]]
            assert text.split()[row["start"] : row["end"]] == there
        assert flags.sum() == expected.covered[0]


def test_the_page_marks_and_escapes(capsys):
    text = HOSTILE.replace("\ud800", "").replace("\x00", "").replace("\x1b", "")
    Path("h.jsonl").write_bytes(jsonl([{"id": text, "text": f"{text} {DRAFT} {text}"}]))
    Path("h.txt").write_text(f"{text} {DRAFT} {text}")
    assert run("sources", "h.txt", "--in", "h.jsonl", "there", "--report", "page.html") == 0
    assert "The report for a browser is page.html" in capsys.readouterr().out
    page = Path("page.html").read_text(encoding="utf-8")
    assert [name for name, _ in Tree(page).elements].count("mark") >= 2
    assert "<script>alert" not in page and "\u202e" not in page


@pytest.mark.parametrize(("code", "arguments", "message"), [
    (2, "draft.txt", "--in"), (1, "missing.txt --in there", "missing.txt: no such file"),
    (1, "draft.txt --in no", "no: no such file"),
    (2, "there/a.txt --in there", "there/a.txt has 3 tokens, fewer than a passage of 8; lower --min-tokens"),
    (2, "- --in -", "standard input (-) can be read once"), (2, "there/c.jsonl --in there", "holds many documents"),
    (2, "draft.txt --in there --report there/page.html", "lies in the input there"),
    (2, "draft.txt --in there there", "is given twice"), (2, "draft.txt --in there --min-tokens 0", "from 1 to 1024"),
    (1, "draft.txt --in there/c.jsonl --text-field x", "'x'"),
])
def test_refusals(capsys, code, arguments, message):
    assert message in refused(capsys, code, "sources", *arguments.split())
