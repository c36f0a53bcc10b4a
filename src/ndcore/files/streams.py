"""Compressed and plain byte streams with one interface: lines in, lines out, damage reported."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from ndcore.files.sources import DocumentError, Source

_BUFFER = 1 << 20
FORMATS = {"gz": "gzip", "zst": "zstd"}
_INPUT = 1 << 13  # small, so that even extreme compression ratios expand to a bounded buffer


class Damaged(Exception):
    """Compressed data that is not valid; the message says what the decompressor says."""


class Frame(NamedTuple):
    """Decompressed data; `start` and `end` are offsets in the file, where a frame begins (without data yet) or ends."""

    start: int | None
    data: bytes
    end: int | None


def expand(file: IO[bytes], compression: str, new_frame: Callable[[], Any], error: type[Exception]) -> Iterator[Frame]:
    """Decompress gzip members or zstd frames, one after another, from where `file` stands.

    All that can be decompressed of an unfinished last frame is delivered before its EOFError; invalid data raise Damaged.
    (The readers of ``gzip`` and ``zstandard`` either keep back what they have in hand or end a truncated file without a
    word.)
    """
    padding = b"\0" if compression == "gz" else b""
    offset, frame, first, data = file.tell(), None, True, b""
    while data := data or file.read(_INPUT):
        if frame is None:
            sound = data.lstrip(padding) if padding and not first else data
            offset += len(data) - len(sound)
            data = sound
            if not data:
                continue
            frame, first = new_frame(), False
            yield Frame(offset, b"", None)
        try:
            ready = frame.decompress(data)
        except error as problem:
            raise Damaged(str(problem)) from problem
        rest = frame.unused_data if frame.eof else b""
        offset += len(data) - len(rest)
        yield Frame(None, ready, offset if frame.eof else None)
        if frame.eof:
            frame = None
        data = rest
    if frame is not None:
        raise EOFError("the last frame is incomplete")


class _Frames(io.RawIOBase):
    """What `expand` yields, as a file."""

    def __init__(self, frames: Iterator[Frame]) -> None:
        self._frames = frames
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready:
            frame = next(self._frames, None)
            if frame is None:
                return 0
            self._ready = memoryview(frame.data)
        count = min(len(target), len(self._ready))
        target[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def frames(file: IO[bytes], compression: str, path: str, dictionary: bytes = b"") -> Iterator[Frame]:
    """`expand` for ``gz`` and ``zst``, the latter with the dictionary that its frames may need."""
    if compression == "gz":
        return expand(file, compression, lambda: zlib.decompressobj(31), zlib.error)
    module = zstandard_module(path)
    known = module.ZstdCompressionDict(dictionary) if dictionary else None
    return expand(file, compression, module.ZstdDecompressor(dict_data=known).decompressobj, module.ZstdError)


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
        if source.stored:
            yield io.BufferedReader(_Frames(frames(file, source.stored, source.path)), _BUFFER)
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


def packed(data: bytes, compression: str) -> bytes:
    """One gzip member or zstd frame of `data`; equal data give equal bytes."""
    if compression == "gz":
        target = io.BytesIO()
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=target, mtime=0) as file:
            file.write(data)
        return target.getvalue()
    if compression == "zst":
        made: bytes = zstandard_module("the output").ZstdCompressor(level=3, write_checksum=True).compress(data)
        return made
    return data


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
