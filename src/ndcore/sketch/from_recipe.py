"""Make the sketcher that a recipe describes."""

from __future__ import annotations

from ndcore.recipe import Recipe
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.sketch.sketcher import Sketcher
from ndcore.text.shingling import Shingling

__all__ = ["sketcher_of"]


def sketcher_of(recipe: Recipe) -> Sketcher:
    """The sketcher that made sketches of this recipe. ValueError where a recipe alone does not make one."""
    shingling = Shingling.from_recipe(Recipe(recipe["shingling"]))
    if recipe["kind"] == "mod":
        return ModSketcher(recipe["modulus"], recipe["seed"], shingling, recipe["size"])
    if recipe["kind"] == "bottom":
        return BottomSketcher(recipe["size"], recipe["bits"], recipe["seed"], shingling)
    return MinHasher.from_recipe(recipe)
