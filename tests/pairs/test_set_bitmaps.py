"""Bitmaps of sets reject no pair that reaches the threshold, and most others."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ndcore import Shingling
from ndcore._candidates import BEFORE, Bitmaps, RunPairs
from ndcore.pairs.shingle_sets import SetBitmaps, ShingleSets
from ndcore.reference.resemblance import containment, resemblance

KERNEL = "bitmaps"


def drawn(seed, n=40):
    """Sets of several sizes that share a part of a few large ones."""
    rng = random.Random(seed)
    bases = [[rng.getrandbits(64) for _ in range(size)] for size in (60, 90, 400, 2000)]
    listed = []
    for _ in range(n):
        base = rng.choice(bases)
        listed.append({*rng.sample(base, int(len(base) * rng.choice((0.5, 0.8, 0.9, 1.0)))),
                       *(rng.getrandbits(64) for _ in range(rng.randrange(40)))})
    return listed


def bitmaps_of(listed, rank, others, *, contained):
    sets = ShingleSets(Shingling(), len(rank), tokens=False, threads=1)
    for start in range(0, len(listed), 9):
        some = [sorted(members) for members in listed[start : start + 9]]
        sets.append(np.arange(start, start + len(some)), np.array([z for members in some for z in members], np.uint64),
                    np.cumsum([0, *map(len, some)]).astype(np.int64))
    return SetBitmaps(sets, others, rank, contained=contained)


@pytest.mark.parametrize("contained", [False, True])
@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8, 0.9, 1.0])
def test_no_pair_that_passes_is_rejected(variant, threshold, contained):
    listed = drawn(int(100 * threshold))
    rank = np.random.default_rng(1).permutation(42)
    bitmaps = bitmaps_of(listed, rank, np.array([41]), contained=contained)
    assert bitmaps.documents.tolist() == sorted([*range(40), 41], key=rank.__getitem__)
    a, b = (side.ravel() for side in np.meshgrid(np.arange(42), np.arange(42)))
    near = bitmaps.near(a, b, threshold)
    rejected = 0
    for x, y, may in zip(a.tolist(), b.tolist(), near.tolist(), strict=True):
        if x >= 40 or y >= 40:
            assert may  # nothing is known of these
            continue
        score = (max(containment(listed[x], listed[y]), containment(listed[y], listed[x])) if contained
                 else resemblance(listed[x], listed[y]))
        assert may or score < threshold
        rejected += not may
    far = sum(resemblance(p, q) < 0.1 for p in listed for q in listed)
    assert contained or threshold < 0.5 or rejected > 0.9 * far > 100


def test_thresholds_change_the_answer_and_not_the_bitmaps():
    bitmaps = bitmaps_of([set(range(100)), set(range(20, 120))], np.arange(2), np.arange(0), contained=False)
    a, b = np.array([0]), np.array([1])
    assert [bool(bitmaps.near(a, b, threshold)[0]) for threshold in (0.6, 0.9, 0.6)] == [True, False, True]


def test_arrays_that_do_not_fit_are_refused():
    small = np.array([2, 3], np.uint32)
    bitmaps, one = Bitmaps(small, False), np.array([1], np.uint32)
    values, offsets = np.arange(3, dtype=np.uint64), np.array([0, 3])
    with pytest.raises(ValueError, match="another size"):
        bitmaps.add(np.array([0], np.uint32), values, offsets)
    with pytest.raises(IndexError, match="not among 2"):
        bitmaps.add(np.array([2], np.uint32), values, offsets)
    with pytest.raises(ValueError, match="offsets do not ascend"):
        bitmaps.add(one, values, np.array([0, 4]))
    with pytest.raises(IndexError, match="not among 2"):
        bitmaps.near(one, np.array([7], np.uint32), 0.5)
    with pytest.raises(ValueError, match=r"above 0 and at most 1, got 1\.5"):
        bitmaps.near(one, one, 1.5)
    begins, members, flag = np.array([0, 2]), np.array([0, 1], np.uint32), np.ones(1, np.uint8)
    for wrong in ({"begins": np.array([0, 3])}, {"members": np.array([0, 2], np.uint32)}, {"whole": flag}):
        with pytest.raises((ValueError, IndexError)):
            RunPairs(bitmaps, 0.5, **{"begins": begins, "members": members, "listed": flag, "whole": np.ones(2, np.uint8)}
                     | wrong)
    pairs = RunPairs(bitmaps, 0.5, begins, members, flag, np.ones(2, np.uint8))
    with pytest.raises(ValueError, match="before, proposed or after, got 3"):
        pairs.meet(members, 3)
    with pytest.raises(IndexError, match="not among 2"):
        pairs.meet(np.array([9], np.uint32), BEFORE)
    pairs.propose(members)
    with pytest.raises(ValueError, match="propose them in ascending order"):
        pairs.propose(one)


def test_bitmaps_that_were_stored():
    """Under the same key they reject the same pairs; another size of a set is refused."""
    rng = np.random.default_rng(5)
    sets = [np.unique(rng.integers(0, 400, n, np.uint64)) for n in (0, 3, 60, 65, 300, 5000)]
    sets += [members[: len(members) * 9 // 10] for members in sets]
    sizes, key = np.array([len(members) for members in sets], np.uint32), bytes(range(Bitmaps.KEY_BYTES))
    made = Bitmaps(sizes, False, key)
    made.add(np.arange(len(sets), dtype=np.uint32), np.concatenate(sets), np.append(0, np.cumsum(sizes)).astype(np.int64))
    words, bounds = made.stored()
    again = Bitmaps(sizes, False, np.frombuffer(key, np.uint8))
    again.put(words, bounds)
    a, b = (ends.ravel().astype(np.uint32) for ends in np.meshgrid(*[np.arange(len(sets))] * 2))
    near = made.near(a, b, 0.8)
    assert 0 < near.sum() < len(near) and np.array_equal(near, again.near(a, b, 0.8))
    assert np.array_equal(again.stored()[0], words)
    with pytest.raises(ValueError, match="the bitmap of document 2 has another size than its set needs"):
        Bitmaps(np.where(np.arange(len(sets)) == 2, 400, sizes).astype(np.uint32), False, key).put(words, bounds)
    with pytest.raises(ValueError, match="bounds do not ascend from 0"):
        again.put(words, bounds[::-1].copy())
    with pytest.raises(ValueError, match="the key and its bytes"):
        Bitmaps(sizes, False, key[:-1])
