"""Batches: the verdicts of one call are those of one page after the other."""

from __future__ import annotations

import random

import numpy as np
import pytest
from stores import Both

from ndcore.store.batches import _find_sharing

LETTERS = list("abcdefghij")


@pytest.mark.parametrize("seed", range(3))
def test_a_batch_says_what_single_pages_say(tmp_path, seed):
    rng = np.random.default_rng(seed)
    both = Both(tmp_path, threshold=0.4, width=1, evidence=("text", "shingles", "text")[seed])
    for _ in range(3):
        both.decide_many([(int(rng.integers(0, 30)), " ".join(rng.choice(LETTERS, rng.integers(0, 9))), float(i))
                          for i in range(24)])
    both.check()
    both.store.close()


@pytest.mark.parametrize("seed", range(3))
def test_copies_versions_and_hosts_in_a_batch(tmp_path, seed):
    rng = np.random.default_rng(seed + 10)
    threshold, evidence = ((0.3, "text"), (0.5, "text"), (0.8, "shingles"))[seed]
    both = Both(tmp_path, hosts=seed == 1, threshold=threshold, width=1, evidence=evidence)

    def url(i: int) -> str:
        return f"http://h{i % 3}/{i}"

    for _ in range(3):
        items = []
        for i in range(40):
            text = " ".join(rng.choice(LETTERS, rng.integers(0, 6)))
            items.append((url(int(rng.integers(0, 200))), text.upper() if i % 5 == 0 else text, float(i)))
        both.decide_many(items)
        both.remove(items[0][0])
    both.check()
    both.reopen()
    both.check()
    both.store.close()


A, NEAR_A = "a b c d e f g h", "a b c d e f g h i"


@pytest.mark.parametrize("items", [
    # the representative is another text now, the page that it represented is kept, and a later page resembles that one
    [("x", "other words", 0), ("new", A + " j", 1)],
    [("x", "other words", 0), ("same", NEAR_A, 1), ("upper", NEAR_A.upper(), 2)],
    # a page of the batch represents others of it, and gets another text
    [("p", "m n o p q r s t", 0), ("q", "m n o p q r s t u", 1), ("p", "gone", 2), ("r", "m n o p q r s t v", 3)],
    [("p", "m n o p", 0), ("q", "M n o p", 1), ("q2", "M n o p", 2), ("p", "gone", 3), ("r", "m n o p", 4),
     ("s", "m n o p q", 5)],
    # texts that differ in their order only have the same signature, and other tokens
    [("p", "m n o p", 0), ("q", "p o n m", 1), ("r", "n m o p", 2), ("s", "p o n m", 3), ("t", "m n o p q", 4)],
    # the same page twice: the second one is compared with the first
    [("y", NEAR_A, 0), ("y", NEAR_A.upper(), 1), ("y", "other words", 2), ("y", NEAR_A, 3), ("z", NEAR_A, 4)],
    # pages without shingles, with equal bytes
    [("p", "", 0), ("q", "", 1), ("r", " ", 2), ("p", " ", 3), ("s", "", 4)],
])
def test_what_pages_of_one_batch_do_to_each_other(tmp_path, items):
    both = Both(tmp_path, threshold=0.7, width=1)
    both.decide_many([("x", A, 0.0), ("y", NEAR_A, 0.0)])
    both.decide_many([(key, text, float(date)) for key, text, date in items])
    both.check()
    both.reopen()
    both.check()
    both.store.close()


def test_rows_that_share_features():
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 6, (40, 4)).astype(np.uint64) * np.uint64(4) + np.arange(4, dtype=np.uint64)
    valid = rng.random(40) < 0.9
    for need in (1, 2, 3):
        naive = [(a, b) for b in range(40) for a in range(b)
                 if valid[a] and valid[b] and (rows[a] == rows[b]).sum() >= need]
        a, b = _find_sharing(rows, np.flatnonzero(valid), need)
        assert list(zip(a.tolist(), b.tolist(), strict=True)) == naive
    assert [len(each) for each in _find_sharing(rows[:0], np.arange(0), 1)] == [0, 0]


@pytest.mark.parametrize(("evidence", "options"), [
    ("text", {}), ("shingles", {}), ("text", {"must_agree": ["numbers"]}), ("text", {"min_shingles": 28}),
    ("shingles", {"min_shingles": 28}),
])
def test_pages_of_one_template(tmp_path, monkeypatch, evidence, options):
    """Many share features with each: pages are decided as if every one was measured, whatever the bitmaps forget."""
    monkeypatch.setattr("ndcore.store.evidence.BITMAPS", 3_000)  # of some 30 pages
    rng = random.Random(4)
    frame = [f"frame{i}" for i in range(20)]

    def page(words: list[str]) -> str:
        return " ".join([*frame, *words])

    own = [[f"w{rng.randrange(10**6)}" for _ in range(7)] for _ in range(70)]
    both = Both(tmp_path, evidence=evidence, threshold=0.7, width=1, **options)
    for start in (0, 35):
        both.decide_many([(i, page(own[i]), i) for i in range(start, start + 35)])
    evidence_of_store = both.store._state.evidence
    assert options or (len(evidence_of_store.bitmaps) > 10 and not all(i in evidence_of_store.bitmaps for i in range(70)))
    copies = [(f"copy{i}", page([*own[i][:5], f"new{i}", f"newer{i}"]), 100) for i in range(0, 70, 6)]
    both.decide_many(copies)
    both.check()
    for i in range(0, 24, 6):  # copies become kept, and later pages follow them
        both.remove(i)
    for key, text, date in copies[:6]:
        both.decide(f"again {key}", text + " more", date + 1)
    both.decide_many([(i, page(own[i]), 200) for i in range(30)])
    both.check()
    both.reopen()
    both.decide_many([(f"third {key}", text, date + 200) for key, text, date in copies])
    both.check()
    assert options or any(cluster != [cluster[0]] for cluster in both.store.clusters())
    both.store.close()


def test_however_many_pages_are_too_short_none_is_measured(tmp_path, monkeypatch):
    """A site has many short pages of nearly one text: each would be measured against all before it, and is near none."""
    both = Both(tmp_path, threshold=0.5, width=1, min_shingles=20)
    monkeypatch.setattr("ndcore.store.evidence.Evidence._compare", None)
    short = [(f"k{i}", f"the page was not found on this server {i}", float(i)) for i in range(40)]
    both.decide_many(short[:30])
    for page in short[30:]:
        both.decide(*page)
    for i in (0, 5, 31):
        both.remove(f"k{i}")
    both.decide("copy", short[7][1], 50.0)
    both.decide("upper", short[8][1].upper(), 51.0)
    both.check()
    both.reopen()
    both.check()
    both.store.close()
