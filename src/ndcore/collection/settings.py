"""What decides which pairs of a collection are counted: sketches, and what two documents must share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ndcore import _pairs
from ndcore.checks import checked_threshold, is_int, is_number
from ndcore.collection.phase3_pairs import Marks
from ndcore.collection.segments import Segments
from ndcore.filters.design import FilterDesign
from ndcore.filters.search import design_filter
from ndcore.recipe import Recipe
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.features import features
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.super_features import super_features
from ndcore.sketch.super_shingles import checked_run, super_shingles

__all__ = ["METHODS", "Method", "Settings", "marks_of", "needed"]

METHODS = ("shingles", "super-shingles", "features")
Method = Literal["shingles", "super-shingles", "features"]
FLOOR = 0.5  # pairs are kept from this containment on, so that other thresholds can be asked for


@dataclass(frozen=True)
class Settings:
    """What decides which pairs are counted. Without a sketcher, sketches are given."""

    recipe: Recipe
    sketcher: Sketcher | None
    method: str
    threshold: float
    max_holders: int
    run: int
    filter: FilterDesign | None

    @classmethod
    def of(
        cls, texts: Any, *, sketcher: Sketcher | None, method: str, threshold: float, max_holders: int, run: int,
        filter: FilterDesign | None,
    ) -> Settings:
        """Checked: TypeError or ValueError as of `cluster`."""
        threshold = checked_threshold(threshold)
        _check_numbers(method, threshold, max_holders, run)
        if sketcher is not None and not isinstance(sketcher, (ModSketcher, BottomSketcher, MinHasher)):
            raise TypeError(f"sketcher is a ModSketcher, BottomSketcher or MinHasher, got {sketcher!r:.80}")
        recipe = None if sketcher is None else sketcher.recipe
        if isinstance(texts, (Sketches, Segments)):
            if recipe is not None:
                recipe.check(texts.recipe)
            recipe = texts.recipe
        if method == "features":
            filter = filter or _filter_for(recipe, threshold)
        if recipe is None:
            sketcher = _default_sketcher(method, filter)
            recipe = sketcher.recipe
        _check_recipe(recipe, method, filter)
        filter = filter if method == "features" else None
        return cls(recipe, sketcher, method, float(threshold), int(max_holders), run, filter)

    @property
    def floor(self) -> float:
        """Pairs are kept from this containment on."""
        return min(FLOOR, self.threshold)

    def plain(self) -> dict[str, Any]:
        """What JSON can hold; `from_plain` reads it."""
        filter = None if self.filter is None else [self.filter.groups, self.filter.group_size, self.filter.need]
        return {"recipe": self.recipe.id, **self.shown(), "threshold": self.threshold, "run": self.run,
                "filter": filter}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], recipe: Recipe) -> Settings:
        """Those of sketches of this recipe. KeyError, TypeError or ValueError where they are none."""
        if plain["recipe"] != recipe.id:
            raise ValueError(f"the sketches are of the recipe {recipe.id}, not {plain['recipe']}")
        filter = None
        _check_numbers(*(plain[name] for name in ("method", "threshold", "max_holders", "run")))
        if plain["filter"] is not None:
            groups, size, need = plain["filter"]
            filter = FilterDesign.of(groups, size, need, threshold=plain["threshold"], num_perm=recipe["num_perm"])
        _check_recipe(recipe, plain["method"], filter)
        return cls(recipe, None, plain["method"], plain["threshold"], plain["max_holders"], plain["run"], filter)

    def expected_bytes(self, text: int) -> int:
        """About how many bytes sketches and sorted entries of so many bytes of text take on disk.

        Of shingles of 7 bytes each; for adaptive samples, in documents of 5 KB; for signatures, of 2 KB.
        """
        kind = self.recipe["kind"]
        if kind == "mod":
            members = text / 5000 * 75 if self.recipe["modulus"] == "adaptive" else text / 7 / self.recipe["modulus"]
            return int(26 * members)
        width = self.recipe["size"] if kind == "bottom" else self.recipe["num_perm"]
        return int(text / 2000 * 12 * width)

    def shown(self) -> dict[str, Any]:
        """What a reader wants to know."""
        shown: dict[str, Any] = {"method": self.method, "max_holders": self.max_holders}
        if self.method == "super-shingles":
            shown["run"] = self.run
        if self.filter is not None:
            shown |= {"groups": self.filter.groups, "group_size": self.filter.group_size, "need": self.filter.need}
        return shown


def _check_numbers(method: str, threshold: float, max_holders: int, run: int) -> None:
    """TypeError or ValueError where these are no settings."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if not is_number(threshold) or not 0 < threshold <= 1:
        raise ValueError(f"threshold is above 0 and at most 1, got {threshold!r}")
    if not is_int(max_holders) or max_holders < 1:
        raise ValueError(f"max_holders must be an int of at least 1, got {max_holders!r}")
    checked_run(run)


def _default_sketcher(method: str, filter: FilterDesign | None) -> Sketcher:
    if method == "features":
        assert filter is not None
        return MinHasher(max(84, filter.groups * filter.group_size))
    return ModSketcher("adaptive" if method == "shingles" else 25)


def _filter_for(recipe: Recipe | None, threshold: float) -> FilterDesign | None:
    if recipe is None:
        return design_filter(threshold)
    if recipe["kind"] != "minhash":
        return None  # the recipe will be refused
    return design_filter(threshold, num_perm=recipe["num_perm"], max_num_perm=recipe["num_perm"])


def _check_recipe(recipe: Recipe, method: str, filter: FilterDesign | None) -> None:
    kind = recipe["kind"]
    if method == "shingles" and (kind != "mod" or recipe["size"] is not None):
        what = "mod sketches with a size" if kind == "mod" else f"{kind} sketches"
        raise ValueError(f"method='shingles' takes mod sketches of whole samples, these are {what}: use ModSketcher, "
                         "or method='super-shingles' for bottom and 'features' for minhash sketches")
    if method == "super-shingles" and (kind not in ("mod", "bottom") or (kind == "mod" and recipe["modulus"] == "adaptive")):
        what = "adaptive mod" if kind == "mod" else kind
        raise ValueError(f"super-shingles are made of bottom sketches, or of mod sketches of one modulus; these are {what} "
                         "sketches: use ModSketcher(25)")
    if method == "features":
        if kind != "minhash" or filter is None:
            raise ValueError(f"features are made of signatures, these are {kind} sketches: use a MinHasher")
        if filter.groups * filter.group_size > recipe["num_perm"]:
            raise ValueError(f"the filter takes {filter.groups * filter.group_size} minima, the signatures have "
                             f"{recipe['num_perm']}: use MinHasher({filter.groups * filter.group_size})")


def marks_of(part: Sketches, settings: Settings) -> Marks:
    """What these documents are paired by."""
    if settings.method == "shingles":
        assert part.offsets is not None
        return Marks(part.values, part.offsets)
    if settings.method == "super-shingles":
        made = super_shingles(part, settings.run)
        return Marks(*_pairs.distinct(made.values.copy(), made.offsets))
    filter = settings.filter
    assert filter is not None
    design = (filter.groups, filter.group_size)
    rows = super_features(part, *design, filter.need) if _shortcut(filter) else features(part, *design)
    return Marks(*_pairs.distinct(rows.reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]))


def needed(settings: Settings) -> int:
    """How many of them two documents must share to be compared."""
    return 1 if settings.filter is None or _shortcut(settings.filter) else settings.filter.need


def _shortcut(filter: FilterDesign) -> bool:
    """Whether documents are paired by combinations of two features, of which one match is enough (Broder 2000, §3)."""
    return filter.need == 2 and filter.groups <= 16
