"""A collection that grows: verdicts after many adds are those of one run over everything, to the last id."""

from __future__ import annotations

import json
import os
import random

import numpy as np
import pytest
from generated import corpus
from sparks import as_binary, frame

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.spark import Collection, Conflict
from ndcore.spark.collection import Versions

WORDS = nd.Shingling(width=2)


def crawls(seed: int, count: int, size: int) -> list[list[tuple[str, bytes]]]:
    """Make crawls of edits and copies, of older crawls too; each is sorted by key, and keys do not follow the crawls."""
    rng = random.Random(seed)
    head = " ".join(f"head{i}" for i in range(40))
    texts = [*as_binary(corpus(rng, count * size - 6)), b"", b"one", b"ONE!", b"", b"a b c d e f g h", b"A b c d e f g h."]
    texts = [head.encode() + b" " + text if i % 3 == 0 else text for i, text in enumerate(texts)]
    rng.shuffle(texts)
    keys = rng.sample(range(10_000), len(texts))
    rows = [(f"k{key:05}", text) for key, text in zip(keys, texts, strict=True)]
    return [sorted(rows[i : i + size]) for i in range(0, len(rows), size)]


def as_files(spark, place, rows, partitions=2, seed=1, schema="id string, text binary"):
    """Write rows as Parquet, in another order, and read them from there."""
    frame(spark, rows, schema, partitions, seed).write.parquet(str(place))
    return spark.read.parquet(str(place))


def check(collection, rows, before=None, change=None, **options):
    """Assert that all verdicts are those of one local run over the rows (id, text), in order, where equal ids are versions.

    before: what was returned for the rows before the change, whose changed verdicts are compared, too.
    """
    ids = [row[0] for row in rows]
    expected = nd.near_duplicates([row[1] for row in rows], filter=collection.filter, one_per=ids, **options)
    sizes = np.bincount(expected.labels, minlength=len(ids))[expected.labels]
    wanted = sorted(zip(ids, [ids[label] for label in expected.labels.tolist()], expected.classes.tolist(),
                        map(str, expected.resemblance.tolist()), sizes.tolist(), strict=True))
    verdicts = collection.result().verdicts.toArrow().to_pylist()
    got = sorted((row["id"], row["representative"]["id"], row["class"], str(row["resemblance"]), row["cluster_size"])
                 for row in verdicts)
    assert got == wanted
    now = {(row["id"], row["added"]): (row["representative"], row["class"], str(row["resemblance"])) for row in verdicts}
    if change is not None:
        changed = change.changed.toArrow().to_pylist()
        assert {(row["id"], row["added"]): (row["representative"], row["class"], str(row["resemblance"]))
                for row in changed} == {key: now[key] for key in now if key in before and now[key] != before[key]}
        assert all((row["before"]["representative"], row["before"]["class"], str(row["before"]["resemblance"]))
                   == before[row["id"], row["added"]] for row in changed)
    return now


@pytest.mark.slow
def test_ten_crawls_equal_one_run(spark, tmp_path):
    """In permuted partitions, with features that many documents have, so that blocks are used."""
    given = crawls(1, 10, 12)
    options = {"threshold": 0.6, "shingling": WORDS, "max_holders": 6}
    collection = Collection.create(tmp_path / "all", id="id", **options)
    for number, rows in enumerate(given):
        df = as_files(spark, tmp_path / f"crawl {number}", rows, partitions=1 + number % 3, seed=number)
        done = collection.add(df, batch=number)
        assert (done.version, done.documents, done.repeated) == (number + 1, len(rows), False)
        assert sorted(row.id for row in done.verdicts.collect()) == [row[0] for row in rows]
        assert done.changed.count() == 0
    found = check(Collection.open(tmp_path / "all"), [row for rows in given for row in rows], **options)
    assert {"identical", "lexical", "near"} <= {verdict[1] for verdict in found.values()}
    del done
    assert not list((tmp_path / "all" / "steps").iterdir())
    assert np.array_equal(collection.batches, range(10))



@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["star", "greedy"])
def test_documents_that_go_away(spark, tmp_path, cluster):
    """Removed, replaced, versions of others, expired: verdicts and their changes are those of one run over what is left."""
    options = {"threshold": 0.5, "shingling": WORDS, "cluster": cluster, "max_holders": 40}
    given, rng = crawls(2, 3, 40), random.Random(3)
    collection = Collection.create(tmp_path / "all", id="id", copy=True, **options)
    schema = "id string, text binary"
    for number, rows in enumerate(given):
        collection.add(frame(spark, rows, schema, 2, number), batch=number)
    rows = [row for crawl in given for row in crawl]
    now = check(collection, rows, **options)
    kept = [key for (key, _), verdict in now.items() if verdict[1] == "kept"]
    sizes = {key: sum(verdict[0]["id"] == key for verdict in now.values()) for key in kept}
    gone = {*sorted(kept, key=lambda key: -sizes[key])[:3], *rng.sample([row[0] for row in rows], 10)}
    change = collection.remove(frame(spark, [(key,) for key in gone], "id string", 1), batch="gone")
    rows = [row for row in rows if row[0] not in gone]
    assert change.documents == len(gone) and change.verdicts.count() == 0 and change.changed.count() > 3
    now = check(collection, rows, now, change, **options)

    others = [text for _, text in rng.sample(rows, 8)]
    again = sorted(zip([*rng.sample([row[0] for row in rows], 6), "new 1", "new 2"], others, strict=True))
    change = collection.add(frame(spark, again, schema, 2, 1), repeated="replace")
    replaced = {row[0] for row in again}
    rows = [row for row in rows if row[0] not in replaced] + again
    now = check(collection, rows, now, change, **options)

    for number in range(2):
        firsts = list(dict.fromkeys(row[0] for row in rows))
        versions = sorted(zip([*rng.sample(firsts, 8), f"more {number}"], [text for _, text in rng.sample(rows, 9)],
                              strict=True))
        change = collection.add(frame(spark, versions, schema, 2, 1), repeated="version")
        rows += versions
        now = check(collection, rows, now, change, **options)
    assert "version" in {verdict[1] for verdict in now.values()}

    left = len(rows) - len([row for row in given[0] if row in rows and row[0] not in replaced])
    change = collection.expire(0, spark)
    rows = rows[len(rows) - left :]
    assert change.documents == len(now) - left
    now = check(collection, rows, now, change, **options)
    assert collection.expire(0, spark).repeated


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
    assert len(list((tmp_path / "all" / "tables").iterdir())) == 6
    check(collection, [*FIRST, *SECOND, ("e", b"uno dos tres")], **options)


@pytest.mark.slow
def test_old_texts_are_read_of_candidates_only(spark, tmp_path):
    """A file without candidates may be gone; a candidate's text that is missing or another one is an error with its key."""
    collection = Collection.create(tmp_path / "all", id="id", threshold=0.4, shingling=WORDS)
    for name, row in zip("ab", FIRST, strict=True):
        collection.add(as_files(spark, tmp_path / name, [row], 1))
    (tmp_path / "b").rename(tmp_path / "elsewhere")
    collection.add(as_files(spark, tmp_path / "c", SECOND, 2))
    assert collection.result(spark).counts() == {"kept": 3, "near": 1}
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
    assert collection.version == 4


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
