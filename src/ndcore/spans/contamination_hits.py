"""Windows of items that were found in documents: confirmed by tokens, and gathered."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndcore._types import AnyArray, Bools, Ints
from ndcore.parallel import cut
from ndcore.spans.contamination_reading import Found, Search

__all__ = ["Hits", "longest_runs", "merged"]

TOKENS = 1 << 20  # that are compared at a time
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
        rows = np.repeat(np.arange(len(documents)), counts)
        order = np.lexsort((positions, rows))
        rows, positions, numbers = rows[order], positions[order], given[order].astype(np.int64)
        kept = self._confirmed([tape for found in waiting for tape in found.tapes], rows, positions, numbers)
        self._note(documents, sizes, rows[kept], positions[kept], numbers[kept])

    def _confirmed(self, tapes: list[Any], rows: Ints, positions: Ints, numbers: Ints) -> Bools:
        """Compare tokens: tell for each hit whether the document has the tokens of the window."""
        lengths = self.grams.length_of(numbers)
        starts, ends, begun = merged(rows, positions, positions + lengths)
        bounds = np.searchsorted(rows[begun], np.arange(len(tapes) + 1)).tolist()
        known = np.concatenate([self._search.number(tape, starts[begin:end], ends[begin:end])
                                for tape, begin, end in zip(tapes, bounds[:-1], bounds[1:], strict=True)])
        span = np.searchsorted(begun, np.arange(len(rows)), "right") - 1
        at = positions + (np.cumsum(ends - starts) - ends)[span]  # among the known tokens
        places = self.grams.places[numbers].astype(np.int64)
        goes_on = (np.diff(at) == 1) & (np.diff(places) == 1) & (np.diff(span) == 0) & (np.diff(lengths) == 0)
        first = np.flatnonzero(np.concatenate([[True], ~goes_on]))
        last = np.concatenate([first[1:], [len(rows)]]) - 1
        if self._equal(known, at[first], places[first], at[last] + lengths[last] - at[first]).all():
            return np.ones(len(rows), np.bool_)  # long runs, compared once
        return self._equal(known, at, places, lengths)

    def _equal(self, known: AnyArray, at: Ints, places: Ints, sizes: Ints) -> Bools:
        """Compare runs of `sizes` tokens: of documents, from `at` on, with tokens of items, from `places` on."""
        same = np.empty(len(at), np.bool_)
        for part in cut(sizes, TOKENS):
            begins = np.cumsum(sizes[part]) - sizes[part]
            inside = np.arange(int(sizes[part].sum())) - np.repeat(begins, sizes[part])
            ours, theirs = np.repeat(at[part], sizes[part]) + inside, np.repeat(places[part], sizes[part]) + inside
            same[part] = np.logical_and.reduceat(known[ours] == self._search.token_numbers[theirs], begins)
        return same

    def _note(self, documents: Ints, sizes: Ints, rows: Ints, positions: Ints, numbers: Ints) -> None:
        """Note confirmed hits, in order of documents and positions. rows: the document of each hit among `documents`."""
        seen, firsts = np.unique(numbers, return_index=True)
        new = self.document[seen] == 0
        self.document[seen[new]] = 1 + documents[rows[firsts[new]]]
        self.position[seen[new]] = positions[firsts[new]]
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


def longest_runs(flags: Bools, offsets: Ints) -> Ints:
    """Find the longest run of True within each item, which has flags[offsets[i] : offsets[i + 1]]."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    cuts = offsets[(offsets > 0) & (offsets < len(flags))]
    inside = np.unique(cuts[flags[cuts] & flags[cuts - 1]])  # a run over the bound of two items is two
    begins = np.sort(np.concatenate([np.flatnonzero(edges == 1), inside]))
    ends = np.sort(np.concatenate([np.flatnonzero(edges == -1), inside]))
    longest = np.zeros(len(offsets) - 1, np.int64)
    np.maximum.at(longest, np.searchsorted(offsets, begins, "right") - 1, ends - begins)
    return longest
