"""Flatbuffers, read with bounds checks. Format: https://flatbuffers.dev/internals."""

from __future__ import annotations

import struct
from collections.abc import Iterator


class Flatbuffer:
    """A flatbuffer: tables with numbered fields. Places are offsets into its bytes.

    Attributes
    ----------
    root : int
        The place of the root table.

    Raises
    ------
    struct.error
        Raised by all methods if an offset leads outside the bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.root = self.follow(0)

    def field(self, table: int, index: int) -> int:
        """Find a field of a table; 0 if it is absent."""
        vtable = table - self._read("<i", table)
        if 4 + 2 * index >= self._read("<H", vtable):
            return 0
        offset = self._read("<H", vtable + 4 + 2 * index)
        return table + offset if offset else 0

    def follow(self, place: int) -> int:
        """Follow the offset at `place` to its table or vector."""
        return place + self._read("<I", place)

    def value(self, table: int, index: int, form: str, default: int = 0) -> int:
        """Return the number in a field of a table."""
        place = self.field(table, index)
        return self._read(form, place) if place else default

    def table(self, table: int, index: int) -> int:
        """Find the table that a field refers to; 0 if the field is absent."""
        place = self.field(table, index)
        return self.follow(place) if place else 0

    def tables(self, table: int, index: int) -> Iterator[int]:
        """Yield the tables of the vector in a field, none if the field is absent."""
        vector = self.table(table, index)
        for number in range(self._read("<I", vector) if vector else 0):
            yield self.follow(vector + 4 + 4 * number)

    def text(self, table: int, index: int) -> bytes:
        """Return the string in a field of a table, empty if the field is absent."""
        return self._content(table, index, 1)

    def rows(self, table: int, index: int, form: str) -> list[tuple[int, ...]]:
        """Return the structs of the vector in a field, none if the field is absent."""
        return list(struct.iter_unpack(form, self._content(table, index, struct.calcsize(form))))

    def _content(self, table: int, index: int, size: int) -> bytes:
        """Return the bytes of a vector whose items have `size` bytes."""
        vector = self.table(table, index)
        if not vector:
            return b""
        end = vector + 4 + self._read("<I", vector) * size
        if end > len(self._data):
            raise struct.error("a vector is longer than its message")
        return self._data[vector + 4 : end]

    def _read(self, form: str, place: int) -> int:
        if place < 0:
            raise struct.error("an offset leads before the message")
        return int(struct.unpack_from(form, self._data, place)[0])
