"""JSON objects as records: lines in blocks and one by one, what is refused, and that both parsers agree."""

from __future__ import annotations

import gzip
import json
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textfiles import needs_msgspec, refusal, texts, write

from ndcore.choices import LONGEST_RECORD
from ndcore.files import documents, json_lines
from ndcore.files.discovery import find
from ndcore.files.document_fields import GroupingField, RankingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.json_lines import JsonLines, RecordParser
from ndcore.files.records import Fields, RecordError
from ndcore.files.sources import Inputs

ODD = [
    b'{"text":"a","text":"b"}', b'{"text":5,"text":"b"}', b'{"text":"b","text":5}', b'{"id":1,"id":"1","text":"a"}',
    rb'{"text":"\u0000\u001f\" \/ \ud83d\ude00"}', rb'{"text":"\ud800"}', rb'{"text":"a","id":"\udfff"}',
    rb'{"t\u0065xt":"a"}',
    b'\xef\xbb\xbf{"text":"bom"}', b"", b" \t\r", b'{"text":"crlf"}\r', b'{"text":{"text":"nested"}}',
    b'{"a":{"text":"no"}}',
    b'{"text":"a","id":7}', b'{"text":"a","id":-0}', b'{"text":"a","id":1.0}', b'{"text":"a","id":' + b"9" * 40 + b"}",
    b'{"text":"a","id":true}', b'{"text":"a","id":null}', b'{"text":"a\x00b"}', b'{"text":"a","x":"\xff"}',
    b'{"text":"\xc3\xa9"}',
    b'{"text":"a","x":NaN,"y":[Infinity,-Infinity]}', b'{"text":"a","x":' + b"9" * 5000 + b"}",
    b'{"text":"a","x":' + b"9" * 5000, b'{"text":"a"} {"text":"b"}',
    b'{"text":"a","x":' + b"[" * 70 + b"]" * 70 + b"}", b'["text"]', b"null", b'{"text":"' + b"long " * 30_000 + b'"}',
    b'{"text":"a","ndcore":1}', b'{"text":"a","s":2}',
]


def facts(path: str | Inputs, **options: Any) -> tuple[Any, ...]:
    """Return all that is known of the documents of a file, after two passes and parts of a third."""
    options.setdefault("on_error", "skip")
    with FileDocuments([path] if isinstance(path, str) else path, **options) as documents:
        first = [text for batch in documents.batches() for text in batch]
        assert [text for batch in documents.batches() for text in batch] == first
        n = len(first)
        for seed in range(3):
            wanted = np.random.default_rng(seed).random(n) < (0.1, 0.5, 1.0)[seed]
            parts = documents.selected(wanted)
            some = [pair for positions, texts in parts for pair in zip(list(positions), texts, strict=True)]
            assert some == [(int(i), first[i]) for i in np.flatnonzero(wanted)]
        places = [documents.place(position) for position in range(n)]
        return first, list(documents.ids), places, documents.rejected, documents.blank, documents.read


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
@pytest.mark.parametrize("seed", range(6))
def test_odd_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, seed: int) -> None:
    monkeypatch.setattr(json_lines, "BLOCK", 1 << 20)
    rng = random.Random(seed)
    plain = [json.dumps({"text": f"{'word ' * rng.randint(0, 400)}{i}", "id": f"é{i}", "s": i}).encode() for i in range(300)]
    lines = [line for each in plain for line in (each, *(rng.choice(ODD) for _ in range(rng.choice([0, 0, 0, 1, 2, 9]))))]
    rng.shuffle(lines[:100])
    path = write(tmp_path / name, b"\n".join([*ODD, *lines] if seed % 2 else lines) + (b"\n" if seed % 3 else b""))
    for options in ({}, {"annotate": True}, {"require_id": True}, {"text_field": ["text", "id"]}, {"id_field": "text"},
                    {"text_field": "text.text"}):
        assert facts(path, fast=True, **options) == facts(path, fast=False, **options)
    columns = [facts(path, fast=fast, keep=RankingField("s", False), by=GroupingField("s")) for fast in (True, False)]
    assert columns[0] == columns[1]


@pytest.mark.parametrize("longest", [None, 2500])
@pytest.mark.parametrize("cut", [0, 40])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_several_threads_read_what_one_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, cut: int, longest: int | None,
) -> None:
    monkeypatch.setattr(json_lines, "BLOCK", 3000)
    monkeypatch.setattr(documents, "_LARGE", 0)
    at, read_copy = set(), JsonLines._read_copy

    def recorded(lines: JsonLines, block: Any) -> Any:
        at.add(threading.current_thread())
        return read_copy(lines, block)

    monkeypatch.setattr(JsonLines, "_read_copy", recorded)
    rng = random.Random(cut)
    lines = [rng.choice([b'{"text":"%d","id":"a"}' % i, b'{"text":"%s","id":%d}' % (b"ab " * rng.randint(0, 900), i), *ODD])
             for i in range(2000)]
    path = write(tmp_path / name, b'\xef\xbb\xbf{"text":"first"}\n' + b"\n".join(lines))
    Path(path).write_bytes(Path(path).read_bytes()[: -cut or None])

    def read(threads: int, on_error: str) -> object:
        inputs = find([path])
        inputs.limit(longest or LONGEST_RECORD)
        try:
            return facts(inputs, threads=threads, on_error=on_error)
        except DocumentError as error:
            return str(error)

    for on_error in ("skip", "stop"):
        one = read(1, on_error)
        assert not at
        assert read(2, on_error) == one
        assert threading.main_thread() not in at
        assert at
        at.clear()


@pytest.mark.parametrize("line", ODD, ids=lambda line: line[:24].decode("ascii", "replace"))
def test_errors_name_file_and_line(tmp_path: Path, line: bytes) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"a"}\n\n{"text":"b"}\r\n' + line + b'\n{"text":"c"}')
    found = []
    for fast in (True, False):
        try:
            found.append(str(facts(path, fast=fast, on_error="stop")))
        except DocumentError as error:
            assert (error.path, error.number) == (path, 4)
            found.append(str(error))
    assert found[0] == found[1]


@pytest.mark.parametrize("cut", [1, 9, 5000])
def test_lines_before_damage_are_read(tmp_path: Path, cut: int) -> None:
    rng = random.Random(1)
    rows = b"".join(b'{"text":"%s"}\n' % rng.randbytes(500).hex().encode() for _ in range(3000))
    packed = gzip.compress(rows, mtime=0)
    path = write(tmp_path / "b.jsonl.gz", b"")
    Path(path).write_bytes(packed[:-cut])
    found = [facts(path, fast=fast) for fast in (True, False)]
    assert found[0] == found[1]
    assert len(found[0][3]) == 1
    assert found[0][3][0].number == len(found[0][0]) + 1
    assert len(found[0][0]) > (2900 if cut < 10 else 2000)


def test_a_line_longer_than_a_block(tmp_path: Path) -> None:
    texts = ["a" * 20_000_000, "b", "c" * 34_000_000, "d"]  # the third is longer than the fast reader takes
    path = write(tmp_path / "a.jsonl", b"\n".join(json.dumps({"text": text}).encode() for text in texts))
    with FileDocuments([path]) as documents:
        assert [text for batch in documents.batches() for text in batch] == texts


def test_only_wanted_lines_are_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b"".join(b'{"text":"%d %s"}\n' % (i, b"x" * 5000) for i in range(2000)))
    with FileDocuments([path]) as documents:
        assert documents.random_access
        documents.scan()
        wanted = np.zeros(2000, np.bool_)
        wanted[[3, 1000, 1999]] = True
        assert [text.split()[0] for _, texts in documents.selected(wanted) for text in texts] == ["3", "1000", "1999"]
        assert documents.sources[0].seen < 4 << 20  # bytes
    with FileDocuments([write(tmp_path / "b.jsonl.gz", b'{"text":"a"}\n')]) as documents:
        assert not documents.random_access
    with FileDocuments([path], html="page") as documents:
        assert not documents.random_access


BAD_LINES = {
    b"{": "invalid JSON at column 2: Expecting property name enclosed in double quotes (one JSON object per line",
    b'{"text": "a"': "invalid JSON",
    b"[": "one JSON object per line",
    b"{'text': 'a'}": "invalid JSON at column 2",
    b'{"text": "a"} {}': "invalid JSON at column 15: Extra data",
    b'{"text": "a\tb"}': "invalid JSON at column 12: Invalid control character",
    b'{"text": "a\x00b"}': "invalid JSON",
    b'{"text": "\xff"}': "invalid UTF-8 at byte 11 of the line",
    b'{"text": "a", "x": "\xff"}': "invalid UTF-8 at byte 21 of the line",
    b'{"text": "a", "x": "\xed\xa0\x80"}': "invalid UTF-8",
    b'"text"': "str 'text', not a JSON object",
    b"[1, 2]": "an array, not a JSON object",
    b"null": "null, not a JSON object",
    b"{}": "no text field 'text' (the record has no fields)",
    b'{"content": "a b c", "url": "u" , "n": 1}': (
        "no text field 'text' (the record has: content, n, url); use --text-field content"
    ),
    b'{"text": null}': "the text field 'text' is null, not a string",
    b'{"text": 5}': "the text field 'text' is int 5, not a string",
    b'{"text": ["a"]}': "the text field 'text' is an array, not a string",
}
DEEP = b'{"text": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: line[:20].decode("ascii", "replace"))
@pytest.mark.parametrize("fast", [True, False])
def test_bad_lines(tmp_path: Path, line: bytes, fast: bool) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"good"}\n\n' + line + b'\n{"text":"also"}\n')
    error = refusal(path, fast=fast)
    assert (error.path, error.number) == (path, 3)
    assert BAD_LINES[line] in error.reason
    assert str(error) == f"{path}:3: {error.reason}"
    with FileDocuments([path], on_error="skip", fast=fast) as documents:
        assert texts(documents) == texts(documents) == ["good", "also"]
        assert documents.rejected == [(path, 3, error.reason)]
        assert (documents.read, documents.counts(0)) == (3, (2, 1, 1))


def test_deep_nesting_is_refused_or_followed():
    """The one difference: since CPython 3.14 what C follows is bounded by the stack, and msgspec skips many levels."""
    with pytest.raises(RecordError, match="nested too deeply"):
        RecordParser(Fields(), fast=False).parse(1, DEEP)
    try:
        assert RecordParser(Fields()).parse(1, DEEP).text == "a"
    except RecordError as error:
        assert "nested too deeply" in str(error)


GOOD_LINES = {
    b'{"text": "\\ud800x"}': "\ud800x",
    b'{"text": "a", "x": "\\udfff"}': "a",
    b'{"text": "\\ud83d\\ude00"}': "\U0001f600",
    b'{"text": 1, "text": "last"}': "last",
    b'{"te\\u0078t": "escaped"}': "escaped",
    b'{"text": "a", "x": NaN, "y": -Infinity}': "a",
    b'{"text": "a", "x": ' + b"9" * 5000 + b"}": "a",
    b'{"text": "a", "x": 1e999}': "a",
    b' {"text": ""} \t\r': "",
    b'{"text": "a", "x": ' + b"[" * 100 + b"]" * 100 + b"}": "a",
}


@pytest.mark.parametrize("line", GOOD_LINES, ids=lambda line: line[:20].decode())
@pytest.mark.parametrize("fast", [True, False])
def test_odd_lines_that_are_records(line: bytes, fast: bool) -> None:
    assert RecordParser(Fields(), fast).parse(1, line).text == GOOD_LINES[line]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def outcome(parser: RecordParser, line: bytes) -> object:
    try:
        return parser.parse(2, line)
    except RecordError as error:
        return str(error)


@needs_msgspec
@settings(max_examples=400, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["text", "id", "score", "x"]), JSON_VALUES | st.text()),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_with_and_without_msgspec_the_same(record: dict[str, object], ascii_only: bool, rng: random.Random) -> None:
    fast, slow = (RecordParser(Fields(others=("score",)), fast) for fast in (True, False))
    line = json.dumps(record, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert repr(outcome(fast, line)) == repr(outcome(slow, line))
    damaged = bytearray(line)
    for _ in range(rng.randrange(3)):
        damaged[rng.randrange(len(damaged))] = rng.choice(b'"\\{}[],:0123e.-\xff\x80\t ntu')
    assert repr(outcome(fast, bytes(damaged))) == repr(outcome(slow, bytes(damaged)))
