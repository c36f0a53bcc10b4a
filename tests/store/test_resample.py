"""Samples drawn anew: against the reference, their statistics, and against a copy made to escape the known samples."""

from __future__ import annotations

import random
from math import comb, sqrt

import numpy as np
import pytest

from ndcore.reference import resemblance, shingling, sketches
from ndcore.store.resample import Resampled
from ndcore.store.store import Store

pytest.importorskip("zstandard", reason="the extra store is not installed")


def words(seed: int, count: int) -> list[str]:
    source = random.Random(seed)
    return ["".join(source.choices("abcdefghij", k=5)) for _ in range(count)]


PAGES = {f"page{i}": " ".join(words(i, 60 + 40 * i)) for i in range(8)}
MIXED = " ".join([*words(3, 180)[:120], *words(50, 80), *words(6, 300)[200:]])  # parts of pages 3 and 6


@pytest.fixture(scope="module", params=["text", "shingles"])
def store(request, tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("resample") / "store", evidence=request.param) as store:
        for key, text in PAGES.items():
            store.decide(key, text)
        store.decide("copy", PAGES["page2"])
        store.decide("empty", "")
        yield store


@pytest.mark.parametrize("size", [1, 20, 10_000])
@pytest.mark.parametrize("seed", [1, 2**64 - 1, 77])
def test_as_the_reference_counts(store, size, seed):
    drawn = Resampled(store, size=size, seed=seed)
    assert len(drawn) == len(PAGES)
    text = shingling.fingerprints(MIXED)
    expected = {}
    for key, page in PAGES.items():
        found, of = resemblance.sampled_containment(shingling.fingerprints(page), text, size, seed)
        if found >= 0.25 * of:
            expected[key] = found / of
    copies = drawn.query(MIXED, threshold=0.25)
    assert {copy.key: copy.containing for copy in copies} == expected
    assert [copy.containing for copy in copies] == sorted(expected.values(), reverse=True)
    assert all(copy.low <= copy.containing <= copy.high for copy in copies)


def test_a_sample_of_all_is_exact(store):
    [first, *_] = Resampled(store, size=1000).query(PAGES["page5"])
    assert (first.key, first.containing, first.low, first.high, first.resemblance) == ("page5", 1.0, 1.0, 1.0, 1.0)


def test_the_estimate_is_unbiased_and_the_interval_covers(store):
    """Over many seeds, the share is hypergeometric: its mean is the containment, and 95 % of the intervals hold it."""
    page, text = (set(shingling.fingerprints(each)) for each in (PAGES["page3"], MIXED))
    size, seeds, n, k = 30, 300, len(page), len(page & text)
    found, held = [], 0
    for seed in range(seeds):
        copies = Resampled(store, size=size, seed=seed).query(MIXED, threshold=0.01)
        [copy] = [each for each in copies if each.key == "page3"]
        found.append(copy.containing)
        held += copy.low <= k / n <= copy.high
    spread = sqrt(k / n * (1 - k / n) * (n - size) / (n - 1) / size)
    assert abs(np.mean(found) - k / n) < 4 * spread / sqrt(seeds)
    assert 0.8 * spread < np.std(found) < 1.2 * spread
    assert held >= 0.91 * seeds
    assert comb(n, size) > seeds  # the samples differ


def test_a_copy_that_escapes_the_known_samples_is_found(tmp_path):
    """The plagiarist knows the seed of the store, and changes one word of each shingle that is a minimum."""
    original = words(9, 5000)
    fingerprints = shingling.fingerprints(" ".join(original))
    key, a, b = sketches.key_and_coefficients(1, 84)
    z = np.array([sketches.fmix64(f ^ key) >> 32 for f in fingerprints], np.uint64)
    low = np.uint64(0xFFFFFFFF)
    minima = {int(np.argmin(((np.uint64(x) & low) * z + (np.uint64(y) & low)) & low)) for x, y in zip(a, b, strict=True)}
    changed = list(original)
    for place in minima:
        changed[place + 2] = "changed" + changed[place + 2]
    copy = " ".join(changed)
    with Store.open(tmp_path / "store") as store:
        store.decide("original", " ".join(original))
        for i in range(20):
            store.decide(f"other{i}", " ".join(words(100 + i, 300)))
        both = len(set(fingerprints) & set(shingling.fingerprints(copy)))
        assert both / len(set(fingerprints) | set(shingling.fingerprints(copy))) > 0.8  # the threshold of the store
        assert store.peek(copy).kept  # escaped
        [found] = Resampled(store, seed=5).query(copy)  # drawn after the copy was made; another seed than the store's
        assert found.key == "original" and found.low <= both / len(set(fingerprints)) <= found.high
        assert found.resemblance > 0.6
        store.remove("original")
        drawn = Resampled(store, size=5, seed=5)
        assert drawn.query(copy) == [] and len(drawn) == 20


def test_removed_pages_are_left_out(tmp_path):
    with Store.open(tmp_path / "store") as store:
        drawn = Resampled(store)
        assert len(drawn) == 0 and drawn.query("anything at all") == []
        store.decide(1, PAGES["page1"])
        drawn = Resampled(store)
        assert [copy.key for copy in drawn.query(PAGES["page1"])] == [1]
        assert drawn.query("") == []
        store.remove(1)
        assert drawn.query(PAGES["page1"]) == []


def test_what_is_refused(tmp_path):
    with Store.open(tmp_path / "store", evidence="sketch") as store, pytest.raises(ValueError, match="keeps no shingles"):
        Resampled(store)
    with Store.open(tmp_path / "other") as store:
        with pytest.raises(ValueError, match="size is 0"):
            Resampled(store, size=0)
        with pytest.raises(ValueError, match="threshold"):
            Resampled(store).query("a b c", threshold=1.5)
