"""Files of columns, Parquet and Arrow: rows as documents, and rows filtered or annotated with schema and metadata kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ndcore._types import Ints
from ndcore.files.arrow import ArrowFile, find_field
from ndcore.files.errors import DocumentError
from ndcore.files.parquet import ParquetFile
from ndcore.files.records import MISSING, Fields, Record, RecordError, check_columns, check_id, join_texts
from ndcore.files.sources import Source, explain_too_long

_REPORT_EVERY = 64  # rows
_FILES: dict[str, type[ArrowFile] | type[ParquetFile]] = {"arrow": ArrowFile, "parquet": ParquetFile}


def open_file(source: Source) -> ArrowFile | ParquetFile:
    """Open `source`. DocumentError where pyarrow is missing or the file cannot be read."""
    return _FILES[source.kind](source)


def read_rows(source: Source, fields: Fields) -> Iterator[Record | tuple[int, str]]:
    """Yield every row as a Record, or as (row number, reason) where it cannot be a document. Rows count from 1.

    A field is the column with its name, or else ``a.b`` is the field ``b`` of a column ``a`` of structs. The column of an
    optional field may be missing: its values are None then.

    Raises
    ------
    DocumentError
        A column is missing or of a type that cannot be used, or the file is damaged: it names the first row that cannot be
        read, and later passes end before it (``source.readable``).
    """
    with open_file(source) as file:
        present = _check_columns(source, file.schema, fields)
        count, number, seen = len(fields.text), 0, 0
        for batch in _read_until_damage(source, file.batches(present)):
            names = (*fields.text, *fields.others)
            columns = [get_column_values(batch, name) if name in present else [None] * len(batch) for name in names]
            idents = get_column_values(batch, fields.id) if fields.id in present else [MISSING] * len(batch)
            before, begin, seen = number, seen, source.seen
            for ident, *values in zip(idents, *columns, strict=True):
                if (number - before) % _REPORT_EVERY == 0:
                    source.seen = begin + (seen - begin) * (number - before) // len(batch)
                number += 1
                try:
                    text = _join_text(values[:count], fields.text)
                    if len(text) > source.longest:
                        raise RecordError(explain_too_long("the text", source.longest))
                    ident = check_id(_check_utf8(ident), fields)
                    yield Record(number, text, ident, tuple([_check_utf8(v) for v in values[count:]]), len(text))
                except RecordError as error:
                    yield number, str(error)
            source.seen = seen


def _read_until_damage(source: Source, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches. Behind rows that were read, damage is an error of the next row, and noted."""
    count = 0
    try:
        for batch in batches:
            count += len(batch)
            yield batch
    except DocumentError as error:
        if not count:
            raise
        source.readable = count
        raise DocumentError(source.path, count + 1, f"{error.reason}; this row and what follows cannot be read") from error


def _check_columns(source: Source, schema: Any, fields: Fields) -> list[str]:
    """List the fields that the file has. DocumentError where it lacks one, or where a text is of another type."""
    paths = {name: find_field(schema, name) for name in (*fields.text, fields.id, *fields.others)}
    tops = {name: path[0] for name, path in paths.items() if path is not None}
    check_columns(source.path, list(schema.names), tops, fields)
    for name in fields.text:
        first, *below = paths[name] or [name]
        kind = schema.field(first).type
        for inner in below:
            kind = kind.field(inner).type
        if not _is_text(kind):
            raise DocumentError(source.path, None, f"the text column {name!r} holds {kind}, not strings or binary")
    return list(tops)


def _is_text(kind: Any) -> bool:
    """Tell whether a column type holds strings or binary, also in a dictionary."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    names = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_large_binary", "is_binary_view")
    return any(getattr(types, name)(kind) for name in names if hasattr(types, name))


def _join_text(texts: Sequence[Any], fields: Sequence[str]) -> str | bytes:
    """Join the texts of a row; RecordError where one is null or not UTF-8."""
    for text, field in zip(texts, fields, strict=True):
        if text is None:
            raise RecordError(f"the text column {field!r} is null")
        _check_utf8(text)
    return join_texts(texts)


class _NotUtf8(bytes):
    """Bytes of a string column that are not UTF-8."""

    __slots__ = ()


def _check_utf8(value: Any) -> Any:
    """Pass a value on; RecordError where it is a string that is not UTF-8."""
    if isinstance(value, _NotUtf8):
        raise RecordError("a string of the row is not UTF-8; store the column as binary to have it read as bytes")
    return value


def get_column_values(batch: Any, name: str) -> list[Any]:
    """Convert a field to Python values, one by one where a string of it is not UTF-8."""
    import pyarrow.compute

    first, *below = find_field(batch.schema, name) or [name]
    column = batch.column(batch.schema.get_field_index(first))
    if below:
        column = pyarrow.compute.struct_field(column, below)
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        if hasattr(column, "dictionary_decode"):
            column = column.dictionary_decode()
        return [_convert_scalar(value) for value in column]


def needs_check(kind: Any, is_text: bool) -> bool:
    """Tell whether a column may hold values that JSON does not have. Rows are rejected whose text is not UTF-8."""
    import pyarrow.types as types

    plain = ("is_integer", "is_floating", "is_boolean", "is_null", "is_decimal")
    strings = ("is_string", "is_large_string") if is_text else ()
    return not any(getattr(types, name)(kind) for name in (*plain, *strings))


def is_utf8(batch: Any, name: str) -> bool:
    """Tell whether a column holds strings or bytes that all are UTF-8. False for other types."""
    import pyarrow as pa

    column = batch.column(batch.schema.get_field_index(name))
    strings = {pa.binary(): pa.string(), pa.large_binary(): pa.large_string()}
    try:
        if column.type in strings.values():
            column.validate(full=True)
        else:
            column.cast(strings[column.type])
    except (pa.ArrowInvalid, KeyError):
        return False
    return True


def _convert_scalar(value: Any) -> Any:
    """Convert an Arrow scalar; mark a string that is not UTF-8."""
    try:
        return value.as_py()
    except UnicodeDecodeError:
        if not hasattr(value, "as_buffer"):  # within a list or a struct
            raise
        return _NotUtf8(value.as_buffer().to_pybytes())


def _take_rows(table: Any, rows: Ints) -> Any:
    """Return some rows of a table, ascending."""
    import pyarrow as pa

    try:
        return table.take(pa.array(rows))
    except pa.ArrowNotImplementedError:  # columns of type string_view and binary_view
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if len(rows) else []
        return pa.concat_tables([table.slice(0, 0), *(table.slice(run[0], len(run)) for run in runs)]).combine_chunks()


def rewrite(source: Source, target: Path, keep: Callable[[int], bool], added: Callable[[list[int]], Any] | None) -> None:
    """Write the rows of `source` for which ``keep(row number)`` holds to a new file `target`.

    Schema, metadata and compression stay the same, and so does the cut into row groups or record batches.

    Parameters
    ----------
    added : callable or None
        From the numbers of the rows written to a ``pyarrow.Table`` of columns to append.
    """
    import pyarrow as pa

    before = 0

    def select(batch: Any) -> Any:
        nonlocal before
        numbers = [number for number in range(before + 1, before + len(batch) + 1) if keep(number)]
        table = pa.Table.from_batches([batch])
        if len(numbers) < len(batch):
            table = _take_rows(table, np.array(numbers, np.int64) - before - 1)
        before += len(batch)
        if added is not None:
            extra = added(numbers)
            for name in extra.column_names:
                table = table.append_column(extra.schema.field(name), extra.column(name))
        return table

    with open_file(source) as file:
        schema = file.schema
        for extra in added([]).schema if added is not None else ():
            schema = schema.append(extra)
        file.rewrite(target, schema, select)
