"""b-bit signatures: a few bits of each minimum in place of the minimum (Li and König 2010)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ndcore._types import AnyArray, Ints
from ndcore.checks import checked_int
from ndcore.parallel import map_pieces
from ndcore.recipe import Recipe
from ndcore.sketch.file_format import row_shape
from ndcore.sketch.sketches import PIECE, Sketches

GAMMA = np.uint64(0x9E3779B97F4A7C15)
KEPT = (1, 2, 4, 8)  # bits of a minimum
ROWS = 1 << 12  # signatures that are reduced at a time
FOLDS = {1: (), 2: (1,), 4: (2, 1), 8: (4, 2, 1)}  # shifts that gather the bits of a field in its lowest one
LOWEST = {1: 0xFF, 2: 0x55, 4: 0x11, 8: 0x01}  # the lowest bit of each field of a byte
ONES = np.array([byte.bit_count() for byte in range(256)], np.uint8)


class BBitSketches(Sketches):
    """b-bit signatures of n documents: `values` are uint8 (n, bytes), `num_perm` fields of `kept` bits, lowest first.

    Fields of different minima agree by chance with the probability C = 2^-kept. So the resemblance is estimated by
    (share − C) / (1 − C), or 0 where that is below 0, from the share of fields that agree.

    Attributes
    ----------
    sizes, sizes_exact, valid, ids, digests
        Of the signatures that they were made of.
    values, recipe
        As in `Sketches`.
    """

    def _chance(self) -> float:
        return float(2.0 ** -self.recipe["kept"])

    def count_common(self, theirs: Sketches, a: Ints, b: Ints, out: Ints, threads: int | None = None) -> None:
        fields, kept = self.recipe["num_perm"], self.recipe["kept"]

        def work(start: int) -> None:
            part = slice(start, start + PIECE)
            different: AnyArray = self.values[a[part]] ^ theirs.values[b[part]]
            for shift in FOLDS[kept]:
                different |= different >> shift
            out[part, 0] = fields - ONES[different & LOWEST[kept]].sum(axis=1, dtype=np.int64)
            out[part, 1:] = fields, 0

        for _ in map_pieces(work, range(0, len(a), PIECE), threads):
            pass

    count_common.__doc__ = Sketches.count_common.__doc__

    def union(self, *_: int | Sketches) -> Sketches:
        raise ValueError("the union of b-bit signatures is not known: their bits do not tell which minimum is smaller; "
                         "unite the signatures, and then reduce them")


def b_bit(sk: Sketches, kept: int = 1) -> BBitSketches:
    """Keep a few bits of each minimum of signatures, to need fewer bytes.

    At a resemblance of 0.5 or more, 1 bit a minimum needs at most 3 times as many minima as 32 bits for the same error, so a
    tenth of the bytes (Li and König 2010). Pairs that are less alike need more bits.

    Parameters
    ----------
    sk : Sketches
        Signatures, of a `MinHasher` or a `WeightedMinHasher`.
    kept : 1, 2, 4 or 8
        Bits of a minimum.

    Returns
    -------
    BBitSketches
        uint8 (n, ⌈num_perm · kept / 8⌉).

    Raises
    ------
    TypeError, ValueError
        The sketches are not signatures, or `kept` is another number.

    Notes
    -----
    O(n · num_perm). The bits are taken from a hash of the minimum and its place, as the lowest bits of minima under linear
    permutations depend on each other. Stable, as signatures are. Features, for LSH, need whole minima.

    References
    ----------
    Li, König (2010), b-Bit minwise hashing, DOI 10.1145/1772690.1772759.

    Examples
    --------
    >>> from ndcore import MinHasher
    >>> sk = MinHasher(1024).sketch_many(["a b c d e f g h i j", "a b c d e f g h i k"])
    >>> small = b_bit(sk, 1)
    >>> small.values.shape, abs(small.resemblance(0, 1) - sk.resemblance(0, 1)) < 0.1
    ((2, 128), True)
    """
    if not isinstance(sk, Sketches):
        raise TypeError(f"sketches are needed, as of MinHasher().sketch_many(texts); got {sk!r:.80}")
    if sk.recipe["kind"] not in ("minhash", "weighted"):
        raise ValueError(f"b-bit signatures are made of signatures, these sketches are {sk.recipe['kind']!r}; use a "
                         "MinHasher")
    if checked_int("kept", kept, 1, 8) not in KEPT:
        raise ValueError(f"kept is {kept}; 1, 2, 4 or 8 bits of a minimum are kept")
    parameters = sk.recipe.parameters
    recipe = Recipe({**parameters, "kind": "b-bit", "of": parameters["kind"], "kept": kept})
    values = np.empty((len(sk), row_shape(recipe)[0]), np.uint8)
    for at in range(0, len(sk), ROWS):
        values[at : at + ROWS] = _reduce(sk.values[at : at + ROWS], kept)
    return BBitSketches(values, recipe, sizes=sk.sizes, sizes_exact=sk.sizes_exact, valid=sk.valid, ids=sk.ids,
                        digests=sk.digests)


def _reduce(minima: AnyArray, kept: int) -> NDArray[np.uint8]:
    """Return the highest `kept` bits of a hash of each minimum and its place, packed into bytes, lowest first."""
    with np.errstate(over="ignore"):
        z: AnyArray = minima.astype(np.uint64) + np.arange(1, minima.shape[1] + 1, dtype=np.uint64) * GAMMA
        for factor in (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)):
            z = (z ^ (z >> np.uint64(33))) * factor
    fields = (z >> np.uint64(64 - kept)).astype(np.uint8)  # the last step of fmix64 changes low bits only
    bits = fields[:, :, None] >> np.arange(kept, dtype=np.uint8) & 1
    return np.packbits(bits.reshape(len(minima), -1), axis=1, bitorder="little")
