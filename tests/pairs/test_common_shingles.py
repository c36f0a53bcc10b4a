"""Shingles of many documents, which count for nothing."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import ndcore as nd
from ndcore.pairs import common_shingles
from ndcore.pairs.common_shingles import CommonShingles

WORDS = nd.Shingling(width=1)


def pages(n: int, menu: str = "home news shop help jobs", own: int = 5) -> list[str]:
    return [f"{menu} " + " ".join(f"w{i}x{k}" for k in range(own)) for i in range(n)]


def test_a_menu_counts_for_nothing():
    # Pages of five words of their own under a menu of five: each resembles each other by 5 of 15.
    texts = pages(30)
    assert nd.near_duplicates(texts, shingling=WORDS, threshold=0.3).kept.tolist() == [0]
    result = nd.near_duplicates(texts, shingling=WORDS, threshold=0.3, drop_common=0.5)
    assert len(result.kept) == 30 and result.common_shingles == 5
    texts[7] = texts[3] + " more"  # the same but for one word: 5 of 6 that count, 10 of 11 in all
    result = nd.near_duplicates(texts, shingling=WORDS, threshold=0.8, drop_common=0.5)
    assert result.labels[7] == 3 and (result.score[7], result.resemblance[7]) == (5 / 6, 10 / 11)
    pair = result.explain(7, 3)
    assert pair.scores == (5 / 6, 5 / 6) and pair.verdict == "near" and "score 0.833333" in str(pair)
    assert result.explain(0, 1).verdict == "different"


@pytest.mark.parametrize(("n", "common"), [(19, 0), (20, 5)])
def test_twenty_classes_are_needed(n, common):
    texts = pages(n)
    assert nd.near_duplicates(texts, shingling=WORDS, threshold=0.3, drop_common=0.05).common_shingles == common
    many = texts + [texts[0]] * 30  # copies are more documents of one class
    assert nd.near_duplicates(many, shingling=WORDS, threshold=0.3, drop_common=0.05).common_shingles == common


def test_more_documents_have_a_shingle_than_a_counter_counts_to():
    texts = pages(20)
    many = texts + [texts[0]] * (1 << 17)  # copies count; counters have 16 bits
    assert nd.near_duplicates(many, shingling=WORDS, threshold=0.3, drop_common=0.999).common_shingles == 5


def test_the_share_is_of_documents_and_exceeded():
    # The menu is on 20 of 40 documents: not more than a half.
    texts = pages(20) + [f"other {i} v{i}" for i in range(20)]
    found = [nd.near_duplicates(texts, shingling=WORDS, drop_common=share).common_shingles for share in (0.5, 0.499)]
    assert found == [0, 6]  # and "other"


def test_each_label_has_its_own():
    # Two hosts with 20 pages each; the words of one menu are ordinary words on the other host.
    texts = pages(20) + [f"top home tail y{i} z{i}" if i < 5 else f"top tail y{i} z{i}" for i in range(20)]
    result = nd.near_duplicates(texts, shingling=WORDS, threshold=0.2, drop_common=0.5, by=["a"] * 20 + ["b"] * 20)
    assert result.common_shingles == 7  # five and two: "home" counts on the second host
    assert len(result.kept) == 40 - 4 and result.labels[20:25].tolist() == [20] * 5


def test_a_document_of_common_shingles_alone_resembles_none():
    texts = [*pages(25), "home news", "news home", "home shop"]
    result = nd.near_duplicates(texts, shingling=WORDS, threshold=0.1, drop_common=0.5)
    assert len(result.kept) == 28


def test_values_are_common_in_their_group():
    common = CommonShingles(np.array([3, 9, 3], np.uint64), np.array([0, 0, 2]))
    values, groups = np.array([3, 3, 3, 9, 9, 4], np.uint64), np.array([0, 1, 2, 0, 2, 0])
    assert common.holds(values, groups).tolist() == [True, False, True, True, False, False]
    assert CommonShingles(values[:0], groups[:0]).holds(values, groups).tolist() == [False] * 6 and len(common) == 3


@pytest.mark.parametrize("tallied", [1 << 22, 10])
@pytest.mark.parametrize("cells", [1 << 28, 4])
def test_as_counted_by_hand(monkeypatch, tallied, cells):
    monkeypatch.setattr(common_shingles, "TALLIED", tallied)
    monkeypatch.setattr(common_shingles, "MOST_CELLS", cells)
    rng = random.Random(11)
    texts = [" ".join(sorted({f"w{int(rng.expovariate(0.1))}" for _ in range(30)})) for _ in range(120)]
    distinct = list(dict.fromkeys(texts))
    assert len(distinct) == len(texts)
    holders = Counter(word for text in texts for word in text.split())
    wanted = sum(count > 0.3 * len(texts) and count >= 20 for count in holders.values())
    assert 5 < wanted < len(holders)
    assert nd.near_duplicates(texts, shingling=WORDS, drop_common=0.3).common_shingles == wanted
