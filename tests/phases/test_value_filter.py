"""Filters of values: the phases make the filter that the definition gives, and none of its values is missed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from record_batches import cut_batches, pa
from value_filters import filter_of, signed

from ndcore.phases import value_filter
from ndcore.phases.value_filter import join_words, list_words, make_filter, may_have


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


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("words", [1, 16, 128])
def test_phases_make_the_filter(monkeypatch, words, partitions):
    """Of integers, and of binary rows with any number of values; pieces of 16 words, each in one of the partitions."""
    monkeypatch.setattr(value_filter, "PIECE", 16)
    rng = random.Random(words)
    rows = [[rng.getrandbits(64) for _ in range(rng.randrange(4))] for _ in range(60)]
    values = [value for row in rows for value in row]
    given = {
        "integers": ({"value": pa.int64()}, [(signed(value),) for value in values]),
        "binary": ({"value": pa.binary()}, [(b"".join(value.to_bytes(8, "little") for value in row),) for row in rows]),
    }
    for schema, cells in given.values():
        listed = list(list_words(cut_batches(rng, schema, cells), column="value", words=words))
        assert len(listed) > 1
        piece_of = [batch.column("piece").to_numpy() for batch in listed]
        joined = [batch for part in range(partitions) for batch in join_words(
            batch.filter(pa.array(piece % partitions == part)) for batch, piece in zip(listed, piece_of, strict=True))]
        table = pa.Table.from_batches(joined)
        assert sorted(table["piece"].to_pylist()) == list(range(-(-words // 16)))
        np.testing.assert_array_equal(make_filter(table, words), filter_of(values, words))


def test_nothing_is_in_a_filter_of_nothing():
    empty = pa.record_batch({"value": pa.array([b"", b""])})
    assert list(list_words([empty], column="value", words=4)) == [] == list(join_words([]))
    table = pa.table({"piece": pa.array([], pa.int64()), "words": pa.array([], pa.binary())})
    assert not make_filter(table, 4).any()
