"""Formats: known by their first bytes, in every compression, kept to the byte, refused by name where they are no text."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore.cli import main
from ndcore.documents import DocumentError, Documents
from ndcore.files import elements as elements_module
from ndcore.files.compression import decompressed
from ndcore.files.delimited import cells, raw_rows
from ndcore.files.elements import Elements
from ndcore.files.sources import Source

WORDS = re.findall(r"\w+", "the quick brown fox jumps over the lazy dog while seven wizards quietly boil a large pot")


def text(seed: int) -> str:
    return " ".join(WORDS[(seed * 7 + i * i + i * seed) % len(WORDS)] + str(seed) for i in range(20))


TEXTS = [text(0), text(1), text(0).upper(), text(2) + ', "quoted"\nover lines', text(1)]
ROWS: list[dict[str, Any]] = [{"id": f"r{i}", "text": t, "n": i} for i, t in enumerate(TEXTS)]
KEPT = [0, 1, 3]


def zst(data: bytes) -> bytes:
    made: bytes = pytest.importorskip("zstandard").ZstdCompressor().compress(data)
    return made


PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.compress, ".zst": zst, ".bz2": bz2.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
}
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress,
    ".zst": lambda data: pytest.importorskip("zstandard").ZstdDecompressor().decompressobj().decompress(data),
}


def quoted(value: object) -> str:
    return '"' + str(value).replace('"', '""') + '"'


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def compact(rows: list[dict[str, Any]]) -> bytes:
    return b"[" + b",".join(json.dumps(row).encode() for row in rows) + b"]"


def pretty(rows: list[dict[str, Any]]) -> bytes:
    return ("[\n  " + ",\n  ".join(json.dumps(row, indent=2) for row in rows) + "\n]\n").encode()


def objects(rows: list[dict[str, Any]]) -> bytes:
    return ("\n".join(json.dumps(row, indent=1) for row in rows) + "\n").encode()


def csv(rows: list[dict[str, Any]]) -> bytes:
    return "".join(["id,text,n\r\n", *(f"{r['id']},{quoted(r['text'])},{r['n']}\r\n" for r in rows)]).encode()


def tsv(rows: list[dict[str, Any]]) -> bytes:
    return "".join(["\ufeffn\ttext\tid\n", *(f"{r['n']}\t{quoted(r['text'])}\t{r['id']}\n" for r in rows)]).encode()


RECORDS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "a.jsonl": lines, "a.jl": lines, "b.json": lines, "part-00000": lines, "c.json": compact, "d.json": pretty,
    "e.jsonl": pretty, "f.json": objects, "g.csv": csv, "h.tsv": tsv,
}


def write(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def read(path: str | Path, **options: Any) -> tuple[list[str | bytes], list[str | int]]:
    with Documents([str(path)], **options) as documents:
        first = [text for batch in documents.batches() for text in batch]
        assert [text for batch in documents.batches() for text in batch] == first
        return first, list(documents.ids)


def refusal(path: str | Path, **options: Any) -> DocumentError:
    with Documents([str(path)], **options) as documents, pytest.raises(DocumentError) as caught:
        documents.scan()
    return caught.value


def dedup(tmp_path: Path, *arguments: object) -> dict[str, Any]:
    assert main(["dedup", *map(str, arguments), "-o", str(tmp_path / "out"), "-q"]) == 0
    summary: dict[str, Any] = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    return summary


def source(path: str | Path, kind: str) -> Source:
    return Source(str(path), "x", "x", kind, "", str(path), "")


# ---- records of every format in every compression


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("name", RECORDS)
def test_records_are_read_and_kept_to_the_byte(tmp_path: Path, name: str, ending: str) -> None:
    path = write(tmp_path / (name + ending), PACK[ending](RECORDS[name](ROWS)))
    assert read(path) == (TEXTS, [row["id"] for row in ROWS])
    summary = dedup(tmp_path, path)
    assert (summary["counts"]["kept"], summary["counts"]["dropped"]) == (3, 2)
    kept = UNPACK[ending]((tmp_path / "out" / "kept" / (name + ending)).read_bytes())
    assert kept == RECORDS[name]([ROWS[i] for i in KEPT])


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("name", ["a.csv", "b.json", "c.txt", "d"])
def test_compression_that_no_name_tells(tmp_path: Path, name: str, ending: str) -> None:
    data = {"a.csv": csv(ROWS), "b.json": pretty(ROWS)}.get(name, text(5).encode())
    path = write(tmp_path / name, PACK[ending](data))
    expected = TEXTS if name in ("a.csv", "b.json") else [text(5).encode()]
    assert read(path)[0] == expected
    dedup(tmp_path, path)
    kept = (tmp_path / "out" / "kept" / name).read_bytes()
    assert kept[:4] == Path(path).read_bytes()[:4]
    assert UNPACK[ending](kept) == (data if len(expected) == 1 else RECORDS[{"a": "g.csv", "b": "d.json"}[name[0]]](
        [ROWS[i] for i in KEPT]))


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_texts_are_decompressed_and_kept_as_they_are(tmp_path: Path, ending: str) -> None:
    for name, content in (("a.txt", text(1)), ("b", text(1).upper()), ("c.changes", text(2))):
        write(tmp_path / "d" / (name + ending), PACK[ending](content.encode()))
    summary = dedup(tmp_path, tmp_path / "d")
    assert summary["counts"]["dropped_by_class"]["lexical"] == 1
    kept = sorted((tmp_path / "out" / "kept" / "d").iterdir())
    assert [path.name for path in kept] == [f"a.txt{ending}", f"c.changes{ending}"]
    assert [path.read_bytes() for path in kept] == [(tmp_path / "d" / path.name).read_bytes() for path in kept]


@pytest.mark.parametrize("ending", PACK)
def test_a_name_that_lies(tmp_path: Path, ending: str) -> None:
    for other in PACK:
        if other and other != ending:
            path = write(tmp_path / f"a.jsonl{other}", PACK[ending](lines(ROWS)))
            assert f"its name ends in {other}, but it does not hold" in refusal(path).reason
            with Documents([path], on_error="skip") as documents:
                assert (len(documents), len(documents.rejected)) == (0, 1)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("name", ["a.json", "a.csv", "a.txt"])
def test_truncated_compression_is_told(tmp_path: Path, name: str, ending: str) -> None:
    many = [{"id": i, "text": os.urandom(400).hex()} for i in range(2600)]
    table = b"id,text\n" + b"".join(b"%d,%s\n" % (r["id"], r["text"].encode()) for r in many)
    plain = text(1).encode() * 5000 + os.urandom(300000).hex().encode()
    data = PACK[ending]({"a.json": compact(many), "a.csv": table}.get(name, plain))
    path = write(tmp_path / (name + ending), data[: len(data) // 2])
    error = refusal(path)
    assert "truncated" in error.reason
    if name != "a.txt":
        with Documents([path], on_error="skip") as documents:
            assert 0 < len(documents) < 2600
            assert documents.rejected[0].number == error.number is not None
        summary = dedup(tmp_path, path, "--on-error", "skip")
        assert summary["counts"]["kept"] > 0
        kept = UNPACK[ending]((tmp_path / "out" / "kept" / (name + ending)).read_bytes())
        assert name != "a.json" or len(json.loads(kept)) == summary["counts"]["kept"]


def test_decompression_is_bounded() -> None:
    for ending, pack in (("bz2", bz2.compress), ("xz", lzma.compress)):
        packed = pack(bytes(64 << 20))
        assert len(packed) < 12_000
        stream = decompressed(io.BytesIO(packed), ending, "x")
        raw = stream.raw  # its buffer holds what one call of the decompressor returned
        assert raw.readinto(bytearray(10)) == 10
        assert len(raw._ready) <= 1 << 20  # type: ignore[attr-defined]


# ---- JSON


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_elements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(elements_module, "_CHUNK", chunk)
    made = [b'{"a":"]}\\"{[,"}', b"[1,[2]]", b"null", b'"x,]"', b"-1.5e3", b'{ }', b'{"b":"\\\\"}']
    for data in (b"[" + b",".join(made) + b"]", b"\xef\xbb\xbf \n[ " + b" ,\r\n ".join(made) + b"\t]\n\n"):
        found = Elements(source(write(tmp_path / "a.json", data), "json"))
        parts = list(found)
        assert [(number, raw) for number, _, raw in parts] == list(enumerate(made, 1))
        assert b"".join(before + raw for _, before, raw in parts) + found.closing == data
    assert list(Elements(source(write(tmp_path / "a.json", b" [ ] "), "json"))) == []


@given(st.lists(st.recursive(st.none() | st.text() | st.integers() | st.booleans(),
                             lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)), max_size=5),
       st.sampled_from([None, 0, 2]))
@settings(max_examples=60, deadline=None)
def test_elements_of_any_array(tmp_path_factory: pytest.TempPathFactory, values: list[Any], indent: int | None) -> None:
    path = tmp_path_factory.mktemp("any") / "a.json"
    path.write_text(json.dumps(values, indent=indent, ensure_ascii=False), encoding="utf-8", errors="surrogatepass")
    assert [json.loads(raw.decode("utf-8", "surrogatepass")) for _, _, raw in Elements(source(path, "json"))] == values


@pytest.mark.parametrize(
    ("data", "number", "reason"),
    [
        (b'[{"text":"a"} {"text":"b"}]', 2, "no comma stands after"),
        (b'[{"text":"a"},]', 2, "no value stands here"),
        (b'[{"text":"a"}', 2, "the file ends before the array does"),
        (b'[{"text":"a', 1, "the file ends within it"),
        (b'[{"text":"a"}] x', 2, "something follows the end of the array"),
        (b'{"text":\n"a"}\n,\n{"text":"b"}', 2, "no JSON object begins here"),
        (b'[{"text":"a"}, 7]', 2, "int 7, not a JSON object"),
        (b'[{"text":"a"}, {"text":}]', 2, "invalid JSON at column"),
        (b"[1, 2]", 1, "int 1, not a JSON object"),
        (b"// a comment\n{}", None, "no JSON: it begins with"),
        (b'{"data": [{"text": "a"}]}', 1, "no text field 'text' (the record has: data)"),
    ],
)
def test_json_that_is_none(tmp_path: Path, data: bytes, number: int | None, reason: str) -> None:
    error = refusal(write(tmp_path / "a.json", data))
    assert (error.number, reason in error.reason) == (number, True), error.reason


def test_a_long_element_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements_module, "LONGEST", 10_000)
    monkeypatch.setattr(elements_module, "_CHUNK", 1000)
    path = write(tmp_path / "a.json", b'[{"text":"a"},{"text":"' + b"b" * 30_000 + b'"}]')
    assert (refusal(path).number, "longer than" in refusal(path).reason) == (2, True)


def test_splitting_is_linear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are looked at again while an element grows beyond what was read."""
    monkeypatch.setattr(elements_module, "_CHUNK", 1 << 10)
    looked: list[int] = []

    class Counting:
        def __init__(self, pattern: Any) -> None:
            self.pattern = pattern

        def match(self, data: bytearray, at: int) -> Any:
            found = self.pattern.match(data, at)
            looked.append((found.end() if found else len(data)) - at)
            return found

    monkeypatch.setattr(elements_module, "_BRACKET", Counting(elements_module._BRACKET))
    path = write(tmp_path / "a.json", b'[{"text":"' + b"b" * (1 << 20) + b'"}]')
    assert len(list(Elements(source(path, "json")))) == 1
    assert sum(looked) < 3 << 20


def test_json_annotated_and_on_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = write(tmp_path / "a.json", pretty(ROWS))
    dedup(tmp_path, path, "--annotate")
    found = json.loads((tmp_path / "out" / "annotated" / "a.json").read_bytes())
    assert [record.pop("ndcore")["class"] for record in found] == ["kept", "kept", "lexical", "kept", "identical"]
    assert found == ROWS
    assert main(["dedup", path, "-o", "-", "-q"]) == 0
    out = capfdbinary.readouterr().out.splitlines()
    assert [json.loads(line) for line in out] == [ROWS[i] for i in KEPT]


def test_a_single_object_is_a_record(tmp_path: Path) -> None:
    for name, i in (("a", 0), ("b", 2), ("c", 3)):
        write(tmp_path / "d" / f"{name}.json", json.dumps(ROWS[i], indent=2).encode())
    write(tmp_path / "d" / "settings.json", b'{\n  "name": "x"\n}')
    write(tmp_path / "d" / "with_comments.json", b'// settings\n{"name": "x"}')
    summary = dedup(tmp_path, tmp_path / "d")
    assert (summary["counts"]["read"], summary["counts"]["kept"]) == (3, 2)
    assert [path.name for path in sorted((tmp_path / "out" / "kept" / "d").iterdir())] == ["a.json", "c.json"]
    assert {(Path(item["path"]).name, item["kind"]) for item in summary["ignored"]} == {
        ("settings.json", "JSON that is no record"), ("with_comments.json", "no JSON, whatever its name says")
    }
    error = refusal(tmp_path / "d" / "settings.json")  # named, it is refused
    assert (error.number, "no text field 'text'" in error.reason) == (1, True)


# ---- CSV and TSV


def test_rows_as_they_stand(tmp_path: Path) -> None:
    rows = [b"id,text\r\n", b'1,"a\r\n""b"",\nc"\r\n', b'2,5" disk\n', b"\n", b'3,""\n', b'"4","x"']
    path = write(tmp_path / "a.csv", b"".join(rows))
    assert [row for _, row in raw_rows(source(path, "csv"))] == rows
    assert [number for number, _ in raw_rows(source(path, "csv"))] == [1, 2, 5, 6, 7, 8]
    assert read(path) == (['a\r\n"b",\nc', '5" disk', "", "x"], ["1", "2", "3", "4"])
    with Documents([path]) as documents:
        assert (len(documents), documents.blank) == (4, 1)


@given(st.lists(st.lists(st.text(alphabet='ab",\n\r\té'), min_size=3, max_size=3), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_rows_of_any_table(tmp_path_factory: pytest.TempPathFactory, table: list[list[str]]) -> None:
    import csv as standard

    path = tmp_path_factory.mktemp("any") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        standard.writer(file).writerows([["a", "b", "c"], *table])
    rows = [row for _, row in raw_rows(source(path, "csv"))]
    assert b"".join(rows) == path.read_bytes()
    assert [[cell.decode() for cell in cells(row, b",")] for row in rows[1:]] == table


@pytest.mark.parametrize(
    ("data", "number", "reason"),
    [
        (b"id,content\n1,a\n", None, "no column 'text' (the file has: id, content); name the right one with --text-field"),
        (b"text,text\na,b\n", None, "2 columns are called 'text'"),
        (b"id,text\n1,a\n2\n", 3, "1 fields, where the header has 2"),
        (b'id,text\n1,"a\nb"\n2,b,c\n', 4, "3 fields, where the header has 2"),
        (b'id,text\n1,"a"b\n', 2, "after the closing quote of field 2 comes 'b'"),
        (b'id,text\n1,"a\n2,b\n', 2, "a quoted field of this row is not closed"),
        (b"id,text\n1,caf\xe9\n", 2, "the row is not UTF-8"),
        (b"id,text\r1,a\r2,b\r", None, "its lines end with CR alone"),
        (b"\n", None, "no column 'text'"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, data: bytes, number: int | None, reason: str) -> None:
    error = refusal(write(tmp_path / "a.csv", data))
    assert (error.number, reason in error.reason) == (number, True), error.reason


def test_rejected_rows_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"id,text\n1,one\n2\n\n3,three\n")
    summary = dedup(tmp_path, path, "--on-error", "skip")
    assert [item["line"] for item in summary["rejected"]] == [3]
    assert (tmp_path / "out" / "kept" / "a.csv").read_bytes() == b"id,text\n1,one\n3,three\n"


def test_tables_annotated_ordered_and_on_standard_output(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = write(tmp_path / "a.csv", csv(ROWS))
    summary = dedup(tmp_path, path, "--annotate", "--keep", "n:desc")
    assert summary["counts"]["kept"] == 3
    found, _ = read(tmp_path / "out" / "annotated" / "a.csv", text_field="ndcore_class")
    assert found == ["lexical", "identical", "kept", "kept", "kept"]
    assert read(tmp_path / "out" / "annotated" / "a.csv")[0] == TEXTS
    assert main(["dedup", path, "-o", "-", "-q"]) == 0
    out = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert out == [{**ROWS[i], "n": str(ROWS[i]["n"])} for i in KEPT]


def test_numbers_of_a_table_are_ordered_as_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"text,n\n" + b"".join(b"%s,%d\n" % (text(1).encode(), n) for n in (9, 10, 2)))
    dedup(tmp_path, path, "--keep", "n:desc")
    assert (tmp_path / "out" / "kept" / "a.csv").read_bytes().endswith(b",10\n")
