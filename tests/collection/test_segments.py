"""Sketches in any parts say the same as one Sketches; overlaps beside sets."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from samples import as_sketches, collection, parted

import ndcore as nd
from ndcore.collection.segments import Overlaps, Segments
from ndcore.reference import collection as reference_collection

WORDS = " ".join(f"w{i}" for i in range(40))


@pytest.mark.parametrize("cuts", [[], [3, 3, 20], [0, 39, 40]])
@pytest.mark.parametrize("modulus", [4, None])
def test_parts_do_not_matter(modulus, cuts):
    samples = collection(random.Random(2), 40, modulus)
    segments = parted(as_sketches(samples, modulus is None), cuts)
    assert len(segments) == 40
    taken = np.arange(40) % 3 > 0
    values, offsets = segments.samples(taken)
    assert [part.tolist() for part in np.split(values, offsets[1:-1])] == [
        list(sample.members) if i % 3 else [] for i, sample in enumerate(samples)]
    assert segments.members.tolist() == [len(sample.members) for sample in samples]
    assert segments.valid.all()
    if modulus is None:
        assert segments.moduli.tolist() == [sample.modulus for sample in samples]
    else:
        assert segments.moduli is None
    pairs = list(itertools.product(range(40), repeat=2))
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    common = np.array([len(set(samples[i].members) & set(samples[j].members)) for i, j in pairs])
    sizes = [reference_collection.sizes(samples[i], samples[j]) for i, j in pairs]
    for found in (segments.overlaps(a, b, common), segments.compared(a, b, 2)):
        assert found.common.tolist() == common.tolist()
        assert list(zip(found.in_a.tolist(), found.in_b.tolist(), strict=True)) == sizes
    alike = [(segments.keys[i] == segments.keys[j]) for i, j in pairs]
    assert alike == [samples[i] == samples[j] for i, j in pairs]
    assert segments.whole(a, b).tolist() == [samples[i].modulus == samples[j].modulus == 1 for i, j in pairs]


@pytest.mark.parametrize("sketcher", [nd.BottomSketcher(6), nd.MinHasher(16)], ids=["bottom", "minhash"])
def test_compared_is_compare(sketcher):
    texts = [WORDS, WORDS + " more", WORDS[20:], WORDS[:60], "other words than these are here", ""]
    sketches = sketcher.sketch_many(texts)
    segments = parted(sketches, [1, 4])
    a, b = (np.array(column) for column in zip(*itertools.product(range(6), repeat=2), strict=True))
    found, wanted = segments.compared(a, b, None), sketches.compare(a, b)
    np.testing.assert_allclose(found.resemblance[wanted.valid], wanted.resemblance[wanted.valid], rtol=1e-15)
    if sketches.offsets is not None:
        np.testing.assert_array_equal(found.a_in_b[wanted.valid], wanted.containment[wanted.valid])
    assert segments.valid.tolist() == [True] * 5 + [False]


def test_ratios():
    found = Overlaps(np.array([3, 0, 0, 2]), np.array([4, 5, 0, 2]), np.array([6, 0, 0, 2]))
    nan = float("nan")
    np.testing.assert_array_equal(found.resemblance, [3 / 7, 0, nan, 1])
    np.testing.assert_array_equal(found.a_in_b, [3 / 4, 0, nan, 1])
    np.testing.assert_array_equal(found.b_in_a, [3 / 6, nan, nan, 1])
    np.testing.assert_array_equal(found.contained, [3 / 4, nan, nan, 1])
    some = found.where(np.array([True, False, False, True]))
    assert (some.common.tolist(), some.in_a.tolist(), some.in_b.tolist()) == ([3, 2], [4, 2], [6, 2])


def test_other_recipes_are_refused():
    with pytest.raises(nd.RecipeMismatch):
        Segments([nd.ModSketcher(4).sketch_many([WORDS]), nd.ModSketcher(5).sketch_many([WORDS])])
