"""The suffix array that checks repeated passages: against plain Python, and it sees every kind of fault."""

from __future__ import annotations

import importlib.util
import random
import types
from itertools import pairwise

import numpy as np
import pytest
from benches import imported

import ndcore as nd

(suffixes,) = imported("suffixes")

SORTERS = [suffixes.by_doubling, pytest.param(suffixes.by_divsufsort, marks=pytest.mark.skipif(
    importlib.util.find_spec("pydivsufsort") is None, reason="pydivsufsort is not installed"))]
CASES = [["abcd", "zbcdabc", "aaaaaaa"], ["a"], ["", "abababab", "", "baba"], [""]]


def collection(seed: int) -> list[str]:
    rng = random.Random(seed)
    words = "abcdefgh"[: rng.choice([1, 2, 3, 8])]
    return ["".join(rng.choices(words, k=rng.randrange(30))) for _ in range(rng.randrange(1, 12))]


@pytest.mark.parametrize("sort", SORTERS)
@pytest.mark.parametrize("documents", [*CASES, *map(collection, range(6))])
def test_suffixes_are_those_of_plain_python(documents, sort):
    tokens = suffixes.numbered(documents)
    numbers = tokens.numbers.tolist()
    order = sorted(range(len(numbers)), key=lambda i: numbers[i:])
    common = [0]
    for one, other in pairwise(order):
        pairs = zip(numbers[one:], numbers[other:], strict=False)
        common.append(next(i for i, (a, b) in enumerate(pairs) if a != b))
    found = sort(tokens)
    assert (found.order.tolist(), found.common.tolist()) == (order, common)


@pytest.mark.parametrize("sort", SORTERS)
def test_results_are_confirmed(sort):
    for documents in (*CASES, *map(collection, range(25))):
        for size in (1, 2, 3, 5):
            found = nd.repeats(map(" ".join, documents), size, threads=1)
            assert suffixes.differences(documents, found, sort) == [], (documents, size)


DOCUMENTS = ["abcde", "abcdex", "bcdey"]  # rows of "abcde" and of "bcde"


@pytest.mark.parametrize(("changed", "message"), [
    ({"sizes": np.array([5, 6, 4])}, "15 tokens in 3 documents, not 16 tokens in 3 documents"),
    ({"starts": np.array([1, 0])}, "1 tokens are repeated and in no row"),
    ({"cuts": lambda copies: np.array([[1], [0], [5]])}, "9 tokens are wrongly cut, or not cut, by 'none'"),
    ({"sources": np.array([0, 1])}, "1 of 2 rows have an earlier source"),
    ({"source_starts": np.array([0, 0])}, "1 of 2 rows differ from their sources"),
    ({"copies": np.array([2, 4])}, "1 of 2 rows have another number of copies"),
])
def test_faults_are_seen(changed, message):
    found = nd.repeats(map(" ".join, DOCUMENTS), 3)
    names = ("documents", "starts", "ends", "sources", "source_starts", "copies", "sizes", "min_tokens", "total", "cuts")
    result = types.SimpleNamespace(**{**{name: getattr(found, name) for name in names}, **changed})
    told = suffixes.differences(DOCUMENTS, result, suffixes.by_doubling)
    assert any(message in each for each in told), told


def test_a_row_in_two_pieces_could_go_on():
    found = nd.repeats(map(" ".join, DOCUMENTS[:2]), 3)
    result = types.SimpleNamespace(
        documents=np.array([1, 1]), starts=np.array([0, 3]), ends=np.array([3, 5]), sources=np.array([0, 0]),
        source_starts=np.array([0, 3]), copies=np.array([2, 2]), sizes=found.sizes, min_tokens=3, cuts=found.cuts)
    assert suffixes.differences(DOCUMENTS[:2], result, suffixes.by_doubling) == ["1 of 2 rows could go on"]
