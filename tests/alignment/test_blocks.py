"""Blocks of two documents: what they cover, and that equal numbers are equal tokens."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.alignment.blocks import PlacedValues, TokenBlock, find_blocks

WIDTH = 4


def placed(words: list[str], window: int) -> PlacedValues:
    """Winnow words, by the library's own sketcher; tests of `winnow` see to its values."""
    found = nd.Winnower(window, nd.Shingling(width=WIDTH, short="skip")).sketch_many([" ".join(words)])
    return PlacedValues(found.values, found.positions)


@settings(max_examples=300)
@given(st.integers(0, 10**9), st.sampled_from([2, 4, 30]), st.integers(1, 6))
def test_random_documents(seed, vocabulary, window):
    rng = random.Random(seed)
    parts = [[f"w{rng.randrange(vocabulary)}" for _ in range(rng.randrange(1, 12))] for _ in range(5)]
    documents = [[word for _ in range(rng.randrange(8)) for word in rng.choice(parts)] for _ in range(2)]
    sides = [placed(words, window) for words in documents]
    blocks = find_blocks(*sides, WIDTH)
    shared = set(sides[0].values.tolist()) & set(sides[1].values.tolist())
    for words, side, own in zip(documents, sides, blocks, strict=True):
        covered = {at for block in own for at in range(block.first, block.last)}
        expected = {at for value, position in zip(side.values.tolist(), side.positions.tolist(), strict=True)
                    if value in shared for at in range(position, position + WIDTH)}
        assert covered == expected  # what a common fingerprint stands for, and nothing else
        assert len(covered) == sum(block.last - block.first for block in own)
        assert [block.first for block in own] == sorted(block.first for block in own)
        assert max(covered, default=0) < max(1, len(words))
    originals = [{block.number: block for block in own if not block.repeat} for own in blocks]
    assert list(originals[0]) == list(range(1, len(originals[0]) + 1)) and originals[0].keys() == originals[1].keys()
    assert {block.number for own in blocks for block in own} <= originals[0].keys()
    for number, block in originals[0].items():
        ends = [each[number].last for each in originals]
        size = min(block.last - block.first, ends[1] - originals[1][number].first)  # a cut block lacks its beginning
        assert documents[0][ends[0] - size : ends[0]] == documents[1][ends[1] - size : ends[1]]


def test_moved_and_repeated_parts():
    first, second = ([f"{name}{i}" for i in range(6)] for name in "xy")
    blocks = find_blocks(placed([*first, *second], 1), placed([*second, "between", *first, "again", *second], 1), WIDTH)
    assert blocks.a == [TokenBlock(0, 6, 1, False), TokenBlock(6, 12, 2, False)]
    assert blocks.b == [TokenBlock(0, 6, 2, False), TokenBlock(7, 13, 1, False), TokenBlock(14, 20, 2, True)]


def test_a_token_between_ends_a_block():
    """Both documents have the same two runs of fingerprints, one of them with a word between."""
    run = [f"w{i}" for i in range(12)]
    blocks = find_blocks(placed(run, 1), placed([*run[:6], "new", *run[6:]], 1), WIDTH)
    assert [(block.first, block.last) for block in blocks.b] == [(0, 6), (7, 13)]
    assert [(block.first, block.last) for block in blocks.a] == [(0, 6), (6, 12)]


def test_fingerprints_whose_tokens_touch_are_one_block():
    values = np.array([7, 8], np.uint64)
    blocks = find_blocks(PlacedValues(values, np.array([0, WIDTH])), PlacedValues(values, np.array([3, 3 + WIDTH])), WIDTH)
    assert blocks == ([TokenBlock(0, 2 * WIDTH, 1, False)], [TokenBlock(3, 3 + 2 * WIDTH, 1, False)])


def test_nothing_in_common():
    none = PlacedValues(np.empty(0, np.uint64), np.empty(0, np.int64))
    assert find_blocks(none, placed(["a"] * 9, 2), WIDTH) == ([], [])
