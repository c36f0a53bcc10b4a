"""JSON Lines in blocks of documents: read by `_jsonl` without the GIL, unusual lines by `RecordParser`."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._jsonl import LineReader
from ndcore._types import Ints
from ndcore.choices import LONGEST_RECORD
from ndcore.files.blocks import Block, Wanted
from ndcore.files.compression import Damaged
from ndcore.files.file_reader import reading
from ndcore.files.json_records import RecordParser
from ndcore.files.records import ANNOTATION, Fields, Record, RecordError
from ndcore.files.sources import Source, sizes, too_long

BLOCK = 8 << 20  # bytes of lines in memory at a time; a longer line is alone
_EXPANSION = 4  # of compressed files, about; only the size of the first block depends on it
_RUN = 1024  # lines that are parsed one by one after unusual ones, at most
_RARE = 64  # lines between two unusual ones, so that the next is parsed alone


Item = Block | tuple[int | None, str] | None  # documents; (number, reason) of a line that cannot be one; a blank line


class JsonLines:
    """Read the documents of JSONL files.

    Parameters
    ----------
    fields : Fields
    fast : bool
        Use `_jsonl`, and ``msgspec`` where it is installed. Results do not depend on it.
    html : bool
        The texts are HTML, whose extraction takes far longer than parsing: without `_jsonl`.

    Attributes
    ----------
    parser : RecordParser
    """

    def __init__(self, fields: Fields, fast: bool = True, html: bool = False) -> None:
        self.parser, self._longest = RecordParser(fields, fast), LONGEST_RECORD
        self._reader = _line_reader(fields) if fast and not html else None

    def items(self, source: Source, wanted: Wanted | None = None) -> Iterator[Item]:
        """Yield the documents of a file in blocks, and what else is found, in the order of the lines.

        With `wanted` only these lines are read: where the file is not compressed, nothing else of it but small gaps.

        Raises
        ------
        DocumentError
            The file cannot be read, or not from some line on.
        """
        parts: list[tuple[int, int | None, slice]] = [(0, None, slice(0, None))]
        if wanted is not None and not source.stored:
            parts = list(wanted.ranges())
        at, self._longest = _Reading(1, wanted), source.longest
        with reading(source, lambda: at.number, "the records from this line") as stream:
            for start, stop, lines in parts:
                at.begin(lines)
                room = _room(source, start, stop)
                for buffer, end, offset in _whole_lines(stream, start, stop, room, source.longest):
                    yield from self._block(buffer, end, offset, at) if end else self._passed_over(at)
                    if at.done:
                        break

    def _passed_over(self, at: _Reading) -> Iterator[Item]:
        """Reject a line that is too long, and count it."""
        if at.takes():
            at.found += 1
            yield at.number, too_long("the line", self._longest)
        at.number += 1

    def _block(self, buffer: bytearray, end: int, offset: int, at: _Reading) -> Iterator[Item]:
        """Read the lines in the first `end` bytes of the buffer, which stand at `offset` in the file."""
        begin, run = 0, 1
        while begin < end and not at.done:
            if self._reader is not None:
                lines = self._reader.read(buffer, begin, end, at.number, at.left, self._longest)
                begin, found = lines.end, len(lines.numbers)
                at.pass_to(lines.number, found)
                yield from [None] * lines.blank
                if found:
                    yield Block(lines.numbers, lines.starts + offset, lines.sizes, lines.texts, lines, [])
                if not lines.unusual:
                    continue
                run = min(_RUN, 2 * run) if found < _RARE else 1
            stop = _behind(buffer, begin, end, run) if self._reader is not None else end
            yield from self._parsed(bytes(memoryview(buffer)[begin:stop]), begin + offset, at)
            begin = stop

    def _parsed(self, data: bytes, offset: int, at: _Reading) -> Iterator[Item]:
        """Parse lines one by one."""
        records: list[tuple[int, Record]] = []
        for line in io.BytesIO(data):
            number, item = at.number, None
            if at.takes():
                if not line.strip(b" \t\r\n"):
                    yield from _blocks(records)
                    yield None
                else:
                    at.found += 1
                    try:
                        if len(line) > self._longest:
                            raise RecordError(too_long("the line", self._longest))
                        records.append((offset, self.parser.parse(number, line)))
                    except RecordError as error:
                        item = (number, str(error))
            if item is not None:
                yield from _blocks(records)
                yield item
            at.number += 1
            offset += len(line)
        yield from _blocks(records)


class _Reading:
    """Where reading stands: the number of the next line, and how many of the wanted lines were found."""

    def __init__(self, number: int, wanted: Wanted | None) -> None:
        self.number, self.found, self._end = number, 0, 0
        self._numbers = None if wanted is None else wanted.numbers

    def begin(self, lines: slice) -> None:
        """Go to the beginning of a part, with these of the wanted lines."""
        if self._numbers is not None:
            self.found, self._end = lines.start, len(self._numbers) if lines.stop is None else lines.stop
            if lines.stop is not None:
                self.number = int(self._numbers[self.found])

    @property
    def left(self) -> Ints | None:
        """The wanted lines of this part that were not found yet; None: all are wanted."""
        return None if self._numbers is None else self._numbers[self.found : self._end]

    @property
    def done(self) -> bool:
        """Whether all wanted lines of this part were found."""
        return self._numbers is not None and self.found == self._end

    def takes(self) -> bool:
        """Tell whether the next line is wanted."""
        return self._numbers is None or (not self.done and self.number == int(self._numbers[self.found]))

    def pass_to(self, number: int, found: int) -> None:
        """Go to the line with this number; `found` of the lines before it were wanted."""
        self.number, self.found = number, self.found + found


def _line_reader(fields: Fields) -> LineReader | None:
    """Return a reader for one text field and the id; None where more or other names are asked for."""
    names = (*fields.text, fields.id)
    if fields.others or len(fields.text) > 1 or len(set(names)) < 2 or any("." in name for name in names):
        return None
    try:
        return LineReader(fields.text[0], fields.id, ANNOTATION if fields.annotated else None, fields.require_id)
    except UnicodeEncodeError:  # a name with a lone surrogate
        return None


def _blocks(records: list[tuple[int, Record]]) -> Iterator[Block]:
    """Yield a block of these records, which stand at these offsets, if there are any; empty the list."""
    if not records:
        return
    starts, found = zip(*records, strict=True)
    records.clear()
    numbers, sizes = [record.number for record in found], [record.size for record in found]
    yield Block(
        np.array(numbers, np.int64), np.array(starts, np.int64), np.array(sizes, np.int64),
        [record.text for record in found], [record.id for record in found],
        [record.values for record in found] if found[0].values else [],
    )


def _behind(buffer: bytearray, begin: int, end: int, lines: int) -> int:
    """Return the offset behind this number of lines, or `end`."""
    for _ in range(lines):
        begin = buffer.find(b"\n", begin, end) + 1
        if not begin:
            return end
    return begin


def _room(source: Source, start: int, stop: int | None) -> int:
    """Return the bytes of the first buffer, into which a small file fits."""
    size = next(sizes([source])) * (_EXPANSION if source.stored else 1) if stop is None else stop - start
    return min(BLOCK, size + 1)


def _whole_lines(
    stream: Any, start: int, stop: int | None, room: int, longest: int
) -> Iterator[tuple[bytearray, int, int]]:
    """Yield (buffer, bytes of whole lines in it, their offset in the file) from `start` to `stop`.

    The last line may be without a line end. The lines before a place that cannot be read come before its error. Of a line
    that does not fit into a block and is longer than `longest`, no bytes are yielded: it is passed over.
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
        except (EOFError, Damaged, OSError) as error:
            problem = error
        begin = 0
        if passing:  # go on behind the end of the line, if it is here
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
