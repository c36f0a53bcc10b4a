"""Stop words: left out before anything else sees the text, exactly, and kept in the recipe."""

from __future__ import annotations

import hashlib
import pickle

import numpy as np
import pytest
from generated import forged, texts
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.recipe import Recipe
from ndcore.reference import rabin, shingling

P, Q = nd.POLYNOMIAL, rabin.TOKEN_POLYNOMIAL


def digests(documents: list[str | bytes], sh: nd.Shingling) -> list[bytes]:
    """Return canonical digests."""
    return [row[16:].tobytes() for row in nd.near_duplicates(documents, shingling=sh).sketches.digests]


def expected_digest(tokens: list[bytes]) -> bytes:
    canonical = b"".join(len(token).to_bytes(8, "big") + token for token in tokens)
    return hashlib.blake2b(canonical, digest_size=16).digest()


def test_vectors(vectors):
    for case in vectors("text")["stop_words"]:
        document, tokens = bytes.fromhex(case["input"]), [bytes.fromhex(token) for token in case["tokens"]]
        sh = nd.Shingling(stop_words=case["stop_words"], normalize=case["normalize"], width=2)
        assert [token.encode() for token in sh.tokens(document)] == tokens, case
        assert [digest.hex() for digest in digests([document], sh)] == [case["canonical_digest"]]
        assert sh.fingerprints(document).tolist() == shingling.of_tokens(tokens, 2)
        assert sh.shingles(document) == shingling.shingles([token.decode() for token in tokens], 2)


WORDS = ["the", "a", "of", "rose", "straße", "который", "themselves", "人", "42", "é" * 30, "x" * 8, "x" * 9]


@given(st.lists(st.sampled_from(WORDS), unique=True), st.lists(st.sampled_from(WORDS), max_size=60), st.integers(1, 5),
       st.booleans(), st.sampled_from(["whole", "skip"]))  # fmt: skip
@settings(max_examples=200)
def test_as_if_they_were_not_written(stop_words, words, width, labelled, short):
    with_stops = nd.Shingling(width=width, labelled=labelled, short=short, stop_words=stop_words)
    plain = nd.Shingling(width=width, labelled=labelled, short=short)
    document, left = " ".join(words), " ".join(word for word in words if word not in stop_words)
    assert with_stops.shingles(document) == plain.shingles(left)
    assert with_stops.fingerprints(document).tolist() == plain.fingerprints(left).tolist()
    assert digests([document], with_stops) == digests([left], plain)


@given(st.lists(texts, max_size=4), st.sampled_from([None, "NFKC"]))
def test_as_the_reference(documents, normalize):
    stop_words = ["a", "A1", "人", "ι", "ー", "fi", "x" * 20]
    sh = nd.Shingling(width=2, normalize=normalize, stop_words=stop_words)
    values, offsets = sh.fingerprints_many(documents, threads=1)
    expected = [shingling.fingerprints(d, width=2, normalize=normalize, stop_words=stop_words) for d in documents]
    assert values.tolist() == [f for fs in expected for f in fs]
    assert np.diff(offsets).tolist() == [len(fs) for fs in expected]


@pytest.mark.parametrize("n", [1022, 1023, 1024, 1025, 1026, 5000])
def test_seams_between_blocks(n):
    # Blocks of nothing but stop words, and of none, and in between.
    sh, plain = nd.Shingling(width=3, stop_words=["the", "themselves"]), nd.Shingling(width=3)
    for pattern in (["the"] * n, ["the"] * n + ["x", "y", "z", "u"], ["x", "y"] + ["themselves"] * n + ["z", "u"],
                    ["the" if i % 3 else f"w{i}" for i in range(n)], [f"w{i}" for i in range(n)] + ["the"]):  # fmt: skip
        left = [word for word in pattern if not word.startswith("the")]
        assert sh.tokens(" ".join(pattern)) == left
        assert sh.fingerprints(" ".join(pattern)).tolist() == plain.fingerprints(" ".join(left)).tolist()


def test_a_word_that_only_has_the_symbol_of_a_stop_word_stays():
    # Forged by who knows Q: equal symbols, other bytes.
    word, twin = (text.decode() for text in forged(30, lambda change: rabin.mod(change, Q)))
    assert shingling.symbol(word.encode()) == shingling.symbol(twin.encode())
    sh = nd.Shingling(stop_words=[word])
    assert sh.tokens(f"x {word} y {twin}") == ["x", "y", twin]
    assert digests([f"x {twin}"], sh) == [expected_digest([b"x", twin.encode()])] != digests(["x"], sh)


def test_verdicts():
    stop_words = ["the", "a", "of"]
    documents = ["the day of a rose", "Day rose", "day of the rose", "a of the", "...", "of the of", "the day of a rose"]
    sh = nd.Shingling(width=2, stop_words=stop_words)
    for verify in ("fingerprints", "tokens"):
        result = nd.near_duplicates(documents, shingling=sh, verify=verify)
        assert result.labels.tolist() == [0, 0, 0, 3, 4, 5, 0]
        assert result.classes.tolist() == ["kept", "lexical", "lexical", "kept", "kept", "kept", "identical"]
        assert result.valid.tolist() == [True, True, True, False, False, False, True]
    assert np.isnan(nd.resemblance("of the", "of the", sh)) and nd.resemblance("the day", "day", sh) == 1


def test_recipes():
    sh = nd.Shingling(stop_words=["The", "a", "the", "42"])
    assert sh.stop_words == ("42", "a", "the") and sh == nd.Shingling(stop_words=("42", "a", "the"))
    assert sh.recipe["stop_words"] == {"42": True, "a": True, "the": True}
    assert nd.Shingling.from_recipe(Recipe.from_json(sh.recipe.to_json())) == sh
    assert pickle.loads(pickle.dumps(sh)) == sh and eval(repr(sh), {"Shingling": nd.Shingling}) == sh
    for nothing in (None, [], (), iter([])):
        assert nd.Shingling(stop_words=nothing) == nd.Shingling() and "stop_words" not in nd.Shingling().recipe
    with pytest.raises(nd.RecipeMismatch, match=r"stop_words\.42 is True here and absent there"):
        sh.recipe.check(nd.Shingling(stop_words=["a", "the"]).recipe)


def test_sketches_remember_their_stop_words(tmp_path):
    sh = nd.Shingling(stop_words=["the"])
    nd.MinHasher(84, shingling=sh).sketch_many(["the end of the long day", "x"]).save(tmp_path / "a.nds")
    result = nd.near_duplicates(["end of long day"], against=nd.load(tmp_path / "a.nds"), shingling=sh)
    assert result.labels.tolist()[0] == 1
    again = nd.MinHasher.from_recipe(nd.load(tmp_path / "a.nds").recipe)
    assert again.shingling.tokens("The end") == ["end"]


@pytest.mark.parametrize(
    ("stop_words", "how", "error", "message"),
    [
        (["don't"], {}, ValueError, "stop word \"don't\" is not one word but 2: 'don', 't'; leave it out, or give"),
        (["the", "..."], {}, ValueError, r"stop word '\.\.\.' is not one word but 0; leave it out"),
        ([""], {}, ValueError, "stop word '' is not one word but 0"),
        (["ﬁ½"], {"normalize": "NFKC"}, ValueError, "is not one word but 2: 'fi1', '2'"),
        (["人々は"], {}, ValueError, "is not one word but 2: '人々', 'は'"),
        (["a"], {"unit": "char"}, ValueError, "stop_words are for the unit word, not for 'char'"),
        (["a"], {"unit": str.split}, ValueError, "stop_words are for the unit word, not for 'callable"),
        ("the", {}, TypeError, "stop_words is one str; give a list of words"),
        (b"the", {}, TypeError, "stop_words is one bytes"),
        ([b"the"], {}, TypeError, "stop_words holds b'the' of type bytes; words are str"),
        ([None], {}, TypeError, "stop_words holds None"),
    ],
    ids=str,
)
def test_refusals(stop_words, how, error, message):
    with pytest.raises(error, match=message):
        nd.Shingling(stop_words=stop_words, **how)
