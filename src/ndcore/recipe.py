"""Recipes: the parameters that turn a document into numbers.

Two sketches can be compared only if they were made in the same way. A `Recipe` is an immutable record of that way. It has
an identifier, which every saved file carries, and it names the first difference from another recipe.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from ndcore.notebook import NotebookTable, show_result

Value: TypeAlias = "bool | int | float | str | Mapping[str, Value] | None"

MAX_DEPTH = 16
NEWEST = 1  # "version" of the recipes that this ndcore knows, of every kind
_DECIMAL = re.compile(r"-?[0-9]+")
_ABSENT = object()


def callable_name(function: Callable[..., Any]) -> str:
    """Return the name of a callable in recipes: its module and qualified name, or "unnamed callable" for a lambda."""
    name = f"{getattr(function, '__module__', None)}.{getattr(function, '__qualname__', '<')}"
    return f"unnamed callable {id(function)}" if "<" in name else f"callable {name}"


class RecipeMismatch(ValueError):
    """Raised when values of different recipes would be combined or compared."""


class Recipe:
    """Immutable parameters with an identifier.

    Parameters
    ----------
    parameters : mapping of str to bool, int, float, str, None or such a mapping
        Names must not be empty or contain a dot. Floats must be finite. A str must not read as a decimal integer ("84"):
        the canonical form writes integers as decimal strings. NumPy scalars become Python scalars.

    Raises
    ------
    TypeError, ValueError
        If a parameter has another type or breaks one of these rules; the message gives its dotted path.

    Notes
    -----
    The canonical form is ``json.dumps(parameters, sort_keys=True, separators=(",", ":"))`` with every int (not bool) as
    a decimal string, so that readers without big integers can parse it. `id` is its BLAKE2b-128 digest in hexadecimal.
    Two recipes are equal if and only if their canonical forms are: 1, 1.0, "one" and True all differ.
    """

    __slots__ = ("_canonical", "_id", "_parameters")

    def __init__(self, parameters: Mapping[str, Value]) -> None:
        if not isinstance(parameters, Mapping):
            raise TypeError(f"a recipe is made of a dict of parameters, not of {type(parameters).__name__}")
        self._parameters = _plain_dict(parameters, "", 0)
        self._canonical, self._id = "", ""  # until they are first used

    @property
    def id(self) -> str:
        """Identifier: BLAKE2b-128 of the canonical form, 32 hexadecimal characters."""
        if not self._id:
            self._id = hashlib.blake2b(self.to_json().encode("ascii"), digest_size=16).hexdigest()
        return self._id

    @property
    def parameters(self) -> dict[str, Any]:
        """A copy of all parameters, nested dicts included."""
        return _copy(self._parameters)

    def __getitem__(self, name: str) -> Any:
        """Return a parameter of the outermost level, a copy if it is a dict. KeyError lists the existing names."""
        if name not in self._parameters:
            raise KeyError(f"the recipe has no parameter {name!r}; it has {', '.join(self._parameters) or 'none'}")
        value = self._parameters[name]
        return _copy(value) if isinstance(value, dict) else value

    def __contains__(self, name: object) -> bool:
        return name in self._parameters

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def __eq__(self, other: object) -> bool:
        return self is other or self.to_json() == other.to_json() if isinstance(other, Recipe) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"Recipe({self._parameters!r})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the parameters."""
        return show_result(f"Recipe {self.id}", NotebookTable("", ("parameter", "value"), _flatten(self._parameters)))

    def __reduce__(self) -> tuple[type[Recipe], tuple[dict[str, Any]]]:
        return type(self), (self.parameters,)

    def check(self, other: Recipe, what: str = "sketches") -> None:
        """Raise `RecipeMismatch` unless `other` equals this recipe.

        The message gives the dotted path and both values of the first parameter that differs: `kind` first, then in
        alphabetical order, level by level.
        """
        if not isinstance(other, Recipe):
            raise TypeError(f"a recipe is checked against a Recipe, not against {type(other).__name__}")
        if self == other:
            return
        path, here, there = next(_differences(self._parameters, other._parameters))
        raise RecipeMismatch(
            f"cannot combine {what} of different recipes: {path} is {_show(here)} here and {_show(there)} there"
        )

    def to_json(self) -> str:
        """Return the canonical form, in ASCII; `from_json` restores an equal recipe."""
        if not self._canonical:
            self._canonical = json.dumps(_with_decimals(self._parameters), sort_keys=True, separators=(",", ":"))
        return self._canonical

    @classmethod
    def from_json(cls, text: str | bytes) -> Recipe:
        """Parse the result of `to_json`; strings of decimal integers become ints again.

        Raises
        ------
        ValueError
            If the text is not JSON, not an object, nested too deeply, or holds a value that a recipe cannot.
        """
        try:
            loaded = json.loads(text)
            if not isinstance(loaded, dict):
                raise ValueError(f"a recipe is a JSON object, not {type(loaded).__name__}")
            return cls(_with_ints(loaded, 0))
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"not the JSON of a recipe: {error}") from error


def stored_recipe(text: str) -> Recipe:
    """Parse the recipe in a file. Raises ValueError if it, or a recipe within it, has an unknown version."""
    recipe = Recipe.from_json(text)
    _check_versions(recipe._parameters, "")
    return recipe


def _check_versions(parameters: dict[str, Any], path: str) -> None:
    version = parameters.get("version", NEWEST)
    if type(version) is not int or not 1 <= version <= NEWEST:
        raise ValueError(f"{path}version of the recipe is {_show(version)}; this ndcore knows {NEWEST}: upgrade ndcore")
    for name, value in parameters.items():
        if isinstance(value, dict):
            _check_versions(value, f"{path}{name}.")


def _plain_dict(parameters: Mapping[str, Any], path: str, depth: int) -> dict[str, Any]:
    """Copy and check nested parameters, with Python scalars; `path` ends in a dot except at the top."""
    if depth >= MAX_DEPTH:
        raise ValueError(f"recipe parameter {path[:-1]!r} is nested more than {MAX_DEPTH} levels deep")
    plain = {}
    for name, value in parameters.items():
        if not isinstance(name, str):
            raise TypeError(f"recipe parameter names are str, not {name!r} (in {path[:-1] or 'the outermost level'})")
        if not name or "." in name:
            raise ValueError(f"recipe parameter name {path + name!r}: a name must not be empty or hold a dot")
        plain[str(name)] = _plain(value, path + name, depth)
    return plain


def _plain(value: Any, path: str, depth: int) -> Any:
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise ValueError(f"recipe parameter {path} is {value}; floats must be finite")
        return float(value) + 0.0  # -0.0 becomes 0.0: they are equal, so they must not differ in the id
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value):
            raise ValueError(f"recipe parameter {path} is the str {value!r}, which reads as an integer; "
                             "give the int, or a str that is not a decimal number")
        return str(value)
    if isinstance(value, Mapping):
        return _plain_dict(value, path + ".", depth + 1)
    raise TypeError(f"recipe parameter {path} is a {type(value).__name__}; "
                    "accepted are bool, int, float, str, None and dicts of these")


def _copy(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: _copy(value) if isinstance(value, dict) else value for name, value in parameters.items()}


def _flatten(parameters: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted name and the value of each parameter."""
    for name, value in parameters.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{path}{name}.")
        else:
            yield path + name, value


def _with_decimals(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_decimals(item) for name, item in value.items()}
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _with_ints(value: Any, depth: int) -> Any:
    """Undo `_with_decimals`. A bare JSON integer is refused: the canonical form never has one."""
    if depth > MAX_DEPTH:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        return {name: _with_ints(item, depth + 1) for name, item in value.items()}
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        number = int(value)
        if str(number) != value:
            raise ValueError(f"{value!r} is not the usual form of the integer {number}")
        return number
    if isinstance(value, int) and not isinstance(value, bool):
        raise ValueError(f"the integer {value} is not written as a decimal string")
    return value


def _differences(here: dict[str, Any], there: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any, Any]]:
    for name in sorted(here.keys() | there.keys(), key=lambda name: (name != "kind", name)):
        a, b = here.get(name, _ABSENT), there.get(name, _ABSENT)
        if isinstance(a, dict) and isinstance(b, dict):
            yield from _differences(a, b, f"{path}{name}.")
        elif type(a) is not type(b) or a != b:
            yield path + name, a, b


def _show(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 32:
        return hex(value)  # polynomials and other constants
    return repr(value)
