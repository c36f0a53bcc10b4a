"""Parts of the page of a report: sections, tables, and texts of others, escaped and bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ndcore._types import Text
from ndcore.alignment.rows import elided, visible
from ndcore.report.model import Excerpt, Member, truncate

__all__ = [
    "NAME", "fitted", "grid", "plain_name", "right_class", "section", "show_name", "show_resemblance", "show_share",
    "show_snippet", "show_text", "show_value", "three_decimals",
]

NAME, NAME_BYTES = 100, 500  # characters of a name, bytes of its HTML
SNIPPET, SNIPPET_BYTES = 180, 1500
VALUE, VALUE_BYTES = 12_000, 60_000  # of a parameter, the command line, the recipe


def section(name: str, title: str, body: str) -> str:
    """Render a section under a heading."""
    return f'<section id="{name}" aria-labelledby="{name}-heading"><h2 id="{name}-heading">{title}</h2>\n{body}</section>'


def grid(caption: str, heads: Sequence[tuple[str, bool]], lines: str, kind: str = "") -> str:
    """Render a table of rows that are HTML already; `heads` are names of columns, and whether they hold numbers."""
    names = "".join(f'<th scope="col"{right_class(right)}>{name}</th>' for name, right in heads)
    about = f' class="{kind}"' if kind else ""
    return f"<table{about}><caption>{caption}</caption><thead><tr>{names}</tr></thead>\n<tbody>{lines}</tbody></table>"


def right_class(right: bool) -> str:
    """Return the attribute of a cell with a number."""
    return ' class="number"' if right else ""


# ---- texts of others, escaped and bounded


def fitted(make: Callable[[int], str], limit: int, size: int) -> str:
    """Call `make` with limit, limit / 2, … characters until the result has at most `size` bytes; return it."""
    body = make(limit)
    while len(body.encode()) > size and limit > 8:
        limit //= 2
        body = make(limit)
    return body


def shortened(text: str, limit: int) -> str:
    """Escape a text, and cut the middle of a long one."""
    head, middle, tail = elided(text, limit)
    if not middle:
        return visible(text)
    return f'{visible(head)}<span class="cut">… {len(middle):,} characters …</span>{visible(tail)}'


def show_name(name: str) -> str:
    """Render the name of a document."""
    return f"<bdi>{fitted(lambda limit: shortened(name, limit), NAME, NAME_BYTES)}</bdi>"


def show_text(text: str) -> str:
    """Render a short text, cut where it is long."""
    return fitted(lambda limit: shortened(text, limit), 600, 3000)


def show_value(text: str) -> str:
    """Render the value of a parameter."""
    return f"<code>{fitted(lambda limit: shortened(text, limit), VALUE, VALUE_BYTES)}</code>"


def show_snippet(excerpt: Excerpt) -> str:
    """Render the first words of an excerpt, on one line."""
    def first(limit: int) -> str:
        start = truncate(excerpt.text, 4 * limit)
        words: Text = b" ".join(start.split()) if isinstance(start, bytes) else " ".join(start.split())
        head = truncate(words, limit)
        if len(head) == len(words) and len(start) == excerpt.length:
            return visible(head)
        whole: Text = head.rpartition(b" ")[0] if isinstance(head, bytes) else head.rpartition(" ")[0]
        return f'{visible(whole or head)}<span class="cut">&nbsp;…</span>'

    return fitted(first, SNIPPET, SNIPPET_BYTES)


def show_resemblance(member: Member) -> str:
    """Write the resemblance of a member, marked where it is estimated."""
    if math.isnan(member.resemblance):
        return "–"
    return f"{'≈ ' if member.estimated else ''}{three_decimals(member.resemblance)}"


def three_decimals(value: float) -> str:
    """Write a number with three decimals, rounded down, so that it never looks like 1 or a threshold above it."""
    return "–" if math.isnan(value) else f"{math.floor(value * 1000 + 1e-9) / 1000:.3f}"


def plain_name(name: str) -> str:
    """Cut a long name, without markup."""
    head, middle, tail = elided(name, NAME)
    return f"{head} … {len(middle):,} characters … {tail}" if middle else name


def show_share(share: float) -> str:
    """Write a share as a percentage."""
    return "< 0.1%" if 0 < share < 0.001 else f"{share:.1%}"
