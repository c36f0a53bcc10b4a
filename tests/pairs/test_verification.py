"""Pairs with their scores."""

from __future__ import annotations

import pickle

import numpy as np

import ndcore as nd
from ndcore.pairs.scored import Scored

WORDS = nd.Shingling(width=1)
PAIRS = Scored(np.array([0, 0, 2]), np.array([1, 2, 3]), np.array([0.5, 0.2, 0.9]), np.array([1.0, 0.3, np.nan]),
               np.array([0.6, 0.2, np.nan]))


def test_scores_have_two_directions():
    assert PAIRS.score[:2].tolist() == [1.0, 0.3]
    assert PAIRS.accepted(0.8).a.tolist() == [0] and PAIRS.accepted(0.3).b.tolist() == [1, 2]
    members, others, scores = PAIRS.joins(0.6)
    assert list(zip(members.tolist(), others.tolist(), scores.tolist(), strict=True)) == [(0, 1, 1.0), (1, 0, 0.6)]


def test_merging_sorts_and_drops_repeats():
    other = PAIRS.where(np.array([False, True, False]))._replace(a=np.array([0]), b=np.array([1]))
    merged = Scored.merged([PAIRS.where(np.array([2, 0])), PAIRS, other], 4)
    assert list(zip(merged.a.tolist(), merged.b.tolist(), strict=True)) == [(0, 1), (0, 2), (2, 3)]
    assert len(Scored.merged([], 4).a) == 0


def test_pickles_stay_read_only():
    copy = pickle.loads(pickle.dumps(PAIRS))
    assert copy.a.tolist() == PAIRS.a.tolist() and not copy.of_a.flags.writeable


def test_an_excerpt_is_contained_one_way():
    text = " ".join(f"w{i}" for i in range(100))
    excerpt = " ".join(f"w{i}" for i in range(40, 70)) + " x y"  # 30 of its 32 words
    result = nd.near_duplicates([text, excerpt], shingling=WORDS, drop="contained")
    assert result.labels.tolist() == [0, 0] and result.classes.tolist() == ["kept", "contained"]
    assert (result.score[1], result.resemblance[1]) == (30 / 32, 30 / 102)
    assert (result.pair_scores.tolist(), result.pair_classes.tolist()) == ([30 / 32], ["contained"])
    assert nd.near_duplicates([excerpt, text], shingling=WORDS, drop="contained").labels.tolist() == [0, 1]
    longest = nd.near_duplicates([excerpt, text], shingling=WORDS, drop="contained", keep="longest")
    assert longest.labels.tolist() == [1, 1] and longest.explain(0, 1).scores == (30 / 32, 30 / 100)
    assert longest.rethreshold(30 / 32).labels.tolist() == [1, 1] and longest.rethreshold(0.95).labels.tolist() == [0, 1]


def test_of_several_the_one_that_holds_most():
    texts = ["a b c d e f g h x", "a b c d e f g h i j k l m n", "a b c d e f g h i"]
    result = nd.near_duplicates(texts, shingling=WORDS, drop="contained")
    assert result.labels.tolist() == [0, 1, 1] and result.score.tolist() == [1.0, 1.0, 1.0]
