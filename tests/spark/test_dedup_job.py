"""The job: what it writes is the local result, and its failures are clear."""

from __future__ import annotations

import json
import random

import pytest
from sparks import settings

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.spark.dedup_job import reason, run
from ndcore.spark.options import parse
from ndcore.spark.result import NearDuplicateFrames


def records(n):
    rng = random.Random(5)
    base = [" ".join(rng.choice("abcdefghijklmnop") * 3 for _ in range(30)) for _ in range(n // 3)]
    return [{"text": rng.choice(base) + rng.choice(["", " end", "!"]), "host": rng.choice("xy"),
             "n": rng.choice([1, 2.5, None])} for _ in range(n)]


def job(spark, *words):
    options = parse(["dedup", *map(str, words)])
    assert options is not None
    return run(spark, options)


@pytest.mark.slow
def test_lines_of_json(spark, tmp_path):
    rows = records(40)
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    out = tmp_path / "out"
    with settings(spark, {"spark.sql.files.maxPartitionBytes": "1000"}):  # in several ranges
        summary = job(spark, "--input", tmp_path / "in.jsonl", "--output", out, "--by", "host", "--keep", "n:desc",
                      "--width", 3)
    priorities = [0 if row["n"] is None else -row["n"] for row in rows]
    expected = nd.near_duplicates([row["text"] for row in rows], by=[row["host"] for row in rows], keep=priorities,
                                  shingling=nd.Shingling(width=3))
    kept = [line for part in (out / "kept").glob("*.txt") for line in part.read_text().splitlines()]
    assert sorted(kept) == sorted(lines[i] for i in expected.kept) and len(kept) < len(lines)
    verdicts = spark.read.parquet(str(out / "verdicts")).sort("record").collect()
    assert [row.representative.record - 1 for row in verdicts] == expected.labels.tolist()
    assert summary["read"] == 40 and summary["kept"] == len(kept)
    assert sorted(path.name for path in out.iterdir()) == ["kept", "summary", "verdicts"]
    [written] = (out / "summary").glob("*.txt")
    assert json.loads(written.read_text()) == summary


@pytest.mark.slow
def test_options_of_the_verdict(spark, tmp_path):
    """Excerpts, versions, common shingles and losses; without any option but --reassign the verdicts are other ones."""
    rows = [{"text": f"menu of all {row['text'] if i % 3 else ' '.join(row['text'].split()[: 5 + i % 20])} {i % 2}",
             "site": i % 51} for i, row in enumerate(records(60))]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    summary = job(spark, "--input", tmp_path / "in.jsonl", "--output", tmp_path / "out", "--one-per", "site", "--must-agree",
                  "numbers", "--reassign", "--width", 2, "--threshold", 0.5, "--drop-common", 0.3, "--drop", "contained",
                  "--keep", "longest", "--lost")
    expected = nd.near_duplicates([row["text"] for row in rows], one_per=[row["site"] for row in rows], must_agree="numbers",
                                  reassign=True, shingling=nd.Shingling(width=2), threshold=0.5, drop_common=0.3,
                                  drop="contained", keep="longest", lost=True)
    verdicts = spark.read.parquet(str(tmp_path / "out" / "verdicts")).sort("record").collect()
    assert [row.representative.record - 1 for row in verdicts] == expected.labels.tolist()
    assert [row["class"] for row in verdicts] == expected.classes.tolist()
    assert [row.lost for row in verdicts] == expected.lost.tolist()
    for name in ("version", "contained"):
        assert summary[name] == (expected.classes == name).sum() > 0
    assert summary["common_shingles"] == expected.common_shingles > 0
    assert summary["lost"] == {"shingles": expected.lost.sum(), "documents": (expected.lost > 0).sum()}


@pytest.mark.slow
def test_pages_that_no_parser_reads(spark, tmp_path):
    pytest.importorskip("resiliparse", reason="the extra web is not installed")
    pages = ["<p>one two", "<div>" * 16_000 + "three"]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": page}) for page in pages))
    summary = job(spark, "--input", tmp_path / "a.jsonl", "--output", tmp_path / "out", "--html", "page", "--width", 1)
    assert summary["pages_by_tags"] == 1
    assert [row.record for row in spark.read.json(str(tmp_path / "out" / "pages_by_tags")).collect()] == [2]


@pytest.mark.slow
def test_parquet_against_parquet(spark, tmp_path):
    rows = records(30)
    for name, part in (("old", rows[:10]), ("new", rows[10:])):
        values = [(i, row["text"], row["host"]) for i, row in enumerate(part)]
        df = spark.createDataFrame(values, "url int, body string, host string")
        df.write.partitionBy("host").parquet(str(tmp_path / name))
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "mine").write_text("of the user")
    job(spark, "--input", tmp_path / "new", "--against", tmp_path / "old", "--output", out, "--text-field", "body",
        "--id-field", "url", "--directory", scratch)
    assert [path.name for path in scratch.iterdir()] == ["mine"]  # the folder of the job is gone, and nothing else
    expected = nd.near_duplicates([row["text"] for row in rows[10:]], against=[row["text"] for row in rows[:10]])
    kept = spark.read.parquet(str(out / "kept"))
    assert kept.columns == ["url", "body", "host"]
    assert {path.name for path in (out / "kept").iterdir() if path.is_dir()} == {"host=x", "host=y"}
    assert sorted(row.url for row in kept.collect()) == expected.kept.tolist()


@pytest.mark.parametrize(("words", "message"), [
    (["--text-field", "body"], "text='body': there is no such column; the columns are url, text, when"),
    (["--text-field", "when"], "text='when' is a column of type date; texts are string or binary"),
    (["--id-field", "id"], "id='id': there is no such column"),
    (["--by", "host"], "--by='host': there is no such column"),
    (["--keep", "n:desc"], "--keep n='n': there is no such column"),
    (["--id-field", "url"], "2 documents have the key {'url': 1}; keys are unique"),
])
def test_clear_failures(spark, tmp_path, words, message):
    spark.createDataFrame([(1, "a"), (1, "b")], "url int, text string").selectExpr("*", "current_date() as when").coalesce(1
        ).write.parquet(str(tmp_path / "in"))
    with pytest.raises(Exception) as caught:
        job(spark, "--input", tmp_path / "in", "--output", tmp_path / "out", *words)
    assert message in reason(caught.value)
    assert not (tmp_path / "out").exists()  # so the next run is not refused


@pytest.mark.parametrize(("scheme", "option"), [
    ("s3a", "--input"), ("s3a", "--output"), ("s3a", "--directory"), ("s3a", "--against"), ("nowhere", "--input"),
])
def test_a_file_system_without_its_jar(spark, tmp_path, option, scheme):
    spark.createDataFrame([("a",)], "text string").coalesce(1).write.parquet(str(tmp_path / "in"))
    words = {"--input": tmp_path / "in", "--output": tmp_path / "out", "--format": "parquet",
             option: f"{scheme}://bucket/pages.parquet"}
    with pytest.raises(Exception) as caught:
        job(spark, *(word for pair in words.items() for word in pair))
    told = reason(caught.value)
    assert "Spark has no jar for this file system" in told and "org.apache.hadoop:hadoop-aws" in told
    assert "\n" not in told and "java." not in told and ("S3AFileSystem" if scheme == "s3a" else "nowhere") in told
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_strings_that_keep_compares_are_told(spark, tmp_path, capsys, form):
    rows = [("1", "a b c d e f", "9"), ("2", "a b c d e f", "10"), ("3", "g h i j k l", " "), ("4", "g h i j k l", "x")]
    place = tmp_path / f"in.{form}"
    if form == "parquet":
        spark.createDataFrame(rows, "id string, text string, n string").coalesce(1).write.parquet(str(place))
    else:
        place.write_text("".join(json.dumps(dict(zip(("id", "text", "n"), row, strict=True))) + "\n" for row in rows))
    job(spark, "--input", place, "--output", tmp_path / "out", "--id-field", "id", "--keep", "n:asc")
    said = """compares the field 'n' as strings, letter by letter: its values, for example "x" and "10", are"""
    assert said in capsys.readouterr().err
    kept = spark.read.parquet(str(tmp_path / "out" / "verdicts")).where("class = 'kept'")
    assert sorted(row.key.id if "key" in row else row.id for row in kept.collect()) == ["2", "4"]


def test_a_failure_leaves_no_output(spark, tmp_path, monkeypatch):
    def fail(_):
        assert (tmp_path / "out" / "kept" / "_SUCCESS").exists()
        raise RuntimeError("on the way")

    monkeypatch.setattr(NearDuplicateFrames, "counts", fail)
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    with pytest.raises(RuntimeError, match="on the way"):
        job(spark, "--input", tmp_path / "in.jsonl", "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_reasons_of_failures(spark, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n{"words": "a"}')
    with pytest.raises(Exception) as caught:
        job(spark, "--input", tmp_path / "in.jsonl", "--output", tmp_path / "out")
    assert reason(caught.value).startswith(f"{tmp_path}/in.jsonl:2: no text field 'text'")
    with pytest.raises(ValueError, match="exists; name another directory for --output"):
        job(spark, "--input", tmp_path / "in.jsonl", "--output", tmp_path)


def test_batches_are_bounded_by_bytes(spark):
    """A batch of large texts is bounded by bytes, where this Spark can do it."""
    name = "spark.sql.execution.arrow.maxBytesPerBatch"
    try:
        given = spark.conf.get(name)
    except Exception:
        pytest.skip(f"this PySpark has no {name}")
    assert given in ("64MB", f"{64 << 20}b", str(64 << 20))

    df = spark.range(0, 64, 1, 1).selectExpr("repeat('x', 10000) as text")

    def count(batches):
        import pyarrow as pa

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"bytes": pa.array([batch.nbytes], pa.int64())})

    with settings(spark, {name: "100000"}):
        found = [row.bytes for row in df.mapInArrow(count, "bytes bigint").collect()]
    assert len(found) >= 6 and max(found) <= 120_000 and sum(found) >= 640_000
