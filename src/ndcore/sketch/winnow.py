"""Winnowing: fingerprints with positions, so that every long common run of two documents is seen (Schleimer et al. 2003)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ndcore._minhash import Permutations, Sink
from ndcore._samples import Winnows
from ndcore._sets import distinct
from ndcore._types import AnyArray, Bools, Floats, Ints, Text, UInts
from ndcore.progress import Progress
from ndcore.sketch.comparison import Comparison
from ndcore.sketch.sketcher import Sketcher, checked_count, checked_seed, end_to_end
from ndcore.sketch.sketches import Fields, Sketches
from ndcore.text.shingling import Shingling, given_shingling, joined_samples


def _refuse_intervals() -> NoReturn:
    raise TypeError("winnowed fingerprints have no interval of the resemblance: they are not a random sample of the "
                    "shingles; use a BottomSketcher or a ModSketcher for estimates")


class WinnowedComparison(Comparison):
    """Pairs compared by their winnowed fingerprints: shares of fingerprints, without confidence intervals."""

    def interval(self, *_: Any, **__: Any) -> NoReturn:
        _refuse_intervals()


class Winnowed(Sketches):
    """Winnowed fingerprints of n documents: `values` and `positions`, end to end, in the order of the text.

    Document i has values[offsets[i] : offsets[i + 1]] at the positions in the same slice of `positions`. Position p is the
    shingle that begins at token p, counted from 0. A value is listed as often as it was selected.

    `compare`, `resemblance` and `containment` are the shares of distinct fingerprints that two documents have in common.
    They rank pairs; as estimates of the resemblance of shingle sets they are biased (Belbasi et al. 2022), and have
    no confidence intervals. There is no union, because it would have no positions.

    Attributes
    ----------
    positions : ndarray of int64
        As many as values; they ascend in a document by at most `window`.
    sizes : ndarray of float64 (n,)
        Numbers of distinct shingles: the number of shingles times the share of selected values that are distinct; exact
        for windows of one shingle.
    values, offsets, valid, sizes_exact, ids, digests, recipe
        As in `Sketches`.

    References
    ----------
    Belbasi, Blanca, Harris, Koslicki, Medvedev (2022), The minimizer Jaccard estimator is biased and inconsistent,
    DOI 10.1093/bioinformatics/btac244.
    """

    positions: Ints
    _compared = WinnowedComparison

    @cached_property
    def _sets(self) -> Sketches:
        """The sets of distinct fingerprints, ascending."""
        assert self.offsets is not None
        values, ends = distinct(np.array(self.values, np.uint64), np.ascontiguousarray(self.offsets))
        return Sketches.trusted(values, self.recipe, (lambda: (self.valid, self.sizes_exact, lambda: self.sizes),), ends)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        vars(self).pop("_sets", None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_sets"}

    def count_common(self, theirs: Sketches, a: Ints, b: Ints, out: Ints, threads: int | None = None) -> None:
        if not isinstance(theirs, Winnowed):
            raise TypeError(f"winnowed fingerprints are compared with Winnowed, not with {type(theirs).__name__}")
        self._sets.count_common(theirs._sets, a, b, out, threads)

    count_common.__doc__ = Sketches.count_common.__doc__

    def _whole(self, rows: Ints) -> Bools:
        return self._sets._whole(rows)

    def interval(self, *_: Any, **__: Any) -> NoReturn:
        _refuse_intervals()

    def union(self, *_: Any) -> NoReturn:
        raise TypeError("winnowed fingerprints have no union: it would have no positions; compare documents in pairs")


class Winnower(Sketcher):
    """Sketcher of winnowed fingerprints: the smallest permuted shingle of every window, with its position.

    Every run of at least ``window + width − 1`` tokens that two documents have in common leaves a fingerprint in common,
    however much they differ elsewhere, and a run shorter than ``width`` tokens never does. A text of random shingles keeps
    2 / (window + 1) of them.

    Parameters
    ----------
    window : int
        Shingles of a window, 1 to 65536. 1 keeps all shingles. A document with fewer shingles is one window.
    shingling : Shingling, optional
        None: words, 5 to a shingle. Labelled shinglings are refused.
    robust : bool
        Where the smallest value repeats, keep the place that the window before selected (robust winnowing). Otherwise take
        the rightmost: that selects nearly all shingles of a table whose rows are equal.
    seed : int
        As in `MinHasher`.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range, or the shingling is labelled: the occurrence numbers of shingles before a common run
        would change its fingerprints.

    Notes
    -----
    O(1) for each shingle, for any values and window; 16 bytes for each fingerprint. With robust winnowing the common
    fingerprint of a run may be selected at other positions within its windows where values repeat there.

    Stable: a recipe and a text always give the same values.

    References
    ----------
    Schleimer, Wilkerson, Aiken (2003), Winnowing: local algorithms for document fingerprinting, §4 and §5,
    DOI 10.1145/872757.872770.

    Examples
    --------
    >>> sketcher = Winnower(window=3, shingling=Shingling(width=2))
    >>> sk = sketcher.sketch_many(["to be or not to be that is the question", "he asked: or not to be that is"])
    >>> np.intersect1d(sk[0], sk[1]).size > 0  # a run of seven words, and 3 + 2 - 1 are enough
    True
    """

    exact_sizes = False  # the positions count every shingle, so repeats are not looked for
    window: int
    robust: bool
    seed: int
    shingling: Shingling

    def __init__(
        self, window: int = 16, shingling: Shingling | None = None, robust: bool = True, seed: int = 1
    ) -> None:
        self.window = checked_count("window", window)
        self.shingling = given_shingling(shingling)
        if self.shingling.labelled:
            raise ValueError("winnowing needs shingles without occurrence numbers: give Shingling(labelled=False)")
        if not isinstance(robust, bool):
            raise TypeError(f"robust is True or False, got {robust!r}")
        self.robust = robust
        self.seed = checked_seed(seed)
        self._permutations = Permutations(self.seed, 0)

    def _parameters(self) -> dict[str, Any]:
        return {"kind": "winnow", "version": 1, "window": self.window, "robust": self.robust, "seed": self.seed}

    @property
    def guaranteed(self) -> int:
        """Tokens of a common run from which on it leaves a fingerprint: window + width − 1."""
        return self.window + self.shingling.width - 1

    def _sink(self, n: int, rows: AnyArray | None = None) -> Sink:
        return Winnows(n, self.window, self.robust, self._permutations)

    def _gather(self, done: Sequence[Any]) -> Winnowed:
        values, offsets = joined_samples([(piece.values, piece.begins) for piece in done])
        positions = end_to_end([piece.positions for piece in done])
        flags, counted = (b"".join([getattr(piece, name) for piece in done]) for name in ("flags", "counted"))
        later = (_fields, values, offsets, flags, counted, self.window)
        return Winnowed.trusted(values, self.recipe, later, offsets, positions=positions)

    if TYPE_CHECKING:  # what `_gather` makes of the sinks

        def sketch(self, text: Text) -> Winnowed: ...

        def sketch_many(
            self, texts: Iterable[Text], threads: int | None = None, progress: bool | Progress | None = None
        ) -> Winnowed: ...

    def sketch_hashes(self, values: ArrayLike, offsets: ArrayLike) -> Winnowed:
        """Sketch given sequences: fingerprints by this sketcher's shingling, or other hashes of consecutive places.

        Parameters
        ----------
        values : array of uint64
            64-bit hashes, in order.
        offsets : array of int, shape (n + 1,)
            Sequence i is values[offsets[i] : offsets[i + 1]]; [0, len(values)] for one sequence.

        Returns
        -------
        Winnowed

        Raises
        ------
        TypeError, ValueError
            A value is not an unsigned 64-bit integer, or offsets do not ascend from 0 to len(values).
        """
        made = super().sketch_hashes(values, offsets)
        assert isinstance(made, Winnowed)
        return made


def _fields(values: UInts, offsets: Ints, flags: bytes, counted: bytes, window: int) -> Fields:
    """Return the fields of `Sketches.trusted`."""
    valid, shingles = np.frombuffer(flags, np.bool_), np.frombuffer(counted, np.int64)
    exact = ~valid if window > 1 else np.ones(len(valid), np.bool_)
    return valid, exact, partial(_sizes, values, offsets, shingles)


def _sizes(values: UInts, offsets: Ints, shingles: Ints) -> Floats:
    """Estimate numbers of distinct shingles; 0 without shingles."""
    _, ends = distinct(values.copy(), offsets)
    return shingles * (np.diff(ends) / np.maximum(1, np.diff(offsets)))
