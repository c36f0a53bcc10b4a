"""ndcore.files.block_compression: equal bytes with any number of threads, one member or frame, read by other programs."""

from __future__ import annotations

import gzip
import io
import json
import random
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from commands import run
from textfiles import refusal, texts

from ndcore.files.block_compression import BLOCK, choose_deflate
from ndcore.files.compression import DamagedData, compress, open_compressor, open_decompressed, read_frames
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError

SIZES = [0, 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17]
PIECE = 1 << 20  # bytes decompressed at a time, at most


@pytest.fixture(params=["zlib", "isal"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The library of deflate that is used."""
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal", None)  # as if it were not installed
    else:
        pytest.importorskip("isal")
    assert choose_deflate().module.__name__.endswith(request.param + ("_zlib" if request.param == "isal" else ""))
    return str(request.param)


def words(size: int) -> bytes:
    rng = random.Random(size)
    some = [rng.randbytes(rng.randint(1, 9)).hex().encode() for _ in range(500)]
    return b" ".join(rng.choices(some, k=size // 5 + 1))[:size]


def written(data: bytes, name: str, threads: int, step: int) -> bytes:
    target = io.BytesIO()
    with open_compressor(target, name, "a", threads) as file:
        for start in range(0, len(data), step):
            file.write(data[start : start + step])
    return target.getvalue()


@pytest.mark.parametrize("size", SIZES)
def test_gzip_is_one_member_with_equal_bytes(library: str, size: int, tmp_path: Path) -> None:
    data = words(size)
    made = written(data, "gz", 1, 1 << 20)
    assert written(data, "gz", 3, 777_777) == written(data, "gz", 2, 1 << 24) == made
    assert compress(data, "gz") == made
    reader = zlib.decompressobj(31)
    assert (reader.decompress(made), reader.eof, reader.unused_data) == (data, True, b"")
    assert open_decompressed(io.BytesIO(made), "gz", "a").read() == gzip.decompress(made) == data
    if program := shutil.which("gzip"):
        (tmp_path / "a.gz").write_bytes(made)
        assert subprocess.run([program, "-t", str(tmp_path / "a.gz")], check=False).returncode == 0
        assert subprocess.run([program, "-dc", str(tmp_path / "a.gz")], capture_output=True, check=True).stdout == data


def test_arrow_reads_what_is_written(library: str) -> None:
    pa = pytest.importorskip("pyarrow")
    data = words(3 * BLOCK)
    assert pa.CompressedInputStream(pa.BufferReader(written(data, "gz", 2, BLOCK)), "gzip").read() == data


@pytest.mark.parametrize("size", SIZES)
def test_zstd_is_one_frame_with_equal_bytes(size: int) -> None:
    zstandard = pytest.importorskip("zstandard")
    data = words(size)
    made = written(data, "zst", 1, 1 << 20)
    assert written(data, "zst", 3, 777_777) == written(data, "zst", 2, 1 << 24) == made
    assert zstandard.get_frame_parameters(made).has_checksum
    reader = zstandard.ZstdDecompressor().decompressobj()
    assert (reader.decompress(made), reader.eof, reader.unused_data) == (data, True, b"")


def test_blocks_know_the_data_before_them(library: str) -> None:
    """A block refers to the block before: data that repeat in 32 KiB take hardly more than one piece of them."""
    piece = random.Random(1).randbytes(20_000)
    assert len(written(piece * 200, "gz", 2, BLOCK)) < 4 * len(piece)


@pytest.mark.parametrize("name", ["gz", "zst"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_full_disk_is_told(name: str, threads: int) -> None:
    if name == "zst":
        pytest.importorskip("zstandard")

    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            if self.tell() > 100_000:
                raise OSError(28, "No space left on device")
            return super().write(data)  # type: ignore[arg-type]

    with pytest.raises(OSError, match="No space left"), open_compressor(Full(), name, "a", threads) as file:
        for i in range(20):
            file.write(random.Random(i).randbytes(BLOCK))


@pytest.mark.parametrize("size", [PIECE - 1, PIECE, PIECE + 257, 2 * PIECE, 3 * PIECE - 258, 9 * PIECE])
def test_a_member_that_grows_comes_in_bounded_pieces(library: str, size: int) -> None:
    """Where a piece is full, the decompressor may hold back data though it has read everything."""
    bomb, data = gzip.compress(bytes(size)), (b"abc" * size)[:size]
    members = bomb + gzip.compress(data) + gzip.compress(b"end")
    frames = list(read_frames(io.BytesIO(members), "gz", "a"))
    assert max(len(frame.data) for frame in frames) <= PIECE
    assert b"".join(frame.data for frame in frames) == bytes(size) + data + b"end"
    assert [frame.end for frame in frames if frame.end is not None][0::2] == [len(bomb), len(members)]
    whole, error = read(bomb[:-1])
    assert error == "EOFError" and whole == bytes(size)


def read(data: bytes) -> tuple[bytes, str]:
    """Return what can be decompressed, and the name of the error."""
    whole = bytearray()
    try:
        for frame in read_frames(io.BytesIO(data), "gz", "a"):
            whole += frame.data
    except (EOFError, DamagedData) as error:
        return bytes(whole), type(error).__name__
    return bytes(whole), ""


def test_damage_is_never_data(library: str) -> None:
    """Of changed bytes come the data, the beginning of the data, or an error."""
    rng = random.Random(5)
    data = words(30_000)
    sound = gzip.compress(data, mtime=0)
    for _ in range(600):
        forged = bytearray(sound)
        forged[rng.randrange(len(forged))] ^= 1 << rng.randrange(8)
        whole, error = read(bytes(forged))
        assert error or whole == data  # as where the time is another
    for cut in (1, 8, 9, 500, len(sound) - 3):
        whole, error = read(sound[:-cut])
        assert error == "EOFError" and data.startswith(whole)


@pytest.mark.parametrize("flags", [0x20, 0x40, 0x80])
def test_reserved_flags_are_refused(library: str, flags: int) -> None:
    made = bytearray(gzip.compress(b"one two", mtime=0))
    made[3] |= flags
    assert read(bytes(made)) == (b"", "DamagedData")
    pieces = io.BytesIO(gzip.compress(b"zero", mtime=0) + bytes(made))
    with pytest.raises(DamagedData, match="flags"):
        list(read_frames(pieces, "gz", "a"))


def rows(count: int) -> list[bytes]:
    rng = random.Random(3)
    return [b'{"id": %d, "text":"%s"}\n' % (i, rng.randbytes(60).hex().encode()) for i in range(count)]


def test_a_truncated_file_is_named(library: str, tmp_path: Path) -> None:
    lines = rows(4000)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(lines), mtime=0)[:-9])
    error = refusal(str(path))
    assert str(path) in str(error) and "truncated" in error.reason and error.number is not None
    with FileDocuments([str(path)], on_error="skip") as documents:
        assert texts(documents) == [json.loads(line)["text"] for line in lines[: error.number - 1]]
    assert run("dedup", path, "-o", tmp_path / "out", "--on-error", "skip", "-q") == 0
    kept = gzip.decompress((tmp_path / "out" / "kept" / "a.jsonl.gz").read_bytes())
    assert kept == b"".join(lines[: error.number - 1])


def test_a_damaged_file_is_named(library: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    other = bytearray(gzip.compress(b"{}\n", mtime=0))
    other[-8] ^= 1  # of the checksum
    path.write_bytes(gzip.compress(b"".join(rows(10)), mtime=0) + other)
    with FileDocuments([str(path)]) as documents, pytest.raises(DocumentError, match="not valid gzip data") as caught:
        documents.scan()
    assert (caught.value.path, caught.value.number) == (str(path), 11)
