"""Phase 3: runs of entries are expanded to all of their pairs, or listed, wherever batches are cut."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict

import pytest
from record_batches import cut_batches, pa, rows_of, run_partitions

from ndcore.phases import candidates

ENTRIES = {"run": pa.binary(), "rank": pa.int64()}


@pytest.mark.parametrize("seed", range(30))
def test_runs_are_expanded_or_listed(seed, monkeypatch):
    rng = random.Random(seed)
    monkeypatch.setattr(candidates, "PAIRS", rng.choice([1, 10, 1000]))
    most, first_new = rng.choice([2, 3, 8]), rng.choice([0, 10, 100])
    rows = {(bytes([0, rng.choice([0, 0, 1, 2, 9])]), rng.randrange(40)) for _ in range(rng.choice([0, 1, 5, 100]))}
    found = run_partitions(rng, candidates.expand_runs, ENTRIES, sorted(rows), 0, lambda row: (row[0], -row[1]),
                           rng.choice([1, 3]), max_holders=most, first_new=first_new)
    runs = defaultdict(list)
    for run, rank in rows:
        runs[run].append(rank)
    expected = set()
    for run, ranks in runs.items():
        if len(ranks) > most:
            expected |= {(run, rank, None) for rank in ranks if max(ranks) >= first_new}
        else:
            expected |= {(run, a, b) for a, b in itertools.combinations(sorted(ranks), 2) if b >= first_new}
    assert len(found) == len(set(found)) and set(found) == expected


@pytest.mark.parametrize("scope", [False, True])
def test_entries(scope):
    schema = {"rank": pa.int64(), "features": pa.binary(), **({"scope": pa.binary()} if scope else {})}
    rows = [(i, bytes(range(16 * i, 16 * i + 16)), *([bytes([i] * 16)] if scope else [])) for i in range(5)]
    found = rows_of(candidates.list_entries(cut_batches(random.Random(1), schema, rows), groups=2))
    expected = [(bytes([0, group]) + row[1][8 * group : 8 * group + 8] + b"".join(row[2:]), row[0])
                for row in rows for group in range(2)]
    assert sorted(found) == sorted(expected)
