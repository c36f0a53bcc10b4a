"""Filters of values, which go to all tasks: none of their values is missed, and some others pass.

Each word of 64 bits is a Bloom filter of its own (Putze, Sanders, Singler 2007, "Cache-, hash- and space-efficient Bloom
filters", DOI 10.1007/978-3-540-72845-0_9): the leading bits of a value choose the word, the last 30 bits five bits in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.phases.columns import Batches, as_batch, binary_column, byte_rows, drop_empty, numbers, row_changes, values_of
from ndcore.phases.probes import cut_slices

BITS = 5  # that a value sets in its word
MOST_WORDS = 1 << 24  # of a filter: 128 MiB
AT_ONCE = 1 << 15  # values whose bits are computed at a time, so that they stay in the cache


def fill_filter(batches: Batches, *, words: int) -> Iterator[Any]:
    """Put the values of all columns in a filter; yield it in slices, as `fill_table` does, for `join_tables`.

    Columns are as `values_of` reads them. words: of the filter, a power of two.
    """
    whole = np.zeros(words, np.uint64)
    for batch in drop_empty(batches):
        for column in batch.columns:
            _put(whole, values_of(column)[0])
    used, slices = cut_slices(whole)
    yield as_batch(slice=used, cells=slices)


def fill_filter_pair(batches: Batches, *, words: int) -> Iterator[Any]:
    """Put the values of all columns in a filter, and those that come more than once in a second one.

    Columns and words are as for `fill_filter`. Yields slices for `join_filter_pairs`; each word is followed by the word of
    the second filter. O(n log n) for the n values of a batch: sorted values are put in neighbouring words.
    """
    pairs = np.zeros((words, 2), np.uint64)
    seen, repeated = pairs.T
    for batch in drop_empty(batches):
        values = np.sort(np.concatenate([values_of(column)[0] for column in batch.columns]))
        first = row_changes(values)
        distinct = values[first]
        _put(repeated, values[~first])
        _put(repeated, distinct[may_have(seen, distinct)])
        _put(seen, distinct)
    used, slices = cut_slices(pairs.reshape(-1))
    yield as_batch(slice=used, cells=slices)


def join_filter_pairs(batches: Batches) -> Iterator[Any]:
    """Unite slices of `fill_filter_pair`, where a value that two tasks have is repeated; each slice is in one partition."""
    whole: dict[int, UInts] = {}
    for batch in drop_empty(batches):
        for number, row in zip(numbers(batch, "slice").tolist(), byte_rows(batch.column("cells")), strict=True):
            pairs = row.view("<u8").reshape(-1, 2)
            before = whole.setdefault(number, np.zeros_like(pairs))
            before[:, 1] |= pairs[:, 1] | before[:, 0] & pairs[:, 0]
            before[:, 0] |= pairs[:, 0]
    if whole:
        rows = np.stack([pairs.reshape(-1).view(np.uint8) for pairs in whole.values()])
        yield as_batch(slice=np.fromiter(whole, np.int64), cells=binary_column(rows))


def _put(words: UInts, values: UInts) -> None:
    """Put values in a filter."""
    for part in _cut(values):
        word, bits = _choose_words(part, len(words)), _set_bits(part)
        while len(word):  # of several values of one word the last one is set: at most 64 rounds
            words[word] |= bits
            left = np.flatnonzero(words[word] & bits != bits)
            word, bits = word[left], bits[left]


def unite(words: UInts, others: UInts) -> UInts:
    """Return a filter of the values of two filters, of which the second one has at most as many words as the first."""
    united: UInts = words | np.repeat(others, len(words) // len(others))
    return united


def may_have(words: UInts, values: AnyArray) -> Bools:
    """Tell which values (int64 or uint64) may be in a filter of these words: by mistake some others, too."""
    told = [np.empty(0, np.bool_)]
    for part in _cut(values.view(np.uint64)):
        bits = _set_bits(part)
        told.append(words[_choose_words(part, len(words))] & bits == bits)
    return np.concatenate(told)


def may_share(words: UInts, values: UInts, bounds: Ints) -> Bools:
    """Tell which rows have a value that may be in a filter; values and bounds of the rows are as from `values_of`."""
    return np.diff(np.append(0, np.cumsum(may_have(words, values)))[bounds]) > 0


def _cut(values: UInts) -> Iterator[UInts]:
    """Cut values into parts that fit in the cache."""
    return (values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE))


def _choose_words(values: UInts, words: int) -> Ints:
    """Return the word of a filter that each value chooses."""
    shift = 64 - (words.bit_length() - 1)
    return (values >> np.uint64(shift)).astype(np.int64) if shift < 64 else np.zeros(len(values), np.int64)


def _set_bits(values: UInts) -> UInts:
    """Return the bits that each value sets in its word."""
    bits = np.zeros(len(values), np.uint64)
    for i in range(BITS):
        bits |= np.uint64(1) << (values >> np.uint64(6 * i) & np.uint64(63))
    return bits
