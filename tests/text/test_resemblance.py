"""Exact resemblance and containment of two texts, against the reference."""

from __future__ import annotations

import math

import pytest
from generated import texts
from hypothesis import given

import ndcore as nd
from ndcore.reference import resemblance, shingling
from ndcore.text.resemblance import overlap
from ndcore.text.shingling import given_shingling


@given(texts, texts)
@pytest.mark.parametrize("unit", ["word", "char", "byte", "line"])
@pytest.mark.parametrize("labelled", [False, True])
def test_counts_are_those_of_the_sets(unit, labelled, a, b):
    sets = [set(shingling.fingerprints(text, unit=unit, width=2, labelled=labelled)) for text in (a, b)]
    found = overlap(a, b, nd.Shingling(unit, 2, labelled))
    assert found == (len(sets[0] & sets[1]), len(sets[0]), len(sets[1]))
    for ours, theirs in ((found.resemblance, resemblance.resemblance), (found.containment, resemblance.containment)):
        assert ours == theirs(*sets) or (math.isnan(ours) and math.isnan(theirs(*sets)))


def test_long_texts():
    a, b = (" ".join(str(i * i) for i in range(*bounds)) for bounds in ((0, 40_000), (10_000, 90_000)))
    assert overlap(a, b) == (29_996, 39_996, 79_996)
    assert nd.containment(a, b) == 29_996 / 39_996


@pytest.mark.parametrize("pair", [("a b", 3), (None, "a b")])
def test_what_is_no_text_is_refused_with_its_position(pair):
    position = 1 - isinstance(pair[1], str)
    with pytest.raises(TypeError, match=f"document {position} is .*; texts are str or bytes"):
        nd.resemblance(*pair)


def test_short_texts_are_refused_with_their_position():
    with pytest.raises(ValueError, match="document 1 has 2 tokens, fewer than a shingle of 3; short='whole' or 'skip'"):
        nd.resemblance("one two three", "one two", nd.Shingling(width=3, short="error"))


def test_the_default_shingling_is_made_once():
    assert given_shingling(None) is given_shingling(None) == nd.Shingling()
    assert nd.MinHasher().shingling is nd.BottomSketcher().shingling
