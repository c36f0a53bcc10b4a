"""Texts without some of their tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from ndcore._types import Ints, Text
from ndcore.parallel import map_pieces
from ndcore.spans.token_places import Ranges, place_ranges
from ndcore.text.corpus import Corpus, corpus_pieces
from ndcore.text.shingling import Shingling

__all__ = ["cut_corpus", "cut_text", "joined"]

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


def cut_corpus(
    corpus: Corpus, shingling: Shingling, ranges: Ranges, threads: int | None
) -> Iterator[tuple[bool, list[Text]]]:
    """Yield for each document of a corpus whether it is a str, and what `cut_text` leaves of it, in order.

    Raises
    ------
    ValueError
        The unit is a callable, whose tokens have no known places; or a document has fewer tokens than are to be cut.
    """
    if callable(shingling.unit):
        raise ValueError(f"unit is {shingling.unit!r}, and where the tokens of a callable stand in a text is not known; cut "
                         "at tokens")
    work = partial(_cut_piece, shingling, ranges)
    return chain.from_iterable(map_pieces(work, corpus_pieces(corpus), threads))


def _cut_piece(shingling: Shingling, ranges: Ranges, piece: tuple[int, Sequence[Text]]) -> list[tuple[bool, list[Text]]]:
    """Cut the texts of a piece."""
    documents, firsts, lasts = ranges
    first, texts = piece
    positions = np.arange(first, first + len(texts))
    begins, ends = np.searchsorted(documents, positions), np.searchsorted(documents, positions, "right")
    left = []
    for position, text, begin, end in zip(positions.tolist(), texts, begins.tolist(), ends.tolist(), strict=True):
        try:
            left.append((isinstance(text, str), cut_text(text, shingling, firsts[begin:end], lasts[begin:end])))
        except IndexError as error:
            raise ValueError(f"document {position} has no token {lasts[end - 1] - 1}, which is to be cut: its text is not "
                             "the one that was looked through") from error
    return left
