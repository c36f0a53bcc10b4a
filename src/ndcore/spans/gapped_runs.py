"""Runs of items that occur with a gap: two exact seeds with few tokens between them, in the item and in the document.

The naive algorithm compares each seed of a document with all items that have it. Here pairs of seeds are numbered, like
windows: one sorted table has all pairs of seeds that an item has with at most `gaps` tokens between them, and a pair that
many items share is there once. A pair of hits in a document is a run with a gap if it is in the table.
`reference.contamination` has the definition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ndcore._grams import Grams
from ndcore._types import Ints
from ndcore.readonly import NamedColumns
from ndcore.spans.contamination_reading import WindowHits, find_items, unite_ranges

MAX_GAPS = 32


class _GappedPlaces(NamedTuple):
    item: Ints
    start: Ints
    end: Ints
    document: Ints
    document_start: Ints
    document_end: Ints


class GappedPlaces(NamedColumns, _GappedPlaces):  # type: ignore[misc]
    """The first places of runs with a gap in the corpus, except those whose tokens of the item are all in exact runs.

    int64 arrays: the item, its first token and last token + 1; the document, its first token and last token + 1.
    """

    __slots__ = ()


class GappedRanges(NamedTuple):
    """Ranges of tokens that runs with a gap cover, ascending.

    Items or documents, first tokens, last tokens + 1; an item that has the first seed of the range, and the token where the
    seed begins there.
    """

    row: Ints
    start: Ints
    end: Ints
    item: Ints
    item_start: Ints


def seed_length(min_tokens: int) -> int:
    """Return the number of tokens of a seed: half of a window's, rounded up."""
    return -(-min_tokens // 2)


def estimate_missed(min_tokens: int, changed: float) -> float:
    """Estimate a lower bound of the share of unchanged tokens in no seed, if each token is changed with a probability.

    With r = 1 − `changed`, an unchanged token is in a run of n or more unchanged ones with probability
    r^(n − 1) · (n · changed + r): the sum over lengths L ≥ n of L · r^L · changed², divided by r. O(1).
    """
    n, unchanged = seed_length(min_tokens), 1 - changed
    return 1 - float(unchanged ** (n - 1) * (n * changed + unchanged))


class GappedRuns:
    """The runs with a gap in the documents so far.

    Parameters
    ----------
    grams : Grams
        The seeds of items: windows of `seed_length` tokens. Items of fewer than two seeds have none.
    offsets : ndarray of int64
        Where the tokens of each item begin and end.
    seed, gaps : int
        Tokens of a seed, and the most tokens between two seeds.

    Notes
    -----
    Memory: 26 bytes for each pair of seeds, at most `gaps` + 1 for each token of the items. Time: `gaps` + 1 searches of the
    table for each hit of a seed.
    """

    def __init__(self, grams: Grams, offsets: Ints, seed: int, gaps: int) -> None:
        self.grams, self.offsets, self.seed, self._gaps = grams, offsets, seed, gaps
        keys = np.zeros(0, np.int64)
        for gap in range(gaps + 1):  # one at a time, so that only distinct pairs are in memory
            keys = np.union1d(keys, self._pairs(gap)[1])
        self._keys = keys
        self._document, self._position = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        self._gap = np.zeros(len(keys), np.int16)
        self._spans: list[tuple[Ints, Ints, Ints, Ints]] = []
        self.holding: list[tuple[Ints, Ints]] = []

    def _pairs(self, gap: int) -> tuple[Ints, Ints]:
        """List the pairs of seeds of items with this gap: where they begin, and their keys."""
        numbers, apart = self.grams.numbers, self.seed + gap
        begins = np.flatnonzero((numbers[:-apart] > 0) & (numbers[apart:] > 0)) if len(numbers) > apart else NOWHERE
        begins = begins[find_items(self.offsets, begins) == find_items(self.offsets, begins + apart)]
        return begins, _make_keys(numbers[begins].astype(np.int64) - 1, numbers[begins + apart].astype(np.int64) - 1)

    def add(self, hits: WindowHits) -> None:
        """Add the hits of seeds in the next documents."""
        if len(hits.numbers) < 2 or not len(self._keys):
            return
        rows = np.repeat(np.arange(len(hits.holders)), hits.counts)
        apart = int(hits.positions.max()) + self.seed + self._gaps + 2
        at = rows * apart + hits.positions  # as if all documents were one text, with wide gaps between
        seed_pairs: list[tuple[Ints, Ints, Ints]] = []
        for gap in range(self._gaps + 1):
            others = np.minimum(np.searchsorted(at, at + self.seed + gap), len(at) - 1)
            first = np.flatnonzero(at[others] == at + self.seed + gap)
            keys = _make_keys(hits.numbers[first], hits.numbers[others[first]])
            pairs = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            same = self._keys[pairs] == keys
            seed_pairs.append((pairs[same], first[same], np.full(int(same.sum()), gap)))
        pair, first, gaps = (np.concatenate(column) for column in zip(*seed_pairs, strict=True))
        if len(pair):
            self._note(hits, rows, pair, first, gaps)

    def _note(self, hits: WindowHits, rows: Ints, pair: Ints, first: Ints, gaps: Ints) -> None:
        """Record pairs of hits, by the number of each pair, the index of its first hit, and the tokens in the gap."""
        order = np.lexsort((gaps, first))
        pair, first, gaps = pair[order], first[order], gaps[order]
        new = np.flatnonzero(self._document[pair] == 0)[::-1]  # reversed: the first one is written last, and stays
        self._document[pair[new]] = 1 + hits.holders[rows[first[new]]]
        self._position[pair[new]], self._gap[pair[new]] = hits.positions[first[new]], gaps[new]
        starts = hits.positions[first]
        begins, ends, begun = unite_ranges(rows[first], starts, starts + 2 * self.seed + gaps)
        self._spans.append((hits.holders[rows[first[begun]]], begins, ends, hits.numbers[first[begun]]))
        held = np.unique(rows[first])
        self.holding.append((hits.holders[held], hits.sizes[held]))

    def spans(self) -> GappedRanges:
        """Return the ranges of documents that runs with a gap cover, gaps included."""
        document, start, end, number = (np.concatenate([NOWHERE, *parts]) for parts in zip(*self._spans, strict=True)) \
            if self._spans else (NOWHERE,) * 4
        places = self.grams.places[number].astype(np.int64)
        items = find_items(self.offsets, places)
        return GappedRanges(document, start, end, items, places - self.offsets[items])

    def seeds_found(self) -> tuple[Ints, Ints]:
        """List all seeds in runs that occur, ascending: their items, and their positions in them."""
        begins = [NOWHERE]
        for gap in range(self._gaps + 1):
            first_seeds, _ = self._find(gap)
            begins += [first_seeds, first_seeds + self.seed + gap]
        every = np.unique(np.concatenate(begins))
        items = find_items(self.offsets, every)
        return items, every - self.offsets[items]

    def places(self) -> GappedPlaces:
        """List the first place of each run with a gap, by item and position; adjoining runs are one place."""
        columns: list[tuple[Ints, ...]] = []
        for gap in range(self._gaps + 1):
            begins, pairs = self._find(gap)
            items, document, there = find_items(self.offsets, begins), self._document[pairs] - 1, self._position[pairs]
            inside = self._gap[pairs].astype(np.int64)
            steps = ((items, 0), (begins, 1), (document, 0), (there, 1), (inside, 0))
            same = [np.diff(column) == step for column, step in steps]
            head = np.flatnonzero(np.append(True, ~np.logical_and.reduce(same))[: len(items)])
            last = np.append(head[1:], len(items))[: len(head)] - 1
            base, size = self.offsets[items[head]], 2 * self.seed
            columns.append((items[head], begins[head] - base, begins[last] - base + size + gap, document[head], there[head],
                            there[last] + size + inside[last]))
        every = [np.concatenate(column) for column in zip(*columns, strict=True)]
        order = np.lexsort((every[2], every[1], every[0]))
        return GappedPlaces(*(column[order] for column in every))

    def _find(self, gap: int) -> tuple[Ints, Ints]:
        """Find the pairs of items with this gap that occur: where they begin, and their numbers."""
        begins, keys = self._pairs(gap)
        pairs = np.searchsorted(self._keys, keys)
        near_enough = self._document[pairs] > 0
        return begins[near_enough], pairs[near_enough]


NOWHERE = np.zeros(0, np.int64)


def _make_keys(first: Ints, second: Ints) -> Ints:
    """Combine two numbers of seeds, below 2^31, into one key."""
    return (first << 31) | second
