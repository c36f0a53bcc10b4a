"""Load sketches of every kind from files, and make the sketcher that a recipe describes."""

from __future__ import annotations

import os

from ndcore._types import AnyPath
from ndcore.recipe import Recipe
from ndcore.sketch.b_bit import BBitSketches
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.file_format import NEWEST, unpack_arrays
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.sketch.simhash import SimHasher, Simhashes
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import KIND, Sketches
from ndcore.sketch.term_lists import BucketSketcher, TermSignatures
from ndcore.sketch.weighted import WeightedMinHasher
from ndcore.sketch.winnow import Winnowed, Winnower
from ndcore.storage import container
from ndcore.text.shingling import Shingling

# kinds of recipes whose sketches are of a class of their own
CLASSES: dict[str, type[Sketches]] = {
    "simhash": Simhashes, "winnow": Winnowed, "buckets": TermSignatures, "imatch": TermSignatures, "b-bit": BBitSketches,
}


def load(path: AnyPath, mmap: bool = False, *, verify: bool = True) -> Sketches:
    """Load sketches from a file that `Sketches.save` wrote.

    Parameters
    ----------
    path : str or path
    mmap : bool
        Map the arrays into memory instead of reading them, except values of 32 or 40 bits.
    verify : bool
        Read every byte: compare the checksums of the arrays, and check that samples ascend. False is for mapped files that
        were verified before.

    Returns
    -------
    Sketches

    Raises
    ------
    CorruptFile
        The file is damaged, or was not written by ndcore; the message names it and the reason.
    ValueError, OSError
        The file is of another kind, or cannot be opened.

    Notes
    -----
    Nobody may truncate a file while it is mapped: reading past its end ends the process (SIGBUS). `Sketches.save` replaces
    files, which is safe.
    """
    header, arrays = container.read(path, KIND, mmap, verify=verify, revision=NEWEST)
    try:
        recipe, fields = unpack_arrays(header, arrays, verify)
        return CLASSES.get(recipe["kind"], Sketches)(recipe=recipe, **fields)
    except (KeyError, ValueError, TypeError, IndexError, UnicodeDecodeError) as error:
        raise container.CorruptFile(f"{os.fspath(path)}: the sketches in it do not fit together: {error}") from error


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
    if kind == "buckets":
        return BucketSketcher(recipe["lists"], recipe["least"], recipe["seed"], shingling)
    if kind == "imatch":
        raise ValueError("the recipe has only the digest of its lexicon: use IMatcher.from_recipe with the Idf")
    if kind == "weighted":
        return WeightedMinHasher.from_recipe(recipe, None, shingling)
    raise ValueError(f"no sketcher makes {kind!r} sketches; the kinds are minhash, bottom, mod, simhash, winnow, weighted, "
                     "buckets and imatch")
