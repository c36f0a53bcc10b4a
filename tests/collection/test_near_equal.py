"""Groups of nearly equal sets, beside brute force (`ndcore.reference.collection`)."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore.collection import near_equal as module
from ndcore.collection.near_equal import group_nearly_equal
from ndcore.reference.collection import group_nearly_equal as reference


def grouped(sets: list[list[int]], threshold: float) -> list[int]:
    values = np.array([value for own in sets for value in own], np.uint64)
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in sets])]).astype(np.int64)
    labels, resemblances = group_nearly_equal(values, offsets, threshold)
    for own, first, resemblance in zip(sets, labels.tolist(), resemblances.tolist(), strict=True):
        assert resemblance == (len(set(own) & set(sets[first])) / len(set(own) | set(sets[first])) if own else 1.0)
    return labels.tolist()


@settings(max_examples=200)
@given(st.lists(st.sets(st.integers(0, 25)), max_size=12), st.sampled_from([0.1, 0.5, 2 / 3, 0.8, 0.9, 1.0]))
def test_stars_as_of_all_pairs(sets, threshold):
    ordered = [sorted(own) for own in sets]
    assert grouped(ordered, threshold) == reference(ordered, threshold)


def test_a_document_without_values_is_alone():
    assert grouped([[], [], [1], [1]], 1.0) == [0, 1, 2, 2]
    assert grouped([], 0.5) == []


def test_copies_are_compared_with_the_first_one_only(monkeypatch):
    """A crowd of copies is not compared pair by pair, nor are documents that have only a template in common."""
    compared = []

    def counted(values, offsets, a, b):
        compared.append(len(a))
        return module_common(values, offsets, a, b)

    module_common = module.common
    monkeypatch.setattr(module, "common", counted)
    assert grouped([[*range(50), 100 + i] for i in range(500)], 0.9) == [0] * 500
    assert sum(compared) == 499
    compared.clear()
    assert grouped([[*range(50), *range(100 + 20 * i, 120 + 20 * i)] for i in range(500)], 0.9) == list(range(500))
    assert compared == []


def test_few_pairs_of_choices_of_the_same_values_are_compared(monkeypatch):
    """All of them share rarest values, since all values are equally rare; bitmaps tell most apart."""
    rng, compared = np.random.default_rng(1), []

    def counted(values, offsets, a, b):
        compared.append(len(a))
        return module_common(values, offsets, a, b)

    module_common = module.common
    monkeypatch.setattr(module, "common", counted)
    sets = [np.sort(rng.choice(200, 100, replace=False)).tolist() for _ in range(300)] * 2
    assert grouped(sets, 0.9) == list(range(300)) * 2
    assert 300 <= sum(compared) < 400
