"""Keys that two documents must agree in (DESIGN.md, section 5, "Keys").

Word tokens are canonical words, without NFKC and without stop words, for any unit of the shingles.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable

from . import text as canonical
from . import unicode_tables as tables
from .properties import members

DECIMAL = members(tables.DECIMAL)
PLAIN = (type(None), bool, int, float, str, bytes)


def numbers(text: str | bytes) -> tuple[bytes, ...]:
    """Return the word tokens that hold a decimal digit (general category Nd), in order, with repeats.

    >>> numbers("Room 12, 3rd floor, X²")
    (b'12', b'3rd')
    """
    return tuple(token for token in canonical.tokens(text) if any(ord(c) in DECIMAL for c in token.decode()))


def title(text: str | bytes, page_title: str | None = None) -> tuple[bytes, ...]:
    """Return the word tokens of the title of a page of HTML, or else of the first line that has any.

    Lines end at LF, CR or CRLF.
    """
    lines = re.split(rb"\r\n|\r|\n", canonical.to_bytes(text))
    found = (tuple(canonical.tokens(line)) for line in [page_title or "", *lines])
    return next((tokens for tokens in found if tokens), ())


def negations(text: str | bytes, words: Iterable[str]) -> tuple[bytes, ...]:
    """Return the word tokens that are in a list of words of negation, in order, with repeats.

    Raises
    ------
    ValueError
        If a word of the list is not one token.
    """
    listed = set()
    for word in words:
        found = canonical.tokens(word)
        if len(found) != 1:
            raise ValueError(f"{word!r} is {len(found)} tokens; give words of one token")
        listed.add(found[0])
    return tuple(token for token in canonical.tokens(text) if token in listed)


ENDS = ".!?:;…‼⁇⁈⁉‽¿¡\u037e·։。．！？：；"
"""Characters after which a capital says nothing: the next word begins a sentence, or what is like one."""


def names(text: str | bytes) -> list[bytes]:
    """Return the word tokens that a text writes with a capital at every place, and not only where a sentence begins.

    A capital is a code point that simple case folding changes. A word begins a sentence if it is the first of the text, or
    if one of ENDS is between it and the word before; there it needs two capitals to count. Each name once, ascending.

    >>> names("The court heard Smith. Then the ACLU and Jones, of Ohio, spoke. Jones left. IBM did not")
    [b'aclu', b'ibm', b'jones', b'ohio', b'smith']
    """
    proper: set[bytes] = set()
    common: set[bytes] = set()
    begins = True
    for run in canonical.runs(canonical.decode(canonical.to_bytes(text))):
        points = [c for c in run if c not in canonical.IGNORABLE]
        folded, at = canonical.fold(points), 0
        for word in canonical.words(folded):
            start = next(i for i in range(at, len(folded)) if folded[i : i + len(word)] == word)
            begins = begins or any(chr(c) in ENDS for c in points[at:start])
            at = start + len(word)
            capitals = sum(a != b for a, b in zip(points[start:at], word, strict=True))
            if not capitals:
                common.add(canonical.encode(word))
            elif capitals > 1 or not begins:
                proper.add(canonical.encode(word))
            begins = False
        begins = begins or any(chr(c) in ENDS for c in points[at:])
    return sorted(proper - common)


def key(value: object) -> Hashable:
    """Return what two values of a callable are compared by: type and value, of each member of a tuple.

    Raises
    ------
    TypeError
        If the value is not None, bool, int, float, str or bytes, or a tuple of these.
    ValueError
        If it is nan, which is not equal to itself.
    """
    if type(value) is tuple:
        return tuple(map(_plain, value))
    return _plain(value)


def _plain(value: object) -> Hashable:
    """Return type and value."""
    if type(value) not in PLAIN:
        raise TypeError(f"a key is {value!r}; give None, bool, int, float, str or bytes, or a tuple of these")
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("a key is nan, which is not equal to itself; give another value")
    return type(value), value
