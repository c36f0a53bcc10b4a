"""Contamination by field: the same counts as of the parts alone, and refusals."""

from __future__ import annotations

import pytest

import ndcore as nd

ITEMS = [{"question": "which river flows through the old town", "answers": ["the Aare", "Aare"]},
         {"question": "how many legs has a spider", "answers": ["eight", "8"], "passage": "a spider is no insect it has 8"},
         {"question": "never asked at all anywhere", "answers": "yes"}]
CORPUS = ["Which river flows through the old town? The Aare.", "How many legs has a spider? Nobody knows, yes."]


def test_parts_are_looked_for_as_items_are():
    texts = [part for item in ITEMS for field in ("question", "answers", "passage")
             for part in ([item[field]] if isinstance(item.get(field), str) else item.get(field, []))]
    result = nd.field_contamination(ITEMS, iter(CORPUS), ("question", "answers", "passage"), 6)
    alone = nd.contamination(texts, CORPUS, 6)
    for name in ("tokens", "covered", "grams", "found", "longest"):
        assert getattr(result.parts, name).tolist() == getattr(alone, name).tolist()
    assert result.found().tolist() == [[True, True, False], [True, False, False], [False, True, False]]
    assert result.near is None


@pytest.mark.parametrize(("given", "error", "message"), [
    ({"near": -1}, ValueError, "near is -1; it must be at least 0"), ({"near": 65537}, ValueError, "at most 65536"),
    ({"near": 2.5}, TypeError, "near is 2.5"), ({"min_tokens": 0}, ValueError, "min_tokens is 0"),
    ({"fields": ["question", "hint"]}, ValueError, "no item has the field 'hint'"), ({"corpus": None}, TypeError, "corpus"),
])
def test_refusals(given, error, message):
    with pytest.raises(error, match=message):
        nd.field_contamination(**{"items": ITEMS, "corpus": CORPUS, "fields": ["question"]} | given)


def test_nothing():
    result = nd.field_contamination([], CORPUS, ["q", "a"], near=5)
    assert (len(result), result.near.shape, result.contaminated().tolist()) == (0, (0, 2), [])
