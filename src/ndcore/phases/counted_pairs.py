"""Phase three of clustering: what the samples of a pair have in common, counted by entries or by comparison."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._types import Bools, Ints
from ndcore.collection.clustering import weigh
from ndcore.collection.segments import Overlaps, Segments
from ndcore.collection.settings import Grouping, Settings
from ndcore.phases.columns import Batches, arrow, as_batch, drop_empty, numbers
from ndcore.phases.samples import sketches_of

__all__ = ["compare_samples", "count_overlaps"]


def count_overlaps(batches: Batches, *, settings: Settings, grouping: Grouping) -> Iterator[Any]:
    """Measure pairs whose ``common`` members were counted, by the ``modulus`` and ``levels`` of both (``_a`` and ``_b``).

    Yields what `compare_samples` does.
    """
    for batch in drop_empty(batches):
        sides = [[numbers(batch, f"modulus_{side}").view(np.uint64), batch.column(f"levels_{side}")] for side in "ab"]
        larger = np.maximum(sides[0][0], sides[1][0])
        in_a, in_b = (_members(levels, larger // moduli) for moduli, levels in sides)
        whole = (sides[0][0] == 1) & (sides[1][0] == 1) & (settings.recipe["modulus"] in (1, "adaptive"))
        yield from _weighed(batch, Overlaps(numbers(batch, "common"), in_a, in_b), whole, settings, grouping)


def _members(levels: Any, factors: Any) -> Ints:
    """Look up the members of samples at moduli larger by these factors, powers of 2."""
    which = np.frexp(factors.astype(np.float64))[1] - 1
    offsets = levels.offsets.to_numpy()
    begins = offsets[:-1] + which
    counts = levels.values.to_numpy().astype(np.int64)
    found = np.zeros(len(levels), np.int64)
    inside = np.flatnonzero(begins < offsets[1:])
    found[inside] = counts[begins[inside]]
    return found


def compare_samples(batches: Batches, *, settings: Settings, grouping: Grouping | None) -> Iterator[Any]:
    """Measure pairs ``a``, ``b`` by comparing their ``sample`` and ``modulus`` (``_a`` and ``_b``).

    Yields ``a``, ``b``, ``common``, ``in_a``, ``in_b``, ``resemblance`` and ``weight``, which the threshold is for. With
    `grouping`, of pairs whose containment reaches the floor of the settings; None: of all, with their resemblance as weight.
    """
    for batch in drop_empty(batches):
        sides = [(batch.column(f"sample_{side}"), batch.column(f"modulus_{side}")) for side in "ab"]
        parts = [sketches_of(*side, settings.recipe) for side in sides]
        segments, n = Segments(parts), batch.num_rows
        a, b = np.arange(n), np.arange(n, 2 * n)
        yield from _weighed(batch, segments.compared(a, b, 1), segments.whole(a, b), settings, grouping)


def _weighed(
    batch: Any, overlaps: Overlaps, whole: Bools, settings: Settings, grouping: Grouping | None
) -> Iterator[Any]:
    """Yield the pairs of a batch with their measures."""
    resemblance = overlaps.resemblance
    weight = resemblance if grouping is None else weigh(overlaps, whole, grouping)
    kept = np.arange(batch.num_rows) if grouping is None else np.flatnonzero(overlaps.contained >= settings.floor)
    if len(kept):
        columns = {"common": overlaps.common, "in_a": overlaps.in_a, "in_b": overlaps.in_b, "resemblance": resemblance,
                   "weight": weight}
        yield as_batch(**{name: batch.column(name).take(arrow().array(kept)) for name in "ab"},
                       **{name: column[kept] for name, column in columns.items()})
