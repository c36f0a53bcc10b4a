"""Mod sketches: a part of the shingles, the same part in every document (Broder 1997, §3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ndcore._modsketch import Mods
from ndcore.checks import is_int
from ndcore.recipe import Recipe
from ndcore.sketch.cardinality import sample_sizes
from ndcore.sketch.sketcher import SketchedPiece, Sketcher, checked_count, checked_seed, end_to_end
from ndcore.sketch.sketches import Sketches
from ndcore.text.shingling import Shingling, checked_shingling

__all__ = ["ModSketcher"]


class ModSketcher(Sketcher):
    """Mod sketches: MOD_m, the distinct values of a document's permuted shingles that are 0 mod m (Broder 1997, §3).

    A shingle is in the sample of every document that has it, or of none. So samples estimate containment as well as
    resemblance without bias, also between documents of very different length, for which the sketches of fixed size have
    few values of the shorter one (Theorem 1). They grow with the documents: one value for every m distinct shingles.

    Parameters
    ----------
    modulus : int or "adaptive"
        m, 1 to 2^64 − 1; 1 keeps whole sets, and every estimate is exact. "adaptive": m = 2^i, i = max(0,
        bit_length(n div 50) − 1) for a document of n shingles, repeats counted, so that 50 to 100 values are expected
        where shingles do not repeat. Two documents compare at the larger of their moduli: then a short document against a
        very long one has few values left, or none.
    seed : int
        0 to 2^64 − 1.
    shingling : Shingling, optional
        None: words, 5 to a shingle.
    size : int, optional
        Keep the `size` smallest values of the sample only, 1 to 65536: MIN_s of MOD_m (Broder 1997, §4.1), a bottom sketch
        of a part of the shingles, estimated as bottom sketches are. Adaptive samples are bounded as they are, and take no
        size.
    exact_sizes : bool
        Count the distinct shingles of every document too (a second reading) instead of estimating their number.

    Notes
    -----
    The modulus of each document of an adaptive sketch is in `Sketches.moduli`. A document with shingles may have an empty
    sample: it is valid, and estimates that would divide by 0 are nan.

    Stable: a recipe and a text always give the same values.

    >>> sketcher = ModSketcher(modulus=1, shingling=Shingling(width=2))
    >>> sketcher.sketch_many(["to be or not to be", "to be or not"]).containment(1, 0)
    1.0
    """

    def __init__(
        self,
        modulus: int | Literal["adaptive"] = 25,
        seed: int = 1,
        shingling: Shingling | None = None,
        size: int | None = None,
        exact_sizes: bool = False,
    ) -> None:
        self.modulus = _checked_modulus(modulus)
        self.size = None if size is None else checked_count("size", size)
        if self.size is not None and self.modulus == "adaptive":
            raise ValueError(f"size={size} needs a modulus that is a number; an adaptive sample is bounded as it is")
        self.seed = checked_seed(seed)
        self.shingling = checked_shingling(shingling) or Shingling()
        self.exact_sizes = exact_sizes
        self.recipe = Recipe({
            "kind": "mod", "version": 1, "modulus": self.modulus, "size": self.size, "seed": self.seed,
            "shingling": self.shingling.recipe.parameters,
        })

    def __reduce__(self) -> tuple[Any, ...]:
        return ModSketcher, (self.modulus, self.seed, self.shingling, self.size, self.exact_sizes)

    def _sink(self, n: int) -> Any:
        return Mods(n, 0 if self.modulus == "adaptive" else self.modulus, self.size or 0, self.seed)

    def _gather(self, done: Sequence[SketchedPiece], valid: NDArray[np.bool_]) -> Sketches:
        counts = end_to_end([piece.sink.counts for piece in done])
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        values = np.concatenate([piece.sink.values for piece in done])
        moduli = None
        if self.modulus == "adaptive":
            moduli = np.uint64(1) << end_to_end([piece.sink.levels for piece in done]).astype(np.uint64)
        sizes = np.where(valid, sample_sizes(values, offsets, self.recipe, moduli), 0.0)
        everything = self.modulus == 1 if moduli is None else moduli == 1
        uncut = True if self.size is None else counts < self.size
        return Sketches(
            values, self.recipe, offsets=offsets, sizes=sizes, sizes_exact=~valid | (everything & uncut), valid=valid,
            moduli=moduli,
        )


def _checked_modulus(modulus: int | Literal["adaptive"]) -> int | Literal["adaptive"]:
    if isinstance(modulus, str) and modulus == "adaptive":
        return "adaptive"
    if not is_int(modulus) or not 1 <= modulus < 1 << 64:
        raise ValueError(f"modulus must be an int of 1 to 2^64 - 1, or 'adaptive', got {modulus!r}")
    return int(modulus)
