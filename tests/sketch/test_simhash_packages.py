"""Simhashes of other packages: vectors, the reference, the packages themselves, and an old table that is searched."""

from __future__ import annotations

import numpy as np
import pytest
from generated import hashes
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import other_tools as plain


def joined(sets):
    return np.array([h for each in sets for h in each], np.uint64), np.cumsum([0, *map(len, sets)])


def test_vectors_of_simhash_packages(vectors):
    data = vectors("othertools")
    for case in data["simhashes"]:
        found = [int(h, 16) for h in data["sets"][case["set"]]]
        weights = [i % 7 + 1 for i in range(len(found))]
        for hasher in map(nd.PackageSimHasher, ("1e0ng", "seomoz")):
            assert hasher.sketch_hashes(*joined([found])).values.tolist() == [int(case["value"], 16)]
            assert hasher.sketch_hashes(*joined([found]), weights).values.tolist() == [int(case["weighted"], 16)]
    made = nd.PackageSimHasher("1e0ng").sketch_many(list(data["texts"]))
    assert [hex(value) for value in made.values.tolist()] == list(data["texts"].values())
    assert made.valid.all()


def test_published_vectors_of_simhash_packages(published):
    """Numbers from the tests of both packages."""
    seomoz, features = nd.PackageSimHasher("seomoz"), nd.PackageSimHasher("1e0ng")
    for case in published("simhash_seomoz.json")["compute"]:
        assert seomoz.sketch_hashes(*joined([case["hashes"]])).values.tolist() == [case["simhash"]]
    for case in published("simhash_1e0ng.json")["values"]:
        given = case["features"] if isinstance(case["features"], list) else [str(i) for i in range(500)]
        assert features.sketch_tokens([given]).values.tolist() == [case["simhash"]]


@given(st.lists(st.lists(hashes | st.integers(0, 3), max_size=30), min_size=1, max_size=4), st.integers(1, 2**15 - 1))
def test_simhashes_as_the_reference(sets, weight):
    hasher = nd.PackageSimHasher("seomoz")
    found = hasher.sketch_hashes(*joined(sets))
    assert found.values.tolist() == [plain.package_simhash(each) for each in sets]
    assert found.valid.tolist() == [bool(each) for each in sets]
    weights = [[weight % (i + 2) + 1 for i in range(len(each))] for each in sets]
    weighted = hasher.sketch_hashes(*joined(sets), [w for each in weights for w in each])
    assert weighted.values.tolist() == [plain.package_simhash(h, w) for h, w in zip(sets, weights, strict=True)]


@given(st.lists(st.text(max_size=30), max_size=4))
def test_texts_as_the_reference(texts):
    expected = [plain.package_simhash([plain.package_hash(f.encode(), "1e0ng") for f in plain.package_features(text)])
                for text in texts]
    hasher = nd.PackageSimHasher("1e0ng")
    assert hasher.sketch_many([text + "\ud800" for text in texts]).values.tolist() == expected  # which is not a letter
    assert hasher.sketch_many([text.encode() for text in texts]).values.tolist() == expected


def test_values_of_1e0ng_simhash_itself():
    simhash = pytest.importorskip("simhash")
    if not hasattr(simhash, "Simhash"):
        pytest.skip("another package has the name simhash")
    texts = ["", "a", "How are you? I am fine. Thanks.", "中文字符的测试", "É İ ß ﬁ 𝒳 ٣", "yes no " * 40]
    hasher = nd.PackageSimHasher("1e0ng")
    assert hasher.sketch_many(texts).values.tolist() == [simhash.Simhash(text).value for text in texts]
    features, weights = ["a", "b", "c", "d"], [1, 60, 3, 2.5]
    ours = hasher.sketch_hashes(hasher.hash_tokens(features), [0, 4], weights)
    assert ours.values[0] == simhash.Simhash(list(zip(features, weights, strict=True))).value


def test_values_of_seomoz_simhash_itself():
    simhash = pytest.importorskip("simhash")
    if not hasattr(simhash, "unsigned_hash"):
        pytest.skip("another package has the name simhash")
    features = [b"to", b"be", b"or", b"not", b"to"]
    theirs = simhash.compute([simhash.unsigned_hash(feature) for feature in features])
    assert nd.PackageSimHasher("seomoz").sketch_tokens([features]).values[0] == theirs


def test_an_old_table_is_searched():
    texts = [f"The ferry leaves pier {i} at noon and returns after dark" for i in range(50)]
    hasher = nd.PackageSimHasher("1e0ng")
    table = [int(value) for value in hasher.sketch_many(texts).values]
    old = hasher.read_values(table, ids=[f"row {i}" for i in range(50)])
    index = nd.HammingIndex(old.values, old.ids, max_distance=3)
    ids, distances = index.query(int(hasher.sketch(texts[7].upper()).values[0]))
    assert "row 7" in list(ids) and distances[list(ids).index("row 7")] == 0
