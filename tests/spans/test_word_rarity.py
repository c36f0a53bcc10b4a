"""Rarity of words: brute force, a bounded sample, verdicts of common words, reasons."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import ndcore as nd
from ndcore.spans import word_rarity

COMMON = "it is one of the first things that you can do in the"
RARE = "zebras quietly annotate marble observatories beneath turquoise glaciers whenever magnetic lanterns hum in winter"


def by_hand(items: list[list[str]], documents: list[list[str]], covered: list[list[bool]]) -> list[float]:
    """The rarest run of covered words of each item: the sum over its distinct words."""
    n = len(documents)
    holders = {word: sum(word in document for document in documents) for item in items for word in item}
    bits = {word: math.log2((n + 1) / (count + 1)) for word, count in holders.items()}
    rarest = []
    for item, flags in zip(items, covered, strict=True):
        best, run = 0.0, set()
        for word, flag in zip([*item, ""], [*flags, False], strict=True):
            run = run | {word} if flag else set()
            best = max(best, sum(bits[each] for each in run))
        rarest.append(best)
    return rarest


@pytest.mark.parametrize("threads", [1, 2])
def test_rarity_by_hand(threads):
    rng = random.Random(7)
    for _ in range(100):
        items, documents = ([[f"w{rng.randrange(6)}" for _ in range(rng.randrange(9))] for _ in range(5)] for _ in range(2))
        result = nd.contamination(map(" ".join, items), map(" ".join, documents), 2, min_rarity=0, threads=threads)
        covered = []
        for item in items:
            flags = [False] * len(item)
            size = min(2, len(item))
            for at in range(len(item) - size + 1):
                run = item[at : at + size]
                if any(document[i : i + size] == run for document in documents for i in range(len(document))):
                    flags[at : at + size] = [True] * size
            covered.append(flags)
        np.testing.assert_allclose(result.rarity, by_hand(items, documents, covered), atol=1e-9)
        assert result.sampled == 5


def test_token_ids_as_texts():
    items, corpus = ["1 2 3", "4 5"], ["1 2 3 4", "4 5", "6"]
    of_ids = [(np.array(" ".join(texts).split(), np.uint16), np.cumsum([0, *(len(text.split()) for text in texts)]))
              for texts in (items, corpus)]
    a, b = nd.contamination(items, corpus, 2, min_rarity=1), nd.contamination(*of_ids, 2, min_rarity=1)
    np.testing.assert_allclose(a.rarity, b.rarity)
    assert a.contaminated().tolist() == b.contaminated().tolist() == [True, True]


@pytest.mark.parametrize(("name", "value"), [("SAMPLED", 10), ("ENTRIES", 25)])
def test_the_sample_is_bounded_and_does_not_depend_on_threads(monkeypatch, name, value):
    monkeypatch.setattr(word_rarity, name, value)
    corpus = [f"a b {i % 3} c {i}" for i in range(100)]
    results = [nd.contamination(["a b", "0 c"], given, 2, min_rarity=0, threads=threads)
               for given, threads in ((corpus, 1), (iter(corpus), 2), (corpus, 3))]
    sampled = {result.sampled for result in results}
    assert len(sampled) == 1 and 4 <= sampled.pop() <= 10
    for result in results[1:]:
        np.testing.assert_array_equal(result.rarity, results[0].rarity)


def test_common_words_are_no_verdict():
    corpus = [f"{COMMON} {i}" for i in range(300)] + [f"Quiz: {RARE}."]
    result = nd.contamination([COMMON, RARE, "never"], corpus, 12, min_rarity=20)
    assert result.contaminated().tolist() == [False, True, False]
    assert result.matched().tolist() == [True, True, False] and result.is_rare().tolist() == [False, True, False]
    assert nd.contamination([COMMON, RARE], corpus, 12).contaminated().tolist() == [True, True]
    assert nd.contamination([COMMON, RARE], corpus, 12, min_rarity=0).contaminated().tolist() == [True, True]
    common, rare, never = result.explain_all()
    assert common == "not contaminated; 13 of 13 tokens (100 %), common words only: rarity 0.1 bits, below 20"
    assert rare.startswith("contaminated; 14 of 14 tokens (100 %), rarity 9") and never == "not contaminated; 0 of 1 token"


def test_short_answers_need_no_rarity_and_questions_do():
    items = [{"q": RARE, "a": "yes"}, {"q": COMMON, "a": "yes"}]
    corpus = [f"{COMMON} yes {i}" for i in range(300)] + [f"Quiz: {RARE}? Yes."]
    result = nd.field_contamination(items, corpus, ["q", "a"], 12, near=3, min_rarity=20)
    assert result.found().tolist() == [[True, True], [False, True]]
    assert result.contaminated(require=["q", "a"]).tolist() == [True, False]
    assert "q (required): 13 of 13 tokens (100 %), common words only" in result.explain(1, require=["q", "a"])


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "20"])
def test_refusals(value):
    with pytest.raises(ValueError, match=r"min_rarity is .*; give a number of bits"):
        nd.contamination(["a"], ["a"], min_rarity=value)


def test_nothing():
    assert nd.contamination([], ["a"], min_rarity=1).rarity.shape == (0,)
    assert nd.contamination(["a", ""], [], min_rarity=1).rarity.tolist() == [0, 0]
    assert nd.contamination(["a"], ["a"]).rarity is None
