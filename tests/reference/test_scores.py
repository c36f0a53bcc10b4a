"""Scores of the reference, by hand."""

from __future__ import annotations

import math

import pytest

from ndcore.reference.dedup import Read, accepted_pairs, count_shingles, score, weighted_prefix_lengths


def read(*shingles: str, group: int = 0, key: int = 0) -> Read:
    return Read(b"", b"", b"", frozenset(shingles), group, key)


def test_containment_has_a_direction():
    a, b = {1, 2, 3, 4}, {3, 4, 5}
    assert score(a, b, "resembling") == score(b, a, "resembling") == 2 / 5
    assert (score(a, b, "contained"), score(b, a, "contained")) == (2 / 4, 2 / 3)
    assert math.isnan(score(set(), b, "contained")) and math.isnan(score(set(), set(), "resembling"))


def test_pairs_agree_in_label_key_and_size():
    reads = [read("x", "y"), read("x", "y", "z"), read("x", "y", group=1), read("x", "y", key=1), read("x")]
    counted = count_shingles(reads, range(5), range(5), None)
    pairs = accepted_pairs(reads, counted, range(5), 5, 0.5, "resembling", 2)
    assert [(pair.a, pair.b, pair.score) for pair in pairs] == [(0, 1, 2 / 3)]
    pairs = accepted_pairs(reads, counted, range(5), 5, 0.5, "resembling", 0)
    assert [(pair.a, pair.b) for pair in pairs] == [(0, 1), (0, 4)]
    assert accepted_pairs(reads, counted, range(5), 0, 0.5, "resembling", 0) == []  # all are of the other side


@pytest.mark.parametrize(("n", "common"), [(19, 0), (20, 1)])
def test_a_common_shingle_has_twenty_leaders(n, common):
    reads = [read("menu", f"own {i}") for i in range(n)]
    counted = count_shingles(reads, range(n), range(n), 0.5)
    assert len(counted.common) == common and len(counted.shingles[0]) == 2 - common


def test_weights_by_hand():
    weigh = {1: 1, 2: 2, 3: 10, 4: 7}.__getitem__
    assert score({1, 2, 3}, {2, 3, 4}, "resembling", weigh) == 12 / 20
    assert score({1, 2, 3}, {2, 3, 4}, "contained", weigh) == 12 / 13
    assert score({2, 3, 4}, {1, 2, 3}, "contained", weigh) == 12 / 19
    # The rarest first: 3, 2, 1. What is left weighs 13, 3 and 1 of 13, and the bounds are 13/13, 3/23 and 1/25.
    count = {1: 9, 2: 5, 3: 2}
    lengths = [weighted_prefix_lengths({1, 2, 3}, count, weigh, threshold) for threshold in (1.0, 0.5, 0.2, 0.1, 0.04)]
    assert lengths == [(1, 1), (1, 1), (2, 1), (2, 2), (3, 3)]
