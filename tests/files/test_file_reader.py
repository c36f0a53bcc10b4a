"""Spans of files that are read again."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pytest

from ndcore.files import file_reader
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.sources import Source


def source_of(path: Path) -> Source:
    return FileDocuments([str(path)]).sources[0]


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz"])
@pytest.mark.parametrize("most", [1, 1000, 1 << 20])
def test_spans_are_read_with_what_is_between(
    tmp_path: Path, name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(4)
    data = b'{"text": "a"}\n' + rng.randbytes(300_000)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    monkeypatch.setattr(file_reader, "_BUFFER", most)
    bounds = np.array([*sorted(rng.sample(range(200), 100)), 100_000, 290_000, 290_000, len(data)])
    starts, ends = bounds[::2], bounds[1::2]
    found = []
    for which, part in file_reader.read_spans(source_of(tmp_path / name), starts, ends):
        assert part == data[starts[which.start] : ends[which.stop - 1]]
        assert len(range(*which.indices(len(starts)))) == 1 or (ends - starts)[which].sum() <= most
        found += range(*which.indices(len(starts)))
    assert found == list(range(len(starts)))
    assert list(file_reader.read_spans(source_of(tmp_path / name), starts[:0], ends[:0])) == []


def test_a_file_that_has_become_shorter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b'{"text": "a"}\n')
    with pytest.raises(DocumentError, match="ends at byte 14, and had 15 before"):
        list(file_reader.read_spans(source_of(tmp_path / "in.jsonl"), np.array([0]), np.array([15])))
