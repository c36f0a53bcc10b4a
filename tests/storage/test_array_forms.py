"""Names, types and dimensions of arrays, compared with what they should be."""

from __future__ import annotations

import numpy as np
import pytest

from ndcore.storage.array_forms import Form, misfit

FORM: Form = {"a": (np.int64, "n"), "b": (np.uint8, "n 3"), "c": (np.uint8, "m")}


def arrays(**changes: np.ndarray) -> dict[str, np.ndarray]:
    return {"a": np.zeros(4, np.int64), "b": np.zeros((4, 3), np.uint8), "c": np.zeros(2, np.uint8)} | changes


@pytest.mark.parametrize(("changes", "fault"), [
    ({}, None), ({"c": np.zeros(9, np.uint8)}, None),
    ({"d": np.zeros(1)}, "it has the arrays a, b, c, d, not a, b, c"),
    ({"a": np.zeros(4, np.uint64)}, "a is uint64 of 1 dimensions, not int64 of 1"),
    ({"a": np.zeros((4, 1), np.int64)}, "a is int64 of 2 dimensions"),
    ({"b": np.zeros((4, 2), np.uint8)}, "b has 2 where 3 fit the others"),
    ({"b": np.zeros((5, 3), np.uint8)}, "b has 5 where 4 fit the others"),
])
def test_misfits(changes, fault):
    found = misfit(FORM, arrays(**changes), {}, "the others")
    assert found is None if fault is None else fault in found


def test_sizes_that_are_known():
    assert misfit(FORM, arrays(), {"n": 4}, "4 documents") is None
    assert misfit(FORM, arrays(), {"n": 5}, "5 documents") == "a has 4 where 5 fit 5 documents"
    assert misfit({}, {}, {"n": 5}, "nothing") is None
    assert misfit(FORM, {}, {}, "nothing") == "it has the arrays none, not a, b, c"
