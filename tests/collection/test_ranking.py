"""Pairs ranked by winnowed fingerprints, beside brute force (`ndcore.reference.collection`)."""

from __future__ import annotations

import io
import random
import tokenize
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.collection import ranking as module
from ndcore.reference.collection import CommonFingerprints
from ndcore.reference.collection import rank_pairs as reference

WINNOWER = nd.Winnower(window=3, shingling=nd.Shingling(width=2))


def selected(sketches: nd.Winnowed) -> list[list[tuple[int, int]]]:
    return [list(zip(sketches[i].tolist(), [0] * len(sketches[i]), strict=True)) for i in range(len(sketches))]


def agrees(texts: Sequence[str], most: int, exceptions: Sequence[str] | None = None) -> nd.Ranking:
    found = nd.rank_pairs(texts, WINNOWER, max_holders=most, exceptions=exceptions)
    expected = reference(selected(WINNOWER.sketch_many(texts)), most, selected(WINNOWER.sketch_many(exceptions or [])))
    overlaps = found.pairs.overlaps
    columns = (found.pairs.a, found.pairs.b, overlaps.common, overlaps.in_a, overlaps.in_b)
    assert [CommonFingerprints(*row) for row in zip(*(column.tolist() for column in columns), strict=True)] == expected
    return found


@settings(max_examples=60)
@given(st.integers(0, 10**9), st.integers(2, 6), st.integers(1, 30), st.booleans())
def test_random_documents(seed, most, vocabulary, excepted):
    rng = random.Random(seed)
    texts = [" ".join(str(rng.randrange(vocabulary)) for _ in range(rng.randrange(20))) for _ in range(rng.randrange(12))]
    agrees(texts, most, texts[:2] if excepted else None)


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


def test_bad_parameters():
    for bad in (0, 1, 2**32):
        with pytest.raises(ValueError, match="max_holders"):
            nd.rank_pairs(["a"], max_holders=bad)
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
