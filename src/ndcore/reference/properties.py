"""Readers of the strings of `unicode_tables`, which hold differences."""

from __future__ import annotations

from itertools import zip_longest


def members(text: str) -> frozenset[int]:
    """Read the code points of `41+19 47 ...`: ranges, by the gap after the range before and the code points that follow."""
    found: set[int] = set()
    last = 0
    for part in text.split():
        gap, _, following = part.partition("+")
        first = last + int(gap, 16)
        last = first + int(following or "0", 16)
        found.update(range(first, last + 1))
    return frozenset(found)


def values(text: str) -> dict[int, str]:
    """Read the value of every code point from `value:41+19,47 value:...`."""
    named = (part.split(":") for part in text.split())
    return {c: value for value, ranges in named for c in members(ranges.replace(",", " "))}


def mappings(text: str) -> dict[int, tuple[int, ...]]:
    """Read the code points that every code point is mapped to, from `41:61 1:1 5E:3,4 ...`."""
    found: dict[int, tuple[int, ...]] = {}
    last = 0
    target: tuple[int, ...] = ()
    for part in text.split():
        step, _, steps = part.partition(":")
        changes = [int(change, 16) for change in steps.split(",")]
        last += int(step, 16)
        target = tuple(change + before for change, before in zip_longest(changes, target[: len(changes)], fillvalue=0))
        found[last] = target
    return found
