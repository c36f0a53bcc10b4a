"""Verdicts of items with fields: rules, required fields, reasons in words."""

from __future__ import annotations

import numpy as np
import pytest

import ndcore as nd

ITEMS = [{"q": "one two three four five", "a": ["six", "seven eight"]}, {"q": "nine ten eleven twelve", "a": "six"},
         {"q": "nowhere at all it is", "a": []}]
CORPUS = ["One two three four! Six.", f"nine ten eleven twelve {'x ' * 20} six"]


@pytest.fixture
def result() -> nd.FieldContamination:
    return nd.field_contamination(ITEMS, CORPUS, ["q", "a"], 4, near=3)


def test_sums_of_parts(result):
    assert result.tokens.tolist() == [[5, 3], [4, 1], [5, 0]]
    assert result.covered.tolist() == [[4, 1], [4, 1], [0, 0]]
    assert result.total(None).tolist() == [[1, 2], [1, 1], [1, 0]]
    assert result.near.tolist() == [[True, True], [True, False], [False, False]]
    assert [column.tolist() for column in result.near_places] == [[0], [1], [0], [0], [4]]


def test_required_fields(result):
    assert result.contaminated().tolist() == [True, True, False]
    assert result.contaminated(require=["q"]).tolist() == [True, True, False]
    assert result.contaminated(require=["q", "a"]).tolist() == [True, False, False]
    far = nd.field_contamination(ITEMS, CORPUS, ["q", "a"], 4)
    assert far.contaminated(require=["q", "a"]).tolist() == [True, True, False]
    with pytest.raises(ValueError, match="require has 'x'; the fields are q, a"):
        result.contaminated(require=["x"])
    with pytest.raises(TypeError, match="give a list of names of fields"):
        result.contaminated(require="q")


def test_rules_are_of_parts():
    question = " ".join(f"w{i}" for i in range(14))  # 7 runs of 8
    corpus = [" ".join(question.split()[:12])]
    result = nd.field_contamination([{"q": question, "a": "w1"}], corpus, ["q", "a"], 8)
    assert result.found("any").tolist() == [[True, True]] and result.found("palm").tolist() == [[True, True]]
    result = nd.field_contamination([{"q": question, "a": "w1"}], [" ".join(question.split()[:11])], ["q", "a"], 8)
    assert result.found("palm").tolist() == [[False, True]]
    assert "q (required): 11 of 14 tokens (79 %), too little for the rule" in result.explain(0, "palm", ["q"])
    with pytest.raises(ValueError, match="13 tokens"):
        result.found("gpt-3")


def test_reasons(result):
    assert result.explain(0, require=["q", "a"]) == (
        "contaminated; q (required): 4 of 5 tokens (80 %); a (required): 1 of 3 tokens (33 %), within 3 tokens of q")
    assert result.explain(1, require=["q", "a"]) == (
        "not contaminated; q (required): 4 of 4 tokens (100 %); "
        "a (required): 1 of 1 token (100 %), not within 3 tokens of q")
    assert result.explain(2) == "not contaminated; q: 0 of 5 tokens; a: empty"
    assert result.explain_all(items=[2]) == [result.explain(2)]
    for item in (-1, 3):
        with pytest.raises(IndexError, match=f"no item {item}; there are 3"):
            result.explain(item)


def test_results_are_read_only(result):
    assert not result.part_item.flags.writeable and not result.near_places.item.flags.writeable
    assert isinstance(result.near, np.ndarray)
    assert repr(result) == "<FieldContamination of 3 items: 2 with 'q', 2 with 'a' in 2 documents>"
