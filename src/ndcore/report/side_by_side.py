"""Render two texts side by side as an HTML table."""

from __future__ import annotations

from ndcore._types import Text
from ndcore.alignment.passages import Passage, Passages
from ndcore.alignment.rows import decoded, elided, escape_text, rows, spell_text, visible

LONG = 1200  # characters of a shared passage beyond which its middle is folded
LEGEND = (
    'A number marks a passage that both texts share, <span class="nd-sign nd-equal">=</span> an equal run too short to be a '
    'shared shingle, <span class="nd-sign nd-only">≠</span> a passage that the other text does not have at this place.'
)


def show_side_by_side(a: Text, b: Text, aligned: Passages, names: tuple[str, str] = ("A", "B"), prefix: str = "") -> str:
    """Render the passages of two texts side by side, as an HTML table.

    Parameters
    ----------
    a, b : str or bytes
        The texts that were aligned.
    aligned : Passages
    names : (str, str)
        Headings of the columns.
    prefix : str
        Prefix of ids, for a page with several such tables: letters, digits and hyphens.

    Notes
    -----
    All text is escaped. Shared passages have the ids ``{prefix}a1``, ``{prefix}b1`` and link to each other. A page with
    such tables needs `STYLE` and `SCRIPT` of `ndcore.report.html`, once; without the script, pairs of passages are not
    highlighted together.
    """
    columns = (_Column(a, aligned.a, f"{prefix}a", f"{prefix}b", names[1]),
               _Column(b, aligned.b, f"{prefix}b", f"{prefix}a", names[0]))
    lines = [
        f'<tr{" class=nd-aligned" if row.aligned else ""}><td>{columns[0].cell(row.a, row.aligned)}</td>'
        f"<td>{columns[1].cell(row.b, row.aligned)}</td></tr>"
        for row in rows(aligned)
    ]
    if not lines:  # no tokens
        lines.append(f"<tr><td>{_show_box(visible(a))}</td><td>{_show_box(visible(b))}</td></tr>")
    head = "".join(f'<th scope="col">{visible(name)}</th>' for name in names)
    return f'<table class="nd-pair"><thead><tr>{head}</tr></thead><tbody>\n' + "\n".join(lines) + "\n</tbody></table>"


def _show_box(content: str) -> str:
    """Wrap text in a box."""
    return f'<div class="nd-text" dir="auto">{content}</div>'


class _Column:
    """The cells of one text. Text between passages belongs to the passage before it."""

    def __init__(self, text: Text, passages: list[Passage], own: str, other: str, other_name: str) -> None:
        self.text, self.own, self.other, self.other_name = text, own, other, spell_text(other_name)
        begins = [0, *(p.start for p in passages[1:])]
        ends = [*(p.start for p in passages[1:]), len(text)]
        self.around = {p.first: bounds for p, bounds in zip(passages, zip(begins, ends, strict=True), strict=False)}

    def cell(self, passages: list[Passage], aligned: bool) -> str:
        """Render the passages of one cell."""
        return "".join(self._show_shared(p, aligned) if p.number else self._show_alone(p) for p in passages)

    def _show_alone(self, p: Passage) -> str:
        """Render a passage that the other text does not have at the same place."""
        body = self._put_in_box(p, f"<mark>{visible(self.text[p.start : p.end])}</mark>")
        sign = f'<span class="nd-sign" title="not at this place of {self.other_name}">≠</span>'
        return f'<div class="nd-alone">{sign}{body}</div>'

    def _show_shared(self, p: Passage, aligned: bool) -> str:
        """Render a shared passage as a link to its other place."""
        note = "again" if p.repeat else "" if aligned else "moved"
        kind = "equal, too short to be a shared shingle" if p.short else f"shared passage {p.number}"
        label, sign = f"{kind}{note and ', ' + note}: go to it in {self.other_name}", "=" if p.short else p.number
        identity = "" if p.repeat else f' id="{self.own}{p.number}"'
        return (
            f'<div class="nd-shared{" nd-short" if p.short else ""}{note and " nd-" + note}" data-nd="{p.number}"{identity}>'
            f'<a class="nd-sign" href="#{self.other}{p.number}" title="{label}" aria-label="{label}">{sign}'
            f'{note and f"<small>{note}</small>"}</a>{self._put_in_box(p, self._fold_middle(p))}</div>'
        )

    def _put_in_box(self, p: Passage, body: str) -> str:
        """Render a passage in a box with the text around it."""
        begin, end = self.around[p.first]
        before, after = visible(self.text[begin : p.start]).lstrip(), visible(self.text[p.end : end]).rstrip()
        return _show_box(_show_between(before) + body + _show_between(after))

    def _fold_middle(self, p: Passage) -> str:
        """Render the text of a shared passage; the middle of a long one unfolds."""
        part = self.text[p.start : p.end]
        text, was_bytes = decoded(part), isinstance(part, bytes)
        head, middle, tail = elided(text, LONG)
        parts = [escape_text(each, was_bytes) for each in (head, middle, tail)]
        if middle:
            parts[1] = f"<details><summary>{len(middle):,} characters more</summary>{parts[1]}</details>"
        return "".join(parts)


def _show_between(text: str) -> str:
    """Wrap text between passages, if there is any."""
    return text and f'<span class="nd-between">{text}</span>'
