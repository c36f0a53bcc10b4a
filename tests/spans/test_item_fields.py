"""Parts of items: order, empty fields, refusals."""

from __future__ import annotations

import pytest

from ndcore.spans.item_fields import check_fields, flatten_items


def test_parts_in_the_order_of_items_and_fields():
    items = [{"a": ("x", b"y"), "q": "one"}, {"q": None, "a": []}, {"a": "z"}]
    parts = flatten_items(iter(items), ["q", "a"])
    assert parts.texts == ["one", "x", b"y", "z"]
    assert (parts.item.tolist(), parts.field.tolist(), parts.items) == ([0, 0, 0, 2], [0, 1, 1, 1], 3)
    assert flatten_items([], ["q"]).items == 0


@pytest.mark.parametrize(("items", "error", "message"), [
    (["text"], TypeError, "item 0 is 'text' of type str; items are mappings"),
    ([{"q": 5}], TypeError, "the field 'q' of item 0 has 5 of type int"),
    ([{"q": ["a", None]}], TypeError, "the field 'q' of item 0 has None"),
    ([{"question": "a"}, {"x": "b"}], ValueError, "no item has the field 'q', of 2 in all"),
])
def test_refusals_of_items(items, error, message):
    with pytest.raises(error, match=message):
        flatten_items(items, ["q"])


@pytest.mark.parametrize(("fields", "error", "message"), [
    ("question", TypeError, "fields is 'question'; give a list"), ([1], TypeError, "fields is"),
    ([], ValueError, "one name or several"), (["a", "a"], ValueError, "different"),
])
def test_refusals_of_names(fields, error, message):
    with pytest.raises(error, match=message):
        check_fields(fields)
