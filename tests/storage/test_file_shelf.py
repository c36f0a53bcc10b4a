"""Outcomes of steps in files: kinds, parts, and what is removed."""

from __future__ import annotations

import numpy as np
import pytest

from ndcore.storage import container
from ndcore.storage.file_shelf import FileShelf, part_name


def test_the_family_is_in_the_kind_of_every_file(tmp_path):
    shelf = FileShelf(tmp_path, "jobs")
    shelf.put("steps/00000000", {"n": 1}, {"a": np.arange(3)})
    assert container.peek(shelf.where("steps/00000000")).kind == "jobs/steps"
    header, arrays = shelf.get("steps/00000000")
    assert header == {"n": 1} and arrays["a"].tolist() == [0, 1, 2]
    with pytest.raises(container.CorruptFile, match="holds 'jobs/steps', not 'other/steps'"):
        FileShelf(tmp_path, "other").get("steps/00000000")


def test_parts_behind_a_gap_are_dropped(tmp_path):
    shelf = FileShelf(tmp_path, "jobs")
    assert shelf.consecutive("steps") == []
    for number in (0, 1, 3, 4):
        shelf.put(part_name("steps", number), {}, {})
    assert shelf.consecutive("steps") == ["steps/00000000", "steps/00000001"] == shelf.names("steps")


def test_clear_removes_its_files_only(tmp_path):
    shelf = FileShelf(tmp_path, "jobs")
    shelf.put("steps/00000000", {}, {})
    shelf.put("one", {}, {})
    (tmp_path / ".one.ndc.0123.tmp").write_bytes(b"half")
    (tmp_path / "mine.txt").write_text("mine")
    shelf.clear()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["mine.txt", "steps"]
