"""What ``ndcore sources`` tells people: numbers in words, and how much is not listed."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np

from ndcore.cli.account import Account
from ndcore.cli.sources import DOCUMENTS, PASSAGES, QUOTED, TextSources, tell
from ndcore.spans.token_places import TokenPlaces

TEXT = "a\x1b[31m red word " + 30 * "and so on " + "until the end"


def printed(documents: int, passages: int, page: str | None = None) -> list[str]:
    """Return the lines for so many documents and passages, of one token each and all of the text."""
    ends = np.full(passages, len(TEXT))
    columns = TokenPlaces(0 * ends, ends, 0 * ends, ends)
    shown: Any = SimpleNamespace(name="draft", text=TEXT, places=lambda: columns)
    source = {"source_file": "in.jsonl", "source_line": 7, "start": 0, "end": 1000, "copies": 2}
    data = {
        "tokens": {"all": 1000, "found": 1}, "min_tokens": 1,
        "counts": {"with_passages": documents, "documents": 1, "passages": passages},
        "documents": documents * [{"file": "in.txt", "line": None, "shared": 1, "tokens": 1}],
        "passages": passages * [source],
        "pages_by_tags": [],
    }
    stream = io.StringIO()
    Account(data, tell(data, shown, page)).print_text(stream)
    return stream.getvalue().splitlines()


def test_one_is_not_many():
    assert printed(0, 0) == [
        "1 of 1,000 tokens (0.1 %) of draft occur in 0 of 1 document, in 0 passages of 1 token or more"]


def test_long_lists_and_passages_are_cut():
    told = printed(DOCUMENTS + 1, PASSAGES + 2, "page.html")
    assert told[1] == "         1 of 1 token  in.txt"
    assert "  and 1 document more; --json lists all" in told and "  and 2 passages more; --json lists all" in told
    assert told[-1] == "The report for a browser is page.html"
    quotations = [line for line in told if line.startswith('    "')]
    assert len(quotations) == PASSAGES and all(len(line) < QUOTED + 20 for line in quotations)
    assert " … " in quotations[0] and "until the end" in quotations[0] and "\x1b" not in quotations[0]


def test_places_are_in_the_text_and_in_the_collection():
    """The collection's documents are numbered from 1 in the rows, behind the text."""
    columns = {name: np.array([k]) for k, name in enumerate(("start_char", "end_char", "start_byte", "end_byte"))}
    columns |= {f"source_{name}": column + 10 for name, column in columns.items()}
    result: Any = SimpleNamespace(columns=columns, sources=np.array([2, 1, 2]))
    nothing: Any = None
    holders: Any = SimpleNamespace(document=np.array([40, 50]))
    sources = TextSources("draft", TEXT, nothing, 60, holders, result, nothing)
    assert sources.sources.tolist() == [50, 40, 50]
    assert [column.tolist() for column in sources.places()] == [[0], [1], [2], [3]]
    assert [column.tolist() for column in sources.places("source_")] == [[10], [11], [12], [13]]
