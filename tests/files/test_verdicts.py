"""Lines of clusters.jsonl are encoded column by column, with the bytes that one record after another would have."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pytest

import ndcore as nd
from ndcore.files import verdicts as module
from ndcore.files.json_values import to_json
from ndcore.files.outputs import OutputDirectory
from ndcore.files.verdicts import NamedVerdicts, write_clusters

TEXTS = ["a cat sat on the mat", "a cat sat on the mat", "A CAT sat on the mat", "", "", "a dog", "a page of old words"]
DAY = datetime.datetime(2024, 5, 1, 10, tzinfo=datetime.UTC)


def place_of(position: int, which: str) -> list[object]:
    """Return file, line, offset and date of a document; some lack each of them."""
    file = None if which == "none" or (which == "some" and position % 3 == 0) else f"pages {position % 2} \udce4.jsonl"
    return [file, None if position % 4 == 0 else position + 1, 7 * position if which == "all" else None,
            DAY if which == "all" else None]


@pytest.mark.parametrize("ids", [[3, 1, 4, 15, 9, 2, 6], ["ü", 'quo"te', "\udc80", "d", "e\n", "f", "g"]])
@pytest.mark.parametrize("which", ["none", "some", "all"])
@pytest.mark.parametrize("against", [[], ["a page of old words"]])
def test_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: list[int | str], which: str, against: list[str]
) -> None:
    monkeypatch.setattr(module, "ROWS", 2)
    result = nd.near_duplicates(TEXTS, against=against, shingling=nd.Shingling(width=1))
    verdicts = NamedVerdicts(
        result, ids, ids[:1] * len(against),
        places=lambda positions: [[place_of(i, which)[k] for i in positions.tolist()] for k in range(4)],
        against_places=lambda positions: [[None] * len(positions)] * 4)
    dropped = np.flatnonzero(~result.mask)
    with OutputDirectory(str(tmp_path / "out")) as output:
        write_clusters(output, verdicts)
        written = output.below("clusters.jsonl").read_bytes()
    expected = [to_json(verdicts.line(i)) + b"\n" for i in dropped.tolist()]
    assert written == b"".join(expected)
    for line, position in zip(expected, dropped.tolist(), strict=True):
        record, (file, number, offset, _) = json.loads(line), place_of(position, which)
        assert record["id"] == ids[position] and record.get("offset") == offset and record.get("file") == file
        assert ("line" in record) == (file is not None) and record.get("line") == (number if file is not None else None)
        assert ("against" in record) == (result.labels[position] >= len(TEXTS))
