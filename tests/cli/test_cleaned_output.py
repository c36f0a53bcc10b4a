"""FileDocuments without passages, as commands write them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ndcore.cli import passages as module
from ndcore.cli.summary import BY_TAGS
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.outputs import OutputDirectory


@pytest.fixture
def documents(tmp_path: Path) -> FileDocuments:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": i, "text": f"text  {i}"}) + "\n" for i in range(4)))
    made = FileDocuments([str(path)])
    made.scan()
    return made


def test_only_what_was_cut_changes(documents):
    cleaned = module.Cleaned(np.array([0, 2, 3]), iter(["cut", "", "also\nthis"]), np.array([2]))
    file = io.BytesIO()
    assert module.write_cleaned(file, documents, "text", cleaned, lambda *_: None) == 0
    assert [json.loads(line) for line in file.getvalue().splitlines()] == [
        {"id": 0, "text": "cut"}, {"id": 1, "text": "text  1"}, {"id": 3, "text": "also\nthis"}]


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", "-0", "0.10000000000000000001", '1, "x": 2, "x": "\\u00e9"'])
@pytest.mark.parametrize("name", ["in.jsonl", "in.json"])
def test_all_but_the_text_of_a_record_stays(tmp_path, name, value):
    path, record = tmp_path / name, f'{{ "text": "old",  "x": {value}, "text" : "text" }}'
    path.write_text(f"[{record}]\n" if name == "in.json" else f"{record}\n")
    made = FileDocuments([str(path)])
    made.scan()
    cleaned = module.Cleaned(np.array([0]), iter(["cut"]), np.zeros(0, np.int64))
    file = io.BytesIO()
    module.write_cleaned(file, made, "text", cleaned, lambda *_: None)
    assert file.getvalue().decode() == f'{{ "text": "old",  "x": {value}, "text" : "cut" }}\n'


def test_empty_documents_are_listed(documents, tmp_path):
    with OutputDirectory(str(tmp_path / "out")) as output:
        module.write_empty(output, documents, np.array([1, 3]))
        listed = [json.loads(line) for line in output.below("empty.jsonl").read_bytes().splitlines()]
    assert [(row["id"], row["line"]) for row in listed] == [(1, 2), (3, 4)]


def test_several_fields_have_no_place_for_a_text():
    assert module.the_text_field(SimpleNamespace(text_field=None), "") == "text"
    assert module.the_text_field(SimpleNamespace(text_field=["a"]), "") == "a"
    with pytest.raises(UsageError, match="names several; leave one out"):
        module.the_text_field(SimpleNamespace(text_field=["a", "b"]), "leave one out")


def test_faults_are_counted():
    page = {"id": "x", "file": "x.html", "line": None}
    assert list(module.fault_notes({"counts": {"rejected": 0}, "not_utf8": 0, "pages_by_tags": []}, "out").lines()) == []
    data = {"counts": {"rejected": 1}, "not_utf8": 2, "pages_by_tags": [page], "items": {"pages_by_tags": [page, page]}}
    assert list(module.fault_notes(data, "out").lines()) == [
        "  note: 1 document could not be read", "  note: 2 documents had bytes that are not UTF-8",
        f"  note: 3 pages {BY_TAGS}; summary.json lists them"]
