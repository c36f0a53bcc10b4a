"""Columnar files, Parquet and Arrow: read rows as documents, filter or annotate rows without changing schema or metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ndcore._arrow import ArrowTexts, read_arrow
from ndcore._types import Bools, Ints
from ndcore.checks import Late
from ndcore.files.arrow import ArrowFile, find_field, get_first_line
from ndcore.files.blocks import Block, PackedIds, Wanted
from ndcore.files.errors import DocumentError
from ndcore.files.parquet import ParquetFile
from ndcore.files.records import MISSING, Fields, Record, RecordError, check_columns, check_id, join_texts
from ndcore.files.sources import Source, explain_too_long

pa: Any = Late("pyarrow", "reading columns")
pc: Any = Late("pyarrow.compute", "reading columns")

_REPORT_EVERY = 64  # rows
_FILES: dict[str, type[ArrowFile] | type[ParquetFile]] = {"arrow": ArrowFile, "parquet": ParquetFile}


def open_file(source: Source) -> ArrowFile | ParquetFile:
    """Open `source`. Raises DocumentError if pyarrow is missing or the file cannot be read."""
    return _FILES[source.kind](source)


def read_rows(
    source: Source, fields: Fields, wanted: Wanted | None = None, in_blocks: bool = True
) -> Iterator[Record | Block | tuple[int, str]]:
    """Yield the rows as Blocks or Records, and (row number, reason) where one cannot be a document. Rows count from 1.

    A field is the column with its name, or else ``a.b`` is the field ``b`` of a column ``a`` of structs. The column of an
    optional field may be missing: its values are None then.

    Parameters
    ----------
    source : Source
    fields : Fields
    wanted : Wanted, optional
        The rows to read; None: all. Row groups without any of them are not read.
    in_blocks : bool
        Yield a batch as a Block, whose texts stay in the buffers of Arrow, if all its rows can be documents.

    Raises
    ------
    DocumentError
        A column is missing or has an unusable type; or the file is damaged: the error names the first row that cannot be
        read, and later passes end before it (``source.readable``).
    """
    rows = None if wanted is None else wanted.numbers
    with open_file(source) as file:
        present = _check_columns(source, file.schema, fields)
        seen = 0
        for first, batch in _read_until_damage(source, file.batches(present, rows)):
            numbers = np.arange(first, first + len(batch))
            if rows is not None:
                numbers = rows[np.searchsorted(rows, first) : np.searchsorted(rows, first + len(batch))]
                if len(numbers) < len(batch):
                    mask = np.zeros(len(batch), np.bool_)
                    mask[numbers - first] = True
                    batch = _select_rows(batch, mask)
            begin, seen = seen, source.seen
            if not len(batch):
                continue
            block = _read_block(batch, numbers, fields, present, source.longest) if in_blocks else None
            if block is not None:
                yield block
                continue
            for at, record in enumerate(_read_records(source, batch, numbers, fields, present)):
                if at % _REPORT_EVERY == 0:
                    source.seen = begin + (seen - begin) * at // len(batch)
                yield record
            source.seen = seen


def _read_records(
    source: Source, batch: Any, numbers: Ints, fields: Fields, present: Sequence[str]
) -> Iterator[Record | tuple[int, str]]:
    """Yield the rows of a batch one by one, as Records or (number, reason)."""
    names, count = (*fields.text, *fields.others), len(fields.text)
    columns = [get_column_values(batch, name) if name in present else [None] * len(batch) for name in names]
    idents = get_column_values(batch, fields.id) if fields.id in present else [MISSING] * len(batch)
    for number, ident, *values in zip(numbers.tolist(), idents, *columns, strict=True):
        try:
            text = _join_text(values[:count], fields.text)
            if len(text) > source.longest:
                raise RecordError(explain_too_long("the text", source.longest))
            ident = check_id(_check_utf8(ident), fields)
            yield Record(number, text, ident, tuple([_check_utf8(v) for v in values[count:]]), len(text))
        except RecordError as error:
            yield number, str(error)


def _read_block(batch: Any, numbers: Ints, fields: Fields, present: Sequence[str], longest: int) -> Block | None:
    """Read the rows of a batch together; None if one is not plain, so that `_read_records` must read them one by one.

    A row is plain if its text comes from one column and is not null, not too long and UTF-8, its id is a string or an
    integer or missing, and its other values are UTF-8.
    """
    text = _get_texts(batch, fields.text[0]) if len(fields.text) == 1 else None
    if text is None or int(text.lengths.max()) > longest:
        return None
    ids = _get_ids(batch, fields.id) if fields.id in present else [None] * len(batch)
    if ids is None:
        return None
    try:
        columns = [_get_column(batch, name).to_pylist() if name in present else [None] * len(batch)
                   for name in fields.others]
    except UnicodeDecodeError:
        return None
    values = list(zip(*columns, strict=True))
    return Block(numbers, np.zeros(len(batch), np.int64), text.lengths, text, ids, values)


def _get_texts(batch: Any, name: str) -> ArrowTexts | None:
    """Return a column of strings or bytes as texts in its buffers; None if a value is null or a string that is not UTF-8."""
    column = _get_column(batch, name)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        return None
    try:
        column.validate(full=True)
        return read_arrow(column)
    except pa.ArrowInvalid:
        return None


def _get_ids(batch: Any, name: str) -> list[Any] | PackedIds | None:
    """Return a column of ids; None if `check_id` must check each."""
    column, kind = _get_column(batch, name), "i"
    if column.null_count:
        return None
    if not pa.types.is_integer(column.type):
        texts = _get_texts(batch, name) if _is_text(column.type) else None
        if texts is None or not texts.is_text:
            return None
        column, kind = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column, "s"
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):  # it is a string view
            return list(texts)
    column = column.cast(pa.large_string())
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    text = b"" if data is None else data[int(ends[0]) : int(ends[-1])].to_pybytes()
    return PackedIds(text, ends[1:] - ends[0], np.full(len(column), ord(kind), np.uint8))


def _read_until_damage(source: Source, batches: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """Yield batches up to damage, which becomes an error of the next row; record the number of readable rows in `source`."""
    count = 0
    try:
        for first, batch in batches:
            count = first + len(batch) - 1
            yield first, batch
    except DocumentError as error:
        if not count:
            raise
        source.readable = count
        raise DocumentError(source.path, count + 1, f"{error.reason}; this row and what follows cannot be read") from error


def _check_columns(source: Source, schema: Any, fields: Fields) -> list[str]:
    """List the fields that the file has. Raises DocumentError if it lacks one, or if a text column has another type."""
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
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    names = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_large_binary", "is_binary_view")
    return any(getattr(pa.types, name)(kind) for name in names if hasattr(pa.types, name))


def _join_text(texts: Sequence[Any], fields: Sequence[str]) -> str | bytes:
    """Join the texts of a row. Raises RecordError if one is null or not UTF-8."""
    for text, field in zip(texts, fields, strict=True):
        if text is None:
            raise RecordError(f"the text column {field!r} is null")
        _check_utf8(text)
    return join_texts(texts)


class _NotUtf8(bytes):
    """Bytes of a string column that are not UTF-8."""

    __slots__ = ()


def _check_utf8(value: Any) -> Any:
    """Return a value unchanged. Raises RecordError if it is a string that is not UTF-8."""
    if isinstance(value, _NotUtf8):
        raise RecordError("a string of the row is not UTF-8; store the column as binary to have it read as bytes")
    return value


def _get_column(batch: Any, name: str) -> Any:
    """Return the array of a field: a column, or a field of its structs."""
    first, *below = find_field(batch.schema, name) or [name]
    column = batch.column(batch.schema.get_field_index(first))
    return pc.struct_field(column, below) if below else column


def get_column_values(batch: Any, name: str) -> list[Any]:
    """Convert a field to Python values; one by one if a string in it is not UTF-8."""
    column = _get_column(batch, name)
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        if hasattr(column, "dictionary_decode"):
            column = column.dictionary_decode()
        return [_convert_scalar(value) for value in column]


def needs_check(kind: Any, is_text: bool) -> bool:
    """Tell whether a column may hold values that JSON lacks. (Rows whose text is not UTF-8 are rejected anyway.)"""
    plain = ("is_integer", "is_floating", "is_boolean", "is_null", "is_decimal")
    strings = ("is_string", "is_large_string") if is_text else ()
    return not any(getattr(pa.types, name)(kind) for name in (*plain, *strings))


def is_utf8(batch: Any, name: str) -> bool:
    """Tell whether a column holds only strings or bytes that are UTF-8. False for other types."""
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


def _select_rows(batch: Any, mask: Bools) -> Any:
    """Select rows of a record batch by a mask. O(rows of the batch)."""
    try:
        return batch.filter(pa.array(mask))
    except pa.ArrowNotImplementedError:  # columns of type string_view and binary_view
        rows = np.flatnonzero(mask)
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if len(rows) else []
        table = pa.Table.from_batches([batch])
        parts = pa.concat_tables([table.slice(0, 0), *(table.slice(run[0], len(run)) for run in runs)]).combine_chunks()
        return next(iter(parts.to_batches()), batch.slice(0, 0))


def rewrite(source: Source, target: Path, keep: Bools, change: Callable[[Ints, Any], Any] | None) -> None:
    """Write the rows of `source` that are kept to a new file `target`.

    Schema, metadata, compression, and the division into row groups or record batches stay the same. No value becomes a
    Python object. Row groups and record batches without a kept row are not read.

    Parameters
    ----------
    keep : bool array
        Whether each row is kept. Rows count from 1, so entry 0 is unused; rows beyond its end are dropped.
    change : callable or None
        Gets row numbers and a ``pyarrow.Table`` of these rows, and returns the table to write. It is first called without
        rows, for the schema.

    Raises
    ------
    DocumentError
        The file is damaged, or its rows cannot be written.
    """
    def select(first: int, batch: Any) -> Any:
        mask = np.zeros(len(batch), np.bool_)
        known = keep[first : first + len(batch)]
        mask[: len(known)] = known
        table = pa.Table.from_batches([batch if mask.all() else _select_rows(batch, mask)])
        try:
            return table if change is None else change(first + np.flatnonzero(mask), table)
        except pa.ArrowException as error:
            raise DocumentError(source.path, None, f"its rows cannot be written again: {get_first_line(error)}") from error

    with open_file(source) as file:
        schema = file.schema if change is None else change(np.zeros(0, np.int64), file.schema.empty_table()).schema
        file.rewrite(target, schema, np.flatnonzero(keep), select)


def replace_texts(table: Any, field: str, rows: Ints, texts: Sequence[str | bytes]) -> Any:
    """Return a ``pyarrow.Table`` with new texts in some rows of a field; its schema and all other values stay the same.

    Parameters
    ----------
    field : str
        A column of strings or bytes, or of dictionaries of them; or such a field of a column of structs.
    rows : int64 array
        Ascending.

    Raises
    ------
    pyarrow.ArrowException
        The indices of a dictionary are too narrow for the new texts.
    """
    first, *below = find_field(table.schema, field) or [field]
    at = table.schema.get_field_index(first)
    column = _replace_values(table.column(at).combine_chunks(), below, rows, texts)
    return table.set_column(at, table.schema.field(at), column)


def _replace_values(column: Any, below: Sequence[str], rows: Ints, texts: Sequence[str | bytes]) -> Any:
    """Return an array with new texts in some rows, or in some rows of the field `below` of its structs."""
    kind = column.type
    if below:
        fields = [column.field(i) for i in range(kind.num_fields)]
        at = kind.get_field_index(below[0])
        fields[at] = _replace_values(fields[at], below[1:], rows, texts)
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=column.is_null())
    if pa.types.is_dictionary(kind):
        made = pa.array(texts, kind.value_type).dictionary_encode()
        new = pa.DictionaryArray.from_arrays(made.indices.cast(kind.index_type), made.dictionary, ordered=kind.ordered)
    else:
        new = pa.array(texts, kind)
    pieces, begin = [], 0
    for i, row in enumerate(rows.tolist()):
        pieces += [column.slice(begin, row - begin), new.slice(i, 1)]
        begin = row + 1
    return pa.concat_arrays([*pieces, column.slice(begin)])
