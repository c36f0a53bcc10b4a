"""JSON objects as records: JSON Lines (https://jsonlines.org) in blocks, and single objects (RFC 8259).

Lines that are not one JSON object in UTF-8, and records whose text is not a string, are refused.

`_jsonl` reads plain lines without the GIL. `RecordParser` reads everything else: JSON files, lines that `_jsonl` does not
handle, and fields inside objects. If ``msgspec`` is installed, short records are parsed up to four times faster. A line
that it refuses is tried with the standard ``json`` module, and UTF-8 in fields that are not requested, which it does not
check, is checked here; so both installations accept the same lines. The one exception is nesting deeper than about a
thousand levels: each parser follows as many levels as its stack allows.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ndcore._jsonl import LineReader
from ndcore._signals import stoppable
from ndcore._types import Ints
from ndcore.choices import LONGEST_RECORD
from ndcore.files.blocks import Block, PackedIds, Wanted, flush_records
from ndcore.files.compression import DamagedData
from ndcore.files.file_reader import open_source
from ndcore.files.records import (
    ANNOTATION,
    MISSING,
    Fields,
    Record,
    RecordError,
    check_id,
    describe,
    join_texts,
    lookup,
    split_field,
)
from ndcore.files.sources import Source, explain_too_long, get_sizes
from ndcore.files.text_encoding import remove_mark
from ndcore.parallel import map_pieces, thread_count

Decoded = tuple[str | bytes, dict[str, Any]]  # the text, and the other fields by their names
Decoder = Callable[[bytes], Decoded | None]


class RecordParser:
    """A parser of JSON lines into records. It is fastest for one text field with a plain name.

    Parameters
    ----------
    fields : Fields
    fast : bool
        Use ``msgspec`` if it is installed. Results do not depend on it.
    """

    def __init__(self, fields: Fields, fast: bool = True) -> None:
        self._fields = fields
        self._names = list(dict.fromkeys([fields.id, *fields.others, *([ANNOTATION] if fields.annotated else [])]))
        self._decode = self._make_fast_decoder() if fast else None

    def parse(self, number: int, line: bytes) -> Record:
        """Parse one line, which may begin with a byte order mark if it is the first one.

        Raises
        ------
        RecordError
            The line is not a JSON object or not UTF-8, or a field is missing or has another type.
        """
        body = remove_mark(line) if number == 1 else line
        decoded = self._decode(body) if self._decode is not None else None
        text, others = decoded if decoded is not None else self._decode_slowly(body)
        if self._fields.annotated and others[ANNOTATION] is not MISSING:
            raise RecordError(f"the record has a field {ANNOTATION!r} already; rename it, or leave out --annotate")
        try:
            ident = check_id(others[self._fields.id], self._fields)
            values = tuple([self._get_value(others, field) for field in self._fields.others])
        except RecordError as error:
            raise RecordError(f"{error} ({_list_fields(load_line(body))})") from None
        return Record(number, text, ident, values, len(line))

    def _get_value(self, others: dict[str, Any], field: str) -> Any:
        """Look up a required or optional field."""
        value = others[field]
        if value is MISSING:
            if field in self._fields.optional:
                return None
            raise RecordError(f"no field {field!r}")
        return value

    def _decode_slowly(self, body: bytes) -> Decoded:
        """Decode a line with the standard module."""
        record = load_line(body)
        if not isinstance(record, dict):
            raise RecordError(f"{describe(record)}, not a JSON object; one object per line is expected")
        texts = []
        for field in self._fields.text:
            text = lookup(record, field)
            if text is MISSING:
                raise RecordError(f"no text field {field!r} ({_list_fields(record)}){_suggest_field(record, self._fields)}")
            if not isinstance(text, str):
                raise RecordError(f"the text field {field!r} is {describe(text)}, not a string")
            texts.append(text)
        return join_texts(texts), {name: lookup(record, name) for name in self._names}

    def _make_fast_decoder(self) -> Decoder | None:
        """Build a decoder with msgspec; None if it is missing or cannot name the fields."""
        try:
            import msgspec
        except ImportError:
            return None
        every = (*self._fields.text, *self._names)
        if any(character < " " or character in '"\\' for name in every for character in name):
            # msgspec cannot rename fields to these
            return None
        if len(self._fields.text) != 1 or any("." in name for name in every):
            return self._make_lookup_decoder(msgspec)
        (text_field,) = self._fields.text
        names = [name for name in self._names if name != text_field]
        attributes = [f"f{i}" for i in range(len(names))]
        layout: list[Any] = [("text", str), *((name, Any, MISSING) for name in attributes)]
        rename = {"text": text_field, **dict(zip(attributes, names, strict=True))}
        struct = msgspec.defstruct("Line", layout, rename=rename, gc=False)
        decode = msgspec.json.Decoder(struct).decode
        pairs = tuple(zip(names, attributes, strict=True))
        same = text_field if text_field in self._names else None

        def fast(body: bytes) -> Decoded | None:
            try:
                if not body.isascii():
                    body.decode()
                line: Any = decode(body)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return None
            others = {name: getattr(line, attribute) for name, attribute in pairs}
            if same is not None:
                others[same] = line.text
            return line.text, others

        return fast

    def _make_lookup_decoder(self, msgspec: Any) -> Decoder:
        """Build a decoder for several text fields, and for names with dots, which may name fields of objects."""
        wanted = (*self._fields.text, *self._names)
        names = list(dict.fromkeys([*wanted, *(first for name in wanted for first, _ in split_field(name))]))
        attributes = {name: f"f{i}" for i, name in enumerate(names)}
        struct = msgspec.defstruct("Line", [(attribute, Any, MISSING) for attribute in attributes.values()],
                                   rename={attribute: name for name, attribute in attributes.items()}, gc=False)
        decode = msgspec.json.Decoder(struct).decode
        paths = {name: (attributes[name], [(attributes[first], rest) for first, rest in split_field(name)])
                 for name in wanted}
        texts, others = [paths[name] for name in self._fields.text], [(name, *paths[name]) for name in self._names]

        def get(line: Any, attribute: str, inner: list[tuple[str, str]]) -> Any:  # as `lookup`
            value = getattr(line, attribute)
            for top, rest in inner if value is MISSING else ():
                value = lookup(getattr(line, top), rest)
                if value is not MISSING:
                    break
            return value

        def fast(body: bytes) -> Decoded | None:
            try:
                if not body.isascii():
                    body.decode()
                line: Any = decode(body)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return None
            parts = [get(line, attribute, inner) for attribute, inner in texts]
            if not all(isinstance(text, str) for text in parts):
                return None
            return join_texts(parts), {name: get(line, attribute, inner) for name, attribute, inner in others}

        return fast


def load_line(body: bytes) -> Any:
    """Decode one line with the standard module. Raises RecordError if it is not JSON, or not UTF-8."""
    try:
        text = body.rstrip(b"\r\n").decode()
    except UnicodeDecodeError as error:
        raise RecordError(f"invalid UTF-8 at byte {error.start + 1} of the line") from None
    try:
        return _load_json(text)
    except json.JSONDecodeError as error:
        raise RecordError(f"invalid JSON at column {error.colno}: {error.msg}{_hint_at_lines(text)}") from None
    except RecursionError:
        raise RecordError("invalid JSON: nested too deeply") from None


def _load_json(text: str) -> Any:
    """Decode JSON, also with more digits than int() takes: msgspec accepts them in fields that are not requested."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=_convert_int)


def _convert_int(digits: str) -> int | float:
    """Convert digits to int, or to float where there are too many."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _hint_at_lines(text: str) -> str:
    """Return a hint if a line looks like the beginning of a JSON document that spans many lines."""
    if text.strip() in ("{", "[", "[{"):
        return " (one JSON object per line is expected, not one document over many lines)"
    return ""


def _list_fields(record: Any) -> str:
    """List the fields of a record, for messages."""
    names = sorted(str(name) for name in record) if isinstance(record, dict) else []
    if not names:
        return "the record has no fields"
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"the record has: {', '.join(names[:12])}{more}"


def _suggest_field(record: dict[str, Any], fields: Fields) -> str:
    """Suggest the field with the longest string of more than one word, which is most likely the text."""
    strings = [(len(value), name) for name, value in _iterate_strings(record, "", 3) if " " in value.strip()]
    return f"; use {fields.named_by[0]} {max(strings)[1]}" if strings else ""


def _iterate_strings(record: dict[str, Any], before: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield (field, value) of the strings of a record and of objects in it, `depth` levels at most."""
    for name, value in record.items():
        if isinstance(value, str):
            yield f"{before}{name}", value
        elif isinstance(value, dict) and depth > 1:
            yield from _iterate_strings(value, f"{before}{name}.", depth - 1)


BLOCK = 8 << 20  # bytes of lines in memory at a time, or in each of two blocks of a thread; a longer line is alone
_MOST_THREADS = 4  # threads that parse lines; each takes memory
_EXPANSION = 4  # approximate ratio of compressed files; only the size of the first block depends on it
_RUN = 1024  # most lines that are parsed one by one after unusual ones
_RARE = 64  # after this many plain lines, an unusual line is parsed alone


Item = Block | tuple[int | None, str] | None  # documents; (number, reason) of a line that cannot be one; a blank line


class JsonLines:
    """Read the documents of JSONL files.

    Parameters
    ----------
    fields : Fields
    fast : bool
        Use `_jsonl`, and ``msgspec`` if it is installed. Results do not depend on it.
    html : bool
        The texts are HTML. `_jsonl` is not used, since extraction takes far longer than parsing.
    threads : int or None
        Threads in which `_jsonl` parses lines, at most four, if all lines of a file are read; None: one for each CPU.

    Attributes
    ----------
    parser : RecordParser
    """

    def __init__(self, fields: Fields, fast: bool = True, html: bool = False, threads: int | None = 1) -> None:
        self.parser, self._longest = RecordParser(fields, fast), LONGEST_RECORD
        self._threads = min(_MOST_THREADS, thread_count(threads))
        self._reader = _make_line_reader(fields) if fast and not html else None

    def items(self, source: Source, wanted: Wanted | None = None) -> Iterator[Item]:
        """Yield the documents of a file in blocks, and rejected and blank lines, in the order of the lines.

        With `wanted`, only these lines are parsed; in an uncompressed file, only they and small gaps between them are read.

        Raises
        ------
        DocumentError
            The file cannot be read, or not from some line on.
        """
        parts: list[tuple[int, int | None, slice]] = [(0, None, slice(0, None))]
        if wanted is not None and not source.stored:
            parts = list(wanted.ranges())
        at, self._longest = _LineCursor(1, wanted), source.longest
        with open_source(source, lambda: at.number, "the records from this line") as stream:
            for start, stop, lines in parts:
                at.begin(lines)
                room = _choose_buffer_size(source, start, stop)
                blocks = _read_whole_lines(stream, start, stop, room, source.longest)
                if wanted is None and self._reader is not None and self._threads > 1:
                    yield from self._read_in_threads(blocks, at)
                    return
                for buffer, end, offset in blocks:
                    yield from self._read_block(buffer, end, offset, at) if end else self._reject_long_line(at)
                    if at.done:
                        break

    def _read_in_threads(self, blocks: Iterator[tuple[bytearray, int, int]], at: _LineCursor) -> Iterator[Item]:
        """Read all lines of blocks on several threads; an error of reading is raised after the lines before it.

        The number of a block's first line is known only when the blocks before it have been read, so a block counts from
        `_INSIDE`.
        """
        problem: list[Exception] = []
        for items, first, last in map_pieces(self._read_copy, _copy_blocks(blocks, problem), self._threads):
            behind = at.number - first
            for item in items:
                if isinstance(item, Block):
                    yield item._replace(numbers=item.numbers + behind) if behind else item
                else:
                    yield item if item is None or item[0] is None else (item[0] + behind, item[1])
            at.number = last + behind
        for error in problem:
            raise error

    def _read_copy(self, lines: _Lines) -> tuple[list[Item], int, int]:
        """Read the lines of a block: return its items, the number of its first line, and the number after its last line."""
        at = _LineCursor(lines.number, None)
        read = self._read_block(lines.data, len(lines.data), lines.offset, at) if lines.data else self._reject_long_line(at)
        return list(stoppable(read)), lines.number, at.number

    def _reject_long_line(self, at: _LineCursor) -> Iterator[Item]:
        """Reject a line that is too long, and count it."""
        if at.takes():
            at.passed += 1
            yield at.number, explain_too_long("the line", self._longest)
        at.number += 1

    def _read_block(self, buffer: bytes | bytearray, end: int, offset: int, at: _LineCursor) -> Iterator[Item]:
        """Read the lines in the first `end` bytes of the buffer, whose offset in the file is `offset`."""
        begin, run = 0, 1
        while begin < end and not at.done:
            if self._reader is not None:
                lines = self._reader.read(buffer, begin, end, at.number, at.left, self._longest)
                begin, count = lines.end, len(lines.numbers)
                at.pass_to(lines.number, count)
                yield from [None] * lines.blank
                if count:
                    ids = PackedIds(lines.ids, lines.id_ends, lines.id_kinds)
                    yield Block(lines.numbers, lines.starts + offset, lines.sizes, lines.texts, ids, [])
                if not lines.unusual:
                    continue
                run = min(_RUN, 2 * run) if count < _RARE else 1
            stop = _skip_lines(buffer, begin, end, run) if self._reader is not None else end
            yield from self._parse_lines(bytes(memoryview(buffer)[begin:stop]), begin + offset, at)
            begin = stop

    def _parse_lines(self, data: bytes, offset: int, at: _LineCursor) -> Iterator[Item]:
        """Parse lines one by one."""
        records: list[tuple[int, Record]] = []
        for line in io.BytesIO(data):
            number, item = at.number, None
            if at.takes():
                if not line.strip(b" \t\r\n"):
                    yield from flush_records(records)
                    yield None
                else:
                    at.passed += 1
                    try:
                        if len(line) > self._longest:
                            raise RecordError(explain_too_long("the line", self._longest))
                        records.append((offset, self.parser.parse(number, line)))
                    except RecordError as error:
                        item = (number, str(error))
            if item is not None:
                yield from flush_records(records)
                yield item
            at.number += 1
            offset += len(line)
        yield from flush_records(records)


class _Lines(NamedTuple):
    """Whole lines of a file: their bytes (none: a line that is too long), their offset, and the number of the first line.

    The number is _INSIDE unless the first line is the first of the file, which may begin with a byte order mark.
    """

    data: bytes
    offset: int
    number: int


_INSIDE = 2


def _copy_blocks(blocks: Iterator[tuple[bytearray, int, int]], problem: list[Exception]) -> Iterator[_Lines]:
    """Copy the blocks of `_read_whole_lines`; an error that it raises is appended to `problem`."""
    number = 1
    try:
        for buffer, end, offset in blocks:
            yield _Lines(bytes(memoryview(buffer)[:end]), offset, number)
            number = _INSIDE
    except Exception as error:
        problem.append(error)


class _LineCursor:
    """The position of the reader: the number of the next line, and the number of wanted lines that were read."""

    def __init__(self, number: int, wanted: Wanted | None) -> None:
        self.number, self.passed, self._end = number, 0, 0
        self._numbers = None if wanted is None else wanted.numbers

    def begin(self, lines: slice) -> None:
        """Go to the beginning of a range of the file that holds these wanted lines."""
        if self._numbers is not None:
            self.passed, self._end = lines.start, len(self._numbers) if lines.stop is None else lines.stop
            if lines.stop is not None:
                self.number = int(self._numbers[self.passed])

    @property
    def left(self) -> Ints | None:
        """The wanted lines of this range that have not been read yet; None: all lines are wanted."""
        return None if self._numbers is None else self._numbers[self.passed : self._end]

    @property
    def done(self) -> bool:
        """Whether all wanted lines of this range were read."""
        return self._numbers is not None and self.passed == self._end

    def takes(self) -> bool:
        """Tell whether the next line is wanted."""
        return self._numbers is None or (not self.done and self.number == int(self._numbers[self.passed]))

    def pass_to(self, number: int, wanted: int) -> None:
        """Go to the line with this number, past `wanted` of the wanted lines."""
        self.number, self.passed = number, self.passed + wanted


def _make_line_reader(fields: Fields) -> LineReader | None:
    """Make a reader for one text field and the id; None if other fields are requested."""
    names = (*fields.text, fields.id)
    if fields.others or len(fields.text) != 1 or len(set(names)) < 2 or any("." in name for name in names):
        return None
    try:
        return LineReader(fields.text[0], fields.id, ANNOTATION if fields.annotated else None, fields.require_id)
    except UnicodeEncodeError:  # a name with a lone surrogate
        return None


def _skip_lines(buffer: bytes | bytearray, begin: int, end: int, lines: int) -> int:
    """Return the offset after this number of lines, or `end`."""
    for _ in range(lines):
        begin = buffer.find(b"\n", begin, end) + 1
        if not begin:
            return end
    return begin


def _choose_buffer_size(source: Source, start: int, stop: int | None) -> int:
    """Choose the size of the first buffer, so that a small file fits."""
    size = next(get_sizes([source])) * (_EXPANSION if source.stored else 1) if stop is None else stop - start
    return min(BLOCK, size + 1)


def _read_whole_lines(
    stream: Any, start: int, stop: int | None, room: int, longest: int
) -> Iterator[tuple[bytearray, int, int]]:
    """Yield (buffer, bytes of whole lines in it, their offset in the file) from `start` to `stop`.

    The last line may lack a line end. Lines before damage are yielded before its error is raised. A line longer than both a
    block and `longest` is skipped: 0 bytes are yielded for it.
    """
    if start or stop is not None:
        stream.seek(start)
    buffer = bytearray(room)
    filled, ended, problem, passing = 0, False, None, False
    most = max(BLOCK, longest + 1)
    while not ended and problem is None:
        try:
            while filled < len(buffer) and not ended:
                limit = len(buffer) if stop is None else min(len(buffer), stop - start)
                with memoryview(buffer) as view:
                    count = stream.readinto1(view[filled:limit]) if filled < limit else 0
                filled, ended = filled + count, not count
        except (EOFError, DamagedData, OSError) as error:
            problem = error
        begin = 0
        if passing:  # resume after the end of the line, if the buffer has it
            begin = buffer.find(b"\n", 0, filled) + 1
            passing = not begin
            begin = begin or filled
            if not passing or ended:
                yield buffer, 0, start
            buffer[: filled - begin] = buffer[begin:filled]
            start, filled = start + begin, filled - begin
        end = filled if ended else buffer.rfind(b"\n", 0, filled) + 1
        if end:
            yield buffer, end, start
        start, filled = start + end, filled - end
        buffer[:filled] = buffer[end : end + filled]
        if filled == len(buffer) >= most:
            passing, start, filled = True, start + filled, 0
        elif not ended and (len(buffer) < BLOCK or filled == len(buffer)):
            buffer.extend(bytes(min(len(buffer), most - len(buffer))))
    if problem is not None:
        raise problem
