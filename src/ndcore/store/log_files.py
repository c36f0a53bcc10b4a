"""The files of a log: their names and first bytes, reading their frames, what is damaged in them.

Every file begins with 32 bytes, all integers little-endian, and goes on with frames, payloads under checksums that are
bound to their place:

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
0      2     first half of the tag of the store: where to look for frames behind damage
2      4     CRC-32 of the whole tag, length, checksum of the payload and the frame's position
6      4     CRC-32 of the payload
10     2     length of the payload; from 32,768 on its lowest 15 bits, and the highest bit set
(12)   2     only then: the higher bits of the length
12     ...   payload
====== ===== ==========================================================================

The tag has 4 random bytes, so no text can hold a frame of its own. A position is ``file number << 40 | offset``. A header
that is right tells the length even if the payload is damaged: one damaged payload costs one frame, and each byte is read
once for any damage. A frame copied to another place is invalid. A frame without a payload is a *mark*: when it was written,
everything before it was on disk. A log that was closed ends in one.
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
GUESS = 8192  # bytes that a read asks for before it knows the length
MOST_OPEN = 256  # files open for reading
REMEDY = "Store.compact goes on without it"

_FIRST = struct.Struct("<8sI4sQI")
START = _FIRST.size + 4  # where frames begin
_NAME, _DIRECTORY = re.compile(r"([0-9]{8})\.log"), re.compile(r"log-[0-9]+")

SHIFT = 40  # bits of an offset in a position
MOST_FILES, MOST_PAYLOAD = 1 << 16, 1 << 30
BLOCK = 4 << 20  # bytes read at once

LONG = 1 << 15  # from this length on a header has two more bytes

_SHORT, _LONG, _PLACED = struct.Struct("<2sIIH"), struct.Struct("<2sIIHH"), struct.Struct("<4sIIQ")
HEADER, MOST_HEADER = _SHORT.size, _LONG.size


class LogFile:
    """An open file, closed by its last reader."""

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
    """Return the directories of a store that have names of logs."""
    return [Path(entry) for entry in os.scandir(place)
            if _DIRECTORY.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)]


def is_log(place: Path, tag: bytes) -> bool:
    """Tell whether a directory holds files of a log of this tag and nothing else; a file may have no first bytes yet."""
    numbers = numbers_in(place)
    if len(numbers) != sum(1 for _ in os.scandir(place)):
        return False
    starts = [(path, read_start(path, number)) for number in numbers for path in [place / f"{number:08}.log"]]
    return all(start == (tag, "") or (start.tag is None and path.stat().st_size <= START) for path, start in starts)


def read_start(path: Path, number: int) -> Start:
    """Read the first bytes of a file. Raises ValueError for another format, OSError for a file that cannot be read."""
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
    """Return the tag of the first file in a directory whose first bytes are sound; None where there is none."""
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
    """The files of a log in a directory, opened when they are needed, and the damage seen in them."""

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
        """Return the end of the last valid frame of a file; bytes behind it may never have been on disk.

        Damage before a mark was on disk: it is reported, and costs its own records. Behind the last mark nothing is valid
        from the first damaged part on, since a loss of power may keep later writes and drop earlier ones.
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
    """The fields of a header: its size, the size of the payload, and the CRC-32 of the payload."""

    size: int
    length: int
    check: int


class Piece(NamedTuple):
    """A part of a file: a frame, or bytes between frames that are damaged.

    Attributes
    ----------
    start, end : int
        Offsets in the file.
    payload : bytes or None
        None: damaged.
    whole : bool
        The header of the frame is valid, and the file is long enough for the payload.
    """

    start: int
    end: int
    payload: bytes | None
    whole: bool


def frame_header(tag: bytes, position: int, payload: bytes) -> bytes:
    """Return the header of a frame at a position."""
    length, check = len(payload), crc32(payload)
    sealed = crc32(_PLACED.pack(tag, length, check, position))
    if length < LONG:
        return _SHORT.pack(tag[:2], sealed, check, length)
    return _LONG.pack(tag[:2], sealed, check, length % LONG | LONG, length // LONG)


def header_of(data: bytes, tag: bytes, position: int) -> Header | None:
    """Read the header that some bytes begin with; None for other bytes."""
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
    """Read a file in blocks, forwards. Nothing is mapped: a file that is cut short meanwhile gives fewer bytes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._first, self._bytes = descriptor, 0, b""

    def at(self, offset: int, size: int) -> bytes:
        """Return `size` bytes from an offset on, fewer at the end of the file."""
        i = offset - self._first
        if i < 0 or i + size > len(self._bytes):
            self._first, self._bytes, i = offset, read_fully(self._descriptor, offset, max(size, BLOCK)), 0
        return self._bytes[i : i + size]

    def forget(self) -> None:
        """Forget the block at hand: another process may have written meanwhile."""
        self._bytes = b""


def read_fully(descriptor: int, offset: int, size: int) -> bytes:
    """Read `size` bytes at an offset, fewer at the end of the file only."""
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
    """Yield the frames of an open file from an offset to another, and the damaged parts between them.

    number: of the file in the log; stop: at most the size of the file, which bounds every read. Each byte is read once.
    Memory: the longest payload, and 4 MiB.
    """
    base, window = number << SHIFT, Window(descriptor)
    while start < stop:
        piece = _piece(window, base, tag, start, stop)
        if piece.payload is None:  # once more: a reader may have met a write that was under way
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
    """Return the offset of the first valid header from an offset on; `stop` if there is none."""
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
