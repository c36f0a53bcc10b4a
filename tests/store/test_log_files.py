"""The files of a log: their first bytes, and open files that are bounded while others read them."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest

from ndcore.storage.container import CorruptFile
from ndcore.store import log_files
from ndcore.store.frames import SHIFT, frame_header
from ndcore.store.log_files import START, LogFiles, begin_file, numbers_in, read_start

TAG = b"1234"


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
