"""Components and stars, within tasks and in rounds, are those of the definition, however pairs are spread."""

from __future__ import annotations

import itertools
import random

import pytest
from record_batches import cut_batches, pa, rows_of, run_partitions

from ndcore.phases.stars import DROPPED, KEPT, UNKNOWN, assign_stars, contract_edges, large_star, resolve_round, small_star
from ndcore.reference import clustering
from ndcore.reference.clustering import components

WEIGHED = {"a": pa.int64(), "b": pa.int64(), "resemblance": pa.float64()}
MARKED = {"a": pa.int64(), "b": pa.int64(), "state": pa.int8()}


def graph(rng: random.Random, n: int) -> list[tuple[int, int, float]]:
    chain = [(i, i + 1) for i in range(n - 1) if rng.random() < 0.8]
    some = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.choice([0, n // 2, 3 * n]))]
    found = chain if rng.random() < 0.3 else some
    pairs = sorted({(min(pair), max(pair)) for pair in found if pair[0] != pair[1]})
    return [(a, b, rng.choice([0.8, 0.85, 0.9, 1.0])) for a, b in pairs]


@pytest.mark.parametrize("best", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_stars_of_all_pairs(seed, best):
    rng, n = random.Random(seed), 50
    pairs = graph(rng, n)
    found = rows_of(assign_stars(cut_batches(rng, WEIGHED, rng.sample(pairs, len(pairs))), best=best))
    labels = (clustering.star if best else clustering.greedy)(n, pairs)
    measured = {(a, b): resemblance for a, b, resemblance in pairs}
    assert sorted(found) == [(i, label, measured[label, i]) for i, label in enumerate(labels) if label != i]


@pytest.mark.parametrize("bound", [1, 3, 1000])
@pytest.mark.parametrize("seed", range(12))
def test_rounds_find_the_representatives(seed, bound):
    rng, n = random.Random(seed), 40
    pairs = graph(rng, n)
    undecided = {(a, b) for a, b, _ in pairs}
    heads = {a for a, _ in undecided} - {b for _, b in undecided}
    known, dropped = dict.fromkeys(heads, KEPT), set()
    rounds = 0
    while undecided:
        rounds += 1
        rows = [(a, b, known.get(a, UNKNOWN)) for a, b in undecided]
        ranges = sorted(rng.sample(range(n), 2))  # of b, as an engine cuts them
        undecided, known = set(), {}
        for low, high in zip([0, *ranges], [*ranges, n], strict=True):
            part = sorted((row for row in rows if low <= row[1] < high), key=lambda row: (row[1], row[0]))
            for a, b, state in rows_of(resolve_round(cut_batches(rng, MARKED, part), bound=bound)):
                if a < b:
                    undecided.add((a, b))
                else:
                    known[b] = state
        dropped |= {document for document, state in known.items() if state == DROPPED}
        assert rounds <= n
    labels = clustering.star(n, pairs)
    assert dropped == {i for i in range(n) if labels[i] != i}
    if bound == 1000:
        assert rounds <= 5


def test_a_task_remembers_its_last_decisions():
    """Five chains through one another: the document before is five documents back."""
    rows = [(b - 5, b, KEPT if b < 10 else UNKNOWN) for b in range(5, 100)]
    decided = rows_of(resolve_round(cut_batches(random.Random(1), MARKED, rows), bound=10))
    assert decided == [(b, b, DROPPED if b // 5 % 2 else KEPT) for b in range(5, 100)]


AB = {"a": pa.int64(), "b": pa.int64()}
UV = {"u": pa.int64(), "v": pa.int64()}


def edges_of(rng: random.Random, n: int) -> list[tuple[int, int]]:
    kind = rng.choice(["chain", "star", "random", "clique"])
    if kind == "chain":
        order = rng.sample(range(n), n)
        found = list(itertools.pairwise(order))
    elif kind == "star":
        found = [(0, i) for i in range(1, n)]
    elif kind == "clique":
        found = [(i, j) for i in range(12) for j in range(i)]
    else:
        found = [(rng.randrange(n), rng.randrange(n)) for _ in range(n)]
    return sorted({(min(pair), max(pair)) for pair in found if pair[0] != pair[1]})


def expected(n: int, edges: list[tuple[int, int]]) -> set[tuple[int, int]]:
    roots = components(n, [(a, b, 1.0) for a, b in set(edges)])
    return {(root, i) for i, root in enumerate(roots) if root != i}


@pytest.mark.parametrize("seed", range(20))
def test_contraction_keeps_components(seed):
    rng = random.Random(seed)
    edges, bound = edges_of(rng, 40), rng.choice([1, 3, 1000])
    shuffled = rng.sample(edges, len(edges))
    found = rows_of(contract_edges(cut_batches(rng, AB, shuffled), bound=bound))
    assert len(found) <= len(edges) and all(a < b for a, b in found)
    assert expected(40, found) == expected(40, edges)
    if bound == 1000:
        assert set(found) == expected(40, edges)


@pytest.mark.parametrize("seed", range(30))
def test_stars_end_in_components(seed):
    rng = random.Random(seed)
    edges = edges_of(rng, 60)
    found = set(edges)
    for rounds in range(12):  # noqa: B007
        both = [*found, *((v, u) for u, v in found)] * 2  # repeats count once
        large = run_partitions(rng, large_star, UV, both, 0, lambda row: row, 3)
        small = run_partitions(rng, small_star, UV, [(b, a) for a, b in large], 0, lambda row: row, 3)
        if set(small) == found:
            break
        found = set(small)
    assert found == expected(60, edges) and rounds <= 10
