"""The outputs of a command: standard output as bytes, pages for a browser, and the columns of its tables.

The formats of tables stand in `files.table_files`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, cast

from ndcore.cli.options import DocumentOptions
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.outputs import STDOUT, OutputDirectory, OutputFile, lies_in
from ndcore.files.sources import starts_with
from ndcore.files.table_files import Column, Table, write_json_lines
from ndcore.report.html import BEGINNING

__all__ = [
    "ASSIGNED", "PageFile", "id_and_place", "place_columns", "print_account", "report_file", "standard_output",
    "write_table",
]

# The columns of every table of documents that say how a document stands in its cluster.
ASSIGNED = [Column("class", "string"), Column("resemblance", "number"), Column("cluster_size", "integer")]


def standard_output(json: bool, instead: str) -> IO[bytes]:
    """Return standard output as a binary file, for the result of a command with ``-o -``.

    Raises
    ------
    UsageError
        With --json, the account would go there too (`instead` ends the message); or standard output takes text only.
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
    """Check that the page of --report can be written, and that nothing is lost by it; return None without --report.

    Parameters
    ----------
    output : str, optional
        The output directory of the command: the page may not lie in it.

    Raises
    ------
    UsageError
        It lies in the output, or `check_output` refuses it.
    """
    if path is None:
        return None
    if output not in (None, STDOUT) and lies_in(path, str(output)):
        raise UsageError(f"the report {path} lies in the output {output}; name a file beside it")

    def is_page(place: Path) -> bool:
        return starts_with(str(place), BEGINNING.encode())

    return PageFile(path, "page of ndcore", overwrite=overwrite, ours=is_page, inputs=inputs)


def place_columns(archives: bool) -> list[Column]:
    """Return the columns of a table that say where a document stands; in archives the offset and the date too."""
    columns = [Column("file", "string"), Column("line", "integer")]
    return columns + ([Column("offset", "integer"), Column("date", "time")] if archives else [])


def id_and_place(documents: FileDocuments, position: int, places: int) -> tuple[Any, ...]:
    """Return the id of a document, and the first `places` values of `place_columns`."""
    return documents.ids[position], *tuple(documents.place(position))[:places]


def write_table(output: OutputDirectory, name: str, table: Table) -> None:
    """Write a table as JSON lines below the output."""
    with output.below(name).open("xb", buffering=1 << 20) as file:
        write_json_lines(file, table)


def print_account(options: DocumentOptions, account: dict[str, Any], report: Callable[[], None]) -> None:
    """Print the account as JSON for programs, or call `report`, which prints it for people."""
    if options.json:
        print(json.dumps(account, indent=2))
    elif not options.quiet:
        report()
        if sys.stderr.isatty():
            print(f"ndcore: {time.monotonic() - options.outcome.begun:.1f} seconds", file=sys.stderr)
