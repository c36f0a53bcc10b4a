"""Phase 6: stars within components, and in rounds, are those of the definition."""

from __future__ import annotations

import random

import pytest
from record_batches import cut_batches, pa, rows_of, run_partitions

from ndcore.phases import stars
from ndcore.phases.stars import assign_stars, resolve_round
from ndcore.reference import clustering

PLACED = {"component": pa.int64(), "a": pa.int64(), "b": pa.int64(), "resemblance": pa.float64()}
MARKED = {"a": pa.int64(), "b": pa.int64(), "settled": pa.bool_()}


def graph(rng: random.Random, n: int) -> list[tuple[int, int, float]]:
    chain = [(i, i + 1) for i in range(n - 1) if rng.random() < 0.8]
    some = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.choice([0, n // 2, 3 * n]))]
    found = chain if rng.random() < 0.3 else some
    pairs = sorted({(min(pair), max(pair)) for pair in found if pair[0] != pair[1]})
    return [(a, b, rng.choice([0.8, 0.85, 0.9, 1.0])) for a, b in pairs]


@pytest.mark.parametrize("best", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_whole_components(seed, best, monkeypatch):
    monkeypatch.setattr(stars, "PAIRS", random.Random(seed).choice([1, 10, 1000]))
    rng, n = random.Random(seed), 50
    pairs = graph(rng, n)
    roots = clustering.components(n, pairs)
    rows = [(roots[a], a, b, resemblance) for a, b, resemblance in pairs]
    found = run_partitions(rng, assign_stars, PLACED, rows, 0, lambda row: row[:3], rng.choice([1, 3]), best=best)
    labels = (clustering.star if best else clustering.greedy)(n, pairs)
    measured = {(a, b): resemblance for a, b, resemblance in pairs}
    assert sorted(found) == [(i, label, measured[label, i]) for i, label in enumerate(labels) if label != i]


@pytest.mark.parametrize("bound", [1, 3, 1000])
@pytest.mark.parametrize("seed", range(12))
def test_rounds_find_the_representatives(seed, bound):
    rng, n = random.Random(seed), 40
    pairs = graph(rng, n)
    undecided = {(a, b) for a, b, _ in pairs}
    dropped: set[int] = set()
    rounds = 0
    while undecided:
        rounds += 1
        heads = {b for _, b in undecided}
        rows = [(a, b, a not in heads) for a, b in undecided]
        ranges = sorted(rng.sample(range(n), 2))  # of b, as an engine cuts them
        decided = {}
        for low, high in zip([0, *ranges], [*ranges, n], strict=True):
            part = sorted((row for row in rows if low <= row[1] < high), key=lambda row: (row[1], row[0]))
            for rank, is_kept in rows_of(resolve_round(cut_batches(rng, MARKED, part), bound=bound)):
                assert decided.setdefault(rank, is_kept) == is_kept
        dropped |= {rank for rank, is_kept in decided.items() if not is_kept}
        undecided = {(a, b) for a, b in undecided if b not in decided and decided.get(a) is not False}
        assert rounds <= n
    labels = clustering.star(n, pairs)
    assert dropped == {i for i in range(n) if labels[i] != i}
    if bound == 1000:
        assert rounds <= 5
