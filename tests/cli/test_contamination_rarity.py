"""``ndcore contamination --min-rarity``: the order of the page, reasons, what is dropped."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commands import jsonl, lines, refused, run

pytest.importorskip("msgspec")

COMMON = "it is one of the first things that you can do in the"
RARE = "zebras quietly annotate marble observatories beneath turquoise glaciers whenever magnetic lanterns hum"
ARGUMENTS = ["contamination", "items.jsonl", "--in", "corpus.jsonl", "-o", "out", "--min-tokens", 12]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_bytes(jsonl([{"id": "common", "text": COMMON}, {"id": "rare", "text": RARE}]))
    Path("corpus.jsonl").write_bytes(jsonl([{"text": f"{COMMON} {i}"} for i in range(150)] + [{"text": RARE}]))


def test_common_words_come_last_and_are_no_verdict(capsys):
    assert run(*ARGUMENTS, "--min-rarity", 20, "--drop", "--report", "page.html") == 0
    items = lines(Path("out/items.jsonl"))
    assert [(row["id"], row["contaminated"], row["rarity"] > 20) for row in items] == [
        ("common", False, False), ("rare", True, True)]
    assert "common words only" in items[0]["reason"]
    assert len(lines(Path("out/kept/corpus.jsonl"))) == 150
    page = Path("page.html").read_text(encoding="utf-8")
    assert re.findall(r"<summary><strong>.*?(rare|common)\b", page) == ["rare", "common"]
    assert "common words only" in page and "Items found, the rarest first" in page
    account = json.loads(Path("out/summary.json").read_bytes())
    assert (account["min_rarity"], account["rarity_of_documents"]) == (20, 151)
    assert "Rarity of words is of 151 documents; contaminated from 20 bits on" in capsys.readouterr().out


def test_few_documents_are_told(capsys):
    Path("corpus.jsonl").write_bytes(jsonl([{"text": RARE}]))
    assert run(*ARGUMENTS, "--min-rarity", 0) == 0
    assert "Rarity of words is of 1 document, too few to tell" in capsys.readouterr().out


def test_refusals(capsys):
    assert "-1 is below 0" in refused(capsys, 2, *ARGUMENTS, "--min-rarity", "-1")
