"""Render a page of texts with marked passages, and of other documents that have these passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ndcore._types import Text
from ndcore.human import counted
from ndcore.report.elements import fit, shorten, show_making, show_name, show_page, show_section, show_tables, show_text
from ndcore.report.html import REPORT_STYLE, read_beside
from ndcore.report.model import Figure, ReportTable, versions

STYLE = REPORT_STYLE + read_beside(__file__, "marked.css")
SOURCES_STYLE = read_beside(__file__, "marked_sources.css")
COLOURS = 3  # distinct colours of sources

MARKS = 60  # most marks of a text
AROUND = 160  # characters or bytes of context on both sides of a passage
PASSAGE = 1500  # characters or bytes of a passage in a document
LONGEST = 1200  # characters between two bounds of marks, beyond which the middle is left out
TEXT_BYTES = 40_000  # most bytes of HTML for a text
OPEN = 5  # texts that are unfolded at first


class Marked(NamedTuple):
    """A text, or a part of one, with marks: ranges of its characters or bytes, which ascend and do not touch.

    `before` and `after` count the characters or bytes of the whole text before and after the part. `sources`: for each mark
    the number of its source, from 0, which determines the colour, or None; empty: no mark has a source.
    """

    text: Text
    marks: Sequence[tuple[int, int]]
    before: int = 0
    after: int = 0
    sources: Sequence[int | None] = ()


class DocumentWithPassage(NamedTuple):
    """A document that has passages of the text: its name, its place, and the passages in context.

    `source`: its number among the sources of the text, which determines the colour.
    """

    name: str
    place: str
    excerpt: Marked
    source: int | None = None


class MarkedText(NamedTuple):
    """A text with its passages, a note, and some of the documents that have them, `total` in all."""

    name: str
    note: str
    marked: Marked
    documents: Sequence[DocumentWithPassage]
    total: int


def marked_page(
    title: str, subtitle: str, figures: Sequence[Figure], tables: Sequence[ReportTable], heading: str,
    texts: Sequence[MarkedText], total: int, parameters: Sequence[tuple[str, str]],
) -> str:
    """Render an HTML page, one file that loads nothing. Texts are escaped; long ones are cut, and the page says so.

    Parameters
    ----------
    title, subtitle, figures
        The head of the page.
    tables : sequence of ReportTable
    heading : str
        The heading of the texts.
    texts : sequence of MarkedText
    total : int
        Number of all texts, of which the page may show some.
    parameters : sequence of (str, str)
        Names and values of the parameters that decide the result.
    """
    sections = [
        *show_tables(tables),
        show_section("texts", show_text(heading), _show_texts(texts, total)),
        show_section("making", "How this was made", show_making([*parameters, *versions()])),
    ]
    coloured = any(document.source is not None for text in texts for document in text.documents)
    return show_page(title, subtitle, figures, sections, STYLE + SOURCES_STYLE if coloured else STYLE)


def excerpt(text: Text, start: int, end: int) -> Marked:
    """Extract a passage with its context from a text. `start` and `end` are in its own characters or bytes."""
    first, last = max(0, start - AROUND), min(len(text), end + AROUND, start + PASSAGE)
    if isinstance(text, bytes):
        while first < start and text[first] & 0xC0 == 0x80:
            first += 1
        while last < len(text) and text[last] & 0xC0 == 0x80:
            last += 1
    return Marked(text[first:last], [(start - first, min(end, last) - first)], first, len(text) - last)


def excerpt_all(text: Text, ranges: Sequence[tuple[int, int]]) -> Marked:
    """Extract passages, ascending and apart, with their context from a text; those beyond PASSAGE are left out."""
    part = excerpt(text, ranges[0][0], ranges[-1][1])
    size = len(part.text)
    marks = [(start - part.before, min(end - part.before, size)) for start, end in ranges if start - part.before < size]
    return part._replace(marks=marks)


def _show_texts(texts: Sequence[MarkedText], total: int) -> str:
    """Render the texts, which unfold."""
    if not texts:
        return '<p class="faint">There are none.</p>'
    more = total - len(texts)
    note = f'<p class="faint">The first {len(texts):,} of {total:,} are shown.</p>' if more > 0 else ""
    return note + "\n".join(_show_text(number, text) for number, text in enumerate(texts))


def _show_text(number: int, text: MarkedText) -> str:
    """Render a text and the documents that have its passages."""
    documents = "".join(
        f'<div class="standing{_class_of(each.source, " ")}"><p><strong>{show_name(each.name)}</strong> '
        f'<span class="faint">{show_text(each.place)}</span></p>{_show_marked(each.excerpt)}</div>'
        for each in text.documents
    )
    more = text.total - len(text.documents)
    rest = f'<p class="faint small">{counted(more, "more place")}</p>' if more > 0 else ""
    return (
        f'<details class="card view"{" open" if number < OPEN else ""}><summary><strong>{show_name(text.name)}</strong> '
        f'<span class="faint">{show_text(text.note)}</span></summary>\n{_show_marked(text.marked)}{documents}'
        f"{rest}</details>"
    )


def _class_of(source: int | None, before: str = "") -> str:
    """Return the CSS class for the colour of a source; "" for None."""
    return "" if source is None else f"{before}source-{source % COLOURS}"


def _show_marked(part: Marked) -> str:
    """Render a text with its marks, within TEXT_BYTES."""
    return f'<div class="marked" dir="auto">{fit(lambda limit: _show_pieces(part, limit), LONGEST, TEXT_BYTES)}</div>'


def _show_pieces(part: Marked, limit: int) -> str:
    """Render the pieces between the bounds of the first marks, each within `limit` characters."""
    text, at, pieces, marks = part.text, 0, list[str](), part.marks[: min(MARKS, limit)]
    for (start, end), source in zip(marks, part.sources or [None] * len(marks), strict=False):
        own = "" if source is None else f' class="{_class_of(source)}"'
        pieces += [shorten(text[at:start], limit), f"<mark{own}>{shorten(text[start:end], limit)}</mark>"]
        at = end
    more = len(part.marks) - len(marks)
    pieces.append(f'<span class="cut">… {counted(more, "passage")} more …</span>' if more else shorten(text[at:], limit))
    before, after = ('<span class="cut"> … </span>' if left else "" for left in (part.before, part.after))
    return f"{before}{''.join(pieces)}{after}"
