"""Formats: known by their first bytes, in every compression, kept to the byte, refused by name where they are no text."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore.cli.main import main
from ndcore.files import json_elements as elements_module
from ndcore.files.arrow import ArrowFile
from ndcore.files.columnar import rewrite
from ndcore.files.compression import decompressed
from ndcore.files.csv_tsv import cells, raw_rows
from ndcore.files.document_fields import Grouping
from ndcore.files.documents import Documents
from ndcore.files.errors import DocumentError
from ndcore.files.formats import recognise
from ndcore.files.json_elements import Elements
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
        (b"// a comment\n{}", None, "not JSON: it begins with"),
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
        ("settings.json", "JSON without documents"), ("with_comments.json", "not JSON, despite its name")
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


@pytest.mark.parametrize("data", [b'"a"b,text\n1,x\n', b'id,"text\n1,x\n', gzip.compress(csv(ROWS))[:-4] + b"xxxx"])
def test_a_table_without_a_header_is_rejected_as_a_whole(tmp_path: Path, data: bytes) -> None:
    paths = write(tmp_path / "a.csv", data), write(tmp_path / "b.txt", b"words")
    summary = dedup(tmp_path, *paths, "--on-error", "skip")
    assert [(item["path"], item["line"]) for item in summary["rejected"]] == [(paths[0], None)]
    assert [path.name for path in (tmp_path / "out" / "kept").iterdir()] == ["b.txt"]


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


# ---- Arrow


def write_arrow(path: Path, form: str, codec: str | None = None, rows: list[dict[str, Any]] = ROWS) -> str:
    pa = pytest.importorskip("pyarrow")
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"made by": "a test"})
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with (pa.ipc.new_file if form == "file" else pa.ipc.new_stream)(str(path), table.schema, options=options) as writer:
        for batch in table.to_batches(max_chunksize=2):
            writer.write_batch(batch)
    return str(path)


FORMS = [("a.arrow", "file"), ("a.feather", "file"), ("a.arrow", "stream"), ("a", "stream")]


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_arrow_is_read_and_kept(tmp_path: Path, name: str, form: str, codec: str | None) -> None:
    pa = pytest.importorskip("pyarrow")
    path = write_arrow(tmp_path / name, form, codec)
    assert read(path) == (TEXTS, [row["id"] for row in ROWS])
    assert dedup(tmp_path, path)["counts"]["kept"] == 3
    kept = tmp_path / "out" / "kept" / name
    opened = (pa.ipc.open_file if form == "file" else pa.ipc.open_stream)(pa.memory_map(str(kept)))
    table = opened.read_all()
    assert table.to_pylist() == [ROWS[i] for i in KEPT]
    assert table.schema.metadata == {b"made by": b"a test"}
    with ArrowFile(source(kept, "arrow")) as file:
        assert file._codec() == codec


def test_arrow_that_is_damaged_forged_or_old(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    path = Path(write_arrow(tmp_path / "a.arrow", "stream"))
    data = path.read_bytes()
    for cut in (20, 200, len(data) // 2, len(data) - 20):
        path.write_bytes(data[:cut])
        assert "Arrow file" in refusal(path).reason
    strings = pa.array(["ab", "cd"])
    offsets = pa.py_buffer(b"\0\0\0\0\xff\xff\xff\x7f\4\0\0\0")
    forged = pa.Array.from_buffers(pa.string(), 2, [None, offsets, strings.buffers()[2]])
    batch = pa.record_batch([forged], ["text"])
    with pa.ipc.new_stream(str(path), batch.schema) as writer:
        writer.write_batch(batch)
    assert "damaged Arrow file" in refusal(path).reason
    path.write_bytes(b"FEA1" + bytes(60) + b"FEA1")
    assert "Feather of version 1" in refusal(path).reason
    packed = write(tmp_path / "b.arrow.gz", gzip.compress(data))
    assert "Arrow data in a gzip file; decompress it first" in refusal(packed).reason


def test_arrow_with_changed_bytes_is_read_or_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    random = Random(7)
    originals = [Path(write_arrow(tmp_path / "o", form, codec)).read_bytes() for form, codec in (
        ("file", None), ("stream", None), ("stream", "lz4"))]
    refused = 0
    for _ in range(150):
        data = bytearray(random.choice(originals))
        for _ in range(random.choice([1, 2, 8])):
            data[random.randrange(len(data))] = random.choice([0, 1, 0x7F, 0x80, 0xFF])
        path = tmp_path / "a.arrow"
        path.write_bytes(data)
        (tmp_path / "kept").unlink(missing_ok=True)
        try:
            with Documents([str(path)], on_error="skip") as documents:
                documents.scan()
                rewrite(documents.sources[0], tmp_path / "kept", lambda number: number % 2 == 0, None)
        except DocumentError:
            refused += 1
    assert 0 < refused < 150


def test_a_dataset_saved_to_disk(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = tmp_path / "ds"
    for split in ("train", "test"):
        write_arrow(folder / split / "data-00000-of-00001.arrow", "stream")
        files = [{"filename": "data-00000-of-00001.arrow"}]
        state = {"_data_files": files, "_fingerprint": "0123456789abcdef", "_split": split}
        write(folder / split / "state.json", json.dumps(state).encode())
        write(folder / split / "dataset_info.json", b'{"features": {}}')
    write(folder / "dataset_dict.json", b'{"splits": ["train", "test"]}')
    summary = dedup(tmp_path, folder)
    assert (summary["counts"]["read"], summary["counts"]["kept"]) == (10, 3)
    assert {item["kind"] for item in summary["ignored"]} == {"description of a dataset"}
    kept = tmp_path / "out" / "kept" / "ds"
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*.*")) == sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*.*"))
    assert (kept / "dataset_dict.json").read_bytes() == (folder / "dataset_dict.json").read_bytes()
    state = json.loads((kept / "train" / "state.json").read_bytes())
    assert (state["_split"], len(state["_fingerprint"])) == ("train", 16)
    assert state["_fingerprint"] != "0123456789abcdef"


# ---- files that are not text


def zipped(*names: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        for name in names:
            file.writestr(name, "application/epub+zip" if name == "mimetype" else "x")
    return target.getvalue()


BINARY: dict[str, bytes] = {
    "ELF program or library": b"\x7fELF\2\1\1" + bytes(100),
    "Windows program or library": b"MZ\x90\0\3\0\0\0" + bytes(60),
    "Mach-O program or library": b"\xcf\xfa\xed\xfe\7\0\0\1",
    "PDF document": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "PNG image": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "JPEG image": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    "GIF image": b"GIF89a\1\0\1\0",
    "WebP image": b"RIFF\x24\0\0\0WEBPVP8 ",
    "WAV audio": b"RIFF\x24\0\0\0WAVEfmt ",
    "MP4 video or audio": b"\0\0\0\x20ftypisom",
    "ZIP archive": zipped("a.txt"),
    "Word document (.docx)": zipped("[Content_Types].xml", "word/document.xml"),
    "Excel workbook (.xlsx)": zipped("[Content_Types].xml", "xl/workbook.xml"),
    "EPUB book": zipped("mimetype"),
    "Java archive": zipped("META-INF/MANIFEST.MF"),
    "NumPy arrays (.npz)": zipped("a.npy"),
    "7-Zip archive": b"7z\xbc\xaf\x27\x1c\0\4",
    "tar archive": b"a.txt" + bytes(252) + b"ustar\x0000" + bytes(300),
    "SQLite database": b"SQLite format 3\0" + bytes(20),
    "Microsoft Office document": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20),
    "Python pickle": b"\x80\4\x95\n\0\0\0\0\0\0\0K\1.",
    "NumPy array": b"\x93NUMPY\1\0v\0{'descr'",
    "safetensors model": b"\x40\0\0\0\0\0\0\0{\"a\":{}}",
    "TrueType font": b"\0\1\0\0\0\x10\1\0",
    "WOFF2 font": b"wOF2\0\1\0\0",
    "data of LZ4": b"\x04\x22\x4d\x18abc",
    "data of compress": b"\x1f\x9d\x90abc",
    "Avro file": b"Obj\1\4\x16avro.schema",
    "binary data": b"some words, and then\0a NUL",
}


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("kind", BINARY)
def test_what_is_no_text_is_known(kind: str, ending: str) -> None:
    for name in ("a", "a.txt", "a.html" if kind != "binary data" else "a.md"):
        found = recognise(name + ending, io.BytesIO(PACK[ending](BINARY[kind])))
        assert (found.binary, found.compression) == (kind, ending[1:])
        assert kind in found.problem or kind == "binary data"


def test_binary_files_in_directories_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "d" / "a.txt", text(1).encode())
    write(tmp_path / "d" / "picture", BINARY["PNG image"])
    write(tmp_path / "d" / "manual.pdf.gz", gzip.compress(BINARY["PDF document"]))
    write(tmp_path / "d" / "b.jsonl", BINARY["ELF program or library"])
    summary = dedup(tmp_path, tmp_path / "d")
    assert (summary["counts"]["read"], summary["counts"]["rejected"]) == (1, 0)
    assert [(Path(item["path"]).name, item["kind"]) for item in summary["ignored"]] == [
        ("b.jsonl", "ELF program or library"), ("manual.pdf.gz", "PDF document"), ("picture", "PNG image")
    ]
    assert [path.name for path in (tmp_path / "out" / "kept" / "d").iterdir()] == ["a.txt"]
    (tmp_path / "d" / "a.txt").unlink()
    assert main(["dedup", str(tmp_path / "d"), "-o", str(tmp_path / "no")]) == 1
    assert "no documents among 3 paths (1 ELF program or library, 1 PDF document, 1 PNG image)" in capsys.readouterr().err


def test_binary_files_that_are_named_are_refused_or_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = write(tmp_path / "a.txt", text(1).encode()), write(tmp_path / "b.png", BINARY["PNG image"])
    assert main(["dedup", good, bad, "-o", str(tmp_path / "no")]) == 1
    message = capsys.readouterr().err
    assert "b.png: not text (PNG image); convert it to text or HTML; or leave it out: --exclude, or --on-error" in message
    summary = dedup(tmp_path, good, bad, "--on-error", "skip")
    assert summary["counts"]["read"] == 2
    assert [(Path(item["path"]).name, item["reason"]) for item in summary["rejected"]] == [
        ("b.png", "not text (PNG image); convert it to text or HTML")
    ]
    for command in (["sketch", good, bad, "-o"], ["cluster", good, bad, "-o"], ["dedup", good, "--against", bad, "-o"]):
        assert main([*command, str(tmp_path / "no")]) == 1
        assert "not text (PNG image)" in capsys.readouterr().err
    assert main(["compare", good, bad]) == 1
    assert "not text (PNG image); convert it to text or HTML, or compare with --unit byte" in capsys.readouterr().err
    assert main(["compare", good, bad, "--unit", "byte"]) == 0
    assert dedup(tmp_path, bad, good, "--unit", "byte", "--overwrite")["counts"]["kept"] == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_texts_with_a_byte_order_mark_are_decoded(tmp_path: Path, encoding: str) -> None:
    data = (("\ufeff" if encoding.endswith("be") else "") + text(3)).encode(encoding)
    path = write(tmp_path / "a.txt", data)
    assert read(path)[0] == [text(3)]
    dedup(tmp_path, path, write(tmp_path / "b.txt", text(3).upper().encode()))
    assert (tmp_path / "out" / "kept" / "a.txt").read_bytes() == data
    assert f"its encoding is UTF-{encoding[4:6]}" in refusal(write(tmp_path / "a.csv", data)).reason
    assert "is not" in refusal(write(tmp_path / "c.txt", data + b"\xd8")).reason


def test_text_in_other_encodings_stays_text(tmp_path: Path) -> None:
    for data in ("Straße, déjà vu".encode("latin-1"), "Привет мир".encode("koi8-r"), b"\x1b[31mred\x1b[0m\x0c", b"\xff\xfb"):
        assert read(write(tmp_path / "a.txt", data))[0] == [data]
    assert read(write(tmp_path / "a.txt", b"word " * 2000 + b"\0"))[0] == [b"word " * 2000 + b"\0"]


def test_html_and_records_without_a_suffix(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse")
    page = b"<!-- x -->\n<!DOCTYPE html><html><body><p>some words</p></body></html>"
    assert read(write(tmp_path / "index", page))[0] == ["some words"]
    assert read(write(tmp_path / "page.php", page))[0] == [page]
    assert read(write(tmp_path / "README", b"{braces} are text"))[0] == [b"{braces} are text"]
    assert read(write(tmp_path / "notes", b"[1] a reference"))[0] == [b"[1] a reference"]


# ---- streams


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("make", [lines, compact, pretty])
def test_standard_input_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[list[dict[str, Any]]], bytes], ending: str
) -> None:
    with (tmp_path / "in").open("wb+") as stdin:
        stdin.write(PACK[ending](make(ROWS)))
        stdin.seek(0)
        monkeypatch.setattr("sys.stdin", stdin)
        assert dedup(tmp_path, "-")["counts"]["kept"] == 3
    name = "stdin.jsonl" if make is lines else "stdin.json"
    assert (tmp_path / "out" / "kept" / name).read_bytes() == make([ROWS[i] for i in KEPT])


def test_an_archive_on_standard_input_keeps_its_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastwarc", reason="the extra web is not installed")
    texts = [b"one text of some words here", b"another text, of other words", b"one text of some words here"]
    members = [warc_record(f"http://a.b/{i}", text) for i, text in enumerate(texts)]
    for pack, name in ((bytes, "stdin.warc"), (gzip.compress, "stdin.warc.gz")):
        packed = [pack(member) for member in members]
        with (tmp_path / "in").open("wb+") as stdin:
            stdin.write(b"".join(packed))
            stdin.seek(0)
            monkeypatch.setattr("sys.stdin", stdin)
            assert dedup(tmp_path, "-", "--overwrite")["counts"]["kept"] == 2
        [kept] = (tmp_path / "out" / "kept").iterdir()
        assert kept.name == name
        assert kept.read_bytes() == b"".join(packed[:2])
        assert read(kept)[0] == texts[:2]


def warc_record(url: str, content: bytes) -> bytes:
    head = (f"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
            f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{len(url):012}>\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {len(content)}\r\n\r\n")
    return head.encode() + content + b"\r\n\r\n"


def test_a_fifo_of_another_kind_than_its_name_says(tmp_path: Path) -> None:
    """What is kept has a name that says what it is, and that it is compressed."""
    os.mkfifo(tmp_path / "a.jsonl.gz")
    data = gzip.compress(compact(ROWS))
    writer = threading.Thread(target=(tmp_path / "a.jsonl.gz").write_bytes, args=(data,))
    writer.start()
    assert dedup(tmp_path, str(tmp_path / "a.jsonl.gz"))["counts"]["kept"] == 3
    writer.join()
    [kept] = (tmp_path / "out" / "kept").iterdir()
    assert kept.name == "a.json.gz"
    assert gzip.decompress(kept.read_bytes()) == compact([ROWS[i] for i in KEPT])


def test_ids_that_utf8_cannot_hold_are_spelt_in_columns(tmp_path: Path) -> None:
    """As tables spell them: other documents have other ids."""
    pa = pytest.importorskip("pyarrow")
    text = "the same words in all of these records"
    (tmp_path / "a.jsonl").write_bytes(b'{"id": "x\\udc80", "text": "%b"}\n' % text.encode())
    with pa.ipc.new_file(tmp_path / "b.arrow", pa.schema({"text": pa.string()})) as writer:
        writer.write_table(pa.table({"text": [text]}))
    dedup(tmp_path, tmp_path / "a.jsonl", tmp_path / "b.arrow", "--annotate")
    annotated = pa.ipc.open_file(str(tmp_path / "out" / "annotated" / "b.arrow")).read_all()
    assert annotated["ndcore_representative"].to_pylist() == ["x\\udc80"]


@pytest.mark.parametrize("option", ["--one-per", "--by"])
def test_a_file_without_fields_names_the_option_that_needs_one(tmp_path: Path, option: str) -> None:
    (tmp_path / "a.txt").write_text("some words")
    said = f"has no field 'url'; {option} needs records"
    documents = Documents([str(tmp_path / "a.txt")], one_per=Grouping("url", option))
    with documents, pytest.raises(DocumentError, match=said):
        documents.scan()


def test_binary_on_standard_input_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["dedup", "-", "-o", str(tmp_path / "out")], ["compare", "-", str(tmp_path / "in")]):
        with (tmp_path / "in").open("wb+") as stdin:
            stdin.write(gzip.compress(BINARY["PDF document"]))
            stdin.seek(0)
            monkeypatch.setattr("sys.stdin", stdin)
            assert main(command) == 1
        assert "not text (PDF document)" in capsys.readouterr().err


def test_a_fifo_by_its_name_and_bytes(tmp_path: Path) -> None:
    for name, data in (("a.csv", csv(ROWS)), ("b.csv.xz", lzma.compress(csv(ROWS))), ("c", gzip.compress(pretty(ROWS)))):
        os.mkfifo(tmp_path / name)
        writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(data,))
        writer.start()
        assert read(tmp_path / name)[0] == TEXTS
        writer.join()
