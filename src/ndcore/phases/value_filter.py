"""Filters of values, made in two phases, which go to all tasks: none of their values is missed, and some others pass.

Each word of 64 bits is a Bloom filter of its own (Putze, Sanders, Singler 2007, "Cache-, hash- and space-efficient Bloom
filters", DOI 10.1007/978-3-540-72845-0_9): the leading bits of a value choose the word, the last 30 bits five bits in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.phases.columns import Batches, as_batch, binary_column, cut_binary, drop_empty, numbers, row_changes, values_of

BITS = 5  # that a value sets in its word
MOST_WORDS = 1 << 24  # of a filter: 128 MiB
PIECE = 1 << 16  # words of a piece


def list_words(batches: Batches, *, column: str, words: int) -> Iterator[Any]:
    """List what values set in a filter: of each piece that has some the ``piece``, and its ``words``, each with its place.

    column: as `values_of` reads it. words: of the filter, a power of two.
    """
    for batch in drop_empty(batches):
        values, _ = values_of(batch.column(column))
        word, bits = _choose_words(values, words), _set_bits(values)
        order = np.argsort(word)
        begins = np.flatnonzero(row_changes(word[order]))
        if len(begins):
            word, bits = word[order][begins], np.bitwise_or.reduceat(bits[order], begins)
            pieces, first = np.unique(word // PIECE, return_index=True)
            data = np.column_stack([(word % PIECE).astype(np.uint64), bits]).astype("<u8").view(np.uint8).reshape(-1)
            yield as_batch(piece=pieces, words=cut_binary(data, 16 * np.append(first, len(word))))


def join_words(batches: Batches) -> Iterator[Any]:
    """Join the words of a piece that several batches listed; all of them are in one partition."""
    joined = dict[int, UInts]()
    for batch in drop_empty(batches):
        values, bounds = values_of(batch.column("words"))
        for i, piece in enumerate(numbers(batch, "piece").tolist()):
            placed = values[bounds[i] : bounds[i + 1]].reshape(-1, 2)
            joined.setdefault(piece, np.zeros(PIECE, np.uint64))[placed[:, 0].astype(np.int64)] |= placed[:, 1]
    for piece, whole in joined.items():
        yield as_batch(piece=np.array([piece]), words=binary_column(whole.astype("<u8").view(np.uint8)[None, :]))


def make_filter(table: Any, words: int) -> UInts:
    """Put a filter together from the rows of `join_words`."""
    values, bounds = values_of(table["words"].combine_chunks())
    whole = np.zeros(words, np.uint64)
    for i, piece in enumerate(numbers(table, "piece").tolist()):
        part = whole[piece * PIECE : (piece + 1) * PIECE]
        part[:] = values[bounds[i] : bounds[i + 1]][: len(part)]
    return whole


def may_have(words: UInts, values: AnyArray) -> Bools:
    """Tell which values (int64 or uint64) may be in a filter of these words: by mistake some others, too."""
    values = values.view(np.uint64)
    bits = _set_bits(values)
    found: Bools = words[_choose_words(values, len(words))] & bits == bits
    return found


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
