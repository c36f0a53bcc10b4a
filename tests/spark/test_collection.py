"""A collection that grows: verdicts after many adds are those of one run over everything, to the last id."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from growing import as_files, check, crawls
from sparks import frame

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.spark import Collection, Conflict
from ndcore.spark.documents import rank_rows
from ndcore.spark.manifest import Commit, Segment, Versions
from ndcore.spark.settling import Settling
from ndcore.spark.work import DESCRIPTION
from ndcore.storage.container import CorruptFile
from ndcore.store.carrying import CarriedCounts

WORDS = nd.Shingling(width=2)



@pytest.mark.slow
def test_three_crawls_equal_one_run(spark, tmp_path):
    """In permuted partitions; two of the adds meet features that more documents have than are expanded."""
    given = crawls(1, 3, 26)
    options = {"threshold": 0.6, "shingling": WORDS, "max_holders": 4}
    collection = Collection.create(tmp_path / "all", id="id", **options)
    for number, rows in enumerate(given):
        df = as_files(spark, tmp_path / f"crawl {number}", rows, partitions=1 + number % 3, seed=number)
        done = collection.add(df, batch=number)
        assert (done.version, done.documents, done.repeated) == (number + 1, len(rows), False)
        assert sorted(row.id for row in done.verdicts.collect()) == [row[0] for row in rows]
        assert done.changed.count() == 0 and spark.conf.get(DESCRIPTION, None) is None
    found = check(Collection.open(tmp_path / "all"), [row for rows in given for row in rows], **options)
    assert {"identical", "lexical", "near"} <= {verdict[1] for verdict in found.values()}
    del done
    assert not list((tmp_path / "all" / "steps").iterdir())
    assert np.array_equal(collection.batches, range(3))



FIRST = [("a", b"one two three four five six seven"), ("b", b"eins zwei drei vier")]
SECOND = [("c", b"one two three four five six eight"), ("d", b"un deux trois quatre")]


@pytest.mark.slow
def test_what_an_add_does_once(spark, tmp_path, monkeypatch):
    """A batch is added once, a repeated key never, and of two adds at a time one. Texts are copied: any rows will do."""
    options = {"threshold": 0.4, "shingling": WORDS}
    collection = Collection.create(tmp_path / "all", id="id", copy=True, **options)
    df = frame(spark, FIRST, "id string, text binary", 1)
    with pytest.raises(ValueError, match="has no documents: add a batch first"):
        collection.result(spark)
    collection.add(df, batch="crawl 1")
    tables = sorted((tmp_path / "all" / "tables").iterdir())
    again = collection.add(df, batch="crawl 1")
    assert (again.version, again.documents, again.repeated) == (1, 2, True) and again.counts() == {"kept": 2}
    with pytest.raises(ValueError, match=r"the key {'id': '[ab]'} is in the collection already; keys are unique"):
        collection.add(df, batch="crawl 2")
    other = frame(spark, [(1, b"x")], "id bigint, text binary", 1)
    with pytest.raises(ValueError, match="the keys are struct<id:bigint>, and the collection has keys struct<id:string>"):
        collection.add(other)
    assert sorted((tmp_path / "all" / "tables").iterdir()) == tables and collection.version == 1
    two, commit = frame(spark, SECOND, "id string, text binary", 2), Versions.commit

    def after_another(*given, **fields):
        """Commit after another process that added the same rows as another batch, or as the same one."""
        monkeypatch.setattr(Versions, "commit", commit)
        Collection.open(tmp_path / "all").add(two, batch=winner)
        return commit(*given, **fields)

    winner = "another"
    monkeypatch.setattr(Versions, "commit", after_another)
    with pytest.raises(Conflict, match="another process made version 2 meanwhile; nothing of this change"):
        collection.add(two, batch="crawl 2")
    assert collection.batches == ["crawl 1", "another"]
    winner, two = "crawl 3", frame(spark, [("e", b"uno dos tres")], "id string, text binary", 2)
    monkeypatch.setattr(Versions, "commit", after_another)
    done = collection.add(two, batch="crawl 3")
    assert done.repeated and collection.batches == ["crawl 1", "another", "crawl 3"]
    assert [row.id for row in done.verdicts.collect()] == ["e"]
    assert len(list((tmp_path / "all" / "tables").iterdir())) == 9
    check(collection, [*FIRST, *SECOND, ("e", b"uno dos tres")], **options)


@pytest.mark.parametrize(("known", "more", "message"), [
    ("key.id <> 'a'", 0, 'the document {"id":"a"} was not there when keys were read: write the rows as Parquet'),
    ("true", 1, "3 documents were there when their keys were read, and 2 when their texts were read: write the rows"),
])
def test_rows_that_come_or_go_between_two_readings(spark, tmp_path, monkeypatch, known, more, message):
    """Keys are read before texts: a row that only one reading has is an error, and nothing is added."""
    def of_another_reading(work, rows, order):
        order, total, first_new = rank_rows(work, rows, order)
        return order.where(known), total + more, first_new

    monkeypatch.setattr("ndcore.spark.collection.rank_rows", of_another_reading)
    collection = Collection.create(tmp_path / "all", id="id", threshold=0.4, shingling=WORDS, copy=True)
    with pytest.raises(Exception, match=re.escape(message)):
        collection.add(frame(spark, FIRST, "id string, text binary", 1))
    assert collection.version == 0 and not list((tmp_path / "all" / "tables").iterdir())


@pytest.mark.slow
def test_old_texts_are_read_of_candidates_only(spark, tmp_path, monkeypatch):
    """A file without candidates may be gone; a candidate's text that is missing or another one is an error with its key.

    Of the new documents only those that share a value with another one are compared.
    """
    settle, compared = Settling.settle, []

    def record(settling, old, new, *others):
        compared.append(sorted(row.key for row in new.select("key").collect()))
        return settle(settling, old, new, *others)

    monkeypatch.setattr(Settling, "settle", record)
    collection = Collection.create(tmp_path / "all", id="id", threshold=0.4, shingling=WORDS)
    for name, row in zip("ab", FIRST, strict=True):
        as_files(spark, tmp_path / name, [row], 1)
    collection.add(spark.read.parquet(str(tmp_path / "a"), str(tmp_path / "b")))
    (tmp_path / "b").rename(tmp_path / "elsewhere")
    collection.add(as_files(spark, tmp_path / "c", SECOND, 2))
    assert collection.result(spark).counts() == {"kept": 3, "near": 1}
    assert compared == [[], ['{"id":"c"}']]
    later = as_files(spark, tmp_path / "d", [("x", b"eins zwei drei vier")], 1)
    assert collection.add(later).counts() == {"identical": 1}  # told by its digest: no text is read
    near = as_files(spark, tmp_path / "e", [("y", b"eins zwei drei vier acht")], 1)
    with pytest.raises(Exception, match=r'the text of the document {"id":"b"} cannot be read from file:.*No such file'):
        collection.add(near)
    as_files(spark, tmp_path / "b", [("b", b"other words")], 1)
    (file,) = (tmp_path / "b").glob("*.parquet")
    (lost,) = (tmp_path / "elsewhere").glob("*.parquet")
    file.rename(tmp_path / "b" / lost.name)
    with pytest.raises(Exception, match=r'the text of the document {"id":"b"} is another one than when the document was'):
        collection.add(near)
    assert collection.version == 3


@pytest.mark.parametrize(("options", "message"), [
    ({"keep": "longest"}, "keep='longest' is an option of ndcore.spark.near_duplicates, and not available in a collection "
                          "that grows: documents are decided on in the order in which they are added"),
    ({"filter": "complete"}, "filter='complete' is an option .*: it needs the rare shingles of all documents"),
    ({"cluster": "components"}, "cluster='components' is an option .*: a document that comes later joins clusters"),
    ({"speed": 1}, r"create\(\) got an unexpected keyword argument 'speed'"),
    ({"must_agree": [len]}, "must_agree holds a callable"),
    ({"copy": 1}, "copy is True or False, got 1"),
    ({"by": 1}, "by is the name of a column, got 1"),
])
def test_options_that_are_refused(tmp_path, options, message):
    with pytest.raises(TypeError, match=message):
        Collection.create(tmp_path / "all", **options)
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize(("path", "message"), [
    ("s3a://bucket/all", "is a URI; a collection lies in a directory of a mounted file system"),
    ("all*", "which Spark would not take as it is"),
])
def test_places_that_are_refused(path, message):
    for call in (Collection.create, Collection.open):
        with pytest.raises(ValueError, match=message):
            call(path)


def test_batches_that_are_refused(spark, tmp_path):
    collection = Collection.create(tmp_path / "all", id="id")
    df = spark.createDataFrame([("a", "b")], "id string, text string")
    for batch in ("", 1.5, True):
        with pytest.raises(TypeError, match="batch is a str that is not empty, or an int"):
            collection.add(df, batch=batch)
    with pytest.raises(ValueError, match="write them as Parquet and read them from there, or create the collection with"):
        collection.add(df)


@pytest.mark.slow
def test_a_stream_that_goes_on_from_its_checkpoint(spark, tmp_path):
    """A batch that failed after it was added is tried again, and is there once."""
    given = [*([row] for row in FIRST), SECOND]
    collection = Collection.create(tmp_path / "all", id="id", threshold=0.4, shingling=WORDS, copy=True)
    (tmp_path / "in").mkdir()
    for number, rows in enumerate(given):
        lines = [json.dumps({"id": key, "text": text.decode()}) for key, text in rows]
        (tmp_path / "in" / f"{number}.json").write_text("\n".join(lines), encoding="utf-8")
        os.utime(tmp_path / "in" / f"{number}.json", (1_000 + number, 1_000 + number))
    added: list[tuple[int, bool]] = []

    def add(rows, number):
        change = collection.add(rows, batch=f"stream {number}")
        added.append((number, change.repeated))
        if added == [(0, False), (1, False)]:
            raise RuntimeError("the driver died")

    def run():
        stream = spark.readStream.schema("id string, text string").option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
        writer = stream.writeStream.foreachBatch(add).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()

    with pytest.raises(Exception, match="the driver died"):
        run()
    run()
    assert added == [(0, False), (1, False), (1, True), (2, False)]
    assert collection.batches == ["stream 0", "stream 1", "stream 2"]
    check(collection, [*FIRST, *SECOND], threshold=0.4, shingling=WORDS)


@pytest.mark.parametrize("made", [True, False])
def test_an_interrupt_leaves_the_tables_of_versions_and_no_others(tmp_path, made):
    """Also where it comes between the new version and the end of the call."""
    collection = Collection.create(tmp_path / "all", id="id")
    versions = Versions(tmp_path / "all")

    def interrupt(token):
        versions.table(f"{token}-documents").mkdir()
        if made:
            versions.commit(versions.latest(), Commit("add", 1, 0, None), segments=(Segment(f"{token}-documents", 0, 0, 1),))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collection._commit(None, 1, interrupt)
    assert collection.version == len(list((tmp_path / "all" / "tables").iterdir())) == int(made)


@pytest.mark.parametrize(("changes", "message"), [
    ({"threshold": 7}, "threshold"), ({"cluster": "chains"}, "cluster"), ({"must_agree": ["os.system"]}, "must_agree"),
    ({"bitmap_key": "00"}, "the key of bitmaps has another length"), ({"bitmap_key": "xx"}, "hexadecimal"),
    ({"text": 5}, "are not names of columns"), ({"id": [["a"]]}, "are not names of columns"), ({"id": 7}, "an iterable"),
    ({"filter": {"groups": 2}}, "group_size"), ({"sketches": "{}"}, "num_perm"), ({"sketches": 3}, "not the JSON"),
])
def test_forged_settings_are_refused(tmp_path, changes, message):
    made = Collection.create(tmp_path / "all", id="id")
    Versions(tmp_path / "forged").begin({**made.settings, **changes})
    with pytest.raises(CorruptFile, match=f"the settings in its manifest cannot be read: .*{message}"):
        Collection.open(tmp_path / "forged")


def test_a_unit_that_is_a_function_is_given_again(tmp_path):
    """It is not imported by the name that is stored."""
    Collection.create(tmp_path / "all", id="id", shingling=nd.Shingling(str.split))
    with pytest.raises(ValueError, match="pass shingling=Shingling"):
        Collection.open(tmp_path / "all")
    shingling = nd.Shingling(str.split)
    assert Collection.open(tmp_path / "all", shingling=shingling).recipe == Collection.open(
        tmp_path / "all", shingling=shingling).recipe
    with pytest.raises(nd.RecipeMismatch):
        Collection.open(tmp_path / "all", shingling=nd.Shingling(width=2))


@pytest.mark.slow
def test_a_collection_of_the_first_format(spark, tmp_path):
    """It is read, with what was removed from it, and grows; the fixture was made by three calls."""
    shutil.copytree(Path(__file__).parents[1] / "fixtures" / "spark-collection-1", tmp_path / "all")
    collection = Collection.open(tmp_path / "all")
    assert collection.batches == [1, "two"] and collection.version == 3
    texts = {"b": "eins zwei drei vier", "c": "", "d": "one two three four five six eight", "e": "Eins zwei drei vier!",
             "f": "un deux trois quatre"}
    check(collection, list(texts.items()), threshold=0.5, shingling=WORDS)
    new = ("a", "one two three four five six eight nine")
    change = collection.add(spark.createDataFrame([new], "id string, text string"), batch=3)
    (row,) = change.verdicts.collect()
    assert (row["added"], row["representative"]["id"], row["class"]) == (4, "d", "near")


@pytest.mark.slow
def test_exports_of_stores_are_a_batch_whose_verdicts_go_back(spark, tmp_path):
    """Stores of other settings, with mirrors of each other's pages; what a second run says replaces the first."""
    pages = {"east": [("http://a.example/1", FIRST[0][1].decode()), ("http://a.example/2", "other words of this page"),
                      ("http://a.example/3", "a page that will change before its verdict")],
             "west": [("http://b.example/1", SECOND[0][1].decode()), ("http://b.example/2", "OTHER words, of this page!")]}
    stores = {name: nd.Store.open(tmp_path / f"{name}.store", scope="host", threshold=0.9) for name in pages}
    collection = Collection.create(tmp_path / "all", id=["store", "key"], shingling=WORDS, threshold=0.4)

    def run(batch):
        """Export, add and write the verdicts of all, by stores."""
        places = [str(tmp_path / batch / name) for name in stores]
        (tmp_path / batch).mkdir()
        for name, store in stores.items():
            store.export(tmp_path / batch / name, name=name)
        exported = spark.read.parquet(*places)
        change = collection.add(exported, batch=batch, repeated="replace")
        result = collection.result(spark)  # which has the files that the verdicts are read from
        verdicts = result.annotate(exported.select("store", "key", "digest"))
        verdicts.write.partitionBy("store").parquet(str(tmp_path / f"verdicts of {batch}"))
        return change.counts()

    def said(name):
        return [(said.verdict, said.place, said.run) if (said := stores[name].overall(key)) else None
                for key, *_ in pages[name]]

    for name, store in stores.items():
        list(store.decide_many(pages[name]))
    assert run("first") == {"kept": 3, "lexical": 1, "near": 1}
    own = stores["west"].history("http://b.example/2"), stores["west"].cluster("http://b.example/2")
    stores["east"].decide("http://a.example/3", "which is now a page of words that no run has seen")
    table = tmp_path / "verdicts of first"
    assert stores["east"].carry(table / "store=east", "first", name="east", date=1) == CarriedCounts(carried=2, changed=1)
    assert stores["west"].carry(table, "first", name="west", date=1) == CarriedCounts(carried=2, elsewhere=3)
    assert said("east") == [("kept", None, "first"), ("kept", None, "first"), None]
    assert said("west") == [("near", "east: http://a.example/1", "first"), ("lexical", "east: http://a.example/2", "first")]
    assert 0.4 <= stores["west"].overall("http://b.example/1").resemblance < 1
    assert (stores["west"].history("http://b.example/2"), stores["west"].cluster("http://b.example/2")) == own
    stores["east"].decide("http://a.example/2", "and this one changed, so its mirror stands for itself")
    assert run("second") == {"kept": 4, "near": 1}
    for name, store in stores.items():
        assert store.carry(tmp_path / "verdicts of second" / f"store={name}", "second", name=name, date=2).changed == 0
    assert said("west") == [("near", "east: http://a.example/1", "second"), ("kept", None, "second")]
    assert said("east") == [("kept", None, "second")] * 3
    for store in stores.values():
        assert store.check() == []
        store.close()

