"""The page of ``ndcore contamination``: which items it shows, in which order, and how many of their places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import jsonl, lines, run

from ndcore.cli.contamination_page import PLACES_SHOWN, SHOWN

pytest.importorskip("msgspec")


def test_the_most_contaminated_items_and_their_longest_places(tmp_path, monkeypatch):
    """Of item 0 half of the words stand in the corpus, of all others all, those of item 1 in several documents."""
    monkeypatch.chdir(tmp_path)
    words = [[f"w{i}x{k}" for k in range(12)] for i in range(SHOWN + 1)]
    items = [{"id": f"item-{i:03}", "text": " ".join(own)} for i, own in enumerate(words)]
    corpus = [" ".join(own) for own in [words[0][:6], *words[2:]]]
    parts = [" ".join(words[1][at : at + length]) for at, length in ((0, 3), (3, 3), (6, 3), (8, 4), (9, 3))]
    Path("items.jsonl").write_bytes(jsonl(items))
    Path("corpus.jsonl").write_bytes(jsonl([{"id": f"part-{k}", "text": text} for k, text in enumerate(parts)]
                                           + [{"id": f"d{k}", "text": text} for k, text in enumerate(corpus)]))
    assert run("contamination", "items.jsonl", "--in", "corpus.jsonl", "-o", "out", "-q", "--min-tokens", 3,
               "--report", "page.html") == 0
    page = Path("page.html").read_text(encoding="utf-8")
    shown = sorted(set(re.findall(r"item-[0-9]{3}", page)))
    assert len(shown) == SHOWN and shown[:2] == ["item-001", "item-002"]
    assert sum(row["item"] == "item-001" for row in lines(Path("out/places.jsonl"))) > PLACES_SHOWN
    assert len(found := set(re.findall(r"part-[0-9]", page))) == PLACES_SHOWN and "part-3" in found
