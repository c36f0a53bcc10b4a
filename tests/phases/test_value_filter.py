"""Filters of values: tasks make the filter that the definition gives, and none of its values is missed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from record_batches import cut_batches, pa
from value_filters import filter_of, signed

from ndcore.phases import probes, value_filter
from ndcore.phases.probes import join_tables, put_together
from ndcore.phases.value_filter import fill_filter, fill_filter_pair, join_filter_pairs, may_have, unite


@pytest.mark.parametrize("words", [1, 2, 64, 1024])
def test_a_filter_forgets_nothing(words):
    rng = random.Random(words)
    values = [rng.getrandbits(64) for _ in range(4 * words)]
    others = np.array([rng.getrandbits(64) for _ in range(2000)], np.uint64)
    made = filter_of(values, words)
    assert may_have(made, np.array(values, np.uint64)).all()
    assert may_have(made, np.array(values, np.uint64).view(np.int64)).all()
    assert may_have(made, others).mean() < 0.05
    assert not may_have(np.zeros(words, np.uint64), others).any()


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("words", [1, 16, 128])
def test_tasks_make_the_filter(monkeypatch, words, tasks):
    """Of integers, and of binary rows with any number of values; seven at a time, in slices of 16 words."""
    monkeypatch.setattr(probes, "SLICE", 128)
    monkeypatch.setattr(value_filter, "AT_ONCE", 7)
    rng = random.Random(words)
    rows = [[rng.getrandbits(64) for _ in range(rng.randrange(4))] for _ in range(60)]
    values = [value for row in rows for value in row]
    given = {
        "integers": ({"value": pa.int64()}, [(signed(value),) for value in values]),
        "binary": ({"value": pa.binary()}, [(b"".join(value.to_bytes(8, "little") for value in row),) for row in rows]),
    }
    for schema, cells in given.values():
        filled = [batch for part in range(tasks) for batch in fill_filter(
            cut_batches(rng, schema, cells[part::tasks]), words=words)]
        made = np.zeros(words, np.uint64)
        put_together(made, pa.Table.from_batches(list(join_tables(filled, marks=True))))
        np.testing.assert_array_equal(made, filter_of(values, words))


def test_nothing_is_in_a_filter_of_nothing():
    [empty] = fill_filter([pa.record_batch({"value": pa.array([b"", b""])})], words=4)
    made = np.zeros(4, np.uint64)
    put_together(made, pa.Table.from_batches([empty]))
    assert not made.any()


@pytest.mark.parametrize("tasks", [1, 2, 3])
@pytest.mark.parametrize("words", [1, 16, 512])
def test_values_that_come_more_than_once(monkeypatch, words, tasks):
    """In a row, in two rows, batches or tasks; the first filter has all values, and the second one few of the others."""
    monkeypatch.setattr(probes, "SLICE", 128)
    monkeypatch.setattr(value_filter, "AT_ONCE", 7)
    rng = random.Random(10 * words + tasks)
    values = [rng.getrandbits(64) for _ in range(2 * words + 4)]
    again = values[::3]
    given = [*values, *again]
    rng.shuffle(given)
    cells = [(signed(one), b"".join(value.to_bytes(8, "little") for value in rest))
             for one, *rest in (given[at : at + 3] for at in range(0, len(given), 3))]
    filled = [batch for part in range(tasks) for batch in fill_filter_pair(
        cut_batches(rng, {"one": pa.int64(), "rest": pa.binary()}, cells[part::tasks]), words=words)]
    pairs = np.zeros(2 * words, np.uint64)
    put_together(pairs, pa.Table.from_batches(list(join_filter_pairs(filled))))
    np.testing.assert_array_equal(pairs[::2], filter_of(values, words))
    repeated = pairs[1::2].copy()
    assert may_have(repeated, np.array(again, np.uint64)).all()
    assert words < 16 or may_have(repeated, np.array(sorted(set(values) - set(again)), np.uint64)).mean() < 0.1


@pytest.mark.parametrize(("words", "others"), [(1, 1), (64, 1), (64, 16), (64, 64)])
def test_a_filter_of_the_values_of_two(words, others):
    """It is the filter of all of them, as far as the smaller one tells words apart."""
    rng = random.Random(words + others)
    first, second = ([rng.getrandbits(64) for _ in range(count)] for count in (words, others))
    united = unite(filter_of(first, words), filter_of(second, others))
    assert len(united) == words and may_have(united, np.array(first + second, np.uint64)).all()
    if others == words:
        np.testing.assert_array_equal(united, filter_of(first + second, words))
    elif words > others:
        assert may_have(united, np.array([rng.getrandbits(64) for _ in range(2000)], np.uint64)).mean() < 0.05
