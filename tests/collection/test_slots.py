"""The table of slots: what it says of writers, readers and lifetimes is what happens."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import ndcore as nd
from ndcore import collection
from ndcore.collection import slots
from ndcore.collection.shelf import DirectoryShelf

ROOM = Path(collection.__file__).parent
TEXTS = [f"a rose is a rose is a rose {i % 3}" for i in range(20)]


def uses(path):
    """Return the names of slots that a module takes from the table, as ``slots.PAIRS``."""
    return {getattr(slots, node.attr) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "slots"
            and node.attr.isupper() and node.attr != "SLOTS"}


def test_modules_use_the_slots_that_the_table_says():
    used = {path.stem: uses(path) for path in ROOM.glob("*.py") if path.stem != "slots"}
    for slot in slots.SLOTS.values():
        assert {module for module, names in used.items() if slot.name in names} == {*slot.written_by, *slot.read_by}


def test_no_module_names_a_slot_by_a_string():
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and re.search(r"\bshelf\.\w+$|\bslots\.\w+$|^part_name$", ast.unparse(node.func)):
                assert not any(isinstance(each, ast.Constant) and each.value in slots.SLOTS for each in node.args), path


def test_a_finished_collection_has_the_slots_that_are_kept(tmp_path):
    made = nd.Collection.build(tmp_path / "c", TEXTS, range(len(TEXTS)))
    made.keep_places({"files": []}, {})
    there = {path.relative_to(made.path).parts[0].removesuffix(".ndc") for path in made.path.rglob("*.ndc")}
    assert there == {slot.name for slot in slots.SLOTS.values() if slot.lifetime == "kept"}


def test_slots_are_dropped_when_their_time_has_come(tmp_path, monkeypatch):
    put, when = DirectoryShelf.put, {}

    def noting(self, name, header, arrays):
        put(self, name, header, arrays)
        when[name] = {path.relative_to(self.path).parts[0].removesuffix(".ndc") for path in self.path.rglob("*.ndc")}

    monkeypatch.setattr(DirectoryShelf, "put", noting)
    nd.Collection.build(tmp_path / "c", TEXTS)
    unfinished = {slot.name for slot in slots.SLOTS.values() if slot.lifetime == "until finished"}
    assert slots.RUNS in when[slots.PAIRED] and slots.RUNS not in when[slots.CLUSTERS]
    assert unfinished <= when[slots.CLUSTERS]


def test_what_is_wrong_with_a_slot_names_its_file(tmp_path):
    made = nd.Collection.build(tmp_path / "c", TEXTS)
    shelf = DirectoryShelf(made.path)
    header, arrays = shelf.get(slots.SLABS)
    shelf.put(slots.SLABS, header, {"slabs": arrays["slabs"][:, :2].copy()})
    with pytest.raises(nd.CorruptFile, match=r"slabs\.ndc: slabs has 2 where 3 fit"):
        nd.Collection.open(made.path)
