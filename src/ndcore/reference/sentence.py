"""Sentences: the rules of Unicode Standard Annex #29, section 5.1, one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import unicode_tables as tables
from .properties import mappings, members, values

MARK = members(tables.MARK)
LETTER_OR_NUMBER = members(tables.LETTER_OR_NUMBER)
DECIMAL = members(tables.DECIMAL)
FOLD = mappings(tables.FOLD)
FOLDED = frozenset(folded for (folded,) in FOLD.values())
EXCEPTIONS = values(tables.SENTENCE_BREAK)

SIGNS = {
    "Other": "o", "Extend": "+", "Sp": "_", "Sep": "p", "CR": "r", "LF": "n", "Lower": "a", "Upper": "A", "OLetter": "l",
    "Numeric": "1", "SContinue": ",", "ATerm": ".", "STerm": "!", "Close": ")",
}  # fmt: skip
WHITE = "_prn"


def sentence_break(c: int | None) -> str:
    """Return Sentence_Break, Format as Extend; of None, a byte in no well-formed sequence, Other."""
    if c is None:
        return "Other"
    if c in EXCEPTIONS:
        return EXCEPTIONS[c]
    if c in MARK:
        return "Extend"
    if c in FOLD or c in FOLDED:
        return "Upper" if c in FOLD else "Lower"
    return "Numeric" if c in DECIMAL else "OLetter" if c in LETTER_OR_NUMBER else "Other"


def ends(before: str, after: str) -> bool:
    """Tell whether a sentence ends between its signs so far and the signs that follow, neither of them empty."""
    if before[-1] == "r" and after[0] == "n":  # SB3
        return False
    if before[-1] in "prn":  # SB4
        return True
    if after[0] == "+":  # SB5
        return False
    before, after = before.replace("+", ""), after.replace("+", "")
    if before.endswith(".") and after[0] == "1":  # SB6
        return False
    if re.search(r"[Aa]\.\Z", before) and after[0] == "A":  # SB7
        return False
    if re.search(r"\.\)*_*\Z", before) and re.match(r"[o_1,)]*a", after):  # SB8
        return False
    terminated = re.search(r"[.!]\)*_*\Z", before)
    if terminated and after[0] in ",.!":  # SB8a
        return False
    if re.search(r"[.!]\)*\Z", before) and after[0] in ")_prn":  # SB9
        return False
    if terminated and after[0] in "_prn":  # SB10
        return False
    return terminated is not None  # SB11, SB998


def sentences(points: Sequence[int | None]) -> list[tuple[int, int]]:
    """Find where sentences begin and end, all of a text in order, white space at their ends included.

    >>> sentences([ord(c) for c in "Is it? It is."])
    [(0, 7), (7, 13)]
    """
    signs = "".join(SIGNS[sentence_break(c)] for c in points)
    bounds = [0]
    for i in range(1, len(signs)):
        if ends(signs[bounds[-1] : i], signs[i:]):
            bounds.append(i)
    return list(zip(bounds, [*bounds[1:], len(signs)], strict=True)) if signs else []


def stripped(points: Sequence[int | None], start: int, end: int) -> tuple[int, int]:
    """Leave out the white space (Sentence_Break Sp, Sep, CR and LF) at both ends of a range."""
    while start < end and SIGNS[sentence_break(points[start])] in WHITE:
        start += 1
    while start < end and SIGNS[sentence_break(points[end - 1])] in WHITE:
        end -= 1
    return start, end
