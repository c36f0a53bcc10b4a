"""Files of sketches are read as the class of their kind, whatever was imported before."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import ndcore as nd
from ndcore.storage import container


@pytest.mark.parametrize(
    ("sketcher", "name"),
    [
        (nd.SimHasher(), "Simhashes"), (nd.MinHasher(8), "Sketches"), (nd.BottomSketcher(8), "Sketches"),
        (nd.ModSketcher(2), "Sketches"),
    ],
)
def test_a_new_process_reads_a_file_as_the_class_of_its_kind(sketcher, name, tmp_path):
    made = sketcher.sketch_many(["a b c d e f"])
    assert type(made).__name__ == name
    made.save(tmp_path / "s.nds")
    code = "import sys, ndcore; print(type(ndcore.load(sys.argv[1])).__name__)"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "s.nds"], capture_output=True, text=True, check=True)
    assert done.stdout == name + "\n"


@pytest.mark.parametrize("ids", [
    np.array([2**63 + 5, 1], np.uint64), np.array([np.inf, 1]), np.array([1.5, 2]), np.array([[1], [2]]),
    np.array([b"1", b"2"]), np.array([True, False]), np.array([1, 2], np.int32),
], ids=lambda ids: f"{ids.dtype} {ids.ndim}")
def test_forged_ids_are_refused(tmp_path, ids):
    made = nd.MinHasher(8).sketch_many(["a b c d e f", "g h i j k l"])
    made.ids = [1, 2]
    made.save(tmp_path / "s.nds")
    contents = container.peek(tmp_path / "s.nds")
    header, arrays = container.read(tmp_path / "s.nds")
    container.write(tmp_path / "s.nds", contents.kind, header, {**arrays, "ids": ids}, revision=contents.revision)
    with pytest.raises(container.CorruptFile, match="not int64 of one"):
        nd.load(tmp_path / "s.nds")


@pytest.mark.parametrize(("ids", "column"), [
    ([2**70, 1], [str(2**70), "1"]), ([1, "a"], ["1", "a"]), (["a", "b\ud800"], ["a", "b\\ud800"]), ([1, 2], [1, 2]),
])
def test_ids_that_a_column_of_arrow_does_not_hold(ids, column):
    pytest.importorskip("pyarrow")
    texts = ["a b c d e f", "g h i j k l"]
    made = nd.MinHasher(8).sketch_many(texts)
    made.ids = ids
    for table in (made.to_arrow(), nd.near_duplicates(texts, ids=ids).to_arrow()):
        assert table["id"].to_pylist() == column
