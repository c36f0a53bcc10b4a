"""Estimators: bias and variance over many pairs of sets, on random and on structured input.

Seeds are fixed, so these tests give the same answer every time. The tolerances are what a right estimator stays within:
5 standard errors of the Monte Carlo mean, and 5 · sqrt(2 / trials) of the relative error of a variance (of nearly normal
estimates), each with a chance below 10^-6 had the seeds been drawn anew.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import ndcore as nd
from ndcore.reference import sketches as reference_sketches

SIGMA = 5.0


def pairs_of_sets(trials: int, size: int, shared: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw sets 2i and 2i + 1 of `size` random hashes each, `shared` of them in common: (values, offsets, J)."""
    hashes = np.random.default_rng(seed).integers(0, 2**64, (trials, 2 * size - shared), np.uint64)
    values = np.concatenate([hashes[:, :size], hashes[:, size - shared :]], axis=1).ravel()
    return values, np.arange(0, 2 * trials * size + 1, size), shared / (2 * size - shared)


def signature_estimates(sketches: nd.Sketches) -> np.ndarray:
    return (sketches.values[0::2] == sketches.values[1::2]).mean(axis=1)


def bottom_estimates(sketches: nd.Sketches) -> np.ndarray:
    return np.array([sketches.resemblance(i, i + 1) for i in range(0, len(sketches), 2)])


def unbiased(estimates: np.ndarray, true: float, variance: float, message: str = "") -> None:
    assert abs(estimates.mean() - true) <= SIGMA * math.sqrt(variance / len(estimates)) + 1e-12, message


def of_variance(estimates: np.ndarray, variance: float, message: str = "") -> None:
    tolerance = SIGMA * math.sqrt(2 / (len(estimates) - 1))
    assert abs(estimates.var(ddof=1) / variance - 1) <= tolerance, message


# ---------------------------------------------------------------------------------------------- random sets

SIZES = [(10, 1500), (100, 1500), (10_000, 150), pytest.param(1_000_000, 4, marks=pytest.mark.slow)]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("size", "trials"), SIZES)
@pytest.mark.parametrize("part", [0.2, 0.5, 0.9])
def test_signatures(bits, size, trials, part):
    # Equal minima are binomial: mean J, variance J(1 − J) / num_perm (Broder 2000, §2).
    values, offsets, j = pairs_of_sets(trials, size, round(part * size), size + bits)
    estimates = signature_estimates(nd.MinHasher(84, bits).sketch_hashes(values, offsets))
    unbiased(estimates, j, j * (1 - j) / 84)
    if trials >= 50:
        of_variance(estimates, j * (1 - j) / 84)


@pytest.mark.parametrize("bits", [32, 40, 64])
@pytest.mark.parametrize(("size", "trials"), SIZES)
@pytest.mark.parametrize("part", [0.2, 0.9])
def test_bottom_sketches(bits, size, trials, part):
    # A sample of s of the union without repeats: mean J, variance J(1 − J) / s · (N − s) / (N − 1); sets that fit into
    # the sketch are known exactly.
    s = 64
    values, offsets, j = pairs_of_sets(trials, size, round(part * size), size + bits)
    estimates = bottom_estimates(nd.BottomSketcher(s, bits).sketch_hashes(values, offsets))
    union = round(2 * size / (1 + j))
    if union <= s:
        assert (estimates == j).all()
        return
    variance = j * (1 - j) / s * (union - s) / (union - 1)
    unbiased(estimates, j, variance)
    if trials >= 50:
        of_variance(estimates, variance)


@pytest.mark.parametrize("j", [0.0, 1.0])
def test_the_ends_are_exact(j):
    values, offsets, true = pairs_of_sets(50, 300, 300 if j else 0, 9)
    assert true == j
    for bits in (32, 64):
        estimates = signature_estimates(nd.MinHasher(84, bits).sketch_hashes(values, offsets))
        # disjoint sets may share a 32-bit minimum by accident: 50 · 84 · 300 / 2^32 < 3 · 10^-4
        assert (estimates == j).all()
    assert (bottom_estimates(nd.BottomSketcher(64).sketch_hashes(values, offsets)) == j).all()


def test_containment_of_bottom_sketches():
    # A of 1000 in B of 3000 with 800 in common: |T∩A∩B| / |T∩A| estimates 0.8 with about s/3.2 members of A.
    rng = np.random.default_rng(11)
    trials, estimates = 400, []
    hashes = rng.integers(0, 2**64, (trials, 3200), np.uint64)
    values = np.concatenate([hashes[:, :1000], hashes[:, 200:]], axis=1).ravel()
    offsets = np.concatenate([[0], np.cumsum([1000, 3000] * trials)])
    sketches = nd.BottomSketcher(200).sketch_hashes(values, offsets)
    estimates = np.array([sketches.containment(i, i + 1) for i in range(0, 2 * trials, 2)])
    unbiased(estimates, 0.8, 0.8 * 0.2 / (200 / 3.2) * 1.1)  # 1.1: the number of members of A varies
    backwards = np.array([sketches.containment(i + 1, i) for i in range(0, 2 * trials, 2)])
    unbiased(backwards, 800 / 3000, 800 / 3000 * 2200 / 3000 / (200 * 3000 / 3200) * 1.1)


def test_containment_of_signatures_with_exact_sizes():
    # min(1, r(|A| + |B|) / ((1 + r)|A|)) is consistent, not unbiased: a second-order term of the mean is allowed for.
    rng = np.random.default_rng(12)
    trials, k = 300, 1024
    hashes = rng.integers(0, 2**64, (trials, 1100), np.uint64)
    values = np.concatenate([hashes[:, :500], hashes[:, 200:]], axis=1).ravel()
    sketches = nd.MinHasher(k).sketch_hashes(values, np.concatenate([[0], np.cumsum([500, 900] * trials)]))
    sketches.sizes = np.array([500.0, 900.0] * trials)
    estimates = np.array([sketches.containment(i, i + 1) for i in range(0, 2 * trials, 2)])
    j = 300 / 1100
    slope = 1400 / 500 / (1 + j) ** 2
    variance = slope**2 * j * (1 - j) / k
    curve = 1400 / 500 / (1 + j) ** 3 * j * (1 - j) / k
    assert abs(estimates.mean() + curve - 300 / 500) <= SIGMA * math.sqrt(variance / trials)


@pytest.mark.parametrize("j", [1 / 9, 1 / 3, 2 / 3])
def test_intervals_cover(j):
    # Clopper and Pearson cover with 0.95 at least; mid-P with 0.95 on the average over j, here within 0.03.
    trials = 600
    shared = round(2 * 300 * j / (1 + j))
    values, offsets, true = pairs_of_sets(trials, 300, shared, 13)
    sketches = nd.MinHasher(84).sketch_hashes(values, offsets)
    for method, least, most in (("exact", 0.95, 1.0), ("midp", 0.92, 0.98)):
        known: dict[float, tuple[float, float]] = {}
        covered = 0
        for i in range(0, 2 * trials, 2):
            estimate = sketches.resemblance(i, i + 1)
            if estimate not in known:
                known[estimate] = sketches.interval(i, i + 1, method=method)
            low, high = known[estimate]
            covered += low <= true <= high
        error = SIGMA * math.sqrt(0.05 * 0.95 / trials)
        assert least - error <= covered / trials <= most + error, (method, covered)


# ---------------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("size", "trials"), [(1, 600), (2, 600), (10, 600), (100, 600), (10_000, 60)])
def test_sizes_from_signatures(bits, size, trials):
    # Relative error about 1 / sqrt(num_perm), without bias, as the docstring says, for any number of shingles.
    #
    # Trials share their permutations but not their sets.
    values = np.random.default_rng(size).integers(0, 2**64, trials * size, np.uint64)
    sketches = nd.MinHasher(256, bits).sketch_hashes(values, np.arange(0, trials * size + 1, size))
    assert not sketches.sizes_exact.any()
    error = SIGMA / math.sqrt(256 * trials) + 0.005  # 0.005: one set of permutations; minima cut at the size of a word
    if size == 1:
        error += 0.4 / math.sqrt(256)  # no estimate is below 1: E max(0, normal error) = 0.4 standard deviations
    assert abs(sketches.sizes.mean() / size - 1) <= error


@pytest.mark.parametrize("bits", [32, 40, 64])
@pytest.mark.parametrize(("size", "trials"), [(10, 20), (64, 20), (65, 600), (100, 600), (5000, 200)])
def test_sizes_from_bottom_sketches(bits, size, trials):
    # (s − 1) / the largest is unbiased, with relative variance at most 1 / (s − 2); sketches that are not full know the
    # number, for certain where no bits were cut off.
    values = np.random.default_rng(size).integers(0, 2**64, trials * size, np.uint64)
    sketches = nd.BottomSketcher(64, bits).sketch_hashes(values, np.arange(0, trials * size + 1, size))
    assert sketches.sizes_exact.tolist() == [size < 64 and bits == 64] * trials
    if size < 64:
        assert (sketches.sizes == size).all()
    elif size < 100:  # no estimate is below s, the number known for certain, which lifts the mean where n is near s
        assert (sketches.sizes >= 64).all() and sketches.sizes.mean() < 1.1 * size
    else:
        assert abs(sketches.sizes.mean() / size - 1) <= SIGMA / math.sqrt(62 * trials)


# ---------------------------------------------------------------------------------------------- structured texts


def letters_changed(word_count: int, every: int) -> tuple[str, str]:
    """Return a text, and the same with one letter changed in each `every`-th word."""
    words = [f"w{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{i % 7}" for i in range(word_count)]
    changed = [("v" + word[1:]) if i % every == every // 2 else word for i, word in enumerate(words)]
    return " ".join(words), " ".join(changed)


STRUCTURED = {
    "numbered lines": ("\n".join(f"line {i}" for i in range(600)), "\n".join(f"line {i}" for i in range(200, 800)),
                       nd.Shingling("line", 1)),
    "numbers": (" ".join(map(str, range(1500))), " ".join(map(str, range(300, 1800))), nd.Shingling(width=3)),
    "zero-padded numbers": (" ".join(f"{i:08d}" for i in range(900)), " ".join(f"{i:08d}" for i in range(100, 1000)),
                            nd.Shingling(width=1)),
    "one-letter changes": (*letters_changed(700, 20), nd.Shingling(width=4)),
    "bytes": ("0123456789" * 3 + "".join(f"{i}," for i in range(300)), "".join(f"{i}," for i in range(120, 420)),
              nd.Shingling("byte", 4)),
    "few symbols": ("ab" * 40 + "aab" * 60 + "abbb" * 30, "ab" * 40 + "aab" * 60 + "ba" * 9 + "aaaa" * 9,
                    nd.Shingling("char", 9)),
    "labelled repeats": ("tick tock " * 200, "tick tock " * 300, nd.Shingling(width=2, labelled=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("bits", [32, 64])
def test_signatures_of_structured_texts(name, bits):
    # The sets stay and the permutations vary, over 300 seeds: mean J, variance J(1 − J) / num_perm.
    first, second, sh = STRUCTURED[name]
    sets = [set(sh.fingerprints(text).tolist()) for text in (first, second)]
    j = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
    assert 0.05 < j < 0.95
    values, offsets = sh.fingerprints_many([first, second])
    estimates = np.array(
        [signature_estimates(nd.MinHasher(84, bits, seed).sketch_hashes(values, offsets))[0] for seed in range(300)]
    )
    unbiased(estimates, j, j * (1 - j) / 84, name)
    of_variance(estimates, j * (1 - j) / 84, name)


@pytest.mark.parametrize("name", STRUCTURED)
def test_bottom_sketches_of_structured_texts(name):
    first, second, sh = STRUCTURED[name]
    sets = [set(sh.fingerprints(text).tolist()) for text in (first, second)]
    union = len(sets[0] | sets[1])
    j, s = len(sets[0] & sets[1]) / union, 16
    values, offsets = sh.fingerprints_many([first, second])
    estimates = np.array(
        [nd.BottomSketcher(s, 64, seed).sketch_hashes(values, offsets).resemblance(0, 1) for seed in range(300)]
    )
    variance = j * (1 - j) / s * (union - s) / (union - 1)
    unbiased(estimates, j, variance, name)
    of_variance(estimates, variance, name)


# ---------------------------------------------------------------------------------------------- bits and parameters


@pytest.mark.parametrize("name", ["numbered lines", "zero-padded numbers", "one-letter changes", "bytes"])
def test_bits_of_permuted_fingerprints_are_balanced(name):
    # Every bit of π is 1 for half of the shingles, and no two bits go together: |z| < 5 and < 6 (2016 pairs).
    first, second, sh = STRUCTURED[name]
    sketches = nd.BottomSketcher(65536, 64, shingling=sh).sketch(first + "\n" + second)
    values = sketches.values
    n = len(values)
    assert 400 < n < 65536
    signs = 2.0 * ((values[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).astype(np.float64) - 1
    assert np.abs(signs.sum(axis=0)).max() < 5 * math.sqrt(n)
    together = signs.T @ signs
    np.fill_diagonal(together, 0)
    assert np.abs(together).max() < 6 * math.sqrt(n)


@pytest.mark.parametrize("bits", [32, 64])
def test_low_bits_of_minima_and_bits_of_features_are_balanced(bits):
    # The minima of small sets are large numbers; their low half, and the features of them, look random.
    documents = [f"document {i} of many" for i in range(1500)]
    sketches = nd.MinHasher(12, bits).sketch_many(documents)
    for values, width in ((sketches.values.ravel(), bits // 2), (nd.features(sketches, 4, 3).ravel(), 64)):
        ones = ((values[:, None].astype(np.uint64) >> np.arange(width, dtype=np.uint64)) & np.uint64(1)).sum(axis=0)
        assert np.abs(ones - len(values) / 2).max() < 5 * math.sqrt(len(values) / 4)


def test_permutations_are_independent_of_each_other_and_of_the_seed():
    # Where minimum i of A and B agrees tells nothing about minimum j: 84 · 83 / 2 correlations, |z| < 6; nor do two seeds
    # agree, by anything that the same sets have in common.
    values, offsets, j = pairs_of_sets(2500, 40, 24, 5)
    agree = []
    for seed in (1, 2):
        sketches = nd.MinHasher(84, 32, seed).sketch_hashes(values, offsets)
        agree.append((sketches.values[0::2] == sketches.values[1::2]) - j)
    both = np.concatenate(agree, axis=1) / math.sqrt(j * (1 - j))
    correlation = both.T @ both / math.sqrt(2500)
    np.fill_diagonal(correlation, 0)
    assert np.abs(correlation).max() < 6


def test_every_parameter_changes_the_numbers():
    # None is ignored: seed, bits, num_perm, and which of the 84 are a prefix.
    values, offsets, _ = pairs_of_sets(1, 500, 250, 6)

    def made(*parameters):
        return nd.MinHasher(*parameters).sketch_hashes(values, offsets).values

    np.testing.assert_array_equal(made(84), made(128)[:, :84])
    np.testing.assert_array_equal(made(84, 64), made(200, 64)[:, :84])
    assert (made(84, 32, 1) == made(84, 32, 2)).mean() < 0.02
    assert (made(84, 64, 1) == made(84, 64, 2)).mean() == 0
    assert not np.array_equal(made(84, 64) >> np.uint64(32), made(84, 32))
    assert len(set(made(84)[0].tolist())) > 80
    one, two = (nd.BottomSketcher(64, 64, seed).sketch_hashes(values, offsets).values for seed in (1, 2))
    assert len(set(one.tolist()) & set(two.tolist())) == 0
    short = nd.BottomSketcher(64, 32).sketch_hashes(values, offsets)
    np.testing.assert_array_equal(short.values, one >> np.uint64(32))


# ---------------------------------------------------------------------------------------------- the filter


@pytest.mark.parametrize(
    ("size", "shared", "shape"),
    [(110, 100, (6, 14, 2)), (105, 100, (6, 14, 2)), (100, 88, (19, 4, 2)), (100, 82, (19, 4, 2)), (100, 45, (52, 3, 1)),
     (100, 50, (20, 4, 1)), (100, 60, (42, 2, 6))],
)  # fmt: skip
def test_pass_rates_of_the_filter(size, shared, shape):
    # The share of pairs with `need` equal features is P_{k,s,r}(J), within 5 standard errors of 3000 pairs.
    groups, group_size, need = shape
    trials = 3000
    values, offsets, j = pairs_of_sets(trials, size, shared, size + shared)
    sketches = nd.MinHasher(groups * group_size).sketch_hashes(values, offsets)
    found = nd.features(sketches, groups, group_size)
    passed = ((found[0::2] == found[1::2]).sum(axis=1) >= need).mean()
    expected = reference_sketches.pass_probability(j, *shape)
    assert 0.02 < expected < 0.999
    assert abs(passed - expected) <= SIGMA * math.sqrt(expected * (1 - expected) / trials)
    assert nd.pass_probability(j, *shape) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.9])
def test_automatic_filters_miss_what_they_say(threshold):
    # At the threshold: at most `miss` (10^-3), by 4000 pairs of just that resemblance: at most 4 + 5 · sqrt(4) = 14.
    union = 180
    shared = round(threshold * union)
    size = (union + shared) // 2
    design = nd.design_filter(threshold)
    values, offsets, j = pairs_of_sets(4000, size, shared, round(100 * threshold))
    assert j == pytest.approx(threshold)
    sketches = nd.MinHasher(design.num_perm).sketch_hashes(values, offsets)
    found = nd.features(sketches, design.groups, design.group_size)
    missed = int(((found[0::2] == found[1::2]).sum(axis=1) < design.need).sum())
    assert design.miss <= 1e-3
    assert missed <= 14
