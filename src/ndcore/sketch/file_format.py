"""The format of a file of sketches: which arrays it has, and what they must be like.

The container (`storage.container`) holds a header with the recipe and its id, and these arrays:

- values: uint32 or uint64 (n, num_perm) of signatures, weighted ones too; uint8 (n, bytes) of b-bit signatures; uint64
  (n, lists) of lists of terms; uint64 (n,) of simhashes, or (n, 2) and (n, 4) of 128 and 256 bits; otherwise the values of
  all samples, end to end: uint64, or for bottom sketches of 32 or 40 bits uint8 (count, 4) or (count, 5), lowest byte first.
- offsets: int64 (n + 1,), of samples only; moduli: uint64 (n,), of adaptive mod sketches.
- positions: int64, of winnowed fingerprints: as many as values, which are in the order of the text.
- sizes: float64 (n,); sizes_exact, valid: bool (n,); digests: uint8 (n, 32), optional.
- ids, or id_bytes and id_offsets: see `storage.packed_ids`; optional.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ndcore._cluster import first_wrong
from ndcore._types import AnyArray, Arrays, Ints, UInts
from ndcore.choices import SIMHASH_BITS
from ndcore.hamming.fingerprints import WIDE, word_shape
from ndcore.recipe import Recipe, stored_recipe
from ndcore.storage.packed_ids import pack_ids, unpack_ids

REQUIRED = ("values", "sizes", "sizes_exact", "valid")
OPTIONAL = ("offsets", "digests", "moduli", "positions")
FIELDS = (*REQUIRED, *OPTIONAL, "ids")  # of Sketches, in the order of the file
PARAMETERS = {
    "minhash": ("num_perm", "bits", "method"), "bottom": ("size", "bits"), "mod": ("modulus", "size"),
    "simhash": ("bits", "weights"), "winnow": ("window", "robust"), "buckets": ("lists", "least"),
    "imatch": ("lists", "least", "lexicon", "lowest", "highest", "removed"), "weighted": ("num_perm", "bits", "weights"),
    "b-bit": ("num_perm", "bits", "of", "kept"),
}  # of recipes of each kind
ROWS = ("minhash", "weighted", "b-bit", "buckets", "imatch")  # kinds with equally many values for each document
OTHER_TOOLS = {
    "minhash": ("datasketch-affine32", "datasketch-affine64", "datasketch-legacy"),
    "simhash": ("simhash-1e0ng", "simhash-seomoz"), "winnow": ("scanoss",),
}  # methods of recipes of each kind whose values another tool computes too
# of files of each kind of recipe; all others 0
REVISIONS = {"winnow": 1, "buckets": 2, "imatch": 2, "weighted": 2, "b-bit": 2}
NEWEST = 2  # revision, also of files with values of other tools and with simhashes of 128 and 256 bits
PIECE = 1 << 20  # values checked at a time


def is_of_other_tool(recipe: Recipe) -> bool:
    """Tell whether a recipe is of values that another tool computes too."""
    return "method" in recipe and recipe["method"] in OTHER_TOOLS.get(recipe["kind"], ())


def revision_of(recipe: Recipe) -> int:
    """Return the revision of files of sketches with this recipe."""
    wide = recipe["kind"] == "simhash" and recipe["bits"] in WIDE
    return NEWEST if wide or is_of_other_tool(recipe) else REVISIONS.get(recipe["kind"], 0)


def recipe_header(recipe: Recipe) -> dict[str, Any]:
    """Return the header of a file that has a recipe."""
    return {"recipe": recipe.to_json(), "recipe_id": recipe.id}


def recipe_of(header: Mapping[str, Any]) -> Recipe:
    """Read the recipe in a header. KeyError or ValueError where there is none, its id is another, or its version newer."""
    recipe = stored_recipe(header["recipe"])
    if recipe.id != header["recipe_id"]:
        raise ValueError(f"the recipe has the id {recipe.id}, the header says {header['recipe_id']}")
    return recipe


def refuse_unnamed(what: str, name: object) -> None:
    """Raise ValueError for an unnamed callable: nobody could tell later how a file was made."""
    if str(name).startswith("unnamed callable"):
        raise ValueError(f"what was made by an unnamed callable cannot be saved; use a function of a module as {what}")


def pack_arrays(recipe: Recipe, fields: Mapping[str, Any]) -> dict[str, AnyArray]:
    """Pack the fields of Sketches that are not None into the arrays of a file."""
    arrays = {name: fields[name] for name in (*REQUIRED, *OPTIONAL) if fields[name] is not None}
    arrays["values"] = _pack_values(recipe, arrays["values"])
    return arrays if fields["ids"] is None else {**arrays, **pack_ids(fields["ids"])}


def unpack_arrays(header: Mapping[str, Any], arrays: Arrays, verify: bool) -> tuple[Recipe, dict[str, Any]]:
    """Unpack the header and arrays of a file into a recipe and the fields of Sketches.

    KeyError, TypeError or ValueError where they do not fit each other. verify: read the values, too.
    """
    recipe = recipe_of(header)
    arrays = {**arrays, "values": _unpack_values(recipe, arrays["values"])}
    _check_arrays(recipe, arrays)
    if verify and recipe["kind"] == "winnow" and is_of_other_tool(recipe):
        _check_lines(arrays["values"], arrays["positions"], arrays["offsets"])
    elif verify and recipe["kind"] == "winnow":
        _check_positions(recipe["window"], arrays["positions"], arrays["offsets"])
    elif verify:
        check_values(recipe, arrays["values"], arrays.get("offsets"), arrays.get("moduli"))
    fields = {name: arrays[name] for name in REQUIRED} | {name: arrays.get(name) for name in OPTIONAL}
    return recipe, {**fields, "ids": unpack_ids(arrays)}


def _check_arrays(recipe: Recipe, arrays: Arrays) -> None:
    """Raise ValueError where the arrays do not fit the recipe. O(documents); values are not read."""
    _check_parameters(recipe)
    values, offsets = arrays["values"], arrays.get("offsets")
    n = len(values) if offsets is None else len(offsets) - 1
    wanted = {
        "sizes": ("float64", (n,)), "sizes_exact": ("bool", (n,)), "valid": ("bool", (n,)), "digests": ("uint8", (n, 32)),
        "moduli": ("uint64", (n,)), "positions": ("int64", (len(values),)),
    }
    for name, (dtype, shape) in wanted.items():
        if name in arrays and (arrays[name].dtype.name, arrays[name].shape) != (dtype, shape):
            raise ValueError(f"{name} is {arrays[name].dtype.name} {arrays[name].shape}, not {dtype} {shape}")
    if recipe["kind"] in ROWS:
        length, bits = row_shape(recipe)
        if (values.shape, values.dtype.name) != ((n, length), f"uint{bits}") or offsets is not None:
            raise ValueError(f"values are {values.dtype.name} {values.shape}, not uint{bits} {(n, length)}")
    elif recipe["kind"] == "simhash":
        shape = (n, *word_shape(recipe["bits"]))
        if (values.shape, values.dtype.name) != (shape, "uint64") or offsets is not None:
            raise ValueError(f"simhashes of {recipe['bits']} bits are uint64 {shape}, without offsets; got {values.dtype} "
                             f"{values.shape}")
    elif recipe["kind"] in ("bottom", "mod"):
        _check_samples(recipe["kind"], values, offsets, recipe["size"])
    elif recipe["kind"] == "winnow":
        _check_samples("winnow", values, offsets, None)
    else:
        raise ValueError(f"no sketches are called {recipe['kind']!r}")
    _check_moduli(recipe, arrays)
    if ("positions" in arrays) != (recipe["kind"] == "winnow"):
        raise ValueError("positions belong to winnowed fingerprints, and only to them")
    sizes, exact = arrays["sizes"], arrays["sizes_exact"]
    if (sizes < 0).any() or not np.isfinite(sizes[exact]).all():
        raise ValueError("a document has no number of shingles")


def row_shape(recipe: Recipe) -> tuple[int, int]:
    """Return the number of values of a document, of kinds that have equally many for all, and the bits of each."""
    kind = recipe["kind"]
    if kind == "b-bit":
        return (recipe["num_perm"] * recipe["kept"] + 7) // 8, 8
    return (recipe["lists"], 64) if kind in ("buckets", "imatch") else (recipe["num_perm"], recipe["bits"])


def check_values(recipe: Recipe, values: AnyArray, offsets: Ints | None, moduli: UInts | None) -> None:
    """Raise ValueError where the values of a sample do not ascend, or one is not a multiple of its modulus. O(values)."""
    if offsets is None:
        return
    masks = np.zeros(len(offsets) - 1, np.uint64) if moduli is None else moduli - np.uint64(1)
    wrong = first_wrong(values, offsets, masks)
    if wrong < len(masks):
        raise ValueError(f"the values of sketch {wrong} are not ascending multiples of its modulus")
    modulus = recipe["modulus"] if recipe["kind"] == "mod" and moduli is None else 1
    if modulus > 1:
        for at in range(0, len(values), PIECE):
            if (values[at : at + PIECE] % np.uint64(modulus)).any():
                raise ValueError(f"a value is not a multiple of the modulus {modulus}")


def _check_positions(window: int, positions: Ints, offsets: Ints) -> None:
    """Raise ValueError where positions do not ascend by 1 to `window` in every document, from 0 to window − 1. O(values)."""
    begins = offsets[:-1][np.diff(offsets) > 0]
    if ((positions[begins] < 0) | (positions[begins] >= window)).any():
        raise ValueError(f"a document has no fingerprint in its first window of {window}")
    for at in range(0, len(positions) - 1, PIECE):
        steps = np.diff(positions[at : at + PIECE + 1])
        first = begins[(begins > at) & (begins <= at + len(steps))] - at - 1  # a step into another document
        steps[first] = 1
        if ((steps < 1) | (steps > window)).any():
            raise ValueError(f"the positions of a document do not ascend by 1 to {window}")


def _check_lines(values: UInts, lines: Ints, offsets: Ints) -> None:
    """Raise ValueError where lines of a document do not ascend from 1, or a fingerprint has over 32 bits. O(values)."""
    begins = np.zeros(len(lines), np.bool_)
    begins[offsets[:-1][np.diff(offsets) > 0]] = True
    if (lines < 1).any() or ((np.diff(lines, prepend=0) < 0) & ~begins).any():
        raise ValueError("the lines of a document do not ascend from 1")
    if values.max(initial=0) >> np.uint64(32):
        raise ValueError(f"fingerprints of SCANOSS have 32 bits, got {values.max():#x}")


def _check_parameters(recipe: Recipe) -> None:
    for name in ("kind", "seed", *PARAMETERS.get(recipe["kind"], ()), "shingling"):
        if name not in recipe:
            raise ValueError(f"the recipe has no {name}")
    for name in ("num_perm", "size", "bits", "window", "lists", "least", "kept", "seed"):
        missing = name not in recipe or (name == "size" and recipe[name] is None and recipe["kind"] == "mod")
        if not missing and (isinstance(recipe[name], bool) or not isinstance(recipe[name], int) or recipe[name] < 0):
            raise ValueError(f"the recipe's {name} is {recipe[name]!r}")
    if not isinstance(recipe["shingling"], dict) or not isinstance(recipe["shingling"].get("unit"), str):
        raise ValueError("the recipe has no shingling")
    if recipe["kind"] == "b-bit" and recipe["kept"] not in (1, 2, 4, 8):
        raise ValueError(f"the recipe's kept is {recipe['kept']!r}")
    if recipe["kind"] == "simhash" and recipe["bits"] not in SIMHASH_BITS:
        raise ValueError(f"the recipe's bits are {recipe['bits']!r}, not 64, 128 or 256")
    kind = recipe["of"] if recipe["kind"] == "b-bit" else recipe["kind"]
    methods = (("permutations", "fast") if kind == "minhash" else ()) + OTHER_TOOLS.get(kind, ())
    if "method" in recipe and recipe["method"] not in methods:
        raise ValueError(f"the recipe's method is {recipe['method']!r}")


def _check_samples(kind: str, values: AnyArray, offsets: AnyArray | None, size: int | None) -> None:
    if offsets is None or offsets.dtype != np.int64 or offsets.ndim != 1 or len(offsets) == 0:
        raise ValueError(f"a {kind} sketch needs int64 offsets")
    if values.dtype != np.uint64 or values.ndim != 1:
        raise ValueError(f"a {kind} sketch needs uint64 values")
    counts = np.diff(offsets)
    most = len(values) if size is None else size
    if offsets[0] != 0 or offsets[-1] != len(values) or (counts < 0).any() or (counts > most).any():
        raise ValueError("offsets do not cut the values into sketches of at most the recipe's size")


def _check_moduli(recipe: Recipe, arrays: Arrays) -> None:
    modulus = recipe["modulus"] if recipe["kind"] == "mod" else None
    if ("moduli" in arrays) != (modulus == "adaptive"):
        raise ValueError("moduli belong to adaptive mod sketches, and only to them")
    if modulus == "adaptive":
        moduli = arrays["moduli"]
        if ((moduli == 0) | (moduli & (moduli - np.uint64(1)) != 0)).any():
            raise ValueError("a modulus is not a power of two")
    elif modulus is not None and (isinstance(modulus, bool) or not isinstance(modulus, int) or modulus < 1):
        raise ValueError(f"the recipe's modulus is {modulus!r}")


def _pack_values(recipe: Recipe, values: AnyArray) -> AnyArray:
    """Cut the values of bottom sketches of 32 or 40 bits to as many; other values stay."""
    if recipe["kind"] != "bottom" or recipe["bits"] == 64:
        return values
    return np.ascontiguousarray(values.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : recipe["bits"] // 8])


def _unpack_values(recipe: Recipe, values: AnyArray) -> AnyArray:
    """Restore values that `_pack_values` packed, as uint64. ValueError if their layout differs."""
    if recipe["kind"] != "bottom" or recipe["bits"] == 64:
        return values
    if recipe["bits"] not in (32, 40):
        raise ValueError(f"the recipe's bits are {recipe['bits']!r}, not 32, 40 or 64")
    size = recipe["bits"] // 8
    if (values.dtype.name, values.shape) != ("uint8", (len(values), size)):
        raise ValueError(
            f"values of {recipe['bits']} bits are uint8 {(len(values), size)}, not {values.dtype} {values.shape}"
        )
    whole = np.zeros((len(values), 8), np.uint8)
    whole[:, :size] = values
    return np.asarray(whole.view("<u8")[:, 0].astype(np.uint64))
