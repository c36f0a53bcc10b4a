"""Rows of exports: what is read is what was written, and forged files end in an error before they reach a kernel."""

from __future__ import annotations

import pytest
from exporting import RIVER, exported, rewritten

import ndcore as nd

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow as pa
import pyarrow.parquet as pq

from ndcore.phases.exported import read_exported
from ndcore.phases.sketches import sketch_documents
from ndcore.spark import Collection
from ndcore.spark.exports import Export

PAGES = [("http://a.example/1", RIVER), ("http://a.example/2", ""), ("http://b.example/", RIVER.upper()),
         ("http://c.example/", "other words, of another page, that is about 7 other things")]


@pytest.fixture
def collection(tmp_path):
    return Collection.create(tmp_path / "all", id="url", by="host", must_agree="numbers", shingling=nd.Shingling(width=2))


def rows_of(collection, export):
    """Read an export as a task does."""
    settings = collection._export_settings()
    described = list(Export.read(export, settings).described(settings))
    given = {"sketcher": settings.sketcher, "design": settings.design, "must_agree": settings.must_agree,
             "bitmap_key": settings.bitmap_key}
    batch = pa.record_batch([pa.array(described)], ["text"])
    return pa.Table.from_batches(read_exported([batch], text="text", **given)), given


def test_rows_are_those_of_the_texts(tmp_path, collection):
    rows, given = rows_of(collection, exported(tmp_path / "s", collection, PAGES))
    texts = pa.record_batch([pa.array([text.encode() for _, text in PAGES])], ["text"])
    made = pa.Table.from_batches(sketch_documents([texts], text="text", **given))
    assert rows.column_names == ["key", "against", "scope", "file", "row", *made.column_names]
    assert all(rows.column(name).combine_chunks() == made.column(name).combine_chunks() for name in made.column_names)
    assert rows.column("key").to_pylist() == [{"url": key} for key, _ in PAGES]
    assert rows.column("row").to_pylist() == [0, 1, 2, 3] and not any(rows.column("against").to_pylist())
    assert set(rows.column("file").to_pylist()) == {(tmp_path / "s-export" / "texts-00000.parquet").as_uri()}


def changed(table, name, value):
    """Put another value in the first row of a column."""
    at = table.schema.get_field_index(name)
    column = pa.array([value, *table.column(name).to_pylist()[1:]], table.schema.field(at).type)
    return table.set_column(at, table.schema.field(at), column)


@pytest.mark.parametrize(("name", "value", "message"), [
    ("row", 1, "not a row for each of 4 pages"),
    ("key", None, "values of key are missing"),
    ("key", {"url": None}, "values of key are missing"),
    ("bytes", None, "values of bytes are missing"),
    ("features", b"12345678", "values of a binary column differ in length"),
    ("size", -1, "a shingle set has a size that no set has"),
    ("size", 1 << 33, "a shingle set has a size that no set has"),
    ("size", 1 << 31, "bitmaps have other lengths"),
    ("bitmap", b"", "bitmaps have other lengths"),
    ("features", b"\0" * 8 * 19, r"features of the page {'url': 'http://a.example/1'} does not come from its text"),
    ("bytes", b"\0" * 16, "bytes of the page"),
    ("deciding", b"\0" * 16, "deciding of the page"),
    ("size", 3, "size of the page"),
    ("valid", False, "valid of the page"),
    ("agrees", b"\0" * 16, "agrees of the page"),
])
def test_forged_features_are_refused(tmp_path, collection, name, value, message):
    """The digest of the file is right."""
    export = exported(tmp_path / "s", collection, PAGES)
    place = export / "features-00000.parquet"
    pq.write_table(changed(pq.read_table(place), name, value), place)
    rewritten(export)
    with pytest.raises(ValueError, match=message):
        rows_of(collection, export)


def test_other_files_are_refused(tmp_path, collection):
    export = exported(tmp_path / "s", collection, PAGES)
    features, texts = (export / f"{name}-00000.parquet" for name in ("features", "texts"))
    table, data, column = pq.read_table(features), features.read_bytes(), pq.read_table(texts)
    for forged, message in ((table.drop_columns(["size"]), "its columns are"), (table.slice(1), "not a row for each of"),
                            (pa.concat_tables([table] * (1 << 15)), "rows, and an export at most 65536 in a file")):
        pq.write_table(forged, features)
        rewritten(export)
        with pytest.raises(ValueError, match=message):
            rows_of(collection, export)
    features.write_bytes(b"not Parquet")
    rewritten(export)
    with pytest.raises(ValueError, match=r"features-00000.parquet cannot be added: .*; export the store again"):
        rows_of(collection, export)
    features.write_bytes(data)
    for forged, message in ((column.slice(1), "has 3 texts for 4 pages"),
                            (column.rename_columns(["words"]), "has no column 'text'"),
                            (changed(column, "text", b"another text"), "'http://a.example/1'} does not come from")):
        pq.write_table(forged, texts)
        rewritten(export)
        with pytest.raises(ValueError, match=message):
            rows_of(collection, export)
