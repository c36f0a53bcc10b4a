"""Fold disguises of text, and map positions in the folded text back to the original.

Each character, or HTML character reference, is folded independently of its neighbours. So texts with equal words have equal
words when folded, and folding never hides a match that exists without it.

Sources: HTML Standard, section 13.5, named character references
(https://html.spec.whatwg.org/multipage/named-characters.html), and section 13.2.5.80, numeric ones
(https://html.spec.whatwg.org/multipage/parsing.html).
Unicode Technical Standard #39, Unicode Security Mechanisms, section 4, and its data confusables.txt
(https://www.unicode.org/reports/tr39/).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from array import array
from collections.abc import Collection, Iterator
from html.entities import html5
from typing import Literal, NamedTuple, get_args

import numpy as np

from ndcore._types import Ints, Text
from ndcore.checks import check_choice
from ndcore.choices import FOLDS

Fold = Literal["entities", "letters", "accents"]

# Letters that confusables.txt maps to one ASCII letter, by their small forms: Greek, Cyrillic, and Latin ones beyond
# ASCII. Case is ignored when words are compared, so both forms of a letter become the same: what the small form looks like,
# or, where that is none of a to z, what the capital looks like (Greek eta: H). Palochka is an exception: its small form has
# the entry i, and its capital, which is what people type, l.
_LOOKS = (
    "a αаɑ", "b βвь", "c сᴄ", "d ԁ", "e εеҽ", "f ϝꬵꞙ", "g ԍɡ", "h ηнһ", "i ιіꙇıɩɪ", "j ϳјʝ", "k κк", "l ӏ", "m μϻм",
    "o οσоᴏ", "p ρр", "q ԛ", "r гʀ", "s ѕꜱ", "t τт", "u υᴜʋ", "v νѵᴠ", "w ѡԝᴡɯ", "x χхꭓ", "y γуүʏɣ", "z ζᴢ",
)
LOOK_ALIKE = {other: row[0] for row in _LOOKS for other in row[2:]}
_ACCENTS = re.compile("[\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
# "&amp;amp;eacute;" is a reference that was escaped several times.
_REFERENCE = re.compile("&(?:amp;)*(?:#0*([0-9]{1,7})|#[xX]0*([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,31}));")
_LAST = 0x1FBFF  # letters that decompose, or look like others, are below


class FoldedText(NamedTuple):
    """A folded text, and the origin of each of its characters: the first character of the original, and the last + 1."""

    text: str
    starts: Ints
    ends: Ints


class Folding:
    """A choice of what is folded in texts: some of "entities", "letters" and "accents".

    Raises
    ------
    TypeError, ValueError
        A kind is not one of these.

    Examples
    --------
    >>> Folding(["entities", "letters", "accents"]).fold("d\u0435j&agrave; vu")
    'deja vu'
    """

    def __init__(self, kinds: Collection[Fold]) -> None:
        if isinstance(kinds, (str, bytes)):
            raise TypeError(f"fold is {kinds!r}; give a list of {', '.join(FOLDS)}, such as [{next(iter(FOLDS))!r}]")
        for kind in kinds:
            check_choice("fold", kind, get_args(Fold))
        self.kinds: tuple[Fold, ...] = tuple(kind for kind in get_args(Fold) if kind in kinds)

    def __bool__(self) -> bool:
        return bool(self.kinds)

    def __repr__(self) -> str:
        return f"Folding({list(self.kinds)!r})"

    def __eq__(self, other: object) -> bool:
        return self.kinds == other.kinds if isinstance(other, Folding) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.kinds)

    def fold(self, text: Text) -> Text:
        """Fold a text; bytes that are not UTF-8 stay unchanged. O(len)."""
        if self._is_plain(text):
            return text
        if isinstance(text, bytes):
            return self._fold(_decode(text)).encode("utf-8", "surrogateescape")
        return self._fold(text)

    def trace(self, text: Text) -> FoldedText | None:
        """Fold a text and trace the origin of its characters; None if nothing changes. A byte outside UTF-8 is a character.
        """
        if self._is_plain(text):
            return None
        points = _decode(text) if isinstance(text, bytes) else str(text)
        bounds, sizes = array("q"), array("q")  # where changed ranges begin and end, and their new lengths
        for start, end, piece in self._find(points):
            bounds.extend((start, end))
            sizes.append(len(piece))
        begins, ends = np.array(bounds, np.int64).reshape(-1, 2).T
        changing = np.zeros(len(points) + 1, np.int8)
        changing[begins] += 1
        changing[ends] -= 1
        unchanged = np.flatnonzero(np.cumsum(changing[:-1], dtype=np.int8) == 0)
        starts = np.concatenate([unchanged, np.repeat(begins, sizes)])
        order = np.argsort(starts, kind="stable")
        ends = np.concatenate([unchanged + 1, np.repeat(ends, sizes)])[order]
        return FoldedText(self._fold(points), starts[order], ends)

    def _is_plain(self, text: Text) -> bool:
        """Tell whether a text certainly does not change."""
        if not text.isascii():
            return False
        return "entities" not in self.kinds or (b"&" not in text if isinstance(text, bytes) else "&" not in text)

    def _fold(self, text: str) -> str:
        """Fold a text."""
        if "entities" in self.kinds and "&" in text:
            text = _REFERENCE.sub(lambda match: _resolve(match) or match[0], text)
        return self._fold_letters(text)

    def _fold_letters(self, text: str) -> str:
        """Fold letters and accents of a text."""
        if self._changed is None or text.isascii():
            return text
        return text.translate(self._table)

    def _find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the ranges of a text that change, and their replacements."""
        at = 0
        for match in _REFERENCE.finditer(text) if "entities" in self.kinds else ():
            resolved = _resolve(match)
            if resolved is not None:
                yield from self._find_letters(text, at, match.start())
                yield match.start(), match.end(), self._fold_letters(resolved)
                at = match.end()
        yield from self._find_letters(text, at, len(text))

    def _find_letters(self, text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Yield the letters and accents of a part of a text that change."""
        for match in () if self._changed is None else self._changed.finditer(text, start, end):
            yield match.start(), match.end(), self._letters[match[0]]

    @property
    def _letters(self) -> dict[str, str]:
        """The replacement of each character that changes, without references."""
        return _fold_characters("letters" in self.kinds, "accents" in self.kinds)

    @functools.cached_property
    def _table(self) -> _Table:
        """The same table by code points."""
        return _Table({ord(character): folded for character, folded in self._letters.items()})

    @functools.cached_property
    def _changed(self) -> re.Pattern[str] | None:
        """A pattern of the characters that change; None if there are none."""
        return re.compile(f"[{''.join(map(re.escape, self._letters))}]") if self._letters else None


class _Table(dict[int, int | str]):
    """Replacements of code points for `str.translate`; unchanged ones are added when they occur, at most 130,000."""

    def __missing__(self, point: int) -> int:
        if point < _LAST:
            self[point] = point
        return point


@functools.cache
def _fold_characters(letters: bool, accents: bool) -> dict[str, str]:
    """List the characters that change, and their replacements. Takes a tenth of a second."""
    changed: dict[str, str] = {}
    for character in map(chr, [*range(0x80, 0xD800), *range(0xE000, _LAST)]) if letters or accents else ():
        parts = plain = unicodedata.normalize("NFD", character)
        if letters:
            parts = "".join(LOOK_ALIKE.get(unicodedata.normalize("NFKD", part).casefold(), part) for part in plain)
        if accents:
            parts = _ACCENTS.sub("", parts)
        if parts != plain:
            changed[character] = unicodedata.normalize("NFC", parts)
    return changed


def _decode(data: bytes) -> str:
    """Decode bytes; those that are not UTF-8 become surrogates."""
    return data.decode("utf-8", "surrogateescape")


def _resolve(match: re.Match[str]) -> str | None:
    """Return the characters of a reference; None if there is no such name or character. A repeatedly escaped reference is
    resolved completely. Numbers from 128 to 159 are read as Windows-1252, as in browsers.
    """
    decimal, hexadecimal, name = match.groups()
    if name is not None:
        characters = html5.get(f"{name};")
    else:
        number = int(decimal) if decimal is not None else int(hexadecimal, 16)
        characters = chr(number) if 0 < number < 0xD800 or 0xDFFF < number <= 0x10FFFF else None
        if 0x80 <= number < 0xA0:
            characters = bytes([number]).decode("cp1252", "ignore") or characters
    if characters is None and match[0].startswith("&amp;"):
        return f"&{match[0].rpartition('amp;')[2]}"
    return characters
