"""b-bit signatures: the reference, the estimator, files, and refusals."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from generated import hash_sets
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import sketches
from ndcore.storage import container

KEPT = (1, 2, 4, 8)


def signatures(bags, num_perm: int, seed: int = 1, bits: int = 32) -> nd.Sketches:
    values = np.array([f for bag in bags for f in bag], np.uint64)
    return nd.MinHasher(num_perm, bits, seed).sketch_hashes(values, np.cumsum([0, *map(len, bags)]))


def test_bits_by_hand():
    """fmix64(γ) ends up in the fields: of one minimum 0, place 0, the highest bits of fmix64(0 + γ) = 0xE220A839…"""
    assert sketches.fmix64(sketches.GOLDEN_GAMMA) >> 56 == sketches.b_bits([0], 8)[0]
    assert [sketches.b_bits([0], kept)[0] for kept in (1, 2, 4)] == [
        sketches.fmix64(sketches.GOLDEN_GAMMA) >> (64 - kept) for kept in (1, 2, 4)]


@given(st.lists(hash_sets.filter(len), min_size=2, max_size=4), st.sampled_from([1, 7, 8, 65]), st.sampled_from(KEPT),
       st.sampled_from([32, 64]))
def test_as_the_reference(bags, num_perm, kept, bits):
    signed = signatures(bags, num_perm, 7, bits)
    small = nd.b_bit(signed, kept)
    packed = [sketches.b_bits(row, kept) for row in signed.values.tolist()]
    assert [bytes(row) for row in small.values] == packed
    compared = small.compare()
    for i, a in enumerate(packed):
        for j, b in enumerate(packed):
            expected = float(sketches.b_bit_resemblance(a, b, num_perm, kept))
            assert compared.resemblance[i, j] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("size", [1, 2000])
def test_the_estimate_is_unbiased(kept, share, size):
    """Within 5 standard deviations of the paper's variance, P(1 − P) / (k (1 − C)²) with P = C + (1 − C)·R, above 0."""
    k, rng = 20_000, random.Random(kept)
    common = round(share * size * 2 / (1 + share))
    words = [rng.getrandbits(64) for _ in range(2 * size - common)]
    exact = common / len(words)
    small = nd.b_bit(signatures([words[:size], words[size - common :]], k), kept)
    chance = 2.0**-kept
    agree = chance + (1 - chance) * exact
    error = math.sqrt(agree * (1 - agree) / k) / (1 - chance)
    assert abs(small.resemblance(0, 1) - exact) <= 5 * error + 1e-9
    low, high = small.interval(0, 1, confidence=0.99999)
    assert low <= exact <= high


@pytest.mark.parametrize("kept", KEPT)
def test_files_parts_and_sums(kept, tmp_path):
    texts = ["a b c d e f", "a b c d e g", "", "h i j k l m"]
    made = nd.b_bit(nd.MinHasher(33).sketch_many(texts), kept)
    made.ids = list("wxyz")
    made.save(tmp_path / "b.nds")
    again = nd.load(tmp_path / "b.nds")
    assert type(again) is nd.BBitSketches and again.ids == made.ids and again.recipe == made.recipe
    np.testing.assert_array_equal(again.values, made.values)
    np.testing.assert_array_equal(made[:1].concat(made[1:]).compare().resemblance, again.compare(threads=2).resemblance)
    assert np.isnan(made.resemblance(0, 2)) and made.containment(0, 0) == 1.0


def test_weighted_signatures_are_reduced_too():
    signed = nd.WeightedMinHasher(4000, shingling=nd.Shingling(width=1)).sketch_many(["a a b c", "a b b d"])
    assert nd.b_bit(signed, 2).resemblance(0, 1) == pytest.approx(2 / 6, abs=0.06)


@pytest.mark.parametrize("changes", [
    {"kept": 3}, {"kept": 4}, {"kept": True}, {"num_perm": 99}, {"values": np.uint16},
], ids=str)
def test_files_that_do_not_fit_together(changes, tmp_path):
    made = nd.b_bit(nd.MinHasher(16).sketch_many(["a", "b"]), 2)
    made.save(tmp_path / "b.nds")
    header, arrays = container.read(tmp_path / "b.nds")
    for name, value in changes.items():
        if name == "values":
            arrays[name] = arrays[name].astype(value)
        else:
            recipe = nd.Recipe({**made.recipe.parameters, name: value})
            header |= {"recipe": recipe.to_json(), "recipe_id": recipe.id}
    container.write(tmp_path / "b.nds", "sketches", header, arrays)
    with pytest.raises(nd.CorruptFile, match="do not fit together"):
        nd.load(tmp_path / "b.nds")


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda sk: nd.b_bit(sk, 3), ValueError, "kept is 3; 1, 2, 4 or 8 bits of a minimum are kept"),
    (lambda sk: nd.b_bit(sk, 16), ValueError, "kept is 16"),
    (lambda sk: nd.b_bit(sk, 1.0), TypeError, "kept"),
    (lambda sk: nd.b_bit("text"), TypeError, "sketches are needed"),
    (lambda sk: nd.b_bit(nd.BottomSketcher().sketch("a")), ValueError, "these sketches are 'bottom'; use a MinHasher"),
    (lambda sk: nd.b_bit(nd.b_bit(sk)), ValueError, "these sketches are 'b-bit'"),
    (lambda sk: nd.b_bit(sk).union(0, 1), ValueError, "the union of b-bit signatures is not known"),
    (lambda sk: nd.features(nd.b_bit(sk)), ValueError, "these sketches are 'b-bit'"),
    (lambda sk: nd.b_bit(sk).compare(other=sk), nd.RecipeMismatch, "kind"),
])  # fmt: skip
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make(nd.MinHasher(84).sketch_many(["a b c", "d e f"]))
