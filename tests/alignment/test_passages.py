"""Passages of two texts: literals, and which tokens are shared by brute force."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import shingling as reference
from ndcore.reference import text as reference_text

WORDS = st.lists(st.sampled_from("abcd"), max_size=30)


def numbered(text: Any, found: list[nd.Passage]) -> list[tuple[Any, int]]:
    return [(text[p.start : p.end], p.number) for p in found]


def brute_force(a: str, b: str, width: int, labelled: bool, short: str) -> list[bool]:
    """Tell of every token of a whether it is in a shingle that b has too."""
    def shingles(text: str) -> list[Any]:
        plain = reference.shingles(reference_text.tokens(text), width, short)
        return list(zip(plain, reference.occurrences(plain), strict=True)) if labelled else plain

    tokens = reference_text.tokens(a)
    shared = [False] * len(tokens)
    theirs = set(shingles(b))
    for i, shingle in enumerate(shingles(a)):
        if shingle in theirs:
            shared[i : i + width] = [True] * len(shared[i : i + width])
    return shared


def check(a: str, b: str, width: int, labelled: bool = False, short: str = "whole") -> None:
    found = nd.passages(a, b, nd.Shingling(width=width, labelled=labelled, short=short))
    originals: dict[int, dict[str, list[bytes]]] = {}
    for name, text, other, own in (("a", a, b, found.a), ("b", b, a, found.b)):
        tokens = reference_text.tokens(text)
        assert [i for p in own for i in range(p.first, p.last)] == list(range(len(tokens)))
        shared = [p.number > 0 for p in own for _ in range(p.first, p.last)]
        assert shared == brute_force(text, other, width, labelled, short)
        for p in own:
            assert reference_text.tokens(text[p.start : p.end]) == tokens[p.first : p.last]
            assert text[p.start : p.end].strip(" ") == text[p.start : p.end]
            if p.number and not p.repeat:
                assert name not in originals.setdefault(p.number, {})
                originals[p.number][name] = tokens[p.first : p.last]
        assert not any(not one.number and not two.number for one, two in itertools.pairwise(own))
    assert list(originals) == list(range(1, len(originals) + 1))
    for both in originals.values():
        short_one, long_one = sorted(both.values(), key=len)  # of a block's first tokens, an earlier passage has some
        assert long_one[len(long_one) - len(short_one) :] == short_one
        assert len(long_one) - len(short_one) < width
    assert all(p.number in originals for p in [*found.a, *found.b] if p.number)


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("width", [1, 2, 3])
@given(a=WORDS, b=WORDS)
def test_passages_by_brute_force(width: int, labelled: bool, a: list[str], b: list[str]) -> None:
    check(" ".join(a), " ".join(b), width, labelled)


@given(a=st.lists(st.sampled_from("abc"), max_size=4), b=st.lists(st.sampled_from("abc"), max_size=4))
def test_short_texts(a: list[str], b: list[str]) -> None:
    for short in ("whole", "skip"):
        check(" ".join(a), " ".join(b), 3, short=short)


@given(st.lists(st.sampled_from(["one two three four", "x y z", "p q r s t u", "lone"]), max_size=8), st.randoms())
def test_moved_and_repeated_blocks(blocks: list[str], random: Any) -> None:
    moved = blocks[:]
    random.shuffle(moved)
    check(" | ".join(blocks), " | ".join(moved + moved[:2]), 3)


def test_units_by_brute_force() -> None:
    a, b = "The cat\nsat\non the mat\n", "on the mat\nThe CAT\nsat"
    for unit, width in (("char", 4), ("line", 1), ("byte", 3)):
        sh = nd.Shingling(unit=unit, width=width)
        theirs = set(sh.shingles(b))
        shared: set[int] = set()
        for i, shingle in enumerate(sh.shingles(a)):
            if shingle in theirs:
                shared |= set(range(i, i + width))
        found = nd.passages(a, b, sh).a
        assert {i for p in found if p.number for i in range(p.first, p.last)} == shared


def test_passages_by_hand() -> None:
    a, b = "Old news: one two three. FOUR five six", "four, five six! And one two -- three"
    found = nd.passages(a, b, nd.Shingling(width=3))
    assert numbered(a, found.a) == [("Old news", 0), ("one two three", 1), ("FOUR five six", 2)]
    assert numbered(b, found.b) == [("four, five six", 2), ("And", 0), ("one two -- three", 1)]
    repeated = nd.passages("a b c x a b c", "a b c", nd.Shingling(width=3))
    assert [(p.number, p.repeat) for p in repeated.a] == [(1, False), (0, False), (1, True)]
    labelled = nd.passages("a b c x a b c", "a b c", nd.Shingling(width=3, labelled=True))
    assert [(p.number, p.repeat) for p in labelled.a] == [(1, False), (0, False)]
    assert nd.passages("", "a b") == ([], [nd.Passage(0, 3, 0, 2, 0, False)])
    assert nd.passages("a b", "A, b!") == ([nd.Passage(0, 3, 0, 2, 1, False)], [nd.Passage(0, 4, 0, 2, 1, False)])
    with pytest.raises(ValueError, match="document 1 has 1 tokens, fewer than a shingle of 2"):
        nd.passages("a b c", "a", nd.Shingling(width=2, short="error"))


def test_texts_of_two_kinds() -> None:
    a, b = "é one two", "ê one two".encode()
    found = nd.passages(a, b, nd.Shingling(width=2))
    assert numbered(a, found.a) == [("é", 0), ("one two", 1)]
    assert numbered(b, found.b) == [("ê".encode(), 0), (b"one two", 1)]


def test_identical_texts_are_one_passage() -> None:
    text = " ".join(re.findall(r"\w+", __doc__ or "") * 50)
    found = nd.passages(text, text)
    assert found.a == found.b == [nd.Passage(0, len(text), 0, len(text.split()), 1, False)]


def test_callables_have_no_places() -> None:
    with pytest.raises(ValueError, match="a callable stand in a text is not known; passages are for the units word"):
        nd.passages("a", "b", nd.Shingling(unit=str.split))
