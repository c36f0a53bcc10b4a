"""Weights of features, for simhashes, weighted signatures and near-duplicates: fixed-point numbers, and idf of a corpus."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcore._sets import distinct
from ndcore._simhash import WeightTable, count, merge
from ndcore._types import AnyArray, Floats, Text, UInts
from ndcore.checks import is_int
from ndcore.hamming.fingerprints import as_fingerprints
from ndcore.notebook import fact_table, show_result
from ndcore.parallel import map_pieces
from ndcore.progress import Progress, reporting
from ndcore.recipe import Recipe, RecipeMismatch, callable_name
from ndcore.sketch.file_format import recipe_header, recipe_of, refuse_unnamed
from ndcore.storage import container
from ndcore.text.inputs import as_texts, pieces
from ndcore.text.shingling import Shingling, checked_shingling, given_shingling

UNIT = 1 << 16  # weights are multiples of 1 / UNIT
LIMIT = 1 << 15  # and smaller than this
EXACT = Context(prec=50)
BATCH = 1 << 12  # documents taken from an iterator at a time
KIND = "idf"

Counts = tuple[UInts, NDArray[np.uint32]]


def as_units(weights: ArrayLike, names: Sequence[object] | None = None) -> NDArray[np.int32]:
    """Convert weights, real numbers in one dimension, to multiples of 2^-16, rounded half to even.

    TypeError where they are not real numbers in one dimension. ValueError where one is not finite, or not smaller than 2^15
    in magnitude before or after rounding; the message has its name, or else its position.
    """
    given = np.asarray(weights)
    if given.ndim == 1 and given.dtype.kind not in "biuf":
        listed = np.asarray(weights, object)
        given = np.array([_number(weight, names[at] if names else at) for at, weight in enumerate(listed)])
    if given.ndim != 1:
        raise TypeError(f"weights are real numbers in one dimension, got {given.dtype} {given.shape}")
    units = np.rint(given.astype(np.float64) * UNIT)
    wrong = ~(np.abs(units) < LIMIT * UNIT)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise _too_large(given[at], names[at] if names else at)
    return units.astype(np.int32)


def units_beside(weights: ArrayLike, hashes: UInts) -> NDArray[np.int32]:
    """Convert weights that are given beside hashes, one for each. TypeError or ValueError as of `as_units`."""
    units = as_units(weights)
    if len(units) != len(hashes):
        raise ValueError(f"there are {len(units)} weights for {len(hashes)} values; give one for each")
    return units


def refuse_unknown(weights: object, recipe: Recipe) -> None:
    """Raise RecipeMismatch if no weights are given, and the recipe has more of them than None."""
    if weights is None and recipe["weights"] is not None:
        raise RecipeMismatch(f"weights are needed, of which the recipe knows only {recipe['weights']}: give them as "
                             "weights=, or with sketch_hashes where they were given with hashes")


def _number(weight: Any, name: Any) -> float:
    """Convert a number that NumPy does not take, or that may be too large for a float."""
    if not isinstance(weight, (int, float, np.integer, np.floating)):
        raise TypeError(f"weight {name} is {weight!r:.80}; weights are ints or floats, in one dimension")
    if not -LIMIT < weight < LIMIT:
        raise _too_large(weight, name)
    return float(weight)


def _too_large(weight: Any, name: object) -> ValueError:
    return ValueError(f"weight {name} is {weight}; weights are finite and smaller than {LIMIT} in magnitude")


class FeatureWeights:
    """Immutable weights by fingerprint, in units of 2^-16; `missing` is the weight of all other fingerprints.

    Features with the weight of missing ones are left out, so that equal functions have equal digests.
    """

    fingerprints: UInts
    units: NDArray[np.int32]
    missing: int

    def __init__(self, fingerprints: UInts, units: NDArray[np.int32], missing: int = 0) -> None:
        kept = units != missing
        self.fingerprints, self.units, self.missing = fingerprints[kept], units[kept], missing

    @classmethod
    def of(cls, mapping: Mapping[int, float]) -> FeatureWeights:
        """Take the weights of a mapping, missing = 0. TypeError or ValueError where a key or weight is wrong."""
        for key in mapping:
            if not is_int(key) or not 0 <= key < 1 << 64:
                raise TypeError(f"weights has the key {key!r}; its keys are fingerprints, integers of 0 to 2^64 - 1")
        fingerprints = np.fromiter(mapping.keys(), np.uint64, len(mapping))
        units = as_units([*mapping.values()], [f"of {key}" for key in mapping])
        order = np.argsort(fingerprints)
        return cls(fingerprints[order], units[order])

    @property
    def digest(self) -> str:
        """BLAKE2b-128 of the fingerprints ascending as u64, their weights as i32 and `missing` as i32, little-endian."""
        return _digest(self.fingerprints.astype("<u8"), self.units.astype("<i4"), np.array([self.missing], "<i4"))

    def table(self, seed: int) -> WeightTable:
        """Build the table that the extension looks weights up in; about 40 bytes per feature."""
        return WeightTable(self.fingerprints, self.units, self.missing, seed)


class Idf:
    """Inverse document frequency: the fewer documents of a corpus have a feature, the more it weighs.

    weight = log((1 + documents) / (1 + df)) + 1 for a feature in df documents. The frequency is smoothed as if one more
    document had every feature, so that no weight is 0. Features of fewer than min_df documents, and unseen ones, weigh as
    if df = min_df − 1.

    Attributes
    ----------
    documents : int
        Documents learned from, including those without shingles.
    fingerprints : ndarray of uint64 (m,), ascending
        Features of at least min_df documents.
    frequencies : ndarray of uint32 (m,)
        Number of documents with each feature.
    min_df : int
    shingling : Shingling
    recipe : Recipe

    Notes
    -----
    Logarithms are computed to 50 digits before they are rounded to multiples of 2^-16: weights are the same everywhere.

    References
    ----------
    Spärck Jones (1972), A statistical interpretation of term specificity and its application in retrieval,
    DOI 10.1108/eb026526.
    """

    documents: int
    min_df: int
    shingling: Shingling
    fingerprints: UInts
    frequencies: NDArray[np.uint32]
    recipe: Recipe

    def __init__(
        self, documents: int, fingerprints: UInts, frequencies: NDArray[np.uint32], min_df: int, shingling: Shingling
    ) -> None:
        self.documents, self.min_df, self.shingling = documents, min_df, shingling
        self.fingerprints, self.frequencies = fingerprints, frequencies
        for array in (fingerprints, frequencies):
            array.setflags(write=False)  # the recipe has their digest
        self.recipe = Recipe({
            "kind": KIND, "version": 1, "documents": documents, "min_df": min_df,
            "digest": _digest(fingerprints.astype("<u8"), frequencies.astype("<u4")),
            "shingling": shingling.recipe.parameters,
        })

    @classmethod
    def learn(
        cls,
        texts: Iterable[Text],
        shingling: Shingling | None = None,
        min_df: int = 1,
        threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> Idf:
        """Learn from a corpus, in one pass.

        Parameters
        ----------
        texts : iterable of str or bytes, NumPy array of them, or a column (Arrow)
            An iterator is read in batches, which are not kept.
        shingling : Shingling, optional
            None: words, 5 to a shingle.
        min_df : int
            Leave out features of fewer documents. They are most features of a large corpus, and weigh nearly the same.
        threads : int, optional
            None: one per CPU. The result does not depend on it.
        progress : bool or callable, optional
            True: a bar on a terminal. A callable gets (stage, done, total), in documents; the total of an iterator is None.

        Returns
        -------
        Idf

        Raises
        ------
        TypeError, ValueError
            An element is neither str nor bytes, a document is too short with short="error", or min_df is out of range.

        Notes
        -----
        Memory: up to 40 bytes for every distinct feature while learning, 12 for every feature kept.

        Examples
        --------
        >>> idf = Idf.learn(["to be or not to be", "to do is to be"], Shingling(width=1))
        >>> idf.weights(idf.shingling.fingerprints("to do nothing")).round(3)
        array([1.   , 1.405, 2.099])
        """
        if not is_int(min_df) or min_df < 1:
            raise ValueError(f"min_df must be an int of at least 1, got {min_df!r}")
        shingling = given_shingling(shingling)

        def work(piece: tuple[int, Sequence[Text]]) -> tuple[int, Counts]:
            first, part = piece
            values, offsets, _ = shingling.shingler.fingerprints(shingling.batch(part), first)
            return len(part), count(distinct(values, offsets)[0])

        documents, merged = 0, _CountMerge()
        parts, total = _pieces(texts)
        with reporting(progress) as report:
            for read, counts in map_pieces(work, parts, threads):
                documents += read
                merged.add(counts)
                report("learning weights", documents, total)
        fingerprints, frequencies = merged.total()
        kept = frequencies >= min_df
        return cls(documents, fingerprints[kept], frequencies[kept], int(min_df), shingling)

    def __len__(self) -> int:
        return len(self.fingerprints)

    def __repr__(self) -> str:
        return f"<Idf of {len(self)} features in {self.documents} documents, recipe {self.recipe.id}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the numbers of documents and features."""
        return show_result(repr(self), fact_table(
            ("documents", self.documents), ("features", len(self)), ("min_df", self.min_df)))

    def __eq__(self, other: object) -> bool:
        return self.recipe == other.recipe if isinstance(other, Idf) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.recipe)

    @property
    def named(self) -> dict[str, Any]:
        """What the recipes of sketches made with these counts say of them."""
        return {"kind": KIND, "documents": self.documents, "min_df": self.min_df, "digest": self.recipe["digest"]}

    @property
    def feature_weights(self) -> FeatureWeights:
        """The weights in units of 2^-16, as `SimHasher` takes them."""
        levels, which = np.unique(self.frequencies, return_inverse=True)
        units = np.array([_idf(self.documents, int(df)) for df in levels], np.int32)
        return FeatureWeights(self.fingerprints, units[which], _idf(self.documents, self.min_df - 1))

    def weights(self, fingerprints: ArrayLike) -> Floats:
        """Look up the weights of features by their fingerprints; float64 of the same shape."""
        asked = as_fingerprints(fingerprints)
        df = np.full(asked.shape, self.min_df - 1, np.uint32)
        if len(self):
            at = np.searchsorted(self.fingerprints, asked).clip(max=len(self) - 1)
            df = np.where(self.fingerprints[at] == asked, self.frequencies[at], df)
        levels, which = np.unique(df, return_inverse=True)
        return np.array([_idf(self.documents, int(each)) / UNIT for each in levels])[which].reshape(asked.shape)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one checksummed file, atomically. ValueError where the shingling's unit has no name."""
        refuse_unnamed("unit", self.shingling.recipe["unit"])
        arrays: dict[str, AnyArray] = {"fingerprints": self.fingerprints, "frequencies": self.frequencies}
        container.write(path, KIND, recipe_header(self.recipe), arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], shingling: Shingling | None = None) -> Idf:
        """Load weights from a file that `save` wrote.

        Parameters
        ----------
        path : str or path
        shingling : Shingling, optional
            Needed where its unit is a callable. None: the shingling of the file.

        Returns
        -------
        Idf

        Raises
        ------
        CorruptFile
            The file is damaged, or does not fit together.
        RecipeMismatch
            `shingling` differs from the file's.
        """
        checked_shingling(shingling)
        header, arrays = container.read(path, KIND)
        try:
            recipe = recipe_of(header)
            fingerprints, frequencies = arrays["fingerprints"], arrays["frequencies"]
            documents, min_df, stored = recipe["documents"], recipe["min_df"], Recipe(recipe["shingling"])
            if "unit" not in stored:
                raise ValueError("its shingling has no unit")
            _check_counts(fingerprints, frequencies, documents, min_df)
        except (KeyError, TypeError, ValueError) as error:
            raise container.CorruptFile(f"{os.fspath(path)}: the counts in it do not fit together: {error}") from error
        try:
            shingling = shingling or Shingling.from_recipe(stored)
        except ValueError as error:
            if str(stored["unit"]).startswith("callable "):  # which is to be given
                raise
            raise container.CorruptFile(f"{os.fspath(path)}: the shingling of its recipe is unsound: {error}") from error
        loaded = cls(documents, fingerprints, frequencies, min_df, shingling)
        stored.check(loaded.shingling.recipe, "weights and shinglings")
        if loaded.recipe != recipe:
            raise container.CorruptFile(f"{os.fspath(path)}: the counts in it do not fit its recipe")
        return loaded


class _CountMerge:
    """Counts of the features of many pieces, by a log-structured merge.

    Merging every piece into one array would copy all features each time. Each run here is at least twice as long as the
    next, so that a feature is merged O(log pieces) times.
    """

    def __init__(self) -> None:
        self._runs: list[Counts] = []

    def add(self, counts: Counts) -> None:
        """Add the counts of a piece."""
        self._runs.append(counts)
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            self._merge_last()

    def _merge_last(self) -> None:
        last = self._runs.pop()
        self._runs.append(merge(*self._runs.pop(), *last))

    def total(self) -> Counts:
        """Merge all runs and return their counts."""
        while len(self._runs) > 1:
            self._merge_last()
        return self._runs[0] if self._runs else (np.empty(0, np.uint64), np.empty(0, np.uint32))


def _pieces(texts: Iterable[Text]) -> tuple[Iterator[tuple[int, Sequence[Text]]], int | None]:
    """Cut texts into pieces of work (position of the first, texts), and count the documents; None of an iterator."""
    if not isinstance(texts, Iterator):
        listed = as_texts(texts)
        return pieces(listed), len(listed)

    def batches() -> Iterator[tuple[int, Sequence[Text]]]:
        for start in itertools.count(0, BATCH):
            batch = list(itertools.islice(texts, BATCH))
            if not batch:
                return
            for at, part in pieces(as_texts(batch, start)):
                yield start + at, part

    return batches(), None


def _idf(documents: int, frequency: int) -> int:
    """Compute the weight of a feature in `frequency` documents, in units of 2^-16."""
    log = EXACT.ln(EXACT.divide(Decimal(1 + documents), Decimal(1 + frequency)))
    return int(EXACT.multiply(EXACT.add(log, Decimal(1)), Decimal(UNIT)).to_integral_value(ROUND_HALF_EVEN))


def _digest(*arrays: AnyArray) -> str:
    """Hash the bytes of arrays; with a prefix, because a recipe refuses a str of decimal digits only."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return f"blake2b:{digest.hexdigest()}"


def _check_counts(fingerprints: AnyArray, frequencies: AnyArray, documents: Any, min_df: Any) -> None:
    """Raise ValueError where the arrays of a file cannot have been learned."""
    for name, number in (("documents", documents), ("min_df", min_df)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ValueError(f"the recipe's {name} is {number!r}")
    if fingerprints.dtype != np.uint64 or frequencies.dtype != np.uint32:
        raise ValueError(f"the arrays are {fingerprints.dtype} and {frequencies.dtype}, not uint64 and uint32")
    if fingerprints.ndim != 1 or fingerprints.shape != frequencies.shape:
        raise ValueError(f"the arrays have the shapes {fingerprints.shape} and {frequencies.shape}")
    if (fingerprints[1:] <= fingerprints[:-1]).any():
        raise ValueError("the fingerprints do not ascend")
    if min_df < 1 or (frequencies < min_df).any() or (frequencies > documents).any():
        raise ValueError(f"frequencies are not all between {min_df} and {documents}")


def checked_weights(weights: Any, shingling: Shingling) -> tuple[Any, Any]:
    """Return weights that nobody else can change, and their entry in the recipe."""
    if weights is None or (isinstance(weights, str) and weights == "distinct"):
        return weights, weights
    if isinstance(weights, Idf):
        weights.shingling.recipe.check(shingling.recipe, "weights and shinglings")
        return weights, weights.named
    if isinstance(weights, Mapping):
        weights = FeatureWeights.of(weights)
    if isinstance(weights, FeatureWeights):
        return weights, {"kind": "mapping", "digest": weights.digest}
    if callable(weights):
        return weights, callable_name(weights)
    raise TypeError(f"weights must be None, 'distinct', an Idf, a mapping of fingerprints to numbers, or a callable, "
                    f"got {weights!r:.80}")
