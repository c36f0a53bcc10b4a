"""Ranges of tokens that are united, hits that wait."""

from __future__ import annotations

import numpy as np

import ndcore as nd
from ndcore.spans import contamination_hits as module
from ndcore.spans.contamination_hits import merged


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_ranges_that_overlap_or_touch_are_one():
    starts, ends, begun = merged(ints(0, 0, 0, 0, 1, 1), ints(0, 2, 5, 9, 0, 3), ints(3, 5, 6, 10, 1, 4))
    assert (starts.tolist(), ends.tolist(), begun.tolist()) == ([0, 9, 0, 3], [6, 10, 1, 4], [0, 3, 4, 5])
    starts, ends, _ = merged(ints(0, 0), ints(0, 1), ints(9, 3))  # the second lies within the first
    assert (starts.tolist(), ends.tolist()) == ([0], [9])
    assert [len(part) for part in merged(ints(), ints(), ints())] == [0, 0, 0]


def test_hits_that_are_noted_at_once_and_together(monkeypatch):
    """Note hits after each piece, and all at the end."""
    items, documents = ["a b c d", "x y z"], ["1 a b c d 2", "none", "y z x y z", "b c d"] * 300
    found = []
    for waiting in (1, 1 << 40):
        monkeypatch.setattr(module, "WAITING", waiting)
        found.append(nd.contamination(items, documents, 2, threads=2))
    for name in ("places", "spans", "documents"):
        for a, b in zip(*(getattr(each, name) for each in found), strict=True):
            np.testing.assert_array_equal(a, b)
    assert found[0].covered.tolist() == [4, 3] and len(found[0].documents.document) == 900
