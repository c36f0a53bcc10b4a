"""Copy streams and remote files into a private directory, so that they can be read again."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO

from ndcore.files.errors import DocumentError, refuse_unreadable
from ndcore.files.formats import COLUMNAR, recognise
from ndcore.files.remote import read_remote_chunks
from ndcore.files.sources import STDIN, Source, explain_too_long, is_url
from ndcore.storage.disk_space import FULL, TEMPORARY, name_place

_CHUNK = 1 << 20


class WorkDirectory:
    """A temporary directory, made when first needed and removed by `close`.

    ``tempfile`` chooses the place (``TMPDIR``); the names of its files carry no meaning.
    """

    def __init__(self) -> None:
        self._path: str | None = None
        self._files = 0

    def new_file(self, suffix: str) -> str:
        """Return the path of a file that does not exist yet."""
        if self._path is None:
            self._path = tempfile.mkdtemp(prefix="ndcore-")
        self._files += 1
        return str(Path(self._path, f"{self._files}{suffix}"))

    def close(self) -> None:
        """Remove the directory and everything in it; harmless when repeated."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
            self._path = None


def copy_stream(source: Source, work: WorkDirectory) -> None:
    """Copy the stream or the remote file of `source` into `work`, and point ``source.location`` at the copy.

    The format of a stream is recognised here; the format of a remote file is already known. Sources that already have a
    file are skipped. A compressed stream is copied unchanged; others are compressed, except Parquet and Arrow, which need
    random access.

    Raises
    ------
    DocumentError
        The stream cannot be read, or the copy cannot be written; or the source, a file too, is not a document.
    """
    if not source.location and not source.problem:
        try:
            with contextlib.closing(read_chunks(source.path)) as stream:
                _copy(source, stream, work)
        except DocumentError as error:
            source.problem = error.reason
            raise
    if source.problem:
        raise DocumentError(source.path, None, source.problem)


def _copy(source: Source, stream: Iterator[bytes], work: WorkDirectory) -> None:
    """Copy a stream, after recognising its format."""
    head = _read_beginning(stream)
    if not is_url(source.path):
        file_format = recognise(source.name, io.BytesIO(head), encoding=source.form.encoding)
        source.kind, source.encoding, source.problem = file_format.kind, file_format.encoding, file_format.problem
        source.stored = file_format.compression
        if source.kind == "archive" and source.stored:  # its members are copied unchanged
            source.compression = source.stored
    if source.problem:
        return
    packed = not source.stored and source.kind not in COLUMNAR
    source.stored = "gz" if packed else source.stored
    try:
        location = work.new_file("." + (source.stored or source.kind))
        with Path(location).open("wb") as target, _open_packed(target, packed) as copy:
            for data in itertools.chain([head], stream):
                copy.write(data)
    except OSError as error:  # an error of the copy; errors of reading are DocumentErrors
        if error.errno in FULL:
            name_place(error, tempfile.gettempdir(), inside=Path(tempfile.gettempdir()), hint=TEMPORARY)
            raise DocumentError(source.path, None, f"cannot be copied to {error.filename}: {error.strerror}") from error
        reason = f"cannot be copied to a temporary file: {error.strerror or error}"
        reason = f"{reason}; set TMPDIR to a directory that can be written to"
        raise DocumentError(source.path, None, reason) from error
    source.location = location


def _read_beginning(stream: Iterator[bytes]) -> bytes:
    """Read enough of a stream to recognise its format."""
    head: list[bytes] = []
    while sum(map(len, head)) < _CHUNK and (more := next(stream, b"")):
        head.append(more)
    return b"".join(head)


@contextlib.contextmanager
def _open_packed(target: IO[bytes], packed: bool) -> Iterator[IO[bytes]]:
    """Yield `target`, or a file that compresses into it at a fast level."""
    if packed:
        with gzip.GzipFile("", "wb", compresslevel=1, fileobj=target, mtime=0) as file:
            yield file  # type: ignore[misc]
    else:
        yield target


def read_chunks(path: str) -> Generator[bytes, None, None]:
    """Yield the bytes of standard input, a FIFO, a URL or a file, at most 1 MiB at a time. Raises DocumentError."""
    if is_url(path):
        yield from read_remote_chunks(path, _CHUNK)
        return
    with refuse_unreadable(path), _open(path) as stream:
        while data := stream.read(_CHUNK):
            yield data


def _open(path: str) -> IO[bytes]:
    """Open standard input or a file."""
    if path == STDIN:
        return open(sys.stdin.fileno(), "rb", closefd=False) if _has_fileno() else sys.stdin.buffer
    return Path(path).open("rb")


def _has_fileno() -> bool:
    """Tell whether standard input is a file of the operating system."""
    try:
        sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return False
    return True


def read_path(path: str, longest: int) -> bytes:
    """Read the bytes of one text document: a file, or a stream read to its end.

    Raises
    ------
    DocumentError
        It does not exist, is a directory, cannot be read, or has more than `longest` bytes.
    """
    with refuse_unreadable(path):
        if path != STDIN and Path(path).is_dir():
            raise DocumentError(path, None, "is a directory; name one document")
    data = bytearray()
    with contextlib.closing(read_chunks(path)) as stream:
        for chunk in stream:
            data += chunk
            if len(data) > longest:
                raise DocumentError(path, None, explain_too_long("the text", longest))
    return bytes(data)
