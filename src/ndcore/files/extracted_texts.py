"""The texts of documents that cost more to extract than to store, in an unnamed temporary file."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterator
from typing import IO

import numpy as np

from ndcore._types import Ints, Text
from ndcore.files.records import Record
from ndcore.storage.spill import temporary_file
from ndcore.text.inputs import Digested, Extracted, as_bytes, original_digest

LIMIT = 1 << 30  # bytes on the disk
_DIGEST = 16  # bytes, before a text that was extracted


class ExtractedTexts:
    """Texts by the positions of their documents, with the digests of their originals; 17 bytes of memory each.

    Texts after the first LIMIT bytes, or after the first that the disk has no place for, are not stored: who needs them
    extracts them again.
    """

    def __init__(self) -> None:
        self._positions, self._bounds, self._kinds = array("q"), array("q", [0]), bytearray()
        self._file: IO[bytes] | None = None
        self._full = False

    def append(self, position: int, text: Text, costly: bool = False) -> bool:
        """Store a text that was extracted, or another `costly` one, where there is place; positions ascend.

        Returns
        -------
        bool
            The requested part of its page is missing (`Extracted`).
        """
        if (costly or isinstance(text, Extracted)) and not self._full:
            self._store(position, text)
        return isinstance(text, Extracted) and text.fell_back

    def _store(self, position: int, text: Text) -> None:
        """Write a text to the file."""
        kind = b"x" if isinstance(text, Extracted) else b"s" if isinstance(text, str) else b"b"
        data = (original_digest(text) if kind == b"x" else b"") + as_bytes(text)
        end = self._bounds[-1] + len(data)
        if end > LIMIT:
            self._full = True
            return
        try:
            if self._file is None:
                self._file = temporary_file(self)
            self._file.write(data)
        except OSError:  # of buffered writing: earlier texts may be lost, too
            self._forget()
            return
        self._positions.append(position)
        self._bounds.append(end)
        self._kinds += kind

    def _forget(self) -> None:
        """Give the disk back, and store nothing more."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        self._file, self._full = None, True

    def records(self, positions: Ints) -> Iterator[tuple[int, Record]] | None:
        """Return (position, its text as a Record) of documents, read one by one; None unless all are stored."""
        if self._file is None or not self._positions:
            return None
        try:
            self._file.flush()
        except OSError:
            self._forget()
            return None
        stored = np.frombuffer(self._positions, np.int64)
        numbers = np.minimum(np.searchsorted(stored, positions), len(stored) - 1)
        if not bool((stored[numbers] == positions).all()):
            return None
        return zip(positions.tolist(), map(self._read, numbers.tolist()), strict=True)

    def _read(self, number: int) -> Record:
        """Read a text."""
        assert self._file is not None
        start, end = self._bounds[number], self._bounds[number + 1]
        self._file.seek(start)
        data, kind = self._file.read(end - start), self._kinds[number]
        text: Text = data if kind == ord("b") else data[_DIGEST * (kind == ord("x")) :].decode("utf-8", "surrogatepass")
        if kind == ord("x"):
            text = Extracted.of(str(text), Digested(data[:_DIGEST]))
        return Record(None, text, None, (), len(data))
