"""Lines of JSON read and changed by `_jsonl`, against the json module of Python, and rows that it writes, by hand."""

from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ndcore._batch import Batch
from ndcore._jsonl import LineReader, encode_rows, quote

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=6,
)
RECORDS = st.fixed_dictionaries({"text": st.text()}, optional={"id": st.text() | st.integers(), "x": VALUES, "y": VALUES})


def read(data: bytes, **options: object) -> object:
    """Read all of some bytes with the fields text and id."""
    return LineReader("text", "id").read(data, 0, len(data), 1, **options)


def ids(lines: object) -> list[str | int | None]:
    """List the ids of lines."""
    found, before = [], 0
    for end, kind in zip(lines.id_ends.tolist(), lines.id_kinds.tolist(), strict=True):
        text, before = lines.ids[before:end].decode(), end
        found.append(int(text) if kind == ord("i") else text if kind else None)
    return found


@settings(max_examples=300, deadline=None)
@given(st.lists(RECORDS, min_size=1, max_size=5), st.booleans(), st.sampled_from(["\n", "\r\n", " \t\n"]))
@example([{"text": "\x00\x7f\u2028", "id": 0}], False, "\n")
def test_records_are_what_json_reads(records: list[dict[str, object]], ascii_only: bool, newline: str) -> None:
    for record in records:
        for name in ("text", "id"):
            if isinstance(record.get(name), str):
                record[name] = record[name].encode("utf-8", "replace").decode()  # type: ignore[attr-defined]
            elif isinstance(record.get(name), int):
                record[name] %= 10**17  # type: ignore[operator]
    lines = [(json.dumps(record, ensure_ascii=ascii_only) + newline).encode("utf-8", "replace") for record in records]
    found = read(b"".join(lines))
    wanted = [json.loads(line) for line in lines]
    assert not found.unusual
    assert list(found.texts) == [record["text"] for record in wanted]
    assert ids(found) == [record.get("id") for record in wanted]
    assert found.sizes.tolist() == [len(line) for line in lines]
    assert found.starts.tolist() == np.cumsum([0, *map(len, lines[:-1])]).tolist()
    assert found.numbers.tolist() == list(range(1, len(lines) + 1))


@pytest.mark.parametrize("seed", range(20))
def test_what_it_reads_of_changed_lines_is_what_json_reads(seed: int) -> None:
    rng = random.Random(seed)
    line = rb'{"id": "a\u00e9", "n": [1.5e3, -0, {"b": [true, null]}, "\ud83d\ude00"], "text": "one \" two\n\\ '
    line += "é€".encode() + b'"}'
    parts = [b"", b'"', b"\\", b"{", b"]", b",", b":", b"0", b"u", b" ", b"\xc3"]
    for _ in range(3000):
        changed = bytearray(line)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(changed))
            changed[at : at + rng.randint(0, 2)] = rng.choice(parts)
        data = bytes(changed)
        found = read(data)
        if found.unusual or not len(found.texts):
            continue
        record = json.loads(data.decode())
        assert list(found.texts) == [record["text"]]
        assert ids(found) == [record.get("id")]


def test_only_wanted_lines_are_read() -> None:
    data = b"".join(b'{"text":"%d","id":%d}\n' % (i, i) if i % 3 else b"broken\n" for i in range(1, 200))
    wanted = np.array([1, 2, 100, 199], np.int64)
    found = read(data, wanted=wanted)
    assert (list(found.texts), ids(found)) == (["1", "2", "100", "199"], [1, 2, 100, 199])
    assert found.numbers.tolist() == wanted.tolist()
    stopped = read(data, wanted=np.array([4, 6, 7], np.int64))
    assert (list(stopped.texts), stopped.unusual, stopped.number) == (["4"], True, 6)


def test_lines_are_read_until_an_unusual_one() -> None:
    data = b'{"text":"a"}\n\n \r\n{"text":"b","id":"c"}\n{"text":null}\n{"text":"d"}'
    found = read(data)
    assert (list(found.texts), found.blank, found.number, found.unusual) == (["a", "b"], 2, 5, True)
    assert data[found.end :].startswith(b'{"text":null}')
    rest = LineReader("text", "id", None, True).read(data, data.rindex(b"{"), len(data), 6)
    assert (len(rest.texts), rest.unusual) == (0, True)  # without an id that is required
    assert LineReader("text", "id", "x").read(b'{"x":1,"text":""}', 0, 17, 1).unusual


def test_many_lines_are_read_in_parts() -> None:
    data = b'{"text":""}\n' * 70_000
    first = read(data)
    assert (len(first.texts), first.number, first.unusual) == (65_536, 65_537, False)
    second = LineReader("text", "id").read(data, first.end, len(data), first.number)
    assert (len(second.texts), second.number, second.end) == (70_000 - 65_536, 70_001, len(data))


def test_refusals() -> None:
    with pytest.raises(ValueError, match="the same field 'a'"):
        LineReader("a", "a")
    with pytest.raises(ValueError, match="within the buffer of 2 bytes"):
        LineReader("a", "b").read(b"{}", 0, 3, 1)


def replaced(lines: list[bytes], texts: dict[int, str | bytes]) -> list[bytes]:
    """Replace the texts of some lines, which lie apart in a buffer; return each as it was written."""
    ends = np.cumsum([len(line) + 1 for line in lines], dtype=np.int64)
    which = np.full(len(lines), -1)
    which[list(texts)] = np.arange(len(texts))
    begins = ends - np.array([len(line) for line in lines], np.int64)
    joined, bounds = LineReader("text", "no id").replace(
        b"".join(b"{" + line for line in lines), begins, ends, which, Batch(list(texts.values())))
    return [joined[begin:end] for begin, end in itertools.pairwise(bounds.tolist())]


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from("xyz"), VALUES), st.text(), st.text(), st.booleans())
def test_only_the_text_of_a_line_is_replaced(others: dict[str, object], old: str, new: str, ascii_only: bool) -> None:
    head = json.dumps({"first": 1} | others, ensure_ascii=ascii_only)[:-1].encode("utf-8", "replace") + b' , "text" : '
    tail = b' , "last":-0} \r\n'
    line = head + json.dumps(old, ensure_ascii=ascii_only).encode("utf-8", "replace") + tail
    sound = is_utf8(new)
    expected = head + json.dumps(new, ensure_ascii=False).encode() + tail if sound else b""
    assert replaced([line, line, b"any bytes \xff"], {1: new}) == [line, expected, b"any bytes \xff"]


def is_utf8(text: str) -> bool:
    """Tell whether a str has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def test_of_two_texts_the_last_one_is_replaced() -> None:
    unusual = [b"", b"[]", b'{"text":1}', b'{"x":{"text":"a"}}', b'{"text":"a"', b'\xef\xbb\xbf{"text":"a"}']
    lines = [b'{"text": "a" ,"text" : "b"}', *unusual, b'{"text":""}']
    assert replaced(lines, dict.fromkeys(range(len(lines)), "1")) == [
        b'{"text": "a" ,"text" : "1"}', *[b""] * len(unusual), b'{"text":"1"}']
    assert replaced([b'{"text":"a"}'] * 2, {0: b"\xff", 1: b"\xc3\xa9"}) == [b"", b'{"text":"\xc3\xa9"}']
    assert replaced([], {}) == []


def test_lines_outside_the_buffer_are_refused() -> None:
    reader, zero, one = LineReader("text", "id"), np.array([0]), np.array([1])
    for begin, end in ((-1, 1), (1, 0), (0, 3)):
        with pytest.raises(ValueError, match=f"line 0 is from {begin} to {end}, and the buffer has 2 bytes"):
            reader.replace(b"{}", np.array([begin]), np.array([end]), -one, Batch([]))
    for text in (-2, 1):
        with pytest.raises(IndexError, match=f"line 0 has text {text} of 1"):
            reader.replace(b"{}", zero, one, np.array([text]), Batch(["a"]))
    with pytest.raises(ValueError, match="begins, ends and numbers of texts"):
        reader.replace(b"{}", zero, one, np.array([-1, -1]), Batch([]))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text() | st.binary()))
def test_texts_become_strings_of_json(texts: list[str | bytes]) -> None:
    decoded = [text if isinstance(text, str) else text.decode("utf-8", "surrogateescape") for text in texts]
    quoted = quote(Batch(texts))
    if not all(map(is_utf8, decoded)):
        assert quoted is None
        return
    assert quoted is not None
    data, ends = quoted
    assert [data[begin:end].decode() for begin, end in itertools.pairwise(ends.tolist())] == [
        json.dumps(text, ensure_ascii=False) for text in decoded]


NUMBERS = [0, -1, 9, 10, 99, 100, 10**18, -(10**18), 2**63 - 1, -(2**63)]


def test_rows_have_their_cells_between_the_heads() -> None:
    which = np.array([2, 0, 0, 1, 2, 2, 1, 0, 1, 2])
    texts = (b"_oneseven", np.array([1, 4, 4, 9]), which)
    rows = encode_rows([b"<", b"|", b"", b">\n"], [np.array(NUMBERS), texts, np.arange(10)], 10)
    cells = [["one", "", "seven"][number] for number in which]
    assert rows.decode() == "".join(f"<{number}|{cell}{i}>\n" for i, (number, cell) in enumerate(
        zip(NUMBERS, cells, strict=True)))
    assert encode_rows([b"a"], [], 2) == b"aa"
    assert encode_rows([b"a", b"b"], [(b"", np.array([0]), np.empty(0, np.int64))], 0) == b""


@pytest.mark.parametrize(("heads", "column", "error", "message"), [
    ([b""], np.zeros(2, np.int64), ValueError, "1 columns have 2 heads, not 1"),
    ([b"", b""], np.zeros(3, np.int64), ValueError, "of one length, got 2, 3"),
    ([b"", b""], (b"ab", np.array([0, 3]), np.zeros(2, np.int64)), ValueError, "ends of column 0 do not cut 2 bytes"),
    ([b"", b""], (b"ab", np.array([1, 0]), np.zeros(2, np.int64)), ValueError, "ends of column 0 do not cut 2 bytes"),
    ([b"", b""], (b"ab", np.empty(0, np.int64), np.zeros(2, np.int64)), ValueError, "ends of column 0 do not cut"),
    ([b"", b""], (b"ab", np.array([0, 2]), np.array([0, 1])), IndexError, "a cell of column 0 is none of 1"),
    ([b"", b""], (b"ab", np.array([0, 2]), np.array([0, -1])), IndexError, "a cell of column 0 is none of 1"),
])
def test_columns_that_do_not_fit_are_refused(heads: list[bytes], column: object, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        encode_rows(heads, [column], 2)
