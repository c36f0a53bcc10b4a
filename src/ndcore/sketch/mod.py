"""Mod sketches: the shingles whose permuted values are multiples of m, in every document (Broder 1997, §3)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from ndcore._minhash import Permutations, Sink
from ndcore._samples import Mods
from ndcore._types import AnyArray, Bools, Floats, Ints, UInts
from ndcore.checks import is_int
from ndcore.recipe import Recipe
from ndcore.sketch.cardinality import sample_sizes
from ndcore.sketch.sketcher import Sketcher, checked_count, checked_seed
from ndcore.sketch.sketches import Fields, Sketches
from ndcore.text.shingling import Shingling, given_shingling, joined_samples


class ModSketcher(Sketcher):
    """Sketcher of mod sketches: MOD_m, the distinct values of a document's permuted shingles that are 0 mod m.

    A shingle is in the samples of all documents that have it, or of none. So samples estimate containment as well as
    resemblance without bias (Theorem 1), also between documents of very different length, where sketches of fixed size have
    few values of the shorter one. Sketches grow with the documents: one value for every m distinct shingles.

    Parameters
    ----------
    modulus : int or "adaptive"
        m, 1 to 2^64 − 1. 1 keeps whole sets, and every estimate is exact. "adaptive": m = 2^i with i = max(0,
        bit_length(n div 50) − 1) for a document of n shingles, repeats counted, so that 50 to 100 values are expected
        where shingles do not repeat. Two documents are compared at the larger modulus: then a short document has few values
        left against a very long one, or none.
    seed, shingling, exact_sizes
        As in `MinHasher`.
    size : int, optional
        Keep only the `size` smallest values of the sample, 1 to 65536: MIN_s of MOD_m (§4.1), a bottom sketch of some of
        the shingles, estimated as bottom sketches are. Adaptive samples are bounded already, and take no size.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range.

    Notes
    -----
    `Sketches.moduli` has the modulus of each document of an adaptive sketch. A document with shingles may have an empty
    sample: it is valid, and estimates that would divide by 0 are nan.

    Stable: a recipe and a text always give the same values.

    References
    ----------
    Broder (1997), On the resemblance and containment of documents, §3 and §4.1, DOI 10.1109/SEQUEN.1997.666900.

    Examples
    --------
    >>> sketcher = ModSketcher(modulus=1, shingling=Shingling(width=2))
    >>> sketcher.sketch_many(["to be or not to be", "to be or not"]).containment(1, 0)
    1.0
    """

    size: int | None
    seed: int
    shingling: Shingling

    def __init__(
        self,
        modulus: int | Literal["adaptive"] = 25,
        seed: int = 1,
        shingling: Shingling | None = None,
        size: int | None = None,
        exact_sizes: bool = False,
    ) -> None:
        self.modulus = _check_modulus(modulus)
        self.size = None if size is None else checked_count("size", size)
        if self.size is not None and self.modulus == "adaptive":
            raise ValueError(f"size={size} needs a modulus that is a number; an adaptive sample is bounded as it is")
        self.seed = checked_seed(seed)
        self.shingling = given_shingling(shingling)
        self.exact_sizes = exact_sizes
        self._permutations = Permutations(self.seed, 0)

    def _parameters(self) -> dict[str, Any]:
        return {"kind": "mod", "version": 1, "modulus": self.modulus, "size": self.size, "seed": self.seed}

    def _sink(self, n: int, rows: AnyArray | None = None) -> Sink:
        return Mods(n, 0 if self.modulus == "adaptive" else self.modulus, self.size or 0, self._permutations)

    def _gather(self, done: Sequence[Any]) -> Sketches:
        values, offsets = joined_samples([(piece.values, piece.begins) for piece in done])
        flags, moduli = b"".join([piece.flags for piece in done]), None
        if self.modulus == "adaptive":
            levels = np.frombuffer(b"".join([piece.levels for piece in done]), np.uint8)
            moduli = np.uint64(1) << levels.astype(np.uint64)
        later = (_fields, values, offsets, flags, moduli, self.recipe)
        return Sketches.trusted(values, self.recipe, later, offsets, moduli)


def _fields(values: UInts, offsets: Ints, flags: bytes, moduli: UInts | None, recipe: Recipe) -> Fields:
    """Return the fields of `Sketches.trusted`."""
    valid, size = np.frombuffer(flags, np.bool_), recipe["size"]
    everything = recipe["modulus"] == 1 if moduli is None else moduli == 1
    uncut = True if size is None else np.diff(offsets) < size
    return valid, ~valid | (everything & uncut), partial(_estimate_sizes, values, offsets, valid, moduli, recipe)


def _estimate_sizes(values: UInts, offsets: Ints, valid: Bools, moduli: UInts | None, recipe: Recipe) -> Floats:
    """Estimate numbers of distinct shingles; 0 without shingles."""
    return np.where(valid, sample_sizes(values, offsets, recipe, moduli), 0.0)


def _check_modulus(modulus: int | Literal["adaptive"]) -> int | Literal["adaptive"]:
    if isinstance(modulus, str) and modulus == "adaptive":
        return "adaptive"
    if not is_int(modulus) or not 1 <= modulus < 1 << 64:
        raise ValueError(f"modulus must be an int of 1 to 2^64 - 1, or 'adaptive', got {modulus!r}")
    return int(modulus)
