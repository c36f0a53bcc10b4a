"""Documents that tasks read from files: the texts and records of `Documents`."""

from __future__ import annotations

import json

import pytest
import webarchives
from record_batches import pa, rows_of

from ndcore.files.discovery import find
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.field_values import sort_keys
from ndcore.files.records import Fields
from ndcore.spark import read_files
from ndcore.spark.file_ranges import whole_files
from ndcore.spark.read_files import DOCUMENTS, read_documents


def read(path, fields=None, **options):
    tasks = [[file] for file in whole_files(find([str(path)]).sources)]
    batches = [pa.record_batch({"at": pa.array([i], pa.int64())}) for i in range(len(tasks))]
    options = {"html": None, "label": None, "version": None, "order": None, "titles": False, **options}
    return list(read_documents(batches, tasks=tasks, fields=fields or Fields(), **options))


@pytest.mark.parametrize("rows", [1, 1000])
def test_files_of_every_kind(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(read_files, "ROWS", rows)
    (tmp_path / "a.txt").write_text("a text of its own")
    (tmp_path / "b.jsonl").write_text('{"id": 1, "text": "one"}\n\n{"text": "\\ud800 two"}\r\n')
    (tmp_path / "c.csv").write_text("id,text\n7,three\n")
    webarchives.save(tmp_path / "d.warc", [webarchives.INFO, webarchives.response(1), webarchives.response(2)])
    batches = read(tmp_path)
    assert all(batch.num_rows <= rows for batch in batches)
    assert batches[0].schema.names == [part.split()[0] for part in DOCUMENTS.split(", ")]
    found = rows_of(batches)
    with FileDocuments(find([str(tmp_path)])) as documents:
        texts = [text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
                 for batch in documents.batches() for text in batch]
        places = [(documents.place(i).file, documents.place(i).line or 0) for i in range(len(texts))]
    assert [row[3] for row in found] == texts
    assert [row[:2] for row in found] == places
    assert [row[2] for row in found] == [None, "1", None, "7", "http://example.org/1", "http://example.org/2"]
    assert [row[10] for row in found][1:3] == [b'{"id": 1, "text": "one"}', b'{"text": "\\ud800 two"}']


def test_labels_and_order(tmp_path):
    rows = [{"text": "a", "host": "x", "n": 3}, {"text": "<p>b", "host": [1], "n": None},
            {"text": "c", "host": 1.5, "n": "z"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    fields = Fields(others=("host", "n"), optional=frozenset({"n"}))
    found = rows_of(read(tmp_path, fields, label="host", version="n", order="n", html="page"))
    assert [row[5] for row in found] == ["3", "null", '"z"']
    assert [(*row[3:5], *row[6:10]) for row in found] == [
        (b"a", '"x"', *sort_keys(3)), (b"b", "[1]", *[None] * 4), (b"c", "1.5", "string", None, None, b"z")]


def test_pages_that_no_parser_reads(tmp_path):
    pytest.importorskip("resiliparse", reason="the extra web is not installed")
    pages = ["<p>one", "<div>" * 16_000 + "two"]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": page}) for page in pages))
    (tmp_path / "b.html").write_text(pages[1])
    assert [row[11] for row in rows_of(read(tmp_path, html="page"))] == [False, True, True]


def test_titles_of_pages_are_not_lost(tmp_path):
    pytest.importorskip("resiliparse", reason="the extra web is not installed")
    (tmp_path / "a.html").write_text("<title>of a page</title><p>one two")
    assert len(rows_of(read(tmp_path))) == 1
    with pytest.raises(DocumentError, match="--must-agree title compares titles of HTML in ndcore dedup only"):
        read(tmp_path, titles=True)


@pytest.mark.parametrize(("name", "content", "fields", "message"), [
    ("a.jsonl", b'{"text": "a"}\n{"text": 5}\n', Fields(), r"a.jsonl:2: .*5"),
    ("a.jsonl", b'{"text": "a", "n": [1]}', Fields(others=("n",)), r"the field 'n' is an array; --keep needs numbers"),
    ("a.csv", b"id,words\n1,2\n", Fields(), "text"),
    ("a.jsonl", b'{"text": "a"}', Fields(id="url", require_id=True), "no id field 'url'"),
])
def test_what_cannot_be_read(tmp_path, name, content, fields, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DocumentError, match=message):
        read(tmp_path, fields, order=fields.others[0] if fields.others else None)
