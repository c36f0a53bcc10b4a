"""Phase 4: pairs in blocks get their exact resemblance, wherever batches and sets are cut."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from judged import THRESHOLD, Judged, collection
from record_batches import pa, run_partitions

import ndcore as nd
from ndcore.filters.design import least_equal_minima
from ndcore.filters.prefix import PrefixFilter
from ndcore.phases import verification
from ndcore.phases.verification import OF_PAIR, OF_SET, Judgement, verify_blocks

SCHEMA = {"block": pa.int64(), "kind": pa.int32(), "a": pa.int64(), "b": pa.int64(), "members": pa.binary()}
def set_rows(rng: random.Random, block: int, rank: int, members: set[int]) -> list[tuple[int, int, int, int, bytes]]:
    """Cut a set into parts."""
    values, rows = sorted(members), []
    while values or not rows:
        size = rng.choice([1, 5, 100])
        rows.append((block, OF_SET, rank, len(rows), b"".join(value.to_bytes(8, "little") for value in values[:size])))
        values = values[size:]
    return rows


@pytest.mark.parametrize("need", [1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_blocks(seed, need, monkeypatch):
    rng = random.Random(100 * seed + need)
    monkeypatch.setattr(verification, "IN_MEMORY", rng.choice([0, 500, 1 << 26]))
    monkeypatch.setattr(verification, "PAIRS", rng.choice([1, 7, 1000]))
    sets = collection(rng, 30)
    first_new = rng.choice([0, 8])
    how = Judgement(nd.MinHasher(num_perm=24), nd.FilterDesign.of(8, 3, need, threshold=THRESHOLD),
                    least_equal_minima(24, THRESHOLD), THRESHOLD, rng.choice([0, 12]), first_new)
    judged = Judged(sets, how)
    rows, expected = [], set()
    for number in range(6):
        block = number
        inside = sorted(rng.sample(range(30), rng.choice([2, 3, 10])))
        for rank in inside:
            rows += set_rows(rng, block, rank, sets[rank])
        pairs = [pair for pair in itertools.combinations(inside, 2) if rng.random() < 0.5 and judged.groups(*pair)]
        rows += [(block, OF_PAIR, a, b, b"") for a, b in pairs]
        expected |= {pair for pair in pairs if judged.accepted(*pair)}
    found = run_partitions(rng, verify_blocks, SCHEMA, rows, 0, lambda row: row[:4], rng.choice([1, 2]), judgement=how)
    assert {(a, b) for a, b, *_ in found} == expected
    assert all(set(scores) == {judged.resemblance(a, b)} for a, b, *scores in found)


def test_all_pairs_are_measured_without_a_threshold():
    rng = random.Random(5)
    sets = [{1, 2, 3}, {3, 4}, {9}]
    how = Judgement(nd.MinHasher(), nd.FilterDesign.of(4, 3, threshold=0.8), 0, None, 5, 0)
    rows = [row for rank, members in enumerate(sets) for row in set_rows(rng, 7, rank, members)]
    rows += [(7, OF_PAIR, 0, 1, b""), (7, OF_PAIR, 0, 2, b"")]
    found = run_partitions(rng, verify_blocks, SCHEMA, rows, 0, lambda row: row[:4], 1, judgement=how)
    assert found == [(0, 1, 0.25, 0.25, 0.25), (0, 2, 0.0, 0.0, 0.0)]
    how = replace(how, design=PrefixFilter(0.8, "contained"))
    found = run_partitions(rng, verify_blocks, SCHEMA, rows, 0, lambda row: row[:4], 1, judgement=how)
    assert found == [(0, 1, 0.25, 1 / 3, 0.5), (0, 2, 0.0, 0.0, 0.0)]
    how = replace(how, threshold=0.5, min_shingles=2)
    found = run_partitions(rng, verify_blocks, SCHEMA, rows, 0, lambda row: row[:4], 1, judgement=how)
    assert found == [(0, 1, 0.25, 1 / 3, 0.5)]


def test_a_document_that_is_not_in_its_block():
    rng = random.Random(5)
    how = Judgement(nd.MinHasher(), nd.FilterDesign.of(4, 3, threshold=0.8), 0, None, 0, 0)
    for rows in ([(7, OF_PAIR, 0, 1, b"")], [*set_rows(rng, 7, 0, {1}), (7, OF_PAIR, 0, 1, b"")]):
        with pytest.raises(RuntimeError, match="the input changed between two readings"):
            run_partitions(rng, verify_blocks, SCHEMA, rows, 0, lambda row: row[:4], 1, judgement=how)
