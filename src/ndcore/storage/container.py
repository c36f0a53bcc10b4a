"""Read and write one file format: named arrays with a JSON header, all under checksums.

Layout, all integers little-endian:

====== ===== =====================================================================================
offset bytes content
====== ===== =====================================================================================
0      8     magic, ``89 4E 44 43 4F 52 45 0A``
8      4     format version, 1
12     4     revision of the kind, 0 at first
16     8     length of the JSON text
24     8     size of the whole file
32     32    BLAKE2b-256 of the 32 bytes before and of the JSON text
64     ...   JSON text: ``{"kind", "header", "arrays": [{name, dtype, shape, offset, checksum}]}``
====== ===== =====================================================================================

The arrays follow in the order of the table, in C order, each aligned to 64 bytes; ``offset`` counts from the first
aligned byte after the JSON text; ``checksum`` is BLAKE2b-128 of the array's bytes. Gaps are zero, nothing follows the
last array. So every byte of a file is either under a checksum or known.

Versions: the first 64 bytes and the JSON text under its checksum have this form in every format version. A new format
version changes what follows them; a new revision changes which header and arrays files of one kind have. Newer ones are
refused by name.

Every file is treated as damaged or hostile: sizes are checked against the size of the file before anything is
allocated, only plain types are accepted, nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import mmap as _mmap
import os
import re
import stat
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ndcore._types import AnyArray, AnyPath, Arrays
from ndcore.storage.disk_space import name_place, naming, sync
from ndcore.storage.lock import held_file
from ndcore.storage.staging import sweep

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
    """A file is damaged, truncated, of a newer format, or not from ndcore; the message gives the reason."""


class Entry(NamedTuple):
    """One row of the table of arrays."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int  # from the beginning of the file
    nbytes: int
    checksum: str


class Head(NamedTuple):
    """The part of a file before the arrays."""

    kind: str
    revision: int
    header: dict[str, Any]
    entries: list[Entry]


def corrupt(path: AnyPath, reason: str) -> CorruptFile:
    """Make a CorruptFile that names the file and the reason."""
    return CorruptFile(f"{os.fspath(path)}: {reason}")


def aligned(offset: int) -> int:
    """Round an offset up to the alignment of arrays."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def read_head(file: BinaryIO, size: int, path: AnyPath) -> Head:
    """Read and check the header and the table of a file of `size` bytes. Raises CorruptFile if they are unsound or newer.

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
    return _parse_head(text, revision, size, path)


def _parse_head(text: bytes, revision: int, size: int, path: AnyPath) -> Head:
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
        entry = _parse_entry(fields, data_start, path)
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


def _parse_entry(fields: Any, data_start: int, path: AnyPath) -> Entry:
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


PAGE = 4096


class ContainerOutline(NamedTuple):
    """The kind, header and revision of a file, and the dtype and shape of each array."""

    kind: str
    header: dict[str, Any]
    arrays: dict[str, tuple[np.dtype[Any], tuple[int, ...]]]
    revision: int


def write(path: AnyPath, kind: str, header: Mapping[str, Any], arrays: Arrays, *, durable: bool = True,
          on_page: bool = False, revision: int = 0) -> None:
    """Write or replace a file atomically: readers see the old content or the new, never a part.

    Parameters
    ----------
    path : str or path
        The file to write. A temporary file beside it is flushed to disk and renamed. Symbolic links are followed.
    kind : str
        What the file holds, for example ``"sketches"``; `read` can require it.
    header : dict
        Anything that JSON returns unchanged: str keys, lists rather than tuples, finite floats.
    arrays : dict of str to array
        Any shape of bool, int8-64, uint8-64, float16-64 or fixed bytes (``S``); stored little-endian in C order. Like
        NumPy itself, ``S`` arrays drop trailing zero bytes of their elements.
    durable : bool
        Wait until the data is on disk. Use False for temporary files.
    on_page : bool
        Put blanks after the JSON text, so that the first array begins on a page of 4096 bytes.
    revision : int
        The revision of the kind. It grows by one when header or arrays of such files change.

    Raises
    ------
    TypeError, ValueError
        If the header or an array cannot be stored. The path is untouched then, as after any exception.
    """
    if not isinstance(kind, str) or not kind:
        raise ValueError(f"the kind of a file is a non-empty str, not {kind!r}")
    stored = {name: _make_storable(name, array) for name, array in arrays.items()}
    text = _encode_header(kind, header, stored)
    text += b" " * (-(START + len(text)) % PAGE if on_page else 0)
    data_start = aligned(START + len(text))
    size = max([START + len(text), *(data_start + offset + array.nbytes for offset, array in _place_arrays(stored))])
    preamble = PREAMBLE.pack(MAGIC, VERSION, revision, len(text), size)
    with replacing(path, durable, size) as file:
        file.write(preamble + hashlib.blake2b(preamble + text, digest_size=32).digest() + text)
        for offset, array in _place_arrays(stored):
            file.write(bytes(data_start + offset - file.tell()))
            file.write(_view_bytes(array))


def read(path: AnyPath, kind: str | None = None, mmap: bool = False, *, verify: bool = True, revision: int = 0
         ) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Read the header and the arrays of a file.

    Parameters
    ----------
    path : str or path
    kind : str, optional
        The kind that the file must have.
    mmap : bool
        Map the file instead of reading it: the arrays are read-only and share the page cache. The file must not be
        overwritten in place meanwhile (`write` never does that; on Windows it cannot replace a mapped file).
    verify : bool
        Check the checksums of the arrays, which reads every byte. Use False for mapped files larger than memory that
        were verified before; header, sizes and gaps are always checked.
    revision : int
        The newest revision of the kind that the caller understands; `peek` tells which one a file has.

    Returns
    -------
    header : dict
    arrays : dict of str to array, in the order in which they were written

    Raises
    ------
    CorruptFile
        If the file is damaged, or has a newer format version or revision.
    ValueError
        If the file is sound but of another kind.
    OSError
        If the file cannot be opened.
    """
    with _open_regular(path) as (file, size):
        stored_kind, stored, header, entries = read_head(file, size, path)
        if kind is not None and stored_kind != kind:
            raise ValueError(f"{os.fspath(path)}: the file holds {stored_kind!r}, not {kind!r}; give a file of {kind!r}")
        if kind is not None and stored > revision:
            raise corrupt(path, f"{kind!r} of revision {stored}, this ndcore reads up to {revision}: upgrade ndcore")
        _check_gaps(file, entries, path)
        if mmap:
            mapped = _mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_READ)
            arrays = {entry.name: _map_array(mapped, entry, path) for entry in entries}
        else:
            arrays = {entry.name: _load_array(file, entry, path) for entry in entries}
    for entry in entries:
        _check_array(arrays[entry.name], entry, path, verify)
    return header, {name: array.astype(array.dtype.newbyteorder("="), copy=False) for name, array in arrays.items()}


def kind_of(path: AnyPath) -> str | None:
    """Return the kind of a file of ndcore, or None if it is another file or not a regular file.

    Raises CorruptFile if the file begins like one of ndcore and is damaged.
    """
    file = Path(path)
    if not file.is_file():
        return None
    with naming(path), file.open("rb") as opened:
        if opened.read(len(MAGIC)) != MAGIC:
            return None
    return peek(path).kind


def peek(path: AnyPath) -> ContainerOutline:
    """Read the kind, the header and the table of arrays, but not the arrays. Raises like `read`."""
    with _open_regular(path) as (file, size):
        kind, revision, header, entries = read_head(file, size, path)
    return ContainerOutline(kind, header, {entry.name: (entry.dtype, entry.shape) for entry in entries}, revision)


# ---- writing


def _make_storable(name: str, array: AnyArray) -> AnyArray:
    if not isinstance(name, str) or not name:
        raise ValueError(f"the name of an array is a non-empty str, not {name!r}")
    array = np.asarray(array, order="C")
    dtype = array.dtype.newbyteorder("<")
    if not DTYPE.fullmatch(dtype.str):
        raise TypeError(f"array {name!r} has dtype {array.dtype}; accepted are bool, int, uint, float up to 64 bits "
                        "and fixed bytes 'S' (encode str first)")
    if array.ndim > MAX_DIMENSIONS:
        raise ValueError(f"array {name!r} has {array.ndim} dimensions; at most {MAX_DIMENSIONS} are accepted")
    return array.astype(dtype, copy=False)


def _view_bytes(array: AnyArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")


def _place_arrays(arrays: Mapping[str, AnyArray]) -> Iterator[tuple[int, AnyArray]]:
    offset = 0
    for array in arrays.values():
        yield offset, array
        offset = aligned(offset + array.nbytes)


def _encode_header(kind: str, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> bytes:
    table = [
        {"name": name, "dtype": array.dtype.str, "shape": list(array.shape), "offset": offset,
         "checksum": hashlib.blake2b(_view_bytes(array), digest_size=16).hexdigest()}
        for name, (offset, array) in zip(arrays, _place_arrays(arrays), strict=True)
    ]
    header = dict(header)
    try:
        plain = json.loads(json.dumps(header, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the header cannot be written as JSON: {error}") from error
    if plain != header:
        raise ValueError("the header would not come back unchanged from JSON; use str keys and lists, not tuples")
    text = json.dumps({"kind": kind, "header": plain, "arrays": table}, separators=(",", ":")).encode("ascii")
    if len(text) > MAX_HEADER:
        raise ValueError(f"the header takes {len(text)} bytes; at most {MAX_HEADER} are accepted, "
                         "store bulk as an array")
    return text


@contextlib.contextmanager
def replacing(path: AnyPath, durable: bool, need: int = 0) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` on success and is deleted on any exception.

    OSError names `path` and, if the disk is full, the `need` bytes that the file takes.
    """
    target, temporary = Path(os.path.realpath(path)), None
    if durable:
        sweep(target.parent)
    try:
        temporary, opened = held_file(target)
        with opened as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
            if os.name == "nt":  # Windows cannot rename an open file
                file.close()
            temporary.replace(target)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError):
            name_place(error, path, inside=temporary or Path(os.fsdecode(error.filename or path)), need=need)
        raise
    if durable:
        sync(target.parent)  # makes the renaming durable


# ---- reading


@contextlib.contextmanager
def _open_regular(path: AnyPath) -> Iterator[tuple[BinaryIO, int]]:
    if not stat.S_ISREG(Path(path).stat().st_mode):  # before opening: a pipe would block
        raise corrupt(path, "not a regular file")
    with Path(path).open("rb") as file:
        yield file, os.fstat(file.fileno()).st_size


def _check_gaps(file: BinaryIO, entries: list[Entry], path: AnyPath) -> None:
    """Check that the bytes between arrays are zero. `file` is positioned at the end of the JSON text."""
    for entry in entries:
        gap = file.read(entry.start - file.tell())
        if any(gap):
            raise corrupt(path, f"the bytes before array {entry.name!r} are not zero")
        file.seek(entry.start + entry.nbytes)


def _load_array(file: BinaryIO, entry: Entry, path: AnyPath) -> AnyArray:
    array = np.empty(entry.shape, entry.dtype)
    if entry.nbytes:
        file.seek(entry.start)
        if file.readinto(_view_bytes(array)) != entry.nbytes:  # type: ignore[attr-defined]
            raise corrupt(path, f"cut short in array {entry.name!r}")
    return array


def _map_array(mapped: _mmap.mmap, entry: Entry, path: AnyPath) -> AnyArray:
    if not entry.nbytes:
        return np.empty(entry.shape, entry.dtype)
    if entry.start + entry.nbytes > len(mapped):
        raise corrupt(path, f"cut short in array {entry.name!r}")
    count = entry.nbytes // entry.dtype.itemsize
    return np.frombuffer(mapped, entry.dtype, count, entry.start).reshape(entry.shape)


def _check_array(array: AnyArray, entry: Entry, path: AnyPath, verify: bool) -> None:
    if not verify:
        return
    if hashlib.blake2b(_view_bytes(array), digest_size=16).hexdigest() != entry.checksum:
        raise corrupt(path, f"the checksum of array {entry.name!r} is wrong")
    if array.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
        raise corrupt(path, f"array {entry.name!r} holds values that are neither true nor false")
