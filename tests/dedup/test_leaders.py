"""Which documents are equal, and the keys that keep documents apart."""

from __future__ import annotations

import pytest

import ndcore as nd
from ndcore.text.inputs import Extracted

WORDS = nd.Shingling(width=1)
TEN = "one two three four five six seven eight nine"


def test_numbers_keep_near_duplicates_apart():
    texts = [f"{TEN} 10", f"{TEN} 11", f"{TEN} 10 again"]
    assert nd.near_duplicates(texts, shingling=WORDS).labels.tolist() == [0, 0, 0]
    result = nd.near_duplicates(texts, shingling=WORDS, must_agree="numbers")
    assert result.labels.tolist() == [0, 1, 0] and result.rules.must_agree == ("numbers",)
    told = result.explain(1, 0)
    apart = "they do not agree in numbers (only document 0 has '10', only document 1 has '11')"
    assert told.verdict == "different" and told.apart == apart
    assert f"kept apart: {apart}" in str(told)


def test_lexical_documents_are_kept_apart_but_identical_ones_never():
    # A key that differs on every call: only what is the same to the byte stays together.
    calls = iter(range(100))
    texts = [TEN, TEN.title(), TEN, "...", "..."]
    result = nd.near_duplicates(texts, shingling=WORDS, must_agree=lambda text: next(calls), threads=1)
    assert result.labels.tolist() == [0, 1, 0, 3, 3]
    assert result.classes.tolist() == ["kept", "kept", "identical", "kept", "identical"]
    together = nd.near_duplicates(texts, shingling=WORDS, must_agree=len)
    assert together.labels.tolist() == [0, 0, 0, 3, 3] and together.classes[1] == "lexical"


def test_the_key_of_the_first_identical_document_counts():
    # Two pages with the same text and different titles are identical; a third with the second title is not lexical to them.
    pages = [Extracted.of(text, f"<title>{title}</title>", page_title=title)
             for text, title in [(TEN, "a"), (TEN, "b"), (TEN.upper(), "b"), (TEN.title(), "a")]]
    result = nd.near_duplicates(pages, shingling=WORDS, must_agree="title")
    assert result.labels.tolist() == [0, 0, 2, 0]


@pytest.mark.parametrize("keys", [["numbers", "negations"], ("negations", "numbers", lambda text: 0)])
def test_several_keys_all_have_to_agree(keys):
    texts = [f"{TEN} 1 is so", f"{TEN} 1 is not so", f"{TEN} 2 is so", f"{TEN} 1 is so so"]
    result = nd.near_duplicates(texts, shingling=WORDS, must_agree=keys)
    assert result.labels.tolist() == [0, 1, 2, 0]


def test_keys_by_and_the_other_side():
    texts = [f"{TEN} 1", f"{TEN} 1 more", f"{TEN} 2 more"]
    assert nd.near_duplicates(texts, shingling=WORDS, must_agree="numbers", by=[1, 2, 2]).labels.tolist() == [0, 1, 2]
    old = nd.near_duplicates(texts, shingling=WORDS, must_agree="numbers", against=[f"{TEN} 2"])
    assert old.labels.tolist() == [0, 0, 3]


def test_short_documents_must_be_equal():
    texts = ["a b c d e", "a b c d e f", "A B C D E", f"{TEN} x", f"{TEN} y"]
    plain = nd.near_duplicates(texts, shingling=WORDS)
    assert plain.labels.tolist() == [0, 0, 0, 3, 3]
    result = nd.near_duplicates(texts, shingling=WORDS, min_shingles=6)
    assert result.labels.tolist() == [0, 1, 0, 3, 3]  # the first has five
    assert result.explain(0, 1).apart == "one has fewer than 6 shingles"
    assert nd.near_duplicates(texts, shingling=WORDS, min_shingles=11).labels.tolist() == [0, 1, 0, 3, 4]
