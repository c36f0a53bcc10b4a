"""Read documents once, each with its id, date and place.

`FileDocuments` is for jobs that read documents repeatedly: it collects every id and place, and stores the text of pages.
`SinglePass` collects nothing, so its memory does not grow with the inputs.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ndcore._types import Closing, Text
from ndcore.files.blocks import Block
from ndcore.files.errors import DocumentError, Rejections
from ndcore.files.field_values import parse_date
from ndcore.files.provenance import Place
from ndcore.files.records import Fields, Record, RecordError
from ndcore.files.source_reader import SourceReader
from ndcore.files.sources import Ignored, Inputs, Position, Source
from ndcore.files.stream_copies import WorkDirectory, copy_stream
from ndcore.text.inputs import is_by_tags


class Dated(NamedTuple):
    """A document with its id, its date (None if unknown) and its place."""

    id: str | int
    text: Text
    date: datetime.datetime | None
    place: Place


class SinglePass(Closing):
    """The documents of some files, in order; iterate once.

    Parameters
    ----------
    inputs : Inputs
    text_field, id_field, require_id, on_error, html, threads, told
        As for `FileDocuments`. The id of a file that is one document is its path below the input.
    date_field : str, optional
        Field or column that holds the date (see `parse_date`). None: records of archives have their date of capture, other
        documents have none.
    date : datetime, optional
        Date of documents that have none of their own.
    require_date : bool
        A record without the field `date_field` is an error, unless `date` is given.

    Attributes
    ----------
    rejected : list of Rejected
    ignored : list of Ignored
    by_tags : list of (id, Place)
        The pages that were read by their tags alone, because parsing would take too long (see `html_reader`).
    """

    def __init__(
        self,
        inputs: Inputs,
        *,
        text_field: str | Sequence[str] = "text",
        id_field: str = "id",
        require_id: bool = False,
        date_field: str | None = None,
        date: datetime.datetime | None = None,
        require_date: bool = True,
        on_error: str = "stop",
        html: str | None = None,
        threads: int | None = 1,
        told: Callable[[Sequence[Source]], None] | None = None,
    ) -> None:
        texts = (text_field,) if isinstance(text_field, str) else tuple(text_field)
        others = () if date_field is None else (date_field,)
        self._may_lack_date = date is not None or not require_date
        optional = frozenset(others if self._may_lack_date else ())
        self._reader = SourceReader(Fields(texts, id_field, require_id, others, optional), html, threads=threads)
        self._sources, self.ignored = inputs.sources, list(inputs.ignored)
        self._date, self._field = date, date_field
        self._work, self._position = WorkDirectory(), Position(inputs.sources)
        self._told = told
        self._given, self.rejected = 0, Rejections(on_error == "skip")
        self.by_tags: list[tuple[str | int, Place]] = []

    def close(self) -> None:
        """Remove the temporary copies of streams, and end other processes."""
        self._reader.workers.close()
        self._work.close()
        if self._told is not None:
            self._told(self._sources)

    @property
    def read(self) -> int:
        """Documents read, rejected ones included."""
        return self._given + len(self.rejected)

    def position(self) -> tuple[int, int] | None:
        """Return the approximate progress, (bytes of files read, bytes of all files), or None, as `Position.now` does."""
        return self._position.now()

    def refuse(self, place: Place, reason: str) -> None:
        """Reject a document that was yielded. Raises DocumentError unless errors are skipped."""
        self._given -= 1
        if self.by_tags and self.by_tags[-1][1] == place:
            self.by_tags.pop()
        self.rejected.add(DocumentError(place.file, place.line, reason))

    def __iter__(self) -> Iterator[Dated]:
        """Yield the documents.

        Raises
        ------
        DocumentError
            A document cannot be read, and `on_error` is "stop".
        """
        for index, source in enumerate(self._sources):
            self._position.at, source.seen = index, 0
            try:
                yield from self._read_source(source)
            except DocumentError as error:
                self.rejected.add(error)
        self._position.at = len(self._sources)

    def _read_source(self, source: Source) -> Iterator[Dated]:
        """Yield the documents of a source. Raises DocumentError if it cannot be read, or only up to some record."""
        copy_stream(source, self._work)
        for item in self._reader.items(source, lambda number: True):
            if isinstance(item, tuple) and not isinstance(item, (Record, Block)):
                if item[0] == 1 and source.kind == "object" and not source.named:
                    self.ignored.append(Ignored(source.path, "JSON without documents"))
                    return
                self.rejected.add(DocumentError(source.path, *item))
            elif item is not None:
                yield from self._add_dates(source, iterate_records(item))

    def _add_dates(self, source: Source, records: Iterator[Record]) -> Iterator[Dated]:
        """Yield records as documents."""
        for record in records:
            ident = source.make_id(record.number) if record.id is None else record.id
            try:
                date = self._find_date(record)
            except RecordError as error:
                self.rejected.add(DocumentError(source.path, record.number, str(error)))
                continue
            self._given += 1
            place = Place(source.path, record.number, record.offset, date)
            if is_by_tags(record.text):
                self.by_tags.append((ident, place))
            yield Dated(ident, record.text, date, place)

    def _find_date(self, record: Record) -> datetime.datetime | None:
        """Find the date of a record. Raises RecordError if its field does not hold a date."""
        if self._field is None or not record.values:
            return record.date or self._date
        value = record.values[0]
        if value is None and self._may_lack_date:
            return record.date or self._date
        try:
            return parse_date(value)
        except RecordError as error:
            raise RecordError(f"the date field {self._field!r}: {error}") from None


def iterate_records(item: Record | Block) -> Iterator[Record]:
    """Yield the records of a block, or the one record."""
    if isinstance(item, Record):
        yield item
        return
    values: Sequence[tuple[Any, ...]] = item.values or [()] * len(item.numbers)
    rows = zip(item.numbers.tolist(), item.texts, item.list_ids(), values, item.sizes.tolist(), strict=True)
    for row in rows:
        yield Record(*row)
