"""The files of a log: their names and first bytes, reading their frames, what is damaged in them.

Every file begins with 32 bytes, all integers little-endian, and goes on with frames (`frames`):

====== ===== ====================================
offset bytes content
====== ===== ====================================
0      8     magic, ``89 4E 44 4C 4F 47 0D 0A``
8      4     format version, 1
12     4     tag of the store
16     8     number of the file
24     4     zero
28     4     CRC-32 of the 28 bytes before
====== ===== ====================================
"""

from __future__ import annotations

import os
import re
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from ndcore.storage.container import CorruptFile
from ndcore.storage.disk_space import naming, sync
from ndcore.store.frames import SHIFT, Piece, header_of, read_fully, walk

__all__ = ["START", "LogFile", "LogFiles", "begin_file", "is_log", "logs_in", "numbers_in", "read_start", "tag_in"]

MAGIC, FORMAT = b"\x89NDLOG\r\n", 1
GUESS = 8192  # bytes that a read asks for before it knows the length
MOST_OPEN = 256  # files open for reading
REMEDY = "Store.compact goes on without it"

_FIRST = struct.Struct("<8sI4sQI")
START = _FIRST.size + 4  # where frames begin
_NAME, _DIRECTORY = re.compile(r"([0-9]{8})\.log"), re.compile(r"log-[0-9]+")


class LogFile:
    """An open file, closed when nobody reads it any more."""

    __slots__ = ("descriptor",)
    def __init__(self, path: Path, flags: int) -> None:
        self.descriptor = -1
        self.descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)

    def size(self) -> int:
        """Return the bytes of the file."""
        return os.fstat(self.descriptor).st_size


class Start(NamedTuple):
    """The first bytes of a file: its tag, None where they are damaged, and what is wrong with them."""

    tag: bytes | None
    problem: str


def numbers_in(place: Path) -> list[int]:
    """Return the numbers of the files of a log, ascending."""
    return sorted(int(match[1]) for entry in os.scandir(place) if (match := _NAME.fullmatch(entry.name)) and entry.is_file())


def logs_in(place: Path) -> list[Path]:
    """Return the directories of a store that are named as its logs are."""
    return [Path(entry) for entry in os.scandir(place)
            if _DIRECTORY.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]


def is_log(place: Path, tag: bytes) -> bool:
    """Tell whether a directory holds files of a log of this tag and nothing else, as far as they were begun."""
    numbers = numbers_in(place)
    if len(numbers) != sum(1 for _ in os.scandir(place)):
        return False
    starts = [(path, read_start(path, number)) for number in numbers for path in [place / f"{number:08}.log"]]
    return all(start == (tag, "") or (start.tag is None and path.stat().st_size <= START) for path, start in starts)


def read_start(path: Path, number: int) -> Start:
    """Read the first bytes of a file. Raises ValueError for another format, OSError for a file that cannot be read."""
    try:
        with path.open("rb") as file:
            found = file.read(START)
    except FileNotFoundError as error:
        return Start(None, str(error.strerror))
    if len(found) < START:
        return Start(None, f"cut short, {len(found)} bytes")
    magic, version, tag, stored, _ = _FIRST.unpack_from(found)
    if magic != MAGIC or crc32(found[:-4]) != int.from_bytes(found[-4:], "little"):
        return Start(None, "its first 32 bytes are damaged")
    if version != FORMAT:
        raise ValueError(f"{path}: a log of format {version}; this ndcore reads {FORMAT}: upgrade ndcore")
    return Start(tag, "" if stored == number else f"it says that it is the file {stored:08}.log")


def tag_in(place: Path) -> bytes | None:
    """Return the tag that the first sound beginning of a file in a directory has; None where there is none."""
    starts = (read_start(place / f"{number:08}.log", number) for number in numbers_in(place))
    return next((start.tag for start in starts if start.tag is not None), None)


def begin_file(path: Path, number: int, tag: bytes) -> LogFile:
    """Make a file without frames, on disk, and return it open for writing. An older file of the name is replaced."""
    first = _FIRST.pack(MAGIC, FORMAT, tag, number, 0)
    with naming(path):
        file = LogFile(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        try:
            if os.pwrite(file.descriptor, first + struct.pack("<I", crc32(first)), 0) != START:
                raise OSError(28, "No space left on device")
            os.fsync(file.descriptor)
            sync(path.parent)
        except OSError:
            path.unlink(missing_ok=True)
            raise
    return file


class LogFiles:
    """The files of a log in a directory, opened as they are needed, and what was found damaged in them."""

    def __init__(self, directory: Path, tag: bytes) -> None:
        self.directory, self.tag, self.closed = directory, tag, False
        self._open: dict[int, LogFile] = {}
        self._damage: dict[int, str] = {}
        self._lock = threading.Lock()

    @property
    def damage(self) -> list[str]:
        """What was found damaged, by position."""
        return [self._damage[position] for position in sorted(self._damage)]

    def damaged_since(self, position: int) -> int:
        """Count the damaged parts that are known at a position or behind it."""
        return sum(each >= position for each in self._damage)

    def path(self, number: int) -> Path:
        """Return the path of a file."""
        return self.directory / f"{number:08}.log"

    def put(self, number: int, file: LogFile) -> None:
        """Hold a file that is open already."""
        with self._lock:
            self._open[number] = file

    def file(self, number: int, flags: int = os.O_RDONLY) -> LogFile:
        """Return an open file. Where too many are open, others are closed when their readers leave them."""
        file = self._open.get(number)
        if file is None:
            with self._lock:
                if self.closed:
                    raise ValueError(f"{self.directory} is closed; open it again")
                file = self._open.setdefault(number, LogFile(self.path(number), flags))
                last = max(self._open)  # the writer's
                for other in list(self._open)[: max(0, len(self._open) - MOST_OPEN)]:
                    if other not in (number, last):
                        del self._open[other]
        return file

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            self.closed = True
            self._open.clear()

    def report(self, number: int, offset: int, problem: str) -> None:
        """Note damage of a file."""
        self._damage[number << SHIFT | offset] = f"{self.path(number)}: {problem}"

    def report_piece(self, number: int, piece: Piece) -> None:
        """Note a damaged part of a file."""
        lost = ", one record is lost" if piece.whole else ""
        self.report(number, piece.start, f"bytes {piece.start} to {piece.end} are damaged{lost}")

    def pieces(self, number: int, start: int, stop: int | None) -> Iterator[Piece]:
        """Yield the frames of a file and what is damaged between them. stop: None for the end of the file."""
        first = read_start(self.path(number), number)
        if first.tag != self.tag:
            self.report(number, 0, first.problem or "it belongs to another store")
        try:
            file = self.file(number)
        except FileNotFoundError as error:
            self.report(number, 0, str(error.strerror))
            return
        size = file.size()
        yield from walk(file.descriptor, number, self.tag, start, size if stop is None else min(stop, size))

    def last_frame(self, number: int, start: int) -> int:
        """Return the end of the last frame of a file that counts; what stands behind it was not on disk for certain.

        What is damaged before a mark was on disk: it is reported, and costs its own records. Behind the last mark nothing
        counts from the first damaged part on, since a loss of power may keep later writes and drop earlier ones.
        """
        end: int = start
        damaged: list[Piece] = []
        for piece in self.pieces(number, start, None):
            if piece.payload is None:
                damaged.append(piece)
            elif not piece.payload or not damaged:
                for each in damaged:
                    self.report_piece(number, each)
                end, damaged = piece.end, []
        return end

    def read(self, position: int) -> bytes:
        """Read the payload at a position and check it."""
        number, offset = position >> SHIFT, position & (1 << SHIFT) - 1
        try:
            descriptor = (file := self.file(number)).descriptor  # `file` keeps it open
        except FileNotFoundError:
            raise CorruptFile(f"{self.path(number)}: missing, and a record was stored there; {REMEDY}") from None
        found = os.pread(descriptor, GUESS, offset)
        known = header_of(found, self.tag, position)
        if known is None:
            raise CorruptFile(f"{self.path(number)}: damaged, no record begins at byte {offset}; {REMEDY}")
        size, length, check = known
        payload = found[size : size + length]
        if len(payload) < length and offset + size + length <= file.size():
            payload += read_fully(descriptor, offset + size + len(payload), length - len(payload))
        if len(payload) != length or crc32(payload) != check:
            raise CorruptFile(f"{self.path(number)}: the record at byte {offset} is damaged; {REMEDY}")
        return payload
