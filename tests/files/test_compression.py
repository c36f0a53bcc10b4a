"""ndcore.files.compression: each codec, by what it writes and by the programs that everybody has."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma

import pytest

from ndcore.choices import COMPRESSIONS
from ndcore.files.compression import CODECS, compress, open_compressor, open_decompressed, read_frames, recognise_compression

TEXT = b"a line of some words\n" * 5000
EXPANDED = {"gz": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress}


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_what_is_written_is_recognised_and_read(name: str) -> None:
    zstandard = pytest.importorskip("zstandard") if name == "zst" else None
    target = io.BytesIO()
    with open_compressor(target, name, "a") as file:
        file.write(TEXT[:700])
        file.write(TEXT[700:])
    for data in (target.getvalue(), compress(TEXT, name)):
        assert recognise_compression(data) == name and data.startswith(CODECS[name].magic)
        expanded = zstandard.ZstdDecompressor().decompressobj().decompress if zstandard else EXPANDED[name]
        assert expanded(data) == open_decompressed(io.BytesIO(data), name, "a").read() == TEXT


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_members_follow_one_another(name: str) -> None:
    if name == "zst":
        pytest.importorskip("zstandard")
    one, two = compress(b"one", name), compress(b"two", name)
    between = bytes(4) if CODECS[name].padded else b""
    frames = list(read_frames(io.BytesIO(one + between + two), name, "a"))
    assert b"".join(frame.data for frame in frames) == b"onetwo"
    assert [frame.start for frame in frames if frame.start is not None] == [0, len(one + between)]
    assert [frame.end for frame in frames if frame.end is not None] == [len(one), len(one + between + two)]


def test_another_name_is_no_compression() -> None:
    for make in (lambda: compress(b"a", "lz4"), lambda: next(read_frames(io.BytesIO(b"a"), "lz4", "a"))):
        with pytest.raises(KeyError, match="lz4"):
            make()
