"""The kernel of entries: each function beside a few obvious lines of Python. C tests have the lengths and guard pages."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore import _entries

KERNEL = "pairs"
TOP = 2**64 - 1
values = st.integers(0, 9) | st.integers(0, TOP) | st.integers(TOP - 5, TOP)
samples = st.lists(st.sets(values, max_size=25).map(sorted), max_size=12)
NOTHING = np.empty((0, 2), np.uint64)


def laid_out(listed):
    """Values and offsets, end to end."""
    joined = np.array([z for sample in listed for z in sample], np.uint64)
    return joined, np.cumsum([0, *map(len, listed)]).astype(np.int64)


@given(samples, values, values, st.integers(0, 5))
def test_gather_and_histogram(listed, one, other, first):
    low, high = sorted((one, other))
    joined, offsets = laid_out(listed)
    taken = np.array([i % 3 != 1 for i in range(len(listed))], np.uint8)
    wanted = [[z, first + i] for i, sample in enumerate(listed) for z in sample if taken[i] and low <= z <= high]
    entries = np.full((len(wanted) + 1, 2), 77, np.uint64)
    assert _entries.gather(joined, offsets, taken, first, low, high, entries, 1) == len(wanted) + 1
    assert entries.tolist() == [[77, 77], *wanted]
    counted = np.zeros(4096, np.int64)
    _entries.histogram(joined, offsets, taken, 52, counted)
    expected = Counter(z >> 52 for i, sample in enumerate(listed) for z in sample if taken[i])
    assert {at: counted[at] for at in np.flatnonzero(counted)} == expected


def test_gather_never_writes_past_the_end():
    joined, offsets = laid_out([[TOP, 1, TOP - 1, 0]])
    buffer = np.full((6, 2), 77, np.uint64)
    assert _entries.gather(joined, offsets, np.ones(1, np.uint8), 0, TOP - 1, TOP, buffer[:1], 0) >= 0
    assert (buffer[1:] == 77).all()
    assert _entries.gather(joined, offsets, np.ones(1, np.uint8), 0, 0, TOP, NOTHING, 0) == 0


holdings = st.dictionaries(values, st.sets(st.integers(0, 11), min_size=1), max_size=30)


@given(holdings, st.integers(0, 13), st.integers(0, 12), st.integers(0, 12), st.integers(0, 9))
def test_runs_and_counts(held, max_holders, one, other, room):
    entries = sorted((z, d) for z, documents in held.items() for d in documents)
    keys, documents = np.array([e[0] for e in entries], np.uint64), np.array([e[1] for e in entries], np.uint32)
    holders, ends, common = _entries.runs(keys, documents, max_holders)
    paired = [sorted(held[z]) for z in sorted(held) if 2 <= len(held[z]) <= max_holders]
    assert [part.tolist() for part in np.split(holders, ends[:-1])] == (paired or [[]])
    assert common.tolist() == [[z, len(held[z]), min(held[z])] for z in sorted(held) if len(held[z]) > max_holders]

    wanted = Counter(pair for run in paired for pair in itertools.combinations(run, 2))
    volume = np.zeros(12, np.int64)
    _entries.volume(holders, ends, volume)
    assert volume.tolist() == [sum(times for (a, _), times in wanted.items() if a == d) for d in range(12)]
    first, last = sorted((one, other))
    cut = len(ends) // 2  # two parts, as two slabs give
    at = int(ends[cut - 1]) if cut else 0
    parts = [(holders[:at], ends[:cut]), (holders[at:], ends[cut:] - np.uint32(at))]
    counts = _entries.Counts(parts, first, last, volume[first:last], 12)
    found = []
    while (piece := counts.next(room)) is not None:
        found += zip(*(column.tolist() for column in piece), strict=True)
    assert found == [(a, b, wanted[a, b]) for a, b in sorted(wanted) if first <= a < last]
    assert counts.next(room) is None


@given(samples, st.data())
def test_members_under_a_mask(listed, data):
    joined, offsets = laid_out(listed)
    rows = data.draw(st.lists(st.tuples(st.integers(0, len(listed) - 1), st.integers(0, 63)), max_size=20) if listed else
                     st.just([]))  # fmt: skip
    documents = np.array([row[0] for row in rows], np.int64)
    masks = np.array([2 ** row[1] - 1 for row in rows], np.uint64)
    assert _entries.members_under(joined, offsets, documents, masks).tolist() == [
        sum(z % 2**level == 0 for z in listed[i]) for i, level in rows
    ]


@given(samples, st.booleans())
def test_keys_are_equal_where_samples_are(listed, adaptive):
    joined, offsets = laid_out(listed)
    levels = [i % 3 * 31 for i in range(len(listed))]
    moduli = np.array([2**level for level in levels], np.uint64) if adaptive else None
    keys = _entries.sample_keys(joined, offsets, moduli, 2**60 + 12345).tolist()
    for i, j in itertools.combinations(range(len(listed)), 2):
        assert (keys[i] == keys[j]) == (listed[i] == listed[j] and (not adaptive or levels[i] == levels[j]))
    assert 0 not in keys


PRIME = 2**61 - 1


@given(samples, st.integers(0, 2**64 - 1))
def test_keys_are_values_of_a_polynomial(listed, key):
    """The size, the modulus and the values, in halves of 32 bits, are the coefficients, the highest powers first."""
    joined, offsets = laid_out(listed)
    moduli = np.array([2 ** (i % 64) for i in range(len(listed))], np.uint64)
    wanted = []
    for sample, modulus in zip(listed, moduli.tolist(), strict=True):
        value = len(sample)
        for word in [modulus, *sample]:
            for half in divmod(word, 2**32):
                value = (value * key + half) % PRIME
        wanted.append(value + 1)
    assert _entries.sample_keys(joined, offsets, moduli, key).tolist() == wanted


def test_samples_that_do_not_ascend():
    joined, offsets = laid_out([[1, 2], [], [3, 3], [9, 1]])
    with pytest.raises(ValueError, match="the members of sketch 2 do not ascend: sort them, and give each once"):
        _entries.sample_keys(joined, offsets, None, 1)
    assert len(_entries.sample_keys(joined, offsets, None, 1, ascending=False)) == 4


@pytest.mark.parametrize(
    "wrong", [np.zeros(4, np.int64), np.zeros(8, np.uint64)[::2], np.zeros((2, 2), np.uint64), [1], None]
)
def test_arrays_of_another_kind_are_refused(wrong):
    with pytest.raises((ValueError, TypeError)):
        _entries.sample_keys(wrong, np.array([0, 4]), None, 1)
