"""Windows of items that were found in documents, gathered."""

from __future__ import annotations

import mmap

import numpy as np

from ndcore._types import Ints
from ndcore.spans.contamination_reading import ItemSearch, WindowHits

__all__ = ["Hits", "merged"]

WAITING = 1 << 18  # windows that were found, and wait to be noted


class Hits:
    """All that is known about the windows of items, after the documents so far.

    Attributes
    ----------
    grams : Grams
    offsets : ndarray of int64
        Of the tokens of the items.
    documents, tokens : int
        Documents so far, and their tokens.
    document, position : ndarray of int64
        Of each window: 1 + the first document that has it (0: none), and where the window begins there.
    spans : list of tuples of arrays
        Document, first and last token + 1 of each span, number of its first window.
    holding : list of tuples of arrays
        Document and number of tokens, of documents that have a window.
    """

    def __init__(self, search: ItemSearch) -> None:
        self.grams, self.offsets = search.grams, search.offsets
        self.documents = self.tokens = 0
        count = len(search.grams.places)
        self.document, self.position = _sparse(count), _sparse(count)
        self.spans: list[tuple[Ints, Ints, Ints, Ints]] = []
        self.holding: list[tuple[Ints, Ints]] = []
        self._waiting: list[WindowHits] = []
        self._hits = 0

    def add(self, found: WindowHits) -> None:
        """Add the next documents. What was found waits until there is much of it, or until `settle`."""
        self.documents += found.documents
        self.tokens += found.tokens
        if len(found.holders):
            self._waiting.append(found)
            self._hits += len(found.numbers)
            if self._hits >= WAITING:
                self.settle()

    def settle(self) -> None:
        """Note what waits."""
        waiting, self._waiting, self._hits = self._waiting, [], 0
        if not waiting:
            return
        documents, sizes, counts, positions, numbers = (
            np.concatenate([getattr(found, name) for found in waiting])
            for name in ("holders", "sizes", "counts", "positions", "numbers"))
        rows = np.repeat(np.arange(len(documents)), counts)
        if not ((np.diff(rows) > 0) | (np.diff(positions) > 0)).all():  # windows of several lengths
            order = np.lexsort((positions, rows))
            rows, positions, numbers = rows[order], positions[order], numbers[order]
        self._note(documents, sizes, rows, positions, numbers)

    def _note(self, documents: Ints, sizes: Ints, rows: Ints, positions: Ints, numbers: Ints) -> None:
        """Note hits, in order of documents and positions. rows: the document of each hit among `documents`."""
        new = np.flatnonzero(self.document[numbers] == 0)[::-1]  # the first hit of a number is written last, and stays
        self.document[numbers[new]] = 1 + documents[rows[new]]
        self.position[numbers[new]] = positions[new]
        self.holding.append((documents, sizes))
        starts, ends, begun = merged(rows, positions, positions + self.grams.length_of(numbers))
        self.spans.append((documents[rows[begun]], starts, ends, numbers[begun]))


def _sparse(count: int) -> Ints:
    """Return zeros, int64. They take memory only around those that are written: 4 KiB, where huge pages would take 2 MiB."""
    memory = mmap.mmap(-1, max(1, count) * 8)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, np.int64, count)


def merged(rows: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Unite ranges that overlap or touch: (starts, ends, the first range of each union).

    rows: the document of each range; ranges ascend by document and start.
    """
    if not len(rows):
        return starts, ends, np.zeros(0, np.int64)
    apart = np.int64(1) + ends.max()  # a document's ranges stand behind all of the one before
    last = np.maximum.accumulate(ends + rows * apart)
    begun = np.flatnonzero(np.concatenate([[True], starts[1:] + rows[1:] * apart > last[:-1]]))
    finals = np.concatenate([begun[1:], [len(rows)]]) - 1
    return starts[begun], last[finals] - rows[finals] * apart, begun
