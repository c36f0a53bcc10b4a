"""Runs of the command line, and the records they are given. No test is here."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from ndcore.cli.main import main

LOREM = re.findall(
    r"\w+",
    "the quick brown fox jumps over the lazy dog while seven wizards quietly boil a large pot of vegetable soup and "
    "discuss the weather of the northern hills with a passing merchant who sells copper bells and woollen blankets",
)
RUN = (sys.executable, "-m", "ndcore")


def text(number: int, changes: int = 0) -> str:
    """Texts of different numbers share no shingle; each change replaces the word at one more place."""
    words = [f"{word}{number}" for word in LOREM]
    for i in range(changes):
        words[5 * i] = f"changed{i}"
    return " ".join(words)
ROWS = [
    {"id": "a", "text": text(1), "score": 1, "lang": "en", "é": "ü"},
    {"id": "b", "text": text(2), "score": 5, "lang": "en"},
    {"id": "c", "text": text(1), "score": 3, "lang": "en"},
    {"id": 4, "text": text(1).upper() + "!", "score": 9, "lang": "en"},
    {"id": "e", "text": text(2, 1), "score": 2, "lang": "fr"},
    {"id": "f", "text": text(3), "score": 2, "lang": "fr"},
]


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def refused(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> str:
    """The message of a command that fails, without its prefix."""
    try:
        assert run(*arguments) == code
    except SystemExit as stop:
        assert stop.code == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.out == ""
    return captured.err.partition("ndcore")[2].lstrip(": ").rstrip()


def lines(path: Path) -> list[Any]:
    """Read a file of JSON lines."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def tree(path: Path) -> dict[str, bytes]:
    """Read all files below a directory, by their paths."""
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def printed(capfdbinary: pytest.CaptureFixture[bytes], *arguments: object) -> tuple[bytes, str]:
    """Run a command, and return what it writes to standard output and to standard error."""
    capfdbinary.readouterr()
    assert run(*arguments) == 0
    captured = capfdbinary.readouterr()
    return captured.out, captured.err.decode()
