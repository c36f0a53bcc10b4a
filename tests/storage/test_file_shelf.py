"""Shelves of files, and the forms of arrays in them."""

from __future__ import annotations

import numpy as np
import pytest

from ndcore.storage import container
from ndcore.storage.file_shelf import FileShelf, Form, find_misfit, part_name


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


FORM: Form = {"a": (np.int64, "n"), "b": (np.uint8, "n 3"), "c": (np.uint8, "m")}


def arrays(**changes: np.ndarray) -> dict[str, np.ndarray]:
    return {"a": np.zeros(4, np.int64), "b": np.zeros((4, 3), np.uint8), "c": np.zeros(2, np.uint8)} | changes


@pytest.mark.parametrize(("changes", "fault"), [
    ({}, None), ({"c": np.zeros(9, np.uint8)}, None),
    ({"d": np.zeros(1)}, "it has the arrays a, b, c, d, not a, b, c"),
    ({"a": np.zeros(4, np.uint64)}, "a is uint64 of 1 dimensions, not int64 of 1"),
    ({"a": np.zeros((4, 1), np.int64)}, "a is int64 of 2 dimensions"),
    ({"b": np.zeros((4, 2), np.uint8)}, "b has 2 where 3 fit the others"),
    ({"b": np.zeros((5, 3), np.uint8)}, "b has 5 where 4 fit the others"),
])
def test_misfits(changes, fault):
    found = find_misfit(FORM, arrays(**changes), {}, "the others")
    assert found is None if fault is None else fault in found


def test_sizes_that_are_known():
    assert find_misfit(FORM, arrays(), {"n": 4}, "4 documents") is None
    assert find_misfit(FORM, arrays(), {"n": 5}, "5 documents") == "a has 4 where 5 fit 5 documents"
    assert find_misfit({}, {}, {"n": 5}, "nothing") is None
    assert find_misfit(FORM, {}, {}, "nothing") == "it has the arrays none, not a, b, c"
