"""Weights: rounding, mappings, idf against the reference, files, refusals."""

from __future__ import annotations

import hashlib
import math
import pickle
import struct
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from generated import splitmix64, texts
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore import _simhash
from ndcore.reference import shingling
from ndcore.reference import sketches as reference
from ndcore.sketch.weights import FeatureWeights, as_units
from ndcore.storage import container

ONE = nd.Shingling(width=1)
DOCUMENTS = ["to be or not to be", "to do is to be", "", "To be is to do!", "do be do be do"]


def frequencies(idf: nd.Idf) -> dict[int, int]:
    return dict(zip(idf.fingerprints.tolist(), idf.frequencies.tolist(), strict=True))


# ---------------------------------------------------------------------------------------------- units


@given(st.lists(st.floats(-32767, 32767)))
def test_rounding(weights):
    assert as_units(weights).tolist() == [reference.weight_units(w) for w in weights]


def test_rounding_of_kinds_of_numbers():
    for dtype in (np.int8, np.uint64, np.float16, np.float32, np.float64, np.bool_):
        assert as_units(np.array([0, 1, 1], dtype)).tolist() == [0, 65536, 65536]
    assert as_units([]).dtype == np.int32
    for units in (1, 3, 5, -1, -3, 2**31 - 3):
        assert as_units([(units + 0.5) / 65536]).tolist() == [round(Fraction(2 * units + 1, 2))]


# ---------------------------------------------------------------------------------------------- counting


@given(st.lists(st.lists(st.integers(0, 12) | st.integers(0, 2**64 - 1), max_size=40), min_size=2, max_size=2))
def test_counts_and_merging(lists):
    found = [_simhash.count(np.array(each, np.uint64)) for each in lists]
    for each, (values, counts) in zip(lists, found, strict=True):
        assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == Counter(each)
        assert values.tolist() == sorted(set(each))
    values, counts = _simhash.merge(*found[0], *found[1])
    assert list(zip(values.tolist(), counts.tolist(), strict=True)) == sorted(Counter(lists[0] + lists[1]).items())


# ---------------------------------------------------------------------------------------------- idf


def test_by_hand():
    idf = nd.Idf.learn(DOCUMENTS, ONE)
    by_word = {word: frequencies(idf)[int(ONE.fingerprints(word)[0])] for word in ("to", "be", "or", "not", "do", "is")}
    assert by_word == {"to": 3, "be": 4, "or": 1, "not": 1, "do": 3, "is": 2}
    assert (idf.documents, len(idf)) == (5, 6)
    expected = [math.log(6 / 5) + 1, math.log(6 / 2) + 1, math.log(6 / 1) + 1]
    assert idf.weights(ONE.fingerprints("be or whatever")) == pytest.approx(expected, abs=2.0**-17)


def test_weights_of_vectors(vectors):
    for documents, frequency, units in vectors("simhash")["idf"]:
        shape = ([7], [frequency], 1) if frequency else ([], [], 1)
        idf = nd.Idf(documents, np.array(shape[0], np.uint64), np.array(shape[1], np.uint32), shape[2], ONE)
        assert idf.weights([7]).tolist() == [units / 65536]
        assert abs(units / 65536 - math.log((1 + documents) / (1 + frequency)) - 1) <= 2.0**-17 + 1e-9


@given(st.lists(texts, max_size=6), st.sampled_from([1, 2]), st.booleans(), st.integers(1, 3))
def test_as_the_reference(documents, width, labelled, min_df):
    sh = nd.Shingling(width=width, labelled=labelled)
    expected = reference.document_frequencies(
        shingling.fingerprints(document, width=width, labelled=labelled) for document in documents
    )
    idf = nd.Idf.learn(documents, sh, min_df)
    assert frequencies(idf) == {f: df for f, df in expected.items() if df >= min_df}
    assert idf.fingerprints.tolist() == sorted(frequencies(idf))
    asked = [*expected, 12345]
    as_if = [df if df >= min_df else min_df - 1 for df in (*expected.values(), 0)]
    assert idf.weights(asked).tolist() == [reference.idf(len(documents), df) / 65536 for df in as_if]
    known = dict(zip(asked, idf.weights(asked).tolist(), strict=True))
    for document in documents:
        bag = shingling.fingerprints(document, width=width, labelled=labelled)
        assert nd.SimHasher(weights=idf).sketch(document).values.tolist() == [reference.simhash(bag, known)]


def test_threads_pieces_and_iterators_do_not_change_anything(monkeypatch):
    outputs = splitmix64(7)
    documents = [" ".join(f"w{next(outputs) % (1 + i)}" for _ in range(300)) for i in range(1500)] + ["x y " * 300_000]
    told = []
    one = nd.Idf.learn(documents, ONE, threads=1)
    assert dict(frequencies(one)) == reference.document_frequencies(ONE.fingerprints(d).tolist() for d in documents)
    for threads in (2, None):
        assert nd.Idf.learn(documents, ONE, threads=threads, progress=lambda *state: told.append(state)) == one
    assert told[-1] == ("learning weights", 1501, 1501)
    monkeypatch.setattr("ndcore.sketch.weights.BATCH", 100)
    assert nd.Idf.learn(iter(documents), ONE, progress=lambda *state: told.append(state)) == one
    assert told[-1] == ("learning weights", 1501, None)


def test_rare_features_matter_more():
    """Change common words, then rare words: the simhash moves less for the common ones."""
    common, rare = [f"common{i}" for i in range(40)], [f"rare{i}" for i in range(40)]
    corpus = [" ".join([*common, f"only{i}"]) for i in range(500)] + [" ".join(common + rare)]
    sketcher = nd.SimHasher(weights=nd.Idf.learn(corpus, ONE))
    found = sketcher.sketch_many([" ".join(common + rare), " ".join(rare), " ".join(common)])
    assert found.distance(0, 1) < found.distance(0, 2)


def test_nothing_learned():
    idf = nd.Idf.learn([])
    assert (len(idf), idf.documents, idf.weights([1, 2]).tolist()) == (0, 0, [1.0, 1.0])
    text = "one two three four five six seven"
    assert nd.SimHasher(weights=idf).sketch(text).values.tolist() == nd.SimHasher().sketch(text).values.tolist()


def test_save_and_load(tmp_path):
    idf = nd.Idf.learn(DOCUMENTS, ONE, min_df=2)
    idf.save(tmp_path / "idf")
    loaded = nd.Idf.load(tmp_path / "idf")
    twin = pickle.loads(pickle.dumps(idf))
    for other in (loaded, twin):
        assert other == idf and hash(other) == hash(idf) and repr(other) == repr(idf)
        assert (frequencies(other), other.documents, other.min_df) == (frequencies(idf), 5, 2)
        assert nd.SimHasher(weights=other) == nd.SimHasher(weights=idf)
    with pytest.raises(nd.RecipeMismatch, match="width is 1 here and 5 there"):
        nd.Idf.load(tmp_path / "idf", nd.Shingling())


def split(document):
    return document.split()


def test_callable_units_are_asked_for(tmp_path):
    idf = nd.Idf.learn(["a b c"], nd.Shingling(unit=split, width=1))
    idf.save(tmp_path / "idf")
    with pytest.raises(ValueError, match="is a function: pass shingling"):
        nd.Idf.load(tmp_path / "idf")
    assert nd.Idf.load(tmp_path / "idf", nd.Shingling(unit=split, width=1)) == idf
    with pytest.raises(ValueError, match="unnamed callable cannot be saved; use a function of a module as unit"):
        nd.Idf.learn(["a b c"], nd.Shingling(unit=lambda text: text.split())).save(tmp_path / "other")


def changed(path, name=None, array=None, **recipe):
    """Replace an array or numbers of the recipe in the file at `path`, as an attacker would."""
    header, arrays = container.read(path, "idf")
    parameters = nd.Recipe.from_json(header["recipe"]).parameters | recipe
    made = nd.Recipe(parameters)
    container.write(path, "idf", {"recipe": made.to_json(), "recipe_id": made.id},
                    arrays if name is None else arrays | {name: array})
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "fingerprints", "array": np.array([5, 3], np.uint64)}, "fingerprints do not ascend"),
        ({"name": "fingerprints", "array": np.array([5, 5], np.uint64)}, "fingerprints do not ascend"),
        ({"name": "fingerprints", "array": np.array([5, 6], np.int64)}, "int64 and uint32, not uint64 and uint32"),
        ({"name": "fingerprints", "array": np.array([5], np.uint64)}, r"have the shapes \(1,\) and \(2,\)"),
        ({"name": "frequencies", "array": np.array([1, 9], np.uint32)}, "not all between 1 and 2"),
        ({"name": "frequencies", "array": np.array([0, 1], np.uint32)}, "not all between 1 and 2"),
        ({"name": "frequencies", "array": np.array([2, 2], np.uint32)}, "do not fit its recipe"),
        ({"documents": -1}, "documents is -1"),
        ({"min_df": "x"}, "min_df is 'x'"),
        ({"min_df": 0}, "between 0 and 2"),
        ({"shingling": "word"}, "a recipe is made of a dict"),
        ({"shingling": {"unit": "word"}}, "the shingling of its recipe is unsound"),
        ({"version": 2}, "version of the recipe is 2; this ndcore knows 1: upgrade ndcore"),
    ],
)
def test_hostile_files(tmp_path, change, message):
    nd.Idf.learn(["a", "a b"], ONE).save(tmp_path / "idf")
    with pytest.raises(nd.CorruptFile, match=message):
        nd.Idf.load(changed(tmp_path / "idf", **change))


def test_errors(tmp_path):
    for min_df in (0, -1, 1.0, True, "2"):
        with pytest.raises(ValueError, match="min_df must be an int of at least 1, got"):
            nd.Idf.learn([], min_df=min_df)
    with pytest.raises(TypeError, match="texts is one str"):
        nd.Idf.learn("a b")
    with pytest.raises(TypeError, match="document 4097 is None"):
        nd.Idf.learn(iter(["a"] * 4097 + [None]))
    with pytest.raises(ValueError, match="document 4097 has 1 tokens"):
        nd.Idf.learn(iter(["a b c d e"] * 4097 + ["a"]), nd.Shingling(short="error"))
    nd.SimHasher().sketch("a").save(tmp_path / "sketches")
    with pytest.raises(ValueError, match="holds 'sketches', not 'idf'"):
        nd.Idf.load(tmp_path / "sketches")


@pytest.mark.parametrize(("asked", "message"), [
    ([1.5], "got 1.5"), (np.array([1.5]), "got float64"), (["5"], "got '5'"), ([True], "got True"), ([-1], "got -1"),
    (np.array([-1]), "got -1"), ([2**64], "got 18446744073709551616"),
])
def test_only_fingerprints_have_weights(asked, message):
    with pytest.raises((TypeError, ValueError), match=message):
        nd.Idf.learn(["a b"]).weights(asked)


def test_weights_of_any_shape():
    idf = nd.Idf.learn(["a", "b"], nd.Shingling(width=1))
    known, other = int(idf.fingerprints[0]), 2**63
    expected = [1 + math.log(3 / 2), 1 + math.log(3)]
    assert idf.weights([[known], [other]]).ravel() == pytest.approx(expected, abs=2**-17)
    assert idf.weights(known) == pytest.approx(expected[0], abs=2**-17)
    assert idf.weights([]).shape == (0,)


def test_what_was_learned_cannot_be_changed(tmp_path):
    """Refuse changes, which the recipe would not tell."""
    idf = nd.Idf.learn(["a b"])
    idf.save(tmp_path / "idf")
    for each in (idf, nd.Idf.load(tmp_path / "idf")):
        for array in (each.fingerprints, each.frequencies):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 5


def test_shinglings_that_are_none(tmp_path):
    nd.Idf.learn(["a b"]).save(tmp_path / "idf")
    for call in (lambda: nd.Idf.learn(["a"], 5), lambda: nd.Idf.load(tmp_path / "idf", 5)):
        with pytest.raises(TypeError, match="shingling must be a Shingling or None, got 5"):
            call()


# ---------------------------------------------------------------------------------------------- mappings


def test_digest_of_a_mapping():
    """Compute the digest of two ascending features by hand."""
    weights = FeatureWeights.of({2**64 - 1: -0.5, 3: 1.0})
    data = struct.pack("<QQiii", 3, 2**64 - 1, 65536, -32768, 0)
    assert weights.digest == "blake2b:" + hashlib.blake2b(data, digest_size=16).hexdigest()


def test_a_large_mapping():
    outputs = splitmix64(1)
    mapping = {next(outputs): i % 100 / 8 for i in range(50_000)}
    bag = [*list(mapping)[::7], *(next(outputs) for _ in range(5000))]
    [found] = nd.SimHasher(weights=mapping).sketch_hashes(np.array(bag, np.uint64), [0, len(bag)]).values.tolist()
    assert found == reference.simhash(bag, mapping)
