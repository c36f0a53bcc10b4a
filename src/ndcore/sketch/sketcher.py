"""The base of all sketchers: from documents, or given sets of hashes, to sketches.

`MinHasher` documents the parameters that sketchers share.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ndcore._batch import Batch
from ndcore._minhash import Sink
from ndcore._sets import distinct
from ndcore._types import AnyArray, Ints, Text, UInts
from ndcore.checks import MAX_MINIMA, is_int
from ndcore.hamming.fingerprints import as_fingerprints
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress, reporting
from ndcore.recipe import Recipe
from ndcore.sketch.sketches import Sketches
from ndcore.text.inputs import as_texts, pieces
from ndcore.text.shingling import Shingling


class Sketcher(ABC):
    """Base of sketchers: sends texts, in pieces over threads, or sets of hashes to a sink of an extension."""

    shingling: Shingling
    seed: int
    exact_sizes: bool

    @cached_property
    def recipe(self) -> Recipe:
        """The parameters of the sketches; made at the first access."""
        return self._recipe()

    @cached_property
    def _recipe_of_given_weights(self) -> Recipe:
        """The recipe of sketches whose weights were given with the hashes; made at the first access."""
        return self._recipe(weights="array")

    def _recipe(self, **other: Any) -> Recipe:
        """Make the recipe, with other values of some parameters."""
        return Recipe({**self._parameters(), **other, "shingling": self.shingling.recipe.parameters})

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """Return the parameters of the recipe without the shingling."""

    def _rows(self, n: int) -> AnyArray | None:
        """Allocate the sketches of n documents; None where the sketches are not rows of an array."""
        return None

    @abstractmethod
    def _sink(self, n: int, rows: AnyArray | None = None) -> Sink:
        """Make the sink that takes the fingerprints of n documents, and writes to these rows if they are given."""

    @abstractmethod
    def _gather(self, done: Sequence[Any]) -> Sketches:
        """Join the sketches of all pieces, at least one, in order."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, recipe {self.recipe.id}>"

    def __eq__(self, other: object) -> bool:
        return self.recipe == other.recipe if isinstance(other, Sketcher) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.recipe)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and its arguments: each parameter is an attribute of the same name."""
        return type(self), tuple(getattr(self, name) for name in inspect.signature(type(self)).parameters)

    def sketch(self, text: Text) -> Sketches:
        """Sketch one text, as `sketch_many` does; Sketches of length 1."""
        texts = [text] if isinstance(text, (str, bytes)) else as_texts([text])  # which raises TypeError
        return self._add_sizes(self._gather([self.sketch_piece((0, texts))]), texts, 1)

    def sketch_many(
        self, texts: Iterable[Text], threads: int | None = None, progress: bool | Progress | None = None
    ) -> Sketches:
        """Sketch documents, in their order.

        Parameters
        ----------
        texts : iterable of str or bytes, NumPy array of them, or a column (Arrow: pyarrow, polars, pandas …)
            Buffers of columns are read directly, without an object per document.
        threads : int, optional
            None: one per CPU. The result does not depend on it.
        progress : bool or callable, optional
            True: a bar on a terminal. A callable gets (stage, done, total), in documents.

        Returns
        -------
        Sketches

        Raises
        ------
        TypeError
            An element is neither str nor bytes; the message names its position.
        ValueError
            A document is too short, with short="error".
        """
        listed = as_texts(texts)
        work = partial(self.sketch_piece, rows=self._rows(len(listed)))
        done: list[Sink] = []
        with reporting(progress) as report:
            finished = 0
            for piece in map_pieces(work, pieces(listed, threads=thread_count(threads)), threads):
                done.append(piece)
                finished += len(piece)
                report("sketching", finished, len(listed))
        return self._add_sizes(self.gather(done), listed, threads)

    def _add_sizes(self, sketches: Sketches, texts: Sequence[Text], threads: int | None) -> Sketches:
        """Add exact sizes where they are wanted."""
        if self.exact_sizes:
            _count(sketches, *self.shingling.fingerprints_many(texts, threads))
        return sketches

    def sketch_piece(self, piece: tuple[int, Sequence[Text]], rows: AnyArray | None = None) -> Sink:
        """Sketch consecutive documents, given with the position of the first, on this thread.

        `rows` is an array of `_rows` for all documents, to write the sketches to; None: each piece gets one of its own.
        """
        first, texts = piece
        batch = self.shingling.batch(texts)
        return self.sketch_batch(batch, first, rows=None if rows is None else rows[first : first + len(texts)])

    def sketch_batch(
        self, batch: Batch, first: int = 0, digested: bool = False, rows: AnyArray | None = None
    ) -> Sink:
        """Sketch a batch of `Shingling.batch`; `first` is the position of its first document.

        digested: the result has `digests` of the canonical bytes, uint8 (n, 16). `rows` gets the sketches.
        """
        return self.shingling.shingler.sketch(batch, self._sink(batch.count, rows), digested, first)

    def gather(self, done: Sequence[Sink]) -> Sketches:
        """Gather the sketches of all pieces, in order."""
        return self._gather(done or [self.sketch_piece((0, []))])

    def sketch_tokens(self, documents: Iterable[Iterable[Text]]) -> Sketches:
        """Sketch documents that are tokens already, or sets of strings: of your own tokeniser, baskets, packages, k-mers.

        Parameters
        ----------
        documents : iterable of iterables of str or bytes
            The tokens of each, as in `Shingling.token_fingerprints`: shingled as they are by the width of the shingling,
            without folding. For sets, give the sketcher ``shingling=Shingling(width=1)``.

        Returns
        -------
        Sketches
            With the values of texts that have these canonical tokens.

        Raises
        ------
        TypeError, ValueError
            As for `Shingling.token_fingerprints`.

        Notes
        -----
        O(length), on one thread, and 8 bytes for each shingle. To add tokens later, unite: ``a.union(b)``.

        Examples
        --------
        >>> from ndcore import BottomSketcher
        >>> baskets = [{"bread", "milk", "tea"}, {"milk", "tea", "honey"}]
        >>> BottomSketcher(shingling=Shingling(width=1)).sketch_tokens(baskets).resemblance(0, 1)
        0.5
        """
        return self.sketch_hashes(*self.shingling.token_fingerprints(documents))

    def sketch_hashes(self, values: ArrayLike, offsets: ArrayLike) -> Sketches:
        """Sketch given sets: fingerprints by this sketcher's shingling, or hashes of other features.

        Parameters
        ----------
        values : array of uint64
            64-bit hashes; repeats within a set count once.
        offsets : array of int, shape (n + 1,)
            Set i is values[offsets[i] : offsets[i + 1]]; [0, len(values)] for one set.

        Returns
        -------
        Sketches

        Raises
        ------
        TypeError, ValueError
            A value is not an unsigned 64-bit integer, or offsets do not ascend from 0 to len(values).
        """
        hashes, ends = checked_sets(values, offsets)
        sink = self._sink(len(ends) - 1)
        sink.take_sets(hashes, ends)
        sketches = self._gather([sink])
        if self.exact_sizes:
            _count(sketches, hashes.copy(), ends)
        return sketches


def end_to_end(arrays: Sequence[AnyArray]) -> AnyArray:
    """Concatenate arrays; a single one is returned as it is."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _count(sketches: Sketches, values: UInts, offsets: Ints) -> None:
    """Set the sizes to the exact numbers of distinct values; `values` is overwritten."""
    _, ends = distinct(values, offsets)
    sketches.sizes, sketches.sizes_exact = np.diff(ends).astype(np.float64), np.ones(len(sketches), np.bool_)


def checked_count(name: str, value: int) -> int:
    """Return a number of values per sketch as an int, or raise ValueError."""
    if not is_int(value) or not 1 <= value <= MAX_MINIMA:
        raise ValueError(f"{name} must be an int of 1 to {MAX_MINIMA}, got {value!r}")
    return int(value)


def checked_bits(bits: int, accepted: tuple[int, ...]) -> int:
    """Return the bits of a value as an int, or raise ValueError."""
    if bits not in accepted:
        raise ValueError(f"bits must be one of {', '.join(map(str, accepted))}, got {bits!r}")
    return int(bits)


def checked_seed(seed: int) -> int:
    """Return the seed as an int, or raise ValueError."""
    if not is_int(seed) or not 0 <= seed < 1 << 64:
        raise ValueError(f"seed must be an int of 0 to 2^64 - 1, got {seed!r}")
    return int(seed)


def checked_sets(values: ArrayLike, offsets: ArrayLike) -> tuple[UInts, Ints]:
    """Return values and offsets of sets as contiguous arrays, or raise TypeError or ValueError."""
    hashes, ends = np.asarray(values), np.asarray(offsets)
    if hashes.ndim == 1 and hashes.dtype.kind in "fO" and not isinstance(values, np.ndarray):
        try:
            hashes = as_fingerprints(values)  # NumPy makes floats of [1, 2^63]
        except (TypeError, ValueError) as error:
            raise TypeError(f"values are unsigned 64-bit hashes in one dimension: {error}") from error
    if hashes.size == 0:
        hashes = hashes.astype(np.uint64)
    if hashes.ndim != 1 or hashes.dtype.kind not in "iu" or (hashes.dtype.kind == "i" and hashes.min(initial=0) < 0):
        low = f", {hashes.min()} among them" if hashes.dtype.kind == "i" and hashes.size else ""
        raise TypeError(f"values are unsigned 64-bit hashes in one dimension, got {hashes.dtype} {hashes.shape}{low}")
    if ends.ndim != 1 or ends.size == 0 or ends.dtype.kind not in "iu":
        raise TypeError(f"offsets are n + 1 integers, got {ends.dtype} {ends.shape}")
    ends = np.array(ends, np.int64, order="C")  # a copy, which nobody else can change after the checks
    if ends[0] != 0 or ends[-1] != len(hashes) or (np.diff(ends) < 0).any():
        falls = np.flatnonzero(np.diff(ends) < 0)[:1].tolist()
        where = [f"offsets[{i + 1}] is {ends[i + 1]}, below offsets[{i}], which is {ends[i]}" for i in falls]
        raise ValueError(f"offsets must ascend from 0 to {len(hashes)}, the number of values; "
                         f"{''.join(where) or f'they go from {ends[0]} to {ends[-1]}'}")
    return np.ascontiguousarray(hashes, np.uint64), ends
