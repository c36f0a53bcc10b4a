"""Records of documents as outputs copy them: with their positions, and with what stands around them in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO

import numpy as np

from ndcore._types import Ints
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.raw_records import RawRecords, raw_records
from ndcore.progress import Progress

REPORT_EVERY = 1024  # documents


def write_records(
    file: IO[bytes],
    documents: FileDocuments,
    index: int,
    report: Progress,
    written: Callable[[int, bytes], bytes | None],
    added: Sequence[str] = (),
) -> None:
    """Write the records of a file that is cut into records, and what stands around them.

    Parameters
    ----------
    written : callable
        From (position, record) of a document to the bytes to write for it, None to leave it out.
    added : sequence of str
        Columns to add to the header of a table.
    """
    records = raw_records(documents.sources[index], added)
    pieces = (
        (before, record)
        for position, before, raw in raw_documents(documents, index, report, records)
        if (record := written(position, raw)) is not None
    )
    write_around(file, records, pieces)


def write_around(file: IO[bytes], records: RawRecords, pieces: Iterable[tuple[bytes, bytes]]) -> None:
    """Write some of the records of a file, each with the bytes before it, and what stands around all records."""
    first = True
    for before, record in pieces:
        file.write((records.opening if first else before) + record)
        first = False
    file.write((records.opening if first else b"") + records.closing)


def raw_documents(
    documents: FileDocuments, index: int, report: Progress, records: RawRecords | None = None
) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield (position, bytes before the record, record) of each document of a file that is cut into records."""
    source = documents.sources[index]
    position = documents.span(index).start
    try:
        for number, before, raw in records or raw_records(source):
            if raw and not documents.is_rejected(index, number):
                yield position, before, raw
                position += 1
                if position % REPORT_EVERY == 0:
                    report("writing", position, len(documents.ids))
    except DocumentError as error:
        if not documents.is_rejected(index, error.number):
            raise


def positions_of_rows(documents: FileDocuments, index: int) -> Ints:
    """Return the position of the document in each row of a file of columns, int64; −1 for rejected rows, and for row 0."""
    span, rejected = documents.span(index), documents.rejected_numbers(index)
    found = np.full(1 + len(span) + len(rejected), -1, np.int64)
    there = np.ones(len(found), np.bool_)
    there[[0, *rejected]] = False
    found[there] = np.arange(span.start, span.stop)
    return found
