"""Windows that occur at several places."""

from __future__ import annotations

import numpy as np
import pytest

import ndcore as nd
from ndcore.spans import repeats_windows as windows
from ndcore.spans import repeats_work as work


def test_ranges_that_overlap_or_touch_are_merged():
    begins, ends = windows.merge_ranges(np.array([0, 2, 3, 9, 12]), np.array([2, 8, 4, 10, 13]))
    assert begins.tolist() == [0, 9, 12]
    assert ends.tolist() == [8, 10, 13]
    assert [len(part) for part in windows.merge_ranges(np.empty(0, np.int64), np.empty(0, np.int64))] == [0, 0]


def test_windows_with_equal_fingerprints_and_other_tokens_are_searched_anew(monkeypatch):
    """Modulo x^64 every window has the fingerprint 0."""
    drawn, right = [], work.random_irreducible

    def first_wrong(degree: int, seed: int) -> int:
        drawn.append(seed)
        return 1 << 64 if len(drawn) == 1 else right(degree, seed)

    monkeypatch.setattr(work, "random_irreducible", first_wrong)
    found = nd.repeats(["a b c d", "e f g h", "x c d"], 2)
    assert len(drawn) == 2
    assert (found.documents.tolist(), found.starts.tolist(), found.sources.tolist()) == ([2], [1], [0])


def test_a_source_of_random_numbers_that_is_not_random_is_named(monkeypatch):
    monkeypatch.setattr(work, "random_irreducible", lambda degree, seed: 1 << 64)
    with pytest.raises(RuntimeError, match="random numbers are not random"):
        nd.repeats(["a b", "c d"], 2)


def test_too_many_tokens_are_refused(monkeypatch):
    monkeypatch.setattr(windows, "MAX_PLACES", 4)
    with pytest.raises(OverflowError, match="more than 4 tokens"):
        nd.repeats(["a b c", "c d"], 2)
