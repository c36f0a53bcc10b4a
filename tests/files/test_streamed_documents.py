"""Streams of records are read twice from their copies."""

from __future__ import annotations

import gzip
import os
import sys
import threading
from pathlib import Path

import pytest
from textfiles import ROWS, jsonl, read, texts, write_parquet

from ndcore.files.documents import FileDocuments


def test_standard_input_is_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with (tmp_path / "in").open("wb+") as stdin:
        stdin.write(jsonl(ROWS))
        stdin.seek(0)
        monkeypatch.setattr(sys, "stdin", stdin)
        with FileDocuments(["-"]) as documents:
            assert texts(documents) == texts(documents) == [row["text"] for row in ROWS]
            assert documents.sources[0].name == "stdin.jsonl"
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(("name", "pack"), [("f", bytes), ("f.jsonl", bytes), ("f.jsonl.gz", gzip.compress)])
def test_fifo(tmp_path: Path, name: str, pack: object) -> None:
    fifo = tmp_path / name
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(pack(jsonl(ROWS))))  # type: ignore[operator]
    writer.start()
    assert read(str(fifo))[0] == [row["text"] for row in ROWS]
    writer.join()


@pytest.mark.parametrize("name", ["a.parquet", "f"])
def test_parquet_stream(tmp_path: Path, name: str) -> None:
    data = Path(write_parquet(tmp_path / "stored", ROWS)).read_bytes()
    fifo = tmp_path / name
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(data,))
    writer.start()
    with FileDocuments([str(fifo)]) as documents:
        assert texts(documents) == texts(documents) == [row["text"] for row in ROWS]
        assert documents.sources[0].name == f"{name.partition('.')[0]}.parquet"
    writer.join()
