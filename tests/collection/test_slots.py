"""The table of slots: what it says of lifetimes is what happens."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import ndcore as nd
from ndcore import collection
from ndcore.collection.shelf import CLUSTERS, PAIRED, RUNS, SLABS, SLOTS, Shelf

ROOM = Path(collection.__file__).parent
TEXTS = [f"a rose is a rose is a rose {i % 3}" for i in range(20)]


def test_no_module_names_a_slot_by_a_string():
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and re.search(r"\bshelf\.\w+$|^part_name$", ast.unparse(node.func)):
                assert not any(isinstance(each, ast.Constant) and each.value in SLOTS for each in node.args), path


def test_a_finished_collection_has_the_slots_that_are_kept(tmp_path):
    labels = [i % 4 for i in range(len(TEXTS))]
    made = nd.Collection.build(tmp_path / "c", TEXTS, range(len(TEXTS)), by=labels, one_per=labels, must_agree="numbers")
    made.keep_places({"files": []}, {})
    there = {path.relative_to(made.path).parts[0].removesuffix(".ndc") for path in made.path.rglob("*.ndc")}
    assert there == {name for name, slot in SLOTS.items() if slot.lifetime == "kept"}


def test_slots_are_dropped_when_their_time_has_come(tmp_path, monkeypatch):
    put, when = Shelf.put, {}

    def noting(self, name, header, arrays):
        put(self, name, header, arrays)
        when[name] = {path.relative_to(self.path).parts[0].removesuffix(".ndc") for path in self.path.rglob("*.ndc")}

    monkeypatch.setattr(Shelf, "put", noting)
    nd.Collection.build(tmp_path / "c", TEXTS)
    unfinished = {name for name, slot in SLOTS.items() if slot.lifetime == "until finished"}
    assert RUNS in when[PAIRED] and RUNS not in when[CLUSTERS]
    assert unfinished <= when[CLUSTERS]


def test_what_is_wrong_with_a_slot_names_its_file(tmp_path):
    made = nd.Collection.build(tmp_path / "c", TEXTS)
    shelf = Shelf(made.path)
    header, arrays = shelf.get(SLABS)
    shelf.put(SLABS, header, {"slabs": arrays["slabs"][:, :2].copy()})
    with pytest.raises(nd.CorruptFile, match=r"slabs\.ndc: slabs has 2 where 3 fit"):
        nd.Collection.open(made.path)
