"""Read files of fingerprints: arrays that are mapped, columns of Parquet or of text, and the simhashes of saved sketches."""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from ndcore._types import UInts
from ndcore.files.errors import UsageError
from ndcore.files.ndcore_files import refuse_own
from ndcore.files.parquet import ParquetFile
from ndcore.files.sources import STDIN, Source, is_stream
from ndcore.hamming.fingerprints import WIDE, checked_fingerprints, mapped_array, mapped_fingerprints, mapped_raw, word_shape
from ndcore.hamming.ids import as_ids
from ndcore.hamming.index_file import KIND as INDEX
from ndcore.recipe import Recipe
from ndcore.sketch.loading import load as load_sketches
from ndcore.sketch.sketches import KIND as SKETCHES
from ndcore.storage.container import kind_of

BITS = 64  # of a fingerprint, unless more are asked for
ROWS = 1 << 25  # rows of a Parquet file in memory at a time
SUFFIXES = {".npy": "npy", ".parquet": "parquet", ".txt": "text", ".tsv": "text", ".csv": "text"}


class FingerprintColumns(NamedTuple):
    """The format of a file of fingerprints, and the columns of fingerprints and ids: names in Parquet, numbers in text."""

    format: str | None = None  # one of FINGERPRINT_FORMATS; None: by the suffix of the file, raw if it is not in SUFFIXES
    fingerprint: str | None = None  # None: the only or first column
    id: str | None = None  # None: no ids


class Loaded(NamedTuple):
    """The fingerprints of a file; their ids, or None; their recipe, or None if the file does not have it."""

    fingerprints: UInts
    ids: list[Any] | None = None
    recipe: Recipe | None = None


def load_fingerprints(path: str, column: FingerprintColumns, bits: int | None = None) -> Loaded:
    """Read or map the fingerprints of a file. Text and raw files need `bits` where they are 128 or 256.

    Raises UsageError if the file lacks a requested column, cannot be mapped, or has fingerprints of other bits; ValueError
    or DocumentError if the content is not fingerprints.
    """
    read = _read(path, column, bits)
    return read._replace(fingerprints=_check_words(path, read.fingerprints, bits))


def _check_words(path: str, fingerprints: UInts, bits: int | None) -> UInts:
    """Return the fingerprints of a file. Raises UsageError if they have more or fewer words than `bits` have. None: any."""
    if bits is not None and fingerprints.shape[1:] != word_shape(bits):
        raise UsageError(f"{path} holds fingerprints of {64 * math.prod(fingerprints.shape[1:])} bits; asked are {bits}")
    return fingerprints


def _read(path: str, column: FingerprintColumns, bits: int | None) -> Loaded:
    """Read or map the fingerprints of a file, of whatever bits."""
    kind = _choose_kind(path, column)
    if kind == "parquet":
        values, ids = zip(*_read_parquet(path, column), strict=True)
        listed = list(itertools.chain.from_iterable(ids))
        return Loaded(np.concatenate(values), None if column.id is None else _check_ids(path, column.id, listed))
    if kind not in ("npy", "raw", "sketches"):
        return _load_text(path, column, kind, bits)
    if column.fingerprint or column.id:
        raise UsageError(f"{path} is read as {kind}, which has no columns; leave --field and --id-field out, "
                         "or give --format")
    if is_stream(path):
        raise UsageError(f"{path} is not a regular file, and {kind} is mapped; save it first, or give --format hex or "
                         "decimal")
    if kind == "sketches":
        return _load_simhashes(path)
    if kind == "npy":
        return Loaded(mapped_array(path))
    if column.format == "raw":
        return Loaded(mapped_raw(path, bits or BITS))
    try:
        return Loaded(mapped_fingerprints(path, bits or BITS))
    except ValueError as error:
        raise ValueError(f"{error}; say what it is with --format") from error


def _choose_kind(path: str, column: FingerprintColumns) -> str:
    """Choose how a file is read: one of FINGERPRINT_FORMATS, "sketches" or "text"."""
    if column.format is not None:
        return column.format
    if path == STDIN:
        return "text"
    return "sketches" if refuse_own(path, {SKETCHES, INDEX}) == SKETCHES else SUFFIXES.get(Path(path).suffix.lower(), "raw")


def read_pieces(path: str, column: FingerprintColumns, bits: int | None = None) -> Iterator[UInts]:
    """Yield the fingerprints of a file of any size: arrays are mapped, text is read whole, Parquet about ROWS at a time."""
    if _choose_kind(path, column) != "parquet":
        yield load_fingerprints(path, column, bits).fingerprints
        return
    gathered: list[UInts] = []
    for values, _ in _read_parquet(path, column._replace(id=None)):
        gathered.append(_check_words(path, values, bits))
        if sum(map(len, gathered)) >= ROWS:
            yield np.concatenate(gathered)
            gathered.clear()
    if gathered:
        yield np.concatenate(gathered)


def parse_fingerprint(number: str, kind: str = "text", bits: int | None = None) -> int:
    """Parse a fingerprint. Raises ValueError. kind: hex, decimal, or text (hexadecimal if it begins with 0x)."""
    most = max(BITS, bits or BITS)
    digits = number.strip()
    hexadecimal = kind == "hex" or (kind == "text" and digits[:2].lower() == "0x")
    if digits.isascii() and digits.removeprefix("0x").removeprefix("0X").isalnum():
        try:
            value = int(digits, 16 if hexadecimal else 10)
        except ValueError:
            value = -1
        if 0 <= value < 1 << most:
            return value
    how = "hexadecimal" if hexadecimal else "decimal"
    hint = "" if hexadecimal or kind != "text" else "; write hexadecimal ones with 0x, or give --format hex"
    raise ValueError(f"{number!r:.80} is not a {how} number below 2^{most}{hint}")


def is_saved(path: str, kind: str = INDEX) -> bool:
    """Tell whether a file is of a given kind of ndcore: a saved `HammingIndex`, or sketches."""
    return path != STDIN and kind_of(path) == kind


def _load_simhashes(path: str) -> Loaded:
    """Load the simhashes of the documents that have shingles."""
    sketches = load_sketches(path)
    if sketches.recipe["kind"] != "simhash":
        raise UsageError(f"{path} holds {sketches.recipe['kind']} sketches; fingerprints are made by ndcore sketch --kind "
                         "simhash")
    which = np.flatnonzero(sketches.valid)
    ids = which.tolist() if sketches.ids is None else [sketches.ids[i] for i in which.tolist()]
    return Loaded(sketches.values[which], ids, sketches.recipe)


def _check_ids(path: str, name: str, listed: list[Any]) -> list[Any]:
    """Convert a column to ids. Raises ValueError for values that cannot be ids."""
    try:
        as_ids(listed)
    except TypeError as error:
        raise ValueError(f"{path}: the column {name!r}: {error}") from error
    return listed


def _read_parquet(path: str, column: FingerprintColumns) -> Iterator[tuple[UInts, list[Any]]]:
    """Yield the fingerprints and, if there is a column of them, the ids of a Parquet file, some rows at a time."""
    source = Source(path, path, path, "parquet", "", path, "")
    with ParquetFile(source) as file:
        names = _choose_columns(path, column, file.schema.names)
        batches = (batch for _, batch in file.batches(dict.fromkeys(names)))
        for batch in itertools.chain([file.schema.empty_table()], batches):  # types are checked without rows too
            ids = [] if column.id is None else batch.column(column.id).to_pylist()
            yield _check_values(path, names[0], batch.column(names[0])), ids


def _choose_columns(path: str, column: FingerprintColumns, names: list[str]) -> list[str]:
    """Choose the column of fingerprints, and the column of ids if there is one; return their names."""
    chosen = column.fingerprint or (names[0] if len(names) == 1 else None)
    there = ", ".join(names) or "none"
    if chosen is None:
        raise UsageError(f"{path} has the columns {there}; name the one with the fingerprints by --field")
    wanted = [chosen, *filter(None, [column.id])]
    for name in wanted:
        if names.count(name) != 1:
            many = "no column" if name not in names else "several columns"
            raise UsageError(f"{path} has {many} {name!r}; it has {there}")
    return wanted


def _check_values(path: str, name: str, values: Any) -> UInts:
    """Convert a Parquet column to fingerprints. Raises ValueError for other types and for nulls."""
    wide = {f"fixed_size_binary[{bits // 8}]": bits // 8 for bits in WIDE}.get(str(values.type))
    if values.null_count or not (wide or str(values.type) in ("uint64", "int64")):
        nulls = " with nulls" if values.null_count else ""
        raise ValueError(f"{path}: the column {name!r} is {values.type}{nulls}; fingerprints are uint64 (or the same "
                         "bits as int64), or binary of 16 or 32 bytes, without nulls")
    if wide:
        return checked_fingerprints(np.frombuffer(b"".join(values.to_pylist()), np.uint8).reshape(-1, wide), 8 * wide)
    fingerprints: UInts = values.to_numpy().view(np.uint64)
    return fingerprints


def _load_text(path: str, column: FingerprintColumns, kind: str, bits: int | None) -> Loaded:
    """Load the columns of a text file."""
    at, id_at = _parse_position("--field", column.fingerprint or "1"), _parse_position("--id-field", column.id)
    values: list[int] = []
    ids: list[str] = []
    opened: Any = sys.stdin.fileno() if path == STDIN else path
    with open(opened, encoding="utf-8-sig", errors="surrogateescape", closefd=path != STDIN) as file:
        for number, fields in _read_rows(path, file):
            try:
                values.append(parse_fingerprint(fields[at], kind, bits))
                if id_at is not None:
                    ids.append(fields[id_at])
            except IndexError as error:
                most = max(at, id_at or 0) + 1
                raise ValueError(f"{path}:{number}: {len(fields)} columns; there must be {most}") from error
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from error
    fingerprints = checked_fingerprints(values, max(BITS, bits or BITS))
    return Loaded(fingerprints, None if id_at is None else _check_ids(path, column.id or "", ids))


def _read_rows(path: str, lines: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Yield (number, fields) of the lines that are not empty; fields are separated by tabs, else commas, else blanks.

    Bytes that are not UTF-8 are surrogates in the lines, as of ``surrogateescape``. Raises ValueError for the first one.
    """
    for number, line in enumerate(lines, 1):
        if not line.isascii() and (escaped := re.search("[\udc80-\udcff]", line)):
            raise ValueError(f"{path}:{number}: byte {ord(escaped[0]) - 0xDC00:#04x} is not UTF-8; text is read as UTF-8")
        if line.strip():
            separator = next((mark for mark in "\t," if mark in line), None)
            yield number, [field.strip() for field in line.split(separator)]


def _parse_position(option: str, name: str | None) -> Any:
    """Convert the number of a column in an option to its position; None if it is not given."""
    if name is None:
        return None
    if not (name.isascii() and name.isdigit() and int(name) > 0):
        raise UsageError(f"{option} is {name!r}; in text, columns are numbered from 1")
    return int(name) - 1
