"""Write tables for other programs, in batches; a table gets its name only when it is complete.

Formats: Parquet (https://parquet.apache.org), CSV (RFC 4180), JSON Lines (https://jsonlines.org).
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import importlib.util
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np

from ndcore._batch import Batch
from ndcore._jsonl import encode_rows, quote
from ndcore._types import Ints
from ndcore.checks import missing
from ndcore.files.errors import UsageError
from ndcore.files.json_values import to_json, to_json_each, to_string, write_time
from ndcore.files.outputs import OutputFile
from ndcore.parallel import map_pieces

BATCH = 1 << 15  # rows
Kind = Literal["id", "string", "integer", "number", "truth", "time"]


@dataclass(frozen=True)
class Column:
    """A column: `kind` is the type of its values, which may also be None. An id is an int of 64 bits or a str."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class CodedValues(Sequence[Any]):
    """Values of a column of which many are the same: value i is values[codes[i]]."""

    values: list[Any]
    codes: Ints

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, at: Any) -> Any:
        return self.values[self.codes[at]]

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.codes.tolist())


Values: TypeAlias = Sequence[Any] | Ints

ABSENT: Any = object()  # in place of a value: lines of JSON leave the field out; other formats have no such cells


class Blocks:
    """Rows in blocks: for each block the values of each column, a sequence or an array of int64. They can be iterated once,
    also as rows.
    """

    def __init__(self, blocks: Iterable[Sequence[Values]]) -> None:
        self.blocks = blocks

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for block in self.blocks:
            yield from zip(*map(_as_list, block), strict=True)


@dataclass(frozen=True)
class Table:
    """Columns, and rows with a value for each, which can be iterated once. Ids are all int, or all str."""

    columns: list[Column]
    rows: Iterable[tuple[Any, ...]]
    ids_are_numbers: bool = False

    def blocks(self) -> Iterable[Sequence[Values]]:
        """Return the rows in blocks, as `Blocks` has them."""
        if isinstance(self.rows, Blocks):
            return self.rows.blocks
        return (list(zip(*batch, strict=True)) for batch in _cut_batches(self.rows))


class TableFile(OutputFile):
    """A file for a table; see `OutputFile`.

    Parameters
    ----------
    path : str
        Its suffix, .parquet, .csv or .jsonl, selects the format.
    overwrite, inputs
        As for `check_output`.

    Raises
    ------
    BlockingIOError
        As raised by `OutputFile`.
    UsageError
        As raised by `OutputFile`; or its suffix is not a format, or pyarrow is missing for Parquet.
    """

    def __init__(self, path: str, overwrite: bool = False, inputs: Iterable[str] = ()) -> None:
        super().__init__(path, "table", overwrite=overwrite, inputs=inputs)
        self._format = Path(path).suffix.lower()
        if self._format not in WRITERS:
            raise UsageError(f"the table {path} would be of no known format; end its name in {', '.join(WRITERS)}")
        if self._format == ".parquet" and importlib.util.find_spec("pyarrow") is None:
            raise UsageError(f"{missing('pyarrow', f'writing {path}')}; or write .csv or .jsonl")

    def write(self, table: Table) -> int:
        """Write all rows to a temporary file, and return their number. Memory: 2^15 rows."""
        with self.making() as new:
            return WRITERS[self._format](new, table)


def write_json_lines(file: IO[bytes], table: Table, threads: int | None = 1) -> int:
    """Write each row as an object on a line, and return the number of rows. Rows that are not in blocks are written one
    by one, as they are made.
    """
    count = 0
    blocks = table.rows.blocks if isinstance(table.rows, Blocks) else ()
    for rows, data in map_pieces(partial(_encode_block, table.columns), blocks, threads):
        file.write(data)
        count += rows
    for row in () if isinstance(table.rows, Blocks) else table.rows:
        file.write(_encode_row(table.columns, row))
        count += 1
    return count


def _encode_row(columns: list[Column], row: Sequence[Any]) -> bytes:
    """Encode a row as an object of JSON on a line."""
    return to_json({column.name: _convert_time(value) if column.kind == "time" else value
                    for column, value in zip(columns, row, strict=True)}) + b"\n"


def _encode_block(columns: list[Column], block: Sequence[Values]) -> tuple[int, bytes]:
    """Encode a block of rows; return the number of rows, too."""
    return len(block[0]), encode_lines({
        column.name: list(map(_convert_time, values)) if column.kind == "time" else values
        for column, values in zip(columns, block, strict=True)})


def encode_lines(columns: Mapping[str, Values]) -> bytes:
    """Encode rows column by column as objects of JSON, each on a line. The first column has no `ABSENT`."""
    heads: list[bytes] = []
    cells: list[Ints | tuple[bytes, Ints, Ints]] = []
    try:
        for i, (name, values) in enumerate(columns.items()):
            head = (", " if i else "{").encode() + to_json(name) + b": "
            if isinstance(values, list) and ABSENT in values:
                cells.append(_encode_fields(head, values))
                heads.append(b"")
            else:
                cells.append(_encode_cells(values))
                heads.append(head)
    except UnicodeEncodeError:  # only rows with a lone surrogate are ASCII
        return b"".join(to_json(record) + b"\n" for record in list_records(columns))
    return encode_rows([*heads, b"}\n"], cells, len(values))


def list_records(columns: Mapping[str, Values]) -> list[dict[str, Any]]:
    """List rows as records, without the fields that are `ABSENT`."""
    rows = zip(*map(_as_list, columns.values()), strict=True)
    return [{name: value for name, value in zip(columns, row, strict=True) if value is not ABSENT} for row in rows]


def _encode_fields(head: bytes, values: Sequence[Any]) -> tuple[bytes, Ints, Ints]:
    """Convert values to cells of `encode_rows`, each with its name before it, and empty for `ABSENT`."""
    numbers: dict[tuple[type, Any], int] = {}  # a number for each value; True is another than 1
    which = np.fromiter((numbers.setdefault((type(value), value), len(numbers)) for value in values), np.int64, len(values))
    distinct = [value for _, value in numbers]
    encoded = iter(to_json_each(value for value in distinct if value is not ABSENT))
    fields = [b"" if value is ABSENT else head + next(encoded).encode() for value in distinct]
    return b"".join(fields), np.cumsum([0, *map(len, fields)], dtype=np.int64), which


def _encode_cells(values: Iterable[Any] | Ints) -> Ints | tuple[bytes, Ints, Ints]:
    """Convert values to cells of `encode_rows`: equal strings become one."""
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values, np.int64)
    if isinstance(values, CodedValues):
        cells = _encode_cells(values.values)
        return cells[values.codes] if isinstance(cells, np.ndarray) else (*cells[:2], cells[2][values.codes])
    listed = list(values)
    types = {*map(type, listed)}
    if types == {int}:
        with contextlib.suppress(OverflowError):
            return np.fromiter(listed, np.int64, len(listed))
    which = np.arange(len(listed), dtype=np.int64)
    if types == {str}:
        numbers = {value: number for number, value in enumerate(dict.fromkeys(listed))}
        which, listed = np.fromiter(map(numbers.__getitem__, listed), np.int64, len(listed)), list(numbers)
        if (quoted := quote(Batch(listed))) is not None:
            return *quoted, which
    encoded = [cell.encode() for cell in to_json_each(listed)]
    return b"".join(encoded), np.cumsum([0, *map(len, encoded)], dtype=np.int64), which


def _as_list(values: Values) -> Sequence[Any]:
    """Convert the values of a column to objects of Python."""
    listed: Sequence[Any] = values.tolist() if isinstance(values, np.ndarray) else values
    return listed


def _write_jsonl(path: Path, table: Table) -> int:
    """Write JSON Lines to a new file."""
    with path.open("xb", buffering=1 << 20) as file:
        return write_json_lines(file, table)


def _write_csv(path: Path, table: Table) -> int:
    """Write CSV with a header; missing values are empty."""
    count = 0
    with path.open("x", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in table.columns])
        cells = {"truth": _write_truth, "time": _convert_time}
        for block in table.blocks():
            changes = [cells.get(column.kind) for column in table.columns]
            values = [_as_list(column) if change is None else list(map(change, column))
                      for column, change in zip(block, changes, strict=True)]
            writer.writerows(zip(*values, strict=True))  # None is an empty cell
            count += len(block[0])
    return count


def _write_parquet(path: Path, table: Table) -> int:
    """Write Parquet in batches; ids are int64 or strings."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        "id": pa.int64() if table.ids_are_numbers else pa.string(), "string": pa.string(), "integer": pa.int64(),
        "number": pa.float64(), "truth": pa.bool_(), "time": pa.timestamp("us", "UTC"),
    }
    schema, count = pa.schema([(column.name, types[column.kind]) for column in table.columns]), 0
    with pq.ParquetWriter(path, schema) as writer:
        for block in table.blocks():
            arrays = []
            for values, field in zip(block, schema, strict=True):
                try:
                    if isinstance(values, CodedValues):
                        arrays.append(pa.array(values.values, field.type).take(pa.array(values.codes)))
                    else:
                        arrays.append(pa.array(values, field.type))
                except (pa.ArrowException, UnicodeEncodeError):
                    if not pa.types.is_string(field.type):
                        raise
                    arrays.append(pa.array([to_string(value) for value in values], field.type))
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            count += len(block[0])
    return count


def _cut_batches(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Cut rows into batches."""
    remaining = iter(rows)
    while batch := list(itertools.islice(remaining, BATCH)):
        yield batch


def _write_truth(value: bool | None) -> str | None:
    """Convert a truth value to a cell of CSV."""
    return None if value is None else "true" if value else "false"


def _convert_time(value: Any) -> Any:
    """Convert a time to ISO 8601; leave anything else as it is."""
    return write_time(value) if isinstance(value, datetime.datetime) else value


WRITERS: dict[str, Callable[[Path, Table], int]] = {  # by suffix
    ".parquet": _write_parquet, ".csv": _write_csv, ".jsonl": _write_jsonl,
}
