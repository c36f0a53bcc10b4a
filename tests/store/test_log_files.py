"""The files of a log: their first bytes, open files that are bounded, and frames: damage costs the damaged one, and hostile
files cost linear time."""

from __future__ import annotations

import itertools
import os
import struct
import zlib
from pathlib import Path

import pytest

from ndcore.storage.container import CorruptFile
from ndcore.store import log_files
from ndcore.store.log_files import (
    HEADER,
    MOST_HEADER,
    SHIFT,
    START,
    LogFiles,
    begin_file,
    frame_header,
    header_of,
    is_mark,
    numbers_in,
    read_start,
    walk,
)

TAG = b"\x01abc"


def open_files():
    """Count the open files of this process, where the system tells."""
    place = Path("/proc/self/fd")
    return len(list(place.iterdir())) if place.is_dir() else 0


def test_the_first_bytes_by_hand(tmp_path):
    path = tmp_path / "00000005.log"
    begin_file(path, 5, TAG)
    first = b"\x89NDLOG\r\n" + struct.pack("<I", 1) + TAG + struct.pack("<QI", 5, 0)
    assert path.read_bytes() == first + struct.pack("<I", zlib.crc32(first)) and START == 32
    assert read_start(path, 5) == (TAG, "")
    assert read_start(path, 6) == (TAG, "it says that it is the file 00000005.log")
    assert "No such file" in read_start(tmp_path / "missing", 0).problem
    path.write_bytes(first)
    assert read_start(path, 5) == (None, "cut short, 28 bytes")


def test_only_files_of_a_log_are_counted(tmp_path):
    for name in ("00000010.log", "00000002.log", "2.log", "00000003.log.tmp", "x"):
        (tmp_path / name).touch()
    (tmp_path / "00000004.log").mkdir()
    assert numbers_in(tmp_path) == [2, 10]


def test_open_files_are_bounded_and_stay_open_for_their_readers(tmp_path, monkeypatch):
    monkeypatch.setattr(log_files, "MOST_OPEN", 4)
    files = LogFiles(tmp_path, TAG)
    for number in range(20):
        made = begin_file(files.path(number), number, TAG)
        at = number << SHIFT | START
        os.pwrite(made.descriptor, frame_header(TAG, at, b"%d" % number) + b"%d" % number, START)
    held = files.file(0)
    before = open_files()
    for number in range(20):
        assert files.read(number << SHIFT | START) == b"%d" % number
    assert held.size() == START + 13
    if before:
        assert open_files() <= before + 6
    files.close()
    with pytest.raises(ValueError, match="is closed"):
        files.read(START)


def test_a_record_longer_than_one_read(tmp_path):
    files, payload = LogFiles(tmp_path, TAG), os.urandom(3 * log_files.GUESS)
    made = begin_file(files.path(0), 0, TAG)
    os.pwrite(made.descriptor, frame_header(TAG, START, payload) + payload, START)
    assert files.read(START) == payload
    os.ftruncate(made.descriptor, 2 * log_files.GUESS)
    with pytest.raises(CorruptFile, match=r"the record at byte 32 is damaged; Store.compact goes on without it"):
        files.read(START)
    with pytest.raises(CorruptFile, match="missing"):
        files.read(1 << SHIFT | START)


def framed(payloads, number=0, start=0):
    """Return the frames of payloads as one bytes."""
    done = b""
    for payload in payloads:
        done += frame_header(TAG, number << SHIFT | start + len(done), payload) + payload
    return done


def pieces(tmp_path, content, number=0, start=0):
    (tmp_path / "f").write_bytes(content)
    descriptor = os.open(tmp_path / "f", os.O_RDONLY)
    try:
        return list(walk(descriptor, number, TAG, start, len(content)))
    finally:
        os.close(descriptor)


def test_a_header_by_hand():
    position, payload = 3 << 40 | 77, b"payload"
    check = zlib.crc32(payload)
    sealed = zlib.crc32(TAG + struct.pack("<IIQ", 7, check, position))
    assert frame_header(TAG, position, payload) == TAG[:2] + struct.pack("<IIH", sealed, check, 7)
    assert header_of(frame_header(TAG, position, payload), TAG, position) == (12, 7, check)


@pytest.mark.parametrize(("length", "written"), [(32767, b"\xff\x7f"), (32768, b"\0\x80\1\0"), (100_000, b"\xa0\x86\3\0")])
def test_long_payloads_have_longer_headers(length, written):
    payload = bytes(length)
    header = frame_header(TAG, 5, payload)
    assert header[10:] == written
    assert header_of(header + payload, TAG, 5) == (10 + len(written), length, zlib.crc32(payload))
    assert header_of(header[:-1], TAG, 5) is None


def test_a_header_holds_at_its_place_only():
    header = frame_header(TAG, 100, b"x")
    assert header_of(header, TAG, 101) is None
    assert header_of(header, b"else", 100) is None
    assert header_of(header[:-1], TAG, 100) is None
    assert not is_mark(header, TAG, 100) and is_mark(frame_header(TAG, 100, b""), TAG, 100)


@pytest.mark.parametrize("block", [17, 64, 4 << 20])
def test_frames_come_back(tmp_path, monkeypatch, block):
    monkeypatch.setattr(log_files, "BLOCK", block)
    payloads = [b"a", b"", b"bc" * 50, TAG * 30, os.urandom(1000), bytes(40_000), b"z"]
    found = pieces(tmp_path, framed(payloads, 7), 7)
    assert [piece.payload for piece in found] == payloads
    assert found[0].start == 0 and all(a.end == b.start for a, b in itertools.pairwise(found))


@pytest.mark.parametrize("block", [17, 50, 4 << 20])
def test_a_flipped_byte_costs_one_frame(tmp_path, monkeypatch, block):
    monkeypatch.setattr(log_files, "BLOCK", block)
    payloads = [b"first", TAG + b"second" + TAG, b"third"]
    content = framed(payloads)
    bounds = [HEADER + 5, HEADER * 2 + 5 + len(payloads[1])]
    for i in range(len(content)):
        damaged = bytearray(content)
        damaged[i] ^= 0x20
        hit = sum(i >= bound for bound in bounds)
        found = pieces(tmp_path, bytes(damaged))
        assert [piece.payload for piece in found if piece.payload is not None] == payloads[:hit] + payloads[hit + 1 :], i
        assert sum(piece.payload is None for piece in found) == 1


def test_a_frame_inside_a_payload_is_not_found(tmp_path):
    inner = framed([b"forged"], start=HEADER)  # right at its place, for one who knows the tag
    content = bytearray(framed([inner, b"next"]))
    content[HEADER + len(inner) - 1] ^= 1  # the payload is damaged, its header is not
    found = pieces(tmp_path, bytes(content))
    assert [piece.payload for piece in found] == [None, b"next"]
    assert found[0].whole


def test_tags_everywhere_cost_linear_time(tmp_path):
    found = pieces(tmp_path, TAG * 100_000)
    assert len(found) == 1 and found[0].payload is None


def test_a_length_beyond_the_file_reads_nothing(tmp_path):
    check = zlib.crc32(b"")
    sealed = zlib.crc32(TAG + struct.pack("<IIQ", 1 << 30, check, 0))
    found = pieces(tmp_path, TAG[:2] + struct.pack("<IIHH", sealed, check, 1 << 15, 1 << 15) + b"short")
    assert found == [log_files.Piece(0, MOST_HEADER + 5, None, False)]
    sealed = zlib.crc32(TAG + struct.pack("<IIQ", 0x7FFFFFFF, check, 0))
    assert header_of(TAG[:2] + struct.pack("<IIHH", sealed, check, 0xFFFF, 0xFFFF), TAG, 0) is None


@pytest.mark.parametrize("size", range(HEADER + 5))
def test_a_file_that_is_cut_short(tmp_path, size):
    content = framed([b"whole"]) + framed([b"other"], start=HEADER + 5)[:size]
    found = pieces(tmp_path, content)
    assert [piece.payload for piece in found] == [b"whole"] + [None] * (size > 0)
