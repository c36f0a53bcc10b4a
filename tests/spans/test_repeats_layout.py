"""Places of documents, and what cannot be true of ranges and runs of windows."""

from __future__ import annotations

import numpy as np
import pytest

from ndcore.spans import repeats_layout as room
from ndcore.spans.repeats_layout import Layout, RepeatedRanges, bases_of, find_ranges_fault, find_rows_fault, find_runs_fault

SIZES = np.array([5, 0, 4])
LAYOUT = Layout.of(SIZES, np.array([2, 0, 1]), np.zeros(3, np.uint64), 1)  # places 0 to 3, 5 to 9, none


def packed(*ranges: tuple[int, int]) -> np.ndarray:
    return np.array([first << 16 | windows - 1 for first, windows in ranges], np.uint64)


def test_places():
    assert bases_of(SIZES).tolist() == [0, 6, 7]
    assert LAYOUT.bases.tolist() == [0, 5, 11, 12]
    assert LAYOUT.places.tolist() == [5, 11, 0]
    assert LAYOUT.exempt == 5


@pytest.mark.parametrize(("ranges", "fault"), [
    ([], None), ([(0, 4), (7, 3)], None), ([(1, 3), (7, 1), (9, 1)], None),
    ([(7, 1), (0, 1)], "ascend"), ([(0, 5)], "a document"), ([(4, 1)], "a document"), ([(6, 1)], "a document"),
    ([(9, 2)], "a document"), ([(11, 1)], "a document"), ([((1 << 48) - 1, 1 << 16)], "a document"),
])
@pytest.mark.parametrize("step", [1, 1 << 20])
def test_ranges(ranges, fault, step, monkeypatch):
    monkeypatch.setattr(room, "STEP", step)
    found = find_ranges_fault(SIZES, packed(*ranges), 2)
    assert found is None if fault is None else fault in found


def test_no_document_has_a_range():
    assert find_ranges_fault(SIZES[:0], packed((0, 1)), 2)
    assert find_ranges_fault(SIZES[:0], packed(), 2) is None


@pytest.mark.parametrize(("runs", "fault"), [
    ([], None), ([(0, 0, 3), (5, 0, 3), (8, 1, 1)], None), ([(0, 0, 1), (1, 1, 2)], None),
    ([(0, 1, 1)], "first place"), ([(12, 0, 1)], "12 places"), ([(0, 0, 0)], "12 places"),
    ([(0, 0, 2**64 - 1)], "12 places"),
    ([(2**64 - 1, 0, 1)], "12 places"), ([(0, 0, 2), (1, 1, 1)], "follow"), ([(5, 0, 1), (0, 0, 1)], "follow"),
    ([(0, 0, 4)], "a document"), ([(3, 3, 1)], "a document"), ([(4, 4, 1)], "a document"), ([(6, 2, 2)], "a document"),
    ([(11, 0, 1)], "a document"),
])
@pytest.mark.parametrize("step", [1, 1 << 20])
def test_runs(runs, fault, step, monkeypatch):
    monkeypatch.setattr(room, "STEP", step)
    found = find_runs_fault(LAYOUT, np.array(runs, np.uint64).reshape(-1, 3), 2)
    assert found is None if fault is None else fault in found


@pytest.mark.parametrize(("rows", "everywhere", "fault"), [
    ([], [], None), ([(1, 0, 3, 0, 2), (1, 3, 5, 0, 3)], [(1, 0, 4), (1, 4, 5)], None),
    ([(0, 2, 4, 0, 2)], [], "none of 3 documents"), ([(3, 0, 1, 0, 2)], [], "none of 3 documents"),
    ([(2**63, 0, 1, 0, 2)], [], "none of 3 documents"), ([], [(0, 0, 1)], None), ([], [(-1, 0, 1)], "none of 3 documents"),
    ([(1, 0, 6, 0, 2)], [], "within"), ([(1, 2, 2, 0, 2)], [], "within"), ([(2, 0, 1, 0, 2)], [], "within"),
    ([], [(1, 0, 6)], "within"), ([], [(1, -1, 2)], "within"), ([], [(1, 2, 4), (1, 3, 5)], "follow"),
    ([(1, 3, 5, 0, 2), (1, 0, 3, 0, 2)], [], "follow"), ([(1, 0, 3, 5, 2)], [], "before it"),
    ([(1, 0, 3, 2**64 - 1, 2)], [], "before it"), ([(1, 0, 3, 0, 13)], [], "copies"),
    ([(1, 0, 3, 2, 2)], [], "in a document"), ([(1, 0, 1, 4, 2)], [], "in a document"), ([], [(0, 0, 4), (1, 0, 5)], None),
])
@pytest.mark.parametrize("step", [1, 1 << 20])
def test_rows(rows, everywhere, fault, step, monkeypatch):
    monkeypatch.setattr(room, "STEP", step)
    ranges = RepeatedRanges(np.array(rows, np.uint64).reshape(-1, 5), tuple(np.array(everywhere, np.int64).reshape(-1, 3).T))
    found = find_rows_fault(LAYOUT, ranges, 5 if rows else 0)
    assert found is None if fault is None else found is not None and fault in found
