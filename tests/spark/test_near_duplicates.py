"""Near-duplicates on Spark equal the local ones, to the last id, class and resemblance."""

from __future__ import annotations

import datetime
import os
import random
import signal
import sys

import numpy as np
import pytest
from generated import corpus
from sparks import as_binary, check_common, check_verdicts, frame, settings

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql import functions as F

from ndcore.spark import near_duplicates
from ndcore.spark.work import Work

WORDS = nd.Shingling(width=2)


def documents(seed: int, n: int) -> list[bytes]:
    """Edits and copies, empty and short documents, and a beginning that many share, for features that many have."""
    rng = random.Random(seed)
    head = " ".join(f"head{i}" for i in range(40))
    texts = as_binary(corpus(rng, n - 8))
    texts += [b"", b"", b"one", b"ONE!", b"a b", b"a b c d e f g h", b"A b c d e f g h.", b"\xff\xff"]
    return [head.encode() + b" " + text if i % 3 else text for i, text in enumerate(texts)]


@pytest.mark.slow
def test_files_and_rows_as_keys(spark, tmp_path):
    """The defaults, with a large clique, a feature that many documents have, and Parquet files without keys."""
    words = [f"word{i}" for i in range(30)]
    texts = [f"{' '.join(f'w{i // 3}x{j}' for j in range(12))} {'end' * (i % 3 == 2)}" for i in range(30)]
    texts += [" ".join(words)] * 2000
    texts += [" ".join([*words[:25], *(f"own{i}x{j}" for j in range(i % 4))]) for i in range(300)] + [""] * 50
    frame(spark, [(text,) for text in texts], "body string", 2, 1).write.parquet(str(tmp_path / "in"))
    df = spark.read.parquet(str(tmp_path / "in"))
    got = near_duplicates(df, "body", directory=str(tmp_path / "work"), max_holders=60)
    rows = got.verdicts.sort("file", "row").toArrow().to_pylist()
    keyed = df.selectExpr("_metadata.file_path as file", "_metadata.row_index as row", "body")
    ordered = keyed.sort("file", "row").collect()
    expected = nd.near_duplicates([row.body for row in ordered], max_holders=60, filter="lsh")
    assert 0 < max(run["representatives"] for run in expected.common) < 60
    place = {(row.file, row.row): i for i, row in enumerate(ordered)}
    assert [place[row["representative"]["file"], row["representative"]["row"]] for row in rows] == expected.labels.tolist()
    assert [row["class"] for row in rows] == expected.classes.tolist()
    assert sorted(row.body for row in got.kept(df).collect()) == sorted(ordered[i].body for i in expected.kept)
    assert got.directory == str(tmp_path / "work") and got.pairs.count() == len(expected.pairs.a[expected.verified])
    assert got.filter == expected.filter and got.recipe == expected.recipe


@pytest.mark.slow
def test_against_and_priorities(spark):
    """Seven partitions in another order, without adaptive execution."""
    texts, old = documents(1, 60), documents(2, 30)
    old[5:20] = texts[20:35]
    rng = random.Random(4)
    priorities = [rng.randrange(5) for _ in texts]
    ids, old_ids = ([f"{kind}{i:03}" for i in range(len(side))] for kind, side in (("new", texts), ("old", old)))
    df = frame(spark, list(zip(ids, texts, priorities, strict=True)), "id string, text binary, rank int", 7, 1)
    against = frame(spark, list(zip(old_ids, old, strict=True)), "id string, text binary", 2, 2)
    options = {"threshold": 0.6, "max_holders": 10, "shingling": WORDS}
    with settings(spark, {"spark.sql.adaptive.enabled": "false"}):
        got = near_duplicates(df, id="id", against=against, keep=F.col("rank"), **options)
    expected = nd.near_duplicates(texts, against=old, keep=priorities, **options)
    assert any(label >= len(texts) for label in expected.labels)
    check_verdicts(got, expected, ids, old_ids)
    check_common(got, expected, ids, example=False)


@pytest.mark.slow
def test_labels_keep_documents_apart(spark):
    """Components beyond the bound of a task, and Arrow with offsets of 64 bits."""
    texts = documents(6, 120)
    by = [i % 3 for i in range(len(texts))]
    df = frame(spark, list(zip(range(len(texts)), texts, by, strict=True)), "id bigint, text binary, host int", 5, 8)
    options = {"threshold": 0.6, "shingling": WORDS, "keep": "longest", "cluster": "components"}
    expected = nd.near_duplicates(texts, by=by, **options)
    assert expected.mask.sum() > nd.near_duplicates(texts, **options).mask.sum()
    with settings(spark, {"spark.sql.execution.arrow.useLargeVarTypes": "true"}):
        got = near_duplicates(df, id="id", by="host", task_pairs=30, **options)
        check_verdicts(got, expected, range(len(texts)))


@pytest.mark.slow
def test_a_worker_that_dies_in_each_phase(spark, tmp_path, monkeypatch):
    """Five partitions, with runs that are not expanded; stars and components in rounds."""
    texts = documents(13, 80)
    options = {"threshold": 0.5, "shingling": WORDS, "max_holders": 3, "min_shingles": 4, "lost": True}
    applied = []

    def dying(rows, phase, schema, **given):
        mark = tmp_path / f"{len(applied)}-{phase.__name__}"
        applied.append(mark)

        def phase_of_the_dying(batches):
            made = phase(batches, **given)
            for number, batch in enumerate(made):
                yield batch
                if number == 0 and not mark.exists():
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)

        return rows.mapInArrow(phase_of_the_dying, schema)

    monkeypatch.setattr(Work, "apply", staticmethod(dying))
    df = frame(spark, list(enumerate(texts)), "id bigint, text binary", 5, 1)
    every = {"filter": "complete", "drop_common": np.float64(0.3), "cluster": "greedy"}
    for task_pairs, more in ((9, {"cluster": "components"}), (14, every)):
        expected = nd.near_duplicates(texts, **options, **more)
        got = near_duplicates(df, id="id", task_pairs=task_pairs, **options, **more)
        check_verdicts(got, expected, range(len(texts)))
        if more is every:
            assert got.common_shingles == expected.common_shingles > 0
        else:
            check_common(got, expected, range(len(texts)))
            assert expected.common
    assert {"identical", "lexical", "near"} <= set(got.counts()) and sum(got.counts().values()) == len(texts)
    killed = {mark.name.partition("-")[2] for mark in applied if mark.exists()}
    assert killed >= {"sketch_documents", "fill_filter_pair", "list_entries", "expand_runs", "list_features",
                      "select_holders", "fill_filter", "form_sets", "verify_blocks",
                      "compare_holders", "count_candidates", "fill_table", "join_tables",
                      "list_missing", "list_members", "contract_edges", "large_star", "small_star", "assign_stars",
                      "resolve_round"}


@pytest.mark.parametrize(("options", "message"), [
    ({"id": "name"}, "id='name': there is no such column; the columns are id, text, when"),
    ({"id": []}, "id names no columns"),
    ({}, "id is None, and the rows are not read from Parquet files"),
    ({"id": "id", "text": "body"}, "text='body': there is no such column"),
    ({"id": "id", "filter": "lsh", "drop": "contained"}, "drop='contained' needs filter='auto' or 'complete'"),
    ({"id": "id", "drop": "contained", "cluster": "greedy"}, "drop='contained' needs cluster='star'"),
    ({"id": "id", "threshold": 2}, "threshold"),
    ({"id": "id", "drop_common": 1}, "drop_common is a share of the documents, above 0 and below 1, as 0.05; got 1"),
    ({"id": "id", "keep": "last"}, "keep must be 'first', 'longest' or a Column of priorities, got 'last'"),
    ({"id": "id", "task_pairs": 0}, "task_pairs is 0; it must be at least 1"),
])
def test_what_is_refused(spark, options, message):
    df = spark.createDataFrame([(1, "a", datetime.date(2026, 1, 1))], "id bigint, text string, when date")
    with pytest.raises(ValueError) as caught:
        near_duplicates(df, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(("options", "message"), [
    ({"text": "when"}, "text='when' is a column of type date; texts are string or binary"),
    ({"max_lost": 3}, "max_lost=… is an option of ndcore.near_duplicates, and not available on Spark"),
    ({"lost": 1}, "lost is True or False, got 1"),
    ({"speed": 3}, "unexpected keyword argument 'speed'"),
    ({"by": "words"}, "by is of type array<string>"),
])
def test_types_that_are_refused(spark, options, message):
    df = spark.createDataFrame([(1, "a", datetime.date(2026, 1, 1), ["b"])],
                               "id bigint, text string, when date, words array<string>")
    with pytest.raises(TypeError) as caught:
        near_duplicates(df, id="id", **options)
    assert message in str(caught.value)


def test_both_sides_have_the_same_keys(spark):
    df = spark.createDataFrame([(1, "a")], "id bigint, text string")
    other = spark.createDataFrame([("1", "a")], "id string, text string")
    with pytest.raises(ValueError, match="against has keys struct<id:string>"):
        near_duplicates(df, id="id", against=other)
    with pytest.raises(ValueError, match="cannot be combined with against"):
        near_duplicates(df, id="id", against=df, by="text")


@pytest.mark.parametrize(("rows", "message"), [
    ([(1, "a"), (2, "b"), (1, "c")], "2 documents have the key {'id': 1}; keys are unique"),
    ([(1, "a"), (None, "b")], "1 document has the key {'id': None}; keys have no missing values"),
    ([(1, "a"), (2, None)], "a text is missing (null) in column 'text'"),
])
def test_rows_that_are_refused(spark, rows, message):
    df = spark.createDataFrame(rows, "id bigint, text string")
    with pytest.raises(Exception) as caught:
        near_duplicates(df, id="id")
    assert message in str(caught.value)


def test_no_documents(spark):
    df = spark.createDataFrame([], "id bigint, text string")
    got = near_duplicates(df, id="id")
    assert got.verdicts.count() == 0 and got.counts() == {}
    assert np.array_equal(nd.near_duplicates([]).labels, [])


@pytest.mark.parametrize("name", ["pyspark", "pandas", "pyarrow"])
def test_the_extra_is_named(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"ndcore.spark needs {name}: pip install "):
        near_duplicates(None)
