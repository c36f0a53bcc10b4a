"""Bottom sketches: the smallest permuted fingerprints (Broder 1997, §3)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from ndcore._minhash import Bottoms
from ndcore._types import AnyArray, Bools
from ndcore.sketch.cardinality import bottom_sizes
from ndcore.sketch.sketcher import SketchedPiece, Sketcher, checked_bits, checked_count, checked_seed, end_to_end
from ndcore.sketch.sketches import Sketches
from ndcore.text.shingling import Shingling, given_shingling

__all__ = ["BottomSketcher"]


class BottomSketcher(Sketcher):
    """Sketcher of bottom sketches: MIN_s, the s smallest distinct values of a document's permuted shingles.

    Parameters
    ----------
    size : int
        Values per sketch, s: 1 to 65536. Documents with fewer shingles are kept whole, and compared exactly.
    bits : 64, 40 or 32
        High bits of a value that are kept. Fewer bits save storage (8, 5 or 4 bytes per value in a file; in memory values
        are uint64) and cost accuracy in large sets.
    seed, shingling, exact_sizes
        As in `MinHasher`. With exact sizes, confidence intervals know the share of the sets that the sketches hold.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range.

    Notes
    -----
    Stable: a recipe and a text always give the same values.

    References
    ----------
    Broder (1997), On the resemblance and containment of documents, §3, DOI 10.1109/SEQUEN.1997.666900.
    """

    def __init__(
        self,
        size: int = 200,
        bits: Literal[32, 40, 64] = 64,
        seed: int = 1,
        shingling: Shingling | None = None,
        exact_sizes: bool = False,
    ) -> None:
        self.size = checked_count("size", size)
        self.bits = checked_bits(bits, (32, 40, 64))
        self.seed = checked_seed(seed)
        self.shingling = given_shingling(shingling)
        self.exact_sizes = exact_sizes

    def _parameters(self) -> dict[str, Any]:
        return {"kind": "bottom", "version": 1, "size": self.size, "bits": self.bits, "seed": self.seed}

    def __reduce__(self) -> tuple[Any, ...]:
        return BottomSketcher, (self.size, self.bits, self.seed, self.shingling, self.exact_sizes)

    def _sink(self, n: int, rows: AnyArray | None = None) -> Any:
        return Bottoms(n, self.size, self.bits, self.seed)

    def _gather(self, done: Sequence[SketchedPiece], valid: Bools) -> Sketches:
        counts = end_to_end([piece.sink.counts for piece in done])
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        values = end_to_end([piece.sink.values for piece in done])
        sizes = partial(bottom_sizes, values, offsets, self.size, self.bits)
        exact = (counts < self.size) & ((self.bits == 64) | ~valid)  # fewer bits may have made two shingles one
        return Sketches(values, self.recipe, offsets=offsets, sizes=sizes, sizes_exact=exact, valid=valid)
