"""docs/thresholds.md from thresholds.md beside this file: its text, with figures and tables of the results put in.

``{{verdict-corpora: median of all, recall: 0.8 %}}`` is a cell: the table, the first cells of the row, the column; with %,
as a percentage. ``{{sum verdict-complete: *: pairs}}`` is the sum (min, max) over all rows of which the named cells are
these; * is any cell. ``{{table verdict-corpora: corpus, of pairs, 0.5, 0.8: peps, reuters21578}}`` is the table, below its
plot and above its title, with these columns and the rows that begin with one of these cells; * is all. A paragraph with a
table that no result has is left out.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from measure import shown
from plots import PLOTS

TEMPLATE = Path(__file__).with_suffix(".md")
RESULTS = ("verdicts_labels", "verdicts_options", "verdicts_speed")
PLACE = re.compile(r"\{\{(?:(sum|min|max|table) )?([\w-]+)(?:: ([^:}]*))?(?:: ([^}]*))?\}\}")
WIDTH = 120
COMBINED: dict[str, Callable[[Iterable[float]], float]] = {"sum": sum, "min": min, "max": max}

Tables = dict[str, dict[str, Any]]
Markdown = Callable[[dict[str, Any]], str]


def named_tables(template: str) -> set[str]:
    """Return the names of the tables that a text asks for."""
    return {match[2] for match in PLACE.finditer(template)}


def page(template: str, tables: Tables, markdown: Markdown) -> str:
    """Fill in all places; KeyError names a row or a column that a table does not have."""
    parts = []
    for paragraph in template.split("\n\n"):
        if named_tables(paragraph) <= set(tables):
            parts.append(wrapped(PLACE.sub(lambda match: filled(match, tables, markdown), paragraph)))
    return "\n\n".join(parts)


def filled(match: re.Match[str], tables: Tables, markdown: Markdown) -> str:
    """Return what stands in one place."""
    kind, name, first, second = match.groups()
    table = tables[name]
    if kind == "table":
        return drawn(name, table, first or "*", second or "*", markdown)
    column = (second or "").removesuffix(" %")
    values = cells(name, table, [key.strip() for key in (first or "").split(",")], column)
    if kind is None and len(values) != 1:
        raise KeyError(f"{match[0]}: {len(values)} rows")
    value = COMBINED[kind or "sum"](values)
    return percentage(value) if (second or "").endswith(" %") else shown(value)


def cells(name: str, table: dict[str, Any], keys: list[str], column: str) -> list[Any]:
    """Return the values of a column in the rows that begin with these cells."""
    if column not in table["columns"]:
        raise KeyError(f"{name} has no column {column!r}: {table['columns']}")
    at = table["columns"].index(column)
    found = [row[at] for row in table["rows"]
             if all(key in ("*", shown(cell)) for key, cell in zip(keys, row, strict=False)) and row[at] is not None]
    if not found:
        raise KeyError(f"{name} has no row {keys}")
    return found


def drawn(name: str, table: dict[str, Any], columns: str, rows: str, markdown: Markdown) -> str:
    """Return a table as Markdown, below its plot and above its title and note."""
    chosen = table["columns"] if columns == "*" else [column.strip() for column in columns.split(",")]
    first = None if rows == "*" else {row.strip() for row in rows.split(",")}
    if first is not None and not first <= {row[0] for row in table["rows"]}:
        raise KeyError(f"{name} has no rows of {first - {row[0] for row in table['rows']}}")
    places = [table["columns"].index(column) for column in chosen]
    wanted = [[row[at] for at in places] for row in table["rows"] if first is None or row[0] in first]
    text = markdown({"columns": chosen, "rows": wanted})
    if name in PLOTS:
        file, what, _ = PLOTS[name]
        text = f"![{what}]({file})\n\n{text}"
    below = [table[part] for part in ("title", "note") if table.get(part)]
    return f"{text}\n\n*{'. '.join(below)}*" if below else text


def percentage(value: float) -> str:
    """Return a share as a whole percentage, with a decimal where it would seem to be all or nothing."""
    whole = f"{100 * value:.0f} %"
    return f"{100 * value:.1f} %" if whole in ("0 %", "100 %") and value not in (0, 1) else whole


def wrapped(paragraph: str) -> str:
    """Break the lines of prose and lists anew; leave headings, tables and code."""
    if paragraph.startswith(("#", "|", "!", "```")):
        return paragraph
    items = re.split(r"\n(?=- )", paragraph)
    lines = [textwrap.fill(" ".join(item.split()), WIDTH, subsequent_indent="  " * item.startswith("- "),
                           break_long_words=False, break_on_hyphens=False) for item in items]
    return "\n".join(lines) + "\n" * paragraph.endswith("\n")


def complete(results: list[dict[str, Any]]) -> bool:
    """Return True if there is what the page cannot do without, measured on corpora and not for a trial."""
    names = {result["name"] for result in results if not result["arguments"].get("quick")}
    return set(RESULTS[:2]) <= names


def whole(results: list[dict[str, Any]], tables: Tables, markdown: Markdown, origin: Callable[[dict[str, Any]], str]) -> str:
    """Return the page, with a section on when, where and of what the figures are."""
    chosen = [origin(result) for result in results if result["name"] in RESULTS]
    return page(TEMPLATE.read_text(), tables, markdown) + "\n## Where the figures are from\n\n" + "\n\n".join(chosen) + "\n"
