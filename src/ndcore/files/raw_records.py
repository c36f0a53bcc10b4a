"""Records as they stand in files of text: lines of JSON, elements of JSON, rows of CSV."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ndcore.files.csv_tsv import raw_rows
from ndcore.files.file_reader import lines
from ndcore.files.formats import DELIMITERS
from ndcore.files.json_elements import Elements
from ndcore.files.records import is_blank
from ndcore.files.sources import Source

SPLIT = ("jsonl", "json", "object", *DELIMITERS)  # the kinds of files that are split into such records


def raw_records(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield number (from 1; of rows and lines the line) and bytes of each record, empty for a blank line.

    The header of a table is no record. Raises DocumentError as the readers of each kind do.
    """
    if source.kind == "jsonl":
        return ((number, b"" if is_blank(line) else line) for number, line in lines(source))
    if source.kind in DELIMITERS:
        rows = itertools.islice(raw_rows(source), 1, None)
        return ((number, row if row.strip(b"\r\n") else b"") for number, row in rows)
    return ((number, element) for number, _, element in Elements(source))
