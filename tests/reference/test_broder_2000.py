"""Every number of Broder, "Identifying and filtering near-duplicate documents" (2000), in the order of the paper."""

import math

import numpy as np
import pytest

import ndcore as nd
from ndcore.filters.pass_probability import miss_probability, pass_probability, resemblance_at
from ndcore.stats.collisions import expected_spurious, fingerprint_bits

DOCUMENTS = 200_000_000


def test_less_than_50_bytes_per_document():
    """Abstract and §1: 6 features of 8 bytes, 48 bytes a document, for 200,000,000 documents."""
    assert (nd.ALTAVISTA.groups, nd.ALTAVISTA.group_size, nd.ALTAVISTA.need) == (6, 14, 2)
    assert nd.ALTAVISTA.documents == DOCUMENTS
    assert (nd.ALTAVISTA.feature_bits, nd.ALTAVISTA.bytes_per_document) == (64, 48)
    assert nd.features(nd.MinHasher().sketch("a rose is a rose is a rose")).nbytes == 48


def test_sketches_of_three_to_eight_hundred_bytes():
    """§1; §2 has t = 100 permutations for an example, and 84 make the features."""
    text = "a rose is a rose is a rose"
    assert nd.MinHasher(84, 32).sketch(text).values.nbytes == 336
    assert nd.MinHasher(100, 64).sketch(text).values.nbytes == 800


def test_misses_above_97_5_and_99_percent():
    """§1. At 0.975 exactly 0.01067 are missed: "less than 0.01" is rounded."""
    assert miss_probability(0.975) == pytest.approx(0.01067, abs=5e-6)
    assert pass_probability(0.975) == pytest.approx(0.98933, abs=5e-6)
    assert miss_probability(0.9755) < 0.01
    assert 0.0002 < miss_probability(0.99) < 0.00022


def test_acceptance_below_77_and_50_percent():
    """§1."""
    assert 0.009 < pass_probability(0.77) < 0.01
    assert 0.5e-7 < pass_probability(0.5) < 0.6e-7


def test_the_rose():
    """§2."""
    found = nd.Shingling(width=4).shingles("a rose is a rose is a rose")
    assert set(found) == {("a", "rose", "is", "a"), ("rose", "is", "a", "rose"), ("is", "a", "rose", "is")}


def test_length_of_fingerprints():
    """§2: 2 log2 m + 20 bits, yet 64 suffice for 200,000,000 documents; §3: again sufficient for the features."""
    assert fingerprint_bits(DOCUMENTS) == math.ceil(2 * math.log2(DOCUMENTS) + 20) == 76
    assert fingerprint_bits(2**10) == 40
    for m in (2, 1000, 10**6):  # fewer than 2^-21 of the pairs of the collection
        assert expected_spurious(m, fingerprint_bits(m)) < 2.0**-21
    assert expected_spurious(DOCUMENTS, 64) < 2e-3
    assert expected_spurious(DOCUMENTS, 64, 6, 1) < 0.01
    assert nd.ALTAVISTA.spurious == expected_spurious(DOCUMENTS, 64, 6, 2) < 1e-20


def test_two_features_are_equal_with_rho_to_the_s_plus_p_f():
    """§3: to be exact with rho^s + (1 - rho^s) p_f, here of features cut to 5 bits, and of 20 bits p_f < 10^-6."""
    assert 2.0**-20 < 1e-6
    trials, size, shared = 3000, 100, 90
    hashes = np.random.default_rng(1).integers(0, 2**64, (trials, 2 * size - shared), np.uint64)
    values = np.concatenate([hashes[:, :size], hashes[:, size - shared :]], axis=1).ravel()
    sketches = nd.MinHasher(84).sketch_hashes(values, np.arange(0, 2 * trials * size + 1, size))
    cut = nd.features(sketches, 14, 6) & np.uint64(31)
    rate = (cut[0::2] == cut[1::2]).mean()
    p = (shared / (2 * size - shared)) ** 6
    expected = p + (1 - p) / 32
    assert abs(rate - expected) < 5 * math.sqrt(expected * (1 - expected) / (14 * trials)) < (1 - p) / 32


def test_super_features_are_k_over_r():
    """§3."""
    assert nd.super_features(nd.MinHasher().sketch("a b c d e f"), 6, 14, 2).shape == (1, math.comb(6, 2)) == (1, 15)


def test_need_is_about_k_rho_to_the_s():
    """§4, for both of its choices of rho."""
    assert round(6 * nd.ALTAVISTA.half**14) == round(6 * nd.ALTAVISTA.steepest**14) == 2


def test_the_half_point():
    """§4: P_{6,14,2}(x) = 1/2 for x = 0.909..."""
    assert math.floor(nd.ALTAVISTA.half * 1000) == 909
    assert pass_probability(nd.ALTAVISTA.half) == pytest.approx(0.5, abs=1e-12)


def test_the_total_error_is_least_where_half_of_the_pairs_pass():
    """§4: of all thresholds, for resemblances that are uniform between 0 and 1."""
    half = resemblance_at(0.5)

    def total(threshold):
        design = nd.FilterDesign.of(6, 14, 2, threshold=threshold)
        return design.errors(lambda rho: 1.0).total

    for threshold in (0.5, 0.8, 0.9, half - 0.003, half + 0.003, 0.92, 0.95):
        assert total(threshold) > total(half)


def test_the_steepest_power():
    """§4: for s = 14 the value is 0.931...; s = 1 / ln(1 / rho)."""
    assert math.floor(nd.ALTAVISTA.steepest * 1000) == 931
    assert 1 / math.log(1 / nd.ALTAVISTA.steepest) == pytest.approx(14)


def test_figure_2_is_straight_at_its_foot():
    """On the logarithmic scale P falls as 15 rho^28: ten decades for a resemblance 2.28 times as small."""
    rho = np.array([0.05, 0.1, 0.2])
    np.testing.assert_allclose(np.log(pass_probability(rho)), math.log(15) + 28 * np.log(rho), atol=1e-8)
    assert pass_probability(0.3366) == pytest.approx(1e-12, rel=0.15)


def test_a_search_finds_altavistas_filter():
    """§1 as a request: 48 bytes, the misses and acceptances of the paper."""
    found = nd.design_filter(0.975, miss=0.011, bytes_per_document=48, false_candidates=(0.77, 0.01), documents=DOCUMENTS)
    assert (found.groups, found.group_size, found.need, found.num_perm) == (6, 14, 2, 84)
