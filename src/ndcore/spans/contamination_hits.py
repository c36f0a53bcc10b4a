"""Windows of items that were found in documents: confirmed by tokens, and gathered."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndcore._types import Bools, Ints
from ndcore.spans.contamination_reading import Found, Search

__all__ = ["Hits", "merged"]

WAITING = 4 << 20  # bytes of tokens of documents with hits that wait to be confirmed


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

    def __init__(self, search: Search) -> None:
        self.grams, self.offsets = search.grams, search.offsets
        self.documents = self.tokens = 0
        count = len(search.grams.places)
        self.document = np.zeros(count, np.int64)  # takes no memory where nothing is found
        self.position = np.zeros(count, np.int64)
        self.spans: list[tuple[Ints, Ints, Ints, Ints]] = []
        self.holding: list[tuple[Ints, Ints]] = []
        self._search = search
        self._waiting: list[Found] = []
        self._bytes = 0

    def add(self, found: Found) -> None:
        """Add the next documents. What was found waits until there is much of it, or until `settle`."""
        self.documents += found.documents
        self.tokens += found.tokens
        if len(found.holders):
            self._waiting.append(found)
            self._bytes += sum(memoryview(tape).nbytes for tape in found.tapes)
            if self._bytes >= WAITING:
                self.settle()

    def settle(self) -> None:
        """Confirm and note what waits: only windows whose tokens are the same count."""
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        if not waiting:
            return
        documents, sizes, counts, positions, given = (
            np.concatenate([getattr(found, name) for found in waiting])
            for name in ("holders", "sizes", "counts", "positions", "numbers"))
        rows, numbers = np.repeat(np.arange(len(documents)), counts), given.astype(np.int64)
        if not ((np.diff(rows) > 0) | (np.diff(positions) > 0)).all():  # windows of several lengths
            order = np.lexsort((positions, rows))
            rows, positions, numbers = rows[order], positions[order], numbers[order]
        kept = self._confirmed([tape for found in waiting for tape in found.tapes], rows, positions, numbers)
        self._note(documents, sizes, rows[kept], positions[kept], numbers[kept])

    def _confirmed(self, tapes: list[Any], rows: Ints, positions: Ints, numbers: Ints) -> Bools:
        """Compare tokens: tell for each hit whether the document has the tokens of the window."""
        lengths, places = self.grams.length_of(numbers), self.grams.places[numbers].astype(np.int64)
        goes_on = (np.diff(positions) == 1) & (np.diff(places) == 1) & (np.diff(rows) == 0) & (np.diff(lengths) == 0)
        first = np.flatnonzero(np.concatenate([[True], ~goes_on]))
        last = np.concatenate([first[1:], [len(rows)]]) - 1
        runs = self._same(tapes, rows[first], positions[first], places[first], last - first + lengths[first])
        kept = np.repeat(runs, last - first + 1)
        rest = np.flatnonzero(~kept)  # a run that differs somewhere may have windows that do not
        kept[rest] = self._same(tapes, rows[rest], positions[rest], places[rest], lengths[rest])
        return kept

    def _same(self, tapes: list[Any], rows: Ints, firsts: Ints, places: Ints, counts: Ints) -> Bools:
        """Compare runs of tokens of documents, from `firsts` on, with runs of items, from `places` on. rows ascend."""
        holders, begins = np.unique(rows, return_index=True)
        ends = np.searchsorted(rows, holders, "right")
        some = [np.zeros(0, np.bool_)]
        for row, begin, end in zip(holders.tolist(), begins.tolist(), ends.tolist(), strict=True):
            some.append(self._search.same(tapes[row], firsts[begin:end], counts[begin:end], places[begin:end]))
        return np.concatenate(some)

    def _note(self, documents: Ints, sizes: Ints, rows: Ints, positions: Ints, numbers: Ints) -> None:
        """Note confirmed hits, in order of documents and positions. rows: the document of each hit among `documents`."""
        new = np.flatnonzero(self.document[numbers] == 0)[::-1]  # the first hit of a number is written last, and stays
        self.document[numbers[new]] = 1 + documents[rows[new]]
        self.position[numbers[new]] = positions[new]
        holding = np.unique(rows)
        self.holding.append((documents[holding], sizes[holding]))
        starts, ends, begun = merged(rows, positions, positions + self.grams.length_of(numbers))
        self.spans.append((documents[rows[begun]], starts, ends, numbers[begun]))


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
