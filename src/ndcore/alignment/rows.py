"""Arrange two texts side by side, with their passages in rows, and render the rows as HTML."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from ndcore._types import Text
from ndcore.alignment.passages import Passage, Passages
from ndcore.alignment.tiling import heaviest_in_order

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
KEPT_UNSEEN = "\n\t\u200c\u200d"  # kept though invisible: blanks, and the joiners of letters and emoji


class AlignedRow(NamedTuple):
    """A row: with `aligned`, a shared passage and its counterpart; else the passages between two such rows."""

    a: list[Passage]
    b: list[Passage]
    aligned: bool


def rows(both: Passages) -> list[AlignedRow]:
    """Arrange passages in rows: shared ones side by side, as many tokens as the order of both texts allows.

    Passages of one text alone, moved and repeated ones are in the rows between. Every passage is in one row, and both
    columns keep their order. O(n log n).
    """
    chosen = in_same_order(both)
    arranged = []
    columns = _split(both.a, chosen), _split(both.b, chosen)
    for (before_a, a), (before_b, b) in zip(*columns, strict=True):
        if before_a or before_b:
            arranged.append(AlignedRow(before_a, before_b, False))
        if a and b:
            arranged.append(AlignedRow([a], [b], True))
    return arranged


def _split(passages: list[Passage], chosen: frozenset[int]) -> Iterator[tuple[list[Passage], Passage | None]]:
    """Yield (passages before it, it) for each chosen passage, then (passages after the last, None)."""
    before: list[Passage] = []
    for passage in passages:
        if passage.number in chosen and not passage.repeat:
            yield before, passage
            before = []
        else:
            before.append(passage)
    yield before, None


def in_same_order(both: Passages) -> frozenset[int]:
    """Find numbers in the same order in both texts, of the most tokens: the heaviest increasing subsequence."""
    originals = [p for p in both.a if p.number and not p.repeat]
    rank = {p.number: rank for rank, p in enumerate(originals)}
    order = [rank[p.number] for p in both.b if p.number and not p.repeat]
    chosen = heaviest_in_order([p.last - p.first for p in originals], order)
    return frozenset(originals[i].number for i in chosen)


def elided(text: str, limit: int) -> tuple[str, str, str]:
    """Split a text of more than `limit` characters, between words, into (beginning, middle, end); else (text, "", "")."""
    if len(text) <= limit:
        return text, "", ""
    keep = limit // 3
    head = text[:keep].rpartition(" ")[0] or text[:keep]
    tail = text[-keep:].partition(" ")[2] or text[-keep:]
    return head, text[len(head) : len(text) - len(tail)], tail


# ---- as HTML


def visible(text: Text) -> str:
    """Escape text for HTML; invisible characters, and those that change the direction of writing, become code numbers."""
    return escape_text(decoded(text), isinstance(text, bytes))


def decoded(text: Text) -> str:
    """Decode UTF-8; each byte outside well-formed sequences becomes a surrogate."""
    return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text


def escape_text(text: str, was_bytes: bool) -> str:
    """Escape a text from `decoded` like `visible`."""
    return _spell_out(html.escape(text.replace("\r\n", "\n")), was_bytes, '<span class="nd-code">%s</span>')


def _spell_out(text: str, was_bytes: bool, form: str) -> str:
    """Replace invisible characters by their code numbers in `form`."""
    return re.sub(r"[^ -~\n]", lambda found: _spelt_character(found[0], was_bytes, form), text)


def _spelt_character(character: str, was_bytes: bool, form: str) -> str:
    """Return the character, or its code number in `form` if it is invisible."""
    if character in KEPT_UNSEEN or unicodedata.category(character) not in UNSEEN:
        return character
    code = ord(character)
    return form % (f"\\x{code - 0xDC00:02X}" if was_bytes and 0xDC80 <= code < 0xDD00 else f"U+{code:04X}")


def spell_text(text: str) -> str:
    """Escape text like `visible`, but without elements: for attributes and titles."""
    return _spell_out(html.escape(text), False, " %s ")
