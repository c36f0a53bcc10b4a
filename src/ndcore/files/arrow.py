"""Arrow IPC files (Feather of version 2) and streams, read in bounded batches and written in the same form.

Apache Arrow Columnar Format, "Serialization and Interprocess Communication (IPC)",
https://arrow.apache.org/docs/format/Columnar.html. Refused are Feather of version 1 (by `formats`), files with compression
around them, and batches whose offsets or indices point outside their buffers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ndcore._types import Closing, Ints
from ndcore.checks import missing
from ndcore.files.errors import DocumentError
from ndcore.files.flatbuffers import Flatbuffer
from ndcore.files.records import split_field
from ndcore.files.sources import Source

BATCH_BYTES = 8 << 20
_MAX_ROWS = 16384
_FILE = b"ARROW1\0\0"
_CODECS = ("lz4", "zstd")
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3


class ArrowFile(Closing):
    """The record batches of an Arrow file or stream, mapped into memory.

    Every batch is validated before its values are used: offsets and indices come from the file.

    Attributes
    ----------
    schema : pyarrow.Schema

    Raises
    ------
    DocumentError
        pyarrow is missing, or this is not an Arrow file.
    """

    def __init__(self, source: Source) -> None:
        try:
            import pyarrow as pa
        except ImportError as error:
            raise DocumentError(source.path, None, missing("pyarrow", "reading Arrow files")) from error
        self._source, self._pa = source, pa
        try:
            self._map = pa.memory_map(source.location)
            self._is_file = self._map.read(len(_FILE)) == _FILE
            self.schema = self._open_reader().schema
            check_names(self.schema)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DocumentError(source.path, None, f"not a readable Arrow file: {get_first_line(error)}") from error

    def close(self) -> None:
        """Close the file."""
        self._map.close()

    def _open_reader(self) -> Any:
        """Open a reader at the beginning of the file."""
        self._map.seek(0)
        return self._pa.ipc.open_file(self._map) if self._is_file else self._pa.ipc.open_stream(self._map)

    def _read_stored(self, columns: list[str] | None = None, rows: Ints | None = None) -> Iterator[tuple[int, Any, int]]:
        """Yield (number of the first row, validated record batch, its end in bytes), up to damage found in an earlier pass.

        Arrow files do not record where batches end, so all batches are assumed to have the same size. `rows`: batches
        without any of these rows are skipped.
        """
        pa, last, first = self._pa, self._source.readable, 1
        try:
            self._refuse_bombs()
            reader = self._open_reader()
            stored = map(reader.get_batch, range(reader.num_record_batches)) if self._is_file else reader
            for number, batch in enumerate(stored, 1):
                end = self._map.size() * number // reader.num_record_batches if self._is_file else self._map.tell()
                if holds_rows(rows, first, len(batch)):
                    chosen = batch if columns is None else batch.select([self.schema.names.index(c) for c in columns])
                    for column in chosen.columns:
                        _validate(pa, column)
                    yield first, chosen if last is None else chosen[: last - first + 1], end
                first += len(batch)
                if last is not None and first > last:
                    return
        except (pa.ArrowException, OSError, EOFError) as error:
            raise DocumentError(self._source.path, None, f"damaged Arrow file: {get_first_line(error)}") from error

    def _refuse_bombs(self) -> None:
        """Raise DocumentError if the buffers of a record batch or dictionary grow beyond what `refuse_bomb` allows.

        Damaged messages are skipped: pyarrow reports them when they are read.
        """
        with self._pa.memory_map(self._source.location) as file:
            for number, message in enumerate(_iterate_messages(self._pa, file, self._is_file), 1):
                body = memoryview(message.body) if message.body is not None else memoryview(b"")
                try:
                    expanded = _measure_expanded(message.metadata.to_pybytes(), body)
                except (struct.error, IndexError):
                    continue
                refuse_bomb(self._source, f"message {number} of its data", len(body), expanded)

    def batches(self, columns: Iterable[str] | None = None, rows: Ints | None = None) -> Iterator[tuple[int, Any]]:
        """Yield (number of the first row, record batch of about 8 MiB); ``source.seen`` follows.

        To read a field of a struct, the whole column is read.

        Parameters
        ----------
        columns : iterable of str, optional
            The fields to read; None: all.
        rows : int64 array, optional
            Ascending row numbers: record batches without any of them are skipped. None: all are read.
        """
        tops = ((find_field(self.schema, name) or [name])[0] for name in columns or ())
        names = None if columns is None else list(dict.fromkeys(tops))
        begin = 0
        for first, batch, end in self._read_stored(names, rows):
            size = choose_batch_rows(len(batch), batch.nbytes)
            for start in range(0, len(batch), size):
                part = batch.slice(start, size)
                self._source.seen = begin + (end - begin) * (start + len(part)) // len(batch)
                yield from number_batches(split_batch(part), first + start)
            begin = end

    def rewrite(self, target: Path, schema: Any, rows: Ints, select: Callable[[int, Any], Any]) -> None:
        """Write a new file of the same form, with the tables that `select` returns; all have this schema.

        Record batches are not merged, and the compression of buffers stays the same. `rows` is as for `batches`; `select`
        gets the number of the first row of a batch, and the batch. In a file, not a stream, the dictionary of a column may
        only grow from batch to batch.
        """
        pa, ipc = self._pa, self._pa.ipc
        options = ipc.IpcWriteOptions(compression=self._find_codec(), emit_dictionary_deltas=self._is_file)
        with (ipc.new_file if self._is_file else ipc.new_stream)(str(target), schema, options=options) as writer:
            before = schema.empty_table()
            for first, batch, _ in self._read_stored(rows=rows):
                table = select(first, batch).combine_chunks()
                try:
                    before = _extend_dictionaries(pa, before, table) if self._is_file else table
                    for part in before.to_batches():
                        writer.write_batch(part)
                except pa.ArrowException as error:
                    reason = f"its rows cannot be written again: {get_first_line(error)}"
                    raise DocumentError(self._source.path, None, reason) from error

    def _find_codec(self) -> str | None:
        """Find the compression of the first record batch in its metadata, because pyarrow does not expose it."""
        self._map.seek(len(_FILE) if self._is_file else 0)
        try:
            for message in self._pa.ipc.MessageReader.open_stream(self._map):
                kind, codec = _read_codec(message.metadata.to_pybytes())
                if kind == _RECORD_BATCH:
                    return codec
        except (self._pa.ArrowException, OSError, struct.error, IndexError):
            pass  # `_read_stored` reports the damage
        return None


def _validate(pa: Any, column: Any) -> None:
    """Raise ArrowInvalid if a column points outside its buffers. Strings need not be UTF-8 here."""
    for text, raw in ((pa.string(), pa.binary()), (pa.large_string(), pa.large_binary())):
        if column.type == text:
            column = column.view(raw)
    column.validate(full=True)


def _record_batch(message: Flatbuffer) -> tuple[int, int]:
    """Return the kind of a message and the place of its record batch, or of its dictionary's record batch; 0 for others."""
    number, header = message.value(message.root, 1, "<B"), message.table(message.root, 2)
    if number not in (_DICTIONARY_BATCH, _RECORD_BATCH) or not header:
        return number, 0
    return number, message.table(header, 1) if number == _DICTIONARY_BATCH else header


def _read_codec(metadata: bytes) -> tuple[int, str | None]:
    """Read the kind of a message and the codec of its record batch from its flatbuffer (Message.fbs of the Arrow format)."""
    message = Flatbuffer(metadata)
    number, batch = _record_batch(message)
    compression = message.table(batch, 3) if batch else 0
    return number, _CODECS[message.value(compression, 0, "<B")] if compression else None


def _measure_expanded(metadata: bytes, body: memoryview) -> int:
    """Add up the decompressed sizes of a message's buffers, which each buffer declares in its first 8 bytes."""
    message = Flatbuffer(metadata)
    _, batch = _record_batch(message)
    if not batch or not message.field(batch, 3):
        return 0  # buffers that are not compressed are not copied
    spans = message.rows(batch, 2, "<qq")
    sizes = (struct.unpack_from("<q", body, start)[0] for start, size in spans if size > 0 and start >= 0)
    return sum(size for size in sizes if size > 0)


def _iterate_messages(pa: Any, file: Any, is_file: bool) -> Iterator[Any]:
    """Yield all messages of a stream, or the messages of a file that its footer lists: pyarrow reads no others."""
    try:
        if not is_file:
            yield from pa.ipc.MessageReader.open_stream(file)
            return
        end = file.size() - len(_FILE) - 2  # before the length of the footer and ARROW1
        file.seek(end)
        (length,) = struct.unpack("<I", file.read(4))
        file.seek(end - length)
        footer = Flatbuffer(file.read(length))
        for number in (2, 3):  # the fields with dictionaries and with record batches
            for offset, *_ in footer.rows(footer.root, number, "<qiiq"):
                file.seek(offset)
                yield pa.ipc.read_message(file)
    except (pa.ArrowException, OSError, EOFError, struct.error):
        return


def check_names(fields: Iterable[Any]) -> None:
    """Raise UnicodeDecodeError if the name of a field, or of a field in it, is not UTF-8: Arrow does not check."""
    for field in fields:
        field.name  # noqa: B018
        check_names([field.type.field(i) for i in range(field.type.num_fields)])


def _extend_dictionaries(pa: Any, before: Any, table: Any) -> Any:
    """Return a table whose dictionaries begin with the previous table's."""
    for i, field in enumerate(table.schema):
        if "dictionary<" in str(field.type) and len(before) and len(table):
            old, new = (each.column(i).chunk(0) for each in (before, table))
            table = table.set_column(i, field, pa.concat_arrays([old.slice(0, 0), new]))
    return table


def find_field(schema: Any, field: str) -> list[str] | None:
    """Find the path to a field in a schema, a column and the structs in it, or None; as `records.lookup` does in records."""
    from pyarrow import types

    names = [schema.field(i).name for i in range(schema.num_fields)] if hasattr(schema, "num_fields") else schema.names
    if field in names:
        return [field]
    for first, rest in split_field(field):
        if first in names:
            kind = schema.field(names.index(first)).type
            below = find_field(kind, rest) if types.is_struct(kind) else None
            if below is not None:
                return [first, *below]
    return None


_BOMB = 100  # data longer than a record may expand by this factor at most; text expands twentyfold


def refuse_bomb(source: Source, what: str, stored: int, expanded: int) -> None:
    """Raise DocumentError if data expand to more than the longest record, and by more than text can."""
    if expanded > source.longest and expanded > _BOMB * stored:
        reason = f"{what} has {stored:,} bytes and grows to {expanded:,}; a --max-record larger than this has it read"
        raise DocumentError(source.path, None, reason)


def holds_rows(rows: Ints | None, first: int, count: int) -> bool:
    """Tell whether any of `rows` (ascending numbers; None: all) is among the `count` rows from number `first` on."""
    return rows is None or bool(rows.searchsorted(first) < rows.searchsorted(first + count))


def number_batches(batches: Iterable[Any], first: int) -> Iterator[tuple[int, Any]]:
    """Yield (number of its first row, batch) for consecutive batches; `first` is the number of the first row."""
    for batch in batches:
        yield first, batch
        first += len(batch)


def split_batch(batch: Any) -> Iterator[Any]:
    """Split a batch so that a slice takes about 8 MiB with its dictionaries of strings decoded.

    A row refers to its string by a number, so a small batch may decode to many long strings.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes = np.zeros(len(batch), np.int64)
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and _has_length(pa, column.type.value_type) and len(column):
            lengths = pc.binary_length(column.dictionary).cast(pa.int64())
            sizes += pc.fill_null(lengths.take(column.indices), 0).to_numpy(zero_copy_only=False)
    ends, start = np.cumsum(sizes), 0
    while start < len(batch):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + BATCH_BYTES, "right")))
        yield batch.slice(start, stop - start)
        start = stop


def _has_length(pa: Any, kind: Any) -> bool:
    """Tell whether an Arrow type holds strings or binary, which `binary_length` accepts."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind))


def measure_longest(strings: Any) -> int:
    """Return the bytes of the longest of some strings or binary values of Arrow; 0 if there are none."""
    import pyarrow.compute as pc

    return int(pc.max(pc.binary_length(strings)).as_py() or 0)


def choose_batch_rows(rows: int, size: int) -> int:
    """Return how many of `rows` rows, of `size` bytes together, make a batch of about 8 MiB."""
    return min(_MAX_ROWS, max(1, BATCH_BYTES * rows // max(1, size)))


def get_first_line(error: BaseException) -> str:
    """Return the first line of an error of Arrow; the other lines are about its source code."""
    return str(error).partition("\n")[0] or type(error).__name__
