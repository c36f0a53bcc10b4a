"""Two texts side by side: their passages in rows, and those rows as HTML."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from ndcore.aligning import Passage, Passages
from ndcore.text.inputs import Text

__all__ = ["Row", "elided", "fragment", "in_same_order", "rows", "spelt", "visible"]

LONG = 1200  # characters of a shared passage from which its middle is folded away
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
KEPT_UNSEEN = "\n\t\u200c\u200d"  # blanks, and the joiners that letters and emoji are made with


class Row(NamedTuple):
    """What stands side by side: with `aligned`, a shared passage and its counterpart; else what is between two such rows."""

    a: list[Passage]
    b: list[Passage]
    aligned: bool


def rows(found: Passages) -> list[Row]:
    """Passages in rows: shared ones beside each other where the order of both texts allows it, for the most tokens possible.

    The others, those of one text alone and those that have moved or are repeated, are in the rows between. Every passage is
    in one row, and both columns keep their order. O(n log n).
    """
    chosen = in_same_order(found)
    made = []
    columns = _split(found.a, chosen), _split(found.b, chosen)
    for (before_a, a), (before_b, b) in zip(*columns, strict=True):
        if before_a or before_b:
            made.append(Row(before_a, before_b, False))
        if a and b:
            made.append(Row([a], [b], True))
    return made


def _split(passages: list[Passage], chosen: frozenset[int]) -> Iterator[tuple[list[Passage], Passage | None]]:
    """(the passages before it, it) of every chosen passage, and (those after the last, None)."""
    before: list[Passage] = []
    for passage in passages:
        if passage.number in chosen and not passage.repeat:
            yield before, passage
            before = []
        else:
            before.append(passage)
    yield before, None


def in_same_order(found: Passages) -> frozenset[int]:
    """Numbers that come in the same order in both texts, of the most tokens: the heaviest increasing subsequence."""
    weights = {p.number: p.last - p.first for p in found.a if p.number and not p.repeat}
    order = [p.number for p in found.b if p.number and not p.repeat]
    rank = {number: rank for rank, number in enumerate(sorted(order), 1)}
    best = [(0, 0)] * (len(order) + 1)  # Fenwick tree: (weight, number) of the best chain that ends at a rank or before
    previous: dict[int, int] = {}
    for number in order:
        at, top = rank[number] - 1, (0, 0)
        while at:
            top = max(top, best[at])
            at &= at - 1
        previous[number] = top[1]
        top, at = (top[0] + weights[number], number), rank[number]
        while at < len(best):
            best[at] = max(best[at], top)
            at += at & -at
    number = max(best)[1]
    chain = set()
    while number:
        chain.add(number)
        number = previous[number]
    return frozenset(chain)


def elided(text: str, limit: int) -> tuple[str, str, str]:
    """(beginning, middle, end) of a text of more than `limit` characters, cut where words end; else (text, "", "")."""
    if len(text) <= limit:
        return text, "", ""
    keep = limit // 3
    head = text[:keep].rpartition(" ")[0] or text[:keep]
    tail = text[-keep:].partition(" ")[2] or text[-keep:]
    return head, text[len(head) : len(text) - len(tail)], tail


# ---- as HTML


def visible(text: Text) -> str:
    """Text as HTML: escaped, and what cannot be seen, or would turn the direction of what can, by its number."""
    return _visible(_decoded(text), isinstance(text, bytes))


def _decoded(text: Text) -> str:
    return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text


def _visible(text: str, was_bytes: bool) -> str:
    escaped = html.escape(text.replace("\r\n", "\n"))
    return _spelt(escaped, was_bytes, '<span class="nd-code">%s</span>')


def _spelt(text: str, was_bytes: bool, form: str) -> str:
    """With a name in `form` for what cannot be seen."""
    def seen(found: re.Match[str]) -> str:
        character, code = found[0], ord(found[0])
        if character in KEPT_UNSEEN or unicodedata.category(character) not in UNSEEN:
            return character
        return form % (f"\\x{code - 0xDC00:02X}" if was_bytes and 0xDC80 <= code < 0xDD00 else f"U+{code:04X}")

    return re.sub(r"[^ -~\n]", seen, text)


def spelt(text: str) -> str:
    """Text as `visible` gives it, but without elements: for attributes and titles."""
    return _spelt(html.escape(text), False, " %s ")


def fragment(a: Text, b: Text, found: Passages, names: tuple[str, str] = ("A", "B"), prefix: str = "") -> str:
    """The passages of two texts side by side, as an HTML table.

    Parameters
    ----------
    a, b : str or bytes
        The texts that `found` was found in.
    found : Passages
    names : (str, str)
        What the columns are called.
    prefix : str
        What ids begin with, where a page has several such tables: letters, digits and hyphens.

    Notes
    -----
    All text is escaped. Shared passages have ids ``{prefix}a1``, ``{prefix}b1`` and are links to each other. `STYLE` and
    `SCRIPT` of `ndcore.htmlpage` go with the table, once a page; without the script, passages do not light up together.
    """
    columns = (
        _Column(a, found.a, f"{prefix}a", f"{prefix}b", names[1]), _Column(b, found.b, f"{prefix}b", f"{prefix}a", names[0])
    )
    lines = [
        f'<tr{" class=nd-aligned" if row.aligned else ""}><td>{columns[0].cell(row.a, row.aligned)}</td>'
        f"<td>{columns[1].cell(row.b, row.aligned)}</td></tr>"
        for row in rows(found)
    ]
    if not lines:  # no tokens
        lines.append(f"<tr><td>{_box(visible(a))}</td><td>{_box(visible(b))}</td></tr>")
    head = "".join(f'<th scope="col">{visible(name)}</th>' for name in names)
    return f'<table class="nd-pair"><thead><tr>{head}</tr></thead><tbody>\n' + "\n".join(lines) + "\n</tbody></table>"


def _box(content: str) -> str:
    return f'<div class="nd-text" dir="auto">{content}</div>'


class _Column:
    """The cells of one text. What stands between passages goes with the one before it."""

    def __init__(self, text: Text, passages: list[Passage], own: str, other: str, other_name: str) -> None:
        self.text, self.own, self.other, self.other_name = text, own, other, spelt(other_name)
        begins = [0, *(p.start for p in passages[1:])]
        ends = [*(p.start for p in passages[1:]), len(text)]
        self.around = {p.first: bounds for p, bounds in zip(passages, zip(begins, ends, strict=True), strict=False)}

    def cell(self, passages: list[Passage], aligned: bool) -> str:
        return "".join(self._shared(p, aligned) if p.number else self._alone(p) for p in passages)

    def _alone(self, p: Passage) -> str:
        body = self._boxed(p, f"<mark>{visible(self.text[p.start : p.end])}</mark>")
        return f'<div class="nd-alone"><span class="nd-sign" title="only here">≠</span>{body}</div>'

    def _shared(self, p: Passage, aligned: bool) -> str:
        note = "again" if p.repeat else "" if aligned else "moved"
        label = f"shared passage {p.number}{note and ', ' + note}: go to it in {self.other_name}"
        identity = "" if p.repeat else f' id="{self.own}{p.number}"'
        return (
            f'<div class="nd-shared{note and " nd-" + note}" data-nd="{p.number}"{identity}>'
            f'<a class="nd-sign" href="#{self.other}{p.number}" title="{label}" aria-label="{label}">{p.number}'
            f'{note and f"<small>{note}</small>"}</a>{self._boxed(p, self._folded(p))}</div>'
        )

    def _boxed(self, p: Passage, body: str) -> str:
        begin, end = self.around[p.first]
        before, after = visible(self.text[begin : p.start]).lstrip(), visible(self.text[p.end : end]).rstrip()
        return _box(_dimmed(before) + body + _dimmed(after))

    def _folded(self, p: Passage) -> str:
        """A shared passage; the middle of a long one unfolds."""
        part = self.text[p.start : p.end]
        text, was_bytes = _decoded(part), isinstance(part, bytes)
        head, middle, tail = elided(text, LONG)
        shown = [_visible(each, was_bytes) for each in (head, middle, tail)]
        if middle:
            shown[1] = f"<details><summary>{len(middle):,} characters more</summary>{shown[1]}</details>"
        return "".join(shown)


def _dimmed(text: str) -> str:
    return text and f'<span class="nd-between">{text}</span>'
