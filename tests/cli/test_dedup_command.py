"""``ndcore dedup``: output to the byte, and nothing left behind."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import ROWS, jsonl, lines, refused, run, text, tree

import ndcore
from ndcore.cli.dedup_output import notes_of
from ndcore.files.rewritten_inputs import splice

ATTENTIVE = (  # to Ctrl-C, which what runs in the background of a shell is not
    "import signal, sys; from ndcore.cli.main import main; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "sys.exit(main())"
)

KEPT = ["a", "b", "f"]
DROPPED = {"c": ("identical", "a"), 4: ("lexical", "a"), "e": ("near", "b")}


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


def test_documents_of_several_runs_are_not_added_up() -> None:
    """Four runs hold the same ten documents: the note counts runs, and not forty documents."""
    run_of = {"holders": 10, "example": 0, "representatives": 3}
    names = ("without_shingles", "pages_without_main_content", "invalid_utf8_bytes", "blank_lines", "without_keep_field",
             "repeated_ids", "excluded")
    common = [{**run_of, "group": group} for group in range(4)]
    account = {**dict.fromkeys(names, 0), "common": common, "filter": {"kind": "lsh"}, "ignored": [], "pages_by_tags": []}
    assert [str(note) for note in notes_of(account, "out") if note.number] == [
        "4 features so common that documents holding it are paired with representatives only",
    ]


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
    assert "is not an output of ndcore" in message
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
