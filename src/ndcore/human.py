"""Format numbers and names for people."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 document``, ``2,000 documents``. Give `plural` if it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def enumerated(words: Iterable[str], conjunction: str = "or") -> str:
    """Return words as a sentence lists them: ``gzip, zstd or xz``."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def human_bytes(n: float) -> str:
    """Return a number of bytes with a decimal unit, for example ``5.3 GB``."""
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n:.0f} bytes"


def printable(text: str, limit: int | None = None) -> str:
    """Escape what a terminal would obey or cannot show, and elide the middle of text longer than `limit`."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if limit is not None and len(shown) > limit:
        shown = f"{shown[: limit // 2 - 2]}...{shown[len(shown) - limit // 2 + 1 :]}"
    return shown


def pasted(words: Iterable[str]) -> str:
    """Return a command line to be pasted into a shell, which a terminal shows and does not obey.

    A word with characters that cannot be shown has its bytes in ``$'…'``, as bash, zsh and POSIX 2024 read it.
    """
    return " ".join(shlex.quote(word) if word.isprintable() else f"$'{''.join(map(_in_quotes, word))}'" for word in words)


def _in_quotes(character: str) -> str:
    """Return a character as it is written in ``$'…'``."""
    if character in "'\\":
        return f"\\{character}"
    return character if character.isprintable() else "".join(f"\\{byte:03o}" for byte in os.fsencode(character))
