"""Token ids told from texts."""

from __future__ import annotations

import numpy as np
import pytest

from ndcore.spans.token_ids import all_ids, checked_ids, refuse_shingling

IDS = (np.array([1, 2], np.uint16), [0, 2])


@pytest.mark.parametrize(("given", "expected"), [
    ({"a": IDS, "b": IDS}, True), ({"a": IDS, "b": None}, True), ({"a": ["x"], "b": None}, False), ({"a": None}, False),
    ({"a": ("x", "y")}, False), ({"a": (np.array(["x"]), "y")}, False), ({"a": (np.array([1.5]), [0])}, True),
])  # fmt: skip
def test_pairs_of_arrays_of_numbers_are_ids(given, expected):
    assert all_ids(**given) is expected


def test_both_kinds_are_refused():
    with pytest.raises(TypeError, match=r"corpus are token ids, and items is of type list; give a pair \(ids, "):
        all_ids(items=["a"], corpus=IDS)


def test_offsets_become_int64_and_nothing_has_no_documents():
    ids, offsets = checked_ids("texts", IDS)
    assert ids is IDS[0] and (offsets.dtype, offsets.tolist()) == (np.int64, [0, 2])
    assert [len(part) for part in checked_ids("texts", None)] == [0, 1]


@pytest.mark.parametrize(("ids", "offsets", "error", "message"), [
    (np.zeros(1), [0, 1], TypeError, "uint8, 16, 32 or 64 in one dimension, got float64"),
    (np.zeros((1, 1), np.uint32), [0, 1], TypeError, r"shape \(1, 1\)"), (np.zeros(1, np.uint32), [], ValueError, "float64"),
    (np.zeros(1, np.uint32), [1, 1], ValueError, "these go from 1 to 1"),
    (np.zeros(2, np.uint32), [0, 2, 1, 2], ValueError, r"offsets\[2\] is 1, below offsets\[1\], which is 2"),
    (np.zeros(2, np.uint32), np.array([0, 2**64 - 1, 2], np.uint64), ValueError, r"which is 18446744073709551615"),
])
def test_others_are_refused(ids, offsets, error, message):
    with pytest.raises(error, match=message):
        checked_ids("texts", (ids, offsets))


def test_a_shingling_is_for_texts():
    refuse_shingling(None)
    with pytest.raises(ValueError, match="tokens already"):
        refuse_shingling("word")
