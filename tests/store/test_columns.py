"""Columns in blocks, rings of clusters, bitmaps, and files of columns that are damaged."""

from __future__ import annotations

import numpy as np
import pytest
from forging import with_array

from ndcore.storage.container import CorruptFile
from ndcore.store.columns import BLOCK, FIELDS, Bitmap, DocumentColumns


def made(n: int) -> DocumentColumns:
    columns = DocumentColumns()
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


def test_a_bitmap_tells_which_of_many_it_has():
    bitmap = Bitmap()
    bitmap.add_many(np.array([0, 7, 8, 9000]))
    numbers = np.array([9000, 1, 0, 10**9, 8, 7])
    assert bitmap.having(numbers).tolist() == [True, False, True, False, True, True]


def test_positions_of_many_documents():
    columns = made(BLOCK + 3)
    columns.set_last(np.array([BLOCK + 1, 2, 2]), np.array([(3 << 40) + 5, 6, 7]))
    assert [columns.get("last", number) for number in (0, 2, BLOCK + 1, BLOCK + 2)] == [0, 7, (3 << 40) + 5, 10 * BLOCK + 20]
    with pytest.raises(CorruptFile, match="byte"):
        columns.set_last(np.array([1]), np.array([1 << 39]))


def test_a_column_that_blocks_may_lack(tmp_path):
    columns = made(2 * BLOCK + 3)
    columns.write(tmp_path, [], 1)
    assert not any("overall" in block for block in columns.blocks) and not columns.column("overall").any()
    columns.set("overall", BLOCK + 1, (3 << 40) + 5)
    assert ["overall" in block for block in columns.blocks] == [False, True, False]
    names = columns.write(tmp_path, ["x", "y", "z"], 2)
    assert names[::2] == ["x", "z"] and [path.name for path in tmp_path.glob("*-2.ndc")] == [names[1]]
    again = DocumentColumns.open(tmp_path, ["columns-000000-1.ndc", names[1], "columns-000002-1.ndc"], columns.n)
    fork = again.fork()
    fork.set("overall", 0, 7)
    for each in (columns, again):
        assert [each.get("overall", number) for number in (0, BLOCK, BLOCK + 1)] == [0, 0, (3 << 40) + 5]
        assert np.flatnonzero(each.column("overall")).tolist() == [BLOCK + 1]
    assert fork.column("overall").nonzero()[0].tolist() == [0, BLOCK + 1]
    with pytest.raises(CorruptFile, match="byte"):
        columns.set("overall", 1, 1 << 39)
    with_array(tmp_path / names[1], "overall", lambda array: array[:7])
    with pytest.raises(CorruptFile, match="not the columns of block 1"):
        DocumentColumns.open(tmp_path, ["columns-000000-1.ndc", names[1], "columns-000002-1.ndc"], columns.n)


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
    opened = DocumentColumns.open(tmp_path, again, 2 * BLOCK + 6)
    for name in FIELDS:
        assert np.array_equal(opened.column(name), columns.column(name))
    opened.set("label", 3, 1)  # a mapped block becomes one in memory
    assert opened.get("label", 3) == 1 and opened.changed == {0}


def test_values_are_those_of_plain_arrays(tmp_path):
    rng = np.random.default_rng(2)
    n = BLOCK + 700
    columns, plain = made(n), {name: made(n).column(name).astype(np.int64) for name in FIELDS}
    assert len(plain) == 6
    base, first, columns = columns, {name: values.copy() for name, values in plain.items()}, columns.fork()
    for i in range(900):
        name, number = FIELDS[rng.integers(6)], int(rng.integers(n) if i % 3 else rng.integers(n - 40, n))
        value = int(rng.integers(n)) if name != "last" else (int(rng.integers(1 << 16)) << 40) + int(rng.integers(1 << 32))
        value = value % 200 if name == "flags" else number if i % 7 == 0 and name != "last" else value
        columns.set(name, number, value)
        plain[name][number] = value
        assert columns.get(name, number) == value
        if i in (300, 600):
            columns = DocumentColumns.open(tmp_path, columns.write(tmp_path, [], i), n)
    for name in FIELDS:
        assert np.array_equal(columns.column(name), plain[name])
        assert np.array_equal(base.column(name), first[name])  # arrays that are mapped or shared are not changed


def test_all_documents_of_a_block_in_clusters(tmp_path):
    columns, numbers = DocumentColumns(), np.arange(BLOCK)
    before = np.roll(numbers, 1)
    columns.fill(0, {"last": numbers, "date": numbers, "label": numbers * 0, "after": np.roll(numbers, -1), "before": before,
                     "flags": np.ones(BLOCK)})
    opened = DocumentColumns.open(tmp_path, columns.write(tmp_path, [], 1), BLOCK)
    assert np.array_equal(opened.column("before"), before) and len(opened.members(9)) == BLOCK


def test_written_blocks_leave_memory(tmp_path):
    columns = made(3 * BLOCK)
    names = columns.write(tmp_path, [], 1)
    for number in range(0, 3 * BLOCK, BLOCK // 4):
        columns.link(number + 1, number)
    owned = [name for block in columns.blocks for name, values in block.items() if values.flags.owndata]
    assert sorted(set(owned)) == ["place", "rings"]
    columns.write(tmp_path, names, 2)
    assert not any(values.flags.owndata for block in columns.blocks for values in block.values())
    assert columns.members(1) == [0, 1]


@pytest.mark.parametrize("position", [1 << 56, 1 << 32, (1 << 40) + (1 << 33)])
def test_positions_that_no_log_has(position):
    columns = made(5)
    with pytest.raises(CorruptFile, match="of the log"):
        columns.set("last", 3, position)
    with pytest.raises(CorruptFile, match="of the log"):
        columns.fill(5, {"last": np.array([position]), **{name: np.array([5]) for name in FIELDS[1:]}})


def test_damaged_columns_are_refused(tmp_path):
    columns = made(100)
    columns.link(99, 1)
    names = columns.write(tmp_path, [], 1)
    for n in (50, BLOCK + 1):
        with pytest.raises(CorruptFile):
            DocumentColumns.open(tmp_path, names, n)
    path = tmp_path / names[0]
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptFile):
        DocumentColumns.open(tmp_path, names, 100)
