"""Two texts compared: figures of the whole texts, passages of their beginnings where a bound is given."""

from __future__ import annotations

import pytest
from commands import text

import ndcore as nd
from ndcore.report.comparison import as_json, compare

WIDTH = nd.Shingling(width=3)


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (text(1), text(1), "identical"), (text(1), text(1).upper(), "lexical"), ("", "", "identical"), ("", "!", "none"),
        ("a b a b a", "b a b a b", "shingle"), (text(1), text(1, 1), "near"), (text(1), text(2), "different"),
    ],
)
def test_verdicts(a: str, b: str, verdict: str) -> None:
    assert compare(a, b, ("A", "B"), WIDTH, 0.5).verdict == verdict


def test_passages_of_the_beginning_only() -> None:
    a, b = text(1) + " " + text(2), text(1)
    bound = len(b)
    found = compare(a, b, ("A", "B"), WIDTH, 0.5, bound)
    assert found.exact == compare(a, b, ("A", "B"), WIDTH, 0.5).exact
    assert (found.a.shown, found.b.shown) == (a[:bound], b)
    assert [p.number for p in found.passages.a] == [1]
    assert found.a.note == f"passages of its first {bound:,} characters only" and found.b.note == ""
    assert found.a.tokens is None and found.b.tokens == len(b.split())
    assert as_json(found)["a"]["tokens"] is None and as_json(found)["a"]["length"] == len(a)


def test_a_bound_does_not_refuse_short_texts() -> None:
    strict = nd.Shingling(width=3, short="error")
    assert compare(text(1), text(1, 1), ("A", "B"), strict, 0.5, 8).passages.a


def test_a_character_is_not_cut() -> None:
    found = compare("é".encode() * 40, b"e" * 80, ("A", "B"), WIDTH, 0.5, 5)
    assert found.a.shown == "éé".encode()
    assert found.a.note == "passages of its first 4 bytes only"
