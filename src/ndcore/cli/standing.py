"""Passages of documents, as a page of ``--report`` shows them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ndcore._types import Ints, Text
from ndcore.files.documents import FileDocuments
from ndcore.report.marked_passages import Standing, excerpt
from ndcore.spans.token_places import TokenPlaces

__all__ = ["range_in", "standing", "united"]


def range_in(text: Text, places: TokenPlaces, at: int) -> tuple[int, int]:
    """Return where range number `at` begins and ends, in the characters or bytes of its text."""
    if isinstance(text, str):
        return int(places.start_char[at]), int(places.end_char[at])
    return int(places.start_byte[at]), int(places.end_byte[at])


def united(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Unite ranges that overlap or touch; ascending."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def standing(corpus: FileDocuments, documents: Ints, places: TokenPlaces) -> list[Standing]:
    """Return the document of each range, with what stands around it. The documents are read again."""
    wanted = np.zeros(len(corpus.ids), np.bool_)
    wanted[documents] = True
    made: dict[int, Standing] = {}
    for positions, texts in corpus.selected(wanted):
        for position, text in zip(positions.tolist(), texts, strict=True):
            for at in np.flatnonzero(documents == position).tolist():
                part = excerpt(text, *range_in(text, places, at))
                made[at] = Standing(str(corpus.ids[position]), str(corpus.place(position)), part)
    return [made[at] for at in range(len(documents))]
