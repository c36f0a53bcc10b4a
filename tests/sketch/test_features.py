"""Super-features and super-shingles against vectors and the reference, and the rates of sharing one."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from generated import hash_sets, splitmix64
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import sketches as reference

KERNEL = "rabin"
SIGMA = 5.0


def signatures(rows, bits: int = 32) -> nd.Sketches:
    values = np.array(rows, f"uint{bits}")
    n = len(values)
    return nd.Sketches(
        values, nd.MinHasher(values.shape[1], bits).recipe, sizes=np.ones(n), sizes_exact=np.ones(n, np.bool_),
        valid=np.ones(n, np.bool_),
    )  # fmt: skip


def bottoms(sketches, size: int = 200) -> nd.Sketches:
    n, counts = len(sketches), [len(members) for members in sketches]
    return nd.Sketches(
        np.array([m for members in sketches for m in members], np.uint64), nd.BottomSketcher(size).recipe,
        offsets=np.cumsum([0, *counts]), sizes=np.array(counts, np.float64), sizes_exact=np.ones(n, np.bool_),
        valid=np.array(counts) > 0,
    )  # fmt: skip


def one_by_one(found) -> list[list[int]]:
    return [found.values[a:b].tolist() for a, b in itertools.pairwise(found.offsets.tolist())]


# ---------------------------------------------------------------------------------------------- literals


def test_super_features_of_vectors(vectors, same_as):
    data = vectors("features")
    for case in data["super_features"]:
        signature = data["signatures"][case["signature"]]
        sketches = signatures([[int(value, 16) for value in signature["minima"]]], signature["bits"])
        [found] = nd.super_features(sketches, case["groups"], case["group_size"], case["need"])
        assert found.dtype == np.uint64
        same_as(found, case["values"])


def test_super_shingles_of_vectors(vectors, same_as, variant):
    data = vectors("features")
    names = list(data["sketches"])
    sketches = bottoms([[int(member, 16) for member in data["sketches"][name]] for name in names])
    for run in {case["run"] for case in data["super_shingles"]}:
        found = dict(zip(names, one_by_one(nd.super_shingles(sketches, run)), strict=True))
        for case in data["super_shingles"]:
            if case["run"] == run:
                same_as(found[case["sketch"]], case["values"])


def test_meta_sketches_of_vectors(vectors, same_as):
    data = vectors("features")
    for case in data["meta_sketches"]:
        sketches = bottoms([[int(member, 16) for member in data["sketches"][case["sketch"]]]])
        [found] = nd.meta_sketches(sketches, case["run"], nd.BottomSketcher(case["size"]))
        same_as(found, case["values"])


# ---------------------------------------------------------------------------------------------- oracle


@given(st.lists(hash_sets, min_size=1, max_size=3), st.integers(1, 7), st.integers(1, 5), st.data())
def test_super_features_as_the_reference(sets, groups, size, data):
    need = data.draw(st.integers(1, groups))
    values = np.array([f for fs in sets for f in fs], np.uint64)
    sketches = nd.MinHasher(groups * size + 1).sketch_hashes(values, np.cumsum([0, *map(len, sets)]))
    expected = [reference.super_features(reference.features(row.tolist(), groups, size), need) for row in sketches]
    assert nd.super_features(sketches, groups, size, need).tolist() == expected


@given(st.lists(hash_sets, max_size=5), st.integers(1, 12), st.sampled_from([32, 40, 64]))
def test_super_shingles_as_the_reference(sets, run, bits):
    values = np.array([f for fs in sets for f in fs], np.uint64)
    sketches = nd.BottomSketcher(20, bits).sketch_hashes(values, np.cumsum([0, *map(len, sets)]))
    found = nd.super_shingles(sketches, run)
    assert (found.values.dtype, found.offsets.dtype) == (np.uint64, np.int64)
    assert one_by_one(found) == [reference.super_shingles(members.tolist(), run) for members in sketches]
    meta = nd.meta_sketches(sketches, run, nd.BottomSketcher(6, seed=3))
    assert [row.tolist() for row in meta] == [reference.meta_sketch(m.tolist(), run, 6, 3) for m in sketches]
    assert meta.valid.tolist() == [len(members) >= run for members in sketches]


def test_views():
    rows = np.arange(96, dtype=np.uint32).reshape(8, 12)
    expected = nd.super_features(signatures(rows), 4, 3, 2)
    sketches = signatures(rows)
    sketches.values = np.asfortranarray(rows)
    np.testing.assert_array_equal(nd.super_features(sketches, 4, 3, 2), expected)
    assert nd.super_features(signatures(rows)[:0], 4, 3, 2).shape == (0, 6)
    some = bottoms([[1, 2, 3], [], [2, 3]])
    assert one_by_one(nd.super_shingles(some[1:], 2)) == [[], reference.super_shingles([2, 3], 2)]
    assert one_by_one(nd.super_shingles(some[:0], 2)) == []


# ---------------------------------------------------------------------------------------------- what sharing means


@pytest.mark.parametrize(("groups", "size"), [(6, 2), (5, 3), (3, 1)])
def test_a_super_feature_is_shared_exactly_if_need_features_are(groups, size):
    """Take pairs that differ in any number of minima at any places, for every need."""
    outputs = splitmix64(groups)
    rows = []
    for _ in range(300):
        one = [next(outputs) >> 32 for _ in range(groups * size)]
        rows += [one, [value if next(outputs) % 4 else next(outputs) >> 32 for value in one]]
    sketches = signatures(rows)
    shared = nd.features(sketches, groups, size)
    shared = (shared[0::2] == shared[1::2]).sum(axis=1)
    assert set(shared.tolist()) == set(range(groups + 1))
    for need in range(1, groups + 1):
        found = nd.super_features(sketches, groups, size, need)
        assert ((found[0::2] == found[1::2]).any(axis=1) == (shared >= need)).all()
        anywhere = [bool(set(a) & set(b)) for a, b in zip(found[0::2].tolist(), found[1::2].tolist(), strict=True)]
        assert anywhere == (shared >= need).tolist()


def test_differences_do_not_cancel_from_feature_to_feature():
    """Repeat a difference one word further on in the next group, which the polynomial of features would cancel."""
    found = nd.super_features(signatures([[1, 2, 3, 4], [1, 2 ^ 0xABC, 3 ^ 0xABC, 4]]), 2, 2, 2)
    assert found[0, 0] != found[1, 0]


@given(st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30), unique=True), st.integers(1, 6))
def test_a_super_shingle_is_shared_exactly_if_a_run_is(a, b, run):
    a, b = sorted(a), sorted(b)
    one, other = one_by_one(nd.super_shingles(bottoms([a, b]), run))
    runs = [{tuple(s[i : i + run]) for i in range(len(s) - run + 1)} for s in (a, b)]
    assert len(set(one) & set(other)) == len(runs[0] & runs[1])


# ---------------------------------------------------------------------------------------------- how often


def pairs_of_sets(trials: int, size: int, shared: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Generate (values, offsets, J): sets 2i and 2i + 1 have `size` random hashes each, and share `shared`."""
    hashes = np.random.default_rng(seed).integers(0, 2**64, (trials, 2 * size - shared), np.uint64)
    values = np.concatenate([hashes[:, :size], hashes[:, size - shared :]], axis=1).ravel()
    return values, np.arange(0, 2 * trials * size + 1, size), shared / (2 * size - shared)


@pytest.mark.parametrize(("size", "shared"), [(105, 100), (110, 100), (112, 100)])
@pytest.mark.parametrize("shape", [(6, 14, 2), (6, 14, 1), (5, 6, 3)])
def test_pass_rates_of_super_features(size, shared, shape):
    """Expect a common super-feature with probability P_{k,s,r}(J), within 5 standard errors of 2000 pairs."""
    trials = 2000
    values, offsets, j = pairs_of_sets(trials, size, shared, size)
    sketches = nd.MinHasher(84).sketch_hashes(values, offsets)
    found = nd.super_features(sketches, *shape)
    passed = (found[0::2] == found[1::2]).any(axis=1).mean()
    expected = reference.pass_probability(j, *shape)
    assert 0.02 < expected < 1
    assert abs(passed - expected) <= SIGMA * math.sqrt(expected * (1 - expected) / trials) + 1e-12


def by_enumeration(rho: Fraction, size: int, run: int) -> Fraction:
    """Sum over all sequences of members of the union: common, of A only, of B only."""

    def shared(in_a: int, in_b: int, row: int) -> Fraction:
        if row == run:
            return Fraction(1)
        if in_a == size or in_b == size:
            return Fraction(0)
        single = (1 - rho) / 2
        return (
            rho * shared(in_a + 1, in_b + 1, row + 1)
            + single * shared(in_a + 1, in_b, 0)
            + single * shared(in_a, in_b + 1, 0)
        )

    return shared(0, 0, 0)


@pytest.mark.parametrize(("size", "run"), [(1, 1), (2, 1), (2, 2), (5, 2), (6, 3), (7, 1), (7, 5), (7, 7), (3, 4)])
def test_probability_of_super_shingles_by_enumeration(size, run):
    rhos = [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(1)]
    expected = [float(by_enumeration(rho, size, run)) for rho in rhos]
    assert nd.super_shingle_probability([float(rho) for rho in rhos], size, run) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("shared", "size", "run"), [(1800, 84, 14), (1700, 84, 14), (1200, 60, 6), (1800, 200, 30)])
def test_rates_of_super_shingles(shared, size, run):
    """Sample sets of 2000, about 30 times the sketch: within 5 standard errors of 800 pairs, and 0.01 for finite sets."""
    trials = 800
    values, offsets, j = pairs_of_sets(trials, 2000, shared, shared + run)
    found = one_by_one(nd.super_shingles(nd.BottomSketcher(size).sketch_hashes(values, offsets), run))
    passed = np.mean([bool(set(a) & set(b)) for a, b in zip(found[0::2], found[1::2], strict=True)])
    expected = nd.super_shingle_probability(j, size, run)
    assert 0.05 < expected < 0.98
    assert abs(passed - expected) <= SIGMA * math.sqrt(expected * (1 - expected) / trials) + 0.01


def test_shapes_of_probabilities():
    grid = np.linspace(0, 1, 6).reshape(2, 3)
    values = nd.super_shingle_probability(grid, 30, 4)
    assert values.shape == (2, 3) and values[1, 1] == nd.super_shingle_probability(grid[1, 1], 30, 4)
    assert isinstance(nd.super_shingle_probability(0.5), float)
    assert nd.super_shingle_probability([0, 1], 30, 4).tolist() == [0.0, 1.0]
    assert (np.diff(nd.super_shingle_probability(np.linspace(0, 1, 50), 30, 4)) >= -1e-15).all()


def test_meta_sketches_estimate_the_resemblance_of_the_super_shingles():
    """Expect rho^run / (1 + rho − rho^run) from sets of 3000 with sketches of 500, within 5 standard errors of 60 pairs.

    The variance is measured, because super-shingles of one difference go together.
    """
    values, offsets, rho = pairs_of_sets(60, 3000, 2900, 8)
    meta = nd.meta_sketches(nd.BottomSketcher(500).sketch_hashes(values, offsets), 4, nd.BottomSketcher(1000))
    found = np.array([meta.resemblance(i, i + 1) for i in range(0, len(meta), 2)])
    expected = rho**4 / (1 + rho - rho**4)
    assert abs(found.mean() - expected) <= SIGMA * found.std(ddof=1) / math.sqrt(len(found)) + 0.01


# ---------------------------------------------------------------------------------------------- meta-sketches as sketches


@pytest.mark.parametrize("sketcher", [None, nd.BottomSketcher(5), nd.MinHasher(8)])
def test_meta_sketches_are_sketches(tmp_path, sketcher):
    documents = [" ".join(f"w{i}" for i in range(start, start + 60)) for start in (0, 2, 100)] + ["two words", ""]
    sk = nd.BottomSketcher(50).sketch_many(documents)
    sk.ids = list("abcde")
    meta = nd.meta_sketches(sk, 3, sketcher)
    assert meta.valid.tolist() == [True, True, True, False, False] and meta.ids == list("abcde")
    assert meta.resemblance(0, 0) == 1.0 and meta.resemblance(0, 2) == 0.0 and math.isnan(meta.resemblance(0, 3))
    assert meta.recipe["shingling"]["run"] == 3 and meta.recipe["shingling"]["sketch"] == sk.recipe.parameters
    meta.save(tmp_path / "meta.nds")
    loaded = nd.load(tmp_path / "meta.nds")
    assert loaded.recipe == meta.recipe
    np.testing.assert_array_equal(loaded.values, meta.values)
    smaller = nd.BottomSketcher(49).sketch_many(documents)
    for other in (nd.meta_sketches(sk, 4, sketcher), nd.meta_sketches(smaller, 3, sketcher)):
        with pytest.raises(nd.RecipeMismatch):
            meta.concat(other)
    with pytest.raises(ValueError, match=r"of a super-shingling, not of texts|signatures are needed"):
        nd.near_duplicates(meta)


# ---------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ((6, 14, 7), ValueError, "need=7 of groups=6 features can never be shared"),
        ((6, 14, 0), ValueError, "need is 0; it must be at least 1"),
        ((0, 14, 1), ValueError, "groups is 0"),
        ((6, 15, 2), ValueError, "6 groups of 15 take 90 minima; these signatures have 84"),
        ((42, 2, 6), ValueError, r"6 of 42 features make 5,245,786 super-features of 8 bytes .* at most 1,024"),
        ((46, 1, 2), ValueError, "2 of 46 features make 1,035"),
        ((6.0, 14, 2), TypeError, "float"),
    ],
)
def test_super_feature_refusals(shape, error, message):
    with pytest.raises(error, match=message):
        nd.super_features(nd.MinHasher().sketch("a b"), *shape)
    assert nd.super_features(nd.MinHasher().sketch("a b"), 45, 1, 2).shape == (1, 990)


def test_super_shingle_refusals():
    sk = nd.BottomSketcher(5).sketch("a b c")
    for function in (nd.super_shingles, nd.meta_sketches):
        with pytest.raises(ValueError, match=r"ascending sketches, these are 'minhash'.* use a BottomSketcher"):
            function(nd.MinHasher().sketch("a b c"))
        for run in (0, -1, 65537):
            with pytest.raises(ValueError, match=f"run is {run}; a super-shingle has 1 to 65536 members"):
                function(sk, run)
        with pytest.raises(TypeError, match="float"):
            function(sk, 2.0)
    vars(sk)["offsets"] = np.array([0, 9])
    with pytest.raises(ValueError, match="offsets must ascend from 0 to 1"):
        nd.super_shingles(sk, 1)
    for arguments, message in (((1.5,), "1.5 does not"), ((0.5, 0), "size is 0"), ((0.5, 9, 0), "run is 0")):
        with pytest.raises(ValueError, match=message):
            nd.super_shingle_probability(*arguments)


def test_the_reference_permutes_meta_sketches():
    """Permute super-shingles: fingerprints are linear, so the smallest would not be a random sample."""
    members = sorted(reference.permute(range(40)))
    assert reference.meta_sketch(members, 3, 5) == reference.bottom(reference.super_shingles(members, 3), 5)
