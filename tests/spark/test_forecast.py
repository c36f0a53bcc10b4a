"""What a job on Spark would take: near what it takes, and nothing is written."""

from __future__ import annotations

import gzip
import json
import re
from types import SimpleNamespace

import pytest
import webarchives
from record_batches import pa
from sparks import settings

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow.parquet as pq

from ndcore.files.discovery import find
from ndcore.files.errors import DocumentError
from ndcore.filters.search import design_filter
from ndcore.sketch.minhash import MinHasher
from ndcore.spark import forecast
from ndcore.spark.file_ranges import LONGEST, list_pieces
from ndcore.spark.inputs import name_fields
from ndcore.spark.options import parse
from ndcore.stats.ratio import Range

TEXTS = [f"{i} " + " ".join(f"w{(i * 7919 + k * 31) % 997}" for k in range(40)) for i in range(200)]


def lines(texts):
    return "".join(json.dumps({"text": text, "host": "x"}) + "\n" for text in texts).encode()


def tell(spark, *words):
    options = parse(["dedup", "--dry-run", *map(str, words)])
    assert options is not None and options.dry_run
    said = forecast.forecast(spark, options)
    assert said[0] == "A dry run: nothing was written"
    return said, dict(re.split(r"\s\s+", line.strip(), maxsplit=1) for line in said if re.match(r"  [\w ]+\s\s+\S", line))


def test_files_of_every_kind_are_counted(spark, tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "a.jsonl").write_bytes(lines(TEXTS))
    (inside / "b.jsonl.gz").write_bytes(gzip.compress(lines(TEXTS[:50])))
    (inside / "c.txt").write_text(TEXTS[0])
    (inside / "d.html").write_text(f"<p>{TEXTS[1]}")
    webarchives.save(inside / "e.warc", [webarchives.INFO, webarchives.response(1), webarchives.response(2)])
    (tmp_path / "old.csv").write_text("text\none two three\n")
    out = tmp_path / "out"
    said, rows = tell(spark, "--input", inside, "--against", tmp_path / "old.csv", "--output", out, "--drop-common", 0.1,
                      "--lost")
    stored = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert rows["input"] == f"{stored / 1000:.1f} KB in 6 files; all of it was read"
    assert rows["documents"] == "255, --against included"
    assert rows["tasks"] == "6 that read; then 2 a step (spark.sql.shuffle.partitions)"
    assert [line.partition(": ")[2].split(",")[0] for line in said if line.startswith("  note: ")] == [
        "not in these figures: --drop-common", "not in these figures: --lost"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "old.csv"]


def test_parquet_is_counted_by_its_metadata(spark, tmp_path, monkeypatch):
    inside = tmp_path / "in a folder"
    inside.mkdir()
    for i in range(4):
        pq.write_table(pa.table({"id": list(range(i * 50, i * 50 + 50)), "text": TEXTS[i * 50 : i * 50 + 50]}),
                       inside / f"{i} %.parquet")
    words = ["--input", inside, "--output", tmp_path / "out", "--id-field", "id"]
    _, rows = tell(spark, *words)
    text = sum(map(len, TEXTS))
    assert rows["documents"] == "200" and rows["text"] == f"{text / 1e3:.1f} KB, {text / 200:.0f} bytes a document"
    monkeypatch.setattr(forecast, "MAX_PIECES", 2)
    _, rows = tell(spark, *words)
    assert rows["documents"] == "180 to 220" and re.search(r"; (49|50)\.\d% of it was read", rows["input"])
    assert not (tmp_path / "out").exists()
    for more, error, message in [(["--text-field", "body"], ValueError, "text='body': there is no such column"),
                                 (["--by", "host"], ValueError, "--by='host': there is no such column"),
                                 (["--text-field", "id"], TypeError, "texts are string or binary"),
                                 (["--by", "id", "--against", inside], ValueError, "by=… cannot be combined with against"),
                                 (["--threshold", "2"], ValueError, "threshold")]:
        with pytest.raises(error, match=re.escape(message)):
            tell(spark, *words, *more)
    (tmp_path / "out").mkdir()
    with pytest.raises(ValueError, match="out exists; name another directory for --output"):
        tell(spark, *words)


def test_pieces_of_a_large_file_tell_its_documents(spark, tmp_path):
    place = tmp_path / "in.jsonl"
    place.write_bytes(lines(TEXTS * 3))
    with settings(spark, {LONGEST: "10000"}):
        pieces = list_pieces(spark, find([str(place)]).sources)
    assert len(pieces) == -(-place.stat().st_size // 10000) and sum(piece.size for piece in pieces) == place.stat().st_size
    reading = name_fields("text", None, None, None, None, None, False)
    sketcher, batch = MinHasher(84, 32), pa.record_batch({"at": pa.array([0], pa.int64())})
    tasks = [[(pieces[3], True), (pieces[5], False), (pieces[-1], True)]]
    measured = list(forecast.measure_files([batch], tasks=tasks, seconds=0.0, reading=reading, sketcher=sketcher))
    assert [row.column("piece").to_pylist() for row in measured] == [[0], [2]]  # no time was left for the second
    for row in measured:
        [row] = row.to_pylist()
        assert row["documents"] / row["seen"] == pytest.approx(600 / place.stat().st_size, rel=0.01)
        assert row["kept"] > 0 and row["text"] < row["written"]
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"body": "no text"}\n')
    with pytest.raises(DocumentError, match="bad"):
        tasks = [[(piece, True) for piece in list_pieces(spark, find([str(bad)]).sources)]]
        list(forecast.measure_files([batch], tasks=tasks, seconds=0.0, reading=reading, sketcher=sketcher))


def side(documents, text, **more):
    return forecast.InputEstimate(documents=Range(documents, documents), text=Range(text, text), rows=object(),
                                  sketching=forecast.SKETCHING_SECONDS * text, **more)


def test_the_model_gives_the_figures_of_the_page():
    """docs/planning.md: ten billion documents of 4 KB take 764 core hours, twice that with a reserve."""
    costs = forecast._estimate_costs([side(1e10, 4.096e13)], design_filter(0.8))
    assert [seconds / 3600 for seconds in costs.core] == pytest.approx([764, 1528], rel=0.01)
    assert costs.largest == pytest.approx(2.7e12, rel=0.01)
    measured = forecast._estimate_costs([side(1e6, 5.84e8, shingles=96e6)], design_filter(0.8))
    assert measured.shuffled.low == pytest.approx(364e6) and measured.core.low == pytest.approx(59, abs=1)  # unlike ones
    assert measured.shuffled.low < 791e6 < measured.shuffled.high and measured.kept.low < 571e6 < measured.kept.high


def test_what_is_advised(spark):
    """A collection of ten billion rows, and a file that is one task."""
    options = parse(["dedup", "--input", "in", "--output", "out"])
    given, design = side(1e10, 4e13, stored=1 << 44, longest=("big.gz", 1 << 43), files=1), design_filter(0.8)
    costs = forecast._estimate_costs([given], design)
    notes = list(forecast._list_notes(spark, options, [given], design, costs, 200, Range(1e10, 1e10)))
    assert [note.split(";")[0] for note in notes] == [
        "big.gz of 8.8 TB is one task of about 227.8 h", "a partition of the largest shuffle would have 13.6 GB",
        "the driver and each executor hold 1.7 GB to leave rows out: raise spark.driver.maxResultSize and their memory",
        "the filter is designed for 1,000,000 documents: each would share a feature with 4.6 unrelated ones if these are "
        "0.001 alike, and with 4.6e+04 if they are 0.01 alike. Each is a row that is in none of these figures"]
    assert "spark.sql.shuffle.partitions=20192 or more" in notes[1]


def test_the_command_prints_it(monkeypatch, capsys):
    import pyspark.sql

    from ndcore.spark import __main__

    session = SimpleNamespace(stop=lambda: None)
    builder = SimpleNamespace(getOrCreate=lambda: session)
    monkeypatch.setattr(pyspark.sql, "SparkSession", SimpleNamespace(builder=SimpleNamespace(appName=lambda name: builder)))
    monkeypatch.setattr(forecast, "forecast", lambda spark, options: ["A dry run", "  input"])
    assert __main__.main(["dedup", "--input", "a", "--output", "b", "--dry-run"]) == 0
    assert capsys.readouterr().out == "A dry run\n  input\n"
