"""The page of ``ndcore contamination``: which items it shows, in which order, and how many documents of each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import jsonl, lines, run

from ndcore.cli.contamination_output import DOCUMENTS_SHOWN, SHOWN

pytest.importorskip("msgspec")


def test_the_most_contaminated_items_and_the_documents_with_their_longest_runs(tmp_path, monkeypatch):
    """Of item 0 half of the words occur in the corpus, of all others all, those of item 1 in several documents."""
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
    assert sum(row["item"] == "item-001" for row in lines(Path("out/places.jsonl"))) > DOCUMENTS_SHOWN
    assert len(found := set(re.findall(r"part-[0-9]", page))) == DOCUMENTS_SHOWN and "part-3" in found


def test_a_document_is_one_block_with_all_passages_in_the_colour_of_their_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_bytes(jsonl([{"id": "item", "text": "a b c d e f g h i"}]))
    Path("corpus.jsonl").write_bytes(jsonl([{"id": "two", "text": "a b c, and g h i"}, {"id": "one", "text": "d e f"}]))
    assert run("contamination", "items.jsonl", "--in", "corpus.jsonl", "-o", "out", "-q", "--min-tokens", 3,
               "--report", "page.html") == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert re.findall(r"standing (source-[0-9]).*?(two|one)\b", page) == [("source-0", "two"), ("source-1", "one")]
    assert "<mark>a b c</mark>, and <mark>g h i</mark>" in page
    assert re.findall(r'<mark class="(source-[0-9])">([a-z ]+)</mark>', page) == [
        ("source-0", "a b c"), ("source-1", "d e f"), ("source-0", "g h i")]
