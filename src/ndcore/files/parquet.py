"""Parquet files, read in bounded batches and written with the same schema, row groups and compression.

Apache Parquet, https://parquet.apache.org/docs/file-format/. Files compressed as a whole are refused, because Parquet
compresses its own pages; so are files that pyarrow cannot read.

pyarrow allocates as many bytes as page headers declare, and does not expose these headers. So `read_page_headers` reads
them first:
parquet.thrift, PageHeader; Apache Thrift, *Thrift Compact protocol encoding*,
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, NamedTuple

from ndcore._types import Closing, Ints
from ndcore.checks import missing
from ndcore.files.arrow import (
    check_names,
    choose_batch_rows,
    get_first_line,
    holds_rows,
    measure_longest,
    number_batches,
    refuse_bomb,
    split_batch,
)
from ndcore.files.errors import DocumentError
from ndcore.files.sources import Source

_TYPE, _EXPANDED, _STORED = (1,), (2,), (3,)  # field numbers of a PageHeader
_ENCODINGS = ((5, 2), (8, 4))  # field numbers of the encoding in DataPageHeader and DataPageHeaderV2
_DICTIONARY = 2  # a value of _TYPE
_PLAIN, _DELTA = 0, 7  # values of _ENCODINGS; DELTA_BYTE_ARRAY
_WANTED = {_TYPE, _EXPANDED, _STORED, *_ENCODINGS}
_TRUE, _FALSE, _BYTE, _I32, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = 1, 2, 3, 5, 7, 8, 9, 10, 11, 12, 13
_INTEGERS = (4, _I32, 6)  # integers of 16, 32 and 64 bits
_FIXED = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8, _UUID: 16}
_DEEPEST = 64  # levels of nested structs and lists, as in the readers of Thrift


class ParquetPage(NamedTuple):
    """The header of a page: its stored size, its decompressed size, and the encoding of its values.

    A dictionary stores a value once for all rows that have it. A delta stores a value without the prefix that it shares
    with the previous value. Plain are the pages of values that are in no dictionary.
    """

    stored: int
    expanded: int
    is_dictionary: bool
    is_delta: bool
    is_plain: bool = False


def read_page_headers(file: IO[bytes], start: int, end: int) -> Iterator[ParquetPage]:
    """Yield the page headers of a column chunk from `start` to `end`, up to damage, which pyarrow reports. O(pages)."""
    while 0 <= start < end:
        file.seek(start)
        try:
            header: dict[tuple[int, ...], int] = {}
            _read_struct(file, (), header)
            encodings = {header.get(encoding) for encoding in _ENCODINGS}
            page = ParquetPage(header[_STORED], header[_EXPANDED], header[_TYPE] == _DICTIONARY, _DELTA in encodings,
                               _PLAIN in encodings)
        except (EOFError, KeyError, ValueError):
            return
        if page.stored < 0 or page.expanded < 0:
            return
        yield page
        start = file.tell() + page.stored


def _read_struct(file: IO[bytes], path: tuple[int, ...], wanted: dict[tuple[int, ...], int]) -> None:
    """Read the struct at `path`, a list of field numbers, and collect the integers in _WANTED."""
    number = 0
    while head := _read_byte(file):
        kind = head & 15
        number = (number + (head >> 4) if head >> 4 else _read_integer(file)) & 0xFFFF
        field = (*path, number)
        if kind == _I32:
            value = _read_integer(file)
            if field in _WANTED:
                wanted[field] = value
        elif kind not in (_TRUE, _FALSE):  # truth values have no bytes of their own in a struct
            _skip_value(file, kind, field, wanted)


def _skip_value(file: IO[bytes], kind: int, path: tuple[int, ...], wanted: dict[tuple[int, ...], int]) -> None:
    """Skip a value, but read the fields of a struct. Every value has bytes, so a list takes no more steps than the file."""
    if len(path) > _DEEPEST:
        raise ValueError("too deep")
    within = (*path, 0)  # leads to no field of a PageHeader
    if kind == _STRUCT:
        _read_struct(file, path, wanted)
    elif kind in _INTEGERS:
        _read_varint(file)
    elif kind in _FIXED:
        for _ in range(_FIXED[kind]):
            _read_byte(file)
    elif kind == _BINARY:
        file.seek(_read_varint(file), 1)
    elif kind in (_LIST, _SET):
        head = _read_byte(file)
        for _ in range(_read_varint(file) if head >> 4 == 15 else head >> 4):
            _skip_value(file, head & 15, within, wanted)
    elif kind == _MAP:
        count = _read_varint(file)
        kinds = _read_byte(file) if count else 0
        for _ in range(count):
            _skip_value(file, kinds >> 4, within, wanted)
            _skip_value(file, kinds & 15, within, wanted)
    else:
        raise ValueError(f"no type {kind}")


def _read_byte(file: IO[bytes]) -> int:
    byte = file.read(1)
    if not byte:
        raise EOFError
    return byte[0]


def _read_varint(file: IO[bytes]) -> int:
    """Read an unsigned integer of at most ten bytes; readers of Thrift use its low 32 bits as field numbers and lengths."""
    value = 0
    for shift in range(0, 70, 7):
        byte = _read_byte(file)
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFF
    raise ValueError("an integer is too long")


def _read_integer(file: IO[bytes]) -> int:
    """Read a signed integer."""
    value = _read_varint(file)
    return value >> 1 ^ -(value & 1)


_READING = {"buffer_size": 1 << 20, "pre_buffer": False}  # 1 MiB of a column chunk at a time, and not the whole chunk
_GROUP_BYTES = 64 << 20
_SHARED_BYTES = 64 << 20  # bytes of a batch, if all its rows have the longest value that they may share
_SMALLER = 16  # times fewer rows that a batch of plain strings may have, of columns whose writer gave up the dictionary


_NAMES = {"UNCOMPRESSED": "none"}  # codecs for which the writer has other names


def _list_dictionary_columns(pa: Any, file: Any) -> list[str]:
    """List the string columns that the file encodes with dictionaries, although the schema has plain strings."""
    metadata, schema, names = file.metadata, file.schema_arrow, []
    for i in range(metadata.num_columns if metadata.num_row_groups else 0):
        name = metadata.row_group(0).column(i).path_in_schema
        at = schema.get_field_index(name)
        kind = schema.field(at).type if at >= 0 else None
        if kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()) and any(
            "DICTIONARY" in encoding for g in range(metadata.num_row_groups)
            for encoding in metadata.row_group(g).column(i).encodings
        ):
            names.append(name)
    return names


class ParquetFile(Closing):
    """A Parquet file.

    Attributes
    ----------
    schema : pyarrow.Schema

    Raises
    ------
    DocumentError
        pyarrow is missing, or this is not a Parquet file.
    """

    def __init__(self, source: Source) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise DocumentError(source.path, None, missing("pyarrow", "reading .parquet")) from error
        self._source, self._pa, self._pq = source, pa, pq
        self._stack = contextlib.ExitStack()
        try:
            self._file = self._stack.enter_context(pq.ParquetFile(source.location, **_READING))
            self.schema = self._file.schema_arrow
            self._dictionaries = _list_dictionary_columns(pa, self._file)
            self._indexed = self._stack.enter_context(pq.ParquetFile(  # `_read_group` repeats its strings
                source.location, metadata=self._file.metadata, read_dictionary=self._dictionaries, **_READING))
            check_names(self.schema)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DocumentError(source.path, None, f"not a readable Parquet file: {get_first_line(error)}") from error

    def close(self) -> None:
        """Close the file."""
        self._stack.close()

    def batches(self, columns: Iterable[str] | None = None, rows: Ints | None = None) -> Iterator[tuple[int, Any]]:
        """Yield (number of the first row, record batch of about 8 MiB); ``source.seen`` follows.

        Parameters
        ----------
        columns : iterable of str, optional
            The fields to read; None: all.
        rows : int64 array, optional
            Ascending row numbers: row groups without any of them are skipped. None: all are read.
        """
        metadata, size = self._file.metadata, Path(self._source.location).stat().st_size
        names = None if columns is None else list(columns)
        for _, first, batch in self._read_groups(names, rows):
            self._source.seen = size * (first + len(batch) - 1) // metadata.num_rows
            yield first, batch

    def _read_groups(self, columns: list[str] | None = None, rows: Ints | None = None) -> Iterator[tuple[int, int, Any]]:
        """Yield (row group, number of the first row, batch) of all batches, up to damage that an earlier pass found."""
        last, first = self._source.readable, 1
        for group in range(self._file.metadata.num_row_groups):
            count = self._file.metadata.row_group(group).num_rows
            if holds_rows(rows, first, count):
                for number, batch in number_batches(self._read_group(group, columns), first):
                    yield group, number, batch if last is None else batch[: last - number + 1]
                    if last is not None and number + len(batch) > last:
                        return
            first += count

    def _read_group(self, index: int, columns: list[str] | None = None) -> Iterator[Any]:
        """Yield the batches of one row group."""
        group, expanded, widest, given_up = self._file.metadata.row_group(index), 0, 1, False
        with Path(self._source.location).open("rb") as file:
            for i in range(group.num_columns):
                name = group.column(i).path_in_schema
                more, shared, plain = self._measure_column(file, index, i)
                expanded += more
                if columns is None or any(name == asked or name.startswith(f"{asked}.") for asked in columns):
                    widest, given_up = max(widest, shared), given_up or (plain and name in self._dictionaries)
        size = min(choose_batch_rows(group.num_rows, expanded), max(1, _SHARED_BYTES // widest))
        read = 0
        try:
            if group.num_rows:
                reader, most = self._choose_reader(index, columns, size, given_up)
                for batch in reader.iter_batches(batch_size=most, row_groups=[index], columns=columns):
                    schema = self.schema  # two columns may have the same name, if neither is requested
                    if columns is not None:
                        schema = self._pa.schema([self.schema.field(name) for name in batch.schema.names])
                    for part in split_batch(batch):
                        read += len(part)
                        yield part.cast(schema)
        except (self._pa.ArrowException, OSError) as error:
            raise DocumentError(self._source.path, None, f"damaged Parquet file: {get_first_line(error)}") from error
        if read != group.num_rows:
            reason = f"row group {index + 1} has {read:,} rows, and its footer says {group.num_rows:,}"
            raise DocumentError(self._source.path, None, f"damaged Parquet file: {reason}")

    def _choose_reader(self, index: int, columns: list[str] | None, size: int, given_up: bool) -> tuple[Any, int]:
        """Choose the reader of a row group whose batches have at most `size` rows, and the most rows of a batch.

        Plain strings are read three times as fast as dictionary indices, which need a table of all strings. But a
        dictionary may have a long string that all rows share. So strings are read as plain only if a batch in which every
        row has the longest one fits in _SHARED_BYTES. If the writer gave up a dictionary (`given_up`), indices would need a
        table of the strings of the whole column: a batch may have up to _SMALLER times fewer rows to fit. A column chunk has
        one dictionary, which is read with its first row.
        """
        names = [name for name in self._dictionaries if columns is None or name in columns]
        if not names:
            return self._file, size
        longest = 0
        for first in self._indexed.iter_batches(batch_size=1, row_groups=[index], columns=names):
            for column in first.columns:
                if not self._pa.types.is_dictionary(column.type):
                    return self._indexed, size
                longest += measure_longest(column.dictionary)
            break
        fitting = min(size, _SHARED_BYTES // max(1, longest))
        return (self._file, fitting) if fitting * (_SMALLER if given_up else 1) >= size else (self._indexed, size)

    def _measure_column(self, file: IO[bytes], group: int, index: int) -> tuple[int, int, bool]:
        """Measure a column chunk: its decompressed size, the longest string that its rows may share; and find plain pages.

        Sizes are upper bounds from the page headers; for lists the second is 0. Raises DocumentError if they grow too much.
        """
        column, size = self._file.metadata.row_group(group).column(index), os.fstat(file.fileno()).st_size
        stored, what = column.total_compressed_size, f"the column {column.path_in_schema!r} of row group {group + 1}"
        if not 0 <= stored <= size:
            reason = f"{what} has {stored:,} bytes in a file of {size:,}"
            raise DocumentError(self._source.path, None, f"damaged Parquet file: {reason}")
        start = column.data_page_offset
        if column.has_dictionary_page and 0 < column.dictionary_page_offset < start:
            start = column.dictionary_page_offset
        repeated = column.path_in_schema not in self._dictionaries
        expanded, shared, plain = 0, 0, False
        for number, page in enumerate(read_page_headers(file, start, start + stored), 1):
            refuse_bomb(self._source, f"page {number} of {what}", page.stored, page.expanded)
            expanded, plain = expanded + page.expanded, plain or page.is_plain
            if page.is_delta or (page.is_dictionary and repeated):
                shared = max(shared, page.expanded)
        refuse_bomb(self._source, what, stored, expanded)
        form = self._file.metadata.schema.column(index)
        if form.physical_type == "FIXED_LEN_BYTE_ARRAY":
            shared = form.length
        return expanded, shared if form.physical_type.endswith("BYTE_ARRAY") and not form.max_repetition_level else 0, plain

    def rewrite(self, target: Path, schema: Any, rows: Ints, select: Callable[[int, Any], Any]) -> None:
        """Write a new file with the tables that `select` returns; columns keep their compression and their dictionaries.

        Row groups are not merged, and have at most about 64 MiB each. `rows` is as for `batches`; `select` gets the number
        of the first row of a batch, and the batch.
        """
        with self._pq.ParquetWriter(target, schema, **self._list_encodings(schema)) as writer:
            for _, batches in itertools.groupby(self._read_groups(rows=rows), itemgetter(0)):
                pending: list[Any] = []
                for _, first, batch in batches:
                    pending.append(select(first, batch).cast(schema))
                    pending = self._flush(writer, pending, _GROUP_BYTES)
                self._flush(writer, pending, 1)

    def _list_encodings(self, schema: Any) -> dict[str, Any]:
        """List the compression and the dictionary use of each column as options of a writer; new columns get both."""
        metadata = self._file.metadata
        if not metadata.num_row_groups or not metadata.num_columns:
            return {"compression": "snappy"}
        group = metadata.row_group(0)
        columns = [group.column(i) for i in range(group.num_columns)]
        codecs = {column.path_in_schema: _NAMES.get(column.compression, column.compression) for column in columns}
        added = [name for name in schema.names if name not in self.schema.names]
        codecs |= dict.fromkeys(added, next(iter(codecs.values())))
        indexed = [column.path_in_schema for column in columns if any("DICTIONARY" in form for form in column.encodings)]
        return {"compression": codecs, "use_dictionary": [*indexed, *added]}

    def _flush(self, writer: Any, pending: list[Any], enough: int) -> list[Any]:
        """Write the pending tables as a row group once they have `enough` bytes; return what is still pending."""
        rows = sum(len(table) for table in pending)
        if not rows or sum(table.nbytes for table in pending) < enough:
            return pending
        writer.write_table(self._pa.concat_tables(pending), row_group_size=rows)
        return []
