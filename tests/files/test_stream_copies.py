"""Standard input and FIFOs: recognised by their bytes, copied, and read more than once."""

from __future__ import annotations

import gzip
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recordfiles import KEPT, PACK, ROWS, TEXTS, compact, csv, dedup, lines, pretty, read

from ndcore.cli.main import main


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("make", [lines, compact, pretty])
def test_standard_input_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[list[dict[str, Any]]], bytes], ending: str
) -> None:
    with (tmp_path / "in").open("wb+") as stdin:
        stdin.write(PACK[ending](make(ROWS)))
        stdin.seek(0)
        monkeypatch.setattr("sys.stdin", stdin)
        assert dedup(tmp_path, "-")["counts"]["kept"] == 3
    name = "stdin.jsonl" if make is lines else "stdin.json"
    assert (tmp_path / "out" / "kept" / name).read_bytes() == make([ROWS[i] for i in KEPT])


def test_an_archive_on_standard_input_keeps_its_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resiliparse", reason="the extra web is not installed")
    texts = [b"one text of some words here", b"another text, of other words", b"one text of some words here"]
    members = [warc_record(f"http://a.b/{i}", text) for i, text in enumerate(texts)]
    for pack, name in ((bytes, "stdin.warc"), (gzip.compress, "stdin.warc.gz")):
        packed = [pack(member) for member in members]
        with (tmp_path / "in").open("wb+") as stdin:
            stdin.write(b"".join(packed))
            stdin.seek(0)
            monkeypatch.setattr("sys.stdin", stdin)
            assert dedup(tmp_path, "-", "--overwrite")["counts"]["kept"] == 2
        [kept] = (tmp_path / "out" / "kept").iterdir()
        assert kept.name == name
        assert kept.read_bytes() == b"".join(packed[:2])
        assert read(kept)[0] == texts[:2]


def warc_record(url: str, content: bytes) -> bytes:
    head = (f"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
            f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{len(url):012}>\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {len(content)}\r\n\r\n")
    return head.encode() + content + b"\r\n\r\n"


def test_a_fifo_of_another_kind_than_its_name_says(tmp_path: Path) -> None:
    """Check that the name of the kept file says its format and its compression."""
    os.mkfifo(tmp_path / "a.jsonl.gz")
    data = gzip.compress(compact(ROWS))
    writer = threading.Thread(target=(tmp_path / "a.jsonl.gz").write_bytes, args=(data,))
    writer.start()
    assert dedup(tmp_path, str(tmp_path / "a.jsonl.gz"))["counts"]["kept"] == 3
    writer.join()
    [kept] = (tmp_path / "out" / "kept").iterdir()
    assert kept.name == "a.json.gz"
    assert gzip.decompress(kept.read_bytes()) == compact([ROWS[i] for i in KEPT])


def test_binary_on_standard_input_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["dedup", "-", "-o", str(tmp_path / "out")], ["compare", "-", str(tmp_path / "in")]):
        with (tmp_path / "in").open("wb+") as stdin:
            stdin.write(gzip.compress(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"))
            stdin.seek(0)
            monkeypatch.setattr("sys.stdin", stdin)
            assert main(command) == 1
        assert "not text (PDF document)" in capsys.readouterr().err


def test_a_fifo_by_its_name_and_bytes(tmp_path: Path) -> None:
    for name, data in (("a.csv", csv(ROWS)), ("b.csv.xz", lzma.compress(csv(ROWS))), ("c", gzip.compress(pretty(ROWS)))):
        os.mkfifo(tmp_path / name)
        writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(data,))
        writer.start()
        assert read(tmp_path / name)[0] == TEXTS
        writer.join()
