"""Measures: what is accepted, how simple they are, and the options that they become."""

from __future__ import annotations

from typing import Any

import pytest

from ndcore import Shingling, near_duplicates
from ndcore.judge.measures import DEFAULT, Measure, checked_measures


@pytest.mark.parametrize(("given", "message"), [
    ({"unit": "syllable"}, "unit"), ({"drop": "both"}, "drop"), ({"width": 0}, "width must be an int of 1 to 32, got 0"),
    ({"width": True}, "width"), ({"must_agree": ("colour",)}, "must_agree"), ({"drop_common": 1.0}, "drop_common"),
    ({"normalize": "NFC"}, "normalize must be"), ({"normalize": "scan"}, "is for the units char, grapheme, not for 'word'"),
])
def test_a_measure_that_is_not_accepted(given: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        Measure(**given)


def test_keys_are_a_tuple():
    with pytest.raises(TypeError, match="tuple of names"):
        Measure(must_agree="numbers")  # type: ignore[arg-type]


def test_every_measure_becomes_options_of_near_duplicates():
    texts = ["a b c d e f g 1", "a b c d e f g 2"]
    for measure in [*DEFAULT, Measure(drop_common=0.5), Measure("char", 5, must_agree=("numbers", "negations")),
                    Measure("char", 5, normalize="scan")]:
        near_duplicates(texts, **measure.options(0.5))
    assert Measure(width=3).options(0.4) == {"threshold": 0.4, "shingling": Shingling(width=3)}


def test_simpler_measures_come_first():
    given = [Measure("char", 3, must_agree=("numbers",)), Measure(width=2), Measure()]
    assert checked_measures(given) == (given[2], given[1], given[0])


def test_measures_that_are_not_accepted():
    with pytest.raises(ValueError, match="empty"):
        checked_measures([])
    with pytest.raises(ValueError, match="twice"):
        checked_measures([Measure(), Measure()])
    with pytest.raises(TypeError, match="holds 'word'"):
        checked_measures(["word"])  # type: ignore[list-item]


@pytest.mark.parametrize(("text", "expected"), [
    ("char:5:scan", Measure("char", 5, normalize="scan")),
    ("word:3:NFKC:numbers", Measure("word", 3, must_agree=("numbers",), normalize="NFKC")),
    ("line:1:words:contained", Measure("line", 1, "contained", normalize="words")),
])
def test_a_measure_may_be_normalized(text: str, expected: Measure):
    assert Measure.parse(text) == expected
    assert f"in the form {expected.normalize}" in str(expected)
    assert expected.additions == Measure.parse(text.replace(f":{expected.normalize}", "")).additions + 1


@pytest.mark.parametrize("text", ["char:5:scan:NFKC", "word:5:scan", "char:5:NFC"])
def test_a_measure_normalized_otherwise_is_refused(text: str):
    with pytest.raises(ValueError, match=r"one of NFKC, scan, words|not for 'word'"):
        Measure.parse(text)
