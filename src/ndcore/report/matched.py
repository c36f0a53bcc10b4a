"""Render a page of two texts side by side, line by line, with their common blocks in colours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ndcore.human import counted
from ndcore.report.elements import plain_name, shorten, show_name, show_text
from ndcore.report.html import REPORT_SCRIPT, REPORT_STYLE, read_beside, wrap_page

STYLE = REPORT_STYLE + read_beside(__file__, "matched.css")

COLOURS = 8  # colours of blocks, in turn; `report.css` has them
BLOCKS = 2000  # most blocks of a text, the first
LINES = 4000  # most lines of a text; of a longer text, the first lines near blocks are shown
NEAR = 3  # lines around a block that are shown
FOLDED = 40  # consecutive lines without a block, from which on they are folded
LONGEST = 2000  # consecutive characters of one kind, beyond which the middle is left out


class MatchedBlock(NamedTuple):
    """The characters start … end − 1 of a text. Blocks with the same number are equal; ``repeat``: a further occurrence."""

    start: int
    end: int
    number: int
    repeat: bool


class MatchedText(NamedTuple):
    """A text with its blocks, which ascend and do not overlap, and the (name, start) of each of its files."""

    name: str
    note: str
    text: str
    files: Sequence[tuple[str, int]]
    blocks: Sequence[MatchedBlock]


class _SourceLine(NamedTuple):
    """A line: its number in its file, its bounds in the text, the file that begins with it, whether a block is near."""

    number: int
    start: int
    end: int
    file: str
    near: bool


def matched_page(title: str, subtitle: str, a: MatchedText, b: MatchedText, back: str) -> str:
    """Render a page of two texts, which loads nothing. Text is escaped; of long texts a part is shown, and the page says so.

    Parameters
    ----------
    title, subtitle : str
    a, b : MatchedText
    back : str
        The address of the page that links here.
    """
    body = (
        f'<header><p class="eyebrow"><a href="{back}">ndcore rank</a></p><h1>{show_text(title)}</h1>'
        f'<p class="faint">{show_text(subtitle)}</p></header>\n<main class="matched">\n'
        f'{_show_text(a, "a", "b")}\n{_show_text(b, "b", "a")}\n</main>'
    )
    return wrap_page(plain_name(title), body, STYLE, REPORT_SCRIPT)


def _show_text(text: MatchedText, own: str, other: str) -> str:
    """Render a text under its name."""
    shown = text._replace(blocks=text.blocks[:BLOCKS])
    more = len(text.blocks) - len(shown.blocks)
    notes = [text.note, *([f"The first {BLOCKS:,} blocks are shown, and not {counted(more, 'other')}."] if more else [])]
    lines = list(_lines(shown))
    return (
        f'<section aria-labelledby="{own}-name"><h2 id="{own}-name">{own.upper()} · {show_name(text.name)}</h2>'
        f'<p class="faint small">{show_text(" ".join(notes))}</p>\n'
        f'<div class="source" tabindex="0">{"".join(_show_lines(shown, lines, own, other))}</div></section>'
    )


def _lines(text: MatchedText) -> Iterator[_SourceLine]:
    """Yield the lines of a text. A line that is not near a block may be left out or folded."""
    starts = [0, *(end.end() for end in re.finditer("\r?\n|\r", text.text))]
    if starts[-1] < len(text.text) or len(starts) == 1:
        starts.append(len(text.text) + 1)
    touched, block = set[int](), 0
    bounds = list(pairwise(starts))
    for at, (start, end) in enumerate(bounds):
        while block < len(text.blocks) and text.blocks[block].end <= start:
            block += 1
        if block < len(text.blocks) and text.blocks[block].start < end:
            touched.update(range(at - NEAR, at + NEAR + 1))
    begins, number = {start: name for name, start in text.files}, 0
    for at, (start, end) in enumerate(bounds):
        number = 1 if start in begins else number + 1
        yield _SourceLine(number, start, end - 1, begins.get(start, ""), at in touched)


def _show_lines(text: MatchedText, lines: Sequence[_SourceLine], own: str, other: str) -> Iterator[str]:
    """Yield the HTML of the lines; far from blocks they are folded or, in a long text, left out."""
    several, shown, block, at = len(text.files) > 1, 0, 0, 0
    while at < len(lines) and shown < LINES:
        end = at
        while end < len(lines) and not lines[end].near:
            end += 1
        far, note = lines[at:end], f"{counted(end - at, 'line')} without a block"
        if far and len(lines) > LINES:
            yield f'<p class="cut">… {note} …</p>'
        elif far:
            rows = "".join(_show_line(text, line, block, own, other, several)[0] for line in far)
            shown += len(far)
            yield f"<details><summary>{note}</summary>{rows}</details>" if len(far) > FOLDED else rows
        at = end
        while at < len(lines) and lines[at].near and shown < LINES:
            row, block = _show_line(text, lines[at], block, own, other, several)
            yield row
            at, shown = at + 1, shown + 1
    if at < len(lines):
        yield f'<p class="cut">… {counted(len(lines) - at, "more line")} …</p>'


def _show_line(text: MatchedText, line: _SourceLine, block: int, own: str, other: str, several: bool) -> tuple[str, int]:
    """Render a line; return it with the index of the first block that ends after it. `block`: earlier ones end before it."""
    pieces, place = list[str](), line.start
    while block < len(text.blocks) and text.blocks[block].start <= line.end:
        each = text.blocks[block]
        if each.end > place:
            first, last = max(each.start, line.start), min(each.end, line.end)
            pieces.append(shorten(text.text[place:first], LONGEST))
            if each.start >= line.start:
                pieces.append(_show_sign(each, own, other))
            colour = f'p{(each.number - 1) % COLOURS}{" again" if each.repeat else ""}'
            if first < last:
                pieces.append(f'<mark class="{colour}">{shorten(text.text[first:last], LONGEST)}</mark>')
            place = last
        if each.end > line.end:
            break
        block += 1
    pieces.append(shorten(text.text[place : line.end], LONGEST))
    head = f'<p class="file">{show_name(line.file)}</p>' if line.file and several else ""
    return f'{head}<div class="row" data-line="{line.number}"><span>{"".join(pieces)}</span></div>', block


def _show_sign(block: MatchedBlock, own: str, other: str) -> str:
    """Render the number of a block, a link to its other place."""
    what = f"block {block.number}{', again' if block.repeat else ''}: go to it in {other.upper()}"
    identity = "" if block.repeat else f' id="{own}{block.number}"'
    return (
        f'<a class="sign p{(block.number - 1) % COLOURS}"{identity} href="#{other}{block.number}" title="{what}" '
        f'aria-label="{what}">{block.number}</a>'
    )
