"""Estimate how rare the words of items are in a corpus, from a sample of its documents."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ndcore._types import Floats, Ints, UInts

SAMPLED = 1 << 13  # most documents of a sample
ENTRIES = 1 << 24  # most words in these documents


class SymbolReading(Protocol):
    """Reads the symbols of documents."""

    def read_symbols(self, piece: Any, stride: int) -> tuple[Ints, UInts, Ints]:
        """Read the documents of a piece whose position is a multiple of `stride`: their positions, symbols and offsets."""


class WordRarity:
    """A counter: in how many documents of a sample does each word of the items occur?

    The sample has every document whose position is a multiple of a stride. The stride is 1, and is doubled whenever the
    sample has more than SAMPLED documents or ENTRIES words. So the sample does not depend on threads, and memory is bounded.

    Parameters
    ----------
    symbols : ndarray of uint64
        The symbols of the items' tokens.
    reading : SymbolReading
    """

    def __init__(self, symbols: UInts, reading: SymbolReading) -> None:
        self._vocabulary, self._reading = np.unique(symbols), reading
        self._stride, self._entries = 1, 0
        self._sample: list[tuple[int, Ints]] = []

    def look_up(self, piece: Any) -> list[tuple[int, Ints]]:
        """Find the words of items in the documents of a piece, in any thread; return document positions and word numbers."""
        positions, symbols, offsets = self._reading.read_symbols(piece, self._stride)
        if not len(self._vocabulary) or not len(positions):
            return [(position, np.zeros(0, np.int64)) for position in positions.tolist()]
        at = np.minimum(np.searchsorted(self._vocabulary, symbols), len(self._vocabulary) - 1)
        known = self._vocabulary[at] == symbols
        return [(position, np.unique(at[start:end][known[start:end]])) for position, start, end in zip(
            positions.tolist(), offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]

    def add(self, documents: list[tuple[int, Ints]]) -> None:
        """Add the words of the next documents, except documents that the stride now leaves out."""
        for position, words in documents:
            if position % self._stride == 0:
                self._sample.append((position, words))
                self._entries += len(words)
                while len(self._sample) > SAMPLED or (self._entries > ENTRIES and len(self._sample) > 1):
                    self._stride *= 2
                    self._sample = [each for each in self._sample if each[0] % self._stride == 0]
                    self._entries = sum(len(words) for _, words in self._sample)

    @property
    def documents(self) -> int:
        """The number of documents in the sample."""
        return len(self._sample)

    def measure_runs(self, symbols: UInts, rows: Ints, starts: Ints, ends: Ints, n: int) -> Floats:
        """Measure the rarest run of each of n items, in bits.

        The rarity of a run is the sum of log2((N + 1) / (m + 1)) over its distinct words, of which m of the N documents in
        the sample have each. Independent words of k bits in all occur together in one of 2^k documents. 0: the item has no
        run.

        Parameters
        ----------
        symbols : ndarray of uint64
            The symbols of the items' tokens.
        rows, starts, ends : ndarray of int64 (runs,)
            The item of each run, and the range of its tokens.
        """
        counts = np.zeros(len(self._vocabulary), np.int64)
        for _, words in self._sample:
            counts[words] += 1
        bits = np.log2((self.documents + 1) / (counts + 1))
        sizes = ends - starts
        run = np.repeat(np.arange(len(rows)), sizes)
        inside = np.arange(len(run)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(starts, sizes)
        words = np.searchsorted(self._vocabulary, symbols[inside])
        keys = np.unique(run * max(len(self._vocabulary), 1) + words)
        run, words = np.divmod(keys, max(len(self._vocabulary), 1))
        rarity = np.zeros(n)
        np.maximum.at(rarity, rows, np.bincount(run, bits[words], len(rows)))
        return rarity
