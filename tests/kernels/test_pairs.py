"""Sorting, sets, candidate pairs and components, each beside a few obvious lines of Python."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from generated import LENGTHS, splitmix64
from hypothesis import given
from hypothesis import strategies as st

from ndcore._candidates import FAR, NEAR, UNKNOWN, FeatureTables, Judge, NumberedBitmaps
from ndcore._cluster import components
from ndcore._entries import sort_entries
from ndcore._sets import common, differences, distinct
from ndcore.reference import clustering
from ndcore.reference.sketches import feature
from ndcore.text.shingling import FEATURE_POLYNOMIAL

KERNEL = "pairs"
TABLES = FeatureTables(FEATURE_POLYNOMIAL)
keys = st.integers(0, 3) | st.integers(0, 2**64 - 1) | st.integers(0, 7).map(lambda byte: 3 << 8 * byte)

# ---------------------------------------------------------------------------------------------- sorting


def test_a_sort_by_hand(variant):
    entries = np.array([[5, 0], [2**64 - 1, 1], [5, 2], [0, 3], [256, 4], [2**63, 5]], np.uint64)
    sort_entries(entries)
    assert entries.tolist() == [[0, 3], [5, 0], [5, 2], [256, 4], [2**63, 5], [2**64 - 1, 1]]


@given(st.lists(keys, max_size=300))
def test_sort_is_stable_and_by_key(variant, listed):
    entries = np.array([[key, i] for i, key in enumerate(listed)], np.uint64).reshape(-1, 2)
    sort_entries(entries)
    assert entries.tolist() == [[listed[i], i] for i in sorted(range(len(listed)), key=listed.__getitem__)]


@pytest.mark.parametrize("shift", range(0, 64, 8))
def test_sort_by_each_byte_alone(variant, shift):
    """Passes whose digit never varies are skipped: an odd and an even number of passes end in the right array."""
    outputs = splitmix64(shift)
    for n in LENGTHS:
        values = [next(outputs) % 256 << shift for _ in range(n)]
        entries = np.array([values, range(n)], np.uint64).T.copy()
        sort_entries(entries)
        order = sorted(range(n), key=values.__getitem__)
        assert entries[:, 1].tolist() == order
        assert entries[:, 0].tolist() == [values[i] for i in order]


# ---------------------------------------------------------------------------------------------- sets


@given(st.lists(st.lists(keys, max_size=40), max_size=8))
def test_distinct(variant, bags):
    values = np.array([value for bag in bags for value in bag], np.uint64)
    found, offsets = distinct(values, np.cumsum([0, *map(len, bags)]))
    expected = [sorted(set(bag)) for bag in bags]
    assert offsets.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    assert found.tolist() == [value for members in expected for value in members]


def test_distinct_of_every_length(variant):
    outputs = splitmix64(1)
    bags = [[next(outputs) % (n // 2 + 1) for _ in range(n)] for n in LENGTHS]
    found, offsets = distinct(np.array([v for bag in bags for v in bag], np.uint64), np.cumsum([0, *map(len, bags)]))
    for i, bag in enumerate(bags):
        assert found[offsets[i] : offsets[i + 1]].tolist() == sorted(set(bag))


@given(st.lists(st.sets(keys, max_size=30), min_size=1, max_size=6))
def test_common(variant, sets):
    values = np.array([value for members in sets for value in sorted(members)], np.uint64)
    offsets = np.cumsum([0, *map(len, sets)])
    a, b = np.indices((len(sets), len(sets))).reshape(2, -1).astype(np.int64)
    found = common(values, offsets, a, b)
    assert found.tolist() == [len(sets[i] & sets[j]) for i, j in zip(a, b, strict=True)]


@given(st.lists(st.sets(keys, max_size=30), min_size=1, max_size=6), st.integers(0, 2**64 - 1))
def test_weights_of_common_members(variant, sets, seed):
    outputs = splitmix64(seed)
    weight = {value: next(outputs) >> 32 for value in sorted(set().union(*sets))}
    values = np.array([value for members in sets for value in sorted(members)], np.uint64)
    offsets = np.cumsum([0, *map(len, sets)])
    weights = np.array([weight[value] for value in values.tolist()], np.uint32)
    a, b = np.indices((len(sets), len(sets))).reshape(2, -1).astype(np.int64)
    sums = common(values, offsets, a, b, weights)
    assert sums.tolist() == [sum(weight[value] for value in sets[i] & sets[j]) for i, j in zip(a, b, strict=True)]


def test_weights_that_do_not_fit_are_refused(variant):
    values, offsets, one = np.array([1, 2, 3], np.uint64), np.array([0, 3]), np.array([0])
    with pytest.raises(ValueError, match="values and weights"):
        common(values, offsets, one, one, np.ones(2, np.uint32))
    with pytest.raises(IndexError, match="there is no pair of documents 1 and 0"):
        common(values, offsets, one + 1, one, np.ones(3, np.uint32))


def test_differences(variant):
    sets = [set(), {1, 2, 5, 9}, {2, 3, 9, 2**64 - 1}, {7}, set()]
    values = np.array([value for each in sets for value in sorted(each)], np.uint64)
    offsets = np.cumsum([0, *map(len, sets)])
    a, b = (side.ravel() for side in np.indices((5, 5)))
    found, ends = differences(values, offsets, a, b)
    for i in range(25):
        assert found[ends[i] : ends[i + 1]].tolist() == sorted(sets[a[i]] - sets[b[i]])
    for pair in [(5, 0), (0, 5), (-1, 0)]:
        with pytest.raises(IndexError, match="there is no pair of documents"):
            differences(values, offsets, *(np.array([end]) for end in pair))


def test_common_by_hand(variant):
    values = np.array([1, 2, 3, 2, 3, 4, 5, 2**64 - 1, 2**64 - 1], np.uint64)
    found = common(values, np.array([0, 3, 8, 8, 9]), np.array([0, 1, 2, 1]), np.array([1, 0, 0, 3]))
    assert found.tolist() == [2, 2, 0, 1]


# ---------------------------------------------------------------------------------------------- candidate pairs


def entries_of(rows: np.ndarray, group: int, size: int) -> np.ndarray:
    """(key, group << 32 | document), sorted: equal keys exactly where the group's minima are equal."""
    _, code = np.unique(rows[:, group * size : (group + 1) * size], axis=0, return_inverse=True)
    order = np.argsort(code.ravel(), kind="stable")
    return np.array([code.ravel()[order], group << 32 | order], np.uint64).T.copy()


def expanded(rows, groups, size, need, least=0, max_run=10**6, fixed=10**6) -> tuple[list[tuple[int, int]], Judge]:
    """All pairs that the judge gives, in order, as the engine asks for them: long runs are marked first."""
    judge = Judge(rows, groups, size, need, least, fixed)
    cut = np.zeros((len(rows), groups), np.uint8)
    judge.set_cut(cut)
    pairs: list[tuple[int, int]] = []
    for group in range(groups):
        entries = entries_of(rows, group, size)
        present, counts = np.unique(entries[:, 0], return_counts=True)
        cut[entries[np.isin(entries[:, 0], present[counts > max_run]), 1].astype(np.uint32), group] = 1
        assert len(judge.long_runs(entries, max_run)) == (counts > max_run).sum()
        for chunk in judge.expand(entries, max_run):
            pairs += [(int(pair) >> 32, int(pair) & 0xFFFFFFFF) for pair in chunk]
    return pairs, judge


def obvious(rows, groups, size, need, least=0, max_run=10**6, fixed=10**6) -> set[tuple[int, int]]:
    """Pairs that share `need` groups and `least` minima, and at least one group whose run is not cut."""
    parts = [[tuple(row[g * size : (g + 1) * size]) for g in range(groups)] for row in rows.tolist()]
    holders = [[sum(other[g] == own[g] for other in parts) for g in range(groups)] for own in parts]
    found = set()
    for a, b in itertools.combinations(range(len(rows)), 2):
        shared = [g for g in range(groups) if parts[a][g] == parts[b][g]]
        proposed = any(holders[a][g] <= max_run for g in shared)
        equal = int((rows[a] == rows[b]).sum())
        if a < fixed and len(shared) >= need and proposed and equal >= least:
            found.add((a, b))
    return found


@st.composite
def signature_rows(draw: st.DrawFn) -> tuple[np.ndarray, int, int]:
    groups, size = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    n = draw(st.integers(0, 14))
    values = draw(st.lists(st.integers(0, 2), min_size=n * (groups * size + 1), max_size=n * (groups * size + 1)))
    dtype = draw(st.sampled_from([np.uint32, np.uint64]))
    return np.array(values, dtype).reshape(n, groups * size + 1), groups, size  # one minimum is left over


@pytest.mark.parametrize("need", [1, 2, 3])
@given(signature_rows(), st.integers(2, 15), st.integers(0, 4), st.integers(0, 15))
def test_every_pair_comes_exactly_once(variant, need, made, max_run, least, fixed):
    rows, groups, size = made
    pairs, _ = expanded(rows, groups, size, need, least, max_run, fixed)
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == obvious(rows, groups, size, need, least, max_run, fixed)


@given(signature_rows().filter(lambda made: len(made[0]) > 0), st.integers(1, 3), st.integers(0, 4))
def test_matches_tell_each_pair(variant, made, need, least):
    rows, groups, size = made
    _, judge = expanded(rows, groups, size, need, least)
    everything = obvious(rows, groups, size, need, least)
    a, b = np.triu_indices(len(rows), 1)
    for x, y in ((a, b), (b, a)):
        assert judge.matches(x, y).tolist() == [int(pair in everything) for pair in zip(a.tolist(), b.tolist(), strict=True)]
    with pytest.raises(IndexError, match=f"not among {len(rows)}"):
        judge.matches(np.array([0]), np.array([len(rows)]))


@pytest.mark.parametrize("bits", [32, 64])
def test_entries_of_groups_are_their_features(variant, bits):
    outputs = splitmix64(8)
    rows = np.array([[next(outputs) >> (64 - bits) for _ in range(7)] for _ in range(9)], f"uint{bits}")
    judge, documents, salts = Judge(rows, 3, 2, 1, 0, 9), np.array([1, 2, 8]), np.array([0, 5, 2**64 - 1], np.uint64)
    for first, last in [(0, 3), (1, 2), (2, 2)]:
        expected = [[feature(j, rows[i, 2 * j : 2 * j + 2].tolist()), j << 32 | i]
                    for j in range(first, last) for i in documents]
        assert judge.entries(TABLES, first, last, documents).tolist() == expected
        salted = judge.entries(TABLES, first, last, documents, salts)
        assert salted[:, 0].tolist() == [key ^ int(salts[i % 3]) for i, (key, _) in enumerate(expected)]
        assert salted[:, 1].tolist() == [each for _, each in expected]


def test_entries_of_several_groups_are_runs_of_their_own(variant):
    """Two groups share a key by accident: their documents are no run."""
    rows = np.array([[1, 1], [1, 1], [2, 1]], np.uint32)
    entries = np.array([[7, 0], [7, 1], [7, 1 << 32 | 0], [7, 1 << 32 | 1], [7, 1 << 32 | 2]], np.uint64)
    judge = Judge(rows, 2, 1, 1, 0, 9)
    assert judge.long_runs(entries, 1) == [(0, 2), (2, 5)] and judge.long_runs(entries, 2) == [(2, 5)]
    assert [pair for chunk in judge.expand(entries, 5) for pair in chunk.tolist()] == [1, 2, 1 << 32 | 2]


def test_a_run_larger_than_the_room_of_a_chunk(variant):
    """600 equal rows have 179700 pairs; a chunk has room for 65536 and stops in the middle of a run."""
    pairs, _ = expanded(np.ones((600, 2), np.uint32), 2, 1, 2)
    assert len(pairs) == len(set(pairs)) == 600 * 599 // 2
    assert pairs[0] == (0, 1) and max(pairs) == (598, 599)


def test_a_run_of_exactly_max_run_is_expanded(variant):
    rows = np.ones((5, 1), np.uint32)
    assert len(expanded(rows, 1, 1, 1, max_run=5)[0]) == 10
    assert expanded(rows, 1, 1, 1, max_run=4)[0] == []


def test_fixed_documents_are_not_paired_with_one_another(variant):
    pairs, _ = expanded(np.ones((5, 1), np.uint32), 1, 1, 1, fixed=2)
    assert sorted(pairs) == [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]


# ---------------------------------------------------------------------------------------------- components


@given(st.integers(1, 25).flatmap(lambda n: st.tuples(
    st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] < p[1]), max_size=30),
    st.permutations(range(n)))))  # fmt: skip
def test_components_as_the_reference(variant, made):
    n, edges, order = made
    a, b = (np.array([edge[i] for edge in sorted(edges)], np.int64) for i in (0, 1))
    rank = np.empty(n, np.int64)
    rank[list(order)] = np.arange(n)
    assert components(a, b, rank).tolist() == clustering.components(n, [(i, j, 1.0) for i, j in edges], order)


def test_components_of_a_long_chain(variant):
    n = 100_000
    ends = np.arange(n - 1)
    assert set(components(ends, ends + 1, np.arange(n)).tolist()) == {0}
    assert set(components(ends[::-1].copy(), ends[::-1] + 1, np.arange(n)[::-1].copy()).tolist()) == {n - 1}
    assert components(ends[:0], ends[:0], np.arange(3)).tolist() == [0, 1, 2]


# ---------------------------------------------------------------------------------------------- bitmaps that come one by one


def test_numbered_bitmaps_reject_no_near_set():
    """Beside a dict of sizes, with numbers far apart, while documents come, change and leave.

    Two documents share what both have of the frame: the rest is drawn from 2^64 numbers.
    """
    rng = np.random.default_rng(3)
    made, sizes, threshold, rejected = NumberedBitmaps(0.8, 1 << 30), {}, 0.8, 0
    frame = rng.integers(0, 2**64, 1500, np.uint64)
    for step in range(1200):
        size = int(rng.integers(1, 1500))
        values = np.unique(np.concatenate([frame[:size], rng.integers(0, 2**64, int(size * rng.random() / 2), np.uint64)]))
        number = int(rng.choice([rng.integers(0, 600), rng.integers(0, 2**20)]))
        if sizes and step % 3 == 0:
            gone = int(rng.choice(list(sizes)))
            made.discard(gone)
            del sizes[gone]
            assert gone not in made
        asked = np.array(sorted({*sizes, number, 2**40, 599}), np.int64)
        found = dict(zip(asked.tolist(), made.near(values, asked).tolist(), strict=True))
        for each, answer in found.items():
            if each not in sizes:
                assert answer == UNKNOWN
                continue
            assert answer in (NEAR, FAR)
            rejected += answer == FAR
            few, many = sorted((len(values), sizes[each][1]))
            if answer == FAR and few >= threshold * many:  # of other sizes they are far, whatever they share
                both = min(size, sizes[each][0])
                assert both / (few + many - both) < threshold
        made.add(number, values)
        sizes[number] = size, len(values)
        assert len(made) == len(sizes) and number in made
    assert rejected > 100_000


def test_numbered_bitmaps_refuse_what_is_no_document():
    made = NumberedBitmaps(0.5, 1 << 20)
    with pytest.raises(ValueError, match="got -1"):
        made.add(-1, np.ones(1, np.uint64))
    with pytest.raises(ValueError, match="0 members"):
        made.add(1, np.zeros(0, np.uint64))
    assert len(made) == 0 and made.near(np.ones(1, np.uint64), np.array([-1, 1], np.int64)).tolist() == [UNKNOWN] * 2
    with pytest.raises(ValueError, match="threshold"):
        NumberedBitmaps(0.0, 1 << 20)


def test_threads_look_for_a_numbered_bitmap_while_another_adds():
    """Also where `add` replaces the arrays of all documents by larger ones."""
    values, last = np.arange(1, 40, dtype=np.uint64), 30_000
    for _ in range(10):
        made = NumberedBitmaps(0.8, 1 << 30)
        made.add(0, values)

        def look(_, made=made):
            found = {True}
            while last not in made:
                found |= {0 in made, -1 not in made}
            return found

        with ThreadPoolExecutor(3) as pool:
            looks = pool.map(look, range(3))
            for number in range(300, last + 1, 300):
                made.add(number, values)
            assert list(looks) == [{True}] * 3


def test_numbered_bitmaps_forget_the_older_half():
    """A document without a bitmap is UNKNOWN, so nothing is lost."""
    made, rng = NumberedBitmaps(0.8, 20_000), np.random.default_rng(4)
    sets = [np.unique(rng.integers(0, 2**64, 300, np.uint64)) for _ in range(500)]
    for number, values in enumerate(sets):
        made.add(number, values)
    assert 20 <= len(made) <= 200  # each takes 612 bytes, and room is made for several
    held = [number in made for number in range(500)]
    assert held == sorted(held)  # the last ones
    answers = made.near(sets[499], np.arange(500)).tolist()
    assert answers == [UNKNOWN] * held.count(False) + [FAR] * (held.count(True) - 1) + [NEAR]
