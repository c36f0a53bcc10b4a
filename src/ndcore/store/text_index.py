"""An index of texts in memory: find the texts that resemble a text, while texts are added and removed."""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from ndcore import _candidates
from ndcore._candidates import NumberedBitmaps
from ndcore._sets import common
from ndcore._types import AnyArray, AnyPath, Arrays, Floats, Ints, Text, UInts
from ndcore.checks import checked_int, checked_threshold
from ndcore.filters.design import FilterDesign
from ndcore.notebook import ROWS, NotebookTable, show_result
from ndcore.recipe import Recipe
from ndcore.sketch.file_format import recipe_header, recipe_of, refuse_unnamed
from ndcore.sketch.minhash import MinHasher
from ndcore.storage import container
from ndcore.storage.container import CorruptFile
from ndcore.storage.packed_ids import pack_ids, unpack_ids
from ndcore.store.columns import Bitmap
from ndcore.store.evidence import BITMAPS, FEW, leave_near
from ndcore.store.index import GrowingIndex
from ndcore.store.pages import check_text, shingle_sets
from ndcore.store.settings import choose_filter
from ndcore.text.shingling import FEATURE_POLYNOMIAL, Shingling, given_shingling

KIND = "texts"  # of files
AT_ONCE = 256  # texts that are added together
SPARE = 1024  # fewer removed texts than this do not cause a rebuild


class SimilarText(NamedTuple):
    """A text of an index that resembles the given text.

    Attributes
    ----------
    key : hashable
        The key of this text.
    resemblance : float
        Jaccard similarity of the shingle sets.
    contained, containing : float
        The share of the shingles of the given text that this one has, and the other way round.
    """

    key: Any
    resemblance: float
    contained: float
    containing: float


class Index:
    """An index in memory of the texts that resemble a text. Texts can be added and removed at any time.

    Parameters
    ----------
    threshold : float in (0, 1]
        The least resemblance (Jaccard similarity) of the results of `query`.
    shingling : Shingling, optional
        None: words in runs of 5.
    num_perm, seed : int
        Parameters of the signatures, as for `MinHasher`. A filter that needs more minima raises `num_perm`.
    filter : "auto" or FilterDesign
        LSH bands and rows; "auto" misses a text exactly at the threshold with a probability below 0.001, and a closer one
        less often.

    Raises
    ------
    TypeError, ValueError
        A parameter is not accepted.

    Notes
    -----
    Candidates share features (LSH bands) with the text; each is confirmed by its exact resemblance. A text takes 8 bytes of
    memory for each of its distinct shingles, and 20 to 36 bytes for each group of the filter; the text itself is not kept.
    If many texts share features, like the pages of a template, bitmaps take up to 512 MiB more. Threads may share an
    index.
    `save` and `load` keep an index between runs; `pickle` takes it to other processes.
    `Store` keeps texts on disk and decides which to keep; `Collection` clusters a whole collection.

    References
    ----------
    Broder, "Identifying and filtering near-duplicate documents", 2000, §3 and 4. DOI 10.1007/3-540-45123-4_1.

    Examples
    --------
    >>> index = Index(threshold=0.5, shingling=Shingling(width=2))
    >>> index.add("rose", "a rose is a rose is a rose")
    >>> index.add("tulip", "a tulip is not a rose")
    >>> [(each.key, round(each.resemblance, 2)) for each in index.query("A rose is, is a rose!")]
    [('rose', 0.75)]
    >>> index.remove("rose")
    >>> index.query("a rose is a rose"), len(index)
    ([], 1)
    """

    def __init__(
        self, threshold: float = 0.8, *, shingling: Shingling | None = None, num_perm: int = 84, seed: int = 1,
        filter: Literal["auto"] | FilterDesign = "auto",
    ) -> None:
        self.threshold = checked_threshold(threshold)
        self.shingling = given_shingling(shingling)
        self.filter = choose_filter(filter, self.threshold, checked_int("num_perm", num_perm, 1))
        self._sketcher = MinHasher(self.filter.num_perm, 32, seed, self.shingling)
        self._lock = threading.RLock()
        self._numbers: dict[Hashable, int] = {}  # document numbers by key
        self._keys: dict[int, Hashable] = {}
        self._sets: dict[int, UInts] = {}  # shingle sets, by number
        self._next = 0
        self._index, self._live, self._bitmaps = self._make_filter()

    def _make_filter(self) -> tuple[GrowingIndex, Bitmap, NumberedBitmaps]:
        """Make an empty index of features, bitmap of live numbers, and bitmaps of shingle sets."""
        index = GrowingIndex.in_memory(self.filter.groups, self.filter.need)
        return index, Bitmap(), NumberedBitmaps(self.threshold, BITMAPS)

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self._numbers)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._numbers

    def __iter__(self) -> Iterator[Hashable]:
        """Iterate over the keys, in the order in which they were added."""
        return iter(list(self._numbers))

    def __repr__(self) -> str:
        return f"<Index: {len(self)} texts, threshold {self.threshold:g}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first keys, with the number of their distinct shingles."""
        with self._lock:
            rows = [(key, len(self._sets[number])) for key, number in islice(self._numbers.items(), ROWS)]
        return show_result(repr(self), NotebookTable("Texts", ("key", "shingles"), rows, len(self)))

    def add(self, key: Hashable, text: Text) -> None:
        """Add a text.

        Parameters
        ----------
        key : hashable
        text : str or bytes

        Raises
        ------
        ValueError
            The index has the key already.
        TypeError
            The text is neither str nor bytes, or the key is not hashable.
        """
        self.add_many([(key, text)])

    def add_many(self, items: Iterable[tuple[Hashable, Text]]) -> None:
        """Add texts.

        Parameters
        ----------
        items : iterable of (key, text)

        Raises
        ------
        TypeError, ValueError
            As for `add`. None of the batch of 256 items with the faulty one is added; all earlier batches are.

        Notes
        -----
        O(length) for each text, in an index of any size. Texts are sketched 256 at a time, without the GIL.
        """
        if isinstance(items, Mapping):
            raise TypeError(f"items is a {type(items).__name__}; give the pairs of it: items.items()")
        coming = iter(items)
        while piece := list(islice(coming, AT_ONCE)):
            for item in piece:
                _check_item(item)
            self._add([key for key, _ in piece], [text for _, text in piece])

    def _add(self, keys: Sequence[Hashable], texts: Sequence[Text]) -> None:
        """Add texts together, or none of them."""
        valid, features = self._sketch(texts)
        sets = shingle_sets(self.shingling, texts)
        with self._lock:
            before, numbers = len(self._numbers), np.arange(self._next, self._next + len(keys))
            added = dict[Hashable, int]()
            for key, number in zip(keys, numbers.tolist(), strict=True):
                if key in self._numbers or key in added:
                    raise ValueError(f"the index has the key {key!r:.80} already; remove it first")
                added[key] = number
            self._next += len(keys)  # in any case, no other text gets these numbers
            try:
                self._index.add(numbers[valid], features[valid])
                for key, number, members in zip(keys, numbers.tolist(), sets, strict=True):
                    self._keys[number], self._sets[number] = key, members.copy()
                self._numbers.update(added)
                self._live.add_many(numbers[valid])
            except BaseException:  # Ctrl-C, or an error of comparing keys
                while len(self._numbers) > before:
                    self._numbers.popitem()
                for number in numbers.tolist():
                    self._forget(number)
                raise

    def query(self, text: Text, limit: int | None = None) -> list[SimilarText]:
        """Find the texts that resemble a text, the most similar first; ties are in the order of addition.

        Parameters
        ----------
        text : str or bytes
            A text without shingles resembles no other.
        limit : int, optional
            The largest number of results; the best ones are returned. None: all.

        Returns
        -------
        list of SimilarText

        Raises
        ------
        TypeError, ValueError
            An argument is not accepted.

        Notes
        -----
        O(groups + candidates · shingles). If many texts share features with the given one, like the pages of a template,
        bitmaps reject nearly all of them without a comparison.
        """
        return self._find([check_text(text)], limit)[0]

    def query_many(self, texts: Iterable[Text], limit: int | None = None) -> list[list[SimilarText]]:
        """Find the texts that resemble each of many texts.

        Parameters
        ----------
        texts : iterable of str or bytes
        limit : int, optional
            The largest number of results for each text, as in `query`.

        Returns
        -------
        list of list of SimilarText
            For each text what `query` returns.

        Raises
        ------
        TypeError, ValueError
            As for `query`.

        Notes
        -----
        Texts are sketched 256 at a time, without the GIL.
        """
        coming, answers = iter(texts), list[list[SimilarText]]()
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"texts is one {type(texts).__name__}; give a list of texts, or use query")
        while piece := list(islice(coming, AT_ONCE)):
            answers += self._find([check_text(text) for text in piece], limit)
        return answers

    def _find(self, texts: Sequence[Text], limit: int | None) -> list[list[SimilarText]]:
        """Find the texts that resemble each of a few texts."""
        most = None if limit is None else checked_int("limit", limit, 1)
        valid, features = self._sketch(texts)
        sets = shingle_sets(self.shingling, texts)
        return [self._search(row, members, most) if has else []
                for has, row, members in zip(valid.tolist(), features, sets, strict=True)]

    def _search(self, features: UInts, members: UInts, most: int | None) -> list[SimilarText]:
        """Find the texts that resemble a text, given as its features and its shingle set."""
        with self._lock:
            numbers = self._index.search(features, self.filter.need, self._live.bits)
            if len(numbers) > FEW:
                numbers = leave_near(self._bitmaps, members, numbers, self._hold_bitmaps)
            sets = [self._sets[number] for number in numbers.tolist()]
            keys = [self._keys[number] for number in numbers.tolist()]
        shares = _measure(members, sets)
        order = np.lexsort((numbers, -shares[0]))
        best = order[shares[0][order] >= self.threshold][:most].tolist()
        return [SimilarText(keys[i], *(float(share[i]) for share in shares)) for i in best]

    def remove(self, key: Hashable) -> None:
        """Remove a text.

        Raises
        ------
        KeyError
            The index has no such key.
        """
        with self._lock:
            number = self._numbers[key]
            self._live.discard(number)  # first, so that after Ctrl-C no query returns a text whose key is gone
            del self._numbers[key]
            self._forget(number)
            if self._next > 2 * len(self) + SPARE:
                self._take(list(self._numbers), [self._sets[number] for number in self._numbers.values()])

    def _forget(self, number: int) -> None:
        """Remove the data of a number, if there is any; queries no longer find it."""
        self._live.discard(number)
        self._bitmaps.discard(number)
        self._keys.pop(number, None)
        self._sets.pop(number, None)

    def _take(self, keys: Sequence[Hashable], sets: Sequence[UInts]) -> None:
        """Rebuild the index of these texts and no others: amortised O(1) for each removal.

        The new index replaces the old one only when it is complete, so that Ctrl-C keeps the old one.
        """
        index, live, bitmaps = self._make_filter()
        with_shingles = np.flatnonzero([len(members) > 0 for members in sets])
        for start in range(0, len(with_shingles), AT_ONCE):
            numbers = with_shingles[start : start + AT_ONCE]
            some = [sets[number] for number in numbers.tolist()]
            rows = self._sketcher.sketch_hashes(np.concatenate(some), np.cumsum([0, *map(len, some)])).values
            index.add(numbers, self._features(rows))
            live.add_many(numbers)
        of_keys = {key: i for i, key in enumerate(keys)}
        self._next, self._numbers, self._keys, self._sets, self._index, self._live, self._bitmaps = (
            len(keys), of_keys, dict(enumerate(keys)), dict(enumerate(sets)), index, live, bitmaps)

    def save(self, path: AnyPath, *, durable: bool = True) -> None:
        """Write the index to one checksummed file, atomically: keys and shingle sets, without the texts.

        Parameters
        ----------
        path : str or path
        durable : bool
            Wait until the file is on disk.

        Raises
        ------
        TypeError
            Keys are neither all str nor all integers of 64 bits; `pickle` saves indexes with any keys that it can save.
        ValueError
            The unit of the shingling is a callable without a name.
        OSError
            The file cannot be written.

        Notes
        -----
        8 bytes for each distinct shingle of each text.
        """
        keys, sets = self._held()
        recipe = self._sketcher.recipe
        refuse_unnamed("unit", recipe["shingling"]["unit"])
        header = {**recipe_header(recipe), "threshold": self.threshold, "groups": self.filter.groups,
                  "group_size": self.filter.group_size, "need": self.filter.need}
        arrays = {"values": np.concatenate([np.empty(0, np.uint64), *sets]),
                  "offsets": np.cumsum([0, *map(len, sets)], dtype=np.int64), **pack_ids(keys)}  # type: ignore[arg-type]  # which refuses other keys
        container.write(path, KIND, header, arrays, durable=durable)

    @classmethod
    def load(cls, path: AnyPath, shingling: Shingling | None = None) -> Self:
        """Read an index that `save` wrote.

        Parameters
        ----------
        path : str or path
        shingling : Shingling, optional
            Needed where its unit is a callable. None: the shingling of the file.

        Returns
        -------
        Index

        Raises
        ------
        CorruptFile
            The file is damaged, of a newer version, or does not hold an index.
        ValueError, OSError
            The file is of another kind, needs `shingling`, or cannot be read. RecipeMismatch where `shingling` is another.

        Notes
        -----
        The features are computed again: O(shingles · num_perm).
        """
        header, arrays = container.read(path, KIND)
        try:
            recipe = recipe_of(header)
            keys, sets = _read_texts(arrays)
            stored = Recipe(recipe["shingling"])
            if shingling is None and not str(stored["unit"]).startswith("callable "):
                shingling = Shingling.from_recipe(stored)
            threshold, num_perm, seed = header["threshold"], recipe["num_perm"], recipe["seed"]
            design = FilterDesign.of(header["groups"], header["group_size"], header["need"], threshold=threshold,
                                     num_perm=num_perm)
            made = cls(threshold, shingling=shingling, num_perm=num_perm, seed=seed, filter=design)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorruptFile(f"{os.fspath(path)}: no sound index of texts: {error}") from error
        if shingling is None:
            raise ValueError(f"unit {stored['unit']} is a function: pass shingling=Shingling(unit=that function, …)")
        recipe.check(made._sketcher.recipe, "indexes")
        made._take(keys, sets)
        return made

    def _held(self) -> tuple[list[Hashable], list[UInts]]:
        """Return the keys and the shingle sets, in the order in which they were added."""
        with self._lock:
            return list(self._numbers), [self._sets[number] for number in self._numbers.values()]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.threshold, self.shingling, self.filter, self._sketcher.seed, *self._held())

    def _sketch(self, texts: Sequence[Text]) -> tuple[AnyArray, UInts]:
        """Sketch texts: return which of them have shingles, and the features of all."""
        done: Any = self._sketcher.sketch_batch(self.shingling.batch(texts))
        return done.valid, self._features(done.rows)

    def _features(self, rows: AnyArray) -> UInts:
        """Compute the features of signatures."""
        return _candidates.features(rows, self.filter.group_size, 0, self.filter.groups, FEATURE_POLYNOMIAL)

    def _hold_bitmaps(self, numbers: list[int]) -> None:
        """Make the bitmaps of the texts with these numbers."""
        for number in numbers:
            self._bitmaps.add(number, self._sets[number])


def _measure(members: UInts, sets: Sequence[UInts]) -> tuple[Floats, Floats, Floats]:
    """Measure a shingle set against each other set: its resemblance, its containment in the other, and the reverse."""
    sizes = np.array([len(members), *map(len, sets)], np.int64)
    offsets: Ints = np.concatenate([[0], np.cumsum(sizes)])
    others = np.arange(1, len(sizes))
    both = common(np.concatenate([members, *sets]), offsets, np.zeros(len(sets), np.int64), others).astype(np.float64)
    return both / (sizes[0] + sizes[1:] - both), both / sizes[0], both / sizes[1:]


def _rebuild(
    cls: type[Index], threshold: float, shingling: Shingling, design: FilterDesign, seed: int, keys: list[Hashable],
    sets: list[UInts],
) -> Index:
    """Rebuild an unpickled index."""
    made = cls(threshold, shingling=shingling, num_perm=design.num_perm, seed=seed, filter=design)
    made._take(keys, sets)
    return made


def _read_texts(arrays: Arrays) -> tuple[list[Hashable], list[UInts]]:
    """Read the keys and the shingle sets of a file. ValueError where they do not fit each other."""
    values, offsets, keys = arrays["values"], arrays["offsets"], unpack_ids(arrays)
    if (values.dtype.name, values.ndim, offsets.dtype.name, offsets.ndim) != ("uint64", 1, "int64", 1):
        raise ValueError(f"values are {values.dtype} {values.shape}, offsets {offsets.dtype} {offsets.shape}")
    if keys is None or len(offsets) != len(keys) + 1 or len(set(keys)) != len(keys):
        raise ValueError("the keys are not as many as the shingle sets, or some are equal")
    if offsets[0] != 0 or offsets[-1] != len(values) or (np.diff(offsets) < 0).any():
        raise ValueError(f"offsets do not ascend from 0 to {len(values)}, the number of values")
    within = np.ones(len(values), np.bool_)
    within[offsets[:-1][offsets[:-1] < len(values)]] = False
    if (values[1:] <= values[:-1])[within[1:]].any():
        raise ValueError("a shingle set does not ascend")
    return list(keys), [values[a:b].copy() for a, b in pairwise(offsets.tolist())]


def _check_item(item: Any) -> None:
    """Raise TypeError for anything but a tuple of a key and a text."""
    if not isinstance(item, tuple) or len(item) != 2:
        raise TypeError(f"an item is a tuple of a key and a text, got {item!r:.80}")
    hash(item[0])
    check_text(item[1])
