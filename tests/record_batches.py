"""Record batches for phases: rows cut at random places, and what a phase makes of them. No test is here."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")


def cut_batches(rng: random.Random, schema: dict[str, Any], rows: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """Yield rows in batches of 0 to 7 rows, and sometimes of all that are left."""
    typed = pa.schema(list(schema.items()))
    at = 0
    while at < len(rows):
        size = rng.choice([0, 1, 2, 3, 7, 7, len(rows)])
        part = rows[at : at + size]
        columns = list(zip(*part, strict=True)) if part else [()] * len(schema)
        arrays = [pa.array(list(values), kind) for values, kind in zip(columns, typed.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=typed)
        at += size


def rows_of(batches: Iterator[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of record batches."""
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def run_partitions(
    rng: random.Random, phase: Callable[..., Iterator[Any]], schema: dict[str, Any], rows: Sequence[tuple[Any, ...]],
    key: int, order: Callable[[tuple[Any, ...]], Any], partitions: int, **settings: Any,
) -> list[tuple[Any, ...]]:
    """Shuffle rows as an engine does, by column `key` to partitions that are sorted by `order`; apply a phase to each."""
    number: dict[Any, int] = {}
    for value in sorted({row[key] for row in rows}):
        number[value] = rng.randrange(partitions)
    found = []
    for partition in range(partitions):
        part = sorted((row for row in rows if number[row[key]] == partition), key=order)
        found += rows_of(phase(cut_batches(rng, schema, part), **settings))
    return found
