"""The command line: output to the byte, refusals with their exit codes, and nothing left behind."""

from __future__ import annotations

import gzip
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import ROWS, RUN, jsonl, refused, run, text

import ndcore
from ndcore.cli.summary import printable
from ndcore.files.annotated_output import splice

ATTENTIVE = (  # to Ctrl-C, which what runs in the background of a shell is not
    "import signal, sys; from ndcore.cli.main import main; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "sys.exit(main())"
)


KEPT = ["a", "b", "f"]
DROPPED = {"c": ("identical", "a"), 4: ("lexical", "a"), "e": ("near", "b")}


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def tree(path: Path) -> dict[str, bytes]:
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(jsonl(ROWS))
    return path


# ---- dedup


def test_kept_clusters_and_summary(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run("dedup", corpus, "-o", out) == 0
    assert sorted(tree(out)) == ["clusters.jsonl", "kept/corpus.jsonl", "summary.json"]
    assert (out / "kept" / "corpus.jsonl").read_bytes() == jsonl([row for row in ROWS if row["id"] in KEPT])
    clusters = lines(out / "clusters.jsonl")
    assert {line["id"]: (line["class"], line["representative"]) for line in clusters} == DROPPED
    assert clusters[0] == {
        "id": "c", "file": str(corpus), "line": 3, "class": "identical", "representative": "a",
        "representative_file": str(corpus), "representative_line": 1, "resemblance": 1.0, "cluster_size": 3,
    }  # fmt: skip
    assert [list(line) for line in clusters] == [list(clusters[0])] * 3
    near = clusters[2]["resemblance"]
    assert near == ndcore.resemblance(text(2), text(2, 1))
    assert 0.8 <= near < 1
    summary = json.loads((out / "summary.json").read_bytes())
    assert summary["counts"] == {
        "read": 6,
        "kept": 3,
        "dropped": 3,
        "dropped_by_class": {"identical": 1, "lexical": 1, "shingle": 0, "near": 1},
        "rejected": 0,
    }
    assert summary["inputs"] == [
        {"name": "corpus.jsonl", "read": 6, "rejected": 0, "kept": 3, "dropped": 3, "blank_lines": 0}
    ]
    assert summary["ndcore"] == ndcore.__version__
    assert summary["filter"]["miss"] <= 1e-3
    assert len(summary["recipe"]["id"]) == 32
    report = capsys.readouterr().out
    assert "read       6" in report
    assert f"2 dropped for {corpus}:1 (a): 1 identical, 1 lexical" in report
    assert str(out) in report


@pytest.mark.parametrize("name", ["c.jsonl.gz", "c.jsonl.zst", "c.ndjson"])
def test_same_format_and_compression(tmp_path: Path, name: str) -> None:
    data = jsonl(ROWS)[:-1]
    path = tmp_path / name
    unpack = bytes
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(data))
        unpack = gzip.decompress
    elif name.endswith("zst"):
        zstandard = pytest.importorskip("zstandard")
        path.write_bytes(zstandard.compress(data))
        unpack = lambda packed: zstandard.ZstdDecompressor().decompressobj().decompress(packed)  # noqa: E731
    else:
        path.write_bytes(data)
    assert run("dedup", path, "-o", tmp_path / "out", "-q") == 0
    kept = unpack((tmp_path / "out" / "kept" / name).read_bytes())
    assert kept == jsonl([row for row in ROWS if row["id"] in KEPT])[:-1]


def test_nothing_to_drop_copies_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a"}\r\n{"text": "b"}', 1))
    assert run("dedup", path, "-o", tmp_path / "out", "-q") == 0
    assert (tmp_path / "out" / "kept" / "c.jsonl.gz").read_bytes() == path.read_bytes()


def test_directory_of_texts(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    (folder / "sub").mkdir(parents=True)
    contents = {"a": text(1), "b.txt": text(1), "sub/c": text(2) + "\r\n", "sub/e.html": text(3), "z": text(2, 1)}
    for name, content in contents.items():
        (folder / name).write_bytes(content.encode())
    (folder / "x.jsonl").write_bytes(b'{"text": "%s"}\n{"text": "new"}\n' % text(3).encode())
    assert run("dedup", folder, "-o", tmp_path / "out", "-q") == 0
    kept = tree(tmp_path / "out" / "kept")
    assert set(kept) == {"d/a", "d/sub/c", "d/sub/e.html", "d/x.jsonl"}
    assert kept["d/sub/c"] == contents["sub/c"].encode()
    assert kept["d/x.jsonl"] == b'{"text": "new"}\n'
    dropped = {line["id"]: line["representative"] for line in lines(tmp_path / "out" / "clusters.jsonl")}
    assert dropped == {"b.txt": "a", "x.jsonl:1": "sub/e.html", "z": "sub/c"}


def test_licences_of_this_machine(tmp_path: Path) -> None:
    folder = Path("/usr/share/common-licenses")
    if not folder.is_dir():
        pytest.skip("no /usr/share/common-licenses here")
    assert run("dedup", folder, "-o", tmp_path / "out", "-q") == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_bytes())["counts"]["read"] > 5


def parquet(path: Path, rows: list[dict[str, Any]]) -> Any:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_pylist([{**row, "id": str(row["id"])} for row in rows])
    table = table.replace_schema_metadata({"note": "kept"})
    pq.write_table(table, path, row_group_size=4, compression="zstd")
    return table


def test_parquet(tmp_path: Path) -> None:
    table = parquet(tmp_path / "c.parquet", ROWS)
    import pyarrow.parquet as pq

    assert run("dedup", tmp_path / "c.parquet", "-o", tmp_path / "out", "-q") == 0
    kept = pq.ParquetFile(tmp_path / "out" / "kept" / "c.parquet")
    assert kept.read().equals(table.take([0, 1, 5]))
    assert kept.schema_arrow.metadata[b"note"] == b"kept"
    assert kept.metadata.num_row_groups == 2
    assert kept.metadata.row_group(0).column(0).compression == "ZSTD"


def test_parquet_of_many_types_and_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("ndcore.files.arrow.BATCH_BYTES", 2000)
    monkeypatch.setattr("ndcore.files.parquet._GROUP_BYTES", 5000)
    numbers = range(200)
    table = pa.table(
        {
            "labels": pa.array([f"label {i % 7}" for i in numbers]).dictionary_encode(),
            "nested": [{"a": [i, None], "b": {"text": "x"}} for i in numbers],
            "when": pa.array([1_700_000_000_000_000_000 + i for i in numbers], pa.timestamp("ns", "UTC")),
            "text": pa.array([text(i // 2) for i in numbers], pa.large_string()),
            "maybe": [None if i % 3 else float(i) for i in numbers],
        }
    )
    pq.write_table(table, tmp_path / "c.parquet", row_group_size=150)
    assert run("dedup", tmp_path / "c.parquet", "-o", tmp_path / "out", "-q") == 0
    kept = pq.read_table(tmp_path / "out" / "kept" / "c.parquet")
    assert kept.equals(table.take(list(range(0, 200, 2))))
    assert kept.schema.equals(pq.read_schema(tmp_path / "c.parquet"), check_metadata=True)


def test_parquet_annotated(tmp_path: Path) -> None:
    table = parquet(tmp_path / "c.parquet", ROWS)
    import pyarrow.parquet as pq

    assert run("dedup", tmp_path / "c.parquet", "-o", tmp_path / "out", "-q", "--annotate") == 0
    found = pq.read_table(tmp_path / "out" / "annotated" / "c.parquet")
    assert found.select(table.column_names).equals(table)
    assert found.schema.metadata[b"note"] == b"kept"
    assert found["ndcore_class"].to_pylist() == ["kept", "kept", "identical", "lexical", "near", "kept"]
    assert found["ndcore_representative"].to_pylist() == ["a", "b", "a", "a", "b", "f"]
    assert found["ndcore_resemblance"].to_pylist()[:4] == [1.0, 1.0, 1.0, 1.0]
    assert found["ndcore_representative_line"].to_pylist() == [1, 2, 1, 1, 2, 6]
    assert set(found["ndcore_representative_file"].to_pylist()) == {str(tmp_path / "c.parquet")}
    assert found["ndcore_cluster_size"].to_pylist() == [3, 2, 3, 3, 2, 1]
    assert found.num_columns == table.num_columns + 6


def test_parquet_all_dropped_keeps_the_schema(tmp_path: Path) -> None:
    table = parquet(tmp_path / "c.parquet", ROWS)
    import pyarrow.parquet as pq

    (tmp_path / "known.jsonl").write_bytes(jsonl(ROWS))
    known = tmp_path / "known.jsonl"
    assert run("dedup", tmp_path / "c.parquet", "--against", known, "-o", tmp_path / "out", "-q") == 0
    kept = pq.read_table(tmp_path / "out" / "kept" / "c.parquet")
    assert (kept.num_rows, kept.schema.equals(table.schema)) == (0, True)


def test_annotated_lines(corpus: Path, tmp_path: Path) -> None:
    assert run("dedup", corpus, "-o", tmp_path / "out", "--annotate", "-q") == 0
    assert sorted(tree(tmp_path / "out")) == ["annotated/corpus.jsonl", "clusters.jsonl", "summary.json"]
    written = (tmp_path / "out" / "annotated" / "corpus.jsonl").read_bytes().splitlines()
    for line, row in zip(written, ROWS, strict=True):
        assert line.startswith(json.dumps(row, ensure_ascii=False).encode()[:-1] + b',"ndcore":{')
        added = json.loads(line).pop("ndcore")
        assert (added["class"], added["representative"]) == DROPPED.get(row["id"], ("kept", row["id"]))


@pytest.mark.parametrize("tail", [b"", b"\n", b" \r\n"])
def test_splicing(tail: bytes) -> None:
    assert splice(b'{"a": "}" }' + tail, {"class": "kept"}) == b'{"a": "}" ,"ndcore":{"class": "kept"}}' + tail


def test_against(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_bytes(jsonl([{"id": "o1", "text": text(2)}, {"id": "o2", "text": text(2)}]))
    assert run("dedup", corpus, "--against", tmp_path / "old.jsonl", "-o", tmp_path / "out", "-q") == 0
    clusters = {line["id"]: line for line in lines(tmp_path / "out" / "clusters.jsonl")}
    assert clusters["b"] == {
        "id": "b", "file": str(corpus), "line": 2, "class": "identical", "representative": "o1",
        "representative_file": str(tmp_path / "old.jsonl"), "representative_line": 1, "resemblance": 1.0, "cluster_size": 3,
        "against": True,
    }  # fmt: skip
    assert (clusters["e"]["class"], clusters["e"]["against"]) == ("near", True)
    assert "against" not in clusters["c"]
    assert set(tree(tmp_path / "out" / "kept")) == {"corpus.jsonl"}
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert (summary["counts"]["read"], summary["counts"]["kept"], summary["against"]["read"]) == (6, 2, 2)


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("first", ["a", "b", "f"]),
        ("longest", ["b", 4, "f"]),
        ("score:desc", ["b", 4, "f"]),
        ("score:asc", ["a", "e", "f"]),
        ("lang:asc", ["a", "b", "f"]),
    ],
)
def test_keep(corpus: Path, tmp_path: Path, rule: str, kept: list[object]) -> None:
    expected = list(kept)
    if rule == "longest":
        longest = max(ROWS[1], ROWS[4], key=lambda row: len(row["text"]))
        expected[0] = longest["id"]
        expected = [row["id"] for row in ROWS if row["id"] in expected]
    assert run("dedup", corpus, "-o", tmp_path / "out", "-q", "--keep", rule) == 0
    assert [row["id"] for row in lines(tmp_path / "out" / "kept" / "corpus.jsonl")] == expected


def test_by(corpus: Path, tmp_path: Path) -> None:
    assert run("dedup", corpus, "-o", tmp_path / "out", "-q", "--by", "lang") == 0
    assert [row["id"] for row in lines(tmp_path / "out" / "kept" / "corpus.jsonl")] == ["a", "b", "e", "f"]


def test_fields_with_other_names(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(jsonl([{"url": i, "content": text(1)} for i in range(3)]))
    arguments = ("dedup", path, "-o", tmp_path / "out", "-q", "--text-field", "content", "--id-field", "url")
    assert run(*arguments) == 0
    assert [line["id"] for line in lines(tmp_path / "out" / "clusters.jsonl")] == [1, 2]


def test_inputs_of_the_same_name(tmp_path: Path) -> None:
    for year in ("2024", "2025"):
        (tmp_path / year).mkdir()
        (tmp_path / year / "a.jsonl").write_bytes(jsonl([{"text": f"only in {year} and in no other year"}]))
    paths = [tmp_path / year / "a.jsonl" for year in ("2024", "2025")]
    assert run("dedup", *paths, "-o", tmp_path / "out", "-q") == 0
    assert set(tree(tmp_path / "out" / "kept")) == {"2024/a.jsonl", "2025/a.jsonl"}


def test_rejected_are_counted_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"text":"good one"}\n\n{"text":1}\n{"text":"other"}\nnot json\n')
    assert run("dedup", path, "-o", tmp_path / "out", "--on-error", "skip") == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert summary["counts"]["read"] == 4
    assert summary["blank_lines"] == 1
    assert [(item["path"], item["line"]) for item in summary["rejected"]] == [(str(path), 3), (str(path), 5)]
    assert summary["rejected"][0]["reason"] == "the text field 'text' is int 1, not a string"
    assert (tmp_path / "out" / "kept" / "c.jsonl").read_bytes() == b'{"text":"good one"}\n{"text":"other"}\n'
    assert "rejected   2" in capsys.readouterr().out


def test_repeated_ids_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(jsonl([{"id": 1, "text": "a"}, {"id": 1, "text": "b"}]))
    assert run("dedup", path, "-o", tmp_path / "out") == 0
    assert "note: 1 document with the id of an earlier one" in capsys.readouterr().out


def test_two_runs_are_identical_whatever_the_threads(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    words = np.array([f"w{i}" for i in range(300)])
    rows, base = [], words[:80]
    for i in range(600):
        base = words[rng.integers(0, 300, 80)] if i % 3 == 0 else np.where(rng.random(80) < 0.02, "x", base)
        rows.append({"id": i, "text": " ".join(base)})
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl(rows)))
    outputs = []
    for threads in (1, 4, 4):
        assert run("dedup", path, "-o", tmp_path / "out", "--overwrite", "--threads", threads, "-q") == 0
        outputs.append(tree(tmp_path / "out"))
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(outputs[0]["clusters.jsonl"].splitlines()) > 150


def test_memory_limit_does_not_change_the_result(corpus: Path, tmp_path: Path) -> None:
    assert run("dedup", corpus, "-o", tmp_path / "a", "-q") == 0
    assert run("dedup", corpus, "-o", tmp_path / "b", "-q", "--memory", "1G", "--max-holders", 1000) == 0
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


# ---- the output directory


def test_existing_output(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run("dedup", corpus, "-o", out, "-q") == 0
    before = tree(out)
    assert "exists already; give another name, or --overwrite" in refused(capsys, 2, "dedup", corpus, "-o", out)
    (out / "old").write_text("from the run before")
    assert run("dedup", corpus, "-o", out, "-q", "--overwrite") == 0
    assert tree(out) == before
    assert {path.name for path in tmp_path.iterdir()} == {"corpus.jsonl", "out"}


def test_overwrite_spares_what_is_not_ours(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    message = refused(capsys, 2, "dedup", corpus, "-o", tmp_path / "precious", "--overwrite")
    assert "is not an output of ndcore dedup" in message
    assert "is not a directory" in refused(capsys, 2, "dedup", corpus, "-o", corpus, "--overwrite")
    assert "make it first" in refused(capsys, 2, "dedup", corpus, "-o", tmp_path / "no" / "where")
    (tmp_path / "empty").mkdir()
    assert run("dedup", corpus, "-o", tmp_path / "empty", "--overwrite", "-q") == 0


def test_input_inside_the_output(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("dedup", corpus, "-o", tmp_path / "out", "-q") == 0
    kept = tmp_path / "out" / "kept" / "corpus.jsonl"
    message = refused(capsys, 2, "dedup", kept, "-o", tmp_path / "out", "--overwrite")
    assert "lies in the output" in message
    assert kept.exists()


def test_failure_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"text":"a"}\n{')
    message = refused(capsys, 1, "dedup", path, "-o", tmp_path / "out")
    assert message.startswith(f"{path}:2: invalid JSON at column 2")
    assert [entry.name for entry in tmp_path.iterdir()] == ["c.jsonl"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_leaves_nothing(tmp_path: Path, number: signal.Signals, code: int) -> None:
    (tmp_path / "in.jsonl").write_bytes(jsonl(ROWS))
    (tmp_path / "tmp").mkdir()
    os.mkfifo(tmp_path / "slow.jsonl")
    command = [sys.executable, "-c", ATTENTIVE, "dedup", "in.jsonl", "slow.jsonl", "-o", "out"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with (tmp_path / "slow.jsonl").open("wb", buffering=0) as feed:  # opens when ndcore reads it
        feed.write(jsonl(ROWS))
        time.sleep(0.2)
        assert any(entry.name.startswith(".out.") for entry in tmp_path.iterdir())
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (code, "", "ndcore: interrupted; nothing was written\n")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.jsonl", "slow.jsonl", "tmp"]
    assert list((tmp_path / "tmp").iterdir()) == []


# ---- streams and processes


def test_standard_input_and_pipe(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    command = [*RUN, "dedup", "-", "-o", str(tmp_path / "out")]
    done = subprocess.run(command, input=jsonl(ROWS), env=environment, capture_output=True, check=True)
    assert done.stderr == b""
    assert b"kept       3" in done.stdout
    assert (tmp_path / "out" / "kept" / "stdin.jsonl").read_bytes() == jsonl([r for r in ROWS if r["id"] in KEPT])
    assert list((tmp_path / "tmp").iterdir()) == []
    assert subprocess.run([*command, "--overwrite", "-q"], input=b"", capture_output=True, check=True).stdout == b""


def printed(capfdbinary: pytest.CaptureFixture[bytes], *arguments: object) -> tuple[bytes, str]:
    """What a command writes to standard output and to standard error."""
    capfdbinary.readouterr()
    assert run(*arguments) == 0
    captured = capfdbinary.readouterr()
    return captured.out, captured.err.decode()


def test_kept_records_to_standard_output(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    out, err = printed(capfdbinary, "dedup", corpus, "-o", "-")
    assert out == jsonl([row for row in ROWS if row["id"] in KEPT])
    assert "kept       3" in err
    assert "The kept records are on standard output" in err
    assert printed(capfdbinary, "dedup", corpus, "-o", "-", "-q") == (out, "")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["corpus.jsonl"]
    annotated, _ = printed(capfdbinary, "dedup", corpus, "-o", "-", "-q", "--annotate")
    assert run("dedup", corpus, "-o", "out", "-q", "--annotate") == 0
    assert annotated == Path("out/annotated/corpus.jsonl").read_bytes()


def test_lines_on_standard_output_end_and_begin_as_lines_do(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A line without an end, a byte order mark and a compressed file are those of lines in a row."""
    (tmp_path / "1.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "one"}\r\n\n{"text": "two"}')
    (tmp_path / "2.jsonl.gz").write_bytes(gzip.compress(b'\xef\xbb\xbf{"text":   "three"}'))
    out, _ = printed(capfdbinary, "dedup", tmp_path / "1.jsonl", tmp_path / "2.jsonl.gz", "-o", "-", "-q")
    assert out == b'{"text": "one"}\r\n{"text": "two"}\n{"text":   "three"}\n'


def test_documents_without_fields_on_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "a.txt").write_text(text(1), encoding="utf-8")
    (folder / "b.txt").write_text(text(1), encoding="utf-8")
    (folder / "c.txt").write_bytes(b"caf\xe9 is Latin-1")
    out, err = printed(capfdbinary, "dedup", folder, "-o", "-")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"id": "a.txt", "text": text(1)}, {"id": "c.txt", "text": "caf\ufffd is Latin-1"},
    ]
    assert "U+FFFD stands for bytes that are not UTF-8 in the text of 1 document\n" in err
    out, _ = printed(capfdbinary, "dedup", folder, "-o", "-", "-q", "--annotate")
    assert [json.loads(line)["ndcore"]["class"] for line in out.splitlines()] == ["kept", "identical", "kept"]


def test_rows_on_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    import datetime
    import decimal

    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [
        {"text": text(1), "when": datetime.datetime(2024, 2, 29, 12), "price": decimal.Decimal("1.50"), "x": float("nan"),
         "raw": b"bytes", "nested": {"a": [1, None]}},
        {"text": text(1), "when": None, "price": None, "x": 1.0, "raw": None, "nested": None},
        {"text": text(2), "when": None, "price": None, "x": float("inf"), "raw": None, "nested": None},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    out, _ = printed(capfdbinary, "dedup", tmp_path / "t.parquet", "-o", "-", "-q")
    first, second = (json.loads(line) for line in out.splitlines())
    assert first == {
        "text": text(1), "when": "2024-02-29T12:00:00", "price": "1.50", "x": None, "raw": "bytes",
        "nested": {"a": [1, None]},
    }
    assert (second["text"], second["x"]) == (text(2), None)
    out, _ = printed(capfdbinary, "dedup", tmp_path / "t.parquet", "-o", "-", "-q", "--annotate")
    assert json.loads(out.splitlines()[1])["ndcore"] == {
        "class": "identical", "representative": "t.parquet:1", "representative_file": str(tmp_path / "t.parquet"),
        "representative_line": 1, "resemblance": 1.0, "cluster_size": 2,
    }
    pq.write_table(pa.table({"text": ["a b c"], "raw": [b"\xff"]}), tmp_path / "u.parquet")
    capfdbinary.readouterr()
    assert run("dedup", tmp_path / "u.parquet", "-o", "-", "-q") == 1
    assert b"u.parquet:1: cannot be written as JSON: it has bytes that are not UTF-8" in capfdbinary.readouterr().err


def test_what_is_rejected_is_listed_beside_standard_output(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "c.jsonl").write_bytes(b'{"text":"good one"}\nnot json\n')
    out, err = printed(capfdbinary, "dedup", tmp_path / "c.jsonl", "-o", "-", "-q", "--on-error", "skip")
    assert out == b'{"text":"good one"}\n'
    assert f"rejected {tmp_path / 'c.jsonl'}:2: invalid JSON" in err


def test_ids_of_sketches_on_standard_output(
    corpus: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run("sketch", corpus, "-o", tmp_path / "c.nds", "-q") == 0
    out, _ = printed(capfdbinary, "dedup", tmp_path / "c.nds", "-o", "-", "-q")
    assert [json.loads(line) for line in out.splitlines()] == [{"id": ident} for ident in KEPT]


def test_a_pipe_that_ends_early_is_no_error_to_tell(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(jsonl([{"text": f"{i} " + "x" * 1000} for i in range(2000)]))
    process = subprocess.Popen(
        [*RUN, "dedup", "c.jsonl", "-o", "-", "-q"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b'{"text": "0 ')
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


def test_two_things_on_standard_output(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "both write to standard output" in refused(capsys, 2, "dedup", corpus, "-o", "-", "--json")


def test_against_takes_one_input_each_time(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, number in (("old", 1), ("older", 2)):
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl([{"id": name, "text": text(number)}]))
    old, older = tmp_path / "old.jsonl", tmp_path / "older.jsonl"
    assert run("dedup", "--against", old, corpus, "-o", tmp_path / "1", "-q") == 0  # what follows is the input
    assert json.loads((tmp_path / "1" / "summary.json").read_bytes())["parameters"]["against"] == [str(old)]
    assert run("dedup", corpus, "-o", tmp_path / "2", "-q", "--against", old, "--against", older) == 0
    account = json.loads((tmp_path / "2" / "summary.json").read_bytes())
    assert (account["parameters"]["inputs"], account["against"]["read"]) == ([str(corpus)], 2)
    assert account["counts"]["kept"] == 1


def test_report_in_ascii(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(jsonl([{"id": f"é\x1b[2J{i}", "text": "a b c"} for i in range(2)]))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [*RUN, "dedup", str(tmp_path / "c.jsonl"), "-o", str(tmp_path / "out")]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"\\xe9\\x1b[2J0" in done.stdout


def test_broken_pipe(corpus: Path, tmp_path: Path) -> None:
    command = [*RUN, "dedup", str(corpus), "-o", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1
    assert (tmp_path / "out" / "summary.json").exists()


# ---- refusals


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threshold", "1.5"], "'1.5' is not a number above 0 and at most 1"),
        (["--threshold", "0"], "'0' is not a number above 0"),
        (["--threshold", "nan"], "'nan' is not a number"),
        (["--width", "0"], "'0' is not a whole number above 0"),
        (["--width", "100000"], "width must be 1 to 65536"),
        (["--unit", "sentence"], "'sentence' is none of word, char, grapheme, byte, line"),
        (["--unit", "line", "--normalize", "NFKC"], "normalize='NFKC' is for the units word, char, grapheme"),
        (["--keep", "score"], "'score' is none of first, longest, FIELD:desc, FIELD:asc"),
        (["--keep", "score:up"], "'score:up' is none of"),
        (["--memory", "lots"], "'lots' is not a size; write for instance 512M or 2G"),
        (["--threads", "-1"], "'-1' is not a whole number above 0"),
        (["--seed", "1.5"], "'1.5' is not a whole number from 0"),
        (["--clustering", "best"], "'best' is none of star, components, greedy"),
        (["--threshold", "0.001"], "give num_perm of at least"),
    ],
)
def test_usage(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert message in refused(capsys, 2, "dedup", corpus, "-o", tmp_path / "out", *arguments)
    assert not (tmp_path / "out").exists()


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert "required: COMMAND" in refused(capsys, 2)
    assert "required: -o" in refused(capsys, 2, "dedup", "x")


def test_help_and_entry_point() -> None:
    for command in ([], ["dedup"], ["sketch"], ["compare"], ["info"]):
        done = subprocess.run([*RUN, *command, "--help"], capture_output=True, check=True, text=True)
        assert done.stdout.startswith("usage: ndcore")


def test_input_refusals(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert refused(capsys, 1, "dedup", tmp_path / "nope", "-o", out).endswith("nope: no such file or directory")
    assert "given twice" in refused(capsys, 2, "dedup", corpus, corpus, "-o", out)
    assert "lies inside the input" in refused(capsys, 2, "dedup", corpus, "--against", tmp_path, "-o", out)
    assert "given twice" in refused(capsys, 2, "dedup", corpus, "--against", corpus, "-o", out)
    (tmp_path / "old.txt").write_text("x")
    message = refused(capsys, 2, "dedup", corpus, "--against", tmp_path / "old.txt", "-o", out, "--by", "lang")
    assert "--by cannot be combined with --against" in message
    assert "standard input (-) can be read once" in refused(capsys, 2, "dedup", "-", "--against", "-", "-o", out)
    message = refused(capsys, 1, "dedup", corpus, "-o", out, "--text-field", "body")
    assert "no text field 'body' (the record has: id, lang, score, text, é); use --text-field text" in message
    message = refused(capsys, 1, "dedup", corpus, "-o", out, "--text-field", "body", "--on-error", "skip")
    assert message.startswith(f"{corpus}:1: no text field 'body'")
    assert "5 other documents could not be read either" in message
    assert "no id field 'key'" in refused(capsys, 1, "dedup", corpus, "-o", out, "--id-field", "key")
    assert "no field 'rank'" in refused(capsys, 1, "dedup", corpus, "-o", out, "--keep", "rank:desc")
    message = refused(capsys, 1, "dedup", corpus, "-o", out, "--by", "é")
    assert message.startswith(f"{corpus}:2: no field 'é'")
    (tmp_path / "d").mkdir()
    assert "the directory holds no files" in refused(capsys, 1, "dedup", tmp_path / "d", "-o", out)
    (tmp_path / "d" / "t.txt").write_text("a b c")
    assert "--annotate needs records" in refused(capsys, 2, "dedup", tmp_path / "d", "-o", out, "--annotate")
    assert "--by needs records with fields" in refused(capsys, 2, "dedup", tmp_path / "d", "-o", out, "--by", "x")
    assert "--keep n:asc needs records" in refused(capsys, 2, "dedup", tmp_path / "d", "-o", out, "--keep", "n:asc")
    (tmp_path / "n.jsonl").write_bytes(b'{"text":"a","ndcore":1}')
    assert "a field 'ndcore' already" in refused(capsys, 1, "dedup", tmp_path / "n.jsonl", "-o", out, "--annotate")
    assert not out.exists()


# ---- sketch


def test_sketches_instead_of_texts(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "c.nds"
    assert run("sketch", corpus, "-o", saved) == 0
    assert "Sketched 6 documents" in capsys.readouterr().out
    assert run("dedup", saved, "-o", tmp_path / "out") == 0
    told = capsys.readouterr().out
    assert "estimated" in told
    account = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert 0 < account["expected_spurious"] < 1e-12
    assert f"{account['expected_spurious']:.2g} spurious matches are expected" in told
    clusters = {line["id"]: line for line in lines(tmp_path / "out" / "clusters.jsonl")}
    assert {key: (line["class"], line["representative"]) for key, line in clusters.items()} == {
        str(key): (verdict, kept) for key, (verdict, kept) in DROPPED.items()
    }
    assert clusters["e"]["estimated"] is True
    assert "estimated" not in clusters["c"]
    assert [line["id"] for line in lines(tmp_path / "out" / "kept" / "c.nds.jsonl")] == KEPT
    assert run("dedup", corpus, "--against", saved, "-o", tmp_path / "out2", "-q") == 0
    assert json.loads((tmp_path / "out2" / "summary.json").read_bytes())["counts"]["kept"] == 0
    assert run("info", saved) == 0
    report = capsys.readouterr().out
    assert "documents" in report
    assert "shingling.width" in report


def test_stop_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, records = tmp_path / "words", tmp_path / "in.jsonl"
    words.write_text("\ufeffThe\n\n  a \r\n", encoding="utf-8")
    records.write_bytes(jsonl([{"id": "1", "text": "the end of a long day"}, {"id": "2", "text": "End of long day!"}]))
    assert run("dedup", records, "-o", tmp_path / "plain") == 0
    assert run("dedup", records, "-o", tmp_path / "out", "--stop-words", words) == 0
    assert lines(tmp_path / "plain" / "clusters.jsonl") == []
    [dropped] = lines(tmp_path / "out" / "clusters.jsonl")
    assert (dropped["id"], dropped["class"]) == ("2", "lexical")
    assert run("compare", f"{records}#1", f"{records}#2", "--stop-words", words) == 0
    assert "lexically equivalent" in capsys.readouterr().out

    saved = tmp_path / "saved.nds"
    assert run("sketch", records, "-o", saved, "--stop-words", words) == 0
    assert run("info", saved) == 0
    assert "shingling.stop_words" in (report := capsys.readouterr().out) and "a the" in report
    assert run("dedup", records, "-o", tmp_path / "against", "--against", saved, "--stop-words", words) == 0
    assert json.loads((tmp_path / "against" / "summary.json").read_bytes())["counts"]["dropped"] == 2
    words.write_text("the\n")
    capsys.readouterr()
    message = refused(capsys, 2, "dedup", records, "-o", tmp_path / "x", "--against", saved, "--stop-words", words)
    assert message.startswith("the saved sketches were made with other stop words")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"don't\n", [], "stop word \"don't\" is not one word but 2: 'don', 't'"),
        (b"\xff\n", [], "cannot be read as UTF-8 text"),
        (None, [], "cannot be read as UTF-8 text"),
        (b"a\n", ["--unit", "char"], "stop_words are for the unit word, not for 'char'"),
    ],
)
def test_refused_stop_words(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, options: list[str],
    message: str,
) -> None:
    if content is not None:
        (tmp_path / "words").write_bytes(content)
    arguments = ["-o", tmp_path / "out", "--stop-words", tmp_path / "words", *options]
    assert message in refused(capsys, 2, "dedup", corpus, *arguments)


def test_sketch_is_independent_of_threads(corpus: Path, tmp_path: Path) -> None:
    for threads in (1, 4):
        assert run("sketch", corpus, "-o", tmp_path / f"{threads}.nds", "--threads", threads, "-q") == 0
    assert (tmp_path / "1.nds").read_bytes() == (tmp_path / "4.nds").read_bytes()


def test_sketch_lists_what_it_rejects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"text":"good one"}\n{}\n')
    assert refused(capsys, 1, "sketch", path, "-o", tmp_path / "c.nds").startswith(f"{path}:2: no text field 'text'")
    assert not (tmp_path / "c.nds").exists()
    assert run("sketch", path, "-o", tmp_path / "c.nds", "-q", "--on-error", "skip") == 0
    assert f"rejected {path}:2: no text field" in capsys.readouterr().err
    assert len(ndcore.load(tmp_path / "c.nds")) == 1


def test_sketch_refusals(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, other, out = tmp_path / "c.nds", tmp_path / "d.nds", tmp_path / "out"
    assert run("sketch", corpus, "-o", saved, "-q") == 0
    assert run("sketch", corpus, "-o", other, "-q", "--width", 3) == 0
    assert "exists already" in refused(capsys, 2, "sketch", corpus, "-o", saved)
    assert run("sketch", corpus, "-o", saved, "-q", "--overwrite") == 0
    assert "is a directory" in refused(capsys, 2, "sketch", corpus, "-o", tmp_path)
    assert "make it first" in refused(capsys, 2, "sketch", corpus, "-o", tmp_path / "no" / "where")
    assert "is not a file of sketches" in refused(capsys, 2, "sketch", corpus, "-o", corpus, "--overwrite")
    assert "holds sketches already" in refused(capsys, 2, "sketch", saved, "-o", out)
    assert "mixes documents and saved sketches" in refused(capsys, 2, "dedup", saved, corpus, "-o", out)
    assert "shingling.width is 5 here and 3 there" in refused(capsys, 1, "dedup", saved, other, "-o", out)
    message = refused(capsys, 2, "dedup", saved, "-o", out, "--width", 4)
    assert "were made with --width 5, not 4" in message
    assert "--annotate needs records" in refused(capsys, 2, "dedup", saved, "-o", out, "--annotate")
    assert "--keep longest needs the documents" in refused(capsys, 2, "dedup", saved, "-o", out, "--keep", "longest")
    assert "--by needs the documents" in refused(capsys, 2, "dedup", saved, "-o", out, "--by", "lang")
    damaged = bytearray(saved.read_bytes())
    damaged[-1] ^= 1
    saved.write_bytes(damaged)
    assert str(saved) in refused(capsys, 1, "dedup", saved, "-o", out)
    assert "not a file of ndcore" in refused(capsys, 1, "info", corpus)


# ---- the terminal


def test_printable() -> None:
    assert printable("a\nb\x1b\udc80é") == "a\\nb\\x1b\\udc80é"
    assert len(printable("x" * 1000, 60)) <= 60


def test_output_streams_that_are_not_text(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert run("dedup", corpus, "-o", tmp_path / "out") == 0


def test_one_holder_is_refused_before_a_run_and_before_a_dry_one(corpus: Path, tmp_path: Path, capsys: Any) -> None:
    for more in ((), ("--dry-run",)):
        assert "'1' is not a whole number of at least 2" in refused(
            capsys, 2, "dedup", corpus, "-o", tmp_path / "out", "--max-holders", 1, *more)


def test_the_example_names_the_file_of_stop_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stop words.txt").write_text("the\nof\n")
    rows = [{"id": "a", "text": "the house of bricks"}, {"id": "b", "text": "house, bricks"}]
    (tmp_path / "c.jsonl").write_bytes(jsonl(rows))
    assert run("dedup", "c.jsonl", "-o", "out", "--stop-words", "stop words.txt") == 0
    said = capsys.readouterr().out
    assert "1  dropped: the same words in the same order" in said
    command = said.partition("Look at a pair with: ndcore ")[2]
    assert "--stop-words 'stop words.txt'" in command
    assert run(*shlex.split(command), "--json") == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "lexical"


def test_what_is_not_read_is_listed_where_the_report_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(b'{"text": "one two three"}\n{"broken\n')
    (folder / "picture").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    options = ("d", "--on-error", "skip", "--report")
    _, err = printed(capfdbinary, "dedup", *options, "a.html", "-o", "-")
    assert "ndcore: rejected d/a.jsonl:2: " in err and "ndcore: passed over d/picture: " in err
    assert err.count("standard error lists them") == 2
    page = Path("a.html").read_text()
    assert "standard error lists all of them" in page
    assert "summary.json" not in err and "summary.json" not in page
    out, err = printed(capfdbinary, "dedup", *options, "b.html", "-o", "out")
    assert out.decode().count("summary.json lists them") == 2 and "passed over" not in err
    assert "summary.json lists all of them" in Path("b.html").read_text()
