"""Shingle sets in memory and in a temporary file: the same sets, chunks, sizes and comparisons."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ndcore as nd
from ndcore.pairs import shingle_sets
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.text.corpus import as_corpus, indexed_texts


def silent(*_):
    pass


def drawn(seed, n=40):
    """Texts of few different words, so that they share shingles."""
    rng = random.Random(seed)
    return [" ".join(rng.choice("abc") for _ in range(rng.randrange(25))) for _ in range(n)]


def read(texts, *, tokens=False, limit=1 << 20, threads=2):
    """The sets of every second text."""
    sets = ShingleSets(nd.Shingling(width=3, short="skip"), len(texts), tokens=tokens, threads=threads, limit=limit)
    wanted = np.arange(len(texts)) % 2 == 0
    pieces = indexed_texts((as_corpus(texts), None), (0, len(texts)), wanted)
    sets.read(pieces, int(wanted.sum()), silent)
    return sets, np.flatnonzero(wanted)


def expected(texts):
    """The set of shingles of each text, from its words."""
    return [set(zip(*(words[i:] for i in range(3)), strict=False)) for words in map(str.split, texts)]


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("limit", [1 << 20, 10])
@pytest.mark.parametrize("pairs", [2, 7, 1 << 12])
def test_common_and_resemblance(tokens, limit, pairs, monkeypatch):
    monkeypatch.setattr(shingle_sets, "PAIRS", pairs)
    monkeypatch.setattr(shingle_sets, "BATCH", 3 * pairs)
    texts = drawn(1)
    sets, documents = read(texts, tokens=tokens, limit=limit)
    wanted = expected(texts)
    a, b = (grid.ravel() for grid in np.meshgrid(documents, documents))
    shared = [len(wanted[x] & wanted[y]) for x, y in zip(a, b, strict=True)]
    assert sets.sizes(documents).tolist() == [len(wanted[d]) for d in documents]
    seen = []
    assert sets.common(a, b, lambda *done: seen.append(done)).tolist() == shared
    assert seen[-1] == ("verifying", len(a), len(a))
    exact = [common / len(wanted[x] | wanted[y]) if wanted[x] | wanted[y] else np.nan
             for x, y, common in zip(a, b, shared, strict=True)]
    np.testing.assert_array_equal(sets.resemblance(a, b), exact)
    nothing = np.empty(0, np.int64)
    assert sets.common(nothing, nothing).tolist() == sets.resemblance(nothing, nothing).tolist() == []


@pytest.mark.parametrize("limit", [1 << 20, 10])
@pytest.mark.parametrize("chunk", [1, 30, 1 << 20])
def test_chunks(limit, chunk, monkeypatch):
    monkeypatch.setattr(shingle_sets, "CHUNK", chunk)
    texts = drawn(2)
    sets, documents = read(texts, limit=limit)
    shingling = nd.Shingling(width=3, short="skip")
    expected_sets = [(d, sorted(set(shingling.fingerprints(texts[d]).tolist()))) for d in documents.tolist()]
    for _ in range(2):
        found = []
        for positions, values, offsets in sets.chunks():
            assert not values.flags.writeable
            members = np.split(values, offsets[1:-1])
            found += [(position, each.tolist()) for position, each in zip(positions.tolist(), members, strict=True)]
        assert found == expected_sets
    assert len(sets) == len(documents) and [len(one) for _, one in expected_sets] == sets.sizes(documents).tolist()


def test_sets_that_are_appended_compare_with_each_other():
    sets = ShingleSets(nd.Shingling(), 9, tokens=False, threads=1)
    sets.append(np.array([1, 4]), np.array([1, 2, 3, 2, 9], np.uint64), np.array([0, 3, 5]))
    sets.append(np.array([8]), np.array([2, 3, 9], np.uint64), np.array([0, 3]))
    assert sets.common(np.array([1, 1, 4]), np.array([4, 8, 8])).tolist() == [1, 2, 2]
    assert sets.resemblance(np.array([4]), np.array([8])).tolist() == [2 / 3]


@pytest.mark.parametrize("limit", [1 << 20, 10])
def test_no_sets(limit):
    sets = ShingleSets(nd.Shingling(), 3, tokens=False, threads=1, limit=limit)
    assert list(sets.chunks()) == [] and len(sets) == 0
