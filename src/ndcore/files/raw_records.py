"""Files of text cut into records as they stand there: lines of JSON, elements of JSON, rows of CSV and TSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ndcore.files.csv_tsv import Rows
from ndcore.files.file_reader import lines
from ndcore.files.formats import DELIMITERS
from ndcore.files.json_elements import Elements
from ndcore.files.mail import Messages
from ndcore.files.sources import Source, TooLong

SPLIT = ("jsonl", "json", "object", *DELIMITERS)  # the kinds of files that are cut into records here


class RawRecords(Protocol):
    """The records of a file, and all that stands around them: written one after another they are the file again.

    Attributes
    ----------
    opening : bytes
        What stands before the first record, once it has been read: a bracket, a header.
    closing : bytes
        What follows the last record, once it has been read.
    """

    opening: bytes
    closing: bytes

    def __iter__(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield (number from 1, bytes between the record and the one before, record).

        A blank line is an empty record; a TooLong stands for a record longer than ``source.longest``.
        """
        ...


class RawLines:
    """The lines of a file of JSON Lines."""

    opening = closing = b""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __iter__(self) -> Iterator[tuple[int, bytes, bytes]]:
        for number, line in lines(self._source):
            yield number, b"", line if isinstance(line, TooLong) or line.strip(b" \t\r\n") else b""


def raw_records(source: Source, added: Sequence[str] = ()) -> RawRecords:
    """Cut a file of one of the kinds SPLIT, or an mbox, into records; the header of a table gets the columns `added`.

    Iterating raises DocumentError where the file cannot be read or is damaged.
    """
    if source.kind in DELIMITERS:
        return Rows(source, added)
    if source.kind == "mbox":
        return Messages(source)
    return RawLines(source) if source.kind == "jsonl" else Elements(source)
