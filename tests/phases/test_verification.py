"""Phase 4: pairs in blocks get their exact resemblance, wherever batches and sets are cut."""

from __future__ import annotations

import itertools
import random

import pytest
from record_batches import pa, run_partitions

import ndcore as nd
from ndcore.filters.design import least_equal_minima
from ndcore.phases import verification
from ndcore.phases.verification import ALL_LATER, OF_PAIR, OF_SET, Judgement, verify_blocks

SCHEMA = {"block": pa.binary(), "kind": pa.int32(), "a": pa.int64(), "b": pa.int64(), "members": pa.binary()}
THRESHOLD = 0.5


def collection(rng: random.Random, n: int) -> list[set[int]]:
    """Sets of which many are edits of others."""
    sets: list[set[int]] = []
    for _ in range(n):
        made = set(rng.choice(sets)) if sets and rng.random() < 0.7 else {rng.getrandbits(64) for _ in range(12)}
        made ^= {rng.getrandbits(64) for _ in range(rng.choice([0, 0, 1, 3]))}
        sets.append({value for value in made if rng.random() < 0.97} or {7})
    return sets


class Judged:
    """What the definition says of pairs, by signatures made one by one."""

    def __init__(self, sets: list[set[int]], how: Judgement) -> None:
        self.sets, self.how = sets, how
        self.rows = [how.sketcher.sketch_hashes(sorted(members), [0, len(members)]).values[0].tolist() for members in sets]

    def groups(self, a: int, b: int) -> set[int]:
        size = self.how.design.group_size
        return {g for g in range(self.how.design.groups)
                if self.rows[a][g * size : g * size + size] == self.rows[b][g * size : g * size + size]}

    def resemblance(self, a: int, b: int) -> float:
        return len(self.sets[a] & self.sets[b]) / len(self.sets[a] | self.sets[b])

    def accepted(self, a: int, b: int) -> bool:
        equal = sum(x == y for x, y in zip(self.rows[a], self.rows[b], strict=True))
        return (equal >= self.how.equal_minima and len(self.groups(a, b)) >= self.how.design.need
                and self.resemblance(a, b) >= THRESHOLD
                and min(len(self.sets[a]), len(self.sets[b])) >= self.how.min_shingles)


def set_rows(rng: random.Random, block: bytes, rank: int, members: set[int]) -> list[tuple[bytes, int, int, int, bytes]]:
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
    monkeypatch.setattr(verification, "SKETCHED", rng.choice([1, 30, 1000]))
    sets = collection(rng, 30)
    first_new = rng.choice([0, 8])
    how = Judgement(nd.MinHasher(num_perm=24), nd.FilterDesign.of(8, 3, need, threshold=THRESHOLD),
                    least_equal_minima(24, THRESHOLD), THRESHOLD, rng.choice([0, 12]), first_new)
    judged = Judged(sets, how)
    rows, expected = [], set()
    for number in range(6):
        block = bytes([number])
        inside = sorted(rng.sample(range(30), rng.choice([2, 3, 10])))
        for rank in inside:
            rows += set_rows(rng, block, rank, sets[rank])
        if number % 2:
            pivot, groups = rng.choice(inside), sorted(rng.sample(range(8), 3))
            rows.append((block, OF_PAIR, pivot, ALL_LATER, b"".join(group.to_bytes(2, "little") for group in groups)))
            expected |= {(pivot, b) for b in inside if b > pivot and b >= first_new and judged.accepted(pivot, b)
                         and judged.groups(pivot, b) & set(groups)}
        else:
            pairs = [pair for pair in itertools.combinations(inside, 2) if rng.random() < 0.5 and judged.groups(*pair)]
            rows += [(block, OF_PAIR, a, b, b"") for a, b in pairs]
            expected |= {pair for pair in pairs if judged.accepted(*pair)}
    found = run_partitions(rng, verify_blocks, SCHEMA, rows, 0, lambda row: row[:4], rng.choice([1, 2]), judgement=how)
    assert {(a, b) for a, b, _ in found} == expected
    assert all(resemblance == judged.resemblance(a, b) for a, b, resemblance in found)


def test_all_pairs_are_measured_without_a_threshold():
    rng = random.Random(5)
    sets = [{1, 2, 3}, {3, 4}, {9}]
    how = Judgement(nd.MinHasher(), nd.FilterDesign.of(4, 3, threshold=0.8), 0, None, 5, 0)
    rows = [row for rank, members in enumerate(sets) for row in set_rows(rng, b"x", rank, members)]
    rows += [(b"x", OF_PAIR, 0, 1, b""), (b"x", OF_PAIR, 0, 2, b"")]
    found = run_partitions(rng, verify_blocks, SCHEMA, rows, 0, lambda row: row[:4], 1, judgement=how)
    assert found == [(0, 1, 0.25), (0, 2, 0.0)]


def test_a_document_that_is_not_in_its_block():
    rng = random.Random(5)
    how = Judgement(nd.MinHasher(), nd.FilterDesign.of(4, 3, threshold=0.8), 0, None, 0, 0)
    for rows in ([(b"x", OF_PAIR, 0, 1, b"")], [*set_rows(rng, b"x", 0, {1}), (b"x", OF_PAIR, 0, 1, b"")]):
        with pytest.raises(RuntimeError, match="the input changed between two readings"):
            run_partitions(rng, verify_blocks, SCHEMA, rows, 0, lambda row: row[:4], 1, judgement=how)
