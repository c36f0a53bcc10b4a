"""CSV and TSV with a header line: rows as they stand in the file, and rows as records.

CSV: RFC 4180, *Common Format and MIME Type for Comma-Separated Values (CSV) Files*, with LF or CRLF at the end of lines.
TSV: the same with tabs for commas. Refused are files without a header, with CR alone at the end of lines, or in another
encoding than UTF-8; quotes that are not closed; rows with more or fewer fields than the header.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from ndcore.files.byte_order_mark import UTF8, without_mark
from ndcore.files.errors import DocumentError
from ndcore.files.file_reader import lines
from ndcore.files.formats import DELIMITERS
from ndcore.files.records import MISSING, Fields, Record, RecordError, check_columns, check_id, join_texts
from ndcore.files.sources import Source, TooLong

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SPECIAL = re.compile(rb'["\r\n]')


class Rows:
    """The rows of a file below its header, as `raw_records` gives them; the header gets the columns `added`."""

    def __init__(self, source: Source, added: Sequence[str] = ()) -> None:
        self._source, self._added = source, added
        self.opening = self.closing = b""

    def __iter__(self) -> Iterator[tuple[int, bytes, bytes]]:
        rows = raw_rows(self._source)
        for _, header_row in itertools.islice(rows, 1):
            line = header_row if header_row.endswith(b"\n") else header_row + b"\n"
            self.opening = append_fields(line, DELIMITERS[self._source.kind], self._added) if self._added else line
        for number, row in rows:
            yield number, b"", row if isinstance(row, TooLong) or row.strip(b"\r\n") else b""


def raw_rows(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield the line where a row begins (from 1) and its bytes, line end included; the first row is the header.

    A field that begins with a quote ends at the next quote that is not doubled, and may hold line ends. Elsewhere a quote
    is a character like others. A TooLong stands for a row longer than ``source.longest``, which is passed over; where its
    quoted fields end is told by counting quotes.

    Raises
    ------
    DocumentError
        The file cannot be read or is damaged; a quote is opened and not closed.
    """
    delimiter = DELIMITERS[source.kind]
    following = lines(source)
    for number, line in following:
        if b'"' not in line and not isinstance(line, TooLong):
            yield number, line
            continue
        row, too_long = bytearray(line), isinstance(line, TooLong)
        at, inside = _scan(row, len(UTF8) if number == 1 and line.startswith(UTF8) else 0, False, delimiter)
        if isinstance(line, TooLong):
            at, inside = 0, line.odd_quotes
        while inside:
            _, more = next(following, (0, None))
            if more is None:
                reason = "a quoted field of this row is not closed; nothing from here on can be read"
                raise DocumentError(source.path, number, reason)
            too_long = too_long or isinstance(more, TooLong) or len(row) + len(more) > source.longest
            if too_long:
                row, at = bytearray(), 0
            if isinstance(more, TooLong):
                inside ^= more.odd_quotes
                continue
            row += more
            at, inside = _scan(row, at, inside, delimiter)
        yield number, TooLong.of("the row", source.longest) if too_long else bytes(row)


def _scan(row: bytearray, at: int, inside: bool, delimiter: bytes) -> tuple[int, bool]:
    """Scan a row from `at`, where a field begins or, with `inside`, within a quoted one.

    Return (where to go on once more of the row is there, whether a quoted field is still open).
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


def cells(row: bytes, delimiter: bytes) -> list[bytes]:
    r"""Split a row into its fields without their quotes.

    Raises RecordError where something else than a delimiter follows a closing quote.

    >>> cells(b'1,"a, ""b"" c",d"e\r\n', b",")
    [b'1', b'a, "b" c', b'd"e']
    """
    body = row[:-2] if row.endswith(b"\r\n") else row.removesuffix(b"\n")
    if b'"' not in body:
        return body.split(delimiter)
    found: list[bytes] = []
    start = 0
    while True:
        if body.startswith(b'"', start):
            end = start + 1
            while (end := body.find(b'"', end)) >= 0 and body.startswith(b'"', end + 1):
                end += 2
            if end < 0:
                raise RecordError(f"field {len(found) + 1} opens a quote and does not close it")
            field = body[start + 1 : end].replace(b'""', b'"')
            end += 1
            if end < len(body) and not body.startswith(delimiter, end):
                follows = body[end : end + 10].decode("utf-8", "replace")
                raise RecordError(
                    f"after the closing quote of field {len(found) + 1} comes {follows!r}; a quote within a quoted field is "
                    "written twice"
                )
        else:
            end = body.find(delimiter, start)
            end = len(body) if end < 0 else end
            field = body[start:end]
        found.append(field)
        if end >= len(body):
            return found
        start = end + len(delimiter)


def header(source: Source) -> list[str]:
    """Read the names of the columns. Raises DocumentError where there is no header that can be read."""
    try:
        _, row = next(raw_rows(source), (1, b""))
    except DocumentError as error:  # without it the file has no records
        raise DocumentError(source.path, None, error.reason) from error
    if isinstance(row, TooLong):
        raise DocumentError(source.path, None, row.reason)
    try:
        names = [name.decode() for name in cells(without_mark(row), DELIMITERS[source.kind])]
    except RecordError as error:
        raise DocumentError(source.path, None, f"the header cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(source.path, None, "the header is not UTF-8; convert the file: iconv -t UTF-8") from error
    if names == [""]:
        raise DocumentError(source.path, None, "has no header: its first line is empty; the first line names the columns")
    if any("\r" in name for name in names):
        raise DocumentError(source.path, None, "its lines end with CR alone; convert them to LF")
    return names


class Table:
    """The header of a file, which says where the fields of its records are.

    Parameters
    ----------
    source : Source
    fields : Fields
        Values of optional fields are None where a column is missing or a cell is empty.

    Raises
    ------
    DocumentError
        There is no header, or it lacks a column.
    """

    def __init__(self, source: Source, fields: Fields) -> None:
        self._delimiter, self._fields = DELIMITERS[source.kind], fields
        names = header(source)
        check_columns(source.path, names, {name: name for name in names}, fields)
        self._count = len(names)
        self._texts = [names.index(field) for field in fields.text]
        self._id = names.index(fields.id) if fields.id in names else None
        self._others = [
            (names.index(field) if field in names else None, field in fields.optional) for field in fields.others
        ]

    def parse(self, number: int, row: bytes) -> Record:
        """Parse a row. RecordError where it has more or fewer fields than the header, or is not UTF-8."""
        found = cells(row, self._delimiter)
        if len(found) != self._count:
            raise RecordError(f"{len(found)} fields, where the header has {self._count}")
        try:
            text = join_texts([found[i].decode() for i in self._texts])
            ident = MISSING if self._id is None else found[self._id].decode()
            values = tuple([
                None if i is None or (optional and not found[i]) else _value(found[i].decode())
                for i, optional in self._others
            ])
        except UnicodeDecodeError:
            raise RecordError("the row is not UTF-8; convert the file: iconv -t UTF-8") from None
        return Record(number, text, check_id(ident, self._fields), values, len(row))


def _value(text: str) -> str | int | float:
    """Convert a number written as in JSON, so that numbers are ordered as numbers; leave any other text."""
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def append_fields(row: bytes, delimiter: bytes, added: Sequence[str]) -> bytes:
    r"""Append fields to a row, quoted where they need it; the row itself stays as it is.

    >>> append_fields(b"1,a\r\n", b",", ["kept", "a,b"])
    b'1,a,kept,"a,b"\r\n'
    """
    end = b"\r\n" if row.endswith(b"\r\n") else b"\n" if row.endswith(b"\n") else b""
    fields = [field.encode("utf-8", "replace") for field in added]
    quoted = [b'"' + f.replace(b'"', b'""') + b'"' if _SPECIAL.search(f) or delimiter in f else f for f in fields]
    return row.removesuffix(end) + delimiter + delimiter.join(quoted) + end
