"""Choose the module that reads a source, as documents or as raw records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from ndcore.files import archived_pages, columnar, mail
from ndcore.files.archived_pages import Contents
from ndcore.files.blocks import Block, Wanted, flush_records
from ndcore.files.capture_index import iterate_captures
from ndcore.files.csv_tsv import CsvHeader, Rows
from ndcore.files.errors import DocumentError
from ndcore.files.file_reader import LineRange, read_lines, read_whole
from ndcore.files.formats import ARCHIVED, COLUMNAR, DELIMITERS
from ndcore.files.html_workers import Html, HtmlWorkers, with_text
from ndcore.files.json_elements import Elements
from ndcore.files.json_lines import JsonLines
from ndcore.files.mail import Messages
from ndcore.files.records import Fields, Record, RecordError
from ndcore.files.sources import Source, TooLong
from ndcore.files.text_encoding import EncodingError, decode, detect_encoding
from ndcore.files.web_archive import iterate_entries
from ndcore.text.inputs import Extracted

_BLOCK = 1 << 17  # bytes of the records in a block
SPLIT = ("jsonl", "json", "object", *DELIMITERS)  # the kinds of files that are split into records here


class RawRecords(Protocol):
    """The records of a file with the bytes between and around them, from which the file can be written again.

    Attributes
    ----------
    opening : bytes
        Bytes before the first record, known once it has been read: a bracket, a header.
    closing : bytes
        Bytes after the last record, known once it has been read.
    """

    opening: bytes
    closing: bytes

    def __iter__(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield (number from 1, bytes between the previous record and this one, record).

        A blank line is an empty record; a record longer than ``source.longest`` is a TooLong.
        """
        ...


class RawLines:
    """The lines of a JSON Lines file, or only the lines `within` a range of it."""

    opening = closing = b""

    def __init__(self, source: Source, within: LineRange | None = None) -> None:
        self._source, self._within = source, within

    def __iter__(self) -> Iterator[tuple[int, bytes, bytes]]:
        for number, line in read_lines(self._source, self._within):
            yield number, b"", line if isinstance(line, TooLong) or line.strip(b" \t\r\n") else b""


def cut_records(source: Source, added: Sequence[str] = ()) -> RawRecords:
    """Split a file of one of the kinds SPLIT, an mbox, or an index of captures into records.

    The header of a table gets the columns `added`.

    Iterating raises DocumentError if the file cannot be read or is damaged.
    """
    if source.kind in DELIMITERS:
        return Rows(source, added)
    if source.kind == "mbox":
        return Messages(source)
    return RawLines(source) if source.kind in ("jsonl", "cdx") else Elements(source)


Item = Record | Block | tuple[int | None, str] | None  # documents; (number, reason) of a rejected record; a blank line


class SourceReader:
    """Read the documents of sources.

    Parameters
    ----------
    fields : Fields
    html : {"page", "main"} or None
        As for `FileDocuments`.
    fast : bool
        As for `RecordParser`; also put records in blocks. Results do not depend on it.
    threads : int or None
        As for `HtmlWorkers` and `JsonLines`.

    Attributes
    ----------
    workers : HtmlWorkers
    """

    def __init__(self, fields: Fields, html: str | None = None, fast: bool = True, threads: int | None = 1) -> None:
        self._fields, self._lines = fields, JsonLines(fields, fast, html is not None, threads)
        self._texts_are_html, self._part, self._in_blocks = html is not None, html or "page", fast and html is None
        self.workers = HtmlWorkers(self._part, threads)

    def items(
        self, source: Source, wanted: Callable[[int | None], bool], contents: Contents | None = None,
        lines: Wanted | None = None,
    ) -> Iterator[Item]:
        """Yield the wanted documents as Records, (number, reason) of records that cannot be documents, None for blank lines.

        The documents of files of records are in Blocks, if `fast` and unless they are HTML.

        Parameters
        ----------
        wanted : callable
            Called once for each record that may be a document, in order, with its number (None for a whole file); not for
            lines of JSONL files and rows of columnar files. Unwanted records are not parsed if the format allows it.
        contents : Contents, optional
            Collects the spans and kinds of the records of an archive.
        lines : Wanted, optional
            The wanted lines of a JSONL file, or rows of a columnar file. None: all.

        Raises
        ------
        DocumentError
            The file cannot be read, or only up to some record.
        """
        if source.kind in ARCHIVED:
            entries = iterate_entries(source) if source.kind == "archive" else iterate_captures(source)
            return archived_pages.read_documents(source, entries, self._fields.others, self.workers, wanted,
                                                 contents or Contents())
        if source.kind in ("mail", "mbox"):
            return mail.read_documents(source, self._fields, self.workers, wanted)
        if source.kind in COLUMNAR:
            return self._extract_texts(source, columnar.read_rows(source, self._fields, lines, self._in_blocks))
        if source.kind == "jsonl":
            return self._extract_texts(source, self._lines.items(source, lines))
        if source.kind in SPLIT:
            records = self._parse_records(source, wanted)
            return self._extract_texts(source, _gather_records(records) if self._in_blocks else records)
        return self._read_whole(source, wanted)

    def _parse_records(self, source: Source, wanted: Callable[[int], bool]) -> Iterator[Item]:
        """Parse the wanted records of a file that is cut into records."""
        parse = CsvHeader(source, self._fields).parse if source.kind in DELIMITERS else self._lines.parser.parse
        for number, _, raw in cut_records(source):
            if isinstance(raw, TooLong):
                yield number, raw.reason
            elif not raw:
                yield None
            elif wanted(number):
                try:
                    item: Item = parse(number, raw)
                except RecordError as error:
                    item = (number, str(error))
                yield item

    def _extract_texts(self, source: Source, items: Iterator[Item]) -> Iterator[Item]:
        """Extract the texts of records that are HTML."""
        if not self._texts_are_html:
            yield from items
            return
        yield from self.workers.texts(source.path, _wrap_html(items, source.form.encoding or None))

    def _read_whole(self, source: Source, wanted: Callable[[None], bool]) -> Iterator[Item]:
        """Read a file that is one document."""
        if not wanted(None):
            return
        data = read_whole(source)
        record = Record(None, data, None, (), len(data))
        if source.kind == "html":
            page = Html(data, source.form.encoding or None, partial(with_text, record))
            yield from self.workers.texts(source.path, [page])
            return
        text = data if source.as_bytes else decode_source(source, data)
        yield record if text is data else with_text(record, text)


def _gather_records(items: Iterator[Item]) -> Iterator[Item]:
    """Gather consecutive records into blocks; an error is raised after the records before it."""
    records, size = list[tuple[int, Record]](), 0
    try:
        for item in items:
            if not isinstance(item, Record) or size >= _BLOCK:
                yield from flush_records(records)
                size = 0
            if isinstance(item, Record):
                records.append((0, item))
                size += item.size
            else:
                yield item
    except DocumentError:
        yield from flush_records(records)
        raise
    yield from flush_records(records)


def decode_source(source: Source, data: bytes) -> str | bytes:
    """Decode a text; UTF-8 stays bytes. Raises DocumentError if its encoding cannot be detected, or is not the named one."""
    try:
        if not source.encoding:
            source.set_encoding(detect_encoding(data))
        if source.encoding == "utf-8":
            return data
        text = decode(data, source.encoding)
        source.set_encoding(source.encoding)
        return Extracted.of(text, data)
    except EncodingError as error:
        raise DocumentError(source.path, None, str(error)) from error


def is_in_utf8(source: Source, data: bytes) -> bool:
    """Tell whether `decode_source` would return the data of a text as they are, and set the encoding if so."""
    if source.as_bytes:
        return True
    try:
        if (source.encoding or detect_encoding(data)) != "utf-8":
            return False
    except EncodingError:
        return False
    source.set_encoding("utf-8")
    return True


def _wrap_html(items: Iterator[Item], charset: str | None) -> Iterator[Html | Item]:
    """Yield an Html for the text of each document, and other items unchanged.

    `charset` is the encoding that the user named, if any, for texts that are bytes, which columns of Parquet may have.
    """
    for item in items:
        if isinstance(item, Record):
            yield Html(item.text, charset, partial(with_text, item))
        elif isinstance(item, Block):
            for i, text in enumerate(item.texts):
                yield Html(text, charset, partial(_replace_block_text, item.where([i])))
        else:
            yield item


def _replace_block_text(block: Block, text: Extracted | RecordError) -> Item:
    """Replace the HTML of a block of one document by its text; return (number, reason) if extraction failed."""
    return (int(block.numbers[0]), str(text)) if isinstance(text, RecordError) else block._replace(texts=[text])
