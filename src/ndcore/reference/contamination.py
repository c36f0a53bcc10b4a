"""Contamination of items by a corpus, by brute force: the definition in DESIGN.md, section 3."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

Tokens = Sequence[Hashable]


class Item(NamedTuple):
    """An item: its tokens, how many are covered, its distinct windows, how many occur, its longest covered run."""

    tokens: int
    covered: int
    grams: int
    found: int
    longest: int


def windows(tokens: Tokens, length: int) -> list[tuple[Hashable, ...]]:
    """List the windows of ``length`` tokens of an item; a shorter item is one window, an empty one has none."""
    n = min(length, len(tokens))
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)] if n else []


def occurs(window: Tokens, document: Tokens) -> bool:
    """Tell whether a document has the tokens of a window one after another."""
    n = len(window)
    return any(tuple(document[i : i + n]) == tuple(window) for i in range(len(document) - n + 1))


def contamination(items: Sequence[Tokens], corpus: Sequence[Tokens], length: int) -> list[Item]:
    """Count for each item the tokens that its windows cover which occur in the corpus."""
    found = []
    for tokens in items:
        own = windows(tokens, length)
        known = {window: any(occurs(window, document) for document in corpus) for window in own}
        flags = [False] * len(tokens)
        for start, window in enumerate(own):
            for i in range(start, start + len(window)):
                flags[i] |= known[window]
        runs = "".join("x" if flag else " " for flag in flags).split()
        found.append(Item(len(tokens), sum(flags), len(known), sum(known.values()), max(map(len, runs), default=0)))
    return found
