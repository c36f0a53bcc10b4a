"""Statistics of simhashes, and the published values of other implementations."""

from __future__ import annotations

import hashlib
import itertools
import math

import numpy as np
import pytest
from sketch_samples import simhashed, unpermuted

import ndcore as nd


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("kind", ["equal", "weighted"])
def test_a_bit_differs_with_the_probability_of_the_angle(kind, part):
    """Expect θ/π for random sets (Charikar 2002): the mean over 300 pairs of 64 bits within 5 standard errors.

    Add 1/200, because sums of 800 terms are only nearly normal.
    """
    rng = np.random.default_rng(round(100 * part))
    size, pairs, shared = 801, 300, round(801 * part)
    bags, given, angles = [], [], []
    for _ in range(pairs):
        both = rng.integers(0, 2**64, 2 * size - shared, np.uint64)
        bags += [both[:size], both[size - shared :]]
        w = rng.gamma(1.5, 1.0, len(both)) if kind == "weighted" else np.ones(len(both))
        given += [w[:size], w[size - shared :]]
        common = (w[size - shared : size] ** 2).sum()
        angles.append(math.acos(common / math.sqrt((w[:size] ** 2).sum() * (w[size - shared :] ** 2).sum())))
    found = simhashed(nd.SimHasher(), bags, None if kind == "equal" else np.concatenate(given))
    measured = np.mean([found.distance(i, i + 1) for i in range(0, 2 * pairs, 2)]) / 64
    expected = np.mean(angles) / math.pi
    assert abs(measured - expected) <= 5 * math.sqrt(expected * (1 - expected) / (64 * pairs)) + 1 / 200


def test_bits_are_balanced_and_independent():
    """Expect each of 256 bits in half of the simhashes of unrelated sets, and no two alike, within 5 standard errors."""
    rng = np.random.default_rng(5)
    n = 4000
    hasher = nd.SimHasher(256)
    found = hasher.sketch_hashes(rng.integers(0, 2**64, 33 * n, np.uint64), np.arange(0, 33 * n + 1, 33)).values
    bits = (found[:, :, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)).astype(float).reshape(n, 256)
    assert np.abs(bits.mean(axis=0) - 0.5).max() <= 5 * 0.5 / math.sqrt(n)
    correlations = np.corrcoef(bits.T) - np.eye(256)
    assert np.abs(correlations).max() <= 5.5 / math.sqrt(n)


@pytest.mark.parametrize("bits", [64, 128, 256])
def test_cosines_are_estimated_with_the_error_that_is_stated(bits):
    """Take 200 pairs of sets of 500, of which 450 are common: their cosine is 0.9."""
    rng, pairs = np.random.default_rng(bits), 200
    bags = []
    for _ in range(pairs):
        both = rng.integers(0, 2**64, 550, np.uint64)
        bags += [both[:500], both[50:]]
    found = simhashed(nd.SimHasher(bits), bags)
    estimates = [found.cosine(i, i + 1) for i in range(0, 2 * pairs, 2)]
    angle = math.acos(0.9)
    error = math.pi * math.sin(angle) * math.sqrt(angle / math.pi * (1 - angle / math.pi) / bits)
    assert abs(np.mean(estimates) - 0.9) <= 5 * error / math.sqrt(pairs) + 1 / 200
    assert 0.75 * error <= np.std(estimates) <= 1.25 * error
    assert found.cosine(3, 3) == 1.0 and math.isnan(nd.SimHasher(bits).sketch_many(["a", ""]).cosine(0, 1))


def test_structured_input_is_mixed():
    """Take small numbers as features: without π all high bits would be 0."""
    bags = [range(i, i + 100) for i in range(0, 40_000, 100)]
    found = simhashed(nd.SimHasher(), bags).values
    distances = [(a ^ b).bit_count() for a, b in itertools.pairwise(found.tolist())]
    assert abs(np.mean(distances) - 32) <= 5 * 4 / math.sqrt(len(distances))


# ---------------------------------------------------------------------------------------------- what others chose


def test_published_seomoz(published):
    """Compare with seomoz/simhash-cpp: unit weights, plain 64-bit hashes, ties 0.

    SimHasher permutes hashes by π first, so it gets the hashes that π sends to theirs.
    """
    for case in published("simhash_seomoz.json")["compute"]:
        [found] = simhashed(nd.SimHasher(), [[unpermuted(h) for h in case["hashes"]]]).values.tolist()
        assert found == case["simhash"]
        if len(set(case["hashes"])) > 1:
            assert simhashed(nd.SimHasher(), [case["hashes"]]).values.tolist() != [case["simhash"]]


def test_published_1e0ng(published):
    """Compare with 1e0ng/simhash: the last 8 bytes of a feature's MD5, weight 1, ties 0."""
    for case in published("simhash_1e0ng.json")["values"]:
        features = case["features"] if isinstance(case["features"], list) else [str(i) for i in range(500)]
        hashes = [int.from_bytes(hashlib.md5(feature.encode()).digest()[-8:], "big") for feature in features]
        [found] = simhashed(nd.SimHasher(), [[unpermuted(h) for h in hashes]]).values.tolist()
        assert found == case["simhash"]
