"""The log-structured merge of an index: few levels, each much larger than the next, and nothing lost."""

from itertools import pairwise

from hamming_samples import found, near_ones

import ndcore as nd
from ndcore.hamming import index as hamming_index
from ndcore.hamming.levels import GROWTH, take_small_levels
from ndcore.reference import hamming as reference


def test_levels_stay_few_while_fingerprints_come_one_by_one(monkeypatch):
    monkeypatch.setattr(hamming_index, "BUFFER", 16)
    values = near_ones(1500)
    index = nd.HammingIndex()
    for i, value in enumerate(values):
        index.add([value])
        counts = [level.count for level in index._levels]
        assert sum(counts) + index._buffered == i + 1
        assert all(larger >= GROWTH * smaller for larger, smaller in pairwise(counts))
        if i % 100 == 0:
            assert found(index.query(value)) == reference.within(values[:i + 1], value, 3)
    assert len(index._levels) <= 4


def test_only_small_levels_are_taken():
    large, small = (nd.HammingIndex(near_ones(n, seed=n))._levels for n in (90_000, 5000))
    new = nd.HammingIndex(near_ones(6000, seed=1))._levels[0]
    levels = [*large, *small]
    for everything, left in ((False, large), (True, [])):
        kept, values, rows = take_small_levels(levels, new.values(), new.rows.astype("int64"), everything)
        assert kept == left
        taken = [level for level in levels if level not in left]
        assert len(values) == len(rows) == new.count + sum(level.count for level in taken)
    assert levels == [*large, *small]
