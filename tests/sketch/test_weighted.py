"""Weighted signatures: logarithms, vectors, the reference, the weighted Jaccard similarity, files, and refusals."""

from __future__ import annotations

import math
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
from generated import corpus, hash_sets, texts
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import shingling, sketches
from ndcore.sketch.loading import sketcher_of

TEXTS = ["the cat saw the dog", "the cat saw the bird", "the end of the day", "", "the"]
WORDS = nd.Shingling(width=1)
weights_of = st.dictionaries(st.integers(0, 5) | st.integers(0, 2**64 - 1), st.floats(0, 32767), max_size=9)


def hashed(sketcher, bags, weights=None) -> nd.Sketches:
    values = np.array([f for bag in bags for f in bag], np.uint64)
    return sketcher.sketch_hashes(values, np.cumsum([0, *map(len, bags)]), *([] if weights is None else [weights]))


# ---------------------------------------------------------------------------------------------- logarithms and vectors


@given(st.floats(2.0**-70, 2.0**70))
def test_logarithms_are_as_close_as_they_say(x):
    assert abs(sketches.natural_log(x) - math.log(x)) <= 4e-16 * max(1.0, abs(math.log(x)))


def test_vectors(vectors, same_as):
    data = vectors("weighted")
    for x, log in data["logarithms"]:
        assert sketches.natural_log(float.fromhex(x)).hex() == log
    for case in data["signatures"]:
        bag = [int(f, 16) for f in data["bags"][case["bag"]]]
        given = None if case["counted"] else [i % 7 / 4 for i in range(len(bag))]
        signed = hashed(nd.WeightedMinHasher(case["num_perm"], seed=int(case["seed"], 16)), [bag], given)
        same_as(signed.values[0].tolist(), case["values"])


# ---------------------------------------------------------------------------------------------- the reference


def test_a_repeated_value_without_weight_is_not_there():
    signed = hashed(nd.WeightedMinHasher(9), [[7, 7, 8], [7, 7], [8]], [0, 0, 1, 0, 0, 1])
    assert signed.values[0].tolist() == signed.values[2].tolist() == sketches.weighted_signature([8], 9, [1])
    assert signed.valid.tolist() == [True, False, True]


@given(st.lists(hash_sets, min_size=1, max_size=4), st.sampled_from([1, 5, 64, 65]), weights_of, st.integers(0, 2**64 - 1))
def test_weights_of_a_mapping_as_the_reference(bags, num_perm, weights, seed):
    signed = hashed(nd.WeightedMinHasher(num_perm, weights, seed), bags)
    assert signed.values.tolist() == [sketches.weighted_signature(bag, num_perm, weights, seed) for bag in bags]
    totals = [sum(sketches.weight_units(weights.get(f, 0)) for f in bag) for bag in bags]
    assert signed.sizes.tolist() == [total / sketches.WEIGHT_UNIT for total in totals]
    assert signed.valid.tolist() == [total > 0 for total in totals] and signed.sizes_exact.all()


@given(st.lists(hash_sets, min_size=1, max_size=4), st.data())
def test_weights_beside_hashes_as_the_reference(bags, data):
    given = [data.draw(st.lists(st.floats(0, 99), min_size=len(bag), max_size=len(bag))) for bag in bags]
    signed = hashed(nd.WeightedMinHasher(9), bags, [weight for weights in given for weight in weights])
    assert signed.values.tolist() == [
        sketches.weighted_signature(bag, 9, weights) for bag, weights in zip(bags, given, strict=True)]


@given(st.lists(texts, min_size=1, max_size=5), st.sampled_from([1, 2]))
def test_texts_as_the_reference(documents, width):
    signed = nd.WeightedMinHasher(7, shingling=nd.Shingling(width=width)).sketch_many(documents, threads=1)
    expected = [sketches.weighted_signature(shingling.fingerprints(document, width=width), 7) for document in documents]
    assert signed.values.tolist() == expected


def test_texts_with_idf_as_the_reference():
    bags = [shingling.fingerprints(text, width=1) for text in TEXTS]
    weights = {f: Fraction(sketches.idf(len(TEXTS), df), sketches.WEIGHT_UNIT)
               for f, df in sketches.document_frequencies(bags).items()}
    signed = nd.WeightedMinHasher(20, nd.Idf.learn(TEXTS, WORDS)).sketch_many(TEXTS)
    assert signed.values.tolist() == [sketches.weighted_signature(bag, 20, weights) for bag in bags]


def test_many_texts_in_threads_as_one_by_one():
    documents = corpus(random.Random(7), 2000)
    sketcher = nd.WeightedMinHasher(70, nd.Idf.learn(documents))
    together = sketcher.sketch_many(documents, threads=2)
    assert together.values.tolist()[:100] == [sketcher.sketch(document).values[0].tolist() for document in documents[:100]]
    np.testing.assert_array_equal(together[:900].concat(together[900:]).values, together.values)


# ---------------------------------------------------------------------------------------------- what is estimated


@pytest.mark.parametrize("seed", range(6))
def test_samples_agree_with_the_probability_of_the_weighted_jaccard(seed):
    """Of 20,000 samples the share that agrees is within 5 standard deviations of the exact value."""
    rng = random.Random(seed)
    features = [rng.getrandbits(64) for _ in range(30)]
    weights = {f: rng.choice([0.01, 0.5, 1, 3, 40, 1000]) for f in features}
    a, b = ([f for f in features for _ in range(rng.choice([0, 1, 1, 2, 5]))] for _ in range(2))
    exact = float(sketches.weighted_jaccard(a, b, weights))
    signed = hashed(nd.WeightedMinHasher(20_000, weights, seed), [a, b])
    assert abs(signed.resemblance(0, 1) - exact) <= 5 * math.sqrt(exact * (1 - exact) / 20_000)
    total = sum(sketches.weight_units(weights[f]) for f in a)
    common = exact / (1 + exact) * float(signed.sizes.sum())
    assert signed.containment(0, 1) == pytest.approx(common / (total / sketches.WEIGHT_UNIT), abs=0.03)
    low, high = signed.interval(0, 1, confidence=0.9999)
    assert low <= exact <= high


def test_lsh_of_weighted_signatures():
    signed = nd.WeightedMinHasher(84, nd.Idf.learn(TEXTS, WORDS)).sketch_many([TEXTS[0], TEXTS[0].upper(), TEXTS[2]])
    made = nd.features(signed)
    assert (made[0] == made[1]).all() and not (made[0] == made[2]).any()


# ---------------------------------------------------------------------------------------------- recipes, files, refusals


def test_files_and_recipes(tmp_path):
    idf = nd.Idf.learn(TEXTS, WORDS)
    sketcher = nd.WeightedMinHasher(9, idf, 5)
    made = sketcher.sketch_many(TEXTS)
    made.save(tmp_path / "w.nds")
    again = nd.load(tmp_path / "w.nds")
    for name in ("values", "sizes", "sizes_exact", "valid"):
        np.testing.assert_array_equal(getattr(again, name), getattr(made, name))
    assert nd.WeightedMinHasher.from_recipe(again.recipe, idf).recipe == sketcher.recipe
    assert pickle.loads(pickle.dumps(sketcher)).recipe == sketcher.recipe
    assert sketcher_of(nd.WeightedMinHasher(3).recipe).recipe == nd.WeightedMinHasher(3).recipe
    with pytest.raises(nd.RecipeMismatch, match="weights are needed, of which the recipe knows only"):
        nd.WeightedMinHasher.from_recipe(again.recipe)
    with pytest.raises(nd.RecipeMismatch):
        nd.WeightedMinHasher.from_recipe(again.recipe, nd.Idf.learn(TEXTS[:2], WORDS))
    with pytest.raises(nd.RecipeMismatch):
        again.compare(0, 0, nd.WeightedMinHasher(9, idf, 6).sketch_many(TEXTS))


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: nd.WeightedMinHasher(0), ValueError, "num_perm"),
    (lambda: nd.WeightedMinHasher(weights={3: -0.5}), ValueError, r"weight of 3 is -0\.5; weights of sets are 0 or more"),
    (lambda: nd.WeightedMinHasher(weights="distinct"), TypeError, "weights must be None, an Idf or a mapping"),
    (lambda: nd.WeightedMinHasher(weights=len), TypeError, "weights must be None, an Idf or a mapping"),
    (lambda: nd.WeightedMinHasher(weights={3: float("nan")}), ValueError, "weight of 3 is nan"),
    (lambda: nd.WeightedMinHasher(weights=nd.Idf.learn(TEXTS), shingling=WORDS), nd.RecipeMismatch, "shinglings"),
    (lambda: hashed(nd.WeightedMinHasher(), [[1, 2]], [1]), ValueError, "there are 1 weights for 2 values"),
    (lambda: hashed(nd.WeightedMinHasher(), [[1, 2]], [1, -2]), ValueError, r"weight 1 is -2\.0; weights of sets are 0 or"),
    (lambda: hashed(nd.WeightedMinHasher(weights={}), [[1]], [1]), ValueError, "the sketcher has weights of its own"),
    (lambda: nd.WeightedMinHasher().sketch_many(TEXTS).union(0, 1), ValueError, "the union of weighted signatures is not"),
    (lambda: nd.WeightedMinHasher.from_recipe(nd.MinHasher().recipe), ValueError, "the sketches are 'minhash'"),
])  # fmt: skip
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()
