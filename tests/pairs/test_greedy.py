"""Greedy clusters with representative sketches: by hand, the reference, vectors, errors."""

from __future__ import annotations

import random
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore import ModSketcher, Shingling
from ndcore.pairs.greedy import greedy_clusters
from ndcore.reference import collection
from ndcore.reference.collection import Sketch

KINDS = collection.REPRESENTATIVES


def flat(sketches: list[Sketch]) -> dict[str, np.ndarray]:
    moduli = [sketch.modulus for sketch in sketches]
    return {
        "values": np.array([z for sketch in sketches for z in sketch.members], np.uint64),
        "offsets": np.array([0, *accumulate(len(sketch.members) for sketch in sketches)]),
        "moduli": None if len(set(moduli)) < 2 else np.array(moduli, np.uint64),
    }


def expected(sketches, threshold, representative, max_holders, order):
    leaders = range(len(sketches))
    common = collection.common_shingles(collection.entries(sketches, leaders), max_holders)
    return collection.greedy(sketches, leaders, common, threshold, representative, order)


@st.composite
def collections(draw: st.DrawFn) -> list[Sketch]:
    """Make sketches over few values, so that they share some, with moduli of their own or one for all."""
    mixed = draw(st.booleans())
    step = draw(st.sampled_from([1, 25, 1 << 40]))
    universe = draw(st.sampled_from([8, 16, 64]))
    base = draw(st.lists(st.sets(st.integers(1, universe), max_size=14), min_size=1, max_size=4))
    sketches = []
    for _ in range(draw(st.integers(0, 14))):
        members = draw(st.sampled_from(base)) ^ draw(st.sets(st.integers(1, universe), max_size=3))
        modulus = draw(st.sampled_from([1, 2, 4])) if mixed else step
        sketches.append(Sketch(modulus, sorted(z for z in members if z % modulus == 0) if mixed else
                               sorted(z * step for z in members)))
    return sketches


@pytest.mark.parametrize("representative", KINDS)
@given(collections(), st.sampled_from([0.2, 0.25, 1 / 3, 0.5, 0.75, 1.0]), st.sampled_from([1, 2, 4, 1000]), st.randoms())
def test_as_the_reference(representative, sketches, threshold, max_holders, rng):
    order = rng.sample(range(len(sketches)), len(sketches))
    found = greedy_clusters(
        **flat(sketches), threshold=threshold, representative=representative, order=order, max_holders=max_holders
    )
    assert found.dtype == np.int64
    assert found.tolist() == expected(sketches, threshold, representative, max_holders, order)


@pytest.mark.parametrize("representative", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_large_clusters_as_the_reference(seed, representative):
    """Make clusters of dozens, in which representatives change often."""
    rng = random.Random(seed)
    centres = [rng.sample(range(1, 400), 40) for _ in range(3)]
    sketches = []
    for _ in range(120):
        modulus = rng.choice([1, 1, 2]) if seed % 2 else 1
        members = {z for z in rng.choice(centres) if rng.random() < 0.8} | set(rng.sample(range(1, 400), 8))
        sketches.append(Sketch(modulus, sorted(z for z in members if z % modulus == 0)))
    for threshold, max_holders in ((0.3, 1000), (0.45, 1000), (0.3, 40)):
        found = greedy_clusters(
            **flat(sketches), threshold=threshold, representative=representative, max_holders=max_holders
        )
        assert found.tolist() == expected(sketches, threshold, representative, max_holders, None)
        assert max_holders < 1000 or 3 <= len(set(found.tolist())) < 120


def test_vectors(vectors):
    data = vectors("fourphase")
    for case in data["cases"]:
        sketches = [Sketch(m, [int(z, 16) for z in members]) for m, members in data["collections"][case["collection"]]]
        led = [i for i, leader in enumerate(case["leaders"]) if leader == i]
        place = {i: at for at, i in enumerate(led)}
        for representative in KINDS:
            found = greedy_clusters(
                **flat([sketches[i] for i in led]), threshold=case["threshold"], representative=representative,
                order=[place[i] for i in case["order"] if i in place], max_holders=case["max_holders"],
            )
            labels = [led[found[place[leader]]] for leader in case["leaders"]]
            assert labels == case["greedy"][representative], case


def test_first_and_popular_representatives():
    """Join {1 2 3 4} by {2 3 4 5} twice: then 2 3 4 5 are popular, and {3 4 5 7} joins at 3/5."""
    sketches = [Sketch(1, members) for members in ([1, 2, 3, 4], [2, 3, 4, 5], [2, 3, 4, 5], [3, 4, 5, 7])]
    assert greedy_clusters(**flat(sketches), threshold=0.6).tolist() == [0, 0, 0, 3]
    assert greedy_clusters(**flat(sketches), threshold=0.6, representative="popular").tolist() == [0, 0, 0, 0]


def test_the_best_cluster_of_equals_the_first_created():
    sketches = [Sketch(1, members) for members in ([1, 2, 3, 4], [3, 4, 5, 6], [2, 3, 4, 5], [3, 4, 5])]
    assert greedy_clusters(**flat(sketches), threshold=0.6).tolist() == [0, 1, 0, 1]
    assert greedy_clusters(**flat(sketches), threshold=0.6, order=[1, 0, 2, 3]).tolist() == [0, 1, 1, 1]


def test_equal_sizes_at_different_moduli():
    """Compare 4 values each: at modulus 4 the document has two, both shared: 2 / (2 + 4 - 2)."""
    sketches = [Sketch(4, [4, 8, 12, 16]), Sketch(1, [1, 3, 4, 8])]
    for representative in KINDS:
        for threshold, labels in ((0.5, [0, 0]), (0.51, [0, 1])):
            found = greedy_clusters(**flat(sketches), threshold=threshold, representative=representative)
            assert found.tolist() == labels
            found = greedy_clusters(**flat(sketches[::-1]), threshold=threshold, representative=representative)
            assert found.tolist() == labels


def test_common_values_count_in_sizes_only():
    sketches = [Sketch(1, [1, 2, 3 + i // 2]) for i in range(4)]
    assert greedy_clusters(**flat(sketches), threshold=0.3, max_holders=None).tolist() == [0, 0, 0, 0]
    assert greedy_clusters(**flat(sketches), threshold=0.3, max_holders=4).tolist() == [0, 0, 0, 0]
    assert greedy_clusters(**flat(sketches), threshold=0.2, max_holders=3).tolist() == [0, 0, 2, 2]  # 1 / (3 + 3 - 1)
    assert greedy_clusters(**flat(sketches), threshold=0.21, max_holders=3).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("representative", KINDS)
@pytest.mark.parametrize("modulus", [3, "adaptive"])
def test_of_texts(modulus, representative):
    rng = random.Random(5)
    words = [f"w{i}" for i in range(2000)]
    stories = [[rng.choice(words) for _ in range(length)] for length in (150, 400, 900, 901)]
    texts = []
    for at in range(60):
        story = list(stories[at % 4])
        for _ in range(rng.randrange(8)):
            story[rng.randrange(len(story))] = rng.choice(words)
        texts.append(" ".join(story))
    sk = ModSketcher(modulus, shingling=Shingling(width=3)).sketch_many(texts)
    found = greedy_clusters(sk.values, sk.offsets, threshold=0.5, representative=representative, moduli=sk.moduli)
    assert found.tolist() == [i % 4 for i in range(60)]


@pytest.mark.parametrize("representative", KINDS)
def test_nothing_and_empty_sketches(representative):
    assert greedy_clusters([], [0], threshold=0.5, representative=representative).tolist() == []
    assert greedy_clusters([], [0, 0, 0], threshold=0.5, representative=representative).tolist() == [0, 1]
    found = greedy_clusters([7, 7, 0], [0, 0, 1, 2, 2, 3], threshold=1.0, representative=representative)
    assert found.tolist() == [0, 1, 1, 3, 4]


@pytest.mark.parametrize(
    ("error", "message", "change"),
    [
        (ValueError, "threshold is a resemblance above 0 and at most 1, got 0", {"threshold": 0}),
        (ValueError, "got nan", {"threshold": float("nan")}),
        (ValueError, 'representative is "first" or "popular", not \'median\'', {"representative": "median"}),
        (ValueError, r"max_holders \(None: no limit\) is 0; it must be at least 1", {"max_holders": 0}),
        (TypeError, "moduli are 2 integers", {"moduli": [1]}),
        (ValueError, "moduli must be powers of two, got 3 of sketch 1", {"moduli": [1, 3]}),
        (ValueError, "moduli must be powers of two, got 0 of sketch 0", {"moduli": [0, 1]}),
        (ValueError, "values of sketch 1 are no ascending multiples of its modulus 2;", {"moduli": [1, 2]}),
        (ValueError, "values of sketch 0 are no ascending", {"values": [2, 1, 3, 4]}),
        (ValueError, "values of sketch 1 are no ascending", {"values": [2, 3, 3, 3]}),
        (ValueError, "offsets must ascend", {"offsets": [0, 3, 2]}),
        (TypeError, "order is a permutation of 2 positions", {"order": [0]}),
        (ValueError, "order must hold each of 0 to 1 once; 1 is missing", {"order": [0, 0]}),
        (ValueError, "order must hold each of 0 to 1 once; 1 is missing", {"order": [0, 2]}),
    ],
)
def test_errors(error, message, change):
    arguments = {"values": [1, 2, 3, 4], "offsets": [0, 2, 4], "threshold": 0.5} | change
    with pytest.raises(error, match=message):
        greedy_clusters(**arguments)
