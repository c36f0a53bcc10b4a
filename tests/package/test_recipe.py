"""Recipes: identity, differences, and the JSON they are saved as."""

import copy
import hashlib
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore.recipe import MAX_DEPTH, Recipe, RecipeMismatch, stored_recipe

EXAMPLE = {"kind": "minhash", "num_perm": 84, "seed": 1, "shingling": {"unit": "word", "width": 5, "labelled": False,
           "normalize": None, "polynomial": 0x1FD845EF300CE2D0B}}

_texts = st.text(max_size=8).filter(lambda s: not s.lstrip("-").isdecimal())
_scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts
_names = st.text(min_size=1, max_size=6).filter(lambda s: "." not in s)
parameters = st.recursive(st.dictionaries(_names, _scalars, max_size=4),
                          lambda inner: st.dictionaries(_names, _scalars | inner, max_size=4), max_leaves=12)


def test_id_is_the_digest_of_the_canonical_json():
    canonical = ('{"kind":"minhash","num_perm":"84","seed":"1","shingling":{"labelled":false,"normalize":null,'
                 '"polynomial":"36714574460014701835","unit":"word","width":"5"}}')
    recipe = Recipe(EXAMPLE)
    assert recipe.to_json() == canonical
    assert recipe.id == hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
    assert recipe.id == "01ce54edac7b9446ede9a05b5923539d"


@given(parameters)
def test_round_trips(values):
    recipe = Recipe(values)
    for other in (Recipe.from_json(recipe.to_json()), pickle.loads(pickle.dumps(recipe)), copy.deepcopy(recipe),
                  Recipe(recipe.parameters), eval(repr(recipe), {"Recipe": Recipe})):
        assert other == recipe
        assert other.id == recipe.id
        assert hash(other) == hash(recipe)
        assert other.parameters == recipe.parameters
        recipe.check(other)


@given(parameters, parameters)
def test_equal_exactly_if_the_ids_are_and_check_agrees(a, b):
    one, two = Recipe(a), Recipe(b)
    assert (one == two) == (one.id == two.id)
    if one != two:
        with pytest.raises(RecipeMismatch, match="cannot combine things of different recipes"):
            one.check(two, what="things")


def test_order_does_not_matter():
    assert Recipe({"b": 1, "a": {"d": 2, "c": 3}}) == Recipe({"a": {"c": 3, "d": 2}, "b": 1})


@pytest.mark.parametrize("others", [[1, True, 1.0, "one", None, {"x": 1}, 2]])
def test_values_of_different_types_differ(others):
    recipes = [Recipe({"x": value}) for value in others]
    assert len({recipe.id for recipe in recipes}) == len(set(recipes)) == len(others)
    for i, one in enumerate(recipes):
        for two in recipes[i + 1:]:
            with pytest.raises(RecipeMismatch):
                one.check(two)


def test_numpy_scalars_and_negative_zero_become_plain():
    recipe = Recipe({"a": np.int32(3), "b": np.float32(0.5), "c": np.bool_(True), "d": np.str_("x"), "e": -0.0})
    assert recipe == Recipe({"a": 3, "b": 0.5, "c": True, "d": "x", "e": 0.0})
    assert [type(v) for v in recipe.parameters.values()] == [int, float, bool, str, float]


def test_mapping_access():
    recipe = Recipe(EXAMPLE)
    assert recipe["num_perm"] == 84
    assert "seed" in recipe and "width" not in recipe
    assert list(recipe) == list(EXAMPLE) and len(recipe) == 4
    with pytest.raises(KeyError, match="no parameter 'bits'; it has kind, num_perm"):
        recipe["bits"]


def test_immutable():
    values = {"a": {"b": 1}}
    recipe = Recipe(values)
    before = recipe.id
    values["a"]["b"] = 2
    recipe.parameters["a"]["b"] = 3
    recipe["a"]["b"] = 4
    assert recipe.parameters == {"a": {"b": 1}} and recipe.id == before
    for name in ("id", "parameters", "other"):
        with pytest.raises(AttributeError):
            setattr(recipe, name, 1)
    assert recipe != {"a": {"b": 1}}


def _changed(**changes):
    other = copy.deepcopy(EXAMPLE)
    for name, value in changes.items():
        if name in other["shingling"]:
            other["shingling"][name] = value
        else:
            other[name] = value
    return Recipe(other)


@pytest.mark.parametrize("other, message", [
    (_changed(width=4), "cannot combine sketches of different recipes: shingling.width is 5 here and 4 there"),
    (_changed(num_perm=128, width=4), "num_perm is 84 here and 128 there"),
    (_changed(kind="simhash", bits=64), "kind is 'minhash' here and 'simhash' there"),
    (_changed(bits=32), "bits is absent here and 32 there"),
    (_changed(normalize="NFKC"), "shingling.normalize is None here and 'NFKC' there"),
    (_changed(labelled=0), "shingling.labelled is False here and 0 there"),
    (_changed(polynomial=0x102FC1EFE0FCCD72D),
     "shingling.polynomial is 0x1fd845ef300ce2d0b here and 0x102fc1efe0fccd72d there"),
    (Recipe({**EXAMPLE, "shingling": None}), "there"),
])
def test_mismatch_names_the_first_difference(other, message):
    with pytest.raises(RecipeMismatch) as caught:
        Recipe(EXAMPLE).check(other)
    assert str(caught.value).endswith(message)
    assert isinstance(caught.value, ValueError)


def test_check_wants_a_recipe():
    with pytest.raises(TypeError, match="not against dict"):
        Recipe(EXAMPLE).check({})


@pytest.mark.parametrize("values, error, message", [
    ([("a", 1)], TypeError, "made of a dict of parameters, not of list"),
    ({"a": {"b": [1]}}, TypeError, "parameter a.b is a list"),
    ({"a": b"x"}, TypeError, "parameter a is a bytes"),
    ({"a": {3: 1}}, TypeError, "names are str, not 3"),
    ({"a": {"": 1}}, ValueError, "must not be empty or hold a dot"),
    ({"a.b": 1}, ValueError, "'a.b': a name must not be empty or hold a dot"),
    ({"a": float("nan")}, ValueError, "parameter a is nan"),
    ({"a": {"b": float("-inf")}}, ValueError, r"parameter a\.b is -inf"),
    ({"a": "84"}, ValueError, "reads as an integer"),
    ({"a": "-084"}, ValueError, "reads as an integer"),
])
def test_refused_parameters(values, error, message):
    with pytest.raises(error, match=message):
        Recipe(values)


def test_depth_is_bounded():
    endless = {}
    endless["a"] = endless
    with pytest.raises(ValueError, match=f"more than {MAX_DEPTH} levels deep"):
        Recipe(endless)


@pytest.mark.parametrize("text", [
    "", "{", "[]", "3", '{"a": 3}', '{"a": ["3"]}', '{"a": "03"}', '{"a": "-0"}', '{"a": NaN}', '{"": "1"}', b"\xff",
    '{"a":' * 100000, '{"a":' * 40 + "null" + "}" * 40, "[" * 100000, '{"a": "' + "9" * 5000 + '"}', None,
])
def test_from_json_refuses_what_is_not_a_recipe(text):
    with pytest.raises(ValueError, match="not the JSON of a recipe"):
        Recipe.from_json(text)


def test_from_json_restores_types():
    text = json.dumps({"a": "12", "b": "-3", "c": True, "d": 1.5, "e": "x1", "f": None, "g": {"h": "0"}})
    assert Recipe.from_json(text).parameters == {"a": 12, "b": -3, "c": True, "d": 1.5, "e": "x1", "f": None,
                                                 "g": {"h": 0}}


@pytest.mark.parametrize("version", [2, 0, True, 1.0, "x"])
def test_newer_recipes_in_files_are_refused_by_name(version):
    for recipe, path in ((Recipe({"version": version}), ""),
                         (Recipe({"version": 1, "sketch": {"shingling": {"version": version}}}), "sketch.shingling.")):
        with pytest.raises(ValueError, match=rf"^{path}version of the recipe is .*; this ndcore knows 1: upgrade ndcore$"):
            stored_recipe(recipe.to_json())
    assert stored_recipe(Recipe({"version": 1, "kind": "k"}).to_json()) == Recipe({"version": 1, "kind": "k"})
