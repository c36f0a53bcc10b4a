"""Signatures of lists of terms: I-Match with random lexicons, and checksums of buckets.

A document is the set of its terms. Some of them, by a rule that is the same for all documents, form a list; the signature of
the list is the sum of their permuted fingerprints. Two documents match where the signatures of enough lists are equal. So a
change of a few terms leaves a match as long as one list has none of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import ndcore._candidates as _candidates
from ndcore._batch import Batch
from ndcore._cluster import components
from ndcore._minhash import Permutations, coefficients
from ndcore._samples import Mods
from ndcore._types import AnyArray, Bools, Ints, Text, UInts
from ndcore.checks import checked_int, is_number
from ndcore.progress import Progress
from ndcore.recipe import Recipe
from ndcore.sketch.features import MAX_SUPER_FEATURES
from ndcore.sketch.sketcher import Sketcher, checked_seed, end_to_end
from ndcore.sketch.sketches import UnestimatedSketches
from ndcore.sketch.weights import EXACT, Idf
from ndcore.text.shingling import SUPER_FEATURE_POLYNOMIAL, Shingling, checked_shingling

MAX_LISTS = 64  # of a document
WORDS = Shingling(width=1)


class TermSignatures(UnestimatedSketches):
    """Signatures of lists of the terms of n documents: `values` are uint64 (n, lists).

    A signature of 0 means that the document has too few terms in the list; it equals nothing. Resemblance and containment
    cannot be estimated from signatures: verify what matches by `nd.resemblance`, or with the texts at hand.

    Attributes
    ----------
    valid : ndarray of bool (n,)
        A document that is not valid has no signature, so it matches nothing.
    sizes : ndarray of float64 (n,)
        Numbers of distinct terms, exact.
    values, ids, digests, recipe
        As in `Sketches`.
    """

    _advice = "agreeing(i, j) counts equal signatures, and labels() groups the documents that match"

    def agreeing(self, i: int, j: int) -> int:
        """Count the lists whose signatures are equal in documents i and j."""
        a, b = self._row(i), self._row(j)
        return int(np.count_nonzero((a == b) & (a != 0)))

    def labels(self, need: int = 1) -> Ints:
        """Group the documents that match.

        Parameters
        ----------
        need : int
            Equal signatures of a match.

        Returns
        -------
        ndarray of int64 (n,)
            The first document of each one's group: the documents that a chain of matches connects.

        Raises
        ------
        TypeError, ValueError
            need is not one of 1 to the number of lists, or there are more than 1,024 combinations of `need` lists.

        Notes
        -----
        O(n log n) for each combination of `need` lists, however many documents match.
        """
        lists = self.values.shape[1]
        need = checked_int("need", need, 1, lists)
        count = comb(lists, need)
        if count > MAX_SUPER_FEATURES:
            raise ValueError(f"{need} of {lists} lists have {count:,} combinations; at most {MAX_SUPER_FEATURES:,} are "
                             "compared. Take a need near 1 or near the number of lists, or fewer lists")
        joined = self.values if need == 1 else _candidates.super_features(
            np.ascontiguousarray(self.values), need, SUPER_FEATURE_POLYNOMIAL)
        rank = np.arange(len(self))
        roots = rank.copy()
        for column, of in enumerate(combinations(range(lists), need)):
            held = np.flatnonzero((self.values[:, of] != 0).all(axis=1))
            _, first, which = np.unique(joined[held, column], return_index=True, return_inverse=True)
            roots = components(held, held[first[which]], rank, roots)
        return roots


class _SignedLists:
    """The signatures of a piece of documents, with what a sink has beside them."""

    def __init__(self, sink: Mods, rows: UInts) -> None:
        self.rows, self.counts = rows, np.diff(sink.begins)
        self.digests, self.invalid_bytes = getattr(sink, "digests", None), getattr(sink, "invalid_bytes", 0)

    def __len__(self) -> int:
        return len(self.rows)


class TermListSketcher(Sketcher):
    """Base of sketchers of lists of terms; `least` and `lists` are in `IMatcher` and `BucketSketcher`."""

    exact_sizes = False  # numbers of terms are always exact
    lists: int
    least: int
    _permutations: Permutations

    @abstractmethod
    def _members(self, zs: UInts) -> Iterator[Bools]:
        """Yield, for each list, which of the permuted terms belong to it."""

    def _sink(self, n: int, rows: AnyArray | None = None) -> Mods:
        return Mods(n, 1, 0, self._permutations)  # all distinct terms

    def sketch_batch(
        self, batch: Batch, first: int = 0, digested: bool = False, rows: AnyArray | None = None
    ) -> Any:
        return self._sign(super().sketch_batch(batch, first, digested))

    sketch_batch.__doc__ = Sketcher.sketch_batch.__doc__

    def _sign(self, sink: Any) -> _SignedLists:
        """Sign the lists of the documents whose terms a sink has."""
        zs, begins = sink.values, sink.begins
        rows = np.zeros((len(begins) - 1, self.lists), np.uint64)
        for column, members in enumerate(self._members(zs)):
            sums, counts = (_sums(each, begins) for each in (np.where(members, zs, np.uint64(0)), members.astype(np.uint64)))
            rows[:, column] = np.where(counts >= self.least, np.where(sums == 0, ~sums, sums), 0)
        return _SignedLists(sink, rows)

    def _gather(self, done: Sequence[Any]) -> TermSignatures:
        signed = [part if isinstance(part, _SignedLists) else self._sign(part) for part in done]
        rows, counts = (end_to_end([getattr(part, name) for part in signed]) for name in ("rows", "counts"))
        later = (lambda: ((rows != 0).any(axis=1), np.ones(len(rows), np.bool_), counts.astype(np.float64)),)
        return TermSignatures.trusted(rows, self.recipe, later)

    if TYPE_CHECKING:  # what `_gather` makes of the sinks

        def sketch(self, text: Text) -> TermSignatures: ...

        def sketch_many(
            self, texts: Iterable[Text], threads: int | None = None, progress: bool | Progress | None = None
        ) -> TermSignatures: ...

        def sketch_hashes(self, values: ArrayLike, offsets: ArrayLike) -> TermSignatures: ...


class BucketSketcher(TermListSketcher):
    """Sketcher of checksum buckets: a hash puts each term of a document into one of a few lists.

    Documents match where a list of theirs is equal. A change of t terms leaves a list unchanged with a probability of
    (1 − 1 / buckets)^t: more buckets tolerate more changes, and match more documents that have few terms in common.

    Parameters
    ----------
    buckets : int
        Lists, 1 to 64.
    least : int
        A list of fewer terms matches nothing.
    seed : int
        As in `MinHasher`.
    shingling : Shingling, optional
        Its shingles are the terms. None: single words.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range.

    Notes
    -----
    A term is in list z mod `buckets`, where z is its permuted fingerprint; repeats count once, and the order of terms does
    not count. O(terms · buckets) by array operations. Stable: a recipe and a text always give the same values.

    References
    ----------
    Pugh and Henzinger, "Detecting duplicate and near-duplicate files", US patent 6,658,423, 2003, expired. Its abstract
    takes documents for near-duplicates if any one fingerprint matches. Manku, Jain, Das Sarma (2007), Detecting
    near-duplicates for web crawling, §6, DOI 10.1145/1242572.1242592, let most of them agree: see `TermSignatures.labels`.

    Examples
    --------
    >>> sk = BucketSketcher(4, least=1).sketch_many(["a bee saw a flower in a garden", "A bee saw one flower in a garden."])
    >>> sk.agreeing(0, 1), sk.labels().tolist()
    (3, [0, 0])
    """

    def __init__(self, buckets: int = 16, least: int = 4, seed: int = 1, shingling: Shingling | None = None) -> None:
        self.lists = checked_int("buckets", buckets, 1, MAX_LISTS)
        self.least = checked_int("least", least, 1)
        self.seed = checked_seed(seed)
        self.shingling = checked_shingling(shingling) or WORDS
        self._permutations = Permutations(self.seed, 0)

    def _parameters(self) -> dict[str, Any]:
        return {"kind": "buckets", "version": 1, "lists": self.lists, "least": self.least, "seed": self.seed}

    def __reduce__(self) -> tuple[Any, ...]:
        return BucketSketcher, (self.lists, self.least, self.seed, self.shingling)

    def _members(self, zs: UInts) -> Iterator[Bools]:
        buckets = zs % np.uint64(self.lists)
        return (buckets == bucket for bucket in range(self.lists))


class IMatcher(TermListSketcher):
    """Sketcher of I-Match: signatures of the terms of a document that are in a lexicon, and in random parts of it.

    The lexicon has the terms that tell documents apart: neither in most documents, nor in nearly none. Documents match
    where all their terms of one list are equal. The whole lexicon is the first list; a change of one of its terms ends a
    match there, and leaves the matches by random lexicons that lack the term.

    Parameters
    ----------
    lexicon : Idf
        The terms and their document frequencies, as of ``Idf.learn(texts, Shingling(width=1))``. Its shingling is taken.
    lowest, highest : float
        Normalised inverse document frequencies of the terms in the lexicon, log(documents / df) / log(documents): 0 for a
        term in all documents, 1 for a term in one.
    lexicons : int
        Random lexicons, 0 to 63.
    removed : float
        The share of terms that each of them lacks, 0 to below 1.
    least : int
        A list of fewer terms matches nothing.
    seed : int
        As in `MinHasher`.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range, or no term of the `Idf` is between `lowest` and `highest`.

    Notes
    -----
    Random lexicon j lacks the terms whose permuted fingerprint z has a_j·z + b_j mod 2^64 < removed·2^64, by the
    permutations of a MinHasher of 64 bits. Logarithms are compared to 50 digits, so lexicons are the same everywhere.
    O(terms · lexicons) by array operations. Stable: a recipe, an `Idf` and a text always give the same values.

    The lexicon is of one collection, and new terms are in none: learn it again, and sketch again, when a collection grows
    much (Manku et al. 2007, §6).

    References
    ----------
    Chowdhury, Frieder, Grossman, McCabe (2002), Collection statistics for fast duplicate document detection,
    DOI 10.1145/506309.506311. Kołcz, Chowdhury, Alspector (2004), Improved robustness of signature-based near-replica
    detection via lexicon randomization, DOI 10.1145/1014052.1014127.

    Examples
    --------
    >>> texts = ["one bee saw a red flower", "one bee saw a blue flower", "the cat sat", "a dog ran home"]
    >>> sk = IMatcher(Idf.learn(texts, WORDS), least=2).sketch_many(texts)
    >>> sk.labels().tolist()
    [0, 0, 2, 3]
    """

    def __init__(
        self, lexicon: Idf, lowest: float = 0.1, highest: float = 0.9, lexicons: int = 10, removed: float = 0.3,
        least: int = 4, seed: int = 1,
    ) -> None:
        if not isinstance(lexicon, Idf):
            raise TypeError(f"lexicon is an Idf, as of Idf.learn(texts, Shingling(width=1)); got {lexicon!r:.80}")
        self.lexicon, self.shingling = lexicon, lexicon.shingling
        self.lowest, self.highest = _share("lowest", lowest), _share("highest", highest)
        self.lists = 1 + checked_int("lexicons", lexicons, 0, MAX_LISTS - 1)
        self.removed = _share("removed", removed)
        if self.removed == 1:
            raise ValueError("removed is 1.0, so random lexicons would be empty; give less than 1")
        self.least = checked_int("least", least, 1)
        self.seed = checked_seed(seed)
        self._permutations = Permutations(self.seed, 0)
        _, self._a, self._b = coefficients(self.seed, lexicons)
        terms = lexicon.fingerprints[_between(lexicon, self.lowest, self.highest)]
        if not len(terms):
            raise ValueError(f"no term of the {lexicon} has a normalised idf of {self.lowest} to {self.highest}; widen the "
                             "bounds, or learn from more documents or with a smaller min_df")
        sink = self._sink(1)
        sink.take_sets(np.ascontiguousarray(terms), np.array([0, len(terms)]))
        self._terms: UInts = sink.values

    def _parameters(self) -> dict[str, Any]:
        return {
            "kind": "imatch", "version": 1, "lists": self.lists, "lexicon": self.lexicon.named, "lowest": self.lowest,
            "highest": self.highest, "removed": self.removed, "least": self.least, "seed": self.seed,
        }  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return IMatcher, (self.lexicon, self.lowest, self.highest, self.lists - 1, self.removed, self.least, self.seed)

    @classmethod
    def from_recipe(cls, recipe: Recipe, lexicon: Idf) -> IMatcher:
        """Make the sketcher of a recipe, which has the digest of its lexicon only.

        Raises
        ------
        ValueError
            The recipe is for sketches of another kind.
        RecipeMismatch
            The lexicon differs from the recipe's.
        """
        if recipe["kind"] != "imatch":
            raise ValueError(f"signatures of I-Match are needed, the sketches are {recipe['kind']!r}")
        sketcher = cls(lexicon, recipe["lowest"], recipe["highest"], recipe["lists"] - 1, recipe["removed"],
                       recipe["least"], recipe["seed"])
        recipe.check(sketcher.recipe)
        return sketcher

    def _members(self, zs: UInts) -> Iterator[Bools]:
        at = np.searchsorted(self._terms, zs).clip(max=len(self._terms) - 1)
        known = self._terms[at] == zs
        yield known
        limit = np.uint64(int(self.removed * 2.0**64))
        for a, b in zip(self._a, self._b, strict=True):
            yield known & ((a | np.uint64(1)) * zs + b >= limit)


def _sums(values: UInts, begins: Ints) -> UInts:
    """Add the values of each document, mod 2^64."""
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    sums: UInts = running[begins[1:]] - running[begins[:-1]]
    return sums


def _share(name: str, value: float) -> float:
    """Return a share as a float. TypeError or ValueError where it is not a number of 0 to 1."""
    if not is_number(value):
        raise TypeError(f"{name} is a number of 0 to 1, got {value!r:.80}")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be 0 to 1, got {value}")
    return float(value)


def _between(lexicon: Idf, lowest: float, highest: float) -> Bools:
    """Tell which terms have a normalised idf within the bounds. None has where fewer than two documents were read."""
    if lexicon.documents < 2:
        return np.zeros(len(lexicon), np.bool_)
    levels, which = np.unique(lexicon.frequencies, return_inverse=True)
    total = EXACT.ln(Decimal(lexicon.documents))
    shares = [EXACT.divide(EXACT.ln(EXACT.divide(Decimal(lexicon.documents), Decimal(int(df)))), total) for df in levels]
    kept = [Decimal(lowest) <= share <= Decimal(highest) for share in shares]
    return np.array(kept, np.bool_)[which]
