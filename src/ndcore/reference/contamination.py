"""Fields of items that stand near each other, by brute force (DESIGN.md, section 3, "Contamination")."""

from __future__ import annotations

from collections.abc import Sequence

from ndcore.reference.repeats import Document, find_run, windows

ItemOfFields = Sequence[Sequence[Document]]  # of each field its parts


def find_windows(parts: Sequence[Document], document: Document, length: int) -> set[tuple[int, int]]:
    """Find the places (first token, last token + 1) in a document where windows of parts of a field occur."""
    own = {window for part in parts for window in windows(part, length)}
    return {(at, at + len(window)) for window in own for at in find_run(window, document)}


def stands_near(
    items: Sequence[ItemOfFields], corpus: Sequence[Document], length: int, near: int
) -> list[list[bool]]:
    """Tell of each item which fields stand near the first one; of the first one itself, whether it occurs.

    A field stands near if in a document a window of it occurs, at most `near` tokens before or behind a window of the first
    field of the same item. An occurrence that shares a token with a window of the first field of any item does not count:
    it says nothing beside that field.
    """
    verdicts = [[False] * len(item) for item in items]
    for document in corpus:
        firsts = [find_windows(item[0], document, length) for item in items]
        taken = {token for places in firsts for start, end in places for token in range(start, end)}
        for item, verdict, places in zip(items, verdicts, firsts, strict=True):
            verdict[0] |= bool(places)
            for field, parts in enumerate(item[1:], 1):
                verdict[field] |= any(
                    start - end_of_first <= near and first - end <= near
                    for start, end in find_windows(parts, document, length) if not taken.intersection(range(start, end))
                    for first, end_of_first in places)
    return verdicts
