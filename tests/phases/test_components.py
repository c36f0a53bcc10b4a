"""Phase 5: contraction and rounds of large and small stars give the connected components, however edges are spread."""

from __future__ import annotations

import itertools
import random

import pytest
from record_batches import cut_batches, pa, rows_of, run_partitions

from ndcore.phases.stars import contract_edges, large_star, small_star
from ndcore.reference.clustering import components

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
