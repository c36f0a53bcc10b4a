"""Formats are recognised by first bytes, read in every compression and kept to the byte; binary files are refused."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import zipfile
from pathlib import Path

import pytest
from recordfiles import (
    KEPT,
    PACK,
    RECORDS,
    ROWS,
    TEXTS,
    UNPACK,
    compact,
    csv,
    dedup,
    lines,
    pretty,
    read,
    refusal,
    text,
    write,
)

from ndcore.cli.main import main
from ndcore.files.compression import open_decompressed
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.formats import recognise


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


@pytest.mark.parametrize("ending", PACK)
def test_a_suffix_that_hides_the_compression_says_nothing_of_the_data(tmp_path: Path, ending: str) -> None:
    expected = TEXTS if ending else [lines(ROWS)]
    assert read(write(tmp_path / "export.bin", PACK[ending](lines(ROWS))))[0] == expected
    assert read(write(tmp_path / "notes.txt", PACK[ending](lines(ROWS))))[0] == [lines(ROWS)]


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
            with FileDocuments([path], on_error="skip") as documents:
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
        with FileDocuments([path], on_error="skip") as documents:
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
        stream = open_decompressed(io.BytesIO(packed), ending, "x")
        raw = stream.raw  # its buffer holds what one call of the decompressor returned
        assert raw.readinto(bytearray(10)) == 10
        assert len(raw._ready) <= 1 << 20  # type: ignore[attr-defined]


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
    "AVI video": b"RIFF\x24\0\0\0AVI LIST",
    "MP4 video or audio": b"\0\0\0\x20ftypisom",
    "AVIF image": b"\0\0\0\x20ftypavif",
    "HEIC image": b"\0\0\0\x20ftypheic",
    "DICOM image": bytes(128) + b"DICM\2\0",
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
    "OpenType font": b"OTTO\0\x0b\0\x80",
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
    assert f"its encoding is UTF-{encoding[4:6]}" in refusal(write(tmp_path / "a.jsonl", data)).reason
    assert "not UTF-" in refusal(write(tmp_path / "c.txt", data + b"\xd8")).reason


def test_text_with_controls_stays_text(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.txt", b"\x1b[31mred\x1b[0m\x0c"))[0] == [b"\x1b[31mred\x1b[0m\x0c"]
    assert read(write(tmp_path / "a.txt", b"word " * 2000 + b"\0"))[0] == [b"word " * 2000 + b"\0"]


def test_html_and_records_without_a_suffix(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse")
    page = b"<!-- x -->\n<!DOCTYPE html><html><body><p>some words</p></body></html>"
    assert read(write(tmp_path / "index", page))[0] == ["some words"]
    assert read(write(tmp_path / "page.php", page))[0] == [page]
    assert read(write(tmp_path / "README", b"{braces} are text"))[0] == [b"{braces} are text"]
    assert read(write(tmp_path / "notes", b"[1] a reference"))[0] == [b"[1] a reference"]


def test_a_compression_whose_package_is_missing_names_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DocumentError, match=r"^pages\.jsonl\.zst: reading \.zst needs zstandard: pip install"):
        recognise("pages.jsonl.zst", io.BytesIO(b"\x28\xb5\x2f\xfd" + bytes(20)))
