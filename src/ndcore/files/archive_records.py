"""Read single records of web archives from their places; files are opened when they are needed."""

from __future__ import annotations

import io
import os
from collections import OrderedDict
from pathlib import Path
from typing import IO, Any, NamedTuple

from ndcore.files.compression import recognise_compression
from ndcore.files.errors import DocumentError
from ndcore.files.records import RecordError
from ndcore.files.web_archive import ArchiveEntry, ArchiveStream, read_dictionary, read_first

_OPEN = 16  # files that are open at a time


class RecordPlace(NamedTuple):
    """The place of a record: its file, the offset of it or of its compressed member, and its size; None: not known."""

    path: str
    offset: int
    length: int | None


class ArchiveRecords:
    """Reads records of web archives; at most 16 files are open."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, tuple[IO[bytes], int, str, bytes]] = OrderedDict()

    def close(self) -> None:
        """Close the files."""
        for file, *_ in self._files.values():
            file.close()
        self._files.clear()

    def is_compressed(self, path: str) -> bool:
        """Tell whether a file is compressed. Raises RecordError if it cannot be read."""
        return bool(self._open(path)[2])

    def read(self, place: RecordPlace, longest: int) -> ArchiveEntry:
        """Read one record; if it is longer than `longest` bytes, only the beginning of its content.

        Raises
        ------
        RecordError
            The file cannot be read, or ends before the record does.
        BrokenRecord
            No intact record begins there.
        """
        file, size, compression, dictionary = self._open(place.path)
        end = size if place.length is None else place.offset + place.length
        if place.offset >= size or end > size:
            said = "" if place.length is None else f", and by the index it ends at byte {end:,}"
            raise RecordError(f"the file has {size:,} bytes{said}")
        window = io.BufferedReader(_Window(file, place.offset, end))
        try:
            return read_first(ArchiveStream(window, compression, place.path, dictionary), place.path, longest)
        except OSError as error:
            raise RecordError(f"cannot be read: {error.strerror or error}") from error

    def _open(self, path: str) -> tuple[IO[bytes], int, str, bytes]:
        """Open an archive; return it with its size, its compression and its dictionary."""
        if path in self._files:
            self._files.move_to_end(path)
            return self._files[path]
        try:
            file = Path(path).open("rb")
        except OSError as error:
            raise RecordError(f"the file cannot be read: {error.strerror or error}") from error
        try:
            compression = recognise_compression(file.read(16))
            file.seek(0)
            opened = file, os.fstat(file.fileno()).st_size, compression, read_dictionary(file, compression, path)
        except (OSError, DocumentError) as error:
            file.close()
            raise RecordError(f"the file cannot be read: {error}") from error
        self._files[path] = opened
        if len(self._files) > _OPEN:
            self._files.popitem(last=False)[1][0].close()
        return opened


class _Window(io.RawIOBase):
    """The bytes of a file from `start` to `end`, read from the beginning to the end."""

    def __init__(self, file: IO[bytes], start: int, end: int) -> None:
        self._file, self._at, self._end = file, start, end

    def readable(self) -> bool:
        """Return True: the file can be read."""
        return True

    def tell(self) -> int:
        """Return the offset in the file."""
        return self._at

    def readinto(self, target: Any) -> int:
        """Read the next bytes."""
        self._file.seek(self._at)
        data = self._file.read(min(len(target), self._end - self._at))
        target[: len(data)] = data
        self._at += len(data)
        return len(data)
