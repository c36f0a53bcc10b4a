"""The account of a result. A command makes it once: programs get it as JSON, people as text, and a page shows its notes.

An account has no times, so equal runs give the same bytes.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TextIO

from ndcore.cli.command import Options
from ndcore.cli.commands import RunOptions
from ndcore.files.outputs import STDOUT
from ndcore.human import aligned, counted, printable
from ndcore.recipe import Recipe
from ndcore.report.model import ReportTable


class TextBlock(Protocol):
    """A part of an account that has several lines of text."""

    def lines(self) -> Iterator[str]: ...


class Note(NamedTuple):
    """A note for the reader, printed if its number is not 0."""

    number: int
    noun: str
    what: str

    def __str__(self) -> str:
        return f"{counted(self.number, self.noun)} {self.what}"


@dataclass(frozen=True)
class Notes:
    """Notes, each on a line."""

    notes: Iterable[Note]

    def lines(self) -> Iterator[str]:
        """Yield the notes whose number is not 0."""
        return (f"  note: {note}" for note in self.notes if note.number)


@dataclass(frozen=True)
class Figures:
    """Names, each with a number or a short value, and its meaning."""

    rows: Sequence[tuple[str, int | str, str]]
    name_width: int = 10  # least width
    value_width: int = 0  # least width

    def lines(self) -> Iterator[str]:
        """Yield a row for each, in columns."""
        values = [f"{value:,}" if isinstance(value, int) else value for _, value, _ in self.rows]
        names = max([self.name_width, *(len(name) for name, _, _ in self.rows)])
        width = max([self.value_width, *map(len, values)])
        for (name, _, meaning), value in zip(self.rows, values, strict=True):
            yield f"  {name:<{names}} {value:>{width}}  {meaning}".rstrip()


@dataclass(frozen=True)
class Properties:
    """Names, each with a description in words."""

    rows: Sequence[tuple[str, str]]
    indent: str = "  "

    def lines(self) -> Iterator[str]:
        """Yield a row for each, in two columns."""
        return iter(aligned(self.rows, self.indent))


@dataclass(frozen=True)
class Listing:
    """The first items of a list, each on a line, and the number of the others."""

    shown: Iterable[str]
    more: int = 0
    noun: str = ""
    where: str = "; --json lists all"  # how the reader can see the others

    def lines(self) -> Iterator[str]:
        """Yield the lines, then one that counts the others."""
        yield from (f"  {line}" for line in self.shown)
        if self.more > 0:
            yield f"  and {counted(self.more, self.noun)} more{self.where}"


@dataclass(frozen=True)
class TextTable:
    """A table of texts, the last of which may be long; on a terminal it is drawn by rich, if that is installed."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def lines(self) -> Iterator[str]:
        """Yield the headings and the rows, in plain columns."""
        every = [self.headings, *self.rows]
        widths = [max(len(row[i]) for row in every) for i in range(len(self.headings) - 1)]
        for row in every:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            yield "  ".join([*cells, row[-1]]).rstrip()

    def draw(self, stream: TextIO) -> None:
        """Print the table with rich."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for heading in self.headings:
            table.add_column(Text(heading, "bold"), overflow="fold")
        for row in self.rows:
            table.add_row(*map(Text, row))  # Text: no markup in keys
        Console(file=stream, highlight=False, markup=False, emoji=False).print(table)


@dataclass(frozen=True)
class Account:
    """The report of a command on its result.

    `text` may be a generator, so that text is made only if people read it.
    """

    data: Any  # for programs: the content of --json and of summary.json
    text: Iterable[str | TextBlock]  # for people: sentences, and blocks of lines, in order
    notes: Sequence[Note] = ()  # for the page; the text has them among its blocks
    tables: Sequence[ReportTable] = ()  # for the page

    def print_text(self, stream: TextIO) -> None:
        """Print the text."""
        for block in self.text:
            if isinstance(block, TextTable) and stream.isatty() and importlib.util.find_spec("rich"):
                block.draw(stream)
            else:
                stream.writelines(f"{line}\n" for line in ([block] if isinstance(block, str) else block.lines()))


def recipe_data(recipe: Recipe) -> dict[str, Any]:
    """Describe a recipe for accounts: its id, and its parameters as values of JSON."""
    return {"id": recipe.id, "parameters": json.loads(recipe.to_json())}


def print_json(data: Any) -> None:
    """Print data as JSON, indented."""
    print(json.dumps(data, indent=2))


def present(options: Options, account: Account) -> int:
    """Print an account in the form that the options select, and return the exit code 0.

    With --json it is JSON. Otherwise it is text, on standard error if the result itself is on standard output; with --quiet
    nothing is printed.
    """
    chosen: Any = options
    if chosen.json:
        print_json(account.data)
    elif not getattr(options, "quiet", False):
        account.print_text(sys.stderr if getattr(options, "output", None) == STDOUT else sys.stdout)
        if isinstance(options, RunOptions) and sys.stderr.isatty():
            print(f"ndcore: {time.monotonic() - options.outcome.begun:.1f} seconds", file=sys.stderr)
    return 0


def files_written(report: str | None, tables: Iterable[str] = ()) -> Iterator[str]:
    """Yield sentences with the places of the page of ``--report`` and of the tables."""
    if report is not None:
        yield f"The report for a browser is {printable(report)}"
    for path in tables:
        yield f"A table for other programs is {printable(path)}"
