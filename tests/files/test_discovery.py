"""Names of inputs: short, distinct, and no input is read twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textfiles import write

from ndcore.files.discovery import find, name_inputs
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError


def test_distinct_names() -> None:
    assert name_inputs(["/x/a", "/x/b", "-"]) == ["a", "b", "stdin.jsonl"]
    assert name_inputs(["/x/a", "/y/a", "/y/b"]) == ["x/a", "y/a", "b"]
    assert name_inputs(["/1/x/a", "/2/x/a", "/y/a"]) == ["1/x/a", "2/x/a", "y/a"]
    assert name_inputs(["/p/x", "/q/x/b", "/r/b"]) == ["p/x", "q/x/b", "r/b"]


def test_names_and_ids_of_many_inputs(tmp_path: Path) -> None:
    one, two = write(tmp_path / "1" / "a.txt", b"1"), write(tmp_path / "2" / "a.txt", b"2")
    write(tmp_path / "d" / "x", b"3")
    with FileDocuments([one, two, str(tmp_path / "d")]) as documents:
        documents.scan()
        assert [source.name for source in documents.sources] == ["1/a.txt", "2/a.txt", "d/x"]
        assert list(documents.ids) == ["1/a.txt", "2/a.txt", "d/x"]


def test_overlapping_inputs(tmp_path: Path) -> None:
    path = write(tmp_path / "d" / "a.txt", b"")
    with pytest.raises(UsageError, match="given twice"):
        find([path, os.path.relpath(path)])
    with pytest.raises(UsageError, match="lies inside the input"):
        find([str(tmp_path / "d"), path])
