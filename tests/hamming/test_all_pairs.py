"""Pairs without an index equal a comparison of all, for all ranges, plans and threads."""

import random

import numpy as np
import pytest
from hamming_samples import near_pairs
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore import _hamming, _keys
from ndcore.hamming import all_pairs
from ndcore.hamming import index as hamming_index

KERNEL = "hamming"


def near_ones(n: int, bits: int = 64, seed: int = 1) -> list[int]:
    """Generate groups of fingerprints that differ in a few bits; some are equal."""
    rng = random.Random(seed)
    values = [rng.getrandbits(bits) for _ in range(n // 3 + 1)]
    return [rng.choice(values) ^ sum(1 << b for b in rng.sample(range(bits), rng.randrange(min(bits, 5)))) for _ in range(n)]


def listed(pairs):
    return list(zip(*(column.tolist() for column in pairs), strict=True))


def expected(values, k):
    return near_pairs(tuple(values), k)


@pytest.fixture
def small_ranges(monkeypatch):
    monkeypatch.setattr(all_pairs, "LEAST_KEYS", 50)
    monkeypatch.setattr(all_pairs, "PIECE", 70)
    monkeypatch.setattr(all_pairs, "COUNTED_BITS", 5)


@pytest.mark.parametrize("threads", [1, 3])
def test_all_pairs_are_found_once_and_in_order(threads, variant):
    values = near_ones(1200)
    assert listed(nd.hamming_pairs(values, threads=threads)) == expected(values, 3)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("splits", [(4,), (5,), (6,), (4, 4)], ids=str)
def test_ranges_of_every_plan(splits, threads, small_ranges):
    values = near_ones(1200) + near_ones(50, seed=2) * 3
    plan = nd.plan_tables(log2_count=11, splits=splits)
    assert listed(nd.hamming_pairs(values, plan=plan, threads=threads)) == expected(values, 3)


@pytest.mark.parametrize("bits", [1, 2, 5, 16, 33, 63])
@pytest.mark.parametrize("k", [0, 1, 2, 4, 10])
def test_any_length_of_fingerprints(bits, k, small_ranges):
    if k >= bits:
        return
    values = near_ones(300, bits)
    assert listed(nd.hamming_pairs(values, max_distance=k, bits=bits)) == expected(values, k)


@given(values=st.lists(st.integers(0, 2**16 - 1).map(lambda x: x << 24 | x >> 3), max_size=60), k=st.integers(0, 10))
def test_the_pairs_are_those_of_an_index(values, k):
    found = nd.hamming_pairs(values, max_distance=k, bits=40)
    assert listed(found) == listed(nd.HammingIndex(values, max_distance=k, bits=40).pairs()) == expected(values, k)


def test_a_prefix_that_most_share_is_one_range(small_ranges):
    values = [0xABCD << 48 | x for x in random.Random(3).sample(range(1 << 40), 400)] + near_ones(100)
    assert listed(nd.hamming_pairs(values)) == expected(values, 3)


@pytest.mark.parametrize("n", [0, 1])
def test_plans_for_more_than_there_are(n):
    pairs = nd.hamming_pairs(near_ones(n), plan=nd.plan_tables(splits=(4, 4)))
    assert listed(pairs) == []


def test_few_fingerprints():
    for values in ([], [5]):
        found = nd.hamming_pairs(values)
        assert listed(found) == []
        assert found.a.dtype == found.distance.dtype == np.int64
    assert listed(nd.hamming_pairs([5, 5])) == [(0, 1, 0)]
    assert listed(nd.hamming_pairs([0, 2**64 - 1, 1])) == [(0, 2, 1)]


@pytest.mark.parametrize("ids", [[30, -1, 2**40], ["a", "日本", ""], [b"x", b"", b"yy"]])
def test_ids(ids):
    found = nd.hamming_pairs([1, 2, 3], ids, max_distance=1)
    assert listed(found) == [(ids[0], ids[2], 1), (ids[1], ids[2], 1)]
    with pytest.raises(ValueError, match="3"):
        nd.hamming_pairs([1, 2], ids)


@pytest.mark.parametrize("name", ["f.npy", "f.u64"])
def test_files_are_mapped(name, tmp_path, small_ranges):
    values = near_ones(500)
    array = np.array(values, "<u8")
    if name.endswith("npy"):
        np.save(tmp_path / name, array)
    else:
        array.tofile(tmp_path / name)
    assert listed(nd.hamming_pairs(tmp_path / name)) == expected(values, 3)


def test_fingerprints_that_change_meanwhile_are_an_error(monkeypatch, small_ranges):
    """Act as another process that writes to a mapped file: only the memory of the range is written."""
    values = np.array(near_ones(500), np.uint64)
    histogram = _keys.histogram

    def counted(*arguments):
        histogram(*arguments)
        values[:] = 7

    monkeypatch.setattr(_keys, "histogram", counted)
    with pytest.raises(ValueError, match=r"changed while they were read: from 0 to .* then"):
        nd.hamming_pairs(values, threads=1)


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(all_pairs, "MAX_PAIRS", 1000)
    with pytest.raises(ValueError, match=r"4950 pairs, 4950 of them of repeated fingerprints \(one has 100 rows\)"):
        nd.hamming_pairs([5] * 100)
    message = "more than 1000 pairs of different fingerprints, and no more are listed: take a smaller max_distance"
    with pytest.raises(ValueError, match=message):
        nd.hamming_pairs(range(256))
    monkeypatch.setattr(hamming_index, "MAX_PAIRS", 1000)
    with pytest.raises(ValueError, match=message):
        nd.HammingIndex(range(256)).pairs()


def test_the_search_ends_with_too_many_pairs():
    keys = np.arange(1 << 14, dtype=np.uint64)
    orders = _hamming.Orders(64, 10, [(np.array([[0], [64]], np.uint8), 1, 1 << 63)])
    found = len(orders.pairs(0, keys, 10_000))
    assert 10_000 < found < 200_000  # of 1.2·10^8


def test_bad_requests():
    with pytest.raises(ValueError, match="16 is not a fingerprint of 4 bits"):
        nd.hamming_pairs([1, 16], bits=4)
    with pytest.raises(TypeError, match="unsigned 64-bit integers"):
        nd.hamming_pairs([1.5])
    with pytest.raises(ValueError, match="the plan is for 64 bits within 3; asked are 64 within 2"):
        nd.hamming_pairs([1, 2], max_distance=2, plan=nd.plan_tables())
    with pytest.raises(ValueError, match="threads must be None or an int of at least 1"):
        nd.hamming_pairs([1, 2], threads=0)
    with pytest.raises(ValueError, match="there is no room from position 3 on"):
        _keys.gather(np.array([[0], [64]], np.uint8), np.arange(5, dtype=np.uint64), 0, 9, np.empty(3, np.uint64), 3)
    with pytest.raises(ValueError, match="3 keys are sorted with room for 2"):
        _keys.sort(np.empty(3, np.uint64), 0, np.empty(2, np.uint64))


def test_progress_reaches_its_end(small_ranges):
    reports = []
    nd.hamming_pairs(near_ones(400), progress=lambda *report: reports.append(report))
    assert {stage for stage, _, _ in reports} == {"pairing"}
    assert reports[0][1] == 0
    assert reports[-1][1] == reports[-1][2] > 400
    assert [done for _, done, _ in reports] == sorted(done for _, done, _ in reports)
