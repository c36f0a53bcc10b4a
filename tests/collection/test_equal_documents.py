"""Documents with equal sketches beside the reference, and what digests tell of them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from samples import as_sketches, collection, parted

from ndcore.collection.classes import SHINGLE
from ndcore.collection.equal_documents import collapse, find_alike
from ndcore.collection.segments import Segments
from ndcore.reference import fourphase
from ndcore.reference.fourphase import Sketch


@pytest.mark.parametrize("modulus", [1, None])
@pytest.mark.parametrize("seed", range(8))
def test_equal_sketches_as_the_reference(seed, modulus):
    samples = collection(random.Random(seed), 60, modulus, pool=60)
    segments = parted(as_sketches(samples, modulus is None), [20, 41])
    leader, how = collapse(segments, find_alike(segments, 2), None)
    wanted = fourphase.collapse(samples)
    assert leader.tolist() == wanted
    assert how.tolist() == [0 if wanted[i] == i else SHINGLE for i in range(60)]


def test_equal_keys_are_not_equal_sketches(monkeypatch):
    """Keys that are equal by chance collapse nobody."""
    samples = [Sketch(1, [1, 2]), Sketch(1, [1, 3]), Sketch(1, [1, 2]), Sketch(1, []), Sketch(1, [1])]
    segments = Segments([as_sketches(samples)])
    monkeypatch.setitem(segments.__dict__, "keys", np.full(5, 9, np.uint64))
    documents, firsts = find_alike(segments, 1)
    assert (documents.tolist(), firsts.tolist()) == ([2], [0])


def digests(rows):
    """Return digests of (bytes, tokens), each named by a small number."""
    return np.array([[raw] * 16 + [tokens] * 16 for raw, tokens in rows], np.uint8)


@pytest.mark.parametrize(
    ("rows", "leaders", "how"),
    [
        ([(1, 1), (2, 1), (2, 1), (3, 3)], [0, 0, 0, 3], [0, 2, 2, 0]),
        ([(1, 1), (2, 2), (1, 1), (3, 1), (2, 2)], [0, 1, 0, 0, 1], [0, 0, 1, 2, 1]),
        ([(1, 1)] * 3, [0, 0, 0], [0, 1, 1]),
        ([(1, 1), (2, 2), (3, 3)], [0, 1, 2], [0, 0, 0]),
    ],
)
def test_empty_samples_by_digests(rows, leaders, how):
    """A leader is its own: not the twin of one that is the same as an earlier document in another way."""
    segments = Segments([as_sketches([Sketch(4, [])] * len(rows))])
    found = collapse(segments, find_alike(segments, 1), digests(rows))
    assert (found[0].tolist(), found[1].tolist()) == (leaders, how)


def test_documents_without_shingles_are_identical_or_nothing():
    sketches = as_sketches([Sketch(4, [])] * 5)
    sketches.valid = np.array([False, True, False, False, True])
    segments = Segments([sketches])
    found = collapse(segments, find_alike(segments, 1), digests([(1, 0), (2, 5), (3, 0), (1, 0), (4, 5)]))
    assert (found[0].tolist(), found[1].tolist()) == ([0, 1, 2, 0, 1], [0, 0, 0, 1, 2])


def test_equal_samples_by_digests():
    segments = Segments([as_sketches([Sketch(4, [4, 8])] * 4)])
    found = collapse(segments, find_alike(segments, 1), digests([(1, 1), (2, 1), (1, 1), (3, 3)]))
    assert (found[0].tolist(), found[1].tolist()) == ([0, 0, 0, 0], [0, 2, 1, 3])
