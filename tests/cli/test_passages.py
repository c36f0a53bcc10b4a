"""Passages as pages show them: united ranges, in characters or bytes; documents read again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ndcore.cli.passages import excerpts_by_item, range_in, unite
from ndcore.files.documents import FileDocuments
from ndcore.spans.token_places import TokenPlaces


def places(*ranges: tuple[int, int]) -> TokenPlaces:
    """Return places whose bytes are 10 behind the characters."""
    start, end = (np.array([pair[k] for pair in ranges], np.int64) for k in (0, 1))
    return TokenPlaces(start, end, start + 10, end + 10)


def test_ranges_that_overlap_or_touch_are_one():
    assert unite([(5, 8), (0, 2), (2, 3), (6, 7), (9, 9)]) == [(0, 3), (5, 8), (9, 9)]
    assert unite([]) == []


def test_ranges_are_of_characters_or_bytes():
    assert range_in("text", places((1, 2), (3, 4)), 1) == (3, 4)
    assert range_in(b"text", places((1, 2), (3, 4)), 1) == (13, 14)


def test_documents_stand_in_the_order_of_the_ranges(tmp_path: Path):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": f"d{i}", "text": f"text {i}"}) + "\n" for i in range(3)))
    with FileDocuments([str(path)]) as documents:
        documents.scan()
        found = excerpts_by_item(documents, np.arange(3), np.array([2, 0, 2]), places((0, 4), (5, 6), (5, 6)))
        assert [(each.name, each.place, each.excerpt.text, each.excerpt.marks) for _, each in sorted(found.items())] == [
            ("d2", f"{path}:3", "text 2", [(0, 4)]), ("d0", f"{path}:1", "text 0", [(5, 6)]),
            ("d2", f"{path}:3", "text 2", [(5, 6)])]
        assert excerpts_by_item(documents, np.arange(0), np.array([], np.int64), places()) == {}


def test_the_first_group_colours_what_several_have():
    from ndcore.cli.passages import colour_ranges

    assert colour_ranges([[(2, 5), (4, 6)], [(0, 8)], [(7, 9), (3, 4)]]) == [(0, 2, 1), (2, 6, 0), (6, 8, 1), (8, 9, 2)]
    assert colour_ranges([[], [(1, 2)]]) == [(1, 2, 1)] and colour_ranges([]) == []
