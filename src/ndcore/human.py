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


def format_numbers(low: float, high: float) -> str:
    """Return an estimate between two numbers, each of two digits; one number where it is known."""
    return f"{round(high):,}" if round(low) == round(high) else f"{_round(low):,} to {_round(high):,}"


def _round(number: float) -> int:
    """Round to two digits: an estimate has no more."""
    digits = max(0, len(str(round(number))) - 2)
    return int(round(number, -digits))


def format_sizes(low: float, high: float) -> str:
    """Return an estimate between two numbers of bytes."""
    least, most = human_bytes(low), human_bytes(high)
    return most if least == most else f"{least} to {most}" if round(low) else f"at most {most}"


def format_times(low: float, high: float) -> str:
    """Return an estimate between two numbers of seconds."""
    least, most = _format_duration(low), _format_duration(high)
    return f"about {most}" if least == most else f"{least} to {most}"


def _format_duration(seconds: float) -> str:
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def aligned(rows: Iterable[tuple[str, str]], indent: str = "  ") -> list[str]:
    """Return names and what each of them is, a row for each, in two columns."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return [f"{indent}{name:<{width}}  {value}" for name, value in rows]


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
