"""Settings: their defaults, their checks, and what differs."""

from __future__ import annotations

import json

import pytest

import ndcore as nd
from ndcore.store.settings import StoreSettings


def test_defaults_are_those_of_near_duplicates():
    made, design = StoreSettings.of({}), nd.design_filter(0.8, num_perm=84)
    assert (made.threshold, made.num_perm, made.groups, made.group_size, made.need) == (
        0.8, design.num_perm, design.groups, design.group_size, design.need)
    assert StoreSettings.from_dict(made.as_dict()) == made
    assert made.secret != StoreSettings.of({}).secret
    assert made.sketcher() == nd.MinHasher(design.num_perm)
    made.check({"threshold": 0.8, "num_perm": 84, "filter": "auto", "shingling": nd.Shingling(), "evidence": None})


@pytest.mark.parametrize("given", [
    {"threshold": 0}, {"evidence": "none"}, {"scope": "domain"}, {"keys": "uri"}, {"filter": "complete"}, {"num_perm": 0},
    {"seed": -1}, {"shingling": "word"}, {"min_shingles": -1}, {"min_shingles": 2.5}, {"must_agree": "dates"},
    {"must_agree": 3},
])
def test_other_settings_are_refused(given):
    with pytest.raises((TypeError, ValueError)):
        StoreSettings.of(given)


@pytest.mark.parametrize(("given", "message"), [
    ({"must_agree": ["numbers", len]}, "must_agree holds the function .*len.*, and a store outlives the program"),
    ({"must_agree": "title", "evidence": "shingles"}, r"must_agree=\['title'\] compares keys of the texts, and evidence="),
    ({"must_agree": "title", "evidence": "sketch"}, "evidence='sketch' keeps no texts"),
    ({"min_shingles": 3, "evidence": "sketch"}, "min_shingles=3 counts shingles, and evidence='sketch' keeps none"),
])
def test_options_that_need_more_than_is_kept(given, message):
    with pytest.raises(ValueError, match=message):
        StoreSettings.of(given)
    if "evidence" in given:
        plain = {**StoreSettings.of({"evidence": given["evidence"]}).as_dict(), **given}
        with pytest.raises(ValueError, match="damaged"):
            StoreSettings.from_dict(plain)


def test_options_of_the_verdict_are_fixed():
    made = StoreSettings.of({"min_shingles": 4, "must_agree": ["title", "numbers", "title"]})
    assert (made.min_shingles, made.must_agree) == (4, ("title", "numbers"))
    assert StoreSettings.from_dict(json.loads(json.dumps(made.as_dict()))) == made
    made.check({"min_shingles": 4, "must_agree": ["title", "numbers"]})
    for given in ({"min_shingles": 0}, {"must_agree": "title"}, {"must_agree": []}):
        with pytest.raises(ValueError, match=rf"created with {next(iter(given))}="):
            made.check(given)
    newer = "min_shingles", "must_agree"
    before = {name: value for name, value in StoreSettings.of({}).as_dict().items() if name not in newer}
    assert (StoreSettings.from_dict(before).min_shingles, StoreSettings.from_dict(before).must_agree) == (0, ())


@pytest.mark.parametrize("change", [{"need": 99}, {"scope": "x"}, {"secret": "zz"}, {"shingling": "{"}, {"threshold": "a"},
                                    {"extra": 1}, {"keys": None}, {"min_shingles": -1}, {"must_agree": ["dates"]}])
def test_damaged_settings_are_refused(change):
    with pytest.raises(ValueError, match="damaged"):
        StoreSettings.from_dict({**StoreSettings.of({}).as_dict(), **change})


def test_a_shingling_of_a_function_is_given_again():
    def unit(text):
        return text.split()

    made = StoreSettings.of({"shingling": nd.Shingling(unit=split)})
    assert made.sketcher(nd.Shingling(unit=split)).shingling.unit is split
    with pytest.raises(ValueError, match="function"):
        made.sketcher()
    with pytest.raises(ValueError, match="another shingling"):
        made.check({"shingling": nd.Shingling(unit=unit)})


def split(text):
    return text.split()
