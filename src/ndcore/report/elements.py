"""Render parts of the page of a report: sections, tables, and texts of others, escaped and bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from ndcore._types import Text
from ndcore.alignment.rows import decoded, elided, escape_text, visible
from ndcore.report.html import REPORT_SCRIPT, REPORT_STYLE, wrap_page
from ndcore.report.model import Excerpt, Figure, Member, ReportTable, truncate

NAME, NAME_BYTES = 100, 500  # characters of a name, bytes of its HTML
SNIPPET, SNIPPET_BYTES = 180, 1500
VALUE, VALUE_BYTES = 12_000, 60_000  # of a parameter, the command line, the recipe


def show_section(name: str, title: str, body: str) -> str:
    """Render a section under a heading."""
    return f'<section id="{name}" aria-labelledby="{name}-heading"><h2 id="{name}-heading">{title}</h2>\n{body}</section>'


def show_grid(caption: str, heads: Sequence[tuple[str, bool]], lines: str, kind: str = "") -> str:
    """Render a table of rows that are HTML already; `heads` are names of columns, and whether these hold numbers."""
    names = "".join(f'<th scope="col"{right_class(right)}>{name}</th>' for name, right in heads)
    about = f' class="{kind}"' if kind else ""
    return f"<table{about}><caption>{caption}</caption><thead><tr>{names}</tr></thead>\n<tbody>{lines}</tbody></table>"


def show_sortable(caption: str, heads: Sequence[tuple[str, bool]], lines: str, noun: str, filter: str) -> str:
    """Render a table that the script of the page sorts, with a filter of its rows.

    `noun` names the rows in the plural, and `filter` says what to type. Cells may have ``data-value``, the number to sort
    by. On narrow screens, where each row is a block, ``data-name`` and ``data-unit`` are shown before and after the value.
    """
    return (
        f'<div class="card"><p class="filter" hidden><label>Filter <input type="search" autocomplete="off" '
        f'placeholder="{filter}"></label> <output data-noun="{noun}"></output></p>'
        f'<div class="wide">{show_grid(caption, heads, lines, "sortable")}</div></div>'
    )


def right_class(right: bool) -> str:
    """Return the attribute of a cell with a number."""
    return ' class="number"' if right else ""


def show_header(title: str, subtitle: str, figures: Sequence[Figure]) -> str:
    """Render the head of the page: title, subtitle, and numbers with what they count."""
    numbers = "".join(f"<div><dd>{each.number:,}</dd><dt>{show_text(each.label)}</dt></div>" for each in figures)
    return (
        f'<header><p class="eyebrow">ndcore report</p><h1>{show_text(title)}</h1>'
        f'<p class="faint">{show_text(subtitle)}</p><dl class="figures">{numbers}</dl></header>'
    )


def show_tables(tables: Sequence[ReportTable]) -> Iterator[str]:
    """Render a section for each table."""
    return (show_section(f"table-{i}", show_text(table.title), show_table(table)) for i, table in enumerate(tables, 1))


def show_page(
    title: str, subtitle: str, figures: Sequence[Figure], sections: Iterable[str], style: str = REPORT_STYLE
) -> str:
    """Wrap sections in the page of a report, with its head, style and script."""
    main = "\n".join(sections)
    body = f"{show_header(title, subtitle, figures)}\n<main>\n{main}\n</main>"
    return wrap_page(plain_name(title), body, style, REPORT_SCRIPT)


def show_table(table: ReportTable) -> str:
    """Render a table of the report."""
    text = f'<p class="faint">{show_text(table.text)}</p>'
    if not table.rows:
        return text
    numeric = [isinstance(value, (int, float)) for value in table.rows[0]]
    lines = "".join(
        "<tr>" + "".join(f"<td{right_class(right)}>{_cell(value)}</td>" for value, right in zip(row, numeric, strict=True))
        + "</tr>" for row in table.rows
    )
    rows = len(table.rows)
    extent = f"{rows:,} in all" if rows == table.total else f"the first {rows:,} of {table.total:,}"
    heads = tuple(zip(map(show_text, table.columns), numeric, strict=True))
    return f'{text}<div class="card wide">{show_grid(f"{show_text(table.title)}: {extent}", heads, lines)}</div>'


def _cell(value: str | int | float) -> str:
    """Render the value of a cell."""
    if isinstance(value, str):
        return show_name(value)
    return f"{value:,}" if isinstance(value, int) else three_decimals(value)


def show_making(rows: Sequence[tuple[str, str]]) -> str:
    """Render the parameters that decide the result, as names and values."""
    lines = "".join(f'<tr><th scope="row">{show_text(name)}</th><td>{show_value(value)}</td></tr>' for name, value in rows)
    heads = ("Parameter", False), ("Value", False)
    made = show_grid("What decides the result: equal inputs give it again", heads, lines, "making")
    return f'<div class="card wide">{made}</div>'


# ---- texts of others, escaped and bounded


def fit(make: Callable[[int], str], limit: int, size: int) -> str:
    """Call `make` with limits of `limit`, `limit` / 2, … characters, until the result has at most `size` bytes."""
    body = make(limit)
    while len(body.encode()) > size and limit > 8:
        limit //= 2
        body = make(limit)
    return body


def shorten(text: Text, limit: int) -> str:
    """Escape a text, and cut the middle of a long one."""
    head, middle, tail = elided(decoded(text), limit)
    before, after = (escape_text(part, isinstance(text, bytes)) for part in (head, tail))
    return f'{before}<span class="cut">… {len(middle):,} characters …</span>{after}' if middle else before


def show_name(name: str) -> str:
    """Render the name of a document."""
    return f"<bdi>{fit(lambda limit: shorten(name, limit), NAME, NAME_BYTES)}</bdi>"


def show_text(text: str) -> str:
    """Render a text, shortened if it is long."""
    return fit(lambda limit: shorten(text, limit), 600, 3000)


def show_value(text: str) -> str:
    """Render the value of a parameter."""
    return f"<code>{fit(lambda limit: shorten(text, limit), VALUE, VALUE_BYTES)}</code>"


def show_snippet(excerpt: Excerpt) -> str:
    """Render the first words of an excerpt on one line."""
    def first(limit: int) -> str:
        start = truncate(excerpt.text, 4 * limit)
        words: Text = b" ".join(start.split()) if isinstance(start, bytes) else " ".join(start.split())
        head = truncate(words, limit)
        if len(head) == len(words) and len(start) == excerpt.length:
            return visible(head)
        whole: Text = head.rpartition(b" ")[0] if isinstance(head, bytes) else head.rpartition(" ")[0]
        return f'{visible(whole or head)}<span class="cut">&nbsp;…</span>'

    return fit(first, SNIPPET, SNIPPET_BYTES)


def show_resemblance(member: Member) -> str:
    """Write the resemblance of a member, marked if it is estimated."""
    if math.isnan(member.resemblance):
        return "–"
    return f"{'≈ ' if member.estimated else ''}{three_decimals(member.resemblance)}"


def three_decimals(value: float) -> str:
    """Write a number with three decimals, rounded down, so that it never looks like 1 or a threshold above it."""
    return "–" if math.isnan(value) else f"{math.floor(value * 1000 + 1e-9) / 1000:.3f}"


def plain_name(name: str) -> str:
    """Shorten a long name, without markup."""
    head, middle, tail = elided(name, NAME)
    return f"{head} … {len(middle):,} characters … {tail}" if middle else name


def show_share(share: float) -> str:
    """Write a share as a percentage."""
    return "< 0.1%" if 0 < share < 0.001 else f"{share:.1%}"
