"""Phase 3: runs of entries are expanded to all of their pairs, or named, wherever batches are cut."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict

import numpy as np
import pytest
from record_batches import cut_batches, pa, rows_of, run_partitions

from ndcore.phases import candidates
from ndcore.phases.probes import put_together
from ndcore.phases.value_filter import fill_filter

ENTRIES = {"run": pa.binary(), "whole": pa.bool_(), "ranks": pa.list_(pa.int64())}


@pytest.mark.parametrize("seed", range(30))
def test_runs_are_expanded_or_named(seed, monkeypatch):
    rng = random.Random(seed)
    monkeypatch.setattr(candidates, "PAIRS", rng.choice([1, 10, 1000]))
    most, first_new = rng.choice([2, 3, 8]), rng.choice([0, 10, 100])
    rows = {(bytes([0, rng.choice([0, 0, 1, 2, 9])]), rng.randrange(40)) for _ in range(rng.choice([0, 1, 5, 100]))}
    runs = defaultdict(list)
    for run, rank in rows:
        runs[run].append(rank)
    packed = []
    for run, ranks in runs.items():
        for whole in (False, True):
            left = [rank for rank in ranks if (rank >= first_new) == whole]
            while left:
                size = rng.choice([1, 2, 7])
                packed.append((run, whole, left[:size]))
                left = left[size:]
    found = run_partitions(rng, candidates.expand_runs, ENTRIES, rng.sample(packed, len(packed)), 0,
                           lambda row: (row[0], not row[1]), rng.choice([1, 3]), max_holders=most, first_new=first_new)
    expected, long = set(), set()
    for run, ranks in runs.items():
        if len(ranks) > most:
            long |= {run} if max(ranks) >= first_new else set()
        else:
            expected |= {(run, a, b) for a, b in itertools.combinations(sorted(ranks), 2) if b >= first_new}
    pairs = [row for row in found if row[1] is not None]
    assert len(pairs) == len(set(pairs)) and set(pairs) == expected
    assert {run for run, a, b in found if a is None and b is None} == long


def filter_of(rows):
    """Return the words of a filter of values, the rows of a column."""
    words = np.zeros(64, np.uint64)
    filled = fill_filter(cut_batches(random.Random(1), {"value": pa.int64()}, rows), words=len(words))
    put_together(words, pa.Table.from_batches(list(filled)))
    return words


@pytest.mark.parametrize("scope", [False, True])
def test_entries(scope):
    schema = {"rank": pa.int64(), "features": pa.binary(), **({"scope": pa.binary()} if scope else {})}
    rows = [(i, bytes(range(16 * i, 16 * i + 16)), *([bytes([i] * 16)] if scope else [])) for i in range(5)]
    found = rows_of(candidates.list_entries(cut_batches(random.Random(1), schema, rows), groups=2, first_new=2))
    expected = [(bytes([0, group]) + row[1][8 * group : 8 * group + 8] + b"".join(row[2:]), row[0] >= 2, [row[0]])
                for row in rows for group in range(2)]
    assert sorted(found) == sorted(expected)
    shared = filter_of([(int.from_bytes(row[1][8:16], "little", signed=True),) for row in rows[1:4]])
    batches = cut_batches(random.Random(1), schema, rows)
    found = rows_of(candidates.list_entries(batches, groups=2, first_new=2, shared=shared))
    assert sorted(found) == sorted(expected[3:8:2])  # the second feature of these documents


@pytest.mark.parametrize("scope", [False, True])
def test_documents_of_long_runs(scope):
    rng = random.Random(2)
    scopes = [rng.randbytes(16) if scope else b"" for _ in range(3)]
    features = [rng.randbytes(8) for _ in range(50)]
    rows = [(rank, b"".join(rng.sample(features, 4)), *([rng.choice(scopes)] if scope else [])) for rank in range(300)]
    schema = {"rank": pa.int64(), "features": pa.binary(), **({"scope": pa.binary()} if scope else {})}
    runs = {(rng.choice(features), rng.choice(scopes)) for _ in range(5)}
    named = cut_batches(rng, {"run": pa.binary()}, [(rng.randbytes(2) + feature + of,) for feature, of in runs])
    words = filter_of(rows_of(candidates.list_features(named)))
    selected = rows_of(candidates.select_holders(cut_batches(rng, schema, rows), words=words))
    expected = [(rank,) for rank, held, *of in rows
                if any((held[i : i + 8], *(of or [b""])) in runs for i in range(0, 32, 8))]
    assert selected == expected and 0 < len(expected) < 300  # no other value passes the filter by chance


@pytest.mark.parametrize("width", [8, 10, 26])
def test_packed_entries(width, monkeypatch):
    """Each entry is packed once, with others of its run; names of 8 bytes are neighbours, and rows full but for the last."""
    monkeypatch.setattr(candidates, "PACKED", 3)
    rng = np.random.default_rng(width)
    runs = rng.integers(0, 256, (5, width), np.uint8)[rng.integers(0, 5, 100)]
    ranks, sizes, whole = np.arange(100), rng.integers(0, 9, 100), rng.integers(0, 2, 100) > 0
    rows = rows_of([candidates.pack_entries(runs, ranks, whole, sizes)])
    assert sorted((run, full, rank, size) for run, full, of_run, of_sizes in rows
                  for rank, size in zip(of_run, of_sizes, strict=True)) == sorted(
        zip(map(bytes, runs), whole.tolist(), ranks.tolist(), sizes.tolist(), strict=True))
    assert len({row[:2] for row in rows}) == 10 and sum(len(row[2]) < 3 for row in rows) <= 10
    if width == 8:
        assert len([run for run, _ in itertools.groupby(rows, lambda row: row[:2])]) == 10
    assert rows_of([candidates.pack_entries(runs[:0], ranks[:0], whole[:0])]) == []
