"""What stands before the arrays: its order of checks, and versions that this ndcore does not read."""

from __future__ import annotations

import hashlib
import io

import pytest

from ndcore.storage.container_header import PREAMBLE, START, CorruptFile, aligned, read_head

TEXT = b'{"kind":"k","header":{"n":1},"arrays":[]}'


def file_of(text: bytes = TEXT, version: int = 1, revision: int = 0, size: int | None = None) -> bytes:
    """A file without arrays, with the checksum that belongs to it (see the layout in `container`)."""
    first = PREAMBLE.pack(b"\x89NDCORE\n", version, revision, len(text), START + len(text) if size is None else size)
    return first + hashlib.blake2b(first + text, digest_size=32).digest() + text


def head_of(data: bytes):
    return read_head(io.BytesIO(data), len(data), "name")


def test_a_sound_head():
    assert head_of(file_of(revision=7)) == ("k", 7, {"n": 1}, [])


@pytest.mark.parametrize("version", [2, 3, 0xFFFFFFFF])
def test_a_newer_format_is_refused_by_its_number(version):
    with pytest.raises(CorruptFile, match=f"^name: format version {version}, this ndcore reads up to 1: upgrade ndcore$"):
        head_of(file_of(b"what a newer version may hold", version))


def test_there_is_no_version_0():
    with pytest.raises(CorruptFile, match="format version 0 does not exist"):
        head_of(file_of(version=0))


def test_damage_is_not_taken_for_a_newer_format():
    data = bytearray(file_of())
    for at in range(8, START):
        data[at] ^= 2
        with pytest.raises(CorruptFile) as caught:
            head_of(bytes(data))
        assert "upgrade" not in str(caught.value), at
        data[at] ^= 2


def test_alignment():
    assert [aligned(offset) for offset in (0, 1, 63, 64, 65)] == [0, 64, 64, 64, 128]
