"""The corpus that most tests of commands share; a file may have one of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import ROWS, jsonl


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(jsonl(ROWS))
    return path
