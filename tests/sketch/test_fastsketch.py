"""method="fast": fast similarity sketching against the reference, its statistics, its refusals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sketch_samples import unpermuted

import ndcore as nd
from ndcore.reference import sketches as reference

KERNEL = "minhash"  # its forms mix the elements of a round
U64 = st.integers(0, 2**64 - 1)


def sketched(values, num_perm, seed):
    return nd.MinHasher(num_perm, 32, seed, method="fast").sketch_hashes(np.array(values, np.uint64), [0, len(values)])


# ---- literals


def test_rounds_by_hand():
    """Fill one coordinate in round 0 with the smallest low half of the mixed values."""
    mixed = reference.permute([5, 7, 11], 3)
    assert reference.fast_signature([5, 7, 11], 1, 3) == [min(z & 0xFFFFFFFF for z in mixed)]
    coordinate, value = reference.round_value(0xC000_0000_1234_5678, 0, 4)
    assert (coordinate, value) == (3, 0x12345678)
    assert reference.round_value(0, 7, 4)[0] == 3  # round t + j reaches coordinate j


# ---- oracle


@given(st.lists(U64, max_size=60), st.integers(1, 40), U64)
def test_as_the_reference(variant, values, num_perm, seed):
    assert sketched(values, num_perm, seed)[0].tolist() == reference.fast_signature(values, num_perm, seed)


@pytest.mark.parametrize("n", [0, 1, 2, 47, 48, 49, 255, 256, 257, 3000])
@pytest.mark.parametrize("distinct", [1, 3, 10**6])
def test_lengths_and_repeats(n, distinct):
    rng = np.random.default_rng(n + distinct)
    values = rng.integers(0, 2**64, distinct, np.uint64)[rng.integers(0, distinct, n)]
    sketches = sketched(values.tolist(), 84, 9)
    assert sketches[0].tolist() == reference.fast_signature(values.tolist(), 84, 9)
    if sketches.sizes_exact[0]:
        assert sketches.sizes[0] == len(set(values.tolist()))
    else:
        assert len(set(values.tolist())) > 84


@pytest.mark.parametrize("num_perm", [1, 2, 84, 255, 256, 257, 600])
def test_elements_around_a_batch(variant, num_perm):
    """Mix several rounds of few elements at once, 256 values, and one round of many in several batches."""
    rng = np.random.default_rng(num_perm)
    for n in (1, 2, 3, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513):
        values = rng.integers(0, 2**64, n, np.uint64).tolist()
        sketches = sketched(values, num_perm, 1)
        assert sketches[0].tolist() == reference.fast_signature(values, num_perm, 1)
        assert not sketches.sizes_exact[0] or sketches.sizes[0] == n


@pytest.mark.parametrize("n", [4095, 4096, 4097])
def test_repeats_of_few_and_of_many(n):
    """Find repeats of up to 4096 values by a table, and of more by sorting."""
    values = [i * i % 37 for i in range(n)]
    sketches = sketched(values, 84, 2)
    assert sketches[0].tolist() == reference.fast_signature(values, 84, 2)
    assert (sketches.sizes[0], sketches.sizes_exact[0]) == (len(set(values)), True)


@pytest.mark.parametrize("low", [20, 40, 60])
def test_repeats_with_one_place_for_all(low):
    """Mix values with the same low bits, which all probe one place of the table until it uses other bits."""
    different = [i << low | 5 for i in range(16)]
    values = [unpermuted(z, 3) for z in different + different[::-1] * 5]
    assert sorted(set(reference.permute(values, 3))) == different
    sketches = sketched(values, 84, 3)
    assert sketches[0].tolist() == reference.fast_signature(values, 84, 3)
    assert (sketches.sizes[0], sketches.sizes_exact[0]) == (16, True)


def test_text_as_its_fingerprints():
    text = " ".join(f"word{i % 700}" for i in range(5000))
    sketcher = nd.MinHasher(128, method="fast")
    expected = reference.fast_signature(nd.Shingling().fingerprints(text).tolist(), 128, 1)
    assert sketcher.sketch(text)[0].tolist() == expected
    labelled = nd.Shingling(labelled=True, width=2)
    expected = reference.fast_signature(labelled.fingerprints(text).tolist(), 16, 1)
    assert nd.MinHasher(16, shingling=labelled, method="fast").sketch(text)[0].tolist() == expected


def test_threads_and_many_documents_of_all_sizes():
    texts = ["x " * i + f"end {i}" for i in range(0, 900, 7)] + ["", "..."]
    sketcher = nd.MinHasher(64, method="fast")
    one, two = sketcher.sketch_many(texts, threads=1), sketcher.sketch_many(texts, threads=2)
    assert (one.values == two.values).all()
    assert not one.valid[-2:].any() and (one.values[-2:] == 0xFFFFFFFF).all()
    assert all((sketcher.sketch(text).values == one[i]).all() for i, text in enumerate(texts))


# ---- statistics


def overlapping(rng, n, common):
    """Generate two random sets of n elements in all; both have `common` of them."""
    elements = rng.integers(0, 2**64, n, np.uint64)
    a = common + (n - common) // 2
    return elements[:a], np.concatenate([elements[:common], elements[a:]])


@pytest.mark.parametrize(("n", "runs"), [(2, 400), (5, 400), (20, 400), (100, 400), (400, 400), (5000, 300), (10**6, 20)])
@pytest.mark.parametrize("share", [0.3, 0.8])
def test_bias_and_variance(n, runs, share):
    """Expect the binomial mean within 4.5 standard errors, and at most 4.5 of its own above its variance.

    Coordinates of one sketch are drawn without replacement, so they vary less than independent ones.
    """
    rng = np.random.default_rng(n)
    common = round(n * share)
    j = common / n
    estimates = []
    for seed in range(runs):
        a, b = overlapping(rng, n, common)
        if not len(a) or not len(b):
            continue
        sketches = nd.MinHasher(128, seed=seed, method="fast").sketch_hashes(
            np.concatenate([a, b]), [0, len(a), len(a) + len(b)]
        )
        estimates.append(sketches.resemblance(0, 1))
    binomial = j * (1 - j) / 128
    assert abs(np.mean(estimates) - j) <= 4.5 * math.sqrt(binomial / len(estimates)) + 1e-12
    assert np.var(estimates) <= binomial * (1 + 4.5 * math.sqrt(2 / len(estimates))) + 1e-12


@pytest.mark.parametrize(("share", "design"), [(0.8, (20, 4, 1)), (0.5, (20, 4, 2)), (0.9, (12, 6, 2))])
def test_the_filter(share, design):
    """Expect P_{k,s,r} for large sets, within 4.5 standard errors."""
    groups, group_size, need = design
    rng = np.random.default_rng(7)
    sets, runs = [], 600
    for _ in range(runs):
        sets += overlapping(rng, 6000, round(6000 * share))
    offsets = np.concatenate([[0], np.cumsum([len(members) for members in sets])])
    sketches = nd.MinHasher(84, method="fast").sketch_hashes(np.concatenate(sets), offsets)
    found = nd.features(sketches, groups, group_size)
    passed = ((found[0::2] == found[1::2]).sum(axis=1) >= need).mean()
    expected = nd.pass_probability(share, groups, group_size, need)
    assert abs(passed - expected) <= 4.5 * math.sqrt(expected * (1 - expected) / runs) + 0.005


@pytest.mark.parametrize("n", [1, 10, 100, 1000, 100_000])
def test_sizes(n):
    rng = np.random.default_rng(n)
    values = rng.integers(0, 2**64, n, np.uint64)
    sizes = [nd.MinHasher(128, seed=seed, method="fast").sketch_hashes(values, [0, n]).sizes[0] for seed in range(30)]
    assert abs(np.mean(sizes) / n - 1) <= 4.5 / math.sqrt(128 * 30)


def solved_by_halving(mean):
    """Solve 1/λ − 1/(e^λ − 1) = mean for λ; the left side falls from 1/2."""
    low, high = 1e-3, 1e12
    for _ in range(200):
        middle = (low + high) / 2
        beyond = 1 / math.expm1(middle) if middle < 700 else 0.0
        low, high = (middle, high) if 1 / middle - beyond > mean else (low, middle)
    return low


@pytest.mark.parametrize("n", [900, 5000, 10**6])
def test_sizes_solve_their_equation(n):
    rng = np.random.default_rng(n)
    sketches = nd.MinHasher(128, method="fast").sketch_hashes(rng.integers(0, 2**64, n, np.uint64), [0, n])
    assert not sketches.sizes_exact[0]
    mean = float((sketches[0] + 0.5).sum() / (127 * 2.0**32))
    assert sketches.sizes[0] == pytest.approx(128 * solved_by_halving(mean), rel=1e-9)


# ---- what it is told apart from


def test_recipes_differ():
    fast, slow = nd.MinHasher(84, method="fast").sketch("a b c d e f"), nd.MinHasher(84).sketch("a b c d e f")
    with pytest.raises(nd.RecipeMismatch, match=r"method is 'fast' here and 'permutations' there"):
        fast.concat(slow)
    assert nd.MinHasher.from_recipe(fast.recipe) == nd.MinHasher(84, method="fast")


def test_refusals():
    with pytest.raises(ValueError, match="method must be 'permutations' or 'fast', got 'quick'"):
        nd.MinHasher(method="quick")
    with pytest.raises(ValueError, match="method='fast' makes minima of 32 bits, got bits=64"):
        nd.MinHasher(bits=64, method="fast")
