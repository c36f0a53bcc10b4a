"""``ndcore contamination --gaps``: near matches in tables, on the page and in what is cut; what is missed; refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import jsonl, lines, refused, run

pytest.importorskip("msgspec")

ITEM = "which river flows slowly through the old town before it reaches the sea"
NEAR = "which river flows slowly through the very old and small town before it reaches the sea"
ARGUMENTS = ["contamination", "items.jsonl", "--in", "corpus.jsonl", "-o", "out", "--min-tokens", 12]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_bytes(jsonl([{"id": "q0", "text": ITEM}, {"id": "q1", "text": "another one"}]))
    Path("corpus.jsonl").write_bytes(jsonl([{"id": "d0", "text": f"Quiz: {NEAR}? The Aare."}, {"id": "d1", "text": "x"}]))


def test_near_matches_are_found_shown_and_cut(capsys):
    assert run(*ARGUMENTS, "-q") == 0
    assert lines(Path("out/places.jsonl")) == []
    assert run(*ARGUMENTS, "--overwrite", "--gaps", 4, "--trim", "--report", "page.html") == 0
    item = lines(Path("out/items.jsonl"))[0]
    assert (item["contaminated"], item["covered"], item["found"]) == (True, 12, 0)
    (place,) = lines(Path("out/places.jsonl"))
    text = f"Quiz: {NEAR}? The Aare."
    assert text[place["start_char"] : place["end_char"]] == NEAR
    assert (place["item_start"], place["item_end"]) == (0, 13)
    assert lines(Path("out/cleaned/corpus.jsonl"))[0]["text"] == "Quiz: ? The Aare."
    account = json.loads(Path("out/summary.json").read_bytes())
    assert (account["gaps"], account["seed"]) == (4, 6)
    assert account["missed_if_changed"]["0.1"] == pytest.approx(1 - 0.9**5 * (6 * 0.1 + 0.9), abs=1e-4)
    assert "Seeds of 6 tokens were looked for" in capsys.readouterr().out
    page = Path("page.html").read_text(encoding="utf-8")
    assert "with gaps of up to 4 words" in page and f"<mark>{NEAR}</mark>" in page


def test_refusals(capsys):
    assert "--rule palm is about exact runs, and --gaps is 2" in refused(
        capsys, 2, *ARGUMENTS[:-2], "--gaps", 2, "--rule", "palm")
    assert "33 is above 32" in refused(capsys, 2, *ARGUMENTS, "--gaps", 33)
