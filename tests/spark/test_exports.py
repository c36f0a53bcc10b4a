"""Stores as the beginning of a collection that grows: verdicts equal one run, and an export that was changed is refused."""

from __future__ import annotations

import json

import pytest
from exporting import RIVER, exported, rewritten
from growing import as_files, check, crawls
from sparks import frame

import ndcore as nd

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow.parquet as pq

from ndcore.spark import Collection, exports
from ndcore.spark.documents import label_of
from ndcore.spark.exports import Export
from ndcore.storage.container import CorruptFile

WORDS = nd.Shingling(width=2)
PAGES = [("http://a.example/1", RIVER), ("http://b.example/1", RIVER.upper()), ("http://b.example/2", b"\xff other words")]


@pytest.fixture
def collection(tmp_path):
    return Collection.create(tmp_path / "all", id="url", shingling=WORDS)


def read(collection, export):
    return Export.read(export, collection._export_settings())


@pytest.mark.slow
def test_stores_and_a_crawl_equal_one_run(spark, tmp_path, monkeypatch):
    """Two stores of other settings in several files, then a crawl with edits of their pages."""
    monkeypatch.setattr(exports, "FILE_BYTES", 1500)
    monkeypatch.setattr(exports, "PAGES", 5)
    options = {"threshold": 0.6, "shingling": WORDS, "max_holders": 4}
    collection = Collection.create(tmp_path / "all", id="id", **options)
    given = crawls(3, 3, 16)
    made = [exported(tmp_path / f"store {i}", collection, given[i], threshold=0.5 + i / 10, num_perm=40 + i, seed=i)
            for i in (0, 1)]
    assert len(list(made[0].glob("texts-*.parquet"))) > 1
    done = collection.add_exports(made, batch="stores")
    assert (done.documents, done.repeated) == (32, False)
    assert collection.add_exports(made, batch="stores").repeated
    with pytest.raises(ValueError, match=r"2 documents have the key {'id': 'k.*'}; keys are unique"):
        collection.add_exports([made[1], made[1]])
    collection.add(as_files(spark, tmp_path / "crawl", given[2]), batch="crawl")
    found = check(Collection.open(tmp_path / "all"), [*sorted(given[0] + given[1]), *given[2]], **options)
    assert {"identical", "lexical", "near"} <= {verdict[1] for verdict in found.values()}


@pytest.mark.slow
def test_mirrors_across_stores_have_the_names_of_both(spark, tmp_path):
    """With keys of must_agree and copies of texts; an export may be empty; its texts are read where it lies."""
    collection = Collection.create(tmp_path / "all", id=["store", "url"], copy=True, shingling=WORDS, threshold=0.6,
                                   must_agree="numbers")
    pages = {"east": [("http://a.example/1", RIVER + " in May 1999")], "none": [],
             "west": [("http://b.example/", RIVER + " in May 2001")]}
    collection.add_exports([exported(tmp_path / name, collection, some, name, scope="host") for name, some in pages.items()])
    north = [("north", "http://c.example/", RIVER + " in May or June 2001")]
    collection.add(frame(spark, north, "store string, url string, text string", 1))
    found = {row.store: (row.representative.store, row["class"]) for row in collection.result(spark).verdicts.collect()}
    assert found == {"east": ("east", "kept"), "west": ("west", "kept"), "north": ("west", "near")}


def test_labels_are_those_of_a_column_of_hosts(spark, tmp_path):
    collection = Collection.create(tmp_path / "all", id="url", by="host", shingling=WORDS)
    export = exported(tmp_path / "store", collection, [("http://A.example/1", RIVER), ("http://b.example/", RIVER)])
    labels = pq.read_table(export / "features-00000.parquet").column("scope").to_pylist()
    rows = frame(spark, [("a.example",), ("b.example",)], "host string", 1)
    assert labels == [bytes(row.label) for row in rows.select(label_of(rows, "host", "by").alias("label")).collect()]


@pytest.mark.slow
def test_a_file_that_was_changed_is_refused_by_the_job(spark, tmp_path, collection):
    export = exported(tmp_path / "store", collection, PAGES)
    place = export / "features-00000.parquet"
    data = bytearray(place.read_bytes())
    data[60] ^= 1
    place.write_bytes(data)
    with pytest.raises(Exception, match=r"features-00000.parquet cannot be added: it is another file .*; export the store"):
        collection.add_exports(export)
    assert collection.version == 0 and not list((tmp_path / "all" / "tables").iterdir())


def test_an_export_has_the_last_text_of_each_page(tmp_path, collection):
    with nd.Store.open(tmp_path / "store") as store:
        list(store.decide_many([*PAGES, (PAGES[0][0], "a text that has come later"), ("http://c.example/", "gone")]))
        store.remove("http://c.example/")
        now = dict(store.pages())
        assert now[PAGES[0][0]] == "a text that has come later" and len(now) == 3
        first = tmp_path / "all" / "versions" / "000000000000.json"  # is all that an export needs of the collection
        (tmp_path / "copy" / "versions").mkdir(parents=True)
        (tmp_path / "copy" / "versions" / first.name).write_bytes(first.read_bytes())
        with nd.Store.open(store.path, read_only=True) as reader:
            assert Collection.open(tmp_path / "copy").export(reader, tmp_path / "export") == 3
    texts = pq.read_table(tmp_path / "export" / "texts-00000.parquet").column("text").to_pylist()
    keys = pq.read_table(tmp_path / "export" / "features-00000.parquet").column("key").to_pylist()
    assert {key["url"]: text for key, text in zip(keys, texts, strict=True)} == {
        key: text if isinstance(text, bytes) else text.encode() for key, text in now.items()}
    read(collection, tmp_path / "export")


@pytest.mark.parametrize("evidence", ["shingles", "sketch"])
def test_a_store_without_texts_is_refused(tmp_path, collection, evidence):
    with nd.Store.open(tmp_path / "store", evidence=evidence) as store:
        with pytest.raises(LookupError, match=f"evidence='{evidence}', so it keeps no texts, and a collection reads"):
            collection.export(store, tmp_path / "export")
        with pytest.raises(LookupError, match="it keeps no texts"):
            next(store.pages())
    assert not (tmp_path / "export").exists()


def test_a_store_that_was_compacted_meanwhile_says_so(tmp_path):
    with nd.Store.open(tmp_path / "store") as store:
        list(store.decide_many((i, f"text {i}") for i in range(300)))
        pages = store.pages()
        next(pages)
        store.compact()
        with pytest.raises(RuntimeError, match="the store was compacted while its pages were read"):
            list(pages)


@pytest.mark.parametrize(("pages", "error", "message"), [
    ([("a", "x"), (1, "y")], TypeError, "the key 1 is of type int, and keys before it are of type str"),
    ([("a\udc80", "x")], ValueError, "has a surrogate, which no table can hold"),
])
def test_keys_that_no_table_can_hold(tmp_path, collection, pages, error, message):
    with pytest.raises(error, match=message):
        exported(tmp_path / "store", collection, pages)
    assert not (tmp_path / "store-export").exists()


def test_names_and_places_that_are_refused(tmp_path, collection):
    with pytest.raises(ValueError, match=r"the columns url as id, and with name='east' a page has 2: .*\['store', 'url'\]"):
        exported(tmp_path / "a", collection, PAGES, "east")
    none = Collection.create(tmp_path / "none")
    with pytest.raises(ValueError, match="the collection has no columns as id, and with name=None a page has 1"):
        exported(tmp_path / "b", none, PAGES)
    with pytest.raises(TypeError, match="name is a str that is not empty, got ''"):
        exported(tmp_path / "c", collection, PAGES, "")
    (tmp_path / "d-export").mkdir()
    (tmp_path / "d-export" / "mine").touch()
    with pytest.raises(FileExistsError, match="exists already"):
        exported(tmp_path / "d", collection, PAGES)
    assert [place.name for place in (tmp_path / "d-export").iterdir()] == ["mine"]
    hosts = Collection.create(tmp_path / "hosts", id="url", by="host")
    with pytest.raises(TypeError, match="a key is a URL, a str"):
        exported(tmp_path / "e", hosts, [(1, "x")])


@pytest.mark.parametrize(("other", "message"), [
    ({"shingling": nd.Shingling(width=3)}, r"a collection and an export of different recipes: .*width is 3 here and 2"),
    ({"seed": 2}, "seed is 2 here and 1 there"),
    ({"num_perm": 100}, "num_perm is .* here and .* there"),
    ({"filter": nd.FilterDesign.of(21, 4, 2, threshold=0.8, num_perm=84)}, "groups is 19 there and 21 here"),
    ({"text": "content"}, "text is 'text' there and 'content' here"),
    ({"id": "key"}, r"id is \['url'\] there and \['key'\] here"),
    ({"by": "host"}, "by is None there and 'host' here"),
    ({"must_agree": "numbers"}, "must_agree is .* there and .* here"),
    ({}, "it was made for another collection, which has another key of bitmaps"),
])
def test_an_export_for_another_collection_is_refused(tmp_path, collection, other, message):
    export = exported(tmp_path / "store", collection, PAGES)
    another = Collection.create(tmp_path / "another", **{"id": "url", "shingling": WORDS, **other})
    with pytest.raises(ValueError, match=message):
        read(another, export)


def test_an_export_that_is_damaged_is_refused(tmp_path, collection):
    export = exported(tmp_path / "store", collection, PAGES)
    described = export / "export.json"
    whole = described.read_bytes()
    for length in range(0, len(whole), 7):
        described.write_bytes(whole[:length])
        with pytest.raises(CorruptFile, match="export the store again"):
            read(collection, export)
    described.write_bytes(whole.replace(b'"rows": 3', b'"rows": 2'))
    with pytest.raises(CorruptFile, match="its digest differs"):
        read(collection, export)
    files, settings = (json.loads(whole)[name] for name in ("files", "settings"))
    for changes in ({"files": [{**files[0], "rows": 1 << 40}]}, {"files": [{**files[0], "digest": 1}]}, {"files": 7},
                    {"files": [{**files[0], "more": 1}]}, {"key": {"url": "array"}}, {"key": {}}, {"key": {"x": "string"}},
                    {"settings": {}}, {"settings": 1}, {"settings": {**settings, "sketches": 1}}):
        described.write_bytes(whole)
        rewritten(export, digests=False, **changes)
        with pytest.raises(CorruptFile):
            read(collection, export)
    described.write_bytes(whole)
    read(collection, export)
    for name in ("texts", "features"):
        place = export / f"{name}-00000.parquet"
        data = place.read_bytes()
        place.write_bytes(data[:-1])
        with pytest.raises(CorruptFile, match=f"has {len(data) - 1} bytes, and had {len(data)} when it was exported"):
            read(collection, export)
        place.unlink()
        with pytest.raises(CorruptFile, match="is missing; export the store again"):
            read(collection, export)
        place.write_bytes(data)
    described.unlink()
    with pytest.raises(FileNotFoundError, match="holds no export of a store"):
        read(collection, export)
