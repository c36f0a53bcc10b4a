"""Phase 3 of a growing collection: find documents on disk that may share a value, and reject pairs by bitmaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._candidates import Bitmaps
from ndcore._types import Ints, UInts
from ndcore.phases.columns import Batches, as_batch, drop_empty, numbers, values_of
from ndcore.phases.value_filter import may_have


def select_sharing(batches: Batches, *, column: str, wanted: UInts) -> Iterator[Any]:
    """Select the rows with a value that may be in a filter of these words; all columns stay.

    column: in the form of `values_of`.
    """
    for batch in drop_empty(batches):
        values, bounds = values_of(batch.column(column))
        shared = np.append(0, np.cumsum(may_have(wanted, values)))[bounds]
        yield batch.take(np.flatnonzero(np.diff(shared)))


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
