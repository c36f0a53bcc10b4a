"""Features beside vectors and the reference; the same candidates for any memory limit."""

from __future__ import annotations

import numpy as np
import pytest
from generated import hash_sets, splitmix64
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.filters.design import FilterDesign
from ndcore.pairs.candidates import find_candidates
from ndcore.progress import reporting
from ndcore.reference import sketches as reference_sketches


def of_rows(rows, bits: int) -> nd.Sketches:
    values = np.array(rows, f"uint{bits}")
    n = len(values)
    return nd.Sketches(
        values, nd.MinHasher(values.shape[1], bits).recipe, sizes=np.ones(n), sizes_exact=np.ones(n, np.bool_),
        valid=np.ones(n, np.bool_),
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------- literals


def test_features_of_vectors(vectors, same_as):
    data = vectors("features")
    for case in data["features"]:
        signature = data["signatures"][case["signature"]]
        sketches = of_rows([[int(value, 16) for value in signature["minima"]]], signature["bits"])
        [found] = nd.features(sketches, case["groups"], case["group_size"])
        assert found.dtype == np.uint64
        same_as(found, case["values"])


def test_single_features_of_vectors(vectors):
    for case in vectors("features")["feature"]:
        minima = [int(value, 16) for value in case["minima"]]
        groups = case["j"] + 1
        if groups > 500:
            continue
        rows = [[0] * (len(minima) * case["j"]) + minima]
        assert hex(nd.features(of_rows(rows, 64), groups, len(minima))[0, case["j"]]) == case["value"]


def test_the_default_is_altavistas():
    sketches = nd.MinHasher(84).sketch_many(["a rose is a rose", "something else"])
    np.testing.assert_array_equal(nd.features(sketches), nd.features(sketches, 6, 14))
    assert nd.features(sketches).shape == (2, 6)


def test_equal_groups_at_different_places_are_different_features():
    assert len(set(nd.features(of_rows([[7] * 12], 32), 6, 2)[0].tolist())) == 6


# ---------------------------------------------------------------------------------------------- oracle


@given(st.lists(hash_sets, min_size=1, max_size=4), st.integers(1, 12), st.integers(1, 12), st.sampled_from([32, 64]))
def test_as_the_reference(sets, groups, size, bits):
    values = np.array([f for fs in sets for f in fs], np.uint64)
    sketches = nd.MinHasher(groups * size + 1, bits).sketch_hashes(values, np.cumsum([0, *map(len, sets)]))
    expected = [reference_sketches.features(row.tolist(), groups, size) for row in sketches]
    assert nd.features(sketches, groups, size).tolist() == expected


def test_views_and_other_layouts():
    outputs = splitmix64(4)
    rows = np.array([[next(outputs) >> 32 for _ in range(12)] for _ in range(9)], np.uint32)
    expected = [reference_sketches.features(row, 4, 3) for row in rows.tolist()]
    for view in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2], np.repeat(rows, 2, axis=1)[:, ::2]):
        sketches = of_rows(rows, 32)
        sketches.values = view
        assert nd.features(sketches, 4, 3).tolist() == expected
    assert nd.features(of_rows(rows, 32)[:0], 4, 3).shape == (0, 4)


# ---------------------------------------------------------------------------------------------- candidates


def found(rows, design, **how) -> tuple[list[tuple[int, int]], list[tuple[int, list[int]]]]:
    arguments = {"equal_minima": 0, "max_holders": 1000, "first_fixed": len(rows), **how}
    with reporting(None) as report:
        candidates = find_candidates(rows, np.arange(len(rows)), design, report=report, **arguments)
    pairs = list(zip(candidates.a.tolist(), candidates.b.tolist(), strict=True))
    return pairs, runs_of(candidates.runs)


def runs_of(runs) -> list[tuple[int, list[int]]]:
    assert (runs.whole == 1).all() and len(runs.whole) == len(runs.documents) == runs.begins[-1]
    parts = [runs.documents[begin : begin + size].tolist() for begin, size in zip(runs.begins, runs.sizes, strict=False)]
    return sorted(zip(runs.groups.tolist(), parts, strict=True))


def rows_with_repeats(n: int) -> np.ndarray:
    outputs = splitmix64(n)
    return np.array([[next(outputs) % 4 for _ in range(6)] for _ in range(n)], np.uint32)


def obvious(rows, need, groups=3, size=2, by=None) -> list[tuple[int, int]]:
    shared = (rows[:, None] == rows[None]).reshape(len(rows), len(rows), groups, size).all(axis=3).sum(axis=2)
    together = np.ones_like(shared, np.bool_) if by is None else by[:, None] == by[None]
    a, b = np.nonzero(np.triu(together & (shared >= need), 1))
    return list(zip(a.tolist(), b.tolist(), strict=True))


@pytest.mark.parametrize("need", [1, 2, 3])
@pytest.mark.parametrize("memory_limit", [None, 1, 100, 2000])
def test_pairs_and_runs_do_not_depend_on_memory(need, memory_limit):
    rows = rows_with_repeats(120)
    design = FilterDesign.of(3, 2, need, threshold=0.5)
    assert found(rows, design, memory_limit=memory_limit) == (obvious(rows, need), [])
    pairs, runs = found(rows, design, memory_limit=memory_limit, max_holders=8)
    assert (pairs, runs) == found(rows, design, max_holders=8)
    everything = set(obvious(rows, need))
    assert runs and set(pairs) <= everything and (need > 1 or set(pairs) != everything)
    for group, documents in runs:
        assert len(documents) > 8
        assert len({tuple(row) for row in rows[documents, 2 * group : 2 * group + 2].tolist()}) == 1


@pytest.mark.parametrize("need", [1, 2, 3])
@pytest.mark.parametrize("memory_limit", [None, 1, 100, 100_000])
def test_pairs_and_runs_do_not_depend_on_threads(need, memory_limit, monkeypatch):
    """Also where long runs of one group decide which pairs of the next are written."""
    rows, design = rows_with_repeats(120), FilterDesign.of(3, 2, need, threshold=0.5)
    expected = [found(rows, design, max_holders=most, threads=1) for most in (8, 1000)]
    monkeypatch.setattr("ndcore.pairs.candidates.BLOCK", 1)  # a group is a piece of work
    for threads in (1, 2, 3):
        for most, those in zip((8, 1000), expected, strict=True):
            assert found(rows, design, max_holders=most, memory_limit=memory_limit, threads=threads) == those


@pytest.mark.parametrize("memory_limit", [None, 100])
def test_only_documents_of_one_label_are_paired(memory_limit):
    rows, by = rows_with_repeats(100), np.arange(100) % 3
    design = FilterDesign.of(3, 2, 1, threshold=0.5)
    assert found(rows, design, by=by, memory_limit=memory_limit)[0] == obvious(rows, 1, by=by)


def test_only_active_documents_are_paired():
    rows, design = np.zeros((6, 2), np.uint32), FilterDesign.of(2, 1, 1, threshold=0.5)
    with reporting(None) as report:
        candidates = find_candidates(
            rows, np.array([0, 3, 5]), design, equal_minima=0, max_holders=9, first_fixed=3, report=report
        )
    assert list(zip(candidates.a.tolist(), candidates.b.tolist(), strict=True)) == [(0, 3), (0, 5)]


# ---------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("sketcher", "shape", "message"),
    [
        (nd.BottomSketcher(), (6, 14), "made of signatures, these sketches are 'bottom'; use a MinHasher"),
        (nd.MinHasher(83), (6, 14), "6 groups of 14 take 84 minima; these signatures have 83: sketch with num_perm=84"),
        (nd.MinHasher(), (0, 14), "at least 1, got 0 and 14"),
        (nd.MinHasher(), (6, -1), "at least 1, got 6 and -1"),
    ],
)
def test_refusals(sketcher, shape, message):
    with pytest.raises(ValueError, match=message):
        nd.features(sketcher.sketch("a b"), *shape)
