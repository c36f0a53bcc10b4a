"""Moving dropped documents to the kept one that they resemble most."""

from __future__ import annotations

import numpy as np

import ndcore as nd
from ndcore.pairs.representatives import move_to_best
from ndcore.pairs.scored import Scored

WORDS = nd.Shingling(width=1)


def scored(*rows):
    a, b, of_a, of_b = (np.array(column) for column in zip(*rows, strict=True))
    return Scored(a, b, of_a.astype(float), of_a.astype(float), of_b.astype(float))


def test_the_highest_score_wins_then_keep_order():
    # 0, 2 and 4 are kept; 1 sits with 0 and resembles 4 more; 3 resembles 0 and 2 alike, and 2 comes first in keep order.
    labels = np.array([0, 0, 2, 0, 4])
    pairs = scored((0, 1, 0.8, 0.8), (0, 3, 0.9, 0.9), (1, 4, 0.95, 0.95), (2, 3, 0.9, 0.9))
    rank = np.array([1, 2, 0, 3, 4])
    assert move_to_best(labels, pairs, rank, 0.8).tolist() == [0, 4, 2, 2, 4]
    assert labels.tolist() == [0, 0, 2, 0, 4]


def test_scores_have_a_direction():
    # 1 is contained in 2 (1.0), and 2 in 1 is below the threshold: 1 may move to 2.
    labels = np.array([0, 0, 2])
    assert move_to_best(labels, scored((0, 1, 0.3, 0.9), (1, 2, 1.0, 0.2)), np.arange(3), 0.8).tolist() == [0, 2, 2]
    assert move_to_best(labels, scored((0, 1, 0.3, 0.9), (1, 2, 0.2, 1.0)), np.arange(3), 0.8).tolist() == [0, 0, 2]


def test_a_later_document_that_is_more_alike():
    # The second shares 8 of 10 words with the first, and 9 of 11 with the third, which the first does not resemble enough.
    first = "a b c d e f g h i"
    texts = [first, "a b c d e f g h x y", "c d e f g h x y z a"]
    plain = nd.near_duplicates(texts, shingling=WORDS, threshold=0.7, filter="complete")
    assert plain.labels.tolist() == [0, 0, 2] and plain.resemblance[1] == 8 / 11
    moved = nd.near_duplicates(texts, shingling=WORDS, threshold=0.7, filter="complete", reassign=True)
    assert moved.labels.tolist() == [0, 2, 2] and moved.resemblance[1] == 9 / 11 and moved.classes[1] == "near"
    assert moved.rethreshold(0.8).labels.tolist() == [0, 1, 1]  # the second, 8 / 11 of the first, is kept now
