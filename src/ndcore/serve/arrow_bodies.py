"""Requests and answers as Arrow streams, with one row for each page.

Columns of a request, in any order; other columns are refused:

- key: string, large_string, binary, large_binary, or integers. A string is a str and a binary value is bytes, as a key and
as a text.
- text: string, large_string, binary or large_binary.
- date, optional: timestamp, which is in UTC where it has no zone, or string or large_string of ISO 8601. Null: now.
- idempotency_key, optional: string or large_string. Null: none.

Buffers must not be compressed, and columns must not be dictionaries. The buffers of a batch may have as many bytes as a
line of JSON, and the metadata of a message 1 MiB. A batch that is not valid is refused as a whole; the pages of the batches
before it are kept.

The answer has the columns of `ndcore.serve.answers.PageDecision`, and the column error. Its keys have the type of the
column key of the request, where integers become int64. If the request was in JSON lines, they have the type of its first
key. The date is timestamp[us, UTC]. If the answer ends early, its last row has only the error, as JSON (RFC 9457); the
error is null in all other rows. A key that does not fit in the column, because the store has keys of several types, ends
the answer, although the pages of its part are kept; JSON lines can hold all keys.

Messages are not parsed by Arrow's own code: the few fields are read here, with bounds checks. Buffers are slices of the
body, and Arrow validates the arrays made of them in full.

References
----------
"IPC Streaming Format", https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format; Schema.fbs and Message.fbs,
https://github.com/apache/arrow/tree/main/format.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import struct
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ndcore.checks import imported
from ndcore.files.arrow import get_first_line
from ndcore.files.flatbuffers import Flatbuffer
from ndcore.files.json_values import to_json
from ndcore.serve.answers import PageDecision
from ndcore.serve.bodies import ARROW, ESCAPED, LINES, OTHER, PART, next_chunk
from ndcore.serve.keys import Key
from ndcore.serve.refusal import Refused

MOST_METADATA = 1 << 20  # bytes

STRINGS, BINARIES = ("string", "large_string"), ("binary", "large_binary")
INTEGERS = tuple(f"{sign}int{bits}" for bits in (64, 32, 16, 8) for sign in ("", "u"))
UNITS = ("s", "ms", "us", "ns")
TIMESTAMPS = tuple(f"timestamp[{unit}]" for unit in UNITS)
COLUMNS: Mapping[str, tuple[str, ...]] = {  # column of a request -> its types
    "key": (*STRINGS, *BINARIES, *INTEGERS),
    "text": (*STRINGS, *BINARIES),
    "date": (*TIMESTAMPS, *STRINGS),
    "idempotency_key": STRINGS,
}
REQUIRED = ("key", "text")
_KEYS = ("key", "of", "equal")  # columns of an answer

Row = list[tuple[str, Any]]

_HEAD = struct.Struct("<Ii")
_CONTINUATION = 0xFFFFFFFF
_END = _HEAD.pack(_CONTINUATION, 0)
_VERSION = 4  # V5, since Arrow 1.0
_SCHEMA, _DICTIONARY_BATCH, _RECORD_BATCH = 1, 2, 3
_TYPES = (  # by their number in Schema.fbs
    "no type", "null", "int", "float", "binary", "string", "bool", "decimal", "date", "time", "timestamp", "interval",
    "list", "struct", "union", "fixed_size_binary", "fixed_size_list", "map", "duration", "large_binary", "large_string",
    "large_list", "run_end_encoded", "binary_view", "string_view", "list_view", "large_list_view",
)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_PLAIN = "send plain columns, without dictionaries"


@dataclass(frozen=True)
class RequestColumn:
    """A column of a request: its name, and its type in the words of `COLUMNS`."""

    name: str
    type: str

    @property
    def sized(self) -> bool:
        """Whether values have variable length."""
        return self.type in (*STRINGS, *BINARIES)


@dataclass(frozen=True)
class ArrowMessage:
    """A message: its kind, its metadata, the position of the header in the metadata, and the size of its body in bytes."""

    kind: int
    metadata: Flatbuffer
    header: int
    size: int


class ArrowRows:
    """Read the pages of a request in Arrow.

    Parameters
    ----------
    chunks : async iterable of bytes
    most : int
        The largest text, in bytes.
    seconds : float
        The time in which each message must arrive completely. The time spent answering the previous part does not count.

    Attributes
    ----------
    key : RequestColumn or None
        The column of keys; None until the schema is read.

    Raises
    ------
    Refused
        pyarrow is not installed.
    """

    def __init__(self, chunks: AsyncIterable[bytes], most: int, seconds: float) -> None:
        self._pa = import_arrow()
        self._chunks, self._rest = aiter(chunks), memoryview(b"")
        self._most, self._seconds, self._end = most, seconds, 0.0
        self.key: RequestColumn | None = None

    async def parts(self) -> AsyncIterator[list[Row]]:
        """Yield the rows, as mappings of names to values, in parts of at most `PART` rows of one batch.

        Memory is allocated only for bytes that have arrived; a message that announces too many is refused.

        Raises
        ------
        Refused
            A message is damaged, too large or compressed, does not arrive in time, or has columns or values that are not
            accepted.
        """
        columns: list[RequestColumn] = []
        for number in itertools.count(1):
            try:
                message = await self._read_message()
                if message is None and columns:
                    return
                if message is None:
                    raise Refused(400, "it is missing; a stream of Arrow begins with its schema")
                body = await self._take(message.size)
                if columns:
                    batch = await asyncio.to_thread(read_batch, self._pa, columns, message, body)
                else:
                    columns, batch = read_schema(message), {}
                    self.key = next(column for column in columns if column.name == "key")
            except Refused as error:
                raise Refused(error.status, f"message {number} of the stream: {error.message}") from None
            for start in range(0, len(batch.get("key", ())), PART):
                yield await asyncio.to_thread(_list_rows, columns, batch, start)

    async def _read_message(self) -> ArrowMessage | None:
        """Read the head of the next message; None at the end of the stream."""
        self._end = asyncio.get_running_loop().time() + self._seconds
        head = await self._take(_HEAD.size, may_end=True)
        if not head:
            return None
        mark, size = _HEAD.unpack(head)
        if mark != _CONTINUATION:
            raise Refused(400, "it does not begin as messages do; send the streaming format of Arrow 1.0 or later, which "
                               "differs from its files")
        if size == 0:
            if await self._take(1, may_end=True):
                raise Refused(400, "bytes follow the end of the stream; send one stream in a request")
            return None
        if not 0 < size <= MOST_METADATA:
            raise Refused(413, f"it announces {size:,} bytes of metadata; at most {MOST_METADATA:,} are accepted")
        message = parse_message(bytes(await self._take(size)))
        limit = ESCAPED * self._most + OTHER
        if not 0 <= message.size <= limit:
            raise Refused(413, f"it announces a body of {message.size:,} bytes; at most {limit:,} are accepted: send fewer "
                               "rows in a batch, or start the server with a larger --max-text")
        return message

    async def _take(self, size: int, *, may_end: bool = False) -> bytearray:
        """Return the next `size` bytes of the body; no bytes at its end, if `may_end`."""
        taken, late = bytearray(), f"it did not come in {self._seconds:g} seconds; send whole messages"
        while len(taken) < size:
            if not self._rest:
                chunk = await next_chunk(self._chunks, self._end, late)
                if chunk is None and may_end and not taken:
                    break
                if chunk is None:
                    raise Refused(400, "the body ends within it; send it again as a whole")
                self._rest = memoryview(chunk)
            part = self._rest[: size - len(taken)]
            taken += part
            self._rest = self._rest[len(part) :]
        return taken


class ArrowAnswers:
    """Encode answers as a stream of Arrow, piece by piece.

    Parameters
    ----------
    rows : ArrowRows or None
        The request, if it is in Arrow.

    Raises
    ------
    Refused
        pyarrow is not installed.
    """

    media_type = ARROW

    def __init__(self, rows: ArrowRows | None) -> None:
        self._pa, self._rows = import_arrow(), rows
        self._schema: Any = None
        self._begun = False

    def encode(self, answers: Sequence[PageDecision]) -> bytes:
        """Encode the answers of a part.

        Raises
        ------
        Refused
            A key does not have the type of the column of keys.
        """
        self._choose_types(type(answers[0].key))
        values: dict[str, list[Any]] = {field.name: [getattr(answer, field.name) for answer in answers]
                                        for field in fields(PageDecision)}
        values["date"] = [None if date is None else dt.datetime.fromisoformat(date) for date in values["date"]]
        for name in _KEYS:
            self._check_keys(values[name])
        return self._begin() + self._encode_batch(values, len(answers))

    def encode_problem(self, problem: Mapping[str, Any]) -> bytes:
        """Encode the problem that ends the answers early."""
        return self._begin() + self._encode_batch({"error": [to_json(problem).decode()]}, 1)

    def finish(self) -> bytes:
        """Return the end of the stream."""
        return self._begin() + _END

    def _begin(self) -> bytes:
        """Return the bytes of the schema on the first call, then none."""
        if self._begun:
            return b""
        self._begun = True
        self._choose_types(str)
        return bytes(self._schema.serialize())

    def _choose_types(self, kind: type) -> None:
        """Choose the types of the columns on the first call. kind: the type of the keys, if the request is in JSON lines."""
        if self._schema is not None:
            return
        named = {str: "string", bytes: "binary", int: "int64"}[kind]
        if self._rows is not None and self._rows.key is not None:
            named = self._rows.key.type if self._rows.key.sized else "int64"
        pa = self._pa
        key, text, flag = _find_type(pa, named), pa.string(), pa.bool_()
        self._schema = pa.schema({
            "key": key, "verdict": text, "of": key, "equal": key, "resemblance": pa.float64(), "contained": pa.float64(),
            "containing": pa.float64(), "version": text, "date": pa.timestamp("us", "UTC"), "exact": flag,
            "place": pa.int64(), "repeated": flag, "error": text,
        })

    def _check_keys(self, keys: Sequence[Key | None]) -> None:
        """Raise Refused if a key does not fit in the column of keys."""
        column = str(self._schema.field("key").type)
        kind = str if column in STRINGS else bytes if column in BINARIES else int
        for key in keys:
            if key is not None and not (isinstance(key, kind) and _is_utf8(key)):
                raise Refused(406, f"the key {key!r:.80} does not fit in the column of keys, of type {column}; ask with the "
                                   f"header Accept: {LINES[0]} for lines of JSON, where keys are of any type")

    def _encode_batch(self, values: Mapping[str, list[Any]], count: int) -> bytes:
        """Encode a record batch of `count` rows; columns without values are null."""
        arrays = [self._pa.array(values.get(field.name, [None] * count), field.type, from_pandas=True)  # nan: null
                  for field in self._schema]
        return bytes(self._pa.record_batch(arrays, schema=self._schema).serialize())


def import_arrow() -> Any:
    """Import pyarrow. Raises Refused if it is not installed."""
    try:
        return imported("pyarrow", f"{ARROW} on the server")
    except ImportError as error:
        raise Refused(415, str(error)) from error


def parse_message(metadata: bytes) -> ArrowMessage:
    """Parse the metadata of a message. Raises Refused if they are damaged or of an older version of Arrow."""
    try:
        flat = Flatbuffer(metadata)
        version, kind = flat.value(flat.root, 0, "<h"), flat.value(flat.root, 1, "<B")
        message = ArrowMessage(kind, flat, flat.table(flat.root, 2), flat.value(flat.root, 3, "<q"))
    except struct.error as error:
        raise _damaged(error) from None
    if version != _VERSION:
        raise Refused(400, f"it has version {version} of the metadata; accepted: {_VERSION}, of Arrow 1.0 and later")
    if kind == _DICTIONARY_BATCH:
        raise Refused(415, f"it is a dictionary; {_PLAIN}")
    return message


def read_schema(message: ArrowMessage) -> list[RequestColumn]:
    """Read the columns of a request, in the order of its schema. Raises Refused unless `COLUMNS` accepts them."""
    flat, columns = message.metadata, dict[str, RequestColumn]()
    if message.kind != _SCHEMA or not message.header:
        raise Refused(400, "it is not a schema; a stream of Arrow begins with its schema")
    try:
        if flat.value(message.header, 0, "<h"):
            raise Refused(415, "its numbers are big-endian; send them little-endian")
        for field in flat.tables(message.header, 1):
            name = flat.text(field, 0).decode("utf-8", "backslashreplace")
            if name not in COLUMNS or name in columns:
                what = "is given twice" if name in columns else "is not known"
                raise Refused(400, f"the column {name!r:.80} {what}; accepted: {', '.join(COLUMNS)}")
            if flat.field(field, 4):
                raise Refused(415, f"the column {name} is a dictionary; {_PLAIN}")
            kind = _read_type(flat, field)
            if kind not in COLUMNS[name]:
                raise Refused(400, f"the column {name} is of type {kind}; accepted: {', '.join(COLUMNS[name])}")
            columns[name] = RequestColumn(name, kind)
    except struct.error as error:
        raise _damaged(error) from None
    for name in REQUIRED:
        if name not in columns:
            raise Refused(400, f"the column {name} is missing; accepted are the types {', '.join(COLUMNS[name])}")
    return list(columns.values())


def _read_type(flat: Flatbuffer, field: int) -> str:
    """Return the type of a field in the words of `COLUMNS`."""
    number, details = flat.value(field, 2, "<B"), flat.table(field, 3)
    name = _TYPES[number] if number < len(_TYPES) else f"number {number}"
    if name == "int" and details:
        return f"{'' if flat.value(details, 1, '<B') else 'u'}int{flat.value(details, 0, '<i')}"
    if name == "timestamp" and details:
        unit = flat.value(details, 0, "<h")
        return f"timestamp[{UNITS[unit] if 0 <= unit < len(UNITS) else unit}]"
    return name


def read_batch(pa: Any, columns: Sequence[RequestColumn], message: ArrowMessage, body: bytearray) -> dict[str, Any]:
    """Read the columns of a record batch as Arrow arrays, timestamps as int64.

    Raises
    ------
    Refused
        It is compressed, an array reaches beyond the body, a text is not UTF-8, a key or text is null, or a date is not
        between the years 1 and 9999.
    """
    flat, batch = message.metadata, message.header
    if message.kind != _RECORD_BATCH or not batch:
        raise Refused(400, "it is not a record batch; behind its schema, a stream has record batches only")
    try:
        if flat.field(batch, 3):
            raise Refused(415, "its buffers are compressed; send them as they are")
        length, nodes, places = flat.value(batch, 0, "<q"), flat.rows(batch, 1, "<qq"), flat.rows(batch, 2, "<qq")
    except struct.error as error:
        raise _damaged(error) from None
    counts = [3 if column.sized else 2 for column in columns]
    if len(nodes) != len(columns) or len(places) != sum(counts):
        raise _damaged(f"{len(nodes)} arrays and {len(places)} buffers do not make {len(columns)} columns")
    whole, buffers, arrays = pa.py_buffer(body), iter(places), dict[str, Any]()
    for column, (rows, nulls), count in zip(columns, nodes, counts, strict=True):
        if rows != length or not 0 <= nulls <= rows <= len(body):
            raise _damaged(f"the column {column.name} has {rows} rows and {nulls} nulls, of {length} rows")
        if nulls and column.name in REQUIRED:
            raise Refused(400, f"{nulls} of {rows} {column.name}s are null; each page has a {column.name}")
        parts = [_slice(whole, column, *place) for place in itertools.islice(buffers, count)]
        array = arrays[column.name] = _make_array(pa, column, rows, nulls, parts)
        if column.type in TIMESTAMPS and rows > nulls:
            _check_dates(column, array)
    return arrays


def _slice(body: Any, column: RequestColumn, start: int, size: int) -> Any:
    """Return a buffer of a column."""
    if start % 8 or not 0 <= start <= start + size <= body.size or size < 0:
        raise _damaged(f"a buffer of the column {column.name} is at {start}, with {size} bytes, of {body.size}")
    return body.slice(start, size)


def _make_array(pa: Any, column: RequestColumn, rows: int, nulls: int, buffers: Sequence[Any]) -> Any:
    """Make an array, and validate it."""
    with_validity = [buffers[0] if buffers[0].size else None, *buffers[1:]]  # buffer 0: the validity bitmap
    try:
        array = pa.Array.from_buffers(_find_type(pa, column.type), rows, with_validity, nulls)
        array.validate(full=True)
    except (pa.ArrowException, OverflowError) as error:
        raise _damaged(f"the column {column.name}: {get_first_line(error)}") from None
    return array


def _find_type(pa: Any, name: str) -> Any:
    """Return the type of Arrow of an array: timestamps are read as int64."""
    return pa.int64() if name in TIMESTAMPS else getattr(pa, name)()


def _check_dates(column: RequestColumn, dates: Any) -> None:
    """Raise Refused unless all dates are between the years 1 and 9999."""
    from pyarrow.compute import min_max

    for date in min_max(dates).as_py().values():
        try:
            _read_date(column, date)
        except OverflowError:
            raise Refused(400, f"the column {column.name} has {date} as {column.type}, which is not between the years 1 and "
                               "9999") from None


def _read_date(column: RequestColumn, date: int) -> dt.datetime:
    """Convert a number of a timestamp column to a date in whole microseconds. Raises OverflowError if it is out of range."""
    unit = TIMESTAMPS.index(column.type)
    return _EPOCH + dt.timedelta(microseconds=date * 1_000_000 // 1000**unit)


def _list_rows(columns: Sequence[RequestColumn], batch: Mapping[str, Any], start: int) -> list[Row]:
    """List the rows of a part as mappings of names to values."""
    values: list[list[Any]] = []
    for column in columns:
        listed = batch[column.name].slice(start, PART).to_pylist()
        if column.type in TIMESTAMPS:
            listed = [None if date is None else _read_date(column, date) for date in listed]
        values.append(listed)
    names = [column.name for column in columns]
    return [list(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _is_utf8(key: Key) -> bool:
    """Tell whether a key is encodable as UTF-8; a key that is not a str always is."""
    return not isinstance(key, str) or key.encode("utf-8", "replace").decode() == key


def _damaged(reason: object) -> Refused:
    """Return the refusal of a message that is not valid."""
    return Refused(400, f"it is not valid: {reason}")
