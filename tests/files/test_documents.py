"""Documents on disk: passes over them, what they note, and texts that were extracted."""

from __future__ import annotations

import errno
import gzip
import io
import os
import random
import socket
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textfiles import ROWS, jsonl, read, refusal, texts, write, write_parquet

from ndcore.files import documents as documents_module
from ndcore.files import html_workers
from ndcore.files.discovery import find
from ndcore.files.document_fields import RankingField
from ndcore.files.documents import ExtractedTexts, FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.text.inputs import Extracted, original_digest


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
    path = write(tmp_path / name, "\ufeffone\r\n\x1btwo éàüöñ".encode() + b"\xff")
    assert read(path) == (["\ufeffone\r\n\x1btwo éàüöñ".encode() + b"\xff"], [name])


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
    with FileDocuments([str(tmp_path / "d")]) as documents:
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
    with FileDocuments([path]) as documents:
        assert texts(documents) == ["a", "b"]
        assert (documents.blank, documents.read, list(documents.ids)) == (2, 2, ["a.jsonl:1", "a.jsonl:4"])


def test_empty_inputs(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.jsonl", b"")) == ([], [])
    assert read(write(tmp_path / "a.txt", b"")) == ([b""], ["a.txt"])
    (tmp_path / "d").mkdir()
    assert read(str(tmp_path / "d")) == ([], [])


def test_batches_are_bounded(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"text": "x" * 3_000_000} for _ in range(8)] + [{"text": "y" * 20_000_000}]
    with FileDocuments([write(tmp_path / "a.jsonl", jsonl(rows))]) as documents:
        sizes = [[len(text) for text in batch] for batch in documents.batches()]
        assert [size for batch in sizes for size in batch] == [len(str(row["text"])) for row in rows]
        assert max(sum(batch) for batch in sizes if len(batch) > 1) <= 8 << 20
        assert len(sizes) <= 6


def test_a_pass_given_up_is_begun_again(tmp_path: Path) -> None:
    with FileDocuments([write(tmp_path / "a.jsonl", jsonl(ROWS))], keep=RankingField("score", False)) as documents:
        next(documents.batches())
        assert len(texts(documents)) == len(documents.ids) == len(documents) == 25


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
    with FileDocuments([str(path)], on_error="skip") as documents:
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
    with FileDocuments([path], on_error="skip") as documents:
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
        with FileDocuments([str(tmp_path / "d")]) as documents:
            assert (texts(documents), len(documents.ignored)) == ([], 1)


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt"])
def test_changed_file(tmp_path: Path, name: str) -> None:
    path = Path(write(tmp_path / name, jsonl(ROWS)))
    with FileDocuments([str(path)], on_error="skip") as documents:
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
    with FileDocuments([str(path)]) as documents:
        documents.scan()
        status = path.stat()
        (tmp_path / "b").write_bytes(jsonl(ROWS))
        os.utime(tmp_path / "b", ns=(status.st_atime_ns, status.st_mtime_ns))
        (tmp_path / "b").replace(path)
        with pytest.raises(DocumentError, match="changed"):
            texts(documents)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_position(tmp_path: Path, name: str) -> None:
    """Check that the position ascends from batch to batch to the size of all files, and begins again with each pass."""
    rng = np.random.default_rng(3)
    texts = [rng.bytes(3200).hex(" ", 4) for _ in range(4000)]
    if name.endswith("parquet"):
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"text": texts}), tmp_path / name, row_group_size=500)
    else:
        data = b"".join(b'{"text": "%s"}\n' % text.encode() for text in texts)
        (tmp_path / name).write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    (tmp_path / "b.txt").write_text("one more")
    size = sum((tmp_path / other).stat().st_size for other in (name, "b.txt"))
    with FileDocuments([str(tmp_path / name), str(tmp_path / "b.txt")]) as documents:
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
    with FileDocuments(["-"]) as documents:
        assert documents.position() is None
        list(documents.batches())
        done, total = documents.position() or (0, 1)
        assert done == total > 0


def test_what_is_noted_of_documents_goes_to_files_where_memory_is_limited(tmp_path: Path) -> None:
    rows = [{"text": "a", "id": f"document {i}"} for i in range(20_000)]
    path = write(tmp_path / "a.jsonl", jsonl(rows))
    kept = {}
    for limit in (None, 1000):
        tracemalloc.start()
        try:
            with FileDocuments([path], memory_limit=limit) as documents:
                documents.scan()
                kept[limit] = tracemalloc.get_traced_memory()[0] / len(rows)
                place, starts = documents.place(19_999), documents.line_spans(0)[0]
                assert documents.ids[19_999] == "document 19999" and place.line == 20_000 and len(starts) == 20_000
                assert documents.ids.take(np.array([3, 0])) == ["document 3", "document 0"]
        finally:
            tracemalloc.stop()
    assert kept[1000] < 5 < 40 < kept[None]  # bytes a document


def found(store: ExtractedTexts, *positions: int) -> list[tuple[int, str | bytes]] | None:
    records = store.records(np.array(positions, np.int64))
    return None if records is None else [(position, record.text) for position, record in records]


def test_texts_come_back_as_they_were() -> None:
    store = ExtractedTexts()
    page = Extracted.of("text \ud800 é", b"<p>text", True)
    assert found(store, 0) is None
    assert store.append(2, page) is True
    assert store.append(3, "not stored") is False
    assert store.append(5, b"\xff bytes", True) is False
    assert store.append(6, "text", True) is False
    assert store.append(9, Extracted.of("", "<p>")) is False
    assert found(store, 2, 5, 6, 9) == [(2, str(page)), (5, b"\xff bytes"), (6, "text"), (9, "")]
    [(_, again)] = found(store, 2) or []
    assert original_digest(again) == original_digest(page)
    assert found(store, 2, 3) is None
    assert found(store, 10) is None


def test_the_disk_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents_module, "EXTRACTED_LIMIT", 10)
    store = ExtractedTexts()
    for position, text in enumerate([b"12345", b"67890", b"1", b""]):
        store.append(position, text, True)
    assert found(store, 0, 1) == [(0, b"12345"), (1, b"67890")]
    assert found(store, 2) is None
    assert found(store, 3) is None


class Full:
    """A file on a full disk."""

    def write(self, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def close(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_ends_storing(monkeypatch: pytest.MonkeyPatch) -> None:
    store = ExtractedTexts()
    monkeypatch.setattr(documents_module, "temporary_file", lambda owner: Full())
    store.append(0, b"12345", True)
    assert found(store, 0) is None
    store.append(1, b"12345", True)
    assert found(store, 1) is None


@pytest.fixture
def extractions(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str | bytes]]:
    """The pages that are extracted."""
    pytest.importorskip("resiliparse", reason="the extra html is not installed")
    seen: list[str | bytes] = []
    make_html_reader = html_workers.make_html_reader

    def counted(path: str, part: str) -> Any:
        read = make_html_reader(path, part)

        def text(html: str | bytes, charset: str | None) -> Extracted:
            seen.append(html)
            return read(html, charset)

        return text

    monkeypatch.setattr(html_workers, "make_html_reader", counted)
    yield seen


@pytest.mark.parametrize("limit", [1 << 20, 0])
def test_a_page_is_extracted_once(
    tmp_path: Path, extractions: list[str | bytes], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(documents_module, "EXTRACTED_LIMIT", limit)
    for i in range(6):
        (tmp_path / f"{i}.html").write_text(f"<html><title>t</title><body><p>page {i // 2} of a site, é</body></html>")
    with FileDocuments([str(tmp_path)]) as documents:
        first = [text for batch in documents.batches() for text in batch]
        assert len(extractions) == 6
        wanted = np.array([True, False, True, True, False, True])
        again = [
            (position, text) for positions, texts in documents.selected(wanted)
            for position, text in zip(positions.tolist(), texts, strict=True)
        ]
        assert again == [(i, first[i]) for i in (0, 2, 3, 5)]
        assert [original_digest(text) for _, text in again] == [original_digest(first[i]) for i in (0, 2, 3, 5)]
        assert len(extractions) == (6 if limit else 10)
