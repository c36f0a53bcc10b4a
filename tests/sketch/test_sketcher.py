"""Sketchers: documents that are tokens already."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import shingling as reference
from ndcore.reference import sketches as plain
from ndcore.text import shingling

tokens = st.one_of(st.text(max_size=12), st.binary(max_size=12))
documents = st.lists(st.lists(tokens, max_size=9), max_size=5)


@given(documents, st.integers(1, 4), st.booleans(), st.sampled_from(["whole", "skip"]))
def test_given_tokens_have_the_fingerprints_of_the_definition(given_tokens, width, labelled, short):
    values, offsets = nd.Shingling(width=width, labelled=labelled, short=short).token_fingerprints(given_tokens)
    plain_tokens = [[t.encode("utf-8", "surrogatepass") if isinstance(t, str) else t for t in each] for each in given_tokens]
    expected = [reference.of_tokens(each, width, labelled, short) for each in plain_tokens]
    assert [part.tolist() for part in np.split(values, offsets[1:-1])] == (expected or [[]])


SHINGLING = nd.Shingling(width=3)
SKETCHERS = [nd.MinHasher(8, shingling=SHINGLING), nd.MinHasher(8, method="fast", shingling=SHINGLING),
             nd.MinHasher(8, shingling=SHINGLING, exact_sizes=True), nd.BottomSketcher(4, shingling=SHINGLING),
             nd.ModSketcher("adaptive", shingling=SHINGLING), nd.SimHasher(shingling=SHINGLING), nd.Winnower(2, SHINGLING)]


@pytest.mark.parametrize("sketcher", SKETCHERS, ids=lambda each: f"{type(each).__name__}-{each.recipe.id[:4]}")
def test_tokens_of_a_text_have_the_sketch_of_the_text(sketcher: Any) -> None:
    texts = ["A rose is a rose, is a rose!", "short", "", "of other words, " * 9]
    made, expected = sketcher.sketch_tokens(SHINGLING.tokens(text) for text in texts), sketcher.sketch_many(texts)
    np.testing.assert_array_equal(made.values, expected.values)
    assert made.recipe == expected.recipe and made.valid.tolist() == expected.valid.tolist()
    assert sketcher.sketch_tokens([]).values.shape == sketcher.sketch_many([]).values.shape


def test_sets_of_strings_are_sketched_as_sets() -> None:
    bottom = nd.BottomSketcher(10, shingling=nd.Shingling(width=1))
    baskets = [{"milk", "bread", "tea"}, frozenset({"tea", "milk", "honey"}), {"milk": 1, "tea": 2}.keys()]
    made = bottom.sketch_tokens(baskets)
    assert (made.resemblance(0, 1), made.containment(2, 0)) == (2 / 4, 1.0)
    prints = [reference.of_tokens([token], 1)[0] for token in (b"milk", b"bread", b"tea")]
    assert made[0].tolist() == plain.bottom(prints, 10)


def test_a_generator_of_many_is_read_in_pieces() -> None:
    n = 2 * shingling.TOKENISED + 3
    made = nd.MinHasher(4).sketch_tokens([f"word{i}"] for i in range(n))
    assert len(made) == n
    np.testing.assert_array_equal(made.values, nd.MinHasher(4).sketch_many([f"word{i}" for i in range(n)]).values)


@pytest.mark.parametrize("wrong, error, message", [
    ("text", TypeError, "document 0 is 't' of type str, and not its tokens; for texts use sketch_many"),
    ([["a"], b"text"], TypeError, "document 1 is b'text' of type bytes, and not its tokens"),
    ([["a"], 3], TypeError, "document 1 is 3 of type int, and not its tokens"),
    ([["a"], ["b", 7]], TypeError, "document 1 has the token 7 of type int; tokens are str or bytes"),
    ([{"a", "b"}], ValueError, r"document 0 is a set, which has no order, .* give lists, or use Shingling\(width=1\)"),
    (7, TypeError, "not iterable"),
])
def test_what_is_not_tokens_is_refused(wrong: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        nd.MinHasher(4).sketch_tokens(wrong)


@pytest.mark.parametrize("document", [["a", "b"], ("a",), {"a"}])
def test_tokens_in_place_of_a_text_are_refused_with_what_to_call(document: Any) -> None:
    for call in (lambda: nd.MinHasher(4).sketch(document), lambda: nd.MinHasher(4).sketch_many(["a", document])):
        with pytest.raises(TypeError, match=r"document [01] is .*; texts are str or bytes; sketch_tokens of"):
            call()


def test_short_documents_are_refused_by_their_position() -> None:
    strict = nd.MinHasher(4, shingling=nd.Shingling(width=2, short="error"))
    many = [["a", "b"]] * shingling.TOKENISED
    with pytest.raises(ValueError, match=f"document {shingling.TOKENISED} "):
        strict.sketch_tokens([*many, ["a"]])
    with pytest.raises(ValueError, match="document 0 "):
        strict.sketch("a")
