"""Small files that grow beyond the bound: the whole command ends with a clear error, in little memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import forked
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is counted from /proc, and kept, on Linux"),
]

ROOM = 95_000_000  # bytes of addresses beyond those of the modules
PART = b"a" * (20 << 20)
PARTS = 10
MODULES = ("pyarrow.parquet", "pyarrow.dataset", "pyarrow.compute", "zstandard", "brotli", "resiliparse.parse.html")
COMMAND = f"""
import re, resource, sys
from ndcore.cli.main import main
with open("/proc/self/status") as file:
    used = 1024 * int(re.search(r"VmSize:\\s*(\\d+)", file.read())[1])
resource.setrlimit(resource.RLIMIT_AS, (used + {ROOM},) * 2)
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Start what stands in for Python, with the modules that commands import."""
    folder = str(tmp_path_factory.mktemp("python"))
    with forked.start(folder, MODULES, MALLOC_ARENA_MAX="1", ARROW_DEFAULT_MEMORY_POOL="system") as command:
        yield command


def line(pack: Callable[[bytes], bytes]) -> bytes:
    """Return a line of JSON of 200 MB, packed part by part."""
    return pack(b'{"text":"') + pack(PART) * PARTS + pack(b'"}\n{"text":"one two"}\n')


def zstd(data: bytes) -> bytes:
    packed: bytes = pytest.importorskip("zstandard").compress(data)
    return packed


def warc(path: Path) -> None:
    pytest.importorskip("resiliparse")
    head = (b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a.example/\r\nContent-Type: text/plain\r\n"
            b"WARC-Date: 2024-05-01T00:00:00Z\r\nContent-Length: %d\r\n\r\n" % (len(PART) * PARTS))
    path.write_bytes(gzip.compress(head + PART * PARTS + b"\r\n\r\n", 1))


def parquet(path: Path) -> None:
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    pq.write_table(pa.table({"text": [PART.decode()] * PARTS}), path, compression="zstd", use_dictionary=False)


def varint(number: int, length: int) -> bytes:
    """Write a positive number of thrift in so many bytes, which need not be the fewest."""
    return bytes([2 * number >> 7 * i & 127 | 128 * (i < length - 1) for i in range(length)])


def parquet_footer(path: Path) -> None:
    """Write the same file with an end that says of its only column that it does not grow."""
    pq = pytest.importorskip("pyarrow.parquet")
    parquet(path)
    size, data = pq.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size, path.read_bytes()
    assert data.count(varint(size, 5)) > 0
    path.write_bytes(data.replace(varint(size, 5), varint(1000, 5)))


def parquet_page(path: Path, dictionary: bool = False) -> None:
    """Write a page whose header says that it grows to 2 GiB. The page is as much shorter as its header is longer."""
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    table = pa.table({"text": [f"{i * i * i} text" for i in range(20_000)]})
    pq.write_table(table, path, use_dictionary=dictionary)
    data, begin = path.read_bytes(), len(b"PAR1\x15\0\x15")  # before the size of the first page
    sizes = data.index(b"\x15", begin)
    stored = int.from_bytes(data[sizes + 1 : sizes + 4], "little")
    stored = (stored & 127 | stored >> 1 & 127 << 7 | stored >> 2 & 127 << 14) // 2
    longer = 5 - (sizes - begin)
    end = sizes + 4 + stored
    header = varint((1 << 31) - 1, 5) + b"\x15" + varint(stored - longer, 3)
    path.write_bytes(data[:begin] + header + data[sizes + 4 : end - longer] + data[end:])


def arrow(path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"text": [PART.decode()] * PARTS})
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)


def arrow_stream(path: Path) -> None:
    """Write a stream whose bomb is a dictionary, which is read before any record batch."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"text": pa.array([PART.decode() + str(i) for i in range(PARTS)]).dictionary_encode()})
    with pa.ipc.new_stream(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("a.jsonl", b'{"text":"' + PART * 2 + b'"}\n')


TOO_LONG, GROWS = "is longer than 16 MiB; a larger --max-record has it read", "a --max-record larger than this"


@pytest.mark.parametrize(("name", "make", "reason"), [
    ("a.jsonl.zst", lambda path: path.write_bytes(line(zstd)), TOO_LONG),
    ("a.jsonl.gz", lambda path: path.write_bytes(line(lambda data: gzip.compress(data, 1))), TOO_LONG),
    ("a.jsonl.bz2", lambda path: path.write_bytes(line(bz2.compress)), TOO_LONG),
    ("a.jsonl.xz", lambda path: path.write_bytes(line(lambda data: lzma.compress(data, preset=0))), TOO_LONG),
    ("a.warc.gz", warc, TOO_LONG), ("a.parquet", parquet, GROWS), ("f.parquet", parquet_footer, GROWS),
    ("p.parquet", parquet_page, GROWS), ("d.parquet", lambda path: parquet_page(path, True), GROWS),
    ("a.arrow", arrow, GROWS), ("s.arrows", arrow_stream, GROWS), ("a.zip", zipped, "zip"),
])
def test_a_bomb_ends_with_a_clear_error(
    tmp_path: Path, python: list[str], name: str, make: Callable[[Path], object], reason: str
) -> None:
    make(tmp_path / name)
    assert (tmp_path / name).stat().st_size < 3_000_000
    command = [*python, "-c", COMMAND, "dedup", name, "-o", "out", "--quiet", "--threads", "1", "--max-record", "16M"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120)
    assert done.returncode not in (0, 128 + 9), done.stderr
    assert reason in done.stderr and name in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert "memory" not in done.stderr.lower() and not (tmp_path / "out").exists(), done.stderr
