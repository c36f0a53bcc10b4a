"""Arrow IPC: files (Feather of version 2) and streams, read in bounded batches and written in the same form."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from ndcore.files.errors import DocumentError
from ndcore.files.sources import Source

_FILE = b"ARROW1\0\0"
_CODECS = ("lz4", "zstd")
_RECORD_BATCH = 3


class ArrowFile:
    """The record batches of an Arrow file or stream, mapped into memory.

    Every batch is validated before its values are used: offsets and indices are those of the file.

    Attributes
    ----------
    schema_arrow : pyarrow.Schema
    span : (int, int)
        Where in the file the batch that `batches` yielded last begins and ends, in bytes; of files, which do not tell it,
        as if their batches were of one size.

    Raises
    ------
    DocumentError
        pyarrow is missing, or it is no Arrow file.
    """

    def __init__(self, source: Source) -> None:
        try:
            import pyarrow as pa
        except ImportError as error:
            reason = "reading Arrow files needs pyarrow: pip install 'ndcore[parquet]'"
            raise DocumentError(source.path, None, reason) from error
        self._source, self._pa = source, pa
        self.span = (0, 0)
        try:
            self._map = pa.memory_map(source.location)
            self._is_file = self._map.read(len(_FILE)) == _FILE
            self.schema_arrow = self._reader().schema
            check_names(self.schema_arrow)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DocumentError(source.path, None, f"not a readable Arrow file: {first_line(error)}") from error

    def __enter__(self) -> ArrowFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._map.close()

    def _reader(self) -> Any:
        self._map.seek(0)
        return self._pa.ipc.open_file(self._map) if self._is_file else self._pa.ipc.open_stream(self._map)

    def batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Yield the record batches, validated, with these columns or all. Raises DocumentError."""
        pa = self._pa
        try:
            reader = self._reader()
            stored = map(reader.get_batch, range(reader.num_record_batches)) if self._is_file else reader
            for number, batch in enumerate(stored, 1):
                end = self._map.size() * number // reader.num_record_batches if self._is_file else self._map.tell()
                self.span = (self.span[1] if number > 1 else 0, end)
                chosen = batch if columns is None else batch.select([self.schema_arrow.names.index(c) for c in columns])
                for column in chosen.columns:
                    _validate(pa, column)
                yield chosen
        except (pa.ArrowException, OSError, EOFError) as error:
            raise DocumentError(self._source.path, None, f"damaged Arrow file: {first_line(error)}") from error

    def writer(self, target: Path, schema: Any) -> Any:
        """Return a writer to a new file of the same form, with the same compression of its buffers."""
        ipc = self._pa.ipc
        options = ipc.IpcWriteOptions(compression=self._codec(), unify_dictionaries=self._is_file)
        return (ipc.new_file if self._is_file else ipc.new_stream)(str(target), schema, options=options)

    def _codec(self) -> str | None:
        """The compression of the first record batch, which pyarrow does not tell: read from its metadata."""
        self._map.seek(len(_FILE) if self._is_file else 0)
        try:
            for message in self._pa.ipc.MessageReader.open_stream(self._map):
                kind, codec = _compression(message.metadata.to_pybytes())
                if kind == _RECORD_BATCH:
                    return codec
        except (self._pa.ArrowException, OSError, struct.error, IndexError):
            pass  # what is damaged is said by `batches`
        return None


def _validate(pa: Any, column: Any) -> None:
    """Raise ArrowInvalid where a column points outside of its buffers. Strings need not be UTF-8 here."""
    for text, raw in ((pa.string(), pa.binary()), (pa.large_string(), pa.large_binary())):
        if column.type == text:
            column = column.view(raw)
    column.validate(full=True)


def _compression(metadata: bytes) -> tuple[int, str | None]:
    """Kind of a message and the codec of its record batch, from its flatbuffer (Message.fbs of the Arrow format)."""

    def field(table: int, index: int) -> int:
        """Where a field of a table is; 0 where it is absent."""
        vtable = table - struct.unpack_from("<i", metadata, table)[0]
        if 4 + 2 * index >= struct.unpack_from("<H", metadata, vtable)[0]:
            return 0
        offset = int(struct.unpack_from("<H", metadata, vtable + 4 + 2 * index)[0])
        return table + offset if offset else 0

    def follow(place: int) -> int:
        return place + int(struct.unpack_from("<I", metadata, place)[0])

    message = follow(0)
    kind, header = field(message, 1), field(message, 2)
    number = metadata[kind] if kind else 0
    compression = field(follow(header), 3) if number == _RECORD_BATCH and header else 0
    if not compression:
        return number, None
    codec = field(follow(compression), 0)
    return number, _CODECS[metadata[codec] if codec else 0]


def check_names(fields: Iterable[Any]) -> None:
    """Raise UnicodeDecodeError where the name of a field, or of one inside of it, is not UTF-8: Arrow does not check."""
    for field in fields:
        field.name  # noqa: B018
        check_names([field.type.field(i) for i in range(field.type.num_fields)])


def first_line(error: BaseException) -> str:
    """The first line of a message of Arrow, whose others are of the place in its source."""
    return str(error).partition("\n")[0] or type(error).__name__
