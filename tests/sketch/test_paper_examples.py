"""The sets printed in Broder 1997, §2, through every sketcher, under Options A and B."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import sketches

ROSE = "a rose is a rose is a rose"
FLOWER = "a rose is a flower which is a rose"
OPTION_A = {("a rose is a", 1), ("rose is a rose", 1), ("is a rose is", 1), ("a rose is a", 2), ("rose is a rose", 2)}
OPTION_B = {"a rose is a", "rose is a rose", "is a rose is"}


def every_sketcher(sh: nd.Shingling):
    """Return sketchers of all kinds, with room for every shingle."""
    yield nd.MinHasher(256, shingling=sh)
    yield nd.MinHasher(256, 64, shingling=sh)
    yield nd.MinHasher(256, method="fast", shingling=sh)
    yield nd.BottomSketcher(200, shingling=sh)
    yield nd.ModSketcher(1, shingling=sh)
    yield nd.ModSketcher(1, shingling=sh, size=100)
    yield nd.ModSketcher("adaptive", shingling=sh)


def test_the_sets_of_both_options():
    """Compare with the sets printed in Broder 1997, §2: shingles of 4 words, occurrences and fingerprints."""
    plain, labelled = (nd.ModSketcher(1, shingling=nd.Shingling(width=4, labelled=option)) for option in (False, True))
    shingles = plain.shingling.shingles(ROSE)
    words = [" ".join(shingle) for shingle in shingles]
    assert set(words) == OPTION_B and len(words) == 5
    counted = {(word, words[: i + 1].count(word)) for i, word in enumerate(words)}
    assert counted == OPTION_A
    one = dict(zip(words, plain.shingling.fingerprints(ROSE).tolist(), strict=True))
    assert set(plain.sketch(ROSE)[0].tolist()) == set(sketches.permute(one.values()))
    again = [sketches.fmix64((one[word] + k * 0x9E3779B97F4A7C15) % 2**64) for word, k in OPTION_A if k > 1]
    assert set(labelled.sketch(ROSE)[0].tolist()) == set(sketches.permute([*one.values(), *again]))
    assert (plain.sketch(ROSE).sizes[0], labelled.sketch(ROSE).sizes[0]) == (3, 5)


@pytest.mark.parametrize(
    ("width", "labelled", "expected"),
    [(1, True, 0.7), (2, True, 0.5), (3, True, 0.3), (1, False, 0.6), (2, False, 0.5), (3, False, 3 / 7)],
)
def test_the_percentages_through_every_sketcher(width, labelled, expected):
    """Expect 70, 50, 30 % under Option A and 60, 50, 42.85 % under Option B; signatures within 5 standard errors."""
    for sketcher in every_sketcher(nd.Shingling(width=width, labelled=labelled)):
        found = sketcher.sketch_many([ROSE, FLOWER])
        if sketcher.recipe["kind"] == "minhash":
            assert abs(found.resemblance(0, 1) - expected) <= 5 * math.sqrt(expected * (1 - expected) / 256)
        else:
            assert found.resemblance(0, 1) == pytest.approx(expected, rel=1e-15)
            assert found.interval(0, 1) == (found.resemblance(0, 1),) * 2


@given(st.text("ab ", max_size=60), st.integers(1, 3))
def test_labels_only_add_to_a_set(text, width):
    """Keep the fingerprint of occurrence 1: the set of Option B is part of the set of Option A."""
    plain, labelled = (nd.Shingling(width=width, labelled=option) for option in (False, True))
    every = len(plain.fingerprints(text))
    assert nd.ModSketcher(1, shingling=labelled).sketch(text).sizes[0] == every
    for size in (None, 4):
        few, many = (nd.ModSketcher(1, shingling=sh, size=size).sketch(text)[0].tolist() for sh in (plain, labelled))
        least = sorted(set(few) | set(many))[:size]
        assert many == least
    few, many = (nd.MinHasher(20, shingling=sh).sketch(text).values for sh in (plain, labelled))
    assert (many <= few).all()


@pytest.mark.parametrize("labelled", [False, True])
def test_permutations_of_words(labelled):
    """Compare (a, c, a, b, a) with (a, b, a, c, a): they resemble entirely for width 2, under either option."""
    for sketcher in every_sketcher(nd.Shingling(width=2, labelled=labelled)):
        assert sketcher.sketch_many(["a c a b a", "a b a c a"]).resemblance(0, 1) == 1.0
