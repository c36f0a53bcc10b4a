"""Stores made for tests of ``ndcore store``. No test is here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from commands import jsonl, run, text

PAGES = [  # pages of different numbers share no shingle
    {"key": "http://a.example/1", "text": text(1), "date": "2024-05-01"},
    {"key": "http://b.example/1", "text": text(1).upper() + "!", "date": "2024-05-02"},
    {"key": "http://a.example/2", "text": text(2), "date": "2024-05-03"},
    {"key": "http://a.example/2?print=1", "text": text(2, 1), "date": "2024-05-04"},
    {"key": 7, "text": text(3), "date": "2024-05-05"},
]
VERDICTS = ["kept", "lexical", "kept", "near", "kept"]


def made(path: Path, pages: list[dict[str, Any]] | None = None, *options: str) -> str:
    """Make a store with some pages, and return its path."""
    assert run("store", "create", path, "-q", "--threshold", "0.5", *options) == 0
    records = path.parent / f"{path.name}.jsonl"
    records.write_bytes(jsonl(PAGES if pages is None else pages))
    assert run("store", "decide", path, records, "-q", "--id-field", "key", "--date-field", "date") == 0
    return str(path)


def answers(output: bytes | str) -> list[Any]:
    """Parse lines of JSON."""
    return [json.loads(line) for line in output.splitlines()]
