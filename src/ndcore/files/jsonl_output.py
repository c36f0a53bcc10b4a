"""Write documents as JSON Lines (https://jsonlines.org) to standard output: ``ndcore dedup -o -``.

A JSON record stays unchanged, on one line, unless its text is replaced. A row of a table or of a columnar file becomes an
object with its columns. Any other document has no fields, and becomes ``{"id": ..., "text": ...}``. Tables with two columns
of the same name, and values that JSON cannot hold, are refused.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import functools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np

from ndcore._batch import Batch
from ndcore._jsonl import LineReader
from ndcore._types import Bools, Ints, Text
from ndcore.files import columnar
from ndcore.files.csv_tsv import read_header, split_row
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.file_reader import read_spans
from ndcore.files.formats import COLUMNAR, DELIMITERS
from ndcore.files.json_values import to_json
from ndcore.files.records import ANNOTATION, MISSING, lookup, split_field
from ndcore.files.rewritten_inputs import find_row_positions, iterate_raw_documents, splice
from ndcore.files.source_reader import SPLIT
from ndcore.files.sources import Source
from ndcore.files.text_encoding import remove_mark
from ndcore.progress import Progress

_MARK = "\ufeff"
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)  # numbers are skipped, not converted
_BLANKS = re.compile(r"[ \t\n\r]*")
_COLON, _BEHIND = (re.compile(rf"[ \t\n\r]*({mark})[ \t\n\r]*") for mark in (":", "[,}]"))


def with_text(record: bytes, field: str, text: str) -> bytes:
    """Replace the string value of a field in a JSON object, in UTF-8; all other bytes, such as a byte order mark, stay.

    Parameters
    ----------
    field : str
        ``a.b`` is the field with that name, or else the field ``b`` of the object ``a``. If several fields have the same
        name, the last one counts, as for parsers of JSON.

    Raises
    ------
    ValueError
        The record is not a JSON object in UTF-8, or has no such field.

    Examples
    --------
    >>> with_text(b'{"n": -0, "text": "a b" , "n": 1.50}\\n', "text", "b")
    b'{"n": -0, "text": "b" , "n": 1.50}\\n'
    """
    joined, _ = _replace_texts(record, np.array([0]), np.array([len(record)]), np.array([0]), [text], field)
    return joined or _replace_anywhere(record, field, to_json(text))


def _replace_texts(
    buffer: bytes, begins: Ints, ends: Ints, which: Ints, texts: list[str], field: str
) -> tuple[bytes, Ints]:
    """Join lines, some with new texts, as `LineReader.replace` does; nothing is written of lines that it cannot change."""
    reader = _make_reader(field)
    if reader is None:
        return b"", np.zeros(len(begins) + 1, np.int64)
    return reader.replace(buffer, begins, ends, which, Batch(texts))


@functools.lru_cache(1)
def _make_reader(field: str) -> LineReader | None:
    """Make a reader for one text field, which has no use for an id; None for a name that UTF-8 lacks."""
    try:
        return LineReader(field, field + ".")
    except UnicodeEncodeError:
        return None


def _replace_anywhere(record: bytes, field: str, value: bytes) -> bytes:
    """Replace the value of a field in any record, also below another field; see `with_text`."""
    whole = record.decode("utf-8", "surrogatepass")
    place = _find_value(whole, int(whole.startswith(_MARK)), field)
    if place is None:
        raise ValueError(f"the record has no field {field!r}")
    start, end = place
    before, behind = (part.encode("utf-8", "surrogatepass") for part in (whole[:start], whole[end:]))
    return before + value + behind


def _find_value(whole: str, at: int, field: str) -> tuple[int, int] | None:
    """Find the bounds of the value of a field in the object at `at`; see `records.lookup`."""
    places = _find_values(whole, at)
    if field in places:
        return places[field]
    for first, rest in split_field(field):
        if first in places and whole[places[first][0]] == "{":
            place = _find_value(whole, places[first][0], rest)
            if place is not None:
                return place
    return None


def _find_values(whole: str, at: int) -> dict[str, tuple[int, int]]:
    """Map each name in the object at `at` to the bounds of its value."""
    places: dict[str, tuple[int, int]] = {}
    at = _skip_blanks(whole, at)
    if whole[at : at + 1] != "{":
        raise ValueError(f"no '{{' at character {at}")
    at = _skip_blanks(whole, at + 1)
    mark = whole[at : at + 1]
    while mark != "}":
        if whole[at : at + 1] != '"':
            raise ValueError(f"no name of a field at character {at}")
        name, at = _DECODER.raw_decode(whole, at)
        _, start = _skip_mark(_COLON, whole, at)
        _, end = _DECODER.raw_decode(whole, start)
        places[name] = start, end
        mark, at = _skip_mark(_BEHIND, whole, end)
    return places


def _skip_mark(pattern: re.Pattern[str], whole: str, at: int) -> tuple[str, int]:
    """Return a mark, and the position after the mark and the blanks around it. Raises ValueError if the mark is missing."""
    match = pattern.match(whole, at)
    if match is None:
        raise ValueError(f"no {':' if pattern is _COLON else ','!r} at character {_skip_blanks(whole, at)}")
    return match[1], match.end()


def _skip_blanks(whole: str, at: int) -> int:
    """Find the end of the blanks at a position."""
    blanks = _BLANKS.match(whole, at)
    return at if blanks is None else blanks.end()


Annotation = Callable[[int], dict[str, Any]]


class Edited(NamedTuple):
    """New texts for documents.

    Attributes
    ----------
    field : str
        The field of records that holds the text; ``a.b`` is the field with that name, or else the field ``b`` of the
        object ``a``.
    changed : ndarray of bool
        Whether each document has a new text.
    text : callable
        Returns the new text of such a document, given its position; called in ascending order.
    """

    field: str
    changed: Bools
    text: Callable[[int], Text]

    def change(self, record: dict[str, Any], position: int) -> bool:
        """Put the new text of a document into its record; return False if the text is unchanged."""
        if not self.changed[position]:
            return False
        _put(record, self.field, _as_str(self.text(position)))
        return True


def _put(record: dict[str, Any], field: str, text: str) -> None:
    """Replace the value of a field, which must exist; see `records.lookup`."""
    if field in record:
        record[field] = text
        return
    inner, rest = next((record[first], rest) for first, rest in split_field(field)
                       if first in record and lookup(record[first], rest) is not MISSING)
    _put(inner, rest, text)


_ON_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # strings of JSON hold no such bytes


def write_lines(
    file: IO[bytes], documents: FileDocuments, wanted: Bools, annotation: Annotation | None, report: Progress,
    edited: Edited | None = None,
) -> int:
    """Write a line of JSON for each wanted document, in the order of the inputs.

    Parameters
    ----------
    file : binary file
    wanted : bool array, shape (n,)
        Whether each document is written.
    annotation : callable or None
        Returns the value of the field ``ndcore`` for a position.
    report : Progress
        Gets ("writing", documents gone through, n).
    edited : Edited, optional
        New texts. In a JSON record only the text changes; all other bytes stay.

    Returns
    -------
    int
        Number of documents whose bytes are not UTF-8; U+FFFD replaces the invalid bytes.

    Raises
    ------
    DocumentError
        A file has changed, or a row holds a value that JSON cannot represent.
    """
    repaired = 0
    for index in range(len(documents.sources)):
        repaired += write_lines_of(file, documents, index, wanted, annotation, report, edited)
    return repaired


def write_lines_of(
    file: IO[bytes], documents: FileDocuments, index: int, wanted: Bools, annotation: Annotation | None, report: Progress,
    edited: Edited | None,
) -> int:
    """Write the lines of the documents of one source, as `write_lines` does for all."""
    source, span, repaired = documents.sources[index], documents.span(index), 0
    if documents.is_left_out(index) or not wanted[span.start : span.stop].any():
        return 0
    documents.check_unchanged(index)
    if source.kind == "jsonl":
        _write_json_lines(file, documents, index, wanted, annotation, report, edited)
    elif source.kind in SPLIT:
        _write_records(file, documents, index, wanted, annotation, report, edited)
    elif source.kind in COLUMNAR:
        repaired = _write_rows(file, documents, index, wanted, annotation, edited)
    else:
        repaired = _write_texts(file, documents, index, wanted, annotation, edited)
    documents.check_unchanged(index)
    report("writing", span.stop, len(documents.ids))
    return repaired


def _write_json_lines(
    file: IO[bytes], documents: FileDocuments, index: int, wanted: Bools, annotation: Annotation | None, report: Progress,
    edited: Edited | None,
) -> None:
    """Write lines of JSON, each with a line end, and the first one without a byte order mark."""
    first = documents.span(index).start
    lines = (iterate_lines(documents, index, wanted, edited, report) if annotation is None
             else _annotate_lines(documents, index, wanted, annotation, report, edited))
    for position, some in lines:
        file.write(remove_mark(some) if position == first else some)
        if not some.endswith(b"\n"):
            file.write(b"\n")


def _annotate_lines(
    documents: FileDocuments, index: int, wanted: Bools, annotation: Annotation, report: Progress, edited: Edited | None
) -> Iterator[tuple[int, bytes]]:
    """Yield (position, line) for each wanted line of a JSON Lines file, with its annotation."""
    for positions, data, begins, ends in _read_lines(documents, index, wanted, report):
        for position, begin, end in zip(positions.tolist(), begins.tolist(), ends.tolist(), strict=True):
            line = data[begin:end]
            if edited is not None and edited.changed[position]:
                line = replace_text(documents, position, line, edited.field, edited.text(position))
            yield position, splice(line, annotation(position))


def iterate_lines(
    documents: FileDocuments, index: int, wanted: Bools, edited: Edited | None, report: Progress
) -> Iterator[tuple[int, bytes]]:
    """Yield the wanted lines of a JSON Lines file, some with new texts, many together: (position of the first, lines)."""
    for positions, data, begins, ends in _read_lines(documents, index, wanted, report):
        field, changed, texts = "", np.zeros(len(positions), np.bool_), list[str]()
        if edited is not None:
            field, changed = edited.field, edited.changed[positions]
            texts = [_as_str(edited.text(position)) for position in positions[changed].tolist()]
        which = np.where(changed, np.cumsum(changed) - 1, -1)
        joined, bounds = _replace_texts(data, begins, ends, which, texts, field)
        at = 0  # the first line that was not yielded
        for i in np.flatnonzero(bounds[1:] == bounds[:-1]).tolist():
            if at < i:
                yield int(positions[at]), joined[bounds[at] : bounds[i]]
            position, line = int(positions[i]), data[begins[i] : ends[i]]
            yield position, replace_text(documents, position, line, field, texts[which[i]]) if changed[i] else line
            at = i + 1
        if at < len(positions):
            yield int(positions[at]), joined[bounds[at] :]


def _read_lines(
    documents: FileDocuments, index: int, wanted: Bools, report: Progress
) -> Iterator[tuple[Ints, bytes, Ints, Ints]]:
    """Yield the wanted lines of a JSON Lines file: positions, bytes that hold them, and where in these each is."""
    span, (starts, ends) = documents.span(index), documents.line_spans(index)
    for which, data in read_spans(documents.sources[index], starts, ends):
        rows = np.arange(which.start, which.stop)[wanted[span.start + which.start : span.start + which.stop]]
        yield span.start + rows, data, starts[rows] - starts[which.start], ends[rows] - starts[which.start]
        report("writing", span.start + which.stop, len(documents.ids))


def _write_records(
    file: IO[bytes], documents: FileDocuments, index: int, wanted: Bools, annotation: Annotation | None, report: Progress,
    edited: Edited | None,
) -> None:
    """Write records of other text, each on one line."""
    source = documents.sources[index]
    names = read_header(source) if source.kind in DELIMITERS else []
    first = True
    for position, _, raw in iterate_raw_documents(documents, index, report):
        line, first = remove_mark(raw) if first else raw, False
        if wanted[position]:
            if names:
                values = split_row(source, raw)
                record = dict(zip(names, values, strict=True))
                if edited is not None:
                    edited.change(record, position)
                line = to_json(record)
            else:
                line = line.translate(_ON_ONE_LINE)
                if edited is not None and edited.changed[position]:
                    line = replace_text(documents, position, line, edited.field, edited.text(position))
            line = line if annotation is None else splice(line, annotation(position))
            file.write(line + b"\n")


def replace_text(documents: FileDocuments, position: int, line: bytes, field: str, text: Text) -> bytes:
    """Put the new text of a document into its record of JSON; all other bytes stay as they are."""
    try:
        return with_text(line, field, _as_str(text))
    except (ValueError, RecursionError) as error:
        place = documents.place(position)
        raise DocumentError(place.file, place.line, f"cannot be written with its new text: {error}") from error


def _as_str(text: Text) -> str:
    """Return a text as str, with U+FFFD for bytes that are not UTF-8."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _write_texts(file: IO[bytes], documents: FileDocuments, index: int, wanted: Bools, annotation: Annotation | None,
                 edited: Edited | None) -> int:
    """Write whole files and pages as id and text, and count the ones that are not UTF-8."""
    only = np.zeros_like(wanted)
    span = documents.span(index)
    only[span.start : span.stop] = wanted[span.start : span.stop]
    repaired = 0
    for positions, texts in documents.selected(only):
        for position, text in zip(positions.tolist(), texts, strict=True):
            if isinstance(text, bytes):
                decoded = text.decode("utf-8", "replace")
                repaired += decoded.encode() != text
                text = decoded
            record: dict[str, Any] = {"id": documents.ids[position], "text": text}
            if edited is not None:
                edited._replace(field="text").change(record, position)
            file.write(to_json(record if annotation is None else record | {ANNOTATION: annotation(position)}) + b"\n")
    return repaired


def _write_rows(file: IO[bytes], documents: FileDocuments, index: int, wanted: Bools, annotation: Annotation | None,
                edited: Edited | None) -> int:
    """Write rows of Parquet and Arrow. With new texts, count the texts that are not UTF-8."""
    source, repaired = documents.sources[index], 0
    positions, span = find_row_positions(documents, index), documents.span(index)
    chosen = positions >= 0
    chosen[chosen] = wanted[span.start : span.stop]
    with columnar.open_file(source) as opened:
        names = opened.schema.names
        for first, batch in opened.batches():
            columns = [columnar.get_column_values(batch, name) for name in names]
            for number, row in enumerate(zip(*columns, strict=True), first):
                if chosen[number]:
                    record = dict(zip(names, row, strict=True))
                    if edited is not None:
                        repaired += _decode_column(record, edited.field)
                        edited.change(record, int(positions[number]))
                    if annotation is not None:
                        record[ANNOTATION] = annotation(int(positions[number]))
                    file.write(_encode_row(source, number, record) + b"\n")
    return repaired


def _decode_column(record: dict[str, Any], field: str) -> bool:
    """Decode a text in a column of bytes, with U+FFFD for invalid bytes; return whether there are any."""
    text = record.get(field)
    if not isinstance(text, bytes):
        return False
    record[field] = text.decode("utf-8", "replace")
    return bool(record[field].encode() != text)


def check_rows(documents: FileDocuments, texts: Sequence[str], edited: bool, annotated: bool) -> None:
    """Check, before a search, that `write_lines` can write the rows of tables and of files of columns.

    Streams are copied to temporary files. Columns that may hold values that JSON cannot represent are read once.

    Parameters
    ----------
    texts : sequence of str
        The fields that hold the text.
    edited : bool
        New texts replace them, so the old ones may be any bytes.
    annotated : bool
        Rows get a field ``ndcore``.

    Raises
    ------
    UsageError
        Two columns have the same name, or a row holds a value that JSON cannot represent.
    """
    documents.spool()
    for source in documents.sources:
        if source.problem or not source.location:
            continue
        with contextlib.suppress(DocumentError):  # the search reports files that cannot be read
            if source.kind in DELIMITERS:
                _check_names(source, read_header(source), annotated)
            elif source.kind in COLUMNAR:
                _check_values(source, texts, edited, annotated)


def _check_names(source: Source, names: list[str], annotated: bool) -> None:
    """Raise UsageError if columns cannot be the fields of one object."""
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{source.path}: has {names.count(name)} columns {name!r}, and a JSON object has one field of "
                             "each name; rename one")
        if annotated and name == ANNOTATION:
            raise UsageError(f"{source.path}: has a column {name!r} already, which annotation adds; rename it")


def _check_values(source: Source, texts: Sequence[str], edited: bool, annotated: bool) -> None:
    """Raise UsageError if a row of a columnar file holds a value that JSON cannot represent."""
    with columnar.open_file(source) as opened:
        _check_names(source, opened.schema.names, annotated)
        names = [each.name for each in opened.schema
                 if not (edited and each.name in texts) and columnar.needs_check(each.type, each.name in texts)]
        for first, batch in opened.batches(names) if names else ():
            for name in names:
                if not columnar.is_utf8(batch, name):
                    _check_column(source, batch, name, first)


def _check_column(source: Source, batch: Any, name: str, number: int) -> None:
    """Raise UsageError if a column of a batch holds a value that JSON cannot represent; `number`: its first row."""
    try:
        for value in columnar.get_column_values(batch, name):
            to_json(value, allow_nan=True, default=_convert_value)
            number += 1
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{source.path}:{number}: the column {name!r} cannot be written as JSON: {error}; convert it, or "
                         "leave it out of the file; ndcore dedup writes rows as they are to a directory") from error


def _encode_row(source: Source, number: int, record: dict[str, Any]) -> bytes:
    """Encode a row as JSON: dates and times as in ISO 8601, durations in seconds, decimals as strings, nan as null."""
    try:
        try:
            return to_json(record, default=_convert_value)
        except ValueError:  # nan or an infinity, which JSON cannot represent
            return to_json(json.loads(json.dumps(record, default=_convert_value), parse_constant=_replace_constant))
    except (TypeError, ValueError) as error:
        raise DocumentError(source.path, number, f"cannot be written as JSON: {error}; convert the column, or let ndcore "
                            "dedup write to a directory") from error


def _replace_constant(name: str) -> None:
    """Replace nan, Infinity and -Infinity by null."""


def _convert_value(value: Any) -> Any:
    """Convert a value that the json module cannot encode."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise TypeError(f"it has bytes that are not UTF-8: {value[:20]!r}") from None
    raise TypeError(f"it has a {type(value).__name__}")
