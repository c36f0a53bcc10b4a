"""Bottom sketches: the smallest permuted fingerprints (Broder 1997, §3)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from ndcore._minhash import Bottoms, Permutations, Sink
from ndcore._types import AnyArray, Ints, UInts
from ndcore.sketch.cardinality import bottom_sizes
from ndcore.sketch.sketcher import Sketcher, checked_bits, checked_count, checked_seed
from ndcore.sketch.sketches import Fields, Sketches
from ndcore.text.shingling import Shingling, given_shingling, joined_samples


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

    size: int
    bits: int
    seed: int
    shingling: Shingling

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
        self._permutations = Permutations(self.seed, 0)

    def _parameters(self) -> dict[str, Any]:
        return {"kind": "bottom", "version": 1, "size": self.size, "bits": self.bits, "seed": self.seed}

    def _sink(self, n: int, rows: AnyArray | None = None) -> Sink:
        return Bottoms(n, self.size, self.bits, self._permutations)

    def _gather(self, done: Sequence[Any]) -> Sketches:
        values, offsets = joined_samples([(piece.values, piece.begins) for piece in done])
        flags = b"".join([piece.flags for piece in done])
        return Sketches.trusted(values, self.recipe, (_fields, values, offsets, flags, self.size, self.bits), offsets)


def _fields(values: UInts, offsets: Ints, flags: bytes, size: int, bits: int) -> Fields:
    """Return the fields of `Sketches.trusted`."""
    valid = np.frombuffer(flags, np.bool_)
    exact = (np.diff(offsets) < size) & ((bits == 64) | ~valid)  # fewer bits may have made two shingles one
    return valid, exact, partial(bottom_sizes, values, offsets, size, bits)
