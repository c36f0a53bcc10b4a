"""The headers of the pages of a Parquet file, which say what a page grows to: pyarrow allocates what they say.

Apache Parquet, parquet.thrift, PageHeader; Apache Thrift, *Thrift Compact protocol encoding*,
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, NamedTuple

_TYPE, _EXPANDED, _STORED = (1,), (2,), (3,)  # numbers of fields of a PageHeader
_ENCODINGS = ((5, 2), (8, 4))  # and of its DataPageHeader and DataPageHeaderV2
_DICTIONARY = 2  # a value of _TYPE
_DELTA = 7  # a value of _ENCODINGS, DELTA_BYTE_ARRAY
_WANTED = {_TYPE, _EXPANDED, _STORED, *_ENCODINGS}
_TRUE, _FALSE, _BYTE, _I32, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = 1, 2, 3, 5, 7, 8, 9, 10, 11, 12, 13
_INTEGERS = (4, _I32, 6)  # of 16, 32 and 64 bits
_FIXED = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8, _UUID: 16}
_DEEPEST = 64  # structs and lists within one another, as in the readers of Thrift


class ParquetPage(NamedTuple):
    """What the header of a page says: its bytes in the file, and decompressed, and how its values are written.

    In a dictionary, values are written once for all rows that have them. In a delta, a value is written without the
    beginning that it shares with the one before.
    """

    stored: int
    expanded: int
    is_dictionary: bool
    is_delta: bool


def pages(file: IO[bytes], start: int, end: int) -> Iterator[ParquetPage]:
    """Yield the pages of a column chunk from `start` to `end`, up to damage, which pyarrow meets too. O(pages)."""
    while 0 <= start < end:
        file.seek(start)
        try:
            header: dict[tuple[int, ...], int] = {}
            _struct(file, (), header)
            page = ParquetPage(header[_STORED], header[_EXPANDED], header[_TYPE] == _DICTIONARY,
                        any(header.get(encoding) == _DELTA for encoding in _ENCODINGS))
        except (EOFError, KeyError, ValueError):
            return
        if page.stored < 0 or page.expanded < 0:
            return
        yield page
        start = file.tell() + page.stored


def _struct(file: IO[bytes], path: tuple[int, ...], wanted: dict[tuple[int, ...], int]) -> None:
    """Read a struct, to whose field the numbers in `path` lead, and note the integers in _WANTED."""
    number = 0
    while head := _byte(file):
        kind = head & 15
        number = (number + (head >> 4) if head >> 4 else _integer(file)) & 0xFFFF
        field = (*path, number)
        if kind == _I32:
            value = _integer(file)
            if field in _WANTED:
                wanted[field] = value
        elif kind not in (_TRUE, _FALSE):  # which have no bytes of their own in a struct
            _value(file, kind, field, wanted)


def _value(file: IO[bytes], kind: int, path: tuple[int, ...], wanted: dict[tuple[int, ...], int]) -> None:
    """Pass over a value; of a struct read the fields. Every value has bytes, so a list takes no more steps than the file."""
    if len(path) > _DEEPEST:
        raise ValueError("too deep")
    within = (*path, 0)  # leads to no field of a PageHeader
    if kind == _STRUCT:
        _struct(file, path, wanted)
    elif kind in _INTEGERS:
        _varint(file)
    elif kind in _FIXED:
        for _ in range(_FIXED[kind]):
            _byte(file)
    elif kind == _BINARY:
        file.seek(_varint(file), 1)
    elif kind in (_LIST, _SET):
        head = _byte(file)
        for _ in range(_varint(file) if head >> 4 == 15 else head >> 4):
            _value(file, head & 15, within, wanted)
    elif kind == _MAP:
        count = _varint(file)
        kinds = _byte(file) if count else 0
        for _ in range(count):
            _value(file, kinds >> 4, within, wanted)
            _value(file, kinds & 15, within, wanted)
    else:
        raise ValueError(f"no type {kind}")


def _byte(file: IO[bytes]) -> int:
    byte = file.read(1)
    if not byte:
        raise EOFError
    return byte[0]


def _varint(file: IO[bytes]) -> int:
    """Read an unsigned integer of at most ten bytes, of which the readers of Thrift take 32 bits for numbers and lengths."""
    value = 0
    for shift in range(0, 70, 7):
        byte = _byte(file)
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFF
    raise ValueError("an integer is too long")


def _integer(file: IO[bytes]) -> int:
    """Read a signed integer."""
    value = _varint(file)
    return value >> 1 ^ -(value & 1)
