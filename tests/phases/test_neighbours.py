"""Documents on disk that may share a value with others, and pairs that bitmaps reject."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from record_batches import pa, rows_of
from value_filters import filter_of

from ndcore._candidates import Bitmaps
from ndcore.phases.neighbours import reject_pairs, select_sharing


@pytest.mark.parametrize("words", [1, 64])
def test_rows_that_share_a_value(words):
    """All that do are there, with all columns, in order; of 2,000 that do not, few. Rows without a value are not."""
    rng = np.random.default_rng(4)
    wanted = rng.integers(0, 1 << 64, 4 if words == 1 else 200, np.uint64)
    rows = [rng.integers(0, 1 << 64, rng.integers(0, 4), np.uint64) for _ in range(2_000)]
    sharing = rng.choice(2_000, 100, replace=False)
    for i in sharing:
        rows[i] = np.append(rows[i], rng.choice(wanted))
    column = pa.array([row.astype("<u8").tobytes() for row in rows], pa.binary())
    batch = pa.RecordBatch.from_pydict({"rank": np.arange(2_000), "values": column})
    batches = [batch.slice(0, 0), batch.slice(0, 700), batch.slice(700)]
    got = rows_of(select_sharing(batches, column="values", wanted=filter_of(wanted.tolist(), words)))
    ranks = [rank for rank, _ in got]
    assert ranks == sorted(ranks) and set(sharing.tolist()) <= set(ranks) and len(ranks) < 300
    assert got == [(rank, column[rank].as_py()) for rank in ranks]
    assert not any(len(rows[rank]) == 0 for rank in ranks)


def test_pairs_that_bitmaps_reject():
    """Pairs that reach the threshold stay; the others go as `Bitmaps.near` says, in batches of any size."""
    rng = np.random.default_rng(5)
    sets = [np.unique(rng.integers(0, 400, n, np.uint64)) for n in (3, 60, 65, 300, 5000)]
    sets += [members[: len(members) * 9 // 10] for members in sets]
    sizes, key = np.array([len(members) for members in sets], np.uint32), bytes(range(Bitmaps.KEY_BYTES))
    bitmaps = Bitmaps(sizes, False, key)
    bitmaps.add(np.arange(len(sets), dtype=np.uint32), np.concatenate(sets), np.append(0, np.cumsum(sizes)).astype(np.int64))
    words, bounds = bitmaps.stored()
    stored = [words[start:end].astype("<u8").tobytes() for start, end in pairwise(bounds)]
    a, b = (ends.ravel() for ends in np.meshgrid(*[np.arange(len(sets))] * 2))
    fields = {"a": a, "b": b, "block": a + 100}
    for side, ends in (("a", a), ("b", b)):
        fields |= {f"size_{side}": sizes[ends].astype(np.int64), f"bitmap_{side}": pa.array([stored[i] for i in ends])}
    batch = pa.RecordBatch.from_pydict(fields)
    got = rows_of(reject_pairs([batch.slice(0, 33), batch.slice(33)], key=key, threshold=0.8))
    near = bitmaps.near(a.astype(np.uint32), b.astype(np.uint32), 0.8).astype(bool)
    assert 0 < near.sum() < len(near)
    assert got == [(x, y, x + 100) for x, y in zip(a[near].tolist(), b[near].tolist(), strict=True)]
