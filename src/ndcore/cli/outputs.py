"""The outputs of a command: standard output as bytes, the page of ``--report``, and columns that its tables share.

The formats of tables are in `files.table_files`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, Any, cast

import numpy as np

from ndcore._types import Ints
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.formats import ARCHIVED
from ndcore.files.outputs import STDOUT, OutputDirectory, OutputFile, lies_in
from ndcore.files.sources import starts_with
from ndcore.files.table_files import CodedValues, Column, Table, write_json_lines
from ndcore.report.html import BEGINNING

# The columns of every table of documents about a document in its cluster.
ASSIGNED = [Column("class", "string"), Column("resemblance", "number"), Column("cluster_size", "integer")]


def standard_output(json: bool, instead: str) -> IO[bytes]:
    """Return standard output as a binary file, for the result of a command with ``-o -``.

    Raises UsageError with --json, whose account would go there too (`instead` ends the message), and if it takes text only.
    """
    if json:
        raise UsageError(f"--json and -o - both write to standard output; {instead}, or leave --json out")
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        raise UsageError("standard output takes text only here; write to a directory")
    sys.stdout.flush()
    return cast("IO[bytes]", binary)


class PageFile(OutputFile):
    """The page of --report; see `OutputFile`."""

    def write(self, page: str) -> None:
        """Write the page beside its final name."""
        data = page.encode()
        with self.making(len(data)) as new:
            new.write_bytes(data)


def report_file(path: str | None, overwrite: bool, inputs: Sequence[str], output: str | None = None) -> PageFile | None:
    """Check that the page of --report can be written without losing anything; return None without --report.

    Raises UsageError if it lies in `output`, the output directory of the command, or `check_output` refuses it.
    """
    if path is None:
        return None
    if output not in (None, STDOUT) and lies_in(path, str(output)):
        raise UsageError(f"the report {path} lies in the output {output}; name a file beside it")

    return PageFile(path, "page of ndcore", overwrite=overwrite, inputs=inputs,
                    ours=lambda place: starts_with(str(place), BEGINNING.encode()))


def place_columns(archives: bool) -> list[Column]:
    """Return the columns of a table for the place of a document; with archives, also the offset and the date."""
    columns = [Column("file", "string"), Column("line", "integer")]
    return columns + ([Column("offset", "integer"), Column("date", "time")] if archives else [])


class NamedDocuments:
    """The columns of a table that identify documents: the id, and the place.

    Positions count the documents of the first collection, then the documents of the next.
    """

    def __init__(self, *collections: FileDocuments) -> None:
        self._collections = collections
        self._places = place_columns(any(source.kind in ARCHIVED for each in collections for source in each.sources))

    def columns(self, name: str = "id") -> list[Column]:
        """Return the columns; their names begin with `name` for a document that is not the subject of the row."""
        prefix = "" if name == "id" else f"{name}_"
        return [Column(name, "id"), *(Column(prefix + column.name, column.kind) for column in self._places)]

    def values(self, positions: Ints) -> list[CodedValues]:
        """Return the values of the columns for documents. Raises IndexError for a position that no document has."""
        distinct, codes = np.unique(positions, return_inverse=True)
        columns: list[list[Any]] = [[] for _ in range(1 + len(self._places))]
        first = 0
        for documents in self._collections:
            own = distinct[slice(*np.searchsorted(distinct, [first, first + len(documents.ids)]))] - first
            for column, values in zip(columns, (documents.ids.take(own), *documents.places(own)), strict=False):
                column += values
            first += len(documents.ids)
        if len(distinct) and not 0 <= distinct[0] <= distinct[-1] < first:
            raise IndexError(int(distinct[0] if distinct[0] < 0 else distinct[-1]))
        return [CodedValues(column, codes) for column in columns]

    def are_numbers(self) -> bool:
        """Tell whether all ids are 64-bit integers."""
        return all(each.ids.are_numbers() for each in self._collections)


def write_table(output: OutputDirectory, name: str, table: Table, threads: int | None = 1) -> None:
    """Write a table as JSON lines below the output."""
    with output.below(name).open("xb", buffering=1 << 20) as file:
        write_json_lines(file, table, threads)
