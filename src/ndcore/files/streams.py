"""Compressed and plain byte streams with one interface: lines in, lines out, damage reported."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from ndcore.files.sources import DocumentError, Source

_BUFFER = 1 << 20
_INPUT = 1 << 13  # small, so that even extreme compression ratios expand to a bounded buffer


class _Damaged(Exception):
    """Compressed data that is not valid; the message says what the decompressor says."""


class _Frames(io.RawIOBase):
    """Decompress any number of gzip members or zstd frames, one after another.

    All that can be decompressed of an unfinished last frame is delivered before its EOFError. (The readers of ``gzip``
    and ``zstandard`` either keep back what they have in hand or end a truncated file without a word.)
    """

    def __init__(self, file: IO[bytes], new_frame: Callable[[], Any], error: type[Exception], padding: bytes) -> None:
        self._file, self._new_frame, self._error, self._padding = file, new_frame, error, padding
        self._frame: Any = None
        self._finished = 0
        self._ready = memoryview(b"")
        self._input = b""

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready:
            data = self._input or self._file.read(_INPUT)
            self._input = b""
            if not data:
                if self._frame is not None:
                    raise EOFError("the last frame is incomplete")
                return 0
            self._feed(data)
        count = min(len(target), len(self._ready))
        target[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _feed(self, data: bytes) -> None:
        if self._frame is None:
            if self._finished:
                data = data.lstrip(self._padding) if self._padding else data
                if not data:
                    return
            self._frame = self._new_frame()
        try:
            self._ready = memoryview(self._frame.decompress(data))
        except self._error as error:
            raise _Damaged(str(error)) from error
        if self._frame.eof:
            self._input, self._frame = self._frame.unused_data, None
            self._finished += 1


def _gzip_frames(file: IO[bytes]) -> _Frames:
    return _Frames(file, lambda: zlib.decompressobj(31), zlib.error, b"\0")


def _zstd_frames(file: IO[bytes], path: str) -> _Frames:
    module = zstandard_module(path)
    return _Frames(file, module.ZstdDecompressor().decompressobj, module.ZstdError, b"")


def zstandard_module(path: str) -> Any:
    """The ``zstandard`` package; a DocumentError that says how to install it where it is missing."""
    try:
        import zstandard
    except ImportError as error:
        raise DocumentError(path, None, "reading .zst needs zstandard: pip install 'ndcore[cli]'") from error
    return zstandard


@contextlib.contextmanager
def open_reader(source: Source) -> Iterator[IO[bytes]]:
    """The decompressed bytes of `source`, buffered. Raises OSError and DocumentError."""
    with Path(source.location).open("rb", buffering=_BUFFER if not source.stored else -1) as file:
        if source.stored == "gz":
            yield io.BufferedReader(_gzip_frames(file), _BUFFER)
        elif source.stored == "zst":
            yield io.BufferedReader(_zstd_frames(file, source.path), _BUFFER)
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
    except _Damaged as error:
        kind = {"gz": "gzip", "zst": "zstd"}[source.stored]
        reason = f"not valid {kind} data ({error}); the records from this line on cannot be read"
        raise DocumentError(source.path, number + 1, reason) from error
    except OSError as error:
        raise DocumentError(source.path, None, f"cannot be read: {error.strerror or error}") from error


@contextlib.contextmanager
def open_writer(path: Path, compression: str) -> Iterator[IO[bytes]]:
    """A new file that compresses what is written to it; equal input gives equal bytes (no name, no time)."""
    with path.open("xb", buffering=_BUFFER) as file:
        if compression == "gz":
            packed = gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)
            with packed, io.BufferedWriter(packed, _BUFFER) as buffered:
                yield buffered
        elif compression == "zst":
            compressor = zstandard_module(str(path)).ZstdCompressor(level=3, write_checksum=True)
            with compressor.stream_writer(file, closefd=False) as frame:
                yield frame
        else:
            yield file
