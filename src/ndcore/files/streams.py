"""Sources as byte streams with one interface, compressed or not: lines or all at once, damage reported."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import IO, Any

from ndcore.files.compression import FORMATS, Damaged, decompressed
from ndcore.files.sources import DocumentError, Source

_BUFFER = 1 << 20
_PACKED = 1 << 16  # compressed bytes


class _Counted(io.FileIO):
    """A file that counts the bytes read of it in its source."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.location, "rb")
        self._source = source
        source.seen = 0

    def readinto(self, target: Any) -> int:
        count = super().readinto(target)
        self._source.seen += count
        return count


def open_counted(source: Source) -> IO[bytes]:
    """Open the file of `source` as it is stored; ``source.seen`` counts what is read of it. Raises OSError."""
    return io.BufferedReader(_Counted(source), _PACKED if source.stored else _BUFFER)


@contextlib.contextmanager
def open_reader(source: Source) -> Iterator[IO[bytes]]:
    """The decompressed bytes of `source`, buffered. Raises OSError and DocumentError."""
    with open_counted(source) as file:
        if source.stored:
            yield decompressed(file, source.stored, source.path)
        else:
            yield file


def lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of each line, its newline included. Lines end at LF and nowhere else.

    Raises
    ------
    DocumentError
        The file cannot be read, is truncated or damaged; `number` is the line that could not be read.
    """
    number = 0
    try:
        with open_reader(source) as stream:
            for line in stream:
                number += 1
                yield number, line
    except EOFError as error:
        reason = "the compressed file is truncated here; the records from this line on cannot be read"
        raise DocumentError(source.path, number + 1, reason) from error
    except Damaged as error:
        reason = f"not valid {FORMATS[source.stored]} data ({error}); the records from this line on cannot be read"
        raise DocumentError(source.path, number + 1, reason) from error
    except OSError as error:
        raise DocumentError(source.path, None, f"cannot be read: {error.strerror or error}") from error


def read_whole(source: Source) -> bytes:
    """The decompressed bytes of a file that is one document. Raises DocumentError."""
    try:
        with open_reader(source) as stream:
            return stream.read()
    except EOFError as error:
        raise DocumentError(source.path, None, "the compressed file is truncated") from error
    except Damaged as error:
        raise DocumentError(source.path, None, f"not valid {FORMATS[source.stored]} data ({error})") from error
    except OSError as error:
        raise DocumentError(source.path, None, f"cannot be read: {error.strerror or error}") from error
