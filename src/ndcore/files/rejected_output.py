"""``rejected/``: the records that were rejected, as they stand in the inputs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from ndcore.files import columnar
from ndcore.files.compression import open_writer
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.file_reader import read_whole
from ndcore.files.formats import COLUMNAR
from ndcore.files.kept_output import ArchiveCopy, is_at_hand
from ndcore.files.output_directory import OutputDirectory
from ndcore.files.output_records import write_around
from ndcore.files.raw_records import RawRecords, raw_records
from ndcore.files.sources import Source
from ndcore.files.web_archive import ArchiveEntry, entries

__all__ = ["SavedRecords", "write_rejected"]

FOLDER = "rejected"
SavedRecords = dict[tuple[str, int | None], str]  # from path and number of a record to the file that has its bytes


def write_rejected(output: OutputDirectory, documents: FileDocuments) -> SavedRecords:
    """Write the rejected records of every input, in its own format and under its name in ``kept/``, untouched.

    Left out are records longer than ``source.longest``, and what lies behind a place from which on a file cannot be read.
    Nothing is written of an input without rejected records.

    Returns
    -------
    dict
        The records that were written.

    Raises
    ------
    DocumentError
        A file has changed.
    """
    saved: SavedRecords = {}
    for index, source in enumerate(documents.sources):
        if documents.is_rejected(index, None):
            numbers: list[int | None] = [None] if _write_file(output, source) else []
        elif documents.counts(index)[1]:
            documents.check_unchanged(index)
            numbers = [*_write_numbered(output, documents, index)]
            documents.check_unchanged(index)
        else:
            continue
        saved |= {(source.path, number): f"{FOLDER}/{source.name}" for number in numbers}
    return saved


def _write_file(output: OutputDirectory, source: Source) -> bool:
    """Write a file that was rejected as a whole; return False where it is too long, or cannot be read at all."""
    try:
        if source.stored == source.compression:
            with Path(source.location).open("rb") as file:
                if os.fstat(file.fileno()).st_size > source.longest:
                    return False
                data = file.read()
            compression = ""
        else:
            data, compression = read_whole(source), source.compression
    except (OSError, DocumentError):
        return False
    with open_writer(output.below(FOLDER, source.name), compression) as target:
        target.write(data)
    return True


def _write_numbered(output: OutputDirectory, documents: FileDocuments, index: int) -> list[int]:
    """Write the rejected records of a file, and return their numbers."""
    source = documents.sources[index]
    if source.kind in COLUMNAR:
        last = source.readable
        numbers = [number for number in documents.rejected_numbers(index) if last is None or number <= last]
        if not numbers:
            return []
        columnar.rewrite(source, output.below(FOLDER, source.name), set(numbers).__contains__, None)
        return numbers
    written: list[int] = []
    if source.kind == "archive":
        rejected = (entry for entry in entries(source) if documents.is_rejected(index, entry.number))
        copied = (entry for entry in rejected if is_at_hand(source, entry) and not _is_too_long(source, entry))
        for entry in islice(copied, 1):
            with ArchiveCopy(source, output.below(FOLDER, source.name)) as copy:
                for each in chain([entry], copied):
                    copy.add(each)
                    written.append(each.number)
        return written
    records = raw_records(source)
    pieces = _pieces(documents, index, records, written)
    for piece in islice(pieces, 1):
        with open_writer(output.below(FOLDER, source.name), source.compression) as file:
            write_around(file, records, chain([piece], pieces))
    return written


def _is_too_long(source: Source, entry: ArchiveEntry) -> bool:
    """Tell whether a record of an archive, or a broken place, has more bytes than a record may have."""
    start, end = entry.span or (0, 0)
    return max(end - start, 0 if entry.head is None else entry.head.length) > source.longest


def _pieces(documents: FileDocuments, index: int, records: RawRecords, written: list[int]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the bytes before each rejected record that is not too long, and the record; append its number to `written`."""
    try:
        for number, before, raw in records:
            if raw and documents.is_rejected(index, number):
                written.append(number)
                yield before, raw
    except DocumentError as error:
        if not documents.is_rejected(index, error.number):
            raise
