"""Measure the cost of a drop: the longest run of tokens that another document lacks, and shingles that no kept one has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from ndcore._candidates import Counts
from ndcore._signals import stoppable
from ndcore._types import Bools, Ints, Text
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.parallel import cut, map_pieces
from ndcore.storage.spill import SpooledSets
from ndcore.text.shingling import Shingling

MOST_CELLS = 1 << 28
SOUGHT = 1 << 25  # shingles of dropped documents that are searched for at a time
CELLS = 8  # counters for each sought shingle, so that most other shingles are rejected


class LostRuns:
    """The shingles of some documents in order, which show what a document would lose to another.

    A token is lost if the other document has none of the shingles that contain it. Beyond `limit` bytes the shingles are in
    a temporary file.

    Parameters
    ----------
    shingling : Shingling
    n : int
        All document numbers are below this.
    limit : int
        Bytes in memory.
    """

    def __init__(self, shingling: Shingling, n: int, limit: int) -> None:
        self.shingling, self.n = shingling, n
        self._positions: list[Ints] = []
        self._sequences = SpooledSets(limit)

    def read(self, documents: Iterable[tuple[Ints, Sequence[Text]]], threads: int | None) -> None:
        """Read the shingles of documents, given in pieces (positions, texts)."""
        for positions, values, offsets in map_pieces(self._read_piece, documents, threads):
            self._positions.append(positions)
            self._sequences.append(values, offsets)

    def _read_piece(self, piece: tuple[Ints, Sequence[Text]]) -> tuple[Ints, np.ndarray, Ints]:
        positions, texts = piece
        return positions, *self.shingling.fingerprints_many(texts, threads=1)

    @cached_property
    def _number(self) -> Ints:
        """int64 (n,): the number of each document's sequence."""
        number = np.full(self.n, -1, np.int64)
        read = np.concatenate([np.empty(0, np.int64), *self._positions])
        number[read] = np.arange(len(read))
        return number

    def longest(self, dropped: Ints, kept: Ints) -> Ints:
        """Return the number of tokens in the longest run that dropped[i] would lose to kept[i].

        O(tokens · log) for each pair; the documents must have been read.
        """
        values, offsets, width = self._sequences.values(), self._sequences.offsets, self.shingling.width
        out = np.empty(len(dropped), np.int64)
        pairs = zip(self._number[dropped].tolist(), self._number[kept].tolist(), strict=True)
        for i, (x, y) in enumerate(stoppable(list(pairs))):
            own, other = (values[offsets[document] : offsets[document + 1]] for document in (x, y))
            has = np.isin(own, other)
            change = np.zeros(len(own) + width, np.int64)  # each common shingle covers `width` tokens
            change[: len(own)] += has
            change[width:] -= has
            covered = np.flatnonzero(np.cumsum(change[:-1]))
            out[i] = np.diff(covered, prepend=-1, append=len(own) + width - 1).max(initial=1) - 1
        return out


def count_lost(sets: ShingleSets, dropped: Ints, representatives: Ints, kept: Bools) -> Ints:
    """Count the shingles of each dropped document that no kept document, bool (documents,), has; int64, like `dropped`.

    `representatives` has for each a kept document that probably has most of its shingles, so that only the others are
    searched for. The sets of kept documents are read once for every 2^25 shingles of dropped documents.
    """
    lost, sizes = np.zeros(len(dropped), np.int64), sets.sizes(dropped)
    for part in cut(sizes, SOUGHT):
        values, offsets = sets.differences(dropped[part], representatives[part])
        owners = np.repeat(np.arange(part.start, part.stop), np.diff(offsets))
        sought, number = np.unique(values, return_inverse=True)
        if not len(sought):
            continue
        counts = Counts(min(MOST_CELLS, CELLS * len(sought)))
        counts.add(sought, np.array([0, len(sought)]))
        missing = np.ones(len(sought), np.bool_)
        for _, members, _ in sets.chunks(kept):
            members = members[counts.at(members) > 0]
            at = np.minimum(np.searchsorted(sought, members), len(sought) - 1)
            missing[at[sought[at] == members]] = False
        lost += np.bincount(owners[missing[number]], minlength=len(lost))
    return lost
