"""Columns of record batches as arrays: slices, wide offsets, missing values."""

from __future__ import annotations

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")

from ndcore.phases import columns  # noqa: E402

VALUES = [b"abc", b"", b"de", b"fghi"]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_binary_columns_are_read_where_they_begin(kind):
    column = pa.array([b"zz", *VALUES, b"y"], kind).slice(1, 4)
    data, bounds = columns.bytes_of(column)
    assert [data[bounds[i] : bounds[i + 1]].tobytes() for i in range(4)] == VALUES
    made = columns.cut_binary(data[bounds[0] : bounds[-1]].copy(), bounds - bounds[0])
    assert made.to_pylist() == VALUES


def test_rows_of_bytes():
    rows = np.arange(12, dtype=np.uint8).reshape(4, 3)
    column = columns.binary_column(rows)
    assert column.to_pylist() == [bytes(row) for row in rows.tolist()]
    np.testing.assert_array_equal(columns.byte_rows(column.slice(1, 2)), rows[1:3])
    assert columns.byte_rows(column.slice(0, 0)).shape == (0, 0)


@pytest.mark.parametrize("values", [[b"ab", b"c"], [b"ab", None]])
def test_rows_of_bytes_have_one_length(values):
    with pytest.raises(ValueError, match="differ in length, or are missing"):
        columns.byte_rows(pa.array(values, pa.binary()))


def test_numbers_are_not_missing():
    batch = columns.as_batch(a=pa.array([1, None]), b=np.array([True, False]))
    assert columns.numbers(batch, "b").tolist() == [True, False]
    with pytest.raises(ValueError, match="column 'a' has 1 missing values"):
        columns.numbers(batch, "a")


def test_changes_of_rows():
    rows = np.array([[1, 2], [1, 2], [1, 3], [1, 2]])
    assert columns.row_changes(rows).tolist() == [True, False, True, True]
    assert columns.row_changes(rows[:0]).tolist() == []
    assert columns.row_changes(np.array([1, 1, 1, 2]), rows[[0, 0, 2, 2]]).tolist() == [True, False, True, True]
    assert [batch.num_rows for batch in columns.drop_empty([columns.as_batch(a=[]), columns.as_batch(a=[1])])] == [1]
