"""Weighted signatures: samples that two documents share with the probability of their weighted Jaccard similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ndcore._minhash import Permutations
from ndcore._sets import distinct
from ndcore._simhash import WeightedSignatures
from ndcore._types import AnyArray, Floats, Ints, UInts
from ndcore.recipe import Recipe
from ndcore.sketch.sketcher import Sketcher, checked_count, checked_seed, checked_sets, end_to_end
from ndcore.sketch.sketches import Fields, Sketches
from ndcore.sketch.weights import UNIT, FeatureWeights, Idf, checked_weights, refuse_unknown, units_beside
from ndcore.text.shingling import Shingling, given_shingling

SetWeights: TypeAlias = Mapping[int, float] | Idf | FeatureWeights | None
ONES = FeatureWeights(np.empty(0, np.uint64), np.empty(0, np.int32), UNIT)  # every occurrence weighs 1


class WeightedMinHasher(Sketcher):
    """Sketcher of weighted signatures: `num_perm` consistent samples of a document's weighted features.

    Two documents agree in a sample with probability equal to their weighted Jaccard similarity: the sum of the smaller
    weights over the sum of the larger ones. So rare shingles, which weigh more by an `Idf`, say more than common ones.

    Parameters
    ----------
    num_perm : int
        Samples per signature, 1 to 65536.
    weights : None, Idf or mapping
        None: every occurrence weighs 1, so repeats count. Otherwise every occurrence has a weight: from an `Idf`, or from a
        mapping of fingerprints, 0 for those it lacks. Weights are 0 or more, smaller than 2^15, and rounded half to even to
        multiples of 2^-16. For sets without weights use `MinHasher`.
    seed : int
        As in `MinHasher`.
    shingling : Shingling, optional
        None: the shingling of the `Idf`, else words, 5 to a shingle.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range, or a weight is negative.
    RecipeMismatch
        The `Idf` was learned with another shingling.

    Notes
    -----
    `Sketches.sizes` are the total weights, exact, and containment is the share of A's weight that B has. A union is not
    known from the samples. O(n · num_perm) for n different shingles, a few nanoseconds each. Logarithms are ndcore's own, so
    values are the same on all processors. Stable: a recipe and a text always give the same values.

    References
    ----------
    Ioffe (2010), Improved consistent sampling, weighted minhash and L1 sketching, DOI 10.1109/ICDM.2010.80.

    Examples
    --------
    >>> texts = ["the cat saw the dog", "the cat saw the bird", "the end of the day"]
    >>> idf = Idf.learn(texts, Shingling(width=1))
    >>> sk = WeightedMinHasher(2000, idf).sketch_many(texts)
    >>> round(sk.resemblance(0, 1), 1), round(sk.resemblance(0, 2), 1)
    (0.6, 0.2)
    """

    exact_sizes = False  # total weights are always exact
    num_perm: int
    weights: Idf | FeatureWeights | None
    seed: int
    shingling: Shingling

    def __init__(
        self, num_perm: int = 84, weights: SetWeights = None, seed: int = 1, shingling: Shingling | None = None
    ) -> None:
        self.num_perm = checked_count("num_perm", num_perm)
        self.seed = checked_seed(seed)
        self.shingling = given_shingling(weights.shingling if isinstance(weights, Idf) and shingling is None else shingling)
        if weights is not None and not isinstance(weights, (Mapping, Idf, FeatureWeights)):
            raise TypeError(f"weights must be None, an Idf or a mapping of fingerprints to numbers, got {weights!r:.80}")
        self.weights, self._weights_named = checked_weights(weights, self.shingling)
        known = self.weights.feature_weights if isinstance(self.weights, Idf) else self.weights or ONES
        negative = np.flatnonzero(known.units < 0)
        if len(negative):
            raise ValueError(f"weight of {known.fingerprints[negative[0]]} is {known.units[negative[0]] / UNIT}; weights of "
                             "sets are 0 or more")
        self._permutations = Permutations(self.seed, 0)
        self._table = known.table(self.seed)

    def _parameters(self) -> dict[str, Any]:
        return {
            "kind": "weighted", "version": 1, "num_perm": self.num_perm, "bits": 32, "seed": self.seed,
            "weights": self._weights_named,
        }  # fmt: skip

    @classmethod
    def from_recipe(
        cls, recipe: Recipe, weights: SetWeights = None, shingling: Shingling | None = None
    ) -> WeightedMinHasher:
        """Make the sketcher of a recipe, which has the digest of its weights only.

        Parameters
        ----------
        recipe : Recipe
        weights : optional
            As in `WeightedMinHasher`. Needed where the recipe has their digest.
        shingling : Shingling, optional
            Needed where its unit is a callable. None: the shingling of the recipe.

        Raises
        ------
        ValueError
            The recipe is for sketches of another kind.
        RecipeMismatch
            `shingling` or `weights` differ from the recipe.
        """
        if recipe["kind"] != "weighted":
            raise ValueError(f"weighted signatures are needed, the sketches are {recipe['kind']!r}")
        refuse_unknown(weights, recipe)
        sketcher = cls(recipe["num_perm"], weights, recipe["seed"],
                       shingling or Shingling.from_recipe(Recipe(recipe["shingling"])))
        recipe.check(sketcher.recipe)
        return sketcher

    def _rows(self, n: int) -> AnyArray:
        return np.empty((n, self.num_perm), np.uint32)

    def _sink(self, n: int, rows: AnyArray | None = None) -> WeightedSignatures:
        return WeightedSignatures(n, self.num_perm, self._table, self._permutations, rows)

    def _gather(self, done: Sequence[Any]) -> Sketches:
        return _sketches(done, self.recipe)

    def sketch_hashes(self, values: ArrayLike, offsets: ArrayLike, weights: ArrayLike | None = None) -> Sketches:
        """Sketch given multisets: fingerprints by this sketcher's shingling, or hashes of other features.

        Parameters
        ----------
        values : array of uint64
            64-bit hashes. The weights of repeats within a multiset are added.
        offsets : array of int, shape (n + 1,)
            Multiset i is values[offsets[i] : offsets[i + 1]]; [0, len(values)] for one.
        weights : array of numbers, shape (len(values),), optional
            A weight for each value, where the sketcher has weights=None. The recipe says that weights were given, not which.

        Returns
        -------
        Sketches

        Raises
        ------
        TypeError, ValueError
            A value is not an unsigned 64-bit integer, offsets do not ascend from 0 to len(values), or the weights are not
            one per value, 0 or more.
        """
        hashes, ends = checked_sets(values, offsets)
        if weights is None:
            sink = self._sink(len(ends) - 1)
            sink.take_sets(hashes, ends)
            return _sketches([sink], self.recipe)
        if self.weights is not None:
            raise ValueError("the sketcher has weights of its own; give an array of weights to one with weights=None")
        units = units_beside(weights, hashes)
        if len(units) and units.min() < 0:
            at = int(np.argmax(units < 0))
            raise ValueError(f"weight {at} is {units[at] / UNIT}; weights of sets are 0 or more")
        sink = self._sink(len(ends) - 1)
        sink.take_weighted_sets(*_add_repeats(hashes, ends, units.astype(np.int64)))
        return _sketches([sink], self._recipe_of_given_weights)


def _sketches(sinks: Sequence[Any], recipe: Recipe) -> Sketches:
    """Join the signatures of all pieces."""
    rows, sums = (end_to_end([getattr(sink, name) for sink in sinks]) for name in ("rows", "sums"))
    base = sinks[0].rows.base  # the array for all documents, if `sketch_many` made one
    return Sketches.trusted(rows if base is None else base, recipe, (_fields, sums))


def _fields(sums: Ints) -> Fields:
    """Return the fields of `Sketches.trusted`: a document is valid if a feature of it weighs more than 0."""
    sizes: Floats = sums / UNIT
    return sums > 0, np.ones(len(sums), np.bool_), sizes


def _add_repeats(hashes: UInts, ends: Ints, units: Ints) -> tuple[UInts, Ints, Ints]:
    """Add the weights of values that are equal in one set: (values, offsets, weights), without those that weigh nothing.

    The arrays are new ones.
    """
    _, sizes = distinct(hashes.copy(), ends)
    if sizes[-1] == len(hashes):  # none repeats: sorting twice would take as long as sampling
        held = units > 0
        return hashes[held], np.concatenate([[0], np.cumsum(held, dtype=np.int64)])[ends], units[held]
    of = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    order = np.lexsort((hashes, of))
    hashes, of, units = hashes[order], of[order], units[order]
    first = np.ones(len(hashes), np.bool_)
    first[1:] = (hashes[1:] != hashes[:-1]) | (of[1:] != of[:-1])
    starts = np.flatnonzero(first)
    totals = np.add.reduceat(units, starts) if len(starts) else units
    held = totals > 0
    counts = np.bincount(of[starts][held], minlength=len(ends) - 1)
    return hashes[starts][held], np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), totals[held]
