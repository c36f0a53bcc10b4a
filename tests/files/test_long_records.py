"""Records longer than the bound are rejected with their place, and the records around them are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from ndcore.files.compression import open_decompressed
from ndcore.files.discovery import find
from ndcore.files.documents import FileDocuments

BOUND = 1 << 16
REASON = "is longer than 65,536 bytes; a larger --max-record has it read"
LONG = b"a" * (20 << 20)  # more than any block that is read at once


def lines(long: bytes) -> bytes:
    return b'{"text":"one two"}\n{"text":"' + long + b'"}\n{"text":"three four"}\n'


def array(long: bytes) -> bytes:
    return b'[{"text":"one two"},{"text":"' + long + b'"},{"text":"three four"}]'


def csv(long: bytes) -> bytes:
    return b"text\none two\n" + long + b"\nthree four\n"


def quoted(long: bytes) -> bytes:
    return b'text\none two\n"a ""b""\n' + long + b'\nc"\nthree four\n'


def in_many_lines(long: bytes) -> bytes:
    return b'text\none two\n"' + b"\n".join(long[i : i + 1000] for i in range(0, 1 << 20, 1000)) + b'"\nthree four\n'


def warc(long: bytes) -> bytes:
    def record(text: bytes) -> bytes:
        head = b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a.example/\r\nContent-Type: text/plain\r\n"
        return head + b"WARC-Date: 2024-05-01T00:00:00Z\r\nContent-Length: %d\r\n\r\n" % len(text) + text + b"\r\n\r\n"

    return record(b"one two") + record(long) + record(b"three four")


def zst(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    packed: bytes = zstandard.compress(data)
    return packed


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".zst": zst, ".gz": lambda data: gzip.compress(data, 1), ".bz2": bz2.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
}


def read(path: Path) -> tuple[list[bytes], list[tuple[int | None, str]]]:
    """Read twice, as commands do."""
    inputs = find([str(path)])
    inputs.limit(BOUND)
    with FileDocuments(inputs, on_error="skip") as documents:
        passes = [[bytes(t, "utf-8") if isinstance(t, str) else bytes(t) for batch in documents.batches() for t in batch]
                  for _ in range(2)]
        assert passes[0] == passes[1]
        return passes[0], [(item.number, item.reason) for item in documents.rejected]


@pytest.mark.slow
@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize(("name", "make", "number"), [
    ("a.jsonl", lines, 2), ("a.json", array, 2), ("a.csv", csv, 3), ("a.csv", quoted, 3), ("a.csv", in_many_lines, 3),
    ("a.warc", warc, 2),
])
def test_a_record_that_is_too_long(
    tmp_path: Path, ending: str, name: str, make: Callable[[bytes], bytes], number: int
) -> None:
    if make is warc:
        pytest.importorskip("resiliparse")
    path = tmp_path / (name + ending)
    path.write_bytes(PACKED[ending](make(LONG)))
    texts, ((place, reason),) = read(path)
    assert texts == [b"one two", b"three four"]
    assert (place, reason.endswith(REASON)) == (number, True), reason


@pytest.mark.parametrize("name", ["a.txt", "a.html"])
def test_a_text_that_is_too_long(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"a" * (BOUND + 1))
    assert read(tmp_path / name) == ([], [(None, f"the text {REASON}")])


def test_rows_that_repeat_a_string_of_a_dictionary(tmp_path: Path) -> None:
    """100 rows of 1 MiB each are one string and 100 numbers in the file: a few rows are held at a time."""
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    from ndcore.files import columnar

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["word " * (1 << 18)] * 100}), path, dictionary_pagesize_limit=4 << 20)
    with columnar.open_file(find([str(path)]).sources[0]) as file:
        sizes = [len(batch) for _, batch in file.batches()]
        assert (sum(sizes), max(sizes) <= 8) == (100, True)


def test_zstd_is_decompressed_in_bounded_pieces() -> None:
    packed = zst(bytes(64 << 20)) + zst(b"end")
    assert len(packed) < 12_000
    stream = open_decompressed(io.BytesIO(packed), "zst", "x")
    raw, most, total = stream.raw, 0, 0
    while count := raw.readinto(bytearray(1 << 21)):
        most, total = max(most, count), total + count
    assert total == (64 << 20) + 3
    assert most <= 9 << 17
