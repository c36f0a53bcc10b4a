"""Write and find frames: payloads one after another in a file, each under checksums that are bound to its place.

A frame, all integers little-endian:

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
import struct
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

__all__ = [
    "HEADER", "MOST_FILES", "MOST_HEADER", "MOST_PAYLOAD", "SHIFT", "Header", "Piece", "frame_header", "header_of",
    "is_mark", "walk",
]

SHIFT = 40  # bits of an offset in a position
MOST_FILES, MOST_PAYLOAD = 1 << 16, 1 << 30
BLOCK = 4 << 20  # bytes read at once

LONG = 1 << 15  # from this length on a header has two more bytes

_SHORT, _LONG, _PLACED = struct.Struct("<2sIIH"), struct.Struct("<2sIIHH"), struct.Struct("<4sIIQ")
HEADER, MOST_HEADER = _SHORT.size, _LONG.size


class Header(NamedTuple):
    """What a header says: its own bytes, the bytes of the payload, and their CRC-32."""

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
        The header of the frame is right, and the file is long enough for the payload.
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


def header_of(found: bytes, tag: bytes, position: int) -> Header | None:
    """Read the header that some bytes begin with; None for other bytes."""
    if len(found) < HEADER:
        return None
    mark, sealed, check, length = _SHORT.unpack_from(found)
    size = HEADER if length < LONG else MOST_HEADER
    if mark != tag[:2] or len(found) < size:
        return None
    if size == MOST_HEADER:
        length = length % LONG | int.from_bytes(found[HEADER:MOST_HEADER], "little") * LONG
    if crc32(_PLACED.pack(tag, length, check, position)) != sealed or length > MOST_PAYLOAD:
        return None
    return Header(size, length, check)


def is_mark(found: bytes, tag: bytes, position: int) -> bool:
    """Tell whether 12 bytes are a mark."""
    return len(found) == HEADER and header_of(found, tag, position) == (HEADER, 0, 0)


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
        """Read anew what comes next: another process may have written meanwhile."""
        self._bytes = b""


def read_fully(descriptor: int, offset: int, size: int) -> bytes:
    """Read `size` bytes at an offset, fewer at the end of the file only."""
    found = os.pread(descriptor, size, offset)
    if len(found) == size or not found:
        return found
    pieces = [found]
    missing = size - len(found)
    while missing and (found := os.pread(descriptor, missing, offset + size - missing)):
        pieces.append(found)
        missing -= len(found)
    return b"".join(pieces)


def walk(descriptor: int, number: int, tag: bytes, start: int, stop: int) -> Iterator[Piece]:
    """Yield the frames of a file from an offset to another, and the damaged parts between them.

    Parameters
    ----------
    descriptor : int
        An open file.
    number : int
        Its number in the log.
    start, stop : int
        Offsets; `stop` is at most the size of the file, which bounds every read.

    Notes
    -----
    Each byte is read once. Memory: the longest payload, and 4 MiB.
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
    """Read the frame at an offset, or find where the damage that is there ends."""
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
    """Return the offset of the first right header from an offset on; `stop` if there is none."""
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
