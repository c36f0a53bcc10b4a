"""What drops cost: shingles that no kept document has."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ndcore as nd
from ndcore.dedup import comparison as lost
from ndcore.dedup.comparison import count_lost
from ndcore.pairs.shingle_sets import ShingleSets

WORDS = nd.Shingling(width=1)


def sets_of(members: list[set[int]]) -> ShingleSets:
    sets = ShingleSets(WORDS, len(members), tokens=False, threads=1)
    values = np.array([value for each in members for value in sorted(each)], np.uint64)
    sets.append(np.arange(len(members)), values, np.cumsum([0, *map(len, members)]))
    return sets


def test_what_no_kept_document_has_is_lost():
    # 1 is dropped and has x, which nobody keeps, and y, which 2 keeps; 3 is dropped with x as well.
    texts = ["a b c d e f g h", "a b c d e f g h x y", "y z", "a b c d e f g h x"]
    result = nd.near_duplicates(texts, shingling=WORDS, threshold=0.7, lost=True)
    assert result.labels.tolist() == [0, 0, 2, 0] and result.lost.tolist() == [0, 1, 0, 1]
    assert nd.near_duplicates(texts, shingling=WORDS, threshold=0.7).lost is None
    higher = result.rethreshold(0.85)  # 1 is kept, being 8 of 10 with 0; 3 is 9 of 10 with 1, and has nothing of its own
    assert higher.labels.tolist() == [0, 1, 2, 1] and higher.lost.tolist() == [0, 0, 0, 0]


def test_versions_equal_documents_and_the_other_side_count():
    texts = ["a b c d", "p q r s", "A b, c d", "x a b c d"]
    old = ["q", "x a b c d y"]
    result = nd.near_duplicates(texts, shingling=WORDS, one_per=[1, 1, 2, 3], against=old, threshold=0.8, lost=True)
    assert result.classes.tolist() == ["kept", "version", "lexical", "near"]
    assert result.lost.tolist() == [0, 3, 0, 0]  # q is kept on the other side


def test_versions_of_a_document_without_shingles():
    texts = ["...", "a b c", "b c d"]
    alone = nd.near_duplicates(texts[:2], shingling=WORDS, one_per=[1, 1], lost=True)
    assert alone.lost.tolist() == [0, 3]
    result = nd.near_duplicates(texts, shingling=WORDS, one_per=[1, 1, 2], lost=True)
    assert result.classes.tolist() == ["kept", "version", "kept"] and result.lost.tolist() == [0, 1, 0]


@pytest.mark.parametrize("sought", [1 << 25, 40, 7])
def test_as_sets_say(monkeypatch, sought):
    monkeypatch.setattr(lost, "SOUGHT", sought)
    rng = random.Random(5)
    members = [{rng.randrange(300) * 2**55 + 3 for _ in range(rng.randrange(40))} for _ in range(60)]
    state = [rng.choice("kd.") for _ in members]
    dropped, kept = (np.flatnonzero([each == letter for each in state]) for letter in "dk")
    union = set().union(*(members[k] for k in kept))
    wanted = [len(members[d] - union) for d in dropped]
    assert sum(wanted) > 20
    representatives = np.array([rng.choice(kept.tolist()) for _ in dropped])
    assert count_lost(sets_of(members), dropped, representatives, np.isin(np.arange(60), kept)).tolist() == wanted
