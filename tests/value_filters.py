"""Filters of `ndcore.phases.value_filter` and their values, in Python's integers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def signed(value: int) -> int:
    """Return the integer whose 64 bits a value has as int64."""
    return value - (1 << 64) if value >= 1 << 63 else value


def filter_of(values: Iterable[int], words: int) -> np.ndarray:
    """Return the words of a filter, one value after another: 2 to the power of k words, chosen by k bits."""
    table = [0] * words
    for value in values:
        for i in range(5):
            table[value % (1 << 64) >> (64 - words.bit_length() + 1)] |= 1 << (value >> 6 * i & 63)
    return np.array(table, np.uint64)
