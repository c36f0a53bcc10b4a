"""Settings: their defaults, their checks, and what differs."""

from __future__ import annotations

import pytest

import ndcore as nd
from ndcore.store.settings import Settings


def test_defaults_are_those_of_near_duplicates():
    made, design = Settings.of({}), nd.design_filter(0.8, num_perm=84)
    assert (made.threshold, made.num_perm, made.groups, made.group_size, made.need) == (
        0.8, design.num_perm, design.groups, design.group_size, design.need)
    assert Settings.from_dict(made.as_dict()) == made
    assert made.secret != Settings.of({}).secret
    assert made.sketcher() == nd.MinHasher(design.num_perm)
    made.check({"threshold": 0.8, "num_perm": 84, "filter": "auto", "shingling": nd.Shingling(), "evidence": None})


@pytest.mark.parametrize("given", [
    {"threshold": 0}, {"evidence": "none"}, {"scope": "domain"}, {"keys": "uri"}, {"filter": "complete"}, {"num_perm": 0},
    {"seed": -1}, {"shingling": "word"},
])
def test_other_settings_are_refused(given):
    with pytest.raises((TypeError, ValueError)):
        Settings.of(given)


@pytest.mark.parametrize("change", [{"need": 99}, {"scope": "x"}, {"secret": "zz"}, {"shingling": "{"}, {"threshold": "a"},
                                    {"extra": 1}, {"keys": None}])
def test_damaged_settings_are_refused(change):
    with pytest.raises(ValueError, match="damaged"):
        Settings.from_dict({**Settings.of({}).as_dict(), **change})


def test_a_shingling_of_a_function_is_given_again():
    def unit(text):
        return text.split()

    made = Settings.of({"shingling": nd.Shingling(unit=split)})
    assert made.sketcher(nd.Shingling(unit=split)).shingling.unit is split
    with pytest.raises(ValueError, match="function"):
        made.sketcher()
    with pytest.raises(ValueError, match="another shingling"):
        made.check({"shingling": nd.Shingling(unit=unit)})


def split(text):
    return text.split()
