"""Lists of terms: vectors, the reference, which documents match, files, and refusals."""

from __future__ import annotations

import itertools
import pickle
import random
from decimal import Decimal

import numpy as np
import pytest
from generated import corpus, hash_sets, texts
from hypothesis import given
from hypothesis import strategies as st
from sketch_samples import unpermuted

import ndcore as nd
from ndcore.reference import shingling, sketches
from ndcore.sketch.loading import sketcher_of
from ndcore.storage import container

WORDS = nd.Shingling(width=1)
TEXTS = ["one bee saw a red flower", "one bee saw a blue flower", "the cat sat", "a dog ran home", ""]


def hashed(sketcher, bags) -> nd.TermSignatures:
    return sketcher.sketch_hashes(np.array([f for bag in bags for f in bag], np.uint64), np.cumsum([0, *map(len, bags)]))


# ---------------------------------------------------------------------------------------------- literals and vectors


def test_signatures_by_hand():
    """Buckets of z mod 3: 3 and 9 are in the first, 7 in the second, 2^64 - 1 (a multiple of 3) again in the first."""
    document = [unpermuted(z) for z in (3, 9, 7, 3)]
    assert hashed(nd.BucketSketcher(3, least=1), [document]).values.tolist() == [[12, 7, 0]]
    assert hashed(nd.BucketSketcher(3, least=2), [document]).values.tolist() == [[12, 0, 0]]
    wrapped = [unpermuted(z) for z in (2**64 - 1, 1)]
    assert hashed(nd.BucketSketcher(1, least=1), [wrapped]).values.tolist() == [[2**64 - 1]]
    assert hashed(nd.BucketSketcher(1, least=1), [[unpermuted(0)]]).values.tolist() == [[2**64 - 1]]


def test_vectors_of_buckets(vectors, same_as):
    data = vectors("term_lists")
    for case in data["buckets"]:
        bag = [int(f, 16) for f in data["bags"][case["bag"]]]
        signed = hashed(nd.BucketSketcher(case["buckets"], case["least"], int(case["seed"], 16)), [bag])
        same_as(signed.values[0].tolist(), case["values"])


def test_vectors_of_normalised_frequencies(vectors):
    for documents, df, expected in vectors("term_lists")["idf"]:
        assert f"{sketches.normalised_idf(documents, df):.20f}" == expected
    assert abs(sketches.normalised_idf(8, 2) - Decimal(2) / 3) < 1e-25


# ---------------------------------------------------------------------------------------------- the reference


@given(st.lists(hash_sets, min_size=1, max_size=5), st.integers(1, 64), st.integers(1, 5), st.integers(0, 2**64 - 1))
def test_buckets_as_the_reference(bags, buckets, least, seed):
    signed = hashed(nd.BucketSketcher(buckets, least, seed), bags)
    assert signed.values.tolist() == [sketches.bucket_signatures(bag, buckets, least, seed) for bag in bags]
    assert signed.sizes.tolist() == [len(set(bag)) for bag in bags]
    assert signed.valid.tolist() == [any(row) for row in signed.values.tolist()]


@given(st.lists(texts, min_size=1, max_size=6), st.integers(0, 8), st.sampled_from([0, 0.25, 0.3, 0.999]), st.integers(1, 3))
def test_imatch_as_the_reference(documents, lexicons, removed, least):
    bags = [shingling.fingerprints(document, width=1) for document in documents]
    idf = nd.Idf.learn(documents, WORDS)
    counted = {f: sum(f in bag for bag in bags) for bag in bags for f in bag}
    low, high = Decimal("0.25"), Decimal("0.875")
    lexicon = {f for f, df in counted.items()
               if len(bags) > 1 and low <= sketches.normalised_idf(len(bags), df) <= high}
    if not lexicon:
        with pytest.raises(ValueError, match="no term of the"):
            nd.IMatcher(idf, 0.25, 0.875)
        return
    signed = nd.IMatcher(idf, 0.25, 0.875, lexicons, removed, least, seed=5).sketch_many(documents, threads=1)
    assert signed.values.tolist() == [
        sketches.imatch_signatures(bag, lexicon, lexicons, removed, least, seed=5) for bag in bags]


def test_many_texts_in_threads_as_one_by_one():
    documents = corpus(random.Random(5), 3000)
    for sketcher in (nd.BucketSketcher(least=1), nd.IMatcher(nd.Idf.learn(documents, WORDS), 0.05, 0.95)):
        together = sketcher.sketch_many(documents, threads=2)
        alone = [sketcher.sketch(document) for document in documents[:200]]
        np.testing.assert_array_equal(together.values[:200], np.concatenate([each.values for each in alone]))
        joined = together[:1000].concat(together[1000:])
        np.testing.assert_array_equal(joined.values, together.values)
        assert type(joined) is nd.TermSignatures and together[7:9].values.shape == (2, sketcher.lists)


# ---------------------------------------------------------------------------------------------- what matches


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), max_size=12), st.integers(1, 3))
def test_labels_as_brute_force(rows, need):
    signed = nd.TermSignatures(np.array(rows, np.uint64).reshape(-1, 3), nd.BucketSketcher(3).recipe,
                               sizes=np.ones(len(rows)), sizes_exact=np.ones(len(rows), np.bool_),
                               valid=np.ones(len(rows), np.bool_))
    labels = list(range(len(rows)))
    for i, j in itertools.combinations(range(len(rows)), 2):
        agreeing = sum(a == b != 0 for a, b in zip(rows[i], rows[j], strict=True))
        assert signed.agreeing(i, j) == agreeing
        if agreeing >= need:
            low, high = sorted((labels[i], labels[j]))
            labels = [low if label == high else label for label in labels]
    assert signed.labels(need).tolist() == labels


def test_a_change_of_one_word_leaves_the_other_buckets():
    words = [f"w{i}" for i in range(200)]
    signed = nd.BucketSketcher(16).sketch_many([" ".join(words), " ".join([*words[::-1][:-1], "new"])])
    assert 14 <= signed.agreeing(0, 1) < 16 and signed.labels().tolist() == [0, 0]


def test_half_of_random_lexicons_survive_a_change_as_computed():
    """A lexicon lacks a given term with the probability `removed`: of 60 lexicons 30 survive, 12 to 48 at 5 sigma."""
    words = [f"w{i}" for i in range(100)]
    idf = nd.Idf.learn([" ".join(words), " ".join(words[1:]), "x", "y"], WORDS)
    sketcher = nd.IMatcher(idf, 0.4, 1, 60, 0.5, seed=3)
    signed = sketcher.sketch_many([" ".join(words), " ".join(words[1:])])
    assert 12 <= signed.agreeing(0, 1) <= 48
    assert signed.values[0, 0] != signed.values[1, 0]  # the whole lexicon has the term


# ---------------------------------------------------------------------------------------------- recipes, files, pickles


def sketchers() -> list:
    return [nd.BucketSketcher(5, 2, 9), nd.IMatcher(nd.Idf.learn(TEXTS, WORDS), 0, 1, 4, 0.5, 1, 9)]


@pytest.mark.parametrize("which", [0, 1])
def test_files_and_recipes(which, tmp_path):
    sketcher = sketchers()[which]
    made = sketcher.sketch_many(TEXTS)
    made.ids = list("abcde")
    made.save(tmp_path / "s.nds")
    again = nd.load(tmp_path / "s.nds")
    assert type(again) is nd.TermSignatures and again.recipe == made.recipe and again.ids == made.ids
    for name in ("values", "sizes", "valid"):
        np.testing.assert_array_equal(getattr(again, name), getattr(made, name))
    twin = nd.IMatcher.from_recipe(again.recipe, nd.Idf.learn(TEXTS, WORDS)) if which else sketcher_of(again.recipe)
    assert twin.recipe == sketcher.recipe
    np.testing.assert_array_equal(twin.sketch_many(TEXTS).values, made.values)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(sketcher, protocol)).recipe == sketcher.recipe


def test_another_lexicon_is_noticed():
    made = sketchers()[1].sketch_many(TEXTS)
    with pytest.raises(nd.RecipeMismatch):
        nd.IMatcher.from_recipe(made.recipe, nd.Idf.learn(TEXTS[:3], WORDS))
    with pytest.raises(ValueError, match=r"the recipe has only the digest of its lexicon: use IMatcher\.from_recipe"):
        sketcher_of(made.recipe)
    with pytest.raises(ValueError, match="signatures of I-Match are needed, the sketches are 'buckets'"):
        nd.IMatcher.from_recipe(nd.BucketSketcher().recipe, nd.Idf.learn(TEXTS, WORDS))


@pytest.mark.parametrize("changes", [
    {"values": np.zeros((5, 4), np.uint64)}, {"values": np.zeros((4, 5), np.uint64)},
    {"values": np.zeros((5, 5), np.uint32)}, {"values": np.zeros(5, np.uint64)},
    {"offsets": np.zeros(6, np.int64)}, {"lists": 4}, {"lists": True}, {"lists": -1},
    {"least": "few"},
], ids=lambda changes: ",".join(f"{k}={getattr(v, 'shape', v)}" for k, v in changes.items()))
def test_files_that_do_not_fit_together(changes, tmp_path):
    made = nd.BucketSketcher(5, 2).sketch_many(TEXTS)
    made.save(tmp_path / "s.nds")
    header, arrays = container.read(tmp_path / "s.nds")
    for name, value in changes.items():
        if isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            recipe = nd.Recipe({**made.recipe.parameters, name: value})
            header |= {"recipe": recipe.to_json(), "recipe_id": recipe.id}
    container.write(tmp_path / "s.nds", "sketches", header, arrays)
    with pytest.raises(nd.CorruptFile, match=r"do not fit together|the recipe's"):
        nd.load(tmp_path / "s.nds")


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: nd.BucketSketcher(0), ValueError, "buckets is 0; it must be at least 1"),
    (lambda: nd.BucketSketcher(65), ValueError, "buckets is 65; it must be at most 64"),
    (lambda: nd.BucketSketcher(4.0), TypeError, "buckets"),
    (lambda: nd.BucketSketcher(least=0), ValueError, "least"),
    (lambda: nd.BucketSketcher(seed=-1), ValueError, "seed"),
    (lambda: nd.IMatcher({"a": 1.0}), TypeError, r"lexicon is an Idf, as of Idf\.learn"),
    (lambda: nd.IMatcher(nd.Idf.learn(TEXTS, WORDS), lowest="0"), TypeError, "lowest is a number of 0 to 1, got '0'"),
    (lambda: nd.IMatcher(nd.Idf.learn(TEXTS, WORDS), highest=1.5), ValueError, "highest must be 0 to 1, got 1.5"),
    (lambda: nd.IMatcher(nd.Idf.learn(TEXTS, WORDS), highest=float("nan")), ValueError, "highest must be 0 to 1, got nan"),
    (lambda: nd.IMatcher(nd.Idf.learn(TEXTS, WORDS), removed=1), ValueError, "random lexicons would be empty"),
    (lambda: nd.IMatcher(nd.Idf.learn(TEXTS, WORDS), 0.9, 0.1), ValueError, "no term of the"),
    (lambda: nd.IMatcher(nd.Idf.learn(TEXTS[:1], WORDS)), ValueError, "no term of the"),
    (lambda: nd.IMatcher(nd.Idf.learn(TEXTS, WORDS), lexicons=64), ValueError, "lexicons is 64; it must be at most 63"),
    (lambda: nd.BucketSketcher().sketch_many(TEXTS).labels(17), ValueError, "need is 17; it must be at most 16"),
    (lambda: nd.BucketSketcher().sketch_many(TEXTS).labels(8), ValueError, "8 of 16 lists have 12,870 combinations"),
    (lambda: nd.BucketSketcher().sketch_many(TEXTS).resemblance(0, 1), TypeError, r"buckets sketches have no .*agreeing\("),
    (lambda: nd.BucketSketcher().sketch_many(TEXTS).agreeing(0, 9), IndexError, "9"),
])  # fmt: skip
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()
