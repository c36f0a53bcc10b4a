"""Parquet and Arrow: rows to documents in bounded batches, and rows filtered or annotated with schema and metadata kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from ndcore.files.arrow import ArrowFile, check_names, first_line
from ndcore.files.errors import DocumentError
from ndcore.files.records import MISSING, Record, RecordError, check_columns, check_id, joined, splits
from ndcore.files.sources import Source

_BATCH_BYTES = 8 << 20
_GROUP_BYTES = 64 << 20
_MAX_ROWS = 16384
_TOLD_EVERY = 64  # rows


def open_file(source: Source) -> Any:
    """Return the ``pyarrow.parquet.ParquetFile`` or the ArrowFile of `source`.

    Raises DocumentError where pyarrow or a readable file is missing.
    """
    if source.kind == "arrow":
        return ArrowFile(source)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DocumentError(
            source.path, None, "reading .parquet needs pyarrow: pip install 'ndcore[parquet]'"
        ) from error
    try:
        file = pq.ParquetFile(source.location)
        check_names(file.schema_arrow)
        return file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DocumentError(source.path, None, f"not a readable Parquet file: {first_line(error)}") from error


def rows(
    source: Source,
    text_fields: Sequence[str],
    id_field: str,
    require_id: bool,
    fields: Sequence[str],
    forbidden: Sequence[str] = (),
    optional: Collection[str] = (),
) -> Iterator[Record | tuple[int, str]]:
    """Yield every row as a Record, or as (row number, reason) where it cannot be a document. Rows count from 1.

    A field is the column of its name, or else ``a.b`` the field ``b`` of a column ``a`` of structs. A column of an
    `optional` field may be missing: its values are None then.

    Raises
    ------
    DocumentError
        A column is missing or of a type that cannot be used, or the file is damaged.
    """
    with open_file(source) as file:
        required = [name for name in fields if name not in optional]
        _check_columns(source, file.schema_arrow, text_fields, id_field, require_id, required, forbidden)
        has_id = column_path(file.schema_arrow, id_field) is not None
        paths = {name: column_path(file.schema_arrow, name) for name in (*text_fields, id_field, *fields)}
        there = {name: path[0] if source.kind == "arrow" else name for name, path in paths.items() if path is not None}
        count, number, seen = len(text_fields), 0, 0
        for batch in batches(source, file, list(dict.fromkeys(there.values()))):
            columns = [
                column_values(batch, name) if name in there else [None] * len(batch) for name in (*text_fields, *fields)
            ]
            idents = column_values(batch, id_field) if has_id else [MISSING] * len(batch)
            before, begin, seen = number, seen, source.seen
            for ident, *values in zip(idents, *columns, strict=True):
                if (number - before) % _TOLD_EVERY == 0:
                    source.seen = begin + (seen - begin) * (number - before) // len(batch)
                number += 1
                try:
                    text = _text(values[:count], text_fields)
                    ident = check_id(_valid(ident), id_field, require_id)
                    yield Record(number, text, ident, tuple([_valid(v) for v in values[count:]]), len(text))
                except RecordError as error:
                    yield number, str(error)
            source.seen = seen


def _text(texts: Sequence[Any], fields: Sequence[str]) -> str | bytes:
    for text, field in zip(texts, fields, strict=True):
        if text is None:
            raise RecordError(f"the text column {field!r} is null")
        _valid(text)
    return joined(texts)


def column_path(schema: Any, field: str) -> list[str] | None:
    """Return the names that lead to a field, of a column and of structs in it, or None: as `records.lookup`, in a schema."""
    from pyarrow import types

    names = [schema.field(i).name for i in range(schema.num_fields)] if hasattr(schema, "num_fields") else schema.names
    if field in names:
        return [field]
    for first, rest in splits(field):
        if first in names:
            kind = schema.field(names.index(first)).type
            below = column_path(kind, rest) if types.is_struct(kind) else None
            if below is not None:
                return [first, *below]
    return None


class _NotUtf8(bytes):
    """Bytes of a string column that are not UTF-8."""


def _valid(value: Any) -> Any:
    if isinstance(value, _NotUtf8):
        raise RecordError("a string of the row is not UTF-8; store the column as binary to have it read as bytes")
    return value


def column_values(batch: Any, name: str) -> list[Any]:
    """Return the Python values of a field, one by one where a string of it is not UTF-8."""
    import pyarrow.compute

    first, *below = column_path(batch.schema, name) or [name]
    column = batch.column(batch.schema.get_field_index(first))
    if below:
        column = pyarrow.compute.struct_field(column, below)
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        if hasattr(column, "dictionary_decode"):
            column = column.dictionary_decode()
        return [_scalar(value) for value in column]


def _scalar(value: Any) -> Any:
    try:
        return value.as_py()
    except UnicodeDecodeError:
        return _NotUtf8(value.as_buffer().to_pybytes())


def batches(source: Source, file: Any, columns: list[str] | None = None, group: int | None = None) -> Iterator[Any]:
    """Yield record batches of about 8 MiB, of the whole file or of one row group of Parquet; ``source.seen`` follows."""
    import pyarrow as pa

    if source.kind == "arrow":
        for batch in file.batches(columns):
            size = min(_MAX_ROWS, max(1, _BATCH_BYTES * len(batch) // max(1, batch.nbytes)))
            begin, end = file.span
            for start in range(0, len(batch), size):
                part = batch.slice(start, size)
                source.seen = begin + (end - begin) * (start + len(part)) // len(batch)
                yield part
        return
    groups = range(file.metadata.num_row_groups) if group is None else [group]
    rows, source_bytes = 0, Path(source.location).stat().st_size
    try:
        for index in groups:
            meta = file.metadata.row_group(index)
            if meta.num_rows:
                size = min(_MAX_ROWS, max(1, _BATCH_BYTES * meta.num_rows // max(1, meta.total_byte_size)))
                for batch in file.iter_batches(batch_size=size, row_groups=[index], columns=columns):
                    rows += len(batch)
                    source.seen = source_bytes * rows // file.metadata.num_rows
                    yield batch
    except (pa.ArrowException, OSError) as error:
        raise DocumentError(source.path, None, f"damaged Parquet file: {first_line(error)}") from error


def _check_columns(
    source: Source,
    schema: Any,
    text_fields: Sequence[str],
    id_field: str,
    require_id: bool,
    fields: Sequence[str],
    forbidden: Sequence[str],
) -> None:
    paths = {name: column_path(schema, name) for name in (*text_fields, id_field, *fields)}
    tops = {name: path[0] for name, path in paths.items() if path is not None}
    check_columns(source.path, list(schema.names), tops, text_fields, id_field, require_id, fields, forbidden)
    for name in text_fields:
        first, *below = paths[name] or [name]
        kind = schema.field(first).type
        for inner in below:
            kind = kind.field(inner).type
        if not _is_text(kind):
            raise DocumentError(source.path, None, f"the text column {name!r} holds {kind}, not strings or binary")


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    names = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_large_binary", "is_binary_view")
    return any(getattr(types, name)(kind) for name in names if hasattr(types, name))


def rewrite(
    source: Source, target: Path, keep: Callable[[int], bool], added: Callable[[list[int]], Any] | None
) -> None:
    """Write the rows of `source` for which ``keep(row number)`` holds to a new file `target`.

    Schema, metadata and compression are those of `source`. Row groups of Parquet stay apart and are at most about 64 MiB
    each; record batches of Arrow stay apart.

    Parameters
    ----------
    added : callable or None
        From the numbers of the rows written to a ``pyarrow.Table`` of columns to append.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_file(source) as file:
        schema = file.schema_arrow
        if added is not None:
            for extra in added([]).schema:
                schema = schema.append(extra)
        if source.kind == "arrow":
            _rewrite_arrow(source, file, target, schema, keep, added)
            return
        with pq.ParquetWriter(target, schema, compression=_codec(file)) as writer:
            number = 0
            for group in range(file.metadata.num_row_groups):
                pending: list[Any] = []
                for batch in batches(source, file, group=group):
                    pending.append(_filtered(batch, number, keep, added).cast(schema))
                    number += len(batch)
                    pending = _flush(pa, writer, pending, _GROUP_BYTES)
                _flush(pa, writer, pending, 1)


def _rewrite_arrow(
    source: Source,
    file: ArrowFile,
    target: Path,
    schema: Any,
    keep: Callable[[int], bool],
    added: Callable[[list[int]], Any] | None,
) -> None:
    import pyarrow as pa

    number = 0
    with file.writer(target, schema) as writer:
        for batch in file.batches():
            table = _filtered(batch, number, keep, added)
            number += len(batch)
            try:
                for part in table.combine_chunks().to_batches():
                    writer.write_batch(part)
            except pa.ArrowException as error:
                raise DocumentError(source.path, None, f"its rows cannot be written again: {first_line(error)}") from error


def _filtered(batch: Any, before: int, keep: Callable[[int], bool], added: Callable[[list[int]], Any] | None) -> Any:
    """The table of the rows of `batch` to keep; `before` rows stand before it in the file."""
    import pyarrow as pa

    numbers = [n for n in range(before + 1, before + len(batch) + 1) if keep(n)]
    table = _select(pa, batch, [n - before - 1 for n in numbers])
    return table if added is None else _join(table, added(numbers))


def _codec(file: Any) -> str:
    if file.metadata.num_row_groups and file.metadata.num_columns:
        codec = str(file.metadata.row_group(0).column(0).compression)
        return "none" if codec == "UNCOMPRESSED" else codec
    return "snappy"


def _select(pa: Any, batch: Any, indices: list[int]) -> Any:
    table = pa.Table.from_batches([batch])
    return table if len(indices) == len(batch) else table.take(pa.array(indices, pa.int64()))


def _join(table: Any, extra: Any) -> Any:
    for name in extra.column_names:
        table = table.append_column(extra.schema.field(name), extra.column(name))
    return table


def _flush(pa: Any, writer: Any, pending: list[Any], enough: int) -> list[Any]:
    rows = sum(len(table) for table in pending)
    if not rows or sum(table.nbytes for table in pending) < enough:
        return pending
    writer.write_table(pa.concat_tables(pending), row_group_size=rows)
    return []
