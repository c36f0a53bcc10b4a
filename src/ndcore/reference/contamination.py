"""Fields of items that are near each other, by brute force (DESIGN.md, section 5, "Contamination")."""

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
    """Tell of each item which fields are near the first one; of the first one itself, whether it occurs.

    A field is near if in a document a window of it occurs, at most `near` tokens before or behind a window of the first
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


def cover_with_gaps(items: Sequence[Document], corpus: Sequence[Document], length: int, gaps: int) -> list[list[bool]]:
    """Mark the tokens of items that exact windows or runs with a gap cover.

    A *run with a gap* is two seeds of n = ⌈length / 2⌉ tokens of an item, with at most `gaps` tokens between them. It occurs
    if a document has both in this order, with at most `gaps` tokens between them, whatever these are. It covers its seeds.
    """
    n, marks = -(-length // 2), []
    for item in items:
        flags = [False] * len(item)
        for at, window in enumerate(windows(item, length)):
            if any(find_run(window, document) for document in corpus):
                flags[at : at + len(window)] = [True] * len(window)
        for first in range(len(item) - 2 * n + 1):
            for second in range(first + n, min(first + n + gaps, len(item) - n) + 1):
                if any(0 <= q - p - n <= gaps for document in corpus
                       for p in find_run(item[first : first + n], document)
                       for q in find_run(item[second : second + n], document)):
                    flags[first : first + n] = flags[second : second + n] = [True] * n
        marks.append(flags)
    return marks


def mark_document_with_gaps(items: Sequence[Document], document: Document, length: int, gaps: int) -> list[bool]:
    """Mark the tokens of a document that are in windows of items, or in runs with a gap, with the tokens in the gap."""
    n, marks = -(-length // 2), [False] * len(document)
    for item in items:
        for window in windows(item, length):
            for at in find_run(window, document):
                marks[at : at + len(window)] = [True] * len(window)
        for first in range(len(item) - 2 * n + 1):
            for second in range(first + n, min(first + n + gaps, len(item) - n) + 1):
                for p in find_run(item[first : first + n], document):
                    for q in find_run(item[second : second + n], document):
                        if 0 <= q - p - n <= gaps:
                            marks[p : q + n] = [True] * (q + n - p)
    return marks
