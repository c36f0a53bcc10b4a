"""Pairs ranked by winnowed fingerprints, beside brute force (`ndcore.reference.collection`)."""

from __future__ import annotations

import io
import random
import tokenize
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.choices import ORDERS
from ndcore.collection import ranking as module
from ndcore.reference.collection import CommonFingerprints
from ndcore.reference.collection import rank_pairs as reference

WINNOWER = nd.Winnower(window=3, shingling=nd.Shingling(width=2))


def selected(sketches: nd.Winnowed) -> list[list[tuple[int, int]]]:
    return [list(zip(sketches[i].tolist(), [0] * len(sketches[i]), strict=True)) for i in range(len(sketches))]


def agrees(
    texts: Sequence[str], most: int, exceptions: Sequence[str] | None = None, threshold: float | None = None,
    by: Any = "common",
) -> nd.Ranking:
    found = nd.rank_pairs(texts, WINNOWER, max_holders=most, exceptions=exceptions, group_threshold=threshold, by=by)
    expected = reference(selected(WINNOWER.sketch_many(texts)), most, selected(WINNOWER.sketch_many(exceptions or [])),
                         threshold, by)
    overlaps = found.pairs.overlaps
    columns = (found.pairs.a, found.pairs.b, overlaps.common, overlaps.in_a, overlaps.in_b)
    assert [CommonFingerprints(*row) for row in zip(*(column.tolist() for column in columns), strict=True)] == expected
    return found


@settings(max_examples=100)
@given(st.integers(0, 10**9), st.integers(2, 6), st.integers(1, 30), st.booleans(),
       st.sampled_from([None, 0.3, 0.7, 1.0]), st.sampled_from(ORDERS))
def test_random_documents(seed, most, vocabulary, excepted, threshold, by):
    rng = random.Random(seed)
    texts = [" ".join(str(rng.randrange(vocabulary)) for _ in range(rng.randrange(20))) for _ in range(rng.randrange(12))]
    texts += [text + " 1 2" * rng.randrange(2) for text in texts if rng.random() < 0.5]
    agrees(texts, most, texts[:2] if excepted else None, threshold, by)


def test_a_ring_is_a_group_and_counts_once():
    essay, part = (" ".join(f"{name}{i}" for i in range(60)) for name in ("essay", "part"))
    texts = [essay, *(f"{essay} end{i} more{i} last{i}" for i in range(12)), f"{part} {essay[:200]}", "another"]
    assert len(agrees(texts, 10)) == 0  # of twelve copies nothing is left
    found = agrees(texts, 10, threshold=0.9)
    assert [group.tolist() for group in found.groups] == [list(range(13))]
    assert found.labels.tolist() == [0] * 13 + [13, 14]
    assert found.pairs.a.tolist() == [0] and found.pairs.b.tolist() == [13]
    assert repr(found) == "<Ranking of 15 documents: 1 pair, 1 group>"
    assert found.resemblances[[0, 13, 14]].tolist() == [1.0] * 3 and 0.9 < found.resemblances.min() < 1


def test_what_only_one_of_a_group_has_is_not_lost():
    """The second of a group copied from a stranger what the first has not."""
    essay, own = (" ".join(f"{name}{i}" for i in range(count)) for name, count in (("essay", 200), ("own", 8)))
    found = agrees([essay, f"{essay} {own}", f"{own} and so on to the end"], 10, threshold=0.9)
    assert found.labels.tolist() == [0, 0, 2]
    assert found.pairs.a.tolist() == [1] and found.pairs.b.tolist() == [2]


def test_what_groups_have_in_common_is_judged_by_groups():
    given = "given to all of them to begin with"
    texts = [f"{given} {' '.join(f'own{i % 5}-{j}' for j in range(30))}" for i in range(20)]
    assert len(agrees(texts, 4, threshold=0.9)) == 0
    assert len(agrees(texts, 5, threshold=0.9)) == 10
    assert set(agrees(texts, 4, threshold=0.9).common.holders.tolist()) == {5}


def test_the_order_of_pairs():
    """Three pairs: the most in common, the largest share, the largest mean share."""
    texts = [" ".join(f"{name}{i}" for i in range(first, last)) for name, first, last in (
        ("x", 0, 90), ("x", 45, 150), ("y", 0, 9), ("z", 0, 40), ("z", 4, 44))]
    texts.append(f"{texts[2]} {' '.join(f'end{i}' for i in range(60))}")
    leading = {by: (found.pairs.a[0], found.pairs.b[0]) for by in ORDERS if (found := agrees(texts, 10, by=by))}
    assert leading == {"common": (0, 1), "larger": (2, 5), "mean": (3, 4)}


def test_blocks_are_of_fingerprints_that_count():
    given, own = "this is given to all of them", "but that was written by one of us"
    texts = [f"{given} alone {own}", f"more {given} more words {own} so", f"{given} {given}"]
    found = nd.rank_pairs(texts, WINNOWER, exceptions=nd.Winnower(1, WINNOWER.shingling).sketch_many([given]))
    words = [text.split() for text in texts]
    blocks = found.blocks(0, 1)
    assert [(words[0][x.first : x.last], x.number) for x in blocks.a] == [
        (words[1][x.first : x.last], x.number) for x in blocks.b]
    assert {word for x in blocks.a for word in words[0][x.first : x.last]} <= set(own.split())
    assert found.blocks(0, 2) == ([], [])
    with pytest.raises(ValueError, match="b is 3; it must be at most 2"):
        found.blocks(0, 3)


def test_many_submissions_of_one_template_are_few_pairs():
    """Ten thousand documents of the same text, which differ a little: one group, or nothing but what is common."""
    template = " ".join(f"t{i}" for i in range(60))
    found = nd.rank_pairs((f"{template} own{i}" for i in range(10_000)), WINNOWER, group_threshold=0.9)
    assert len(found) == 0 and [len(group) for group in found.groups] == [10_000]
    found = nd.rank_pairs((f"{template} {' '.join(f'own{i}x{j}' for j in range(20))}" for i in range(10_000)), WINNOWER,
                          group_threshold=0.9)
    assert len(found) == 0 and found.groups == [] and found.common.holders[0] == 10_000


def test_pairs_are_counted_part_by_part(monkeypatch):
    monkeypatch.setattr(module, "RANGE", 3)
    monkeypatch.setattr(module, "ROOM", 2)
    rng = random.Random(5)
    assert len(agrees([" ".join(str(rng.randrange(9)) for _ in range(15)) for _ in range(40)], 20)) > 300


def test_what_many_documents_have_does_not_count():
    shared = "given to all of them to begin with"
    texts = [f"{shared} {' '.join(f'own{i}-{j}' for j in range(9))}" for i in range(5)]
    texts.append(f"{shared} {' '.join(f'own0-{j}' for j in range(9))} and more")
    found = agrees(texts, 4)
    assert found.pairs.a.tolist() == [0] and found.pairs.b.tolist() == [5]
    assert len(found.common.value) and (found.common.holders == 6).all() and (found.common.example == 0).all()
    assert len(agrees(texts, 6)) == 15
    assert len(agrees(texts, 6, [shared])) < 15


def test_nothing():
    assert len(agrees([], 10)) == len(agrees(["", "a"], 10)) == 0
    assert repr(nd.rank_pairs(["a b c d"] * 2, WINNOWER)) == "<Ranking of 2 documents: 1 pair>"


def test_fingerprints_instead_of_texts():
    texts = ["one two three four five", "zero one two three four"]
    sketches = WINNOWER.sketch_many(texts)
    expected = nd.rank_pairs(texts, WINNOWER, exceptions=["three four five"])
    for exceptions in (["three four five"], WINNOWER.sketch_many(["three four five"])):
        found = nd.rank_pairs(sketches, exceptions=exceptions)
        assert found.sketches is sketches and found.max_holders == 10
        np.testing.assert_array_equal(found.pairs.overlaps.common, expected.pairs.overlaps.common)
        np.testing.assert_array_equal(found.pairs.overlaps.in_a, expected.pairs.overlaps.in_a)


def test_all_shingles_of_an_exception_are_left_out():
    """Beside other words other shingles of the given text are selected than in the given text alone."""
    given = "this is given to all of them"
    texts = [f"{name}1 {given} {name}2 {name}3" for name in "abcd"]
    assert len(nd.rank_pairs(texts, WINNOWER, exceptions=[given])) > 0
    every = nd.Winnower(1, WINNOWER.shingling).sketch_many([given])
    assert len(nd.rank_pairs(texts, WINNOWER, exceptions=every)) == 0


def test_bad_parameters():
    for bad in (0, 1, 2**32):
        with pytest.raises(ValueError, match="max_holders"):
            nd.rank_pairs(["a"], max_holders=bad)
    with pytest.raises(ValueError, match="by must be one of common, larger, mean, got 'share'"):
        nd.rank_pairs(["a"], by="share")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threshold is a resemblance above 0 and at most 1, got 2"):
        nd.rank_pairs(["a"], group_threshold=2)
    with pytest.raises(TypeError, match="texts is None"):
        nd.rank_pairs(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="winnower must be a Winnower or None, got MinHasher"):
        nd.rank_pairs(["a"], nd.MinHasher())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="exceptions are minhash sketches; give documents, or Winnowed"):
        nd.rank_pairs(["a"], exceptions=nd.MinHasher().sketch_many(["a"]))
    other = nd.Winnower(window=4, shingling=nd.Shingling(width=2)).sketch_many(["a b c"])
    with pytest.raises(nd.RecipeMismatch, match="window is 3 here and 4 there"):
        nd.rank_pairs(other, WINNOWER)
    with pytest.raises(nd.RecipeMismatch, match="window is 3 here and 4 there"):
        nd.rank_pairs(WINNOWER.sketch_many(["a b c"]), exceptions=other)


def lexer(program: str) -> list[str]:
    """Read a program: names are one token, numbers another, comments and the layout none."""
    kinds = {tokenize.NAME: "name", tokenize.NUMBER: "0", tokenize.STRING: "''"}
    left_out = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
                tokenize.ENDMARKER}
    return [kinds.get(token.type, token.string) for token in tokenize.generate_tokens(io.StringIO(program).readline)
            if token.type not in left_out]


def test_a_lexer_sees_through_new_names():
    program = "def area(width, height):\n    if width < 0:\n        raise ValueError(width)\n    return [width * height]\n"
    renamed = "def f(a, b):  # mine\n    if a < 1:\n        raise E(a)\n    return [a * b]\n"
    other = "import os\nfor x in os.listdir('.'):\n    print(x.upper(), end='')\n"
    by_lexer = nd.rank_pairs([program, other, renamed], nd.Winnower(4, nd.Shingling(lexer, width=6)))
    assert by_lexer.pairs.a.tolist() == [0] and by_lexer.pairs.b.tolist() == [2]
    assert by_lexer.pairs.overlaps.a_in_b.tolist() == [1.0]
    assert len(nd.rank_pairs([program, other, renamed], nd.Winnower(4, nd.Shingling(width=6)))) == 0
