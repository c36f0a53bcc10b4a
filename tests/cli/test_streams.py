"""Standard input, standard output and pipes."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest
from commands import ROWS, RUN, jsonl, printed, refused, run, text

KEPT = ["a", "b", "f"]


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
    """Print whole lines: without byte order marks, uncompressed, each with an end."""
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
    out, err = printed(capfdbinary, "dedup", folder, "-o", "-", "--encoding", "utf-8")
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
    assert run("dedup", tmp_path / "u.parquet", "-o", "-", "-q") == 2
    said = capfdbinary.readouterr()
    assert b"u.parquet:1: the column 'raw' cannot be written as JSON: it has bytes that are not UTF-8" in said.err
    assert said.out == b""


def test_rows_that_json_cannot_hold_are_refused_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    from ndcore.files.documents import FileDocuments

    def searched(*_: object) -> None:
        raise AssertionError("the search began")

    monkeypatch.setattr(FileDocuments, "batches", searched)
    monkeypatch.chdir(tmp_path)
    texts, no_utf8 = pa.array(["a b c", "d e f"]), pa.array([b"ok", b"\xff"])
    string = pa.Array.from_buffers(pa.string(), 2, no_utf8.buffers())
    inner = pa.StructArray.from_arrays([string], ["a"])
    columns = {"bytes": no_utf8, "string": string, "list": pa.array([[], [b"\xff"]]), "words": no_utf8.dictionary_encode(),
               "struct": pa.array([None, {"a": b"\xff"}])}
    for name, column in columns.items():
        pq.write_table(pa.table({"text": texts, name: column}), f"{name}.parquet")
        for command in (["dedup", "-o", "-"], ["repeats", "-o", "-"], ["repeats", "-o", "out", "--write", "annotated"]):
            said = refused(capsys, 2, command[0], f"{name}.parquet", *command[1:])
            assert said.startswith(f"{name}.parquet:2: the column {name!r} cannot be written as JSON: it has bytes"), said
    pq.write_table(pa.table({"text": texts, "inner": inner}), "inner.parquet")
    assert "the column 'inner' cannot be written as JSON" in refused(capsys, 2, "repeats", "inner.parquet", "-o", "-")
    Path("twice.csv").write_bytes(b"text,x,x\na,b,c\n")
    assert "has 2 columns 'x'" in refused(capsys, 2, "repeats", "twice.csv", "-o", "-")
    assert not Path("out").exists()
    assert not Path("out.unfinished").exists()


def test_what_is_rejected_is_listed_beside_standard_output(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "c.jsonl").write_bytes(b'{"text":"good one"}\nnot json\n')
    for name in ("known", "spared"):
        (tmp_path / f"{name}.jsonl").write_bytes(b'{"text":"another"}\n{"text": 7}\n')
    skip, known, spared = ("-q", "--on-error", "skip"), tmp_path / "known.jsonl", tmp_path / "spared.jsonl"
    for command in (("dedup",), ("repeats", "--exceptions", spared)):
        out, err = printed(capfdbinary, *command, tmp_path / "c.jsonl", "--against", known, "-o", "-", *skip)
        assert out == b'{"text":"good one"}\n'
        assert f"rejected {tmp_path / 'c.jsonl'}:2: invalid JSON" in err
        for side in (known, spared)[: len(command)]:
            assert f"rejected {side}:2: " in err
    run("repeats", tmp_path / "c.jsonl", "--against", known, "--exceptions", spared, "-o", tmp_path / "out", *skip)
    account = json.loads((tmp_path / "out" / "summary.json").read_text())
    for name, side in (("against", known), ("exceptions", spared)):
        assert [(item["path"], item["line"]) for item in account[name]["rejected"]] == [(str(side), 2)]
    for command in (("cluster", "-o", tmp_path / "made"), ("sketch", "-o", tmp_path / "made.nds")):
        _, err = printed(capfdbinary, *command, known, *skip)
        assert f"rejected {known}:2: " in err
    text = ("sources", f"{tmp_path / 'c.jsonl'}:1", "--min-tokens", "2", "--in")
    _, err = printed(capfdbinary, *text, known, *skip)
    assert f"rejected {known}:2: " in err


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
