"""Texts without their repeated passages."""

from __future__ import annotations

import re
from typing import Any

from ndcore._types import Ints, Text
from ndcore.spans.token_places import place_ranges
from ndcore.text.shingling import Shingling

__all__ = ["cut_text", "joined"]

BLANKS = re.compile(r"\s*")
BLANK_BYTES = re.compile(rb"\s*")


def cut_text(text: Text, shingling: Shingling, firsts: Ints, lasts: Ints) -> list[Text]:
    """Return what is left of a text without ranges of tokens, ascending and apart, and the blanks that follow each.

    The pieces are in order, and none is empty.
    """
    if not len(firsts):
        return [text] if text else []
    found = place_ranges(text, shingling, firsts, lasts)
    pieces: list[Text] = []
    at = 0
    if isinstance(text, str):
        for start, end in zip(found.start_char.tolist(), found.end_char.tolist(), strict=True):
            pieces.append(text[at:start])
            at = _behind(BLANKS, text, end)
    else:
        for start, end in zip(found.start_byte.tolist(), found.end_byte.tolist(), strict=True):
            pieces.append(text[at:start])
            at = _behind(BLANK_BYTES, text, end)
    pieces.append(text[at:])
    return [piece for piece in pieces if piece]


def _behind(blanks: re.Pattern[Any], text: Any, at: int) -> int:
    """Return the end of the blanks that begin at a position."""
    found = blanks.match(text, at)
    return at if found is None else found.end()


def joined(pieces: list[Text], of_str: bool) -> Text:
    """Join the pieces of a text, with a space where no blank is between two."""
    blank: Any = " " if of_str else b" "
    parts: list[Any] = []
    for piece in pieces:
        if parts and not parts[-1][-1:].isspace() and not piece[:1].isspace():
            parts.append(blank)
        parts.append(piece)
    whole: Text = blank[:0].join(parts)
    return whole
