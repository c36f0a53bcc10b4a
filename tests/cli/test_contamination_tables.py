"""The tables of ``ndcore contamination``: places are those of the texts, however many rows are made at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import LOREM, jsonl, lines, run

from ndcore.cli import contamination_output

pytest.importorskip("msgspec")

TABLES = ("items", "fields", "benchmarks", "documents", "places", "passages")
ASKED = [" ".join(LOREM[at : at + 9]) for at in range(0, 27, 9)]  # questions without a word in common
ITEMS = [{"id": i, "question": question, "answers": [f"ünique answer {i}", f"other {i}"], "set": ("even", "odd")[i % 2]}
         for i, question in enumerate(ASKED)]
CORPUS = {"d0": f"« é » {ASKED[0]}, {ASKED[2]}! ünique answer 0", "d1": "nothing", "d2": f"{ASKED[1]} / ÜNIQUE answer 1"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_bytes(jsonl(ITEMS))
    Path("corpus.jsonl").write_bytes(jsonl([{"id": name, "text": text} for name, text in CORPUS.items()]))


def tables(output: str) -> dict[str, bytes]:
    """The files of a search field by field."""
    assert run("contamination", "items.jsonl", "--in", "corpus.jsonl", "-o", output, "-q", "--min-tokens", 8,
               "--fields", "question,answers", "--near", 30, "--benchmark-field", "set") == 0
    return {name: Path(output, f"{name}.jsonl").read_bytes() for name in TABLES}


def test_places_are_those_of_the_texts():
    tables("out")
    found = []
    for row in lines(Path("out/places.jsonl")):
        part = ITEMS[row["item"]][row["item_field"]]
        part = part if isinstance(part, str) else part[row["item_part"]]
        there = CORPUS[row["id"]][row["start_char"] : row["end_char"]]
        assert there.lower() == part[row["item_start_char"] : row["item_end_char"]].lower()
        assert CORPUS[row["id"]].encode()[row["start_byte"] : row["end_byte"]].decode() == there
        found.append((row["item"], row["item_field"], row["item_part"], row["id"]))
    assert found == [(0, "question", 0, "d0"), (0, "answers", 0, "d0"), (1, "question", 0, "d2"), (1, "answers", 0, "d2")]


def test_passages_and_documents_are_of_contaminated_items():
    """Item 2 lacks its answers, which must be near, so its question is none of them."""
    tables("out")
    passages = lines(Path("out/passages.jsonl"))
    assert [(row["id"], CORPUS[row["id"]][row["start_char"] : row["end_char"]].lower()) for row in passages] == [
        ("d0", ASKED[0]), ("d2", ASKED[1])]
    assert [(row["id"], row["covered"]) for row in lines(Path("out/documents.jsonl"))] == [("d0", 9), ("d2", 9)]
    assert [(row["benchmark"], row["items"], row["contaminated"]) for row in lines(Path("out/benchmarks.jsonl"))] == [
        ("even", 2, 1), ("odd", 1, 1)]


def test_rows_do_not_depend_on_how_many_are_made_at_a_time(monkeypatch: pytest.MonkeyPatch):
    expected = tables("at once")
    monkeypatch.setattr(contamination_output, "ROWS", 1)
    assert tables("one by one") == expected and expected["places"].count(b"\n") == 4
