"""Stems as tokens. The algorithms are Snowball's own; what is tested is how they are used."""

from __future__ import annotations

import pickle

import pytest

import ndcore as nd
from ndcore.stemming import stemmed

Stemmer = pytest.importorskip("Stemmer")


def test_tokens():
    # The example of the Snowball page on English: all of these have the stem "consist".
    sh = nd.Shingling(unit=stemmed("english"), width=2)
    assert sh.tokens("CONSIST consisted, consistency; consistent_consistently consisting consists.") == [b"consist"] * 7
    assert nd.resemblance("The connections, connected", "the CONNECTION connects!", sh) == 1.0
    german = nd.Shingling(unit=stemmed("german"), width=1)
    assert german.tokens("H\u00e4user, Haus; H\u00e4usern".encode()) == [b"haus"] * 3


def test_canonical_words_go_in():
    normal = stemmed("english", nd.Shingling(normalize="NFKC"))
    assert normal("\ufb01shes \ufb01shing") == ["fish", "fish"]
    assert stemmed("english")("") == []
    assert stemmed("english", nd.Shingling(stop_words=["The"]))("The connections of the") == ["connect", "of"]


def test_simhash_of_stems_is_saved(tmp_path):
    sketcher = nd.SimHasher(shingling=nd.Shingling(unit=stemmed("english"), width=2))
    found = sketcher.sketch_many(["connected graphs are connected", "connecting graph is connection"] * 50, threads=2)
    found.save(tmp_path / "s")
    assert nd.load(tmp_path / "s").recipe == found.recipe
    name = found.recipe["shingling"]["unit"]
    assert name == (f"callable ndcore.stemming.stemmed('english', snowball {Stemmer.version()}, "
                    f"words {nd.Shingling().recipe.id})")
    twin = pickle.loads(pickle.dumps(sketcher))
    assert twin == sketcher and twin.sketch("connections").values.tolist() == sketcher.sketch("connected").values.tolist()


def test_what_the_words_are_is_in_the_recipe():
    ids = {nd.Shingling(unit=unit).recipe.id for unit in (
        stemmed("english"), stemmed("porter"), stemmed("english", nd.Shingling(normalize="NFKC")))}  # fmt: skip
    assert len(ids) == 3


def test_errors():
    with pytest.raises(ValueError, match="there is no stemming algorithm 'klingon'; PyStemmer has arabic"):
        stemmed("klingon")
    with pytest.raises(ValueError, match="words must be a Shingling of the unit 'word'"):
        stemmed("english", nd.Shingling(unit="char"))
    with pytest.raises(ValueError, match="words must be a Shingling of the unit 'word', whose tokens can be stemmed, got 5"):
        stemmed("english", 5)


def test_without_pystemmer(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "Stemmer", None)
    with pytest.raises(ImportError, match=r"pip install 'ndcore\[stem\]'"):
        stemmed("english")
