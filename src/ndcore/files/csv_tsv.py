"""CSV and TSV with a header line: read rows as raw bytes, and rows as records.

CSV: RFC 4180, *Common Format and MIME Type for Comma-Separated Values (CSV) Files*, with LF or CRLF at the end of lines.
TSV: the same with tabs instead of commas. Files named .csv may have semicolons, tabs or bars instead of commas: `settle`
detects them, and the encoding. Refused are files without a header, or with CR alone at the end of lines; unclosed quotes;
and rows with more or fewer fields than the header, or not in the encoding of the file.
"""

from __future__ import annotations

import codecs
import io
import itertools
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from ndcore.files.compression import DamagedData
from ndcore.files.errors import DocumentError
from ndcore.files.file_reader import open_reader, open_source, read_lines, split_lines
from ndcore.files.formats import DELIMITERS
from ndcore.files.records import MISSING, Fields, Record, RecordError, check_columns, check_id, join_texts
from ndcore.files.sources import Source, TooLong
from ndcore.files.text_encoding import UTF8_MARK, EncodingError, detect_encoding, remove_mark

_SAMPLE = 1 << 20  # bytes of lines beyond ASCII that are examined for the encoding
_BLOCK = 1 << 17  # bytes that are read at a time
_LONG_ROW = 1 << 18  # bytes; to match a longer row as a whole takes much memory where it has many fields
_FIRST_ROWS = 50  # rows that are examined for the delimiter
_CANDIDATES = (b",", b";", b"\t", b"|")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SPECIAL = re.compile(rb'["\r\n]')


class Rows:
    """The rows of a file below its header, as `RawRecords`; the columns `added` are appended to the header."""

    def __init__(self, source: Source, added: Sequence[str] = ()) -> None:
        self._source, self._added = source, added
        self.opening = self.closing = b""

    def __iter__(self) -> Iterator[tuple[int, bytes, bytes]]:
        rows = read_raw_rows(self._source)
        for _, header_row in itertools.islice(rows, 1):
            end = "\n".encode(self._source.encoding)
            line = header_row if header_row.endswith(end) else header_row + end
            self.opening = append_to_row(self._source, line, self._added) if self._added else line
        for number, row in rows:
            blank = not isinstance(row, TooLong) and not convert_to_utf8(row, self._source.encoding).strip(b"\r\n")
            yield number, b"", b"" if blank else row


def read_raw_rows(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield for each row the line where it begins (from 1) and its bytes, line end included; the first row is the header.

    A field that begins with a quote ends at the next quote that is not doubled, and may hold line ends. Elsewhere a quote
    is an ordinary character. A row longer than ``source.longest`` is skipped, and a TooLong is yielded for it; its quotes
    are counted to find where its quoted fields end.

    Raises
    ------
    DocumentError
        The file cannot be read or is damaged, or a quote is not closed.
    """
    settle(source)
    yield from _cut_rows(source, source.delimiter.encode())


def _cut_rows(source: Source, delimiter: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield rows as `read_raw_rows` does, for a given delimiter: of UTF-8 in blocks, of other encodings line by line."""
    if source.encoding != "utf-8":
        yield from _cut_by_lines(source, delimiter, read_lines(source))
        return
    number = 1
    with open_source(source, lambda: number, "the records from this line") as stream:
        match, longest = _match_row(delimiter), min(source.longest, _LONG_ROW)
        block, at, more = b"", 0, True
        while more or at < len(block):
            begin = at + len(UTF8_MARK) * (number == 1 and block.startswith(UTF8_MARK))
            row = match(block, begin)
            if row is not None and row.end() - at <= longest:
                yield number, block[at : row.end()]
                number, at = number + block.count(b"\n", at, row.end()), row.end()
            elif row is None and more and len(block) - at <= longest:
                piece = stream.read1(_BLOCK)
                block, at, more = block[at:] + piece, 0, bool(piece)
            else:  # a long row, or the last one, whose end may be missing
                lines = _CountedLines(source, block[at:], stream, number)
                yield from itertools.islice(_cut_by_lines(source, delimiter, lines), 1)
                number, block, at = lines.number, lines.rest(), 0


class _CountedLines:
    """The lines from some bytes on, which were read before, and then of a stream.

    Attributes
    ----------
    number : int
        The number of the next line.
    """

    def __init__(self, source: Source, before: bytes, stream: io.BufferedReader, number: int) -> None:
        self._before, self._stream, self.number = io.BytesIO(before), stream, number
        self._lines = split_lines(source, iter(self._read_piece, b""), number)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        for number, line in self._lines:
            self.number = number + 1
            yield number, line

    def rest(self) -> bytes:
        """Return the bytes of `before` that are behind the lines taken so far."""
        return self._before.read()

    def _read_piece(self) -> bytes:
        """Read up to the end of a line, and not beyond."""
        return self._before.readline(_BLOCK) or self._stream.readline(_BLOCK)


def _match_row(delimiter: bytes) -> Callable[[bytes, int], re.Match[bytes] | None]:
    """Return a function that matches a row of UTF-8 with its line end. O(n); no end is found where a quote is not closed."""
    plain = rb"[^%s\n]*+" % re.escape(delimiter) if len(delimiter) == 1 else rb"(?:(?!%s)[^\n])*" % re.escape(delimiter)
    field = rb'(?:"[^"]*+(?:""[^"]*+)*"(?!")%s|(?!")%s)' % (plain, plain)
    return re.compile(rb"%s(?:%s%s)*\n" % (field, re.escape(delimiter), field)).match


def _cut_by_lines(source: Source, delimiter: bytes, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Yield the rows that some lines make. Rows are scanned in UTF-8, whatever their encoding."""
    encoding, following = source.encoding, iter(lines)
    quote = '"'.encode(encoding)
    for number, line in following:
        if quote not in line and not isinstance(line, TooLong):
            yield number, line
            continue
        original, row, too_long = [line], bytearray(convert_to_utf8(line, encoding)), isinstance(line, TooLong)
        at, inside = _scan(row, len(UTF8_MARK) if number == 1 and row.startswith(UTF8_MARK) else 0, False, delimiter)
        if isinstance(line, TooLong):
            at, inside = 0, line.odd_quotes
        while inside:
            _, more = next(following, (0, None))
            if more is None:
                reason = "a quoted field of this row is not closed; nothing from here on can be read"
                raise DocumentError(source.path, number, reason)
            too_long = too_long or isinstance(more, TooLong) or len(row) + len(more) > source.longest
            if too_long:
                original, row, at = [], bytearray(), 0
            if isinstance(more, TooLong):
                inside ^= more.odd_quotes
                continue
            if not too_long:
                original.append(more)
            row += convert_to_utf8(more, encoding)
            at, inside = _scan(row, at, inside, delimiter)
        yield number, TooLong.of("the row", source.longest) if too_long else b"".join(original)


def convert_to_utf8(row: bytes, encoding: str, errors: str = "replace") -> bytes:
    """Convert bytes of a table to UTF-8."""
    return row if encoding == "utf-8" else row.decode(encoding, errors).encode()


def settle(source: Source) -> None:
    """Detect the encoding and the delimiter of a table, once. Reads the whole file if the user named no encoding.

    Raises
    ------
    DocumentError
        The encoding cannot be detected, or the header cannot be read.
    """
    if source.delimiter:
        return
    try:
        source.set_encoding(source.encoding or _detect_encoding(source))
    except EncodingError as error:
        raise DocumentError(source.path, None, str(error)) from error
    usual = DELIMITERS[source.kind].decode()
    source.delimiter = source.form.delimiter or (usual if source.kind == "tsv" else _detect_delimiter(source))
    if source.delimiter != usual and not source.form.delimiter:
        source.told.append(f"with {_NAMES[source.delimiter]} between fields")


_NAMES = {";": "semicolons", "\t": "tabs", "|": "bars"}


def _detect_encoding(source: Source) -> str:
    """Detect the encoding of a table: UTF-8 if all of it is valid, else the encoding of its first lines beyond ASCII."""
    decode, sample = codecs.getincrementaldecoder("utf-8")().decode, bytearray()
    try:
        with open_reader(source) as stream:
            try:
                escapes = False
                while data := stream.read(1 << 20):
                    decode(data)
                    escapes = escapes or b"\x1b$" in data
                if not escapes:
                    return "utf-8"
            except UnicodeDecodeError:
                pass
        with open_reader(source) as stream:
            while len(sample) < _SAMPLE and (line := stream.readline(_SAMPLE)):
                sample += line if b"\x1b" in line or not line.isascii() else b""
    except (EOFError, DamagedData, OSError):  # reading the rows reports them
        pass
    return detect_encoding(bytes(sample))


def _detect_delimiter(source: Source) -> str:
    """Detect the delimiter that splits the header and the first rows into the same number of fields; else the comma."""
    fits, present = [], []
    for candidate in _CANDIDATES:
        rows = list(itertools.islice(_count_first_fields(source, candidate), _FIRST_ROWS))
        if rows and rows[0] > 1:
            present.append(candidate)
            if all(count == rows[0] for count in rows):
                fits.append(candidate)
    if len(fits) == 1:
        return fits[0].decode()
    if (fits or present) not in ([], [b","]):
        others = " or ".join(_NAMES[candidate.decode()] for candidate in present if candidate != b",")
        source.told.append(f"with commas between fields, though {others} are in its header; --delimiter names another")
    return ","


def _count_first_fields(source: Source, delimiter: bytes) -> Iterator[int]:
    """Count the fields of the first rows that are not blank; stop at a row that cannot be read."""
    size = 0
    try:
        for number, row in _cut_rows(source, delimiter):
            if isinstance(row, TooLong):
                return
            size += len(row)
            body = convert_to_utf8(row, source.encoding)
            if body.strip(b"\r\n"):
                yield len(split_cells(remove_mark(body) if number == 1 else body, delimiter))
            if size > _SAMPLE:
                return
    except (DocumentError, RecordError):
        return


def split_row(source: Source, row: bytes) -> list[str]:
    """Split a row into its fields, by the encoding and delimiter from `settle`. Raises RecordError for an invalid row."""
    try:
        body = convert_to_utf8(row, source.encoding, "strict")
        return [cell.decode() for cell in split_cells(body, source.delimiter.encode())]
    except UnicodeDecodeError:
        raise RecordError(f"the row is not {source.encoding.upper()}; convert the file: iconv -t UTF-8") from None


def append_to_row(source: Source, row: bytes, added: Sequence[str]) -> bytes:
    """Append fields to a row of a table without changing its bytes, unless it is converted (``source.annotated_in_utf8``).

    Raises UnicodeEncodeError for a character that the encoding of the table lacks.
    """
    encoding = source.encoding
    if encoding == "utf-8" or source.annotated_in_utf8:
        return append_fields(convert_to_utf8(row, encoding), source.delimiter.encode(), added)
    body = row.decode(encoding)
    end = "\r\n" if body.endswith("\r\n") else "\n" if body.endswith("\n") else ""
    more = append_fields(end.encode(), source.delimiter.encode(), added).decode()
    return row[: len(row) - len(end.encode(encoding))] + more.encode(encoding)


def _scan(row: bytearray, at: int, inside: bool, delimiter: bytes) -> tuple[int, bool]:
    """Scan a row from `at`, where a field begins or, with `inside`, within a quoted one.

    Return (the position to resume from when more bytes have been added, whether a quoted field is still open).
    """
    while True:
        if not inside and row.startswith(b'"', at):
            inside, at = True, at + 1
        while inside:
            at = row.find(b'"', at)
            if at < 0:
                return len(row), True
            inside = row.startswith(b'"', at + 1)
            at += 1 + inside
        at = row.find(delimiter, at) + 1
        if not at:
            return 0, False


def split_cells(row: bytes, delimiter: bytes) -> list[bytes]:
    r"""Split a row into its fields without their quotes.

    Raises RecordError if anything but a delimiter follows a closing quote.

    >>> split_cells(b'1,"a, ""b"" c",d"e\r\n', b",")
    [b'1', b'a, "b" c', b'd"e']
    """
    if b'"' not in row:
        return _remove_line_end(row).split(delimiter)
    return [row[start + 1 : end - 1].replace(b'""', b'"') if row.startswith(b'"', start) else row[start:end]
            for start, end in _find_fields(row, delimiter)]


def _remove_line_end(row: bytes) -> bytes:
    """Strip the line end from a row."""
    return row[:-2] if row.endswith(b"\r\n") else row.removesuffix(b"\n")


def _find_fields(row: bytes, delimiter: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the fields of a row begin and end, quotes included. Raises as `split_cells`."""
    body, number, start = _remove_line_end(row), 1, 0
    while True:
        if body.startswith(b'"', start):
            end = start + 1
            while (end := body.find(b'"', end)) >= 0 and body.startswith(b'"', end + 1):
                end += 2
            if end < 0:
                raise RecordError(f"field {number} opens a quote and does not close it")
            end += 1
            if end < len(body) and not body.startswith(delimiter, end):
                follows = body[end : end + 10].decode("utf-8", "replace")
                raise RecordError(
                    f"after the closing quote of field {number} comes {follows!r}; a quote within a quoted field "
                    "is written twice"
                )
        else:
            end = body.find(delimiter, start)
            end = len(body) if end < 0 else end
        yield start, end
        if end >= len(body):
            return
        number, start = number + 1, end + len(delimiter)


def read_header(source: Source) -> list[str]:
    """Read the names of the columns. Raises DocumentError if there is no readable header."""
    try:
        _, row = next(read_raw_rows(source), (1, b""))
    except DocumentError as error:  # without it the file has no records
        raise DocumentError(source.path, None, error.reason) from error
    if isinstance(row, TooLong):
        raise DocumentError(source.path, None, row.reason)
    try:
        if source.encoding == "utf-8":
            row = remove_mark(row)
        names = split_row(source, row)
        names[0] = names[0].removeprefix("\ufeff")
    except RecordError as error:
        raise DocumentError(source.path, None, f"the header cannot be read: {error}") from error
    if names == [""]:
        raise DocumentError(source.path, None, "has no header: its first line is empty; the first line names the columns")
    if any("\r" in name for name in names):
        raise DocumentError(source.path, None, "its lines end with CR alone; convert them to LF")
    return names


class CsvHeader:
    """The header of a table, with the columns of the requested fields.

    Parameters
    ----------
    source : Source
    fields : Fields
        Values of optional fields are None if a column is missing or a cell is empty.

    Raises
    ------
    DocumentError
        There is no header, or it lacks a column.
    """

    def __init__(self, source: Source, fields: Fields) -> None:
        self._source, self._fields = source, fields
        names = read_header(source)
        check_columns(source.path, names, {name: name for name in names}, fields)
        self._count = len(names)
        self._texts = [names.index(field) for field in fields.text]
        self._id = names.index(fields.id) if fields.id in names else None
        self._others = [
            (names.index(field) if field in names else None, field in fields.optional,
             str if field in fields.as_written else _convert_cell) for field in fields.others
        ]

    def parse(self, number: int, row: bytes) -> Record:
        """Parse a row. Raises RecordError if it has more or fewer fields than the header, or is in another encoding."""
        cells = split_row(self._source, row)
        if len(cells) != self._count:
            raise RecordError(f"{len(cells)} fields, where the header has {self._count}")
        text = join_texts([cells[i] for i in self._texts])
        ident = MISSING if self._id is None else cells[self._id]
        values = tuple([
            None if i is None or (optional and not cells[i]) else convert(cells[i]) for i, optional, convert in self._others
        ])
        return Record(number, text, check_id(ident, self._fields), values, len(row))


def _convert_cell(text: str) -> str | int | float:
    """Convert a number written as in JSON, so that numbers are ordered as numbers; leave any other text."""
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def append_fields(row: bytes, delimiter: bytes, added: Sequence[str]) -> bytes:
    r"""Append fields to a row, quoted if needed; the row itself does not change.

    >>> append_fields(b"1,a\r\n", b",", ["kept", "a,b"])
    b'1,a,kept,"a,b"\r\n'
    """
    end = b"\r\n" if row.endswith(b"\r\n") else b"\n" if row.endswith(b"\n") else b""
    fields = [_write_field(field.encode("utf-8", "replace"), delimiter) for field in added]
    return row.removesuffix(end) + delimiter + delimiter.join(fields) + end


def _write_field(field: bytes, delimiter: bytes, quoted: bool = False) -> bytes:
    """Write a field for a row, in quotes if it is `quoted` or needs them."""
    needed = quoted or _SPECIAL.search(field) or delimiter in field
    return b'"' + field.replace(b'"', b'""') + b'"' if needed else field


def replace_field(source: Source, row: bytes, column: int, text: str) -> bytes:
    """Return a row with a new text in a column, counted from 0; `settle` has found encoding and delimiter.

    A quoted field stays quoted; another one is quoted if the text needs it. All other bytes stay the same, or in an
    encoding whose shifts span fields, such as UTF-7, all other characters.

    Raises UnicodeEncodeError for a character that the encoding of the table lacks.
    """
    encoding = source.encoding
    body, delimiter = convert_to_utf8(row, encoding, "strict"), source.delimiter.encode()
    start, end = [*_find_fields(body, delimiter)][column]
    field = _write_field(text.encode(), delimiter, body.startswith(b'"', start))
    if encoding == "utf-8":
        return body[:start] + field + body[end:]
    before, new, behind = (part.decode() for part in (body[:start], field, body[end:]))
    replaced = len(before) + len(body[start:end].decode())
    made = row[: _skip_characters(row, encoding, len(before))] + new.encode(encoding)
    made += row[_skip_characters(row, encoding, replaced) :]
    if made.decode(encoding, "replace") == before + new + behind:
        return made
    return b"".join(part.encode(encoding) for part in (before, new, behind))


def _skip_characters(row: bytes, encoding: str, count: int) -> int:
    """Find where the first `count` characters of a row end, in bytes. O(n log n)."""
    decoder = codecs.getincrementaldecoder(encoding)
    return bisect_left(range(len(row)), count, key=lambda end: len(decoder().decode(row[:end])))
