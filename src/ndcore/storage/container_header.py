"""Read what stands before the arrays of a container: its first bytes, its JSON text, and its table of arrays.

`container` describes the layout. Nothing here reads an array.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ndcore._types import AnyPath

__all__ = ["CorruptFile", "Entry", "Head", "aligned", "corrupt", "read_head"]

MAGIC = b"\x89NDCORE\n"
VERSION = 1
ALIGNMENT = 64
MAX_HEADER = 16 << 20
MAX_DIMENSIONS = 8

PREAMBLE = struct.Struct("<8sIIQQ")  # magic, version, revision, length of the JSON text, size of the file
START = PREAMBLE.size + 32
DTYPE = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|\|S[1-9][0-9]{0,8}")
_CHECKSUM = re.compile(r"[0-9a-f]{32}")
_FIELDS = {"name", "dtype", "shape", "offset", "checksum"}


class CorruptFile(ValueError):
    """Raised for a file that is damaged, truncated, of a newer format, or not of ndcore; the message gives the reason."""


class Entry(NamedTuple):
    """One row of the table of arrays."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int  # from the beginning of the file
    nbytes: int
    checksum: str


class Head(NamedTuple):
    """What stands before the arrays."""

    kind: str
    revision: int
    header: dict[str, Any]
    entries: list[Entry]


def corrupt(path: AnyPath, reason: str) -> CorruptFile:
    """Make the error of a file that cannot be read."""
    return CorruptFile(f"{os.fspath(path)}: {reason}")


def aligned(offset: int) -> int:
    """Round an offset up to the alignment of arrays."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def read_head(file: BinaryIO, size: int, path: AnyPath) -> Head:
    """Read and check what stands before the arrays of a file of `size` bytes. CorruptFile where it is unsound or newer.

    The checksum comes before the version, so that damage is not taken for a newer format.
    """
    start = file.read(START)
    if not start.startswith(MAGIC):
        raise corrupt(path, f"not a file of ndcore: it begins with {start[:8]!r}")
    if len(start) < START:
        raise corrupt(path, f"cut short: {size} bytes, less than the {START} every file has")
    _, version, revision, length, full = PREAMBLE.unpack_from(start)
    if full != size:
        raise corrupt(path, f"the file has {size} bytes and should have {full}")
    if length > min(MAX_HEADER, size - START):
        raise corrupt(path, f"a header of {length} bytes does not fit")
    text = file.read(length)
    if hashlib.blake2b(start[: PREAMBLE.size] + text, digest_size=32).digest() != start[PREAMBLE.size :]:
        raise corrupt(path, "the checksum of the header is wrong")
    if version > VERSION:
        raise corrupt(path, f"format version {version}, this ndcore reads up to {VERSION}: upgrade ndcore")
    if version < 1:
        raise corrupt(path, f"format version {version} does not exist")
    return _parsed(text, revision, size, path)


def _parsed(text: bytes, revision: int, size: int, path: AnyPath) -> Head:
    try:
        top = json.loads(text.decode("ascii"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise corrupt(path, f"the header is not JSON: {error}") from None
    if not isinstance(top, dict) or top.keys() != {"kind", "header", "arrays"}:
        raise corrupt(path, "the header does not have the fields kind, header and arrays")
    kind, header, table = top["kind"], top["header"], top["arrays"]
    if not isinstance(kind, str) or not kind or not isinstance(header, dict) or not isinstance(table, list):
        raise corrupt(path, "kind, header or arrays is of a wrong type")
    data_start = aligned(START + len(text))
    entries: list[Entry] = []
    end = START + len(text)
    for fields in table:
        entry = _entry(fields, data_start, path)
        if entry.start != aligned(end):
            raise corrupt(path, f"array {entry.name!r} is not where the one before it ends")
        end = entry.start + entry.nbytes
        if end > size:
            raise corrupt(path, f"array {entry.name!r} of {entry.nbytes} bytes goes past the end of the file")
        entries.append(entry)
    if len({entry.name for entry in entries}) != len(entries):
        raise corrupt(path, "two arrays have the same name")
    if end != size:
        raise corrupt(path, f"{size - end} bytes follow the last array")
    return Head(kind, revision, header, entries)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _entry(fields: Any, data_start: int, path: AnyPath) -> Entry:
    """Check one row of the table of arrays."""
    if not isinstance(fields, dict) or fields.keys() != _FIELDS:
        raise corrupt(path, f"a row of the table of arrays does not have the fields {', '.join(sorted(_FIELDS))}")
    name, dtype, shape, offset, checksum = (fields[k] for k in ("name", "dtype", "shape", "offset", "checksum"))
    if not isinstance(name, str) or not name:
        raise corrupt(path, f"an array has the name {name!r}")
    if not isinstance(dtype, str) or not DTYPE.fullmatch(dtype):
        raise corrupt(path, f"array {name!r} has the dtype {dtype!r}, which is not accepted")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(_is_size(n) for n in shape):
        raise corrupt(path, f"array {name!r} has a shape that is not accepted")
    if not _is_size(offset):
        raise corrupt(path, f"array {name!r} has an offset that is not accepted")
    if not isinstance(checksum, str) or not _CHECKSUM.fullmatch(checksum):
        raise corrupt(path, f"array {name!r} has a checksum that is not accepted")
    kind = np.dtype(dtype)
    if math.prod(n for n in shape if n) * kind.itemsize >= 1 << 63:
        raise corrupt(path, f"array {name!r} is larger than any memory")
    return Entry(name, kind, tuple(shape), data_start + offset, math.prod(shape) * kind.itemsize, checksum)


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62
