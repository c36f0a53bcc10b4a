"""Documents that break other tools, through the whole command: nothing crashes, nothing is lost, nothing is altered."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from ndcore.cli.main import main

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa"

FILES: dict[str, bytes] = {
    "empty": b"",
    "empty_too": b"",
    "one_word": b"hello",
    "one_word_again": b"HELLO!",
    "other_word": b"goodbye",
    "punctuation": b"!!! ... ---",
    "punctuation_again": b"!!! ... ---",
    "punctuation_other": b"???",
    "emoji": "😀 😀 🎉".encode(),
    "invalid_utf8": b"caf\xe9 \xff\xfe cr\xc3 \xf0\x9f broken bytes in a row of words",
    "nul_bytes": b"a\x00b\x00c\x00d\x00e\x00f\x00g",
    "only_nul": b"\x00" * 1000,
    "plain": WORDS.encode(),
    "with_bom": b"\xef\xbb\xbf" + WORDS.encode(),
    "with_crlf": WORDS.replace(" ", "\r\n").encode() + b"\r\n",
    "mixed_scripts": "Привет мир 你好世界 こんにちは สวัสดี नमस्ते דואר γειά σου مرحبا Straße".encode(),
    "no_final_newline": b"a line\nanother line",
    "newlines_only": b"\n\n\r\n\r",
    "separators": "one\u2028two\u2029three\u0085four\x0bfive".encode(),
    "name with spaces.txt": b"the name of this file holds spaces",
    "ünïcödé.md": b"the name of this file is not ASCII",
    "deep/er/and/deeper": b"far below the top of the directory",
    "looks_like.json": b'{"text": "this is one document, not a record"}',
    "utf16": "this was saved as UTF-16 by some editor".encode("utf-16"),
}
NOT_TEXT = {"nul_bytes", "only_nul"}
IDENTICAL = {"empty_too": "empty", "punctuation_again": "punctuation"}
LEXICAL = {"one_word_again": "one_word", "with_bom": "plain", "with_crlf": "plain"}


def dedup(*arguments: object) -> int:
    return main(["dedup", *map(str, arguments), "-q", "--encoding", "utf-8"])  # where bytes that are not UTF-8 are counted


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "odd"
    for name, data in FILES.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def test_awkward_files(folder: Path, tmp_path: Path) -> None:
    assert dedup(folder, "-o", tmp_path / "out") == 0
    found = {(line["id"], line["class"], line["representative"]) for line in lines(tmp_path / "out" / "clusters.jsonl")}
    expected = {(a, "identical", b) for a, b in IDENTICAL.items()} | {(a, "lexical", b) for a, b in LEXICAL.items()}
    assert found == expected
    kept = {
        str(path.relative_to(tmp_path / "out" / "kept" / "odd")): path.read_bytes()
        for path in (tmp_path / "out" / "kept").rglob("*")
        if path.is_file()
    }
    assert kept == {name: data for name, data in FILES.items() if name not in {*IDENTICAL, *LEXICAL, *NOT_TEXT}}
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert summary["counts"]["read"] == len(FILES) - len(NOT_TEXT)
    assert [(Path(item["path"]).name, item["kind"]) for item in summary["ignored"]] == [
        (name, "binary data") for name in sorted(NOT_TEXT)
    ]
    assert summary["invalid_utf8_bytes"] > 5
    assert summary["without_shingles"] >= 7


@pytest.mark.parametrize(
    "options",
    [["--unit", "char"], ["--unit", "grapheme"], ["--unit", "byte"], ["--unit", "line"],
     ["--unit", "sentence", "--normalize", "words"], ["--normalize", "NFKC"],
     ["--width", "1"]],
)
def test_awkward_files_in_every_unit(folder: Path, tmp_path: Path, options: list[str]) -> None:
    assert dedup(folder, "-o", tmp_path / "out", *options) == 0
    counts = json.loads((tmp_path / "out" / "summary.json").read_bytes())["counts"]
    read = len(FILES) - (0 if "byte" in options else len(NOT_TEXT))
    assert counts["read"] == read == counts["kept"] + counts["dropped"]
    assert counts["dropped_by_class"]["identical"] == len(IDENTICAL)


RECORDS: list[tuple[object, bytes]] = [
    ("plain", b'{"id": "plain", "text": "%s"}' % WORDS.encode()),
    ("lone", b'{"id": "lone", "text": "%s \\ud800 tail of it"}' % WORDS.encode()),
    ("lone again", b'{"id": "lone again", "text": "%s \\udfff tail of it"}' % WORDS.encode()),
    ("\udc80", b'{"id": "\\udc80", "text": "%s."}' % WORDS.encode()),
    ("nul", b'{"id": "nul", "text": "x\\u0000y\\u0000z"}'),
    ("", b'{"id": "", "text": ""}'),
    (-1, b'{"id": -1, "text": ""}'),
    (2**70, b'{"id": %d, "text": "!"}' % 2**70),
    ("pair", b'{"text": "\\ud83d\\ude00 emoji by a pair", "id": "pair"}'),
    ("crlf", b'{"id": "crlf", "text": "%s"}\r' % WORDS.replace(" ", "\\r\\n").encode()),
    ("nested", b'{"meta": {"text": [1, {"id": 2}]}, "id": "nested", "text": "only the outer text counts"}'),
    ("spaces", b' {"id" : "spaces" ,\t"text" : "white space outside of strings" }  '),
    ("twice", b'{"id": "first", "text": "no", "id": "twice", "text": "the last of two equal keys counts"}'),
]


def test_awkward_records(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\n".join(line for _, line in RECORDS))
    assert dedup(path, "-o", tmp_path / "out") == 0
    clusters = lines(tmp_path / "out" / "clusters.jsonl")
    assert {line["id"]: (line["class"], line["representative"]) for line in clusters} == {
        "lone again": ("lexical", "lone"),
        "\udc80": ("lexical", "plain"),
        "crlf": ("lexical", "plain"),
        -1: ("identical", ""),
    }
    dropped = {line["id"] for line in clusters}
    kept = [line for ident, line in RECORDS if ident not in dropped]
    written = (tmp_path / "out" / "kept" / "odd.jsonl").read_bytes()
    assert written == b"\xef\xbb\xbf" + b"\n".join(kept)
    assert dedup(path, "-o", tmp_path / "marked", "--annotate") == 0
    marked = (tmp_path / "marked" / "annotated" / "odd.jsonl").read_bytes()
    assert [json.loads(line)["ndcore"]["class"] for line in marked[3:].split(b"\n")].count("kept") == len(kept)


def test_sketches_of_awkward_records(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"\n".join(line for _, line in RECORDS))
    assert main(["sketch", str(path), "-o", str(tmp_path / "odd.nds"), "-q"]) == 0
    assert dedup(tmp_path / "odd.nds", "-o", tmp_path / "out") == 0
    clusters = lines(tmp_path / "out" / "clusters.jsonl")
    assert {line["id"] for line in clusters} == {"lone again", "\udc80", "crlf", "-1"}


@pytest.mark.slow
def test_fifty_megabytes_on_one_line(tmp_path: Path) -> None:
    body = random.Random(1).randbytes(22_500_000).hex(" ", 4).encode() + b" "
    assert len(body) > 50_000_000
    long, near, short = (b'{"id": "%s", "text": "%s"}\n' % pair for pair in (
        (b"long", body), (b"near", body + b"and a few more words"), (b"short", b"something else"),
    ))  # fmt: skip
    path = tmp_path / "long.jsonl"
    path.write_bytes(long + near + short)
    start = time.monotonic()
    assert dedup(path, "-o", tmp_path / "out", "--threads", 2) == 0
    assert time.monotonic() - start < 60  # a quadratic step would take hours
    [line] = lines(tmp_path / "out" / "clusters.jsonl")
    assert (line["id"], line["class"], line["representative"]) == ("near", "near", "long")
    assert (tmp_path / "out" / "kept" / "long.jsonl").read_bytes() == long + short


def test_nothing_at_all(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_bytes(b"\n\n")
    assert dedup(tmp_path / "none.jsonl", "-o", tmp_path / "out") == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_bytes())["counts"]["read"] == 0
    assert (tmp_path / "out" / "kept" / "none.jsonl").read_bytes() == b""


def test_only_documents_without_shingles(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(b'{"text":"!"}\n{"text":"?"}\n{"text":""}\n{"text":"!"}\n')
    assert dedup(tmp_path / "c.jsonl", "-o", tmp_path / "out") == 0
    [line] = lines(tmp_path / "out" / "clusters.jsonl")
    assert (line["id"], line["class"], line["representative"]) == ("c.jsonl:4", "identical", "c.jsonl:1")


def test_short_documents_are_not_duplicates_of_each_other(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(b'{"text":"cat"}\n{"text":"dog"}\n{"text":"Cat"}\n{"text":"cat dog"}\n')
    assert dedup(tmp_path / "c.jsonl", "-o", tmp_path / "out") == 0
    assert [line["id"] for line in lines(tmp_path / "out" / "clusters.jsonl")] == ["c.jsonl:3"]
