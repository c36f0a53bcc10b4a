"""``rejected/`` holds the rejected records, unchanged, and the account tells which."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run, tree
from webarchives import INFO, gz, http, response, warc, words

from ndcore.files import rewritten_inputs
from ndcore.files.documents import FileDocuments
from ndcore.files.outputs import OutputDirectory
from ndcore.files.rewritten_inputs import write_kept


def rejected(tmp_path: Path, *args: object, command: str = "dedup") -> tuple[dict[str, bytes], list[tuple[Any, Any]]]:
    """Run a command that skips errors; return the files of ``rejected/``, and (line, file) of each rejected record."""
    out = tmp_path / "out"
    assert run(command, *args, "-o", out, "--on-error", "skip", "--overwrite", "-q") == 0
    summary = json.loads((out / "summary.json").read_bytes())
    files = {name.removeprefix("rejected/"): data for name, data in tree(out).items() if name.startswith("rejected/")}
    return files, [(item["line"], item["saved_in"]) for item in summary["rejected"]]


GOOD, OTHER = b'{"text":"the first good line"}\n', b'{"text":"another one of them"}\r\n'
BAD = [b'{"text":"no id", "id":null}\n', b"not json \xff\r\n", b'{"text": 5 , "x":[1]}\n', b'{"text":"unfinished']


@pytest.mark.parametrize("ending", ["", "gz", "bz2"])
@pytest.mark.parametrize("rule", [[], ["--annotate"], ["--threshold", "0.5", "--threshold", "0.9"]])
def test_lines_of_json(tmp_path: Path, ending: str, rule: list[str]) -> None:
    ways = {"": (bytes, bytes), "gz": (gzip.compress, gzip.decompress), "bz2": (bz2.compress, bz2.decompress)}
    pack, unpack = ways[ending]
    name = f"a.jsonl.{ending}".rstrip(".")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.jsonl").write_bytes(GOOD)
    (tmp_path / "in" / name).write_bytes(pack(BAD[0] + GOOD + b"\n" + BAD[1] + OTHER + BAD[2] + BAD[3]))
    files, places = rejected(tmp_path, tmp_path / "in", *rule)
    assert list(files) == [f"in/{name}"]
    assert unpack(files[f"in/{name}"]) == b"".join(BAD)
    assert places == [(line, f"rejected/in/{name}") for line in (1, 4, 6, 7)]


@pytest.mark.parametrize("ending", ["", "gz"])
def test_kept_lines_are_copied_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr(rewritten_inputs, "_COPY", 64)
    monkeypatch.setattr(rewritten_inputs, "GAP", 100)
    rng = random.Random(7)
    lines = [b'{"text":"%s"}\n' % (b"x" * rng.choice([1, 30, 200])) + b"\n" * rng.choice([0, 0, 3]) for _ in range(200)]
    path = tmp_path / f"a.jsonl.{ending}".rstrip(".")
    path.write_bytes((gzip.compress if ending else bytes)(b"".join(lines)))
    with FileDocuments([str(path)]) as documents:
        documents.scan()
        for number, share in enumerate((0, 0.02, 0.5, 0.98, 1)):
            kept = np.random.default_rng(number).random(200) < share
            with OutputDirectory(str(tmp_path / "out")) as output:
                write_kept(output, documents, kept, lambda *_: None)
                written = output.below("kept", path.name).read_bytes()
            expected = b"".join(line.strip() + b"\n" for line, there in zip(lines, kept, strict=True) if there)
            assert (gzip.decompress if ending else bytes)(written) == expected


def test_rows_of_a_table_with_its_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,text\r\n1,"good, ""it"" is"\r\n2,a,b\r\n\r\n3\r\n4,"another\r\none"\r\n5,"last",""')
    files, places = rejected(tmp_path, path)
    assert files == {"a.csv": b'id,text\r\n2,a,b\r\n3\r\n5,"last",""'}
    assert places == [(line, "rejected/a.csv") for line in (3, 5, 8)]


def test_elements_of_an_array(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[ {"text": "good"},\n 7 ,{"text": [nothing]} , {"text": "other one"}]\n')
    files, places = rejected(tmp_path, path)
    assert files == {"a.json": b'[ 7 ,{"text": [nothing]}]\n'}
    assert places == [(2, "rejected/a.json"), (3, "rejected/a.json")]


def test_texts_as_whole_files(tmp_path: Path) -> None:
    """Copy a file that is binary, a table without a header, and not one that is too long."""
    good, binary, table, long = (tmp_path / name for name in ("good.txt", "binary.txt", "no.csv", "long.txt"))
    good.write_bytes(b"a good text of some words")
    binary.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    table.write_bytes(b"\n1,2\n")
    long.write_bytes(b"more words " * 50)
    files, places = rejected(tmp_path, good, binary, table, long, "--max-record", "500")
    assert files == {"binary.txt": binary.read_bytes(), "no.csv": table.read_bytes()}
    assert places == [(None, "rejected/binary.txt"), (None, "rejected/no.csv"), (None, None)]


def test_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD + BAD[0] + OTHER)))
    files, places = rejected(tmp_path, "-")
    assert files == {"stdin.jsonl": BAD[0]}
    assert places == [(2, "rejected/stdin.jsonl")]


def test_what_is_too_long_or_cannot_be_read_is_only_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    data = GOOD + b'{"text":"' + b"x" * 100 + b'"}\n' + OTHER + b'{"text": "what follows"}\n' * 5000
    path.write_bytes(gzip.compress(data)[:-40])
    files, places = rejected(tmp_path, path, "--max-record", "64")
    assert files == {}
    assert [file for _, file in places] == [None, None]
    assert places[0] == (2, None)


BROKEN = warc("response", http(b"x"), "http://x.org/", 3, Content_Type="application/http")


@pytest.mark.parametrize("ending", ["", "gz"])
def test_records_of_archives(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.warc.{ending}".rstrip(".")
    pack = gz if ending else bytes
    no_headers = b"WARC/1.0\r\nnothing\r\n\r\n"
    records = [INFO, response(1), BROKEN, response(2, words(2)), no_headers, response(3, words(3)), BROKEN[:-9]]
    path.write_bytes(b"".join(map(pack, records)))
    files, places = rejected(tmp_path, path)
    assert files == {path.name: b"".join(pack(records[i]) for i in (2, 4, 6))}
    assert places == [(number, f"rejected/{path.name}") for number in (3, 5, 7)]


def test_a_damaged_member_of_an_archive(tmp_path: Path) -> None:
    members = [gz(record) for record in (INFO, response(1), response(2, words(2)), response(3, words(3)))]
    damaged = bytearray(members[2])
    damaged[len(damaged) // 2] ^= 255
    path = tmp_path / "a.warc.gz"
    path.write_bytes(members[0] + members[1] + damaged + members[3])
    files, places = rejected(tmp_path, path)
    assert files == {"a.warc.gz": bytes(damaged)}
    assert places == [(3, "rejected/a.warc.gz")]


def test_rows_of_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a good one", None, "another"], "n": [1, 2, 3]}), path)
    _, places = rejected(tmp_path, path)
    assert pq.read_table(tmp_path / "out/rejected/a.parquet").to_pylist() == [{"text": None, "n": 2}]
    assert places == [(2, "rejected/a.parquet")]


@pytest.mark.parametrize("command", ["repeats", "contamination"])
def test_other_commands_that_write_a_directory(tmp_path: Path, command: str) -> None:
    path, items = tmp_path / "a.jsonl", tmp_path / "items.txt"
    path.write_bytes(GOOD + BAD[0] + OTHER)
    items.write_bytes(b"an item of some words")
    args = [path] if command == "repeats" else [items, "--in", path]
    assert rejected(tmp_path, *args, command=command) == ({"a.jsonl": BAD[0]}, [(2, "rejected/a.jsonl")])


def test_nothing_is_written_where_nothing_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD + OTHER)
    assert rejected(tmp_path, path) == ({}, [])
