"""Tasks that read files by `ndcore.files`: the documents of text, JSON, CSV, HTML and web archives."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ndcore.files.archived_pages import Contents
from ndcore.files.blocks import Block
from ndcore.files.errors import DocumentError
from ndcore.files.field_values import SortKeys, sort_keys
from ndcore.files.file_reader import LineRange, refuse_change, state_of
from ndcore.files.html_text import make_html_reader
from ndcore.files.json_lines import RecordParser
from ndcore.files.records import Fields, Record, RecordError
from ndcore.files.single_pass import iterate_records
from ndcore.files.source_reader import RawLines, SourceReader
from ndcore.files.sources import Source, TooLong
from ndcore.files.stream_copies import WorkDirectory, copy_stream
from ndcore.phases.columns import Batches, pa
from ndcore.spark.file_ranges import FileRange
from ndcore.text.inputs import Extracted, as_bytes, is_by_tags

KEYS = "kind string, number binary, date binary, name binary"  # `SortKeys`; "text" is the document's
DOCUMENTS = ("file string, record bigint, id string, text binary, label string, version string, "
             f"{KEYS}, line binary, by_tags boolean")
BYTES = 16 << 20  # about as many bytes of texts are in a batch
ROWS = 10_000


def read_documents(
    batches: Batches, *, tasks: list[list[FileRange]], fields: Fields, html: str | None, label: str | None,
    version: str | None, order: str | None, titles: bool
) -> Iterator[Any]:
    """Read the documents of the tasks at the positions in the column ``at``, as rows of DOCUMENTS.

    ``record`` counts from 1, and is 0 for a file that is one document. ``label`` and ``version`` are
    fields of labels, as JSON; KEYS are of the field that orders; ``line`` is an unchanged line of JSONL; ``by_tags`` is
    true for a page that was not parsed (see `make_html_reader`).

    Raises
    ------
    DocumentError
        A document cannot be read, or, with `titles`, is a page with a title, which would be lost; the message names the file
        and the record. A file has changed.
    """
    positions = [None if name is None else fields.others.index(name) for name in (label, version, order)]
    rows: list[tuple[Any, ...]] = []
    held = 0
    ranges = (part for batch in batches for at in batch.column("at").to_pylist() for part in tasks[at])
    for source, record, line in _read_ranges(ranges, fields, html):
        if titles and isinstance(record.text, Extracted) and record.text.page_title:
            raise DocumentError(source.path, record.number, "--must-agree title compares titles of HTML in ndcore dedup "
                                                            "only; leave it out")
        *labels, value = (None if i is None else record.values[i] for i in positions)
        text = as_bytes(record.text)
        rows.append((
            source.path, record.number or 0, None if record.id is None else str(record.id), text,
            *(None if name is None else json.dumps(value_of, sort_keys=True, default=str)
              for name, value_of in zip((label, version), labels, strict=True)),
            *_ordering(source, record, value, order), line, is_by_tags(record.text),
        ))
        held += len(text) + len(line or b"")
        if held >= BYTES or len(rows) >= ROWS:
            yield _as_batch(rows)
            rows, held = [], 0
    if rows:
        yield _as_batch(rows)


def _read_ranges(
    ranges: Iterable[FileRange], fields: Fields, html: str | None
) -> Iterator[tuple[Source, Record, bytes | None]]:
    """Yield the documents of ranges of files, for JSONL with their lines; a URL that is not split is copied first."""
    for part in ranges:
        source, state = part.source, part.state
        refuse_change(source, state, state_of(source))
        if source.problem:
            raise DocumentError(source.path, None, source.problem)
        with contextlib.closing(WorkDirectory()) as work:
            read = replace(source)
            if part.lines is None:
                copy_stream(read, work)
            documents = _lines(read, part.lines, fields, html) if source.kind == "jsonl" else _records(read, fields, html)
            for record, line in documents:
                source.seen = read.seen
                yield source, record, line
        refuse_change(source, state, state_of(source))


def _records(source: Source, fields: Fields, html: str | None) -> Iterator[tuple[Record, None]]:
    """Yield the documents of a file that is not JSONL."""
    reader = SourceReader(fields, html)
    with contextlib.closing(reader.workers):
        for item in reader.items(source, lambda number: True, Contents()):
            if isinstance(item, (Record, Block)):
                yield from ((record, None) for record in iterate_records(item))
            elif item is not None:
                raise DocumentError(source.path, *item)


def _lines(
    source: Source, within: LineRange | None, fields: Fields, html: str | None
) -> Iterator[tuple[Record, bytes]]:
    """Yield the documents of a JSONL file, or of lines of it, with their lines."""
    parser = RecordParser(fields)
    extract: Callable[[Any, None], Any] | None = None if html is None else make_html_reader(source.path, html)
    for number, _, line in RawLines(source, within):
        if isinstance(line, TooLong):
            raise DocumentError(source.path, number, line.reason)
        if not line:
            continue
        try:
            record = parser.parse(number, line)
        except RecordError as error:
            raise DocumentError(source.path, number, str(error)) from None
        if extract is not None:
            record = record._replace(text=extract(record.text, None))
        yield record, line.rstrip(b"\r\n")


def _ordering(source: Source, record: Record, value: Any, order: str | None) -> SortKeys:
    """Return the sort keys of a record. Raises DocumentError if it cannot be ordered."""
    try:
        return sort_keys(value)
    except RecordError as error:
        raise DocumentError(source.path, record.number, f"the field {order!r} is {error}") from None


def _as_batch(rows: list[tuple[Any, ...]]) -> Any:
    """Make a record batch from rows of DOCUMENTS."""
    kinds = {"string": pa.string(), "bigint": pa.int64(), "binary": pa.binary(), "boolean": pa.bool_()}
    names = [part.split() for part in DOCUMENTS.split(", ")]
    arrays = [pa.array(column, kinds[kind]) for column, (_, kind) in zip(zip(*rows, strict=True), names, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, [name for name, _ in names])
