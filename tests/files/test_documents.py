"""Readers: every format, every refusal, and what a second pass may rely on."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import socket
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore.files.discovery import find
from ndcore.files.document_fields import Grouping, Ids, Ranking
from ndcore.files.documents import Documents
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.input_names import distinct_names
from ndcore.files.json_records import RecordParser
from ndcore.files.records import Fields, RecordError

ROWS = [{"id": f"d{i}", "text": f"text number {i}", "score": i % 3, "lang": "en" if i % 2 else "fr"} for i in range(25)]
needs_msgspec = pytest.mark.skipif("not __import__('importlib.util').util.find_spec('msgspec')", reason="no msgspec")


def jsonl(rows: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def write(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name.endswith(".gz"):
        data = gzip.compress(data)
    elif path.name.endswith(".zst"):
        data = pytest.importorskip("zstandard").ZstdCompressor().compress(data)
    elif path.name.endswith(".bz2"):
        data = bz2.compress(data)
    elif path.name.endswith(".xz"):
        data = lzma.compress(data)
    path.write_bytes(data)
    return str(path)


def write_parquet(path: Path, rows: list[dict[str, object]], schema: object = None, **options: object) -> str:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, **options)
    return str(path)


def texts(documents: Documents) -> list[str | bytes]:
    return [text for batch in documents.batches() for text in batch]


def read(path: str, **options: object) -> tuple[list[str | bytes], list[str | int]]:
    with Documents([path], **options) as documents:  # type: ignore[arg-type]
        first = texts(documents)
        assert texts(documents) == first
        return first, list(documents.ids)


def refusal(path: str, **options: object) -> DocumentError:
    with Documents([path], **options) as documents, pytest.raises(DocumentError) as caught:  # type: ignore[arg-type]
        documents.scan()
    return caught.value


# ---- formats


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "A.JSONL.gz", "a.ndjson.zst", "a.jsonl.bz2", "a.jsonl.xz"])
def test_records_of_every_compression(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, jsonl(ROWS))
    assert read(path) == ([row["text"] for row in ROWS], [row["id"] for row in ROWS])


@pytest.mark.parametrize("group", [7, 1000])
def test_parquet(tmp_path: Path, group: int) -> None:
    path = write_parquet(tmp_path / "a.parquet", ROWS, row_group_size=group)
    assert read(path) == ([row["text"] for row in ROWS], [row["id"] for row in ROWS])


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary", "large_binary", "dictionary"])
def test_parquet_types(tmp_path: Path, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    if kind == "string_view" and int(pa.__version__.split(".")[0]) < 18:
        pytest.skip("this pyarrow writes no string_view")
    types = {"dictionary": pa.dictionary(pa.int32(), pa.string())}
    column = types[kind] if kind in types else getattr(pa, kind)()
    schema = pa.schema([("text", column), ("id", pa.int64())])
    values = [b"one", b"two", b"\xff"] if "binary" in kind else ["one", "two", "é"]
    rows: list[dict[str, object]] = [{"text": value, "id": i} for i, value in enumerate(values)]
    path = write_parquet(tmp_path / "a.parquet", rows, schema)
    assert read(path) == (values, [0, 1, 2])


@pytest.mark.parametrize("name", ["a.txt", "a", "a.md", "a.txt.gz", "a.xz"])
def test_any_other_file_is_one_document(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, b"\xef\xbb\xbfone\r\n\x1btwo\xff")
    assert read(path) == ([b"\xef\xbb\xbfone\r\n\x1btwo\xff"], [name])


def test_directory_sorted_by_path_with_records_inside(tmp_path: Path) -> None:
    for name in ("b/x.txt", "b.txt", "a", "B", ".hidden"):
        write(tmp_path / "d" / name, name.encode())
    write(tmp_path / "d" / "c.jsonl.gz", b'{"text": "in c"}\n{"text": "too", "id": 7}\n')
    found, ids = read(str(tmp_path / "d"))
    assert ids == ["B", "a", "b.txt", "b/x.txt", "c.jsonl.gz:1", 7]
    assert found == [b"B", b"a", b"b.txt", b"b/x.txt", "in c", "too"]


def test_directory_links_and_special_files(tmp_path: Path) -> None:
    write(tmp_path / "d" / "a", b"text")
    (tmp_path / "d" / "link").symlink_to("a")
    (tmp_path / "d" / "loop").symlink_to(".", target_is_directory=True)
    os.mkfifo(tmp_path / "d" / "fifo")
    with Documents([str(tmp_path / "d")]) as documents:
        assert texts(documents) == [b"text", b"text"]
        ignored = [(Path(path).name, kind) for path, kind in documents.ignored]
        assert ignored == [("fifo", "FIFO"), ("loop", "link to a directory")]
    (tmp_path / "d" / "nowhere").symlink_to("missing")
    assert refusal(str(tmp_path / "d")).reason == "cannot be read: No such file or directory"


def test_gzip_and_zstd_of_many_members(tmp_path: Path) -> None:
    parts = [jsonl(ROWS[:5])[:-7], jsonl(ROWS[:5])[-7:] + jsonl(ROWS[5:])]
    (tmp_path / "a.jsonl.gz").write_bytes(b"".join(map(gzip.compress, parts)) + b"\0" * 10)
    assert len(read(str(tmp_path / "a.jsonl.gz"))[0]) == 25
    zstandard = pytest.importorskip("zstandard")
    skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    frames = [zstandard.ZstdCompressor(write_checksum=True).compress(part) for part in parts]
    (tmp_path / "a.jsonl.zst").write_bytes(skippable + frames[0] + skippable + frames[1] + skippable)
    assert len(read(str(tmp_path / "a.jsonl.zst"))[0]) == 25


def test_lines_end_at_lf_only(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"text": "a\u2028b\u2029c\u0085d\x0be\x0cf"}, {"text": "g\r"}]
    path = write(tmp_path / "a.jsonl", jsonl(rows).replace(b"\n", b"\r\n"))
    assert read(path)[0] == [row["text"] for row in rows]


def test_blank_lines_and_bom_and_no_final_newline(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"text":"a"}\n\n \t\r\n{"text":"b"}')
    with Documents([path]) as documents:
        assert texts(documents) == ["a", "b"]
        assert (documents.blank, documents.read, list(documents.ids)) == (2, 2, ["a.jsonl:1", "a.jsonl:4"])


def test_empty_inputs(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.jsonl", b"")) == ([], [])
    assert read(write(tmp_path / "a.txt", b"")) == ([b""], ["a.txt"])
    (tmp_path / "d").mkdir()
    assert read(str(tmp_path / "d")) == ([], [])


def test_batches_are_bounded(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"text": "x" * 3_000_000} for _ in range(8)] + [{"text": "y" * 20_000_000}]
    with Documents([write(tmp_path / "a.jsonl", jsonl(rows))]) as documents:
        assert [len(batch) for batch in documents.batches()] == [2, 2, 2, 2, 1]


def test_a_pass_given_up_is_begun_again(tmp_path: Path) -> None:
    with Documents([write(tmp_path / "a.jsonl", jsonl(ROWS))], keep=Ranking("score", False)) as documents:
        next(documents.batches())
        assert len(texts(documents)) == len(documents.ids) == len(documents) == 25


# ---- streams


def test_standard_input_is_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with (tmp_path / "in").open("wb+") as stdin:
        stdin.write(jsonl(ROWS))
        stdin.seek(0)
        monkeypatch.setattr(sys, "stdin", stdin)
        with Documents(["-"]) as documents:
            assert texts(documents) == texts(documents) == [row["text"] for row in ROWS]
            assert documents.sources[0].name == "stdin.jsonl"
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(("name", "pack"), [("f", bytes), ("f.jsonl", bytes), ("f.jsonl.gz", gzip.compress)])
def test_fifo(tmp_path: Path, name: str, pack: object) -> None:
    fifo = tmp_path / name
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(pack(jsonl(ROWS))))  # type: ignore[operator]
    writer.start()
    assert read(str(fifo))[0] == [row["text"] for row in ROWS]
    writer.join()


@pytest.mark.parametrize("name", ["a.parquet", "f"])
def test_parquet_stream(tmp_path: Path, name: str) -> None:
    data = Path(write_parquet(tmp_path / "stored", ROWS)).read_bytes()
    fifo = tmp_path / name
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(data,))
    writer.start()
    with Documents([str(fifo)]) as documents:
        assert texts(documents) == texts(documents) == [row["text"] for row in ROWS]
        assert documents.sources[0].name == f"{name.partition('.')[0]}.parquet"
    writer.join()


# ---- ids


def test_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"","id":-5}\n{"text":"","id":"5"}\n{"text":""}\n{"text":"","id":""}')
    assert read(path)[1] == [-5, "5", "a.jsonl:3", ""]
    assert read(write(tmp_path / "b.jsonl", b'{"t":"","key":9}'), text_field="t", id_field="key")[1] == [9]


@pytest.mark.parametrize("value", ["1.0", "null", "true", "[1]", '{"a":1}', "1e400", "NaN"])
def test_ids_of_other_types(tmp_path: Path, value: str) -> None:
    error = refusal(write(tmp_path / "a.jsonl", b'{"text":"","id":1}\n{"text":"","id":%s}' % value.encode()))
    assert error.number == 2
    assert "an id is a string or an integer" in error.reason


def test_missing_id_matters_only_if_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"a","url":"u"}')
    error = refusal(path, require_id=True)
    assert str(error) == f"{path}:1: no id field 'id' (the record has: text, url)"


def test_parquet_without_ids_and_with_others(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", [{"text": "a"}, {"text": "b"}])
    assert read(path)[1] == ["a.parquet:1", "a.parquet:2"]
    assert "no column 'id'" in refusal(path, require_id=True).reason
    error = refusal(write_parquet(tmp_path / "b.parquet", [{"text": "a", "id": 1.5}]))
    assert (error.number, error.reason) == (1, "the id field 'id' is float 1.5; an id is a string or an integer")


def test_ids_column() -> None:
    values: list[str | int] = ["a", 1, "1", "", "\udc80é", 10**30, -7, "a", 1, "a"]
    ids = Ids()
    for value in values:
        ids.append(value)
    assert (list(ids), len(ids), ids.repeated()) == (values, 10, 3)
    with pytest.raises(IndexError):
        ids[10]


# ---- refusals

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
    b'{"text": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}": "nested too deeply",
}


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: line[:20].decode("ascii", "replace"))
@pytest.mark.parametrize("fast", [True, False])
def test_bad_lines(tmp_path: Path, line: bytes, fast: bool) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"good"}\n\n' + line + b'\n{"text":"also"}\n')
    error = refusal(path, fast=fast)
    assert (error.path, error.number) == (path, 3)
    assert BAD_LINES[line] in error.reason
    assert str(error) == f"{path}:3: {error.reason}"
    with Documents([path], on_error="skip", fast=fast) as documents:
        assert texts(documents) == texts(documents) == ["good", "also"]
        assert documents.rejected == [(path, 3, error.reason)]
        assert (documents.read, documents.counts(0)) == (3, (2, 1, 1))


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


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
@pytest.mark.parametrize("cut", [1, 9, 400])
def test_truncated(tmp_path: Path, name: str, cut: int) -> None:
    rng = random.Random(1)
    rows: list[dict[str, object]] = [{"text": rng.randbytes(50).hex()} for _ in range(4000)]
    path = Path(write(tmp_path / name, jsonl(rows)))
    path.write_bytes(path.read_bytes()[:-cut])
    error = refusal(str(path))
    assert error.number is not None
    assert error.number > 1000
    assert "truncated" in error.reason
    with Documents([str(path)], on_error="skip") as documents:
        assert texts(documents) == texts(documents) == [row["text"] for row in rows[: error.number - 1]]
        assert len(documents.rejected) == 1


@pytest.mark.parametrize(("name", "kind"), [("a.jsonl.gz", "gzip"), ("a.jsonl.zst", "zstd")])
def test_damaged(tmp_path: Path, name: str, kind: str) -> None:
    if kind == "zstd":
        pytest.importorskip("zstandard")
    path = tmp_path / name
    magic = {"gzip": b"\x1f\x8b\x08", "zstd": b"\x28\xb5\x2f\xfd"}[kind]
    path.write_bytes(magic + b"this is not compressed, it only begins so")
    error = refusal(str(path))
    assert (error.number, f"not valid {kind} data" in error.reason) == (1, True)
    path.write_bytes(b"this is not compressed at all, it only has the name")
    error = refusal(str(path))
    assert (error.number, f"does not hold {kind} data (no compressed data)" in error.reason) == (None, True)
    write(path, jsonl([{"text": "word " * 1000 + str(i)} for i in range(3000)]))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    assert refusal(str(path)).number is not None


def test_parquet_refusals(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    path = write_parquet(tmp_path / "a.parquet", [{"content": "a", "n": 1}])
    error = refusal(path)
    assert str(error) == (f"{path}: no column 'text' (the file has: content, n); name the right one with --text-field")
    assert refusal(path, text_field="n").reason == "the text column 'n' holds int64, not strings or binary"
    rows: list[dict[str, object]] = [{"text": "a"}, {"text": None}, {"text": "c"}]
    path = write_parquet(tmp_path / "b.parquet", rows)
    assert str(refusal(path)) == f"{path}:2: the text column 'text' is null"
    with Documents([path], on_error="skip") as documents:
        assert texts(documents) == texts(documents) == ["a", "c"]
        assert list(documents.ids) == ["b.parquet:1", "b.parquet:3"]
    garbage = write(tmp_path / "c.parquet", b"PAR1 not really PAR1")
    assert "not a readable Parquet file" in refusal(garbage).reason
    wrong = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff")]
    )
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"text": wrong}), tmp_path / "d.parquet")
    error = refusal(str(tmp_path / "d.parquet"))
    assert (error.number, "not UTF-8" in error.reason) == (2, True)


@pytest.mark.parametrize("module", ["zstandard", "pyarrow"])
def test_missing_extra_says_how_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    path = write(tmp_path / ("a.parquet" if module == "pyarrow" else "b.jsonl"), b"")
    if module == "zstandard":
        path = str(Path(path).rename(tmp_path / "b.jsonl.zst"))
    monkeypatch.setitem(sys.modules, module, None)
    assert "pip install 'ndcore[" in refusal(path).reason


def test_missing_inputs(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="nope: no such file or directory"):
        find([str(tmp_path / "nope")])
    (tmp_path / "link").symlink_to("gone")
    with pytest.raises(DocumentError, match="symbolic link to gone, which does not exist"):
        find([str(tmp_path / "link")])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "d" / "a.txt", b"x"))
    path.chmod(0)
    assert "Permission denied" in refusal(str(path)).reason


def test_special_file_in_directory_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "d" / "s"))
        with Documents([str(tmp_path / "d")]) as documents:
            assert (texts(documents), len(documents.ignored)) == ([], 1)


# ---- changes between passes


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt"])
def test_changed_file(tmp_path: Path, name: str) -> None:
    path = Path(write(tmp_path / name, jsonl(ROWS)))
    with Documents([str(path)], on_error="skip") as documents:
        documents.scan()
        with path.open("ab") as file:
            file.write(b"\n")
        with pytest.raises(DocumentError, match="changed while ndcore was reading it"):
            texts(documents)
        path.unlink()
        with pytest.raises(DocumentError, match="cannot be read: No such file"):
            texts(documents)


def test_replaced_file(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "a.jsonl", jsonl(ROWS)))
    with Documents([str(path)]) as documents:
        documents.scan()
        status = path.stat()
        (tmp_path / "b").write_bytes(jsonl(ROWS))
        os.utime(tmp_path / "b", ns=(status.st_atime_ns, status.st_mtime_ns))
        (tmp_path / "b").replace(path)
        with pytest.raises(DocumentError, match="changed"):
            texts(documents)


# ---- names of inputs


def test_distinct_names() -> None:
    assert distinct_names(["/x/a", "/x/b", "-"]) == ["a", "b", "stdin.jsonl"]
    assert distinct_names(["/x/a", "/y/a", "/y/b"]) == ["x/a", "y/a", "b"]
    assert distinct_names(["/1/x/a", "/2/x/a", "/y/a"]) == ["1/x/a", "2/x/a", "y/a"]
    assert distinct_names(["/p/x", "/q/x/b", "/r/b"]) == ["p/x", "q/x/b", "r/b"]


def test_names_and_ids_of_many_inputs(tmp_path: Path) -> None:
    one, two = write(tmp_path / "1" / "a.txt", b"1"), write(tmp_path / "2" / "a.txt", b"2")
    write(tmp_path / "d" / "x", b"3")
    with Documents([one, two, str(tmp_path / "d")]) as documents:
        documents.scan()
        assert [source.name for source in documents.sources] == ["1/a.txt", "2/a.txt", "d/x"]
        assert list(documents.ids) == ["1/a.txt", "2/a.txt", "d/x"]


def test_overlapping_inputs(tmp_path: Path) -> None:
    path = write(tmp_path / "d" / "a.txt", b"")
    with pytest.raises(UsageError, match="given twice"):
        find([path, os.path.relpath(path)])
    with pytest.raises(UsageError, match="lies inside the input"):
        find([str(tmp_path / "d"), path])


# ---- fields


def test_fields_are_collected(tmp_path: Path) -> None:
    ranking, grouping = Ranking("score", True), Grouping("lang")
    with Documents([write(tmp_path / "a.jsonl", jsonl(ROWS))], keep=ranking, by=grouping) as documents:
        documents.scan()
        documents.scan()
    assert ranking.priorities().tolist() == [2 - i % 3 for i in range(25)]
    assert grouping.codes().tolist() == [i % 2 for i in range(25)]
    path = write_parquet(tmp_path / "a.parquet", ROWS)
    ranking = Ranking("score", False)
    with Documents([path], keep=ranking, by=Grouping("lang")) as documents:
        documents.scan()
    assert ranking.priorities().tolist() == [i % 3 for i in range(25)]


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (b'{"text":"","f":{}}', "the field 'f' is an object; --keep needs numbers, strings or dates"),
        (b'{"text":"","f":NaN}', "the field 'f' is float nan; --keep needs numbers, strings or dates"),
        (b'{"text":"","f":"x"}', "the field 'f' is str 'x', but a number in the records before; --keep needs one type"),
    ],
)
def test_fields_that_cannot_be_ordered(tmp_path: Path, second: bytes, reason: str) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"","f":1}\n' + second + b'\n{"text":"z","f":2.5}')
    error = refusal(path, keep=Ranking("f", True))
    assert (error.number, error.reason.startswith(reason)) == (2, True)
    ranking = Ranking("f", True)
    with Documents([path], keep=ranking, on_error="skip") as documents:
        assert texts(documents) == texts(documents) == ["", "z"]
        assert ranking.priorities().tolist() == [1, 0]


def test_fields_that_cannot_group(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"","f":1}\n{"text":"","f":null}')
    assert "--by needs strings or integers" in refusal(path, by=Grouping("f")).reason
    assert "text file has no field" in refusal(write(tmp_path / "a.txt", b""), by=Grouping("f")).reason


def test_annotation_field_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"text":"a"}\n{"text":"b","ndcore":null}')
    error = refusal(path, annotate=True)
    assert (error.number, "has a field 'ndcore' already" in error.reason) == (2, True)
    path = write_parquet(tmp_path / "a.parquet", [{"text": "a", "ndcore_class": "b"}])
    assert "has a column 'ndcore_class' already" in refusal(path, annotate=True).reason


def test_on_error_is_checked() -> None:
    with pytest.raises(ValueError, match="on_error must be"):
        Documents([], on_error="ignore")


# ---- how far a pass is


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_position(tmp_path: Path, name: str) -> None:
    """The position ascends from batch to batch to the size of all files, and begins again with each pass."""
    rng = np.random.default_rng(3)
    texts = [" ".join(f"{word:x}" for word in rng.integers(0, 2**32, 800)) for _ in range(4000)]
    if name.endswith("parquet"):
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"text": texts}), tmp_path / name, row_group_size=500)
    else:
        data = b"".join(b'{"text": "%s"}\n' % text.encode() for text in texts)
        (tmp_path / name).write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    (tmp_path / "b.txt").write_text("one more")
    size = sum((tmp_path / other).stat().st_size for other in (name, "b.txt"))
    with Documents([str(tmp_path / name), str(tmp_path / "b.txt")]) as documents:
        assert documents.position() == (0, size)
        for _ in range(2):
            found = []
            for _ in documents.batches():
                found.append(documents.position())
            assert [total for _, total in found] == [size] * len(found)
            read = [done for done, _ in found]
            assert len(read) >= 4
            assert read == sorted(read)
            assert 0.1 * size < read[0] < 0.6 * size
            assert read[-1] == size


def test_position_of_a_stream_is_known_once_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "a b c"}\n')))
    with Documents(["-"]) as documents:
        assert documents.position() is None
        list(documents.batches())
        done, total = documents.position() or (0, 1)
        assert done == total > 0
