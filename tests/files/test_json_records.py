"""Lines of JSON: the records and errors they give, with msgspec and without."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textfiles import needs_msgspec, refusal, texts, write

from ndcore.files.documents import FileDocuments
from ndcore.files.json_records import RecordParser
from ndcore.files.records import Fields, RecordError

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
