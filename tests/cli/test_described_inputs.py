"""How the inputs of a long run are described: by what changes when they change."""

from __future__ import annotations

import os
from pathlib import Path

from ndcore.cli.job_output import stamps_of
from ndcore.files.sources import Inputs, Source


def stamps(*sources: Source) -> list[list[object]]:
    return stamps_of(Inputs(sources=list(sources)))


def test_a_file_is_described_by_size_and_date_and_a_copied_stream_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one")
    os.utime(path, ns=(5, 7))
    file, stream = (Source(name, name, name, "jsonl", "", str(path), "") for name in (str(path), "-"))
    ((name, size, changed),) = stamps(file)
    assert (name, size, changed) == (str(path), 3, 7)
    before = stamps(stream)
    path.write_bytes(b"two")
    os.utime(path, ns=(5, 7))
    assert stamps(file) == [[name, size, changed]] and stamps(stream) != before
