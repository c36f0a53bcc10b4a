"""Show results and progress in notebooks: a line of what they are, and tables with their first rows, as HTML.

It has neither colours nor sizes of its own, so it looks as the page around it does, light or dark.
"""

from __future__ import annotations

import html
import reprlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ndcore.checks import is_int
from ndcore.human import printable

ROWS = 10  # of a table that are shown
FACTS = 25  # rows of a table of names and values
LONG = 60  # characters of a cell
LINE = 600  # characters of the line above the tables


class NotebookTable(NamedTuple):
    """A table of a result, of which the first rows are shown.

    Attributes
    ----------
    caption : str
    columns : sequence of str
    rows : iterable of sequences
        Only rows that are shown are asked for. A value is a str, bytes, a number, or anything with a repr.
    total : int, optional
        The number of all rows, of which `ROWS` are shown. None: rows are names and values, of which `FACTS` are shown.
    """

    caption: str
    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]
    total: int | None = None


def show_result(line: str, *tables: NotebookTable) -> str:
    """Render a result for a notebook: HTML for ``_repr_html_``.

    Parameters
    ----------
    line : str
        What the result is, such as its repr.
    *tables : NotebookTable
        Tables without rows are left out.

    Returns
    -------
    str
        HTML of bounded size: whatever a text of others may hold is escaped and cut.

    Notes
    -----
    O(rows that are shown).

    >>> show_result("<Pairs: 1>", NotebookTable("", ["a", "b"], [(1000, "<x>")]))
    '<div>Pairs: 1<table><tr><th>a</th><th>b</th></tr><tr><td>1,000</td><td>&lt;x&gt;</td></tr></table></div>'
    """
    plain = line[1:-1] if line.startswith("<") and line.endswith(">") else line
    return f"<div>{_escape(plain, LINE)}{''.join(filter(None, map(_show_table, tables)))}</div>"


def fact_table(*facts: tuple[str, Any]) -> NotebookTable:
    """Make a table of names and values."""
    return NotebookTable("", ("what", "value"), facts)


def show_progress(text: str, done: int, total: int | None) -> str:
    """Render the progress of a job for a notebook: a bar where the total is known, and the text.

    >>> show_progress("reading: 1 of 4", 1, 4)
    '<div><progress value="1" max="4"></progress> reading: 1 of 4</div>'
    """
    bar = f'<progress value="{int(done)}" max="{int(total)}"></progress> ' if total else ""
    return f"<div>{bar}{_escape(text, LINE)}</div>"


def _show_table(table: NotebookTable) -> str:
    """Render a table, or nothing if it has no rows."""
    most = FACTS if table.total is None else ROWS
    rows = list(islice(table.rows, most + (table.total is None)))
    if not rows:
        return ""
    lines = _show_rows(rows[:most])
    more = ""
    if table.total is not None and table.total > most:
        more = f"the first {most} of {table.total:,}"
    elif len(rows) > most:
        more = f"the first {most}"
    about = ": ".join(filter(None, (table.caption, more)))
    caption = f"<caption>{_escape(about, LINE)}</caption>" if about else ""
    heads = "".join(f"<th>{_escape(name, LONG)}</th>" for name in table.columns)
    return f"<table>{caption}<tr>{heads}</tr>{''.join(lines)}</table>"


def _show_rows(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield rows as HTML."""
    for row in rows:
        yield f"<tr>{''.join(f'<td>{_show_value(value)}</td>' for value in row)}</tr>"


def _show_value(value: Any) -> str:
    """Render the value of a cell."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if is_int(value):
        return f"{value:,}" if abs(value) < 1 << 64 else _escape(hex(value), LONG)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bytes):
        value = value[: 4 * LONG].decode("utf-8", "backslashreplace")
    return _escape(value if isinstance(value, str) else reprlib.repr(value), LONG)


def _escape(text: str, limit: int) -> str:
    """Escape text for HTML, with what cannot be seen as code numbers; the middle of a longer text is cut."""
    if len(text) > 2 * limit:
        text = f"{text[:limit]}{text[-limit:]}"  # more cannot be shown
    return html.escape(printable(text, limit))
