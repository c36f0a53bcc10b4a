"""Read the file of a source, compressed or not, by lines or as a whole, and detect changes between two passes.

Damage becomes a DocumentError.
"""

# Making a Path would cost more than the check itself.
# ruff: noqa: PTH116

from __future__ import annotations

import contextlib
import io
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ndcore._types import Ints
from ndcore.choices import COMPRESSIONS
from ndcore.files.compression import DamagedData, open_decompressed
from ndcore.files.errors import DocumentError, refuse_unreadable
from ndcore.files.remote import open_remote, read_state
from ndcore.files.sources import Source, TooLong, explain_too_long
from ndcore.parallel import cut

_BUFFER = 1 << 20
_PACKED = 1 << 16  # compressed bytes
_PIECE = 1 << 16  # bytes that are split into lines at a time; most texts are shorter


class _Counted(io.FileIO):
    """A file that adds the bytes read to the count of its source."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.location, "rb")
        self._source = source
        source.seen = 0

    def readinto(self, target: Any) -> int:
        count = super().readinto(target)
        self._source.seen += count
        return count


def open_counted(source: Source) -> io.BufferedReader:
    """Open the file of `source` without decompressing it; ``source.seen`` counts the bytes read. Raises OSError."""
    return io.BufferedReader(_Counted(source), _PACKED if source.stored else _BUFFER)


@contextlib.contextmanager
def open_reader(source: Source) -> Iterator[io.BufferedReader]:
    """Open `source` in place, without a copy, to read its decompressed bytes. Raises OSError and DocumentError."""
    with open_remote(source.path, _BUFFER) if source.is_remote else open_counted(source) as file:
        yield open_decompressed(file, source.stored, source.path) if source.stored else file


@contextlib.contextmanager
def open_source(source: Source, number: Callable[[], int] | None = None, what: str = "") -> Iterator[io.BufferedReader]:
    """Open `source` like `open_reader`; errors while it is read become DocumentErrors.

    Parameters
    ----------
    number : callable or None
        Returns the number of the record that is being read; None for a file that is one document.
    what : str
        The part of the file that an error makes unreadable, for messages.
    """
    rest = f"; {what} on cannot be read" if number else ""
    try:
        with refuse_unreadable(source.path), open_reader(source) as stream:
            yield stream
    except EOFError as error:
        reason = f"the compressed file is truncated{' here' if number else ''}{rest}"
        raise DocumentError(source.path, number() if number else None, reason) from error
    except DamagedData as error:
        reason = f"not valid {COMPRESSIONS[source.stored]} data ({error}){rest}"
        raise DocumentError(source.path, number() if number else None, reason) from error


class LineRange(NamedTuple):
    """The lines, at least one, that begin in a range of an uncompressed UTF-8 file.

    Attributes
    ----------
    start : int
        Offset of the first byte of the range.
    number : int
        The number of the first line, counted from 1.
    lines : int
    """

    start: int
    number: int
    lines: int


def count_lines(source: Source, start: int, stop: int) -> int:
    """Count the lines that begin in the bytes from `start` to `stop` of an uncompressed UTF-8 file.

    A line begins at the beginning of the file, and after each LF that is not its last byte. `stop` is at most its size.

    Raises
    ------
    DocumentError
        The file cannot be read.
    """
    lines, left = int(start == 0 < stop), stop - max(start, 1)
    with open_source(source) as stream:
        stream.seek(max(start, 1) - 1)
        while left > 0 and (data := stream.read1(min(left, _BUFFER))):
            lines, left = lines + data.count(b"\n"), left - len(data)
    return lines


def read_spans(source: Source, starts: Ints, ends: Ints) -> Iterator[tuple[slice, bytes]]:
    """Yield ascending spans of a decompressed file, about 1 MiB at a time: the slice of the spans, and the bytes from the
    first to the last of them.

    Raises
    ------
    DocumentError
        The file cannot be read, is damaged, or ends before the last span.
    """
    at, held = 0, b""  # the offset of the bytes already read, and these bytes
    with open_source(source) as stream:
        for which in cut(ends - starts, _BUFFER):
            start, end = int(starts[which.start]), int(ends[which.stop - 1])
            parts, size = [held], len(held)
            while at + size < end:
                if at + size <= start:  # these bytes lie between the spans
                    at, parts, size = at + size, [], 0
                if not (data := stream.read1(_PIECE)):
                    raise DocumentError(source.path, None, f"ends at byte {at + size:,}, and had {end:,} before")
                parts.append(data)
                size += len(data)
            held = b"".join(parts)
            yield which, held[start - at : end - at]
            held, at = held[end - at :], end


def read_lines(source: Source, within: LineRange | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield number (from 1) and bytes of each line, its newline included. Lines end only at LF.

    With `within`, only these lines are read. LF is encoded in ``source.encoding`` (UTF-8 if that is empty), as a whole code
    unit in UTF-16 or UTF-32. A line longer than ``source.longest`` is skipped, and a TooLong is yielded for it.

    Raises
    ------
    DocumentError
        The file cannot be read, is truncated or damaged; `number` is the line that could not be read.
    """
    first, last = (1, 0) if within is None else (within.number, within.number + within.lines - 1)
    number = first - 1
    with open_source(source, lambda: number + 1, "the records from this line") as stream:
        if within is not None:
            _seek_line(stream, within.start)
        for number, line in split_lines(source, iter(lambda: stream.read1(_PIECE), b""), first):
            yield number, line
            if number == last:
                return


def split_lines(source: Source, pieces: Iterable[bytes], first: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines in the bytes of a source as `read_lines` does; `first` is the number of the first one."""
    encoding, longest = source.encoding or "utf-8", source.longest
    end = "\n".encode(encoding)
    number, line, held, passed, quotes = first, bytearray(), b"", False, 0
    for piece in pieces:
        data = held + piece
        units = len(data) // len(end) * len(end)
        held = data[units:]
        *ended, rest = data[:units].split(end)
        for part in ended:
            if line or len(part) % len(end):
                line += part + end
                if len(line) % len(end):  # the bytes of LF, but from two code units
                    continue
                whole = bytes(line)
                line.clear()
            else:
                whole = part + end
            if passed or len(whole) > longest:
                whole = TooLong.of("the line", longest, (quotes + _count_quotes(whole, encoding)) % 2 == 1)
                passed, quotes = False, 0
            yield number, whole
            number += 1
        line += rest
        if len(line) > longest:
            passed, quotes = True, quotes + _count_quotes(line, encoding)
            line.clear()
    line += held
    if passed:
        yield number, TooLong.of("the line", longest, (quotes + _count_quotes(line, encoding)) % 2 == 1)
    elif line:
        yield number, bytes(line)


def _seek_line(stream: io.BufferedReader, start: int) -> None:
    """Seek the first line that begins at `start` or later, in pieces of bounded size."""
    stream.seek(max(start - 1, 0))
    while start and (data := stream.readline(_PIECE)) and not data.endswith(b"\n"):
        pass


def _count_quotes(data: bytes | bytearray, encoding: str) -> int:
    """Count the double quotes in bytes of a line; in UTF-16 and UTF-32 their bytes may also belong to two units."""
    quote = '"'.encode(encoding)
    return data.count(quote) if len(quote) == 1 else data.decode(encoding, "replace").count('"')


def _read_stored(location: str, most: int) -> bytes:
    """Read at most `most` bytes of a file as it is stored, without a buffer: most such files are short. Raises OSError."""
    parts = []
    with io.FileIO(location) as file:
        while most > 0 and (data := file.read(min(_PIECE, most))):
            parts.append(data)
            most -= len(data)
    return b"".join(parts)


def read_whole(source: Source) -> bytes:
    """Read the decompressed bytes of a file that is one document. Raises DocumentError."""
    if source.stored or source.is_remote:
        with open_source(source) as stream:
            data = stream.read(_PIECE)  # requesting more at once would allocate it
            if len(data) == _PIECE:
                data += stream.read(max(0, source.longest + 1 - _PIECE))
    else:
        with refuse_unreadable(source.path):
            data = _read_stored(source.location, source.longest + 1)
        source.seen = len(data)
    if len(data) > source.longest:
        raise DocumentError(source.path, None, explain_too_long("the text", source.longest))
    return data


class FileState(NamedTuple):
    """The state by which a change of a file shows: its size, and its time and inode, or what the server of a URL reports.

    The size is None if the server of a URL does not report it.
    """

    size: int | None
    other: str


def state_of(source: Source) -> FileState:
    """Read the state of a file, which is the same on other machines with the file. Raises DocumentError."""
    if source.is_remote:
        return FileState(*read_state(source.path))
    status = _status_of(source)
    return FileState(status.st_size, str(status.st_mtime_ns))


def refuse_change(source: Source, before: FileState, now: FileState) -> None:
    """Raise DocumentError if the state of a file has changed."""
    if before != now:
        sizes = f"from {before.size} to {now.size} bytes"
        change = sizes if before.size != now.size else "its date or its place on the disk"
        reason = f"changed while ndcore was reading it ({change}); run again when nothing writes to it"
        raise DocumentError(source.path, None, reason)


def _status_of(source: Source) -> os.stat_result:
    """Read the status of a file. Raises DocumentError."""
    with refuse_unreadable(source.path):
        return os.stat(source.location)


_UNREAD = -1  # stands for the inode of an unread file


class FileStamps:
    """The size, modification time and inode of `count` files when they were first read; 24 bytes each."""

    def __init__(self, count: int) -> None:
        self._stamps = array("q", [0, 0, _UNREAD]) * count

    def __contains__(self, index: int) -> bool:
        """Tell whether file `index` has been read."""
        return self._stamps[3 * index + 2] != _UNREAD

    def size(self, index: int) -> int:
        """Return the size of file `index`, in bytes, when it was first read; 0 before."""
        return self._stamps[3 * index]

    def known(self, indexes: Sequence[int]) -> Ints:
        """Return size, time and inode of files when they were first read, int64 (n, 3); an unread file has inode −1."""
        states: Ints = np.frombuffer(self._stamps, np.int64).reshape(-1, 3)[indexes]
        return states

    def record(self, indexes: Sequence[int], states: Ints) -> None:
        """Record the states of files that are read for the first time, int64 (n, 3)."""
        np.frombuffer(self._stamps, np.int64).reshape(-1, 3)[indexes] = states

    def check(self, index: int, source: Source) -> None:
        """Record the state of file `index` on the first call; later, raise DocumentError if it has changed."""
        status, at = _status_of(source), 3 * index
        now = array("q", (status.st_size, status.st_mtime_ns, status.st_ino & (2**63 - 1)))
        before = self._stamps[at : at + 3]
        if before[2] == _UNREAD:
            self._stamps[at : at + 3] = now
        elif now != before:
            refuse_change(source, *(FileState(size, str(other)) for size, *other in (before, now)))
