"""Holders of values: pairs and what they have in common, beside counting by sets."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from ndcore.pairs.scored import Holders


@pytest.mark.parametrize("most", [2, 3, 5, 100])
def test_pairs_and_common_values(most):
    rng = random.Random(most)
    sets = [{rng.randrange(40) for _ in range(rng.randrange(12))} for _ in range(25)]
    entries = [(value, document) for document, held in enumerate(sets) for value in held]
    values, documents = np.array(entries).T
    holders = Holders(values.astype(np.uint64), documents, len(sets), most)
    number = Counter(value for value, _ in entries)
    expected = {(a, b): shared for a, b in combinations(range(len(sets)), 2)
                if (shared := sum(number[value] <= most for value in sets[a] & sets[b]))}
    halves = slice(0, 11), slice(11, len(sets))
    batches = [batch for part in halves for batch in holders.pairs(part, 4)]
    found = [row for batch in batches for row in zip(*map(np.ndarray.tolist, batch), strict=True)]
    assert [((a, b), shared) for a, b, shared in found] == sorted(expected.items())
    assert holders.volume.sum() == sum(expected.values())
    wanted = [(v, n, min(d for d, held in enumerate(sets) if v in held)) for v, n in sorted(number.items()) if n > most]
    assert list(map(tuple, holders.common.tolist())) == wanted


def test_no_entries():
    holders = Holders(np.empty(0, np.uint64), np.empty(0, np.int64), 3, 10)
    assert holders.volume.tolist() == [0, 0, 0]
    assert sum(len(a) for a, _, _ in holders.pairs(slice(0, 3), 10)) == 0
