"""Convert columns of Arrow record batches to NumPy arrays, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.checks import Late
from ndcore.text.inputs import as_texts

Batches = Iterable[Any]  # of pyarrow.RecordBatch; pyarrow has no types
pa: Any = Late("pyarrow", "ndcore.phases")


def drop_empty(batches: Batches) -> Iterator[Any]:
    """Yield the batches that have rows."""
    return (batch for batch in batches if batch.num_rows)


def as_batch(**columns: Any) -> Any:
    """Make a record batch from NumPy arrays and Arrow arrays."""
    arrays = [column if isinstance(column, pa.Array) else pa.array(column) for column in columns.values()]
    return pa.RecordBatch.from_arrays(arrays, list(columns))


def numbers(batch: Any, name: str) -> AnyArray:
    """Convert a column of numbers or booleans without nulls to an array."""
    column = batch.column(name)
    if column.null_count:
        raise ValueError(f"column {name!r} has {column.null_count} missing values")
    values: AnyArray = column.to_numpy(zero_copy_only=False)
    return values


def read_column(batch: Any, text: str) -> Any:
    """Return the texts of a batch. Raises ValueError if one is missing."""
    column = batch.column(text)
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        where = {name: batch.column(name)[row].as_py() for name in batch.schema.names if name != text}
        raise ValueError(f"a text is missing (null) in column {text!r}, in the row {where!r:.200}; drop such rows, or fill "
                         "them")
    return as_texts(column)


def bytes_of(column: Any) -> tuple[NDArray[np.uint8], Ints]:
    """Convert a binary column without nulls to (bytes, bounds): value i is bytes[bounds[i] : bounds[i + 1]]."""
    _, offsets, data = column.buffers()
    width = np.int64 if str(column.type).startswith("large") else np.int32
    bounds = np.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    whole = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return whole, bounds


def values_of(column: Any) -> tuple[UInts, Ints]:
    """Return the values of a column, uint64, and the bounds of each row among them, from 0.

    column: int64, a value in each row, or binary, of 8 bytes for each value, any number of them in a row; without nulls.
    """
    if pa.types.is_int64(column.type):
        return column.to_numpy().view(np.uint64), np.arange(len(column) + 1)
    data, bounds = bytes_of(column)
    return np.frombuffer(data[bounds[0] : bounds[-1]].tobytes(), "<u8"), (bounds - bounds[0]) // 8


def byte_rows(column: Any) -> NDArray[np.uint8]:
    """Return a binary column of values of one length as rows, uint8 (n, length)."""
    whole, bounds = bytes_of(column)
    if not len(column):
        return np.empty((0, 0), np.uint8)
    lengths = np.diff(bounds)
    if column.null_count or (lengths != lengths[0]).any():
        raise ValueError("values of a binary column differ in length, or are missing")
    return whole[bounds[0] : bounds[-1]].reshape(len(column), int(lengths[0]))


def binary_column(rows: NDArray[np.uint8]) -> Any:
    """Return rows of bytes, uint8 (n, length), as a binary column."""
    n, length = rows.shape
    return cut_binary(np.ascontiguousarray(rows).reshape(-1), np.arange(n + 1, dtype=np.int64) * length)


def cut_binary(data: AnyArray, bounds: Ints) -> Any:
    """Return the binary column of the values data[bounds[i] : bounds[i + 1]] of bytes; bounds begin at 0."""
    narrow = int(bounds[-1]) < 1 << 31
    kind, offsets = (pa.binary(), bounds.astype(np.int32)) if narrow else (pa.large_binary(), bounds)
    return pa.Array.from_buffers(kind, len(bounds) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def lists_of(values: AnyArray, bounds: Any) -> Any:
    """Return the column of the lists values[bounds[i] : bounds[i + 1]]."""
    return pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), pa.array(values))


def row_changes(*columns: AnyArray) -> Bools:
    """Tell which rows differ from the previous row in any column, (n,) or (n, k); the first one does. bool (n,)."""
    changes = np.zeros(len(columns[0]), np.bool_)
    changes[:1] = True
    for column in columns:
        differs = column[1:] != column[:-1]
        changes[1:] |= differs if differs.ndim == 1 else differs.any(axis=1)
    return changes
