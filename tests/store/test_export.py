"""The pages of a store as Parquet files: the last text of each, whole or not at all."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from stores import TEXT, opened

import ndcore as nd

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow.parquet as pq

from ndcore.store import export as module
from ndcore.store import store as stores

PAGES = [("a", TEXT), ("b", b"\xff bytes"), ("c", "a surrogate \udc80"), ("d", "")]


def test_the_last_text_of_each_page(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "READ", 2)
    with opened(tmp_path) as store:
        list(store.decide_many([*PAGES, ("a", "a text that came later"), ("e", "gone")]))
        store.remove("e")
        pages = dict(store.pages())
        with nd.Store.open(store.path, read_only=True) as reader:
            assert reader.export(tmp_path / "all") == 4
    assert pages == {**dict(PAGES), "a": "a text that came later"}
    rows = pq.read_table(tmp_path / "all").to_pylist()
    assert [(row["key"], row["text"]) for row in rows] == [
        (key, text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")) for key, text in pages.items()]


def test_files_and_row_groups(tmp_path, monkeypatch):
    """With a name; row groups end by their bytes or their pages, and a page of more bytes has one of its own."""
    for name, value in (("ROW_GROUP", 20), ("PAGES", 3), ("GROUPS", 2)):
        monkeypatch.setattr(module, name, value)
    texts = ["x" * 5] * 4 + ["y" * 30, "z" * 12, "z" * 12]
    with opened(tmp_path) as store:
        list(store.decide_many(enumerate(texts)))
        told = []
        assert store.export(tmp_path / "all", name="east", progress=lambda *step: told.append(step)) == 7
    assert [step[1:] for step in told] == [(3, 7), (4, 7), (5, 7), (6, 7), (7, 7)]
    files = [pq.ParquetFile(path) for path in sorted((tmp_path / "all").iterdir())]
    groups = [[file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] for file in files]
    assert groups == [[3, 1], [1, 1], [1]]
    rows = [row for file in files for row in file.read().to_pylist()]
    assert [row.pop("digest") for row in rows] == [blake2b(text.encode(), digest_size=16).digest() for text in texts]
    assert rows == [{"store": "east", "key": i, "text": text.encode()} for i, text in enumerate(texts)]


@pytest.mark.parametrize(("pages", "kind"), [([], "string"), ([(b"k", "x")], "binary"), ([(-1, "x")], "int64")])
def test_types_of_keys(tmp_path, pages, kind):
    with opened(tmp_path) as store:
        list(store.decide_many(pages))
        assert store.export(tmp_path / "all") == len(pages)
    schema = pq.read_schema(tmp_path / "all" / "pages-00000.parquet")
    assert (str(schema.field("key").type), str(schema.field("text").type)) == (kind, "large_binary")


@pytest.mark.parametrize(("pages", "options", "error", "message"), [
    ([("a", "x"), (1, "y")], {}, ValueError, "the key 1 is of type int, and keys before it are of type str; a table has"),
    ([("a", "x"), ("a\udc80", "y")], {}, ValueError, r"the key 'a\\udc80' has a surrogate, which no table can hold"),
    ([("a", "x")], {"name": b"east"}, TypeError, "name is b'east' of type bytes; it must be a str"),
])
def test_what_no_table_can_hold(tmp_path, pages, options, error, message):
    with opened(tmp_path) as store:
        list(store.decide_many(pages))
        with pytest.raises(error, match=message):
            store.export(tmp_path / "all", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("evidence", ["shingles", "sketch"])
def test_a_store_without_texts(tmp_path, evidence):
    with opened(tmp_path, evidence=evidence) as store:
        store.decide("a", TEXT)
        with pytest.raises(LookupError, match=f"evidence='{evidence}', so it keeps no texts; make one with evidence='text'"):
            store.export(tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_something_is_there(tmp_path):
    (tmp_path / "all").mkdir()
    with opened(tmp_path) as store:
        assert store.export(tmp_path / "all") == 0
        with pytest.raises(FileExistsError, match="give a path that does not, or an empty directory"):
            store.export(tmp_path / "all")


def test_a_store_that_is_compacted_meanwhile(tmp_path):
    with opened(tmp_path) as store:
        list(store.decide_many((i, f"text {i}") for i in range(300)))
        pages = store.pages()
        next(pages)
        store.remove(299)
        store.compact()
        with pytest.raises(RuntimeError, match="the store was compacted while its pages were read; read them again"):
            list(pages)
