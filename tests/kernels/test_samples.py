"""Sinks that keep values."""

from __future__ import annotations

import numpy as np

from ndcore._samples import Symbols


def test_symbols_are_kept():
    sink = Symbols(3)
    sink.take_sets(np.array([1, 2, 3], np.uint64), np.array([0, 2, 2, 3], np.int64))
    assert (sink.values.tolist(), sink.begins.tolist()) == ([1, 2, 3], [0, 2, 2, 3])
    assert sink.valid.tolist() == [True, False, True]
