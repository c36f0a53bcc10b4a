"""Blocks of documents: spans of lines, ranges of a file, and batches."""

from __future__ import annotations

import numpy as np

from ndcore.files.blocks import Block, LineSpans, gather_batches, join_ranges
from ndcore.files.records import Record


def block(numbers: list[int], texts: list[str]) -> Block:
    """Make a block of lines of ten bytes."""
    lines = np.array(numbers, np.int64)
    return Block(lines, (lines - 1) * 10, np.full(len(lines), 10), texts, list(texts), [(text,) for text in texts])


def test_ranges_join_what_is_near() -> None:
    starts, ends = np.array([0, 10, 25, 90]), np.array([10, 20, 30, 95])
    assert list(join_ranges(starts, ends)) == [(0, 20, slice(0, 2)), (25, 30, slice(2, 3)), (90, 95, slice(3, 4))]
    assert list(join_ranges(starts, ends, 5)) == [(0, 30, slice(0, 3)), (90, 95, slice(3, 4))]
    assert list(join_ranges(starts[:0], ends[:0])) == []


def test_spans_of_lines() -> None:
    spans = LineSpans()
    spans.extend(2, block([1, 2], ["a", "b"]))
    spans.extend(2, block([4], ["c"]))
    assert [column.tolist() for column in spans[2]] == [[0, 10, 30], [10, 20, 40]]
    assert [column.tolist() for column in spans[0]] == [[], []]
    wanted = spans.wanted(2, np.array([1, 2, 4]), np.array([True, False, True]))
    assert [column.tolist() for column in wanted] == [[1, 4], [0, 30], [10, 40]]


def test_records_and_blocks_make_batches_together() -> None:
    items = [(0, Record(1, "x", None, (), 1)), (np.arange(1, 3), block([2, 3], ["y", "z"])),
             (3, Record(4, "w", None, (), 9 << 20))]
    found = [(list(positions), list(texts)) for positions, texts in gather_batches(items)]
    assert found == [([0, 1, 2], ["x", "y", "z"]), ([3], ["w"])]


def test_documents_of_a_block() -> None:
    some = block([1, 2, 5], ["a", "b", "c"]).where([0, 2])
    assert (some.numbers.tolist(), some.texts, some.ids, some.values) == ([1, 5], ["a", "c"], ["a", "c"], [("a",), ("c",)])
