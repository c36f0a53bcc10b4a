"""Make the sketcher that a recipe describes."""

from __future__ import annotations

from ndcore.recipe import Recipe
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.sketch.simhash import SimHasher
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.winnow import Winnower
from ndcore.text.shingling import Shingling

__all__ = ["sketcher_of"]


def sketcher_of(recipe: Recipe) -> Sketcher:
    """Make the sketcher of a recipe. ValueError where a recipe alone does not determine one."""
    kind = recipe["kind"]
    if kind == "minhash":
        return MinHasher.from_recipe(recipe)
    if kind == "simhash":
        return SimHasher.from_recipe(recipe)
    shingling = Shingling.from_recipe(Recipe(recipe["shingling"]))
    if kind == "mod":
        return ModSketcher(recipe["modulus"], recipe["seed"], shingling, recipe["size"])
    if kind == "bottom":
        return BottomSketcher(recipe["size"], recipe["bits"], recipe["seed"], shingling)
    if kind == "winnow":
        return Winnower(recipe["window"], shingling, recipe["robust"], recipe["seed"])
    raise ValueError(f"no sketcher makes {kind!r} sketches; the kinds are minhash, bottom, mod, simhash and winnow")
