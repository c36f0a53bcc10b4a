"""The files of a log: names and heads of files, reading of frames, and damage.

Every file begins with a head of 32 bytes, all integers little-endian, followed by frames: payloads with checksums that
depend on their position:

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

A frame:

====== ===== ==========================================================================
offset bytes content
====== ===== ==========================================================================
0      2     first half of the tag of the store, by which frames after damage are found
2      4     CRC-32 of the whole tag, length, checksum of the payload and the frame's position
6      4     CRC-32 of the payload
10     2     length of the payload; from 32,768 on its lowest 15 bits, and the highest bit set
(12)   2     only then: the higher bits of the length
12     ...   payload
====== ===== ==========================================================================

The tag has 4 random bytes, so a text cannot contain a forged frame. A position is ``file number << 40 | offset``. A valid
header gives the length even if the payload is damaged, so one damaged payload costs one frame, and each byte is read once
for any damage. A frame copied to another position is invalid. A frame without a payload is a *mark*: when it was written,
everything before it was on disk. A closed log ends in a mark.
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

MAGIC, FORMAT = b"\x89NDLOG\r\n", 1
GUESS = 8192  # bytes that are read before the length is known
MOST_OPEN = 256  # most files open for reading
REMEDY = "Store.compact goes on without it"

_FIRST = struct.Struct("<8sI4sQI")
START = _FIRST.size + 4  # where frames begin
_NAME, _DIRECTORY = re.compile(r"([0-9]{8})\.log"), re.compile(r"log-[0-9]+")

SHIFT = 40  # bits of an offset in a position
MOST_FILES, MOST_PAYLOAD = 1 << 16, 1 << 30
BLOCK = 4 << 20  # bytes read at once

LONG = 1 << 15  # payloads of at least this length have two more bytes in the header

_SHORT, _LONG, _PLACED = struct.Struct("<2sIIH"), struct.Struct("<2sIIHH"), struct.Struct("<4sIIQ")
HEADER, MOST_HEADER = _SHORT.size, _LONG.size


class LogFile:
    """An open file, which its last reader closes."""

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
    """The head of a file: its tag, None if the head is damaged, and the problem."""

    tag: bytes | None
    problem: str


def numbers_in(place: Path) -> list[int]:
    """List the numbers of the files of a log, ascending."""
    return sorted(int(match[1]) for entry in os.scandir(place) if (match := _NAME.fullmatch(entry.name)) and entry.is_file())


def logs_in(place: Path) -> list[Path]:
    """List the directories of a store that are named like logs."""
    return [Path(entry) for entry in os.scandir(place)
            if _DIRECTORY.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]


def is_log(place: Path, tag: bytes) -> bool:
    """Tell whether a directory holds only files of a log with this tag; a file may lack its head yet."""
    numbers = numbers_in(place)
    if len(numbers) != sum(1 for _ in os.scandir(place)):
        return False
    starts = [(path, read_start(path, number)) for number in numbers for path in [place / f"{number:08}.log"]]
    return all(start == (tag, "") or (start.tag is None and path.stat().st_size <= START) for path, start in starts)


def read_start(path: Path, number: int) -> Start:
    """Read the head of a file. Raises ValueError for another format, OSError if the file cannot be read."""
    try:
        with path.open("rb") as file:
            start = file.read(START)
    except FileNotFoundError as error:
        return Start(None, str(error.strerror))
    if len(start) < START:
        return Start(None, f"cut short, {len(start)} bytes")
    magic, version, tag, stored, _ = _FIRST.unpack_from(start)
    if magic != MAGIC or crc32(start[:-4]) != int.from_bytes(start[-4:], "little"):
        return Start(None, "its first 32 bytes are damaged")
    if version != FORMAT:
        raise ValueError(f"{path}: a log of format {version}; this ndcore reads {FORMAT}: upgrade ndcore")
    return Start(tag, "" if stored == number else f"it says that it is the file {stored:08}.log")


def tag_in(place: Path) -> bytes | None:
    """Return the tag of the first file in a directory with an intact head; None without one."""
    starts = (read_start(place / f"{number:08}.log", number) for number in numbers_in(place))
    return next((start.tag for start in starts if start.tag is not None), None)


def begin_file(path: Path, number: int, tag: bytes) -> LogFile:
    """Make a file without frames, synced, and return it open for writing. A file of the same name is replaced."""
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
    """The files of a log in a directory, opened when they are needed, and the damage found in them."""

    def __init__(self, directory: Path, tag: bytes) -> None:
        self.directory, self.tag, self.closed = directory, tag, False
        self._open: dict[int, LogFile] = {}
        self._damage: dict[int, str] = {}
        self._lock = threading.Lock()

    @property
    def damage(self) -> list[str]:
        """The damage found, by position."""
        return [self._damage[position] for position in sorted(self._damage)]

    def damaged_since(self, position: int) -> int:
        """Count the damaged parts that are known at a position or behind it."""
        return sum(each >= position for each in self._damage)

    def path(self, number: int) -> Path:
        """Return the path of a file."""
        return self.directory / f"{number:08}.log"

    def put(self, number: int, file: LogFile) -> None:
        """Add a file that is already open."""
        with self._lock:
            self._open[number] = file

    def file(self, number: int, flags: int = os.O_RDONLY) -> LogFile:
        """Return an open file. If too many are open, others are closed once they have no readers."""
        file = self._open.get(number)
        if file is None:
            with self._lock:
                if self.closed:
                    raise ValueError(f"{self.directory} is closed; open it again")
                file = self._open.setdefault(number, LogFile(self.path(number), flags))
                last = max(self._open)  # the file that the writer appends to
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
        """Record damage of a file."""
        self._damage[number << SHIFT | offset] = f"{self.path(number)}: {problem}"

    def report_piece(self, number: int, piece: Piece) -> None:
        """Record a damaged part of a file."""
        lost = ", one record is lost" if piece.whole else ""
        self.report(number, piece.start, f"bytes {piece.start} to {piece.end} are damaged{lost}")

    def pieces(self, number: int, start: int, stop: int | None) -> Iterator[Piece]:
        """Yield the frames of a file and the damaged parts between them. stop: None for the end of the file."""
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
        """Find the end of the last valid frame of a file; bytes after it may never have been on disk.

        Bytes before a mark were on disk, so damage there is reported and costs only its own records. After the last mark,
        nothing is valid from the first damaged part on, since a loss of power may keep later writes and drop earlier ones.
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
            descriptor = (file := self.file(number)).descriptor  # the reference keeps it open
        except FileNotFoundError:
            raise CorruptFile(f"{self.path(number)}: missing, and a record was stored there; {REMEDY}") from None
        data = os.pread(descriptor, GUESS, offset)
        known = header_of(data, self.tag, position)
        if known is None:
            raise CorruptFile(f"{self.path(number)}: damaged, no record begins at byte {offset}; {REMEDY}")
        size, length, check = known
        payload = data[size : size + length]
        if len(payload) < length and offset + size + length <= file.size():
            payload += read_fully(descriptor, offset + size + len(payload), length - len(payload))
        if len(payload) != length or crc32(payload) != check:
            raise CorruptFile(f"{self.path(number)}: the record at byte {offset} is damaged; {REMEDY}")
        return payload


# ---- frames


class Header(NamedTuple):
    """The fields of a header: its own size, the size of the payload, and the CRC-32 of the payload."""

    size: int
    length: int
    check: int


class Piece(NamedTuple):
    """A part of a file: a frame, or damaged bytes between frames.

    Attributes
    ----------
    start, end : int
        Offsets in the file.
    payload : bytes or None
        The payload; None if it is damaged.
    whole : bool
        The header of the frame is valid, and the file is long enough for the payload.
    """

    start: int
    end: int
    payload: bytes | None
    whole: bool


def frame_header(tag: bytes, position: int, payload: bytes) -> bytes:
    """Make the header of a frame at a position."""
    length, check = len(payload), crc32(payload)
    sealed = crc32(_PLACED.pack(tag, length, check, position))
    if length < LONG:
        return _SHORT.pack(tag[:2], sealed, check, length)
    return _LONG.pack(tag[:2], sealed, check, length % LONG | LONG, length // LONG)


def header_of(data: bytes, tag: bytes, position: int) -> Header | None:
    """Parse the header at the beginning of some bytes; None for other bytes."""
    if len(data) < HEADER:
        return None
    mark, sealed, check, length = _SHORT.unpack_from(data)
    size = HEADER if length < LONG else MOST_HEADER
    if mark != tag[:2] or len(data) < size:
        return None
    if size == MOST_HEADER:
        length = length % LONG | int.from_bytes(data[HEADER:MOST_HEADER], "little") * LONG
    if crc32(_PLACED.pack(tag, length, check, position)) != sealed or length > MOST_PAYLOAD:
        return None
    return Header(size, length, check)


def is_mark(data: bytes, tag: bytes, position: int) -> bool:
    """Tell whether 12 bytes are a mark."""
    return len(data) == HEADER and header_of(data, tag, position) == (HEADER, 0, 0)


class Window:
    """A file that is read forwards in blocks. It is not mapped: a file truncated meanwhile only gives fewer bytes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._first, self._bytes = descriptor, 0, b""

    def at(self, offset: int, size: int) -> bytes:
        """Return `size` bytes from an offset on, or fewer at the end of the file."""
        i = offset - self._first
        if i < 0 or i + size > len(self._bytes):
            self._first, self._bytes, i = offset, read_fully(self._descriptor, offset, max(size, BLOCK)), 0
        return self._bytes[i : i + size]

    def forget(self) -> None:
        """Forget the current block: another process may have written meanwhile."""
        self._bytes = b""


def read_fully(descriptor: int, offset: int, size: int) -> bytes:
    """Read `size` bytes at an offset, or fewer only at the end of the file."""
    data = os.pread(descriptor, size, offset)
    if len(data) == size or not data:
        return data
    pieces = [data]
    missing = size - len(data)
    while missing and (data := os.pread(descriptor, missing, offset + size - missing)):
        pieces.append(data)
        missing -= len(data)
    return b"".join(pieces)


def walk(descriptor: int, number: int, tag: bytes, start: int, stop: int) -> Iterator[Piece]:
    """Yield the frames of an open file between two offsets, and the damaged parts between them.

    number: the file's number in the log; stop: at most the size of the file, which bounds every read. Each byte is read
    once.
    Memory: the longest payload, and 4 MiB.
    """
    base, window = number << SHIFT, Window(descriptor)
    while start < stop:
        piece = _piece(window, base, tag, start, stop)
        if piece.payload is None:  # try again: a reader may have met a write in progress
            window.forget()
            piece = _piece(window, base, tag, start, stop)
        yield piece
        start = piece.end


def _piece(window: Window, base: int, tag: bytes, start: int, stop: int) -> Piece:
    """Read the frame at an offset, or find the end of the damage there."""
    known = header_of(window.at(start, min(MOST_HEADER, stop - start)), tag, base + start)
    if known is None:
        return Piece(start, _next_header(window, base, tag, start + 1, stop), None, False)
    begin = start + known.size
    end = begin + known.length
    if end > stop:
        return Piece(start, stop, None, False)
    payload = window.at(begin, known.length)
    return Piece(start, end, payload if len(payload) == known.length and crc32(payload) == known.check else None, True)


def _next_header(window: Window, base: int, tag: bytes, start: int, stop: int) -> int:
    """Find the offset of the first valid header from an offset on; `stop` if there is none."""
    while stop - start >= HEADER:
        block = window.at(start, min(BLOCK, stop - start))
        i = block.find(tag[:2])
        while 0 <= i <= len(block) - HEADER:
            if header_of(block[i : i + MOST_HEADER], tag, base + start + i) is not None:
                return start + i
            i = block.find(tag[:2], i + 1)
        if len(block) < MOST_HEADER:
            break
        start += len(block) - MOST_HEADER + 1
    return stop
