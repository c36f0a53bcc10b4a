"""A page of texts with marked passages, and of other documents that have these passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ndcore._types import Text
from ndcore.human import counted
from ndcore.report.elements import (
    fit,
    plain_name,
    shorten,
    show_header,
    show_making,
    show_name,
    show_section,
    show_table,
    show_text,
)
from ndcore.report.html import REPORT_SCRIPT, REPORT_STYLE, read_beside, wrap_page
from ndcore.report.model import Figure, ReportTable, versions

__all__ = ["Marked", "MarkedPage", "MarkedText", "Standing", "excerpt", "marked_page"]

STYLE = REPORT_STYLE + read_beside(__file__, "marked.css")

MARKS = 60  # of a text
AROUND = 160  # characters, or bytes, of a document on both sides of a passage
PASSAGE = 1500  # of a passage in a document
LONGEST = 1200  # characters between two bounds of marks, from which the middle is left out
TEXT_BYTES = 40_000  # of the HTML of a text
OPEN = 5  # texts that are unfolded


class Marked(NamedTuple):
    """A text, or a part of one. Marks are ranges of it, ascending and apart, in its own characters or bytes.

    `before` and `after` are the characters or bytes of the whole text that are left out.
    """

    text: Text
    marks: Sequence[tuple[int, int]]
    before: int = 0
    after: int = 0


class Standing(NamedTuple):
    """A document that has a passage: its name, a note, and the passage with its context."""

    name: str
    note: str
    excerpt: Marked


class MarkedText(NamedTuple):
    """A text with its passages, a note, and some of the `total` documents that have them."""

    name: str
    note: str
    marked: Marked
    standing: Sequence[Standing]
    total: int


@dataclass(frozen=True)
class MarkedPage:
    """The content of the page.

    Attributes
    ----------
    title, subtitle : str
    figures : sequence of Figure
    tables : sequence of ReportTable
    heading : str
        Of the texts.
    texts : sequence of MarkedText
    total : int
        Number of all texts, of which the page may show some.
    parameters : sequence of (str, str)
        Names and values of the parameters that decide the result.
    """

    title: str
    subtitle: str
    figures: Sequence[Figure]
    tables: Sequence[ReportTable]
    heading: str
    texts: Sequence[MarkedText]
    total: int
    parameters: Sequence[tuple[str, str]]


def marked_page(content: MarkedPage) -> str:
    """Render a page of HTML: one file that loads nothing. Texts are escaped, and long ones cut, which the page says."""
    sections = [
        *(show_section(f"table-{i}", show_text(table.title), show_table(table))
          for i, table in enumerate(content.tables, 1)),
        show_section("texts", show_text(content.heading), _show_texts(content)),
        show_section("making", "How this was made", show_making([*content.parameters, *versions()])),
    ]
    head = show_header(content.title, content.subtitle, content.figures)
    body = f"{head}\n<main>\n{chr(10).join(sections)}\n</main>"
    return wrap_page(plain_name(content.title), body, STYLE, REPORT_SCRIPT)


def excerpt(text: Text, start: int, end: int) -> Marked:
    """Cut a passage with its context out of a text. `start` and `end` are in its own characters or bytes."""
    first, last = max(0, start - AROUND), min(len(text), end + AROUND, start + PASSAGE)
    if isinstance(text, bytes):
        while first < start and text[first] & 0xC0 == 0x80:
            first += 1
        while last < len(text) and text[last] & 0xC0 == 0x80:
            last += 1
    return Marked(text[first:last], [(start - first, min(end, last) - first)], first, len(text) - last)


def _show_texts(content: MarkedPage) -> str:
    """Render the texts, which unfold."""
    if not content.texts:
        return '<p class="faint">There are none.</p>'
    more = content.total - len(content.texts)
    note = f'<p class="faint">The first {len(content.texts):,} of {content.total:,} are shown.</p>' if more > 0 else ""
    return note + "\n".join(_show_text(number, text) for number, text in enumerate(content.texts))


def _show_text(number: int, text: MarkedText) -> str:
    """Render a text and the documents that have its passages."""
    standing = "".join(
        f'<div class="standing"><p><strong>{show_name(each.name)}</strong> <span class="faint">{show_text(each.note)}</span>'
        f"</p>{_show_marked(each.excerpt)}</div>" for each in text.standing
    )
    more = text.total - len(text.standing)
    rest = f'<p class="faint small">{counted(more, "more place")}</p>' if more > 0 else ""
    return (
        f'<details class="card view"{" open" if number < OPEN else ""}><summary><strong>{show_name(text.name)}</strong> '
        f'<span class="faint">{show_text(text.note)}</span></summary>\n{_show_marked(text.marked)}{standing}{rest}</details>'
    )


def _show_marked(part: Marked) -> str:
    """Render a text with its marks, within TEXT_BYTES."""
    return f'<div class="marked" dir="auto">{fit(lambda limit: _show_pieces(part, limit), LONGEST, TEXT_BYTES)}</div>'


def _show_pieces(part: Marked, limit: int) -> str:
    """Render the pieces between the bounds of marks, each within `limit` characters; of many marks the first."""
    text, at, pieces, marks = part.text, 0, list[str](), part.marks[: min(MARKS, limit)]
    for start, end in marks:
        pieces += [shorten(text[at:start], limit), f"<mark>{shorten(text[start:end], limit)}</mark>"]
        at = end
    more = len(part.marks) - len(marks)
    pieces.append(f'<span class="cut">… {counted(more, "passage")} more …</span>' if more else shorten(text[at:], limit))
    before, after = ('<span class="cut"> … </span>' if left else "" for left in (part.before, part.after))
    return f"{before}{''.join(pieces)}{after}"
