"""Passages of two texts: literals, and which tokens are shared by brute force."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.alignment import tiling
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
        shared = [p.number > 0 and not p.short for p in own for _ in range(p.first, p.last)]
        assert shared == brute_force(text, other, width, labelled, short)
        for p in own:
            assert reference_text.tokens(text[p.start : p.end]) == tokens[p.first : p.last]
            assert text[p.start : p.end].strip(" ") == text[p.start : p.end]
            assert p.last - p.first < width or not p.short
            if p.number and not p.repeat:
                assert name not in originals.setdefault(p.number, {})
                originals[p.number][name] = tokens[p.first : p.last]
        assert not any(not one.number and not two.number for one, two in itertools.pairwise(own))
    assert sorted(originals) == list(range(1, len(originals) + 1))
    short = [p.number for p in found.a if p.short]
    assert sorted(short) == sorted(p.number for p in found.b if p.short)
    assert sorted(short) == list(range(1 + len(originals) - len(short), 1 + len(originals)))
    for number, both in originals.items():
        assert number not in short or both["a"] == both["b"]
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


def marked(a: str, b: str, shingling: nd.Shingling) -> list[list[str]]:
    """Return the passages of both texts: short ones as =text, those of one text alone as -text, shared ones as N text."""
    found = nd.passages(a, b, shingling)
    return [
        [("=" if p.short else "-" if not p.number else f"{p.number} ") + text[p.start : p.end] for p in own]
        for text, own in zip((a, b), found, strict=True)
    ]


def test_equal_runs_shorter_than_a_shingle() -> None:
    """One changed word breaks the shingles of five words around it: the words beside it are equal all the same."""
    five = nd.Shingling(width=5)
    assert marked("the tenant shall pay Monday", "the tenant shall pay Tuesday", five) == [
        ["=the tenant shall pay", "-Monday"], ["=the tenant shall pay", "-Tuesday"]]
    assert marked("a b c d e X f g h Y i j k l m", "a b c d e P f g h Q i j k l m", five) == [
        ["1 a b c d e", "-X", "=f g h", "-Y", "2 i j k l m"], ["1 a b c d e", "-P", "=f g h", "-Q", "2 i j k l m"]]
    moved = "a b c d e X f g Y i j k l m", "a b c d e P f g Q i j k l m"
    long = "one two three four five six seven eight nine ten eleven twelve"
    assert marked(f"{moved[0]} {long}", f"{long} {moved[1]}", five)[1] == [
        f"3 {long}", "1 a b c d e", "-P", "=f g", "-Q", "2 i j k l m"]
    assert marked(f"the committee met on Monday to discuss the roof of the hall {long}",
                  f"{long} the committee met on Friday to discuss the roof of the hall", five)[1] == [
        f"2 {long}", "=the committee met on", "-Friday", "1 to discuss the roof of the hall"]
    assert marked("the cat the dog", "the mouse the dog the end", five) == [
        ["=the", "-cat", "=the dog"], ["=the", "-mouse", "=the dog", "-the end"]]


def test_equal_characters_are_half_a_shingle() -> None:
    four = nd.Shingling(unit="char", width=4)
    assert marked("abxyz", "abpqr", four) == [["=ab", "-xyz"], ["=ab", "-pqr"]]
    assert marked("axyz", "apqr", four) == [["-axyz"], ["-apqr"]]
    assert marked("axyz", "apqr", nd.Shingling(unit="char", width=2)) == [["=a", "-xyz"], ["=a", "-pqr"]]


def test_hostile_texts_are_aligned_in_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the steps of comparisons: "a a x a a y …" has a gap in every place, "a b a b" equal tokens in every place."""
    steps = 0
    counted = tiling._Tiling._equal_run

    def equal_run(self: Any, side: int, i: int, j: int) -> int:
        nonlocal steps
        length = counted(self, side, i, j)
        steps += 1 + length
        return length

    monkeypatch.setattr(tiling._Tiling, "_equal_run", equal_run)
    for n in (500, 2000):
        for a, b in (
            (" ".join(f"a a {i}" for i in range(n)), " ".join(f"a a b{i}" for i in range(n))),
            ("a b " * n + "x", "b a y " * n), ("a " * n, "b a " * n),
            (" ".join(f"w{i}" for i in range(2 * n)), " ".join(f"w{i}" for i in reversed(range(2 * n)))),
        ):
            steps = 0
            nd.passages(a, b)
            assert steps < 40 * n


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
    with pytest.raises(ValueError, match="a callable are in a text is not known; passages are for the units word"):
        nd.passages("a", "b", nd.Shingling(unit=str.split))
