"""Fingerprints in files: arrays, simhashes of documents, columns of Parquet, columns of text."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from ndcore.files.errors import UsageError
from ndcore.files.ndcore_files import refuse_own
from ndcore.files.sources import STDIN, is_stream
from ndcore.hamming.fingerprints import mapped_array, mapped_fingerprints, mapped_raw
from ndcore.hamming.ids import as_ids
from ndcore.hamming.index import KIND as INDEX
from ndcore.recipe import Recipe
from ndcore.sketch.sketches import KIND as SKETCHES
from ndcore.sketch.sketches import load as load_sketches
from ndcore.storage.container import kind_of

__all__ = ["FORMATS", "Column", "Loaded", "holds_sketches", "is_index", "load", "parsed", "pieces"]

FORMATS = ("npy", "raw", "parquet", "hex", "decimal")
ROWS = 1 << 25  # of a Parquet file, that are in memory at a time
SUFFIXES = {".npy": "npy", ".parquet": "parquet", ".txt": "text", ".tsv": "text", ".csv": "text"}


class Column(NamedTuple):
    """Where in a file the fingerprints are, and the ids.

    Attributes
    ----------
    format : one of FORMATS, or None
        None: by the suffix of the file; raw where it tells nothing; of text, numbers with 0x are hexadecimal.
    fingerprint, id : str or None
        A name in Parquet, a number from 1 in text. None: the only or first column, and no ids.
    """

    format: str | None = None
    fingerprint: str | None = None
    id: str | None = None


class Loaded(NamedTuple):
    """Fingerprints of a file; their ids, or None; the recipe that made them, or None where the file does not say."""

    fingerprints: NDArray[np.uint64]
    ids: list[Any] | None = None
    recipe: Recipe | None = None


def load(path: str, column: Column) -> Loaded:
    """The fingerprints of a file.

    UsageError where the column asked for cannot be, ValueError where the content is none, with the place.
    """
    kind = _kind(path, column)
    if kind == "parquet":
        return _parquet(path, column)
    if kind not in ("npy", "raw", "sketches"):
        return _text(path, column, kind)
    if column.fingerprint or column.id:
        raise UsageError(f"{path} is read as {kind}, which has no columns; leave --field and --id-field out, "
                         "or give --format")
    if is_stream(path):
        raise UsageError(f"{path} is no regular file, and {kind} is mapped; save it first, or give --format hex or decimal")
    if kind == "sketches":
        return _simhashes(path)
    return Loaded(mapped_array(path) if kind == "npy" else _raw(path, column))


def _kind(path: str, column: Column) -> str:
    if column.format is not None:
        return column.format
    if path == STDIN:
        return "text"
    return "sketches" if refuse_own(path, {SKETCHES, INDEX}) == SKETCHES else SUFFIXES.get(Path(path).suffix.lower(), "raw")


def _raw(path: str, column: Column) -> NDArray[np.uint64]:
    if column.format == "raw":
        return mapped_raw(path)
    try:
        return mapped_fingerprints(path)
    except ValueError as error:
        raise ValueError(f"{error}; say what it is with --format") from error


def pieces(path: str, column: Column) -> Iterator[NDArray[np.uint64]]:
    """The fingerprints of a file of any size, in pieces: arrays mapped whole, Parquet read by ROWS, text read whole."""
    if _kind(path, column) != "parquet":
        yield load(path, column).fingerprints
        return
    chosen = _parquet_columns(path, column)[0]
    from pyarrow import parquet

    with _sound_parquet(path), parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(ROWS, columns=[chosen]):
            yield _parquet_values(path, chosen, batch.column(0))


def parsed(number: str, kind: str = "text") -> int:
    """A fingerprint written down; ValueError for what is none. kind: hex, decimal, or text (hexadecimal where it has 0x)."""
    digits = number.strip()
    hexadecimal = kind == "hex" or (kind == "text" and digits[:2].lower() == "0x")
    if digits.isascii() and digits.removeprefix("0x").removeprefix("0X").isalnum():
        try:
            value = int(digits, 16 if hexadecimal else 10)
        except ValueError:
            value = -1
        if 0 <= value < 1 << 64:
            return value
    how = "hexadecimal" if hexadecimal else "decimal"
    hint = "" if hexadecimal or kind != "text" else "; for hexadecimal ones write 0x, or give --format hex"
    raise ValueError(f"{number!r:.80} is no {how} number below 2^64{hint}")


def is_index(path: str) -> bool:
    """Whether a file is a saved `HammingIndex`."""
    return path != STDIN and kind_of(path) == INDEX


def holds_sketches(path: str) -> bool:
    """Whether a file was written by ``ndcore sketch``."""
    return path != STDIN and kind_of(path) == SKETCHES


def _simhashes(path: str) -> Loaded:
    """Simhashes, of the documents that have shingles."""
    sketches = load_sketches(path)
    if sketches.recipe["kind"] != "simhash":
        raise UsageError(f"{path} holds {sketches.recipe['kind']} sketches; fingerprints are made by ndcore sketch --kind "
                         "simhash")
    which = np.flatnonzero(sketches.valid)
    ids = which.tolist() if sketches.ids is None else [sketches.ids[i] for i in which.tolist()]
    return Loaded(sketches.values[which], ids, sketches.recipe)


def _parquet(path: str, column: Column) -> Loaded:
    names = _parquet_columns(path, column)
    from pyarrow import parquet

    with _sound_parquet(path):
        table = parquet.read_table(path, columns=[*dict.fromkeys(names)])
    ids = None if column.id is None else _ids(path, column.id, table.column(column.id).to_pylist())
    return Loaded(_parquet_values(path, names[0], table.column(names[0])), ids)


def _ids(path: str, name: str, listed: list[Any]) -> list[Any]:
    try:
        as_ids(listed)
    except TypeError as error:
        raise ValueError(f"{path}: the column {name!r}: {error}") from error
    return listed


@contextlib.contextmanager
def _sound_parquet(path: str) -> Iterator[None]:
    """ValueError with the file's name where pyarrow cannot read it."""
    from pyarrow import ArrowInvalid

    try:
        yield
    except (ArrowInvalid, OSError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise ValueError(f"{path}: no sound Parquet file: {error}") from error


def _parquet_columns(path: str, column: Column) -> list[str]:
    """The name of the column of fingerprints, and that of ids if it is asked for."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path}: reading Parquet needs pyarrow: pip install 'ndcore[parquet]'") from error
    with _sound_parquet(path):
        names = parquet.read_schema(path).names
    chosen = column.fingerprint or (names[0] if len(names) == 1 else None)
    if chosen is None:
        raise UsageError(f"{path} has the columns {', '.join(names) or 'none'}; name that of the fingerprints with --field")
    found = [chosen, *filter(None, [column.id])]
    for name in found:
        if names.count(name) != 1:
            many = "no column" if name not in names else "several columns"
            raise UsageError(f"{path} has {many} {name!r}; it has {', '.join(names) or 'none'}")
    return found


def _parquet_values(path: str, name: str, values: Any) -> NDArray[np.uint64]:
    if values.null_count or str(values.type) not in ("uint64", "int64"):
        raise ValueError(f"{path}: the column {name!r} is {values.type} with {values.null_count} nulls; "
                         "fingerprints are uint64 (or the same bits as int64) without nulls")
    found: NDArray[np.uint64] = values.to_numpy().view(np.uint64)
    return found


def _text(path: str, column: Column, kind: str) -> Loaded:
    at, id_at = _position("--field", column.fingerprint or "1"), _position("--id-field", column.id)
    values: list[int] = []
    ids: list[str] = []
    with _opened(path) as file:
        for number, fields in _rows(path, file):
            try:
                values.append(parsed(fields[at], kind))
                if id_at is not None:
                    ids.append(fields[id_at])
            except IndexError as error:
                most = max(at, id_at or 0) + 1
                raise ValueError(f"{path}:{number}: {len(fields)} columns; there must be {most}") from error
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from error
    return Loaded(np.array(values, np.uint64), None if id_at is None else _ids(path, column.id or "", ids))


def _opened(path: str) -> TextIO:
    """The file as text, without the mark that some programs begin it with."""
    if path == STDIN:
        return open(sys.stdin.fileno(), encoding="utf-8-sig", closefd=False)
    return Path(path).open(encoding="utf-8-sig")


def _rows(path: str, lines: TextIO) -> Iterator[tuple[int, list[str]]]:
    """(number, fields) of the lines that are not empty; fields end at a tab, a comma or blanks."""
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            if line.strip():
                separator = next((mark for mark in "\t," if mark in line), None)
                yield number, [field.strip() for field in line.split(separator)]
    except UnicodeDecodeError as error:
        wrong = error.object[error.start]
        raise ValueError(f"{path}: byte {wrong:#04x} after line {number} is no UTF-8, in which text is read") from error


def _position(option: str, name: str | None) -> Any:
    if name is None:
        return None
    if not (name.isascii() and name.isdigit() and int(name) > 0):
        raise UsageError(f"{option} is {name!r}; in text, columns are numbered from 1")
    return int(name) - 1
