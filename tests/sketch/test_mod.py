"""Mod sketches: vectors, the reference, every form, streams of every length, estimates, refusals."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from generated import LENGTHS, hash_sets, splitmix64, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from sketch_samples import unmix, unpermuted

import ndcore as nd
from ndcore.reference import resemblance, shingling
from ndcore.reference import sketches as reference_sketches

KERNEL = "modsketch"
MODULI = st.sampled_from([1, 2, 3, 4, 6, 7, 12, 25, 64, 96, 2**32, 2**63, 2**64 - 1, 3 * 2**40]) | st.integers(1, 40)
SEEDS = st.sampled_from([0, 1, 2**64 - 1])


def sketched(sketcher, sets) -> nd.Sketches:
    values = np.array([f for fs in sets for f in fs], np.uint64)
    return sketcher.sketch_hashes(values, np.cumsum([0, *map(len, sets)]))


def rows(sketches: nd.Sketches) -> list[list[int]]:
    return [row.tolist() for row in sketches]


def adaptive_rows(sketches: nd.Sketches) -> list[tuple[int, list[int]]]:
    levels = [int(m).bit_length() - 1 for m in sketches.moduli]
    return list(zip(levels, rows(sketches), strict=True))


def unmixed(zs, seed=1) -> list[int]:
    """Return fingerprints that have these permuted values."""
    return [unpermuted(z, seed) for z in zs]


# ---------------------------------------------------------------------------------------------- literals


def test_mods_of_vectors(vectors, same_as, variant):
    data = vectors("minhash")
    for case in data["mods"]:
        fs = [int(f, 16) for f in data["sets"][case["set"]]]
        [found] = rows(sketched(nd.ModSketcher(int(case["modulus"], 16), int(case["seed"], 16)), [fs]))
        same_as(found, case["values"])


def test_adaptives_of_vectors(vectors, same_as, variant):
    data = vectors("minhash")
    sets = [[int(f, 16) for f in data["sets"][case["set"]]] for case in data["adaptives"]]
    found = adaptive_rows(sketched(nd.ModSketcher("adaptive", 1), sets))
    for case, (level, values) in zip(data["adaptives"], found, strict=True):
        assert level == case["level"]
        same_as(values, case["values"])


def test_levels_of_vectors(vectors):
    levels = vectors("minhash")["levels"]
    sets = [[7] * int(n) for n in levels]
    moduli = sketched(nd.ModSketcher("adaptive"), sets).moduli
    assert moduli.tolist() == [2**level for level in levels.values()]


def test_streams_of_vectors(vectors, same_as, variant):
    cases = vectors("minhash")["streams"]
    outputs = list(itertools.islice(splitmix64(8600), max(case["n"] for case in cases)))
    found = adaptive_rows(sketched(nd.ModSketcher("adaptive"), [outputs[: case["n"]] for case in cases]))
    for case, (level, values) in zip(cases, found, strict=True):
        assert level == case["level"]
        same_as(values, case["values"])


def test_overlaps_of_vectors(vectors):
    outputs = list(itertools.islice(splitmix64(8600), 3005))
    for case in vectors("minhash")["overlaps"]:
        sets = [outputs[slice(*case[part])] for part in "ab"]
        found = sketched(nd.ModSketcher(case["modulus"]), sets).compare(0, 1)
        assert [found.common, found.total, found.in_a] == case["counts"]


def test_by_hand():
    """Sketch z = 0, 24, 25, 26, 50, 100: the multiples of 25, and the multiples of 2^i."""
    fs = unmixed([100, 0, 25, 24, 26, 50, 25])
    assert rows(sketched(nd.ModSketcher(25), [fs])) == [[0, 25, 50, 100]]
    assert rows(sketched(nd.ModSketcher(25, size=2), [fs])) == [[0, 25]]
    assert adaptive_rows(sketched(nd.ModSketcher("adaptive"), [fs, unmixed(range(100)), unmixed([4]) * 200])) == [
        (0, [0, 24, 25, 26, 50, 100]), (1, list(range(0, 100, 2))), (2, [4]),
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------- oracle


@given(st.lists(hash_sets, min_size=1, max_size=4), MODULI, st.none() | st.integers(1, 30), SEEDS)
def test_mods_as_the_reference(variant, sets, modulus, size, seed):
    found = sketched(nd.ModSketcher(modulus, seed, size=size), sets)
    expected = [reference_sketches.mod(fs, modulus, seed) for fs in sets]
    assert rows(found) == [members[:size] for members in expected]
    assert found.valid.tolist() == [bool(fs) for fs in sets]
    for fs, members, known, exact in zip(sets, expected, found.sizes, found.sizes_exact, strict=True):
        whole = not fs or (modulus == 1 and (size is None or len(members) < size))
        assert exact == whole
        if whole or size is None:
            assert known == (max(1, modulus * len(members)) if fs else 0)


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=4), st.integers(1, 400), SEEDS)
@settings(max_examples=40)
def test_adaptives_as_the_reference(variant, lengths, distinct, seed):
    values = list(itertools.islice(splitmix64(distinct), distinct))
    sets = [[values[i * i % distinct] for i in range(n)] for n in lengths]
    found = sketched(nd.ModSketcher("adaptive", seed), sets)
    assert adaptive_rows(found) == [reference_sketches.adaptive(fs, seed) for fs in sets]
    assert found.sizes_exact.tolist() == [n < 100 for n in lengths]


@given(st.lists(texts, max_size=4), st.sampled_from([1, 2, 5]), st.booleans(), st.sampled_from([1, 2, 25, "adaptive"]))
def test_texts_as_the_reference(variant, documents, width, labelled, modulus):
    """Compare with the reference: the pipeline hands the kernel the same fingerprints."""
    expected = [shingling.fingerprints(document, width=width, labelled=labelled) for document in documents]
    found = nd.ModSketcher(modulus, shingling=nd.Shingling(width=width, labelled=labelled)).sketch_many(documents)
    if modulus == "adaptive":
        assert adaptive_rows(found) == [reference_sketches.adaptive(fs) for fs in expected]
    else:
        assert rows(found) == [reference_sketches.mod(fs, modulus) for fs in expected]
    assert found.valid.tolist() == [bool(fs) for fs in expected]


# ---------------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("n", [*LENGTHS, 49, 50, 99, 100, 101, 199, 200, 3199, 3200, 12799, 12800])
def test_every_length(variant, n):
    fs = list(itertools.islice(splitmix64(n), n))
    fs[n // 2 :] = fs[: n - n // 2]
    sets = [fs, fs[:1], fs[::-1]]
    for modulus in (1, 2, 25):
        assert rows(sketched(nd.ModSketcher(modulus), sets)) == [reference_sketches.mod(each, modulus) for each in sets]
    assert adaptive_rows(sketched(nd.ModSketcher("adaptive"), sets)) == [reference_sketches.adaptive(each) for each in sets]


def test_documents_longer_than_all_blocks(variant):
    """Coarsen and tidy on the way: 60,000 shingles, 20,000 of them different, in sequence and in turns."""
    words = [f"w{i}" for i in range(20_000)]
    documents = [" ".join(words * 3), " ".join(word for word in words for _ in range(3)), "short", " ".join(words[:7000])]
    sh = nd.Shingling(width=1)
    expected = [shingling.fingerprints(document, width=1) for document in documents]
    for modulus in (1, 3):
        found = nd.ModSketcher(modulus, shingling=sh).sketch_many(documents)
        assert rows(found) == [reference_sketches.mod(fs, modulus) for fs in expected]
    cut = nd.ModSketcher(1, shingling=sh, size=700).sketch_many(documents)
    assert rows(cut) == [reference_sketches.bottom(fs, 700) for fs in expected]
    found = nd.ModSketcher("adaptive", shingling=sh).sketch_many(documents)
    assert adaptive_rows(found) == [reference_sketches.adaptive(fs) for fs in expected]
    assert found.moduli.tolist() == [1024, 1024, 1, 128]


def test_one_shingle_a_million_times(variant):
    """Repeat the value 0, a multiple of everything, a million times; it is kept once."""
    fs = np.full(1_000_000, unmixed([0])[0], np.uint64)
    for modulus in (1, 25, "adaptive"):
        found = nd.ModSketcher(modulus).sketch_hashes(fs, [0, len(fs)])
        assert rows(found) == [[0]]
    assert found.moduli.tolist() == [2**14]  # 10^6 / 2^14 = 61


@pytest.mark.parametrize("low", [2**16, 2**8, 2, 1])
def test_values_that_differ_in_few_digits(low):
    """Sort values by leading digits that are all alike; only some of the last digits differ."""
    zs = [(5 << 40) + low * i for i in range(1000)] + [low * i for i in range(300)]
    order = sorted(range(len(zs)), key=lambda i: unmix(i))
    assert rows(sketched(nd.ModSketcher(1), [unmixed([zs[i] for i in order])])) == [sorted(set(zs))]


def test_no_documents():
    for sketcher in (nd.ModSketcher(), nd.ModSketcher("adaptive")):
        empty = sketcher.sketch_many([])
        assert (len(empty), empty.offsets.tolist(), empty.values.dtype) == (0, [0], np.uint64)
        assert empty.compare().resemblance.shape == (0, 0)
    assert empty.moduli.dtype == np.uint64


# ---------------------------------------------------------------------------------------------- estimates


def expected_estimates(sets, modulus) -> tuple[float, float, float]:
    valid = bool(sets[0] and sets[1])
    if modulus == "adaptive":
        samples = [reference_sketches.adaptive(fs) for fs in sets]
        by = (resemblance.adaptive_resemblance, resemblance.adaptive_containment)
    else:
        samples = [reference_sketches.mod(fs, modulus) for fs in sets]
        by = (resemblance.mod_resemblance, resemblance.mod_containment)
    return by[0](*samples, valid), by[1](*samples, valid), by[1](*samples[::-1], valid)


@given(hash_sets, hash_sets, hash_sets, st.sampled_from([1, 2, 3, 25, 2**63, "adaptive"]), st.sampled_from([1, 3, 30]))
def test_estimates_as_the_reference(common, a, b, modulus, repeats):
    sets = [(common + a) * repeats, common + b]
    found = sketched(nd.ModSketcher(modulus), sets)
    expected = expected_estimates(sets, modulus)
    np.testing.assert_equal((found.resemblance(0, 1), found.containment(0, 1), found.containment(1, 0)), expected)
    low, high = found.interval(0, 1)
    if not (sets[0] and sets[1]):
        assert math.isnan(low) and math.isnan(high)
    elif math.isnan(expected[0]):
        assert (low, high) == (0.0, 1.0)
    elif modulus == 1:
        assert low == high == expected[0]
    else:
        assert 0.0 <= low <= expected[0] <= high <= 1.0


@given(hash_sets, hash_sets, hash_sets, st.sampled_from([1, 2, 3]), st.integers(1, 20))
def test_the_smallest_of_a_sample_are_a_bottom_sketch(common, a, b, modulus, size):
    sets = [common + a, common + b]
    found = sketched(nd.ModSketcher(modulus, size=size), sets)
    samples = [reference_sketches.mod(fs, modulus)[:size] for fs in sets]
    (common_, total), (_, in_a) = resemblance.bottom_counts(*samples, size)
    valid = bool(sets[0] and sets[1])
    np.testing.assert_equal(found.resemblance(0, 1), resemblance.ratio(common_, total) if valid else math.nan)
    np.testing.assert_equal(found.containment(0, 1), resemblance.ratio(common_, in_a) if valid else math.nan)


def test_samples_that_are_empty():
    """Compare documents with shingles but empty samples: nan, and the interval from 0 to 1."""
    found = sketched(nd.ModSketcher(2), [unmixed([1, 3]), unmixed([5]), unmixed([2, 1]), []])
    assert found.valid.tolist() == [True, True, True, False]
    assert rows(found) == [[], [], [2], []]
    assert math.isnan(found.resemblance(0, 1)) and math.isnan(found.containment(0, 2))
    assert found.resemblance(0, 2) == found.containment(2, 0) == 0.0
    for quantity in ("resemblance", "containment"):
        assert found.interval(0, 1, quantity=quantity) == (0.0, 1.0)
        assert all(map(math.isnan, found.interval(2, 3, quantity=quantity)))
    assert found.interval(0, 2, quantity="containment") == (0.0, 1.0)
    assert found.sizes.tolist() == [1, 1, 2, 0]


def test_adaptive_documents_compare_at_the_larger_modulus():
    """Compare z = 0 … 99 at level 1 with z = 0 … 49 at level 0, where only multiples of 2 count."""
    found = sketched(nd.ModSketcher("adaptive"), [unmixed(range(100)), unmixed(range(50))])
    assert found.moduli.tolist() == [2, 1]
    assert (len(found[0]), len(found[1])) == (50, 50)
    assert found.resemblance(0, 1) == found.resemblance(1, 0) == 0.5
    assert found.containment(0, 1) == 0.5 and found.containment(1, 0) == 1.0
    counts = found.compare(1, 0)
    assert (counts.common, counts.total, counts.in_a) == (25, 50, 25)


@pytest.mark.parametrize(("modulus", "size"), [(1, None), (3, None), (25, 7), ("adaptive", None)])
def test_union_is_the_sketch_of_the_union(modulus, size):
    values = list(itertools.islice(splitmix64(5), 3000))
    sketcher = nd.ModSketcher(modulus, size=size)
    sets = [values[:600], values[500:900], values[:80], [], []]
    found = sketched(sketcher, sets)
    for i, j in itertools.product(range(5), repeat=2):
        union = found.union(i, j)
        expected = sorted(set(reference_sketches.permute(sets[i] + sets[j])))
        divisor = int(max(found.moduli[i], found.moduli[j])) if modulus == "adaptive" else modulus
        assert union[0].tolist() == [z for z in expected if z % divisor == 0][:size]
        assert union.valid.tolist() == [bool(sets[i] or sets[j])]
        assert union.recipe == found.recipe
        if modulus == "adaptive":
            assert union.moduli.tolist() == [divisor]
        if size is None:
            exact = divisor == 1
            assert union.sizes_exact.tolist() == [exact or not expected]
            assert union.sizes[0] == (len(expected) if exact else max(1, divisor * len(union[0])) if expected else 0)


def test_exact_sizes(tmp_path):
    documents = [" ".join(f"w{i % 300}" for i in range(1000)), "", "a a"]
    for sketcher in (nd.ModSketcher("adaptive", exact_sizes=True), nd.BottomSketcher(9, exact_sizes=True)):
        for made in (sketcher, pickle.loads(pickle.dumps(sketcher))):
            found = made.sketch_many(documents)
            assert found.sizes.tolist() == [300, 0, 1] and found.sizes_exact.all()
            assert found.interval(0, 0)[0] < 1 == found.interval(2, 2)[0]
    hashed = nd.ModSketcher(7, exact_sizes=True).sketch_hashes([3, 3, 4], [0, 2, 3])
    assert hashed.sizes.tolist() == [1, 1]


# ---------------------------------------------------------------------------------------------- recipes

SKETCHERS = {
    "minhash": nd.MinHasher, "fast": lambda **given: nd.MinHasher(method="fast", **given), "bottom": nd.BottomSketcher,
    "mod": nd.ModSketcher, "least of mod": lambda **given: nd.ModSketcher(size=9, **given),
    "adaptive": lambda **given: nd.ModSketcher("adaptive", **given),
}  # fmt: skip
CHANGES = {
    "seed is 1 here and 2 there": {"seed": 2},
    "shingling.width is 5 here and 4 there": {"shingling": nd.Shingling(width=4)},
    "shingling.labelled is False here and True there": {"shingling": nd.Shingling(labelled=True)},
    "shingling.unit is 'word' here and 'char' there": {"shingling": nd.Shingling("char", 5)},
    "shingling.normalize is None here and 'NFKC' there": {"shingling": nd.Shingling(normalize="NFKC")},
    "shingling.short is 'whole' here and 'skip' there": {"shingling": nd.Shingling(short="skip")},
}  # fmt: skip


@pytest.mark.parametrize("name", SKETCHERS)
@pytest.mark.parametrize("message", CHANGES)
def test_sketches_of_different_recipes_do_not_mix(name, message):
    ours, theirs = SKETCHERS[name]().sketch("a b"), SKETCHERS[name](**CHANGES[message]).sketch("a b")
    for call in (ours.concat, lambda other: ours.compare(0, 0, other)):
        with pytest.raises(nd.RecipeMismatch, match="cannot combine sketches of different recipes: " + message):
            call(theirs)


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(SKETCHERS, 2)))
def test_kinds_do_not_mix(one, other):
    with pytest.raises(nd.RecipeMismatch, match=r"(kind|method|modulus|size) is .* here and .* there"):
        SKETCHERS[one]().sketch("a b").compare(0, 0, SKETCHERS[other]().sketch("a b"))


def test_the_first_difference_of_mod_sketches():
    for other, message in [
        (nd.ModSketcher(24), "modulus is 25 here and 24 there"),
        (nd.ModSketcher("adaptive"), "modulus is 25 here and 'adaptive' there"),
        (nd.ModSketcher(size=3), "size is None here and 3 there"),
        (nd.BottomSketcher(), "kind is 'mod' here and 'bottom' there"),
    ]:
        with pytest.raises(nd.RecipeMismatch, match=message):
            nd.ModSketcher().sketch("a").concat(other.sketch("a"))


# ---------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nd.ModSketcher(0), ValueError, "modulus must be an int of 1 to 2.64 - 1, or 'adaptive', got 0"),
        (lambda: nd.ModSketcher(2**64), ValueError, "got 18446744073709551616"),
        (lambda: nd.ModSketcher(-1), ValueError, "got -1"),
        (lambda: nd.ModSketcher(25.0), ValueError, "got 25.0"),
        (lambda: nd.ModSketcher(True), ValueError, "got True"),
        (lambda: nd.ModSketcher("adapt"), ValueError, "or 'adaptive', got 'adapt'"),
        (lambda: nd.ModSketcher(seed=-1), ValueError, "seed must be an int"),
        (lambda: nd.ModSketcher(size=0), ValueError, "size must be an int of 1 to 65536, got 0"),
        (lambda: nd.ModSketcher("adaptive", size=9), ValueError, "size=9 needs a modulus that is a number"),
        (lambda: nd.ModSketcher().sketch_hashes([1.5], [0, 1]), TypeError, "64-bit hashes"),
        (lambda: nd.features(nd.ModSketcher().sketch("a")), ValueError, "these sketches are 'mod'; use a MinHasher"),
        (lambda: nd.super_shingles(nd.ModSketcher("adaptive").sketch("a")), ValueError, "one modulus, these are adaptive"),
        (lambda: nd.near_duplicates(nd.ModSketcher().sketch_many(["a"])), ValueError,
         "signatures are needed, the sketches are 'mod'"),
        (lambda: nd.near_duplicates(["a"], against=nd.ModSketcher("adaptive").sketch_many(["a"])), ValueError,
         "signatures are needed, the sketches are 'mod'"),
    ],
)  # fmt: skip
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
