"""Readers of the strings of `unicode_tables`."""

from __future__ import annotations

from collections.abc import Iterator


def members(text: str) -> frozenset[int]:
    """Read the code points of `41-5A AA ...`."""
    found: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(found)


def values(text: str) -> dict[int, str]:
    """Read the value of every code point from `value:41-5A,AA value:...`."""
    named = (part.split(":") for part in text.split())
    return {c: value for value, ranges in named for c in members(ranges.replace(",", " "))}


def hexadecimals(text: str) -> tuple[int, ...]:
    return tuple(int(part, 16) for part in text.split(","))


def pairs(text: str) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Read the pairs of `41:61 2000,41:42 ...`."""
    for part in text.split():
        left, _, right = part.partition(":")
        yield hexadecimals(left), hexadecimals(right)
