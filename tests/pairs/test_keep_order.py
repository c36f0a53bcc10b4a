"""The order in which documents are decided, and the labels that keep them apart: beside sorted() and equality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore.pairs.keep_order import KeepOrder, Leaders, number_labels


@given(st.lists(st.integers(-3, 3) | st.floats(-2, 2), max_size=12), st.integers(0, 4))
def test_fixed_documents_come_first_then_the_least_priority(priorities, fixed):
    n = len(priorities)
    keep = KeepOrder.of(np.array(priorities, float), n, fixed, None)
    others = [n + i for i in range(fixed)]
    assert keep.order.tolist() == others + sorted(range(n), key=lambda i: priorities[i])  # sorted() is stable, too
    assert keep.rank[keep.order].tolist() == list(range(n + fixed))
    assert np.flatnonzero(keep.fixed).tolist() == others


def test_names_and_callables():
    assert KeepOrder.of("first", 3, 0, None).order.tolist() == [0, 1, 2]
    assert KeepOrder.of("longest", 3, 1, np.array([5, 9, 5])).order.tolist() == [3, 1, 0, 2]
    assert KeepOrder.of(lambda: ["b", "a", "b"], 3, 0, None).order.tolist() == [1, 0, 2]
    dates = np.array(["2024-05-02", "2023-01-01"], "datetime64[D]")
    assert KeepOrder.of(dates, 2, 0, None).order.tolist() == [1, 0]


@pytest.mark.parametrize(("keep", "error", "message"), [
    ("best", ValueError, "got 'best'"),
    ("longest", ValueError, "needs the texts"),
    ([1, 2, 3], ValueError, r"keep has shape \(3,\); there are 2 documents"),
    ([1.0, float("nan")], ValueError, "priority of document 1 is nan"),
    ([None, "2024"], ValueError, "priority of document 0 is None"),
    ([object(), 3], TypeError, "cannot be compared"),
])
def test_refused_orders(keep, error, message):
    with pytest.raises(error, match=message):
        KeepOrder.of(keep, 2, 0, None)


@given(st.lists(st.sampled_from([1, "1", 2.5, "a", "a\0", b"a"]), max_size=10))
def test_numbers_of_labels_are_equal_where_labels_are(labels):
    codes = number_labels("by", lambda: labels, len(labels))
    for one, first in zip(codes.tolist(), labels, strict=True):
        for other, second in zip(codes.tolist(), labels, strict=True):
            assert (one == other) == (type(first) is type(second) and first == second)


def test_refused_labels():
    assert number_labels("by", None, 5) is None
    with pytest.raises(ValueError, match=r"by has shape \(1,\); there are 2 documents"):
        number_labels("by", ["a"], 2)
    for missing in (None, float("nan")):
        with pytest.raises(ValueError, match=r"by: the label of document 1 is .*, a missing value"):
            number_labels("by", ["a", missing], 2)


def test_a_document_is_compared_if_it_is_its_own_version_and_leader():
    keep = KeepOrder.of("first", 4, 0, None)
    leaders = Leaders(keep, np.array([0, 0, 2, 3]), np.array([0, 1, 2, 2]), None, None)
    assert leaders.compared.tolist() == [True, False, True, False]
