"""Files of sketches are read as the class of their kind, whatever was imported before."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ndcore as nd


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
