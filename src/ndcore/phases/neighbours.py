"""Phase 3 of a growing collection: find documents on disk that may share a value, and reject pairs by bitmaps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ndcore._candidates import Bitmaps
from ndcore._types import Ints, UInts
from ndcore.checks import imported
from ndcore.phases.columns import Batches, as_batch, byte_rows, drop_empty, numbers, pa, values_of
from ndcore.phases.stored_texts import below
from ndcore.phases.value_filter import may_have, may_share

ROWS = 1 << 14  # of a table that are read at a time


def select_sharing(batches: Batches, *, column: str, wanted: UInts) -> Iterator[Any]:
    """Select the rows with a value that may be in a filter of these words; all columns stay.

    column: in the form of `values_of`.
    """
    for batch in drop_empty(batches):
        yield batch.take(np.flatnonzero(may_share(wanted, *values_of(batch.column(column)))))


class StoredFile(NamedTuple):
    """A file of a table, by its path below the directory of the collection, and its size in bytes."""

    path: str
    size: int


def read_sharing(
    batches: Batches, *, shares: Sequence[Sequence[str]], root: str, columns: Sequence[str], decided: Mapping[str, str],
    wanted: UInts,
) -> Iterator[Any]:
    """Read the stored documents that may share the deciding digest, or a feature of valid ones, with wanted documents.

    Parameters
    ----------
    batches : record batches with ``at``
        Numbers of shares.
    shares : sequence of sequences of str
        The files of each share: Parquet, by their paths below `root`.
    root : str
        The directory of the collection.
    columns : sequence of str
        The columns to read, with ``valid``, ``deciding`` and ``features``. A struct, as ``key``, is read as JSON.
    decided : mapping of str to str
        More columns, which only tables of format 1 have, and their Arrow types; null in other tables.
    wanted : uint64 (words,)
        A filter of features, and of the first eight bytes of digests.

    Yields
    ------
    record batches
        All these columns of the documents that pass the filter: all that share a value, and some others.

    Raises
    ------
    ValueError
        A file cannot be read, or has no such column.

    Notes
    -----
    Only columns go from the file to the filter, never rows of Java: 1 µs a document that does not pass.
    """
    for file in (file for batch in batches for at in batch.column("at").to_pylist() for file in shares[at]):
        try:
            for batch in drop_empty(_read_columns(str(below(root, file)), [*columns, *decided])):
                deciding = np.ascontiguousarray(byte_rows(batch.column("deciding"))[:, :8]).view("<u8").reshape(-1)
                shared = may_share(wanted, *values_of(batch.column("features")))
                passed = numbers(batch, "valid") & shared | may_have(wanted, deciding)
                taken = batch.take(np.flatnonzero(passed))
                stored = {name: _as_plain(taken.column(name)) for name in taken.schema.names}
                yield as_batch(**{name: stored[name] for name in columns}, **{
                    name: stored.get(name, pa.nulls(taken.num_rows, kind)) for name, kind in decided.items()})
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(f"{root}/{file} cannot be read: {error}; a table of a collection never changes") from error


def _read_columns(path: str, columns: Sequence[str]) -> Iterator[Any]:
    """Read columns of a Parquet file in batches; paths, of which a table has few, by their dictionary."""
    parquet = imported("pyarrow.parquet", "ndcore.spark")
    with parquet.ParquetFile(path, read_dictionary=["file"]) as source:
        yield from source.iter_batches(ROWS, columns=list(columns), use_threads=False)


def _as_plain(column: Any) -> Any:
    """Return a column without a dictionary, and a struct as JSON."""
    types = pa.types
    if types.is_struct(column.type):
        return pa.array([json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":"))
                              for value in column.to_pylist()], "string")
    return column.cast("string") if types.is_dictionary(column.type) else column


def reject_pairs(batches: Batches, *, key: bytes, threshold: float) -> Iterator[Any]:
    """Yield the pairs ``a``, ``b`` and ``block`` that may reach the threshold, by their bitmaps.

    batches also have ``size_a``, ``bitmap_a``, ``size_b`` and ``bitmap_b``, made by `sketch_documents` with this key.
    """
    for batch in drop_empty(batches):
        n = batch.num_rows
        sizes = np.concatenate([numbers(batch, f"size_{side}") for side in "ab"])
        bitmaps = Bitmaps(sizes.astype(np.uint32), False, key)
        bitmaps.put(*_join_columns(*(values_of(batch.column(f"bitmap_{side}")) for side in "ab")))
        own = np.arange(2 * n, dtype=np.uint32)
        kept = np.flatnonzero(bitmaps.near(own[:n], own[n:], threshold))
        yield as_batch(**{name: batch.column(name).take(kept) for name in ("a", "b", "block")})


def _join_columns(*columns: tuple[UInts, Ints]) -> tuple[UInts, Ints]:
    """Concatenate columns of values: return the values, and the bounds of each row."""
    counts = np.concatenate([np.diff(bounds) for _, bounds in columns])
    return np.concatenate([words for words, _ in columns]), np.append(0, np.cumsum(counts))
