"""Simhash: 64, 128 or 256 bits that differ in few places where weighted shingles differ little (Charikar 2002)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcore._minhash import Permutations, Sink
from ndcore._signals import stoppable
from ndcore._simhash import DistinctSums, EqualSums, Sums, WeightedSums
from ndcore._types import AnyArray, Bools, Floats, Text, UInts
from ndcore.choices import SIMHASH_BITS
from ndcore.hamming.fingerprints import hamming_distances
from ndcore.progress import Progress
from ndcore.recipe import Recipe
from ndcore.sketch.file_format import refuse_unnamed
from ndcore.sketch.sketcher import Sketcher, checked_bits, checked_seed, checked_sets, end_to_end
from ndcore.sketch.sketches import Fields, Sketches, UnestimatedSketches
from ndcore.sketch.weights import FeatureWeights, Idf, as_units, checked_weights, refuse_unknown, units_beside
from ndcore.text.shingling import Shingling, given_shingling

Weighing: TypeAlias = Callable[[tuple[Any, ...]], float]
Weights: TypeAlias = Literal['distinct'] | Mapping[int, float] | Idf | FeatureWeights | Weighing | None

NO_WEIGHTS = FeatureWeights(np.empty(0, np.uint64), np.empty(0, np.int32))  # for weights given with the hashes


class Simhashes(UnestimatedSketches):
    """Simhashes of n documents, as `HammingIndex` takes them: `values` are uint64 (n,), or of 128 and 256 bits (n, 2) and
    (n, 4), the most significant word first.

    A bit of two simhashes differs with probability θ/π, where θ is the angle between the documents as vectors of feature
    weights. So the distance is bits·θ/π on average, with a variance of at most about bits·θ/π·(1 − θ/π): `cosine` estimates
    the cosine of the angle. Resemblance and containment cannot be estimated from it.

    Attributes
    ----------
    valid : ndarray of bool (n,)
        A document that is not valid has no feature with a weight other than 0. Its value is a meaningless 0, so leave it
        out: ``HammingIndex(sk.values[sk.valid], ids=np.flatnonzero(sk.valid))``.
    sizes : ndarray of float64 (n,)
        Known for weights="distinct" and for documents without shingles; otherwise nan.
    values, ids, digests, recipe
        As in `Sketches`.
    """

    _advice = "their distance(i, j) and cosine(i, j) estimate the angle of weighted sets"

    if TYPE_CHECKING:  # the value of a document is a number here, or of more than 64 bits an array of its words

        @overload  # type: ignore[override]
        def __getitem__(self, which: int | np.integer[Any]) -> np.uint64 | UInts: ...
        @overload
        def __getitem__(self, which: slice | Sequence[int] | Sequence[bool] | NDArray[Any]) -> Self: ...
        def __getitem__(self, which: Any) -> Any: ...

        def __iter__(self) -> Iterator[np.uint64 | UInts]: ...  # type: ignore[override]

    def distance(self, i: int | Sketches, j: int | None = None) -> float:
        """Count the bits in which documents i and j, or two simhashes, differ: ``a.distance(b)``.

        nan where either is not valid. Arguments as for `Sketches.resemblance`.
        """
        first, second, theirs = self._two(i, j)
        self.recipe.check(theirs.recipe)
        bits = hamming_distances(self._row(first), theirs._row(second)).sum()
        return float(bits) if self.valid[first] and theirs.valid[second] else float("nan")

    def cosine(self, i: int | Sketches, j: int | None = None) -> float:
        """Estimate the cosine of the angle between documents i and j as vectors of feature weights: cos(π·distance/bits).

        nan where either is not valid. Arguments as for `Sketches.resemblance`.

        Notes
        -----
        With θ the angle, the standard error is about π·sin(θ)·√(θ/π·(1 − θ/π)/bits): at a cosine of 0.9 it is 0.06 of 64
        bits, 0.04 of 128 and 0.03 of 256.
        """
        return math.cos(math.pi * self.distance(i, j) / self.recipe["bits"])

    def save(self, path: str | os.PathLike[str], *, durable: bool = True) -> None:
        refuse_unnamed("weights", self.recipe["weights"])
        super().save(path, durable=durable)

    save.__doc__ = UnestimatedSketches.save.__doc__


class SimHasher(Sketcher):
    """Sketcher of simhashes: bit b is 1 where features whose permuted fingerprint has bit b outweigh the others.

    Documents whose features differ in little weight differ in few bits, and `HammingIndex` finds them. Features are the
    shingles; the shingling decides about stop words, stems and phrases.

    Parameters
    ----------
    bits : 64, 128 or 256
        Bits of a simhash. Distances of more bits vary less, so they tell near from far better; sketches take longer and more
        memory. The first 64 bits are the simhash of 64 bits.
    weights : None, "distinct", Idf, mapping or callable
        None: every occurrence counts 1 (term frequency). "distinct": every shingle counts once. Otherwise every occurrence
        has a weight: from an `Idf`; from a mapping of fingerprints (labelled, where the shingling is), 0 for those it
        lacks; or from a callable, which gets the tuple of the shingle's tokens. Weights are finite, smaller than 2^15 in
        magnitude, and rounded half to even to multiples of 2^-16. Sketches by a callable can be saved only if it is a
        function of a module.
    seed : int
        As in `MinHasher`.
    shingling : Shingling, optional
        None: the shingling of the `Idf`, else words, 5 to a shingle.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range.
    RecipeMismatch
        The `Idf` was learned with another shingling.

    Notes
    -----
    O(bytes + shingles·bits/64). A bit of a simhash counts a bit of a feature's hash: of the permuted fingerprint z, and from
    bit 64 on of words that a mixing function makes of z.

    Sums are exact; a document with weights has up to 2^32 occurrences, and more are refused. Where the sum of a bit is 0, a
    tie, the bit is 0. A callable is called for every occurrence, under the GIL; all else runs without it.

    Where a few shingles make up most of a document, as in tables, logs and other repetitive files, weights=None sees mostly
    the repeated shingles: two texts of three words repeated 2,000 times, and of 300 words of their own, have distance 0 at a
    resemblance of 0.005. weights="distinct" counts each shingle once, as resemblance does; their distance is then about 32.

    Stable: a recipe and a text always give the same values.

    References
    ----------
    Charikar (2002), Similarity estimation techniques from rounding algorithms, DOI 10.1145/509907.509965. Manku, Jain, Das
    Sarma (2007), Detecting near-duplicates for web crawling, §2, DOI 10.1145/1242572.1242592.

    Examples
    --------
    >>> sk = SimHasher(shingling=Shingling(width=2)).sketch_many(["to be or not to be", "To be, or not to be!", "be"])
    >>> sk.distance(0, 1), sk.values.dtype, sk.values.shape
    (0.0, dtype('uint64'), (3,))
    >>> SimHasher(bits=256).sketch_many(["to be or not to be", "that is the question here"]).values.shape
    (2, 4)
    """

    exact_sizes = False  # repeats count, so the number of distinct shingles is not used
    bits: int
    seed: int
    shingling: Shingling
    weights: Idf | FeatureWeights | Weighing | Literal["distinct"] | None

    def __init__(
        self, bits: Literal[64, 128, 256] = 64, weights: Weights = None, seed: int = 1, shingling: Shingling | None = None
    ) -> None:
        self.bits = checked_bits(bits, SIMHASH_BITS)
        self.seed = checked_seed(seed)
        self.shingling = given_shingling(weights.shingling if isinstance(weights, Idf) and shingling is None else shingling)
        self.weights, self._weights_named = checked_weights(weights, self.shingling)
        known = self.weights.feature_weights if isinstance(self.weights, Idf) else self.weights
        self._permutations = Permutations(self.seed, 0)
        self._table = (known if isinstance(known, FeatureWeights) else NO_WEIGHTS).table(self.seed)

    def _parameters(self) -> dict[str, Any]:
        return {
            "kind": "simhash", "version": 1, "bits": self.bits, "seed": self.seed, "weights": self._weights_named,
        }

    @classmethod
    def from_recipe(cls, recipe: Recipe, shingling: Shingling | None = None, weights: Weights = None) -> SimHasher:
        """Make the sketcher of a recipe.

        Parameters
        ----------
        recipe : Recipe
        shingling : Shingling, optional
            Needed where its unit is a callable. None: the shingling of the recipe.
        weights : optional
            As in `SimHasher`. Needed where the recipe has only their name or digest.

        Returns
        -------
        SimHasher

        Raises
        ------
        ValueError
            The recipe is for sketches of another kind.
        RecipeMismatch
            `shingling` or `weights` differ from the recipe.
        """
        if recipe["kind"] != "simhash":
            raise ValueError(f"simhashes are needed, the sketches are {recipe['kind']!r}")
        shingling = shingling or Shingling.from_recipe(Recipe(recipe["shingling"]))
        if weights is None and recipe["weights"] == "distinct":
            weights = "distinct"
        refuse_unknown(weights, recipe)
        sketcher = cls(recipe["bits"], weights, recipe["seed"], shingling)
        recipe.check(sketcher.recipe)
        return sketcher

    def _sink(self, n: int, rows: AnyArray | None = None) -> Sums:
        words = self.bits // 64
        if self.weights is None:
            return EqualSums(n, words, self._permutations)
        if self.weights == "distinct":
            return DistinctSums(n, words, self._permutations)
        return WeightedSums(n, words, self._table, self._permutations)

    def sketch_piece(self, piece: tuple[int, Sequence[Text]], rows: AnyArray | None = None) -> Sink:
        if not callable(self.weights):
            return super().sketch_piece(piece, rows)
        first, texts = piece
        values, offsets, invalid = self.shingling.shingler.fingerprints(self.shingling.batch(texts), first)
        units = [_weigh(self.weights, self._runs(text), first + i) for i, text in enumerate(stoppable(texts))]
        sink = WeightedSums(len(texts), self.bits // 64, self._table, self._permutations)
        sink.take_weighted_sets(values, offsets, np.concatenate([*units, np.empty(0, np.int32)]))
        sink.invalid_bytes = invalid
        return sink

    sketch_piece.__doc__ = Sketcher.sketch_piece.__doc__

    def _runs(self, text: Text) -> list[tuple[Any, ...]]:
        """Return the tokens of the shingles in order, without labels of occurrences."""
        runs = self.shingling.shingles(text)
        return [run[:-1] for run in runs] if self.shingling.labelled else runs

    if TYPE_CHECKING:  # what `_gather` makes of the sinks

        def sketch(self, text: Text) -> Simhashes: ...

        def sketch_many(
            self, texts: Iterable[Text], threads: int | None = None, progress: bool | Progress | None = None
        ) -> Simhashes: ...

    def _gather(self, done: Sequence[Any]) -> Simhashes:
        return gather_simhashes(done, self.recipe)

    def sketch_hashes(self, values: ArrayLike, offsets: ArrayLike, weights: ArrayLike | None = None) -> Simhashes:
        """Sketch given multisets: fingerprints by this sketcher's shingling, or hashes of other features.

        Parameters
        ----------
        values : array of uint64
            64-bit hashes.
        offsets : array of int, shape (n + 1,)
            Multiset i is values[offsets[i] : offsets[i + 1]]; [0, len(values)] for one.
        weights : array of numbers, shape (len(values),), optional
            A weight for each value, where the sketcher has weights=None. The recipe says that weights were given, not which.

        Returns
        -------
        Simhashes

        Raises
        ------
        TypeError, ValueError
            A value is not an unsigned 64-bit integer, offsets do not ascend from 0 to len(values), the weights are not one
            per value, or the sketcher's weights are a callable, which needs tokens.
        """
        hashes, ends = checked_sets(values, offsets)
        if callable(self.weights):
            raise ValueError("weights are a callable, which needs the tokens of shingles; hashes have none: use "
                             "weights=None and give an array of weights with the hashes")
        if weights is None:
            sink = self._sink(len(ends) - 1)
            sink.take_sets(hashes, ends)
            return self._gather([sink])
        if self.weights is not None:
            raise ValueError("the sketcher has weights of its own; give an array of weights to SimHasher(weights=None)")
        sums = sum_weighted_sets(hashes, ends, weights, self._permutations, self.bits)
        return gather_simhashes([sums], self._recipe_of_given_weights)


def gather_simhashes(sinks: Sequence[Any], recipe: Recipe) -> Simhashes:
    """Join the simhashes of all pieces."""
    flags, weights = b"".join([sink.flags for sink in sinks]), b"".join([sink.weights for sink in sinks])
    counted = b"".join([sink.counted for sink in sinks]) if isinstance(sinks[0], DistinctSums) else None
    return Simhashes.trusted(end_to_end([sink.rows for sink in sinks]), recipe, (_fields, flags, weights, counted))


def sum_weighted_sets(
    values: ArrayLike, offsets: ArrayLike, weights: ArrayLike, permutations: Permutations, bits: int
) -> WeightedSums:
    """Sum given multisets with a weight for each value. TypeError or ValueError as of `SimHasher.sketch_hashes`."""
    hashes, ends = checked_sets(values, offsets)
    units = units_beside(weights, hashes)
    sums = WeightedSums(len(ends) - 1, bits // 64, NO_WEIGHTS.table(0), permutations)
    sums.take_weighted_sets(hashes, ends, units)
    return sums


def _fields(flags: bytes, weights: bytes, counted: bytes | None) -> Fields:
    """Return the fields of `Sketches.trusted`; counted: int64, the numbers of shingles, if they were counted."""
    has_shingles, valid = np.frombuffer(flags, np.bool_), np.frombuffer(weights, np.bool_)
    if counted is None:
        return valid, ~has_shingles, partial(skip_sizes, has_shingles)
    return valid, np.ones(len(valid), np.bool_), np.frombuffer(counted, np.int64).astype(np.float64)


def skip_sizes(has_shingles: Bools) -> Floats:
    """Return sizes that were not counted: nan, and 0 without shingles."""
    return np.where(has_shingles, np.nan, 0.0)


def _weigh(weights: Weighing, runs: Sequence[tuple[Any, ...]], document: int) -> NDArray[np.int32]:
    """Weigh shingles by a callable, in units."""
    given = [weights(run) for run in runs]
    try:
        return as_units(given)
    except (TypeError, ValueError) as error:
        raise type(error)(f"document {document}: the weights of its shingles: {error}") from error
