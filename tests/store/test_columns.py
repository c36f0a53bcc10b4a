"""Columns in blocks, rings of clusters, bitmaps, and files of columns that are damaged."""

from __future__ import annotations

import numpy as np
import pytest

from ndcore.storage.container import CorruptFile
from ndcore.store.columns import BLOCK, FIELDS, Bitmap, Columns


def made(n: int) -> Columns:
    columns = Columns()
    numbers = np.arange(n)
    columns.fill(0, {"last": numbers * 10, "date": -numbers, "label": numbers, "after": numbers, "before": numbers,
                     "flags": np.ones(n)})
    return columns


def test_a_bitmap_is_a_set():
    bitmap, naive = Bitmap(), set()
    rng = np.random.default_rng(1)
    for number in rng.integers(0, 50_000, 400).tolist():
        if number % 3:
            bitmap.add(number)
            naive.add(number)
        else:
            bitmap.discard(number - 1)
            naive.discard(number - 1)
    bitmap.add_many(np.array([8, 9, 70_000]))
    assert bitmap.numbers().tolist() == sorted({*naive, 8, 9, 70_000})
    assert 9 in bitmap and 10**9 not in bitmap


def test_rings_hold_clusters():
    columns = made(10)
    for member in (3, 5, 7):
        columns.link(member, 1)
    assert columns.members(5) == [1, 3, 5, 7]
    columns.unlink(1)
    assert (columns.members(3), columns.members(1)) == ([3, 5, 7], [1])
    columns.set("after", 7, 7)  # as a damaged record may leave it
    with pytest.raises(CorruptFile, match="ring"):
        columns.members(3)


def test_blocks_are_written_where_they_changed(tmp_path):
    columns = made(2 * BLOCK + 5)
    names = columns.write(tmp_path, [], 1)
    columns.put(2 * BLOCK + 5, (1, 2, 3, 4, 5, 6))
    again = columns.write(tmp_path, names, 2)
    assert [a == b for a, b in zip(names, again, strict=True)] == [True, True, False]
    opened = Columns.open(tmp_path, again, 2 * BLOCK + 6)
    for name in FIELDS:
        assert np.array_equal(opened.column(name), columns.column(name))
    opened.set("label", 3, 1)  # a mapped block becomes one in memory
    assert opened.get("label", 3) == 1 and opened.changed == {0}


def test_damaged_columns_are_refused(tmp_path):
    names = made(100).write(tmp_path, [], 1)
    for n in (50, BLOCK + 1):
        with pytest.raises(CorruptFile):
            Columns.open(tmp_path, names, n)
    path = tmp_path / names[0]
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptFile):
        Columns.open(tmp_path, names, 100)
