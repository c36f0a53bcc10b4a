"""CSV and TSV with a header: rows as they stand in the file (RFC 4180), and as records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ndcore.files.errors import DocumentError
from ndcore.files.file_reader import lines
from ndcore.files.formats import DELIMITERS
from ndcore.files.records import MISSING, Record, RecordError, RecordParser, check_columns, check_id
from ndcore.files.records import joined as merged
from ndcore.files.sources import Source

LONGEST = 256 << 20  # bytes of a row that are held in memory
_BOM = b"\xef\xbb\xbf"
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def raw_rows(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield the line where a row begins (from 1) and its bytes, line end included; the first row is the header.

    A field that begins with a quote ends at the next quote that is not doubled, and may hold line ends. Elsewhere a quote
    is a character like others.

    Raises
    ------
    DocumentError
        The file cannot be read or is damaged; a quote is opened and not closed.
    """
    delimiter = DELIMITERS[source.kind]
    following = lines(source)
    for number, line in following:
        if b'"' not in line:
            yield number, line
            continue
        row = bytearray(line)
        at, inside = _scan(row, 3 if number == 1 and line.startswith(_BOM) else 0, False, delimiter)
        while inside:
            more = next(following, None)
            if more is None or len(row) > LONGEST:
                why = "is not closed" if more is None else f"is not closed within {LONGEST >> 20} MiB"
                reason = f"a quoted field of this row {why}; nothing from here on can be read"
                raise DocumentError(source.path, number, reason)
            row += more[1]
            at, inside = _scan(row, at, inside, delimiter)
        yield number, bytes(row)


def _scan(row: bytearray, at: int, inside: bool, delimiter: bytes) -> tuple[int, bool]:
    """Go on from where a field begins, or inside of a quoted one: where to go on again, and whether inside of one there."""
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
    r"""Return the fields of a row without their quotes.

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
    """Return the names of the columns. Raises DocumentError where there is no header that can be read."""
    try:
        _, row = next(raw_rows(source), (1, b""))
    except DocumentError as error:  # without it the file has no records
        raise DocumentError(source.path, None, error.reason) from error
    try:
        names = [name.decode() for name in cells(row.removeprefix(_BOM), DELIMITERS[source.kind])]
    except RecordError as error:
        raise DocumentError(source.path, None, f"the header cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(source.path, None, "the header is not UTF-8; convert the file: iconv -t UTF-8") from error
    if any("\r" in name for name in names):
        raise DocumentError(source.path, None, "its lines end with CR alone; convert them to LF")
    return names


class Table:
    """The header of a file, and its rows as records.

    Parameters
    ----------
    source : Source
    parser : RecordParser
        Which columns are the text, the id and the others; only optional ones may be missing, or empty.
    forbidden : sequence of str
        Columns that the file may not have (those that annotation adds).

    Raises
    ------
    DocumentError
        There is no header, or it lacks a column.
    """

    def __init__(self, source: Source, parser: RecordParser, forbidden: Sequence[str] = ()) -> None:
        self._delimiter, self._parser = DELIMITERS[source.kind], parser
        names = header(source)
        required = [field for field in parser.fields if field not in parser.optional]
        check_columns(source.path, names, {name: name for name in names}, parser.text_fields, parser.id_field,
                      parser.require_id, required, forbidden)
        self._count = len(names)
        self._texts = [names.index(field) for field in parser.text_fields]
        self._id = names.index(parser.id_field) if parser.id_field in names else None
        self._others = [names.index(field) if field in names else None for field in parser.fields]
        self._optional = [field in parser.optional for field in parser.fields]

    def parse(self, number: int, row: bytes) -> Record:
        """Return the record of a row. Raises RecordError where it has not as many fields as the header, or is not UTF-8."""
        found = cells(row, self._delimiter)
        if len(found) != self._count:
            raise RecordError(f"{len(found)} fields, where the header has {self._count}")
        try:
            text = merged([found[i].decode() for i in self._texts])
            ident = MISSING if self._id is None else found[self._id].decode()
            values = tuple([
                None if i is None or (optional and not found[i]) else _value(found[i].decode())
                for i, optional in zip(self._others, self._optional, strict=True)
            ])
        except UnicodeDecodeError:
            raise RecordError("the row is not UTF-8; convert the file: iconv -t UTF-8") from None
        return Record(number, text, check_id(ident, self._parser.id_field, self._parser.require_id), values, len(row))


def _value(text: str) -> str | int | float:
    """A number where it is written as JSON writes them, so that numbers are ordered as numbers."""
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def joined(row: bytes, delimiter: bytes, added: Sequence[str]) -> bytes:
    r"""Return `row` with fields added at its end, quoted where they need it; the row itself stays as it is.

    >>> joined(b"1,a\r\n", b",", ["kept", "a,b"])
    b'1,a,kept,"a,b"\r\n'
    """
    end = b"\r\n" if row.endswith(b"\r\n") else b"\n" if row.endswith(b"\n") else b""
    fields = [field.encode("utf-8", "replace") for field in added]
    quoted = [b'"' + f.replace(b'"', b'""') + b'"' if _SPECIAL.search(f) or delimiter in f else f for f in fields]
    return row.removesuffix(end) + delimiter + delimiter.join(quoted) + end


_SPECIAL = re.compile(rb'["\r\n]')
