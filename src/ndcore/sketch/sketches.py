"""Sketches: the numbers that represent documents, with the recipe that made them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from ndcore._sets import equal_items, overlaps
from ndcore._types import AnyArray, AnyPath, Bools, Floats, Ints, UInts
from ndcore.checks import checked_int
from ndcore.human import counted
from ndcore.notebook import NotebookTable, fact_table, show_result
from ndcore.parallel import map_pieces
from ndcore.readonly import frozen, private
from ndcore.recipe import Recipe
from ndcore.sketch.arrow_table import arrow_table
from ndcore.sketch.cardinality import sample_sizes, signature_sizes
from ndcore.sketch.comparison import Comparison, Method, Positions, Quantity, positions_among
from ndcore.sketch.file_format import FIELDS, pack_arrays, recipe_header, refuse_unnamed, revision_of
from ndcore.storage import container

KIND = "sketches"
LATER = ("valid", "sizes_exact", "_sizes")  # fields that `Sketches.trusted` computes at the first access
PIECE = 1 << 14  # pairs that are one piece of work for a thread
SHOWN = 3  # values of a sketch in a notebook
SHOWN_PARAMETERS = frozenset(("num_perm", "bits", "method", "size", "modulus", "window", "lists", "least", "kept", "unit",
                              "width"))  # no secret ones
UNLIMITED = 2**63  # values of a sketch that takes all of them
Fields: TypeAlias = tuple[Bools, Bools, Floats | Callable[[], Floats]]  # valid, sizes_exact, sizes


class Sketches:
    """Sketches of n documents, made by one recipe.

    ``len``, iteration and ``sk[i]`` give the values of documents; slices, masks and index arrays give Sketches. Arrays are
    read-only. All but offsets, moduli and positions may be replaced by others of the same length.

    Attributes
    ----------
    values : ndarray
        Signatures: uint32 or uint64 (n, num_perm), all ones where a document has no shingles. Bottom and mod sketches:
        uint64, end to end; document i has values[offsets[i] : offsets[i + 1]], ascending.
    offsets : ndarray of int64 (n + 1,), or None for signatures
    moduli : ndarray of uint64 (n,), or None
        Adaptive mod sketches: the modulus 2^i of each document.
    positions : ndarray of int64, or None
        Winnowed fingerprints: the positions of `values` in the documents.
    sizes : ndarray of float64 (n,)
        Numbers of distinct shingles: exact where `sizes_exact`, else estimated from the sketch.
    sizes_exact, valid : ndarray of bool (n,)
        A document that is not valid has no shingles: it resembles nothing.
    recipe : Recipe
    ids : list of str or of int, or None
    digests : ndarray of uint8 (n, 32), or None
        BLAKE2b-128 of the document's bytes (for a page without shingles: of the page, not of its text), then of its
        canonical tokens.
    """

    values: AnyArray
    recipe: Recipe
    offsets: Ints | None = None
    sizes_exact: Bools
    valid: Bools
    ids: list[Any] | None = None
    digests: NDArray[np.uint8] | None = None
    moduli: UInts | None = None
    positions: Ints | None = None
    _compared: type[Comparison] = Comparison  # what `compare` makes
    _sizes: Floats | Callable[[], Floats]

    def __init__(
        self,
        values: AnyArray,
        recipe: Recipe,
        *,
        offsets: Ints | None = None,
        sizes: Floats | Callable[[], Floats],
        sizes_exact: Bools,
        valid: Bools,
        ids: Sequence[str] | Sequence[int] | None = None,
        digests: NDArray[np.uint8] | None = None,
        moduli: UInts | None = None,
        positions: Ints | None = None,
    ) -> None:
        offsets = None if offsets is None else private(offsets)
        vars(self).update(  # not by `__setattr__`, which checks replacements
            values=frozen(values), recipe=recipe, moduli=frozen(moduli), offsets=offsets, _sizes=frozen(sizes),
            sizes_exact=frozen(sizes_exact), valid=frozen(valid), ids=None if ids is None else list(ids),
            digests=frozen(digests), positions=frozen(positions),
        )
        numbered: dict[str, Any] = {
            "sizes_exact": sizes_exact, "valid": valid, "ids": self.ids, "digests": digests, "moduli": moduli,
        }
        if not callable(sizes):
            numbered["sizes"] = sizes
        for name, given in numbered.items():
            self._check_number(name, given)
        if offsets is not None and (offsets[0] != 0 or offsets[-1] != len(values) or (np.diff(offsets) < 0).any()):
            raise ValueError(f"offsets do not ascend from 0 to {len(values)}, the number of values")
        if positions is not None and len(positions) != len(values):
            raise ValueError(f"there are {len(positions)} positions of {len(values)} values")

    @classmethod
    def trusted(
        cls, values: AnyArray, recipe: Recipe, later: tuple[Any, ...], offsets: Ints | None = None,
        moduli: UInts | None = None, positions: Ints | None = None,
    ) -> Self:
        """Make sketches of arrays that a sketcher wrote: they fit together, and nobody else can write to them.

        `later` is a function and its arguments; it returns the `Fields`, when one of them is asked for.
        """
        made = cls.__new__(cls)
        fields = vars(made)
        fields["values"], fields["recipe"], fields["_later"] = frozen(values), recipe, later
        if offsets is not None:
            fields["offsets"] = frozen(offsets)
        if moduli is not None:
            fields["moduli"] = frozen(moduli)
        if positions is not None:
            fields["positions"] = frozen(positions)
        return made

    def _check_number(self, name: str, given: Any) -> None:
        if given is not None and len(given) != len(self):
            raise ValueError(f"{name} has {len(given)} elements; there are {len(self)} sketches")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("offsets", "moduli", "positions"):
            raise AttributeError(f"{name} cannot be replaced: make other Sketches")
        if name == "values" and len(value) != len(self.values):
            raise ValueError(f"values has {len(value)} elements; there are {len(self.values)}")
        if name in ("sizes_exact", "valid", "ids", "digests"):
            self._check_number(name, value)
        super().__setattr__(name, frozen(value))

    if not TYPE_CHECKING:  # every other attribute is known

        def __getattr__(self, name: str) -> Any:
            """Compute the fields that `trusted` left for later."""
            if name not in LATER or "_later" not in vars(self):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            function, *given = vars(self)["_later"]
            for field, value in zip(LATER, function(*given), strict=True):
                vars(self).setdefault(field, frozen(value))  # what was replaced meanwhile stays
            return vars(self)[name]

    def __getstate__(self) -> dict[str, Any]:
        _ = self.valid, self.sizes_exact, self._sizes
        return {name: value for name, value in vars(self).items() if name != "_later"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: frozen(value) for name, value in state.items()})

    @property
    def sizes(self) -> Floats:
        """Numbers of distinct shingles, see the class; estimated at the first access."""
        if callable(estimate := self._sizes):  # one look: another thread may estimate them meanwhile
            self.sizes = estimate()
        return self._sizes  # type: ignore[return-value]

    @sizes.setter
    def sizes(self, sizes: Floats) -> None:
        self._check_number("sizes", sizes)
        self._sizes = sizes

    def __len__(self) -> int:
        return len(self.values) if self.offsets is None else len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"<{len(self)} {self.recipe['kind']} sketches, recipe {self.recipe.id}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how the sketches were made, and the first values of the first of them."""
        rows = ((i if self.ids is None else self.ids[i], np.size(row), ", ".join(map(str, np.ravel(row)[:SHOWN].tolist())))
                for i, row in enumerate(self))
        values = NotebookTable("Sketches", ("document", "values", "the first of them"), rows, len(self))
        made = self.recipe.parameters
        made |= {name: value for name, value in made.pop("shingling", {}).items() if name in ("unit", "width")}
        facts = ((name, value) for name, value in made.items() if name in SHOWN_PARAMETERS)
        return show_result(repr(self), fact_table(*facts), values)

    def __iter__(self) -> Iterator[AnyArray]:
        return (self._row(i) for i in range(len(self)))

    def _position(self, i: int) -> int:
        """Return the position of a document, counted from 0. IndexError where there is none."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"document {i} of {len(self)} sketches")
        return i % len(self)

    def _row(self, i: int) -> AnyArray:
        i = self._position(i)
        return self.values[i] if self.offsets is None else self.values[self.offsets[i] : self.offsets[i + 1]]

    @overload
    def __getitem__(self, which: int | np.integer[Any]) -> AnyArray: ...
    @overload
    def __getitem__(self, which: slice | Sequence[int] | Sequence[bool] | NDArray[Any]) -> Self: ...
    def __getitem__(self, which: Any) -> AnyArray | Self:
        if isinstance(which, (int, np.integer)):
            return self._row(int(which))
        rows = np.arange(*which.indices(len(self))) if isinstance(which, slice) else np.arange(len(self))[which]
        values, offsets, positions = self.values, self.offsets, self.positions
        if offsets is None:
            values = values[rows]
        else:
            values = np.concatenate([values[:0], *(self._row(int(i)) for i in rows)])
            if positions is not None:
                positions = np.concatenate([positions[:0], *(positions[offsets[i] : offsets[i + 1]] for i in rows)])
            offsets = np.concatenate([[0], np.cumsum(np.diff(offsets)[rows])]).astype(np.int64)
        return type(self)(
            values, self.recipe, offsets=offsets,
            sizes=self.sizes[rows], sizes_exact=self.sizes_exact[rows], valid=self.valid[rows],
            ids=None if self.ids is None else [self.ids[i] for i in rows],
            digests=None if self.digests is None else self.digests[rows],
            moduli=None if self.moduli is None else self.moduli[rows], positions=positions,
        )

    def compare(
        self, a: Positions | None = None, b: Positions | None = None, other: Sketches | None = None,
        threads: int | None = None,
    ) -> Comparison:
        """Compare documents a of these sketches with documents b of these or others: pairs, one with many, or all.

        Parameters
        ----------
        a, b : int or array of int, optional
            Positions; arrays are broadcast as in NumPy. None: all documents, each compared with each on the other side, so
            that ``compare()`` is the whole matrix and ``compare(3)`` compares document 3 with all.
        other : Sketches, optional
            Sketches of the documents b. None: these.
        threads : int, optional
            None: one per CPU. The result does not depend on it.

        Returns
        -------
        Comparison
            Arrays of the shape of the positions: counts, `resemblance`, `containment` (of a in b), `interval(…)`.

        Raises
        ------
        RecipeMismatch
            `other` was made by another recipe.
        TypeError, IndexError
            A position is not an integer, or there is no such document.

        Notes
        -----
        A pair takes time linear in its sketches, without the GIL, and about 100 bytes.

        Examples
        --------
        >>> from ndcore import BottomSketcher
        >>> BottomSketcher().sketch_many(["a b c d e f", "a b c d e f g h", "x y z"]).compare().resemblance
        array([[1. , 0.5, 0. ],
               [0.5, 1. , 0. ],
               [0. , 0. , 1. ]])
        """
        for name, positions in (("a", a), ("b", b)):
            if isinstance(positions, Sketches):
                raise TypeError(f"{name} is Sketches; it must be positions of documents. Other sketches are `other`: "
                                "x.compare(other=y), x.compare(0, other=y); x.resemblance(y) compares two of one document")
        theirs = self if other is None else other
        self.recipe.check(theirs.recipe)
        rows, columns = positions_among(a, len(self)), positions_among(b, len(theirs))
        if a is None or b is None:
            rows = rows.reshape(rows.shape + (1,) * columns.ndim)
        if rows.shape != columns.shape:
            rows, columns = np.broadcast_arrays(rows, columns)
        counts = np.empty((rows.size, 3), np.int64)
        self.count_common(theirs, rows.ravel(), columns.ravel(), counts, threads)
        common, total, in_a = (counts[:, k].reshape(rows.shape) for k in range(3))
        return self._compared(
            common, total, in_a, self.sizes[rows], theirs.sizes[columns], self.sizes_exact[rows],
            theirs.sizes_exact[columns], self._whole(rows) & theirs._whole(columns),
            self.valid[rows] & theirs.valid[columns], self.offsets is None, self._chance(),
        )

    def count_common(self, theirs: Sketches, a: Ints, b: Ints, out: Ints, threads: int | None = None) -> None:
        """Count common values of pairs, of the same recipe, into the rows of `out`: common, total, in_a of `Comparison`."""
        ours, others = np.ascontiguousarray(self.values), np.ascontiguousarray(theirs.values)

        def work(start: int) -> None:
            part = slice(start, start + PIECE)
            if self.offsets is None or theirs.offsets is None:
                equal_items(ours, a[part], others, b[part], out[part])
                return
            masks = None
            if self.moduli is not None and theirs.moduli is not None:
                masks = np.maximum(self.moduli[a[part]], theirs.moduli[b[part]]) - np.uint64(1)
            whole = np.zeros(len(out[part]), np.bool_)
            if self._most < UNLIMITED:  # a sketch may be full and hold its whole set
                whole = self._whole(a[part]) & theirs._whole(b[part])
            overlaps(ours, self.offsets, a[part], others, theirs.offsets, b[part], self._most, whole.view(np.uint8), masks,
                     out[part])

        if len(a) > PIECE or threads is not None:
            deque(map_pieces(work, range(0, len(a), PIECE), threads), maxlen=0)
        else:
            work(0)

    def _chance(self) -> float:
        """Return `Comparison.chance`."""
        return 0.0

    @property
    def _most(self) -> int:
        """The number of values that a sketch of the recipe has at most."""
        limited = "size" in self.recipe and self.recipe["size"] is not None
        return int(self.recipe["size"]) if limited else UNLIMITED

    def _whole(self, rows: Ints) -> Bools:
        """Find the rows whose sketches hold the whole sets."""
        if self.offsets is None:
            return np.zeros(rows.shape, np.bool_)
        counts = self.offsets[rows + 1] - self.offsets[rows]
        return np.asarray(self.sizes_exact[rows] & (counts == self.sizes[rows]))

    def resemblance(self, i: int | Sketches, j: int | None = None) -> float:
        """Estimate the resemblance (Jaccard similarity) of documents i and j, or of two sketches: ``a.resemblance(b)``.

        nan where either has no shingles, or where two mod samples are empty (Broder 1997, Theorem 1; Broder 2000, §2).
        Sketches in place of i have one document, as these do: ValueError otherwise, RecipeMismatch where they were made by
        another recipe. `compare` takes many pairs.
        """
        return float(self._compare_two(i, j).resemblance)

    def containment(self, i: int | Sketches, j: int | None = None) -> float:
        """Estimate the containment of document i in j, or of these sketches in others, as `Comparison.containment` does.

        nan where either has no shingles, or where the mod sample of the first is empty. Arguments as for `resemblance`.
        """
        return float(self._compare_two(i, j).containment)

    def interval(
        self, i: int | Sketches, j: int | None = None, confidence: float = 0.95, method: Method = "midp",
        quantity: Quantity = "resemblance",
    ) -> tuple[float, float]:
        """Compute a confidence interval of `resemblance`, or of `containment`, as `Comparison.interval` does.

        The width is 0 where two bottom or mod sketches hold the whole sets. (0, 1) where the samples are empty; (nan, nan)
        where either document has no shingles. Arguments as for `resemblance`.
        """
        low, high = self._compare_two(i, j).interval(confidence, method, quantity)
        return float(low), float(high)

    def _compare_two(self, i: int | Sketches, j: int | None) -> Comparison:
        """Compare documents i and j of these sketches, or the one document here with the one of Sketches i."""
        first, second, theirs = self._two(i, j)
        return self.compare(first, second, theirs)

    def _two(self, i: int | Sketches, j: int | None) -> tuple[int, int, Sketches]:
        """Return the positions of two documents, and the sketches of the second."""
        if not isinstance(i, Sketches):
            if j is None:
                raise TypeError("give the positions of two documents, or other Sketches of one document")
            return i, j, self
        if j is not None:
            raise TypeError(f"j is {j!r:.80}; there is none beside other Sketches")
        if len(self) != 1 or len(i) != 1:
            here, there = counted(len(self), "document"), counted(len(i), "document")
            raise ValueError(f"two sketches of one document each are compared; here are {here} and there {there}: "
                             "x.compare(other=y) compares all of them")
        return 0, 0, i

    def concat(self, other: Sketches) -> Self:
        """Concatenate these sketches and others. RecipeMismatch where the recipes differ."""
        self.recipe.check(other.recipe)
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in ("sizes", "sizes_exact", "valid")
        }
        if self.offsets is not None and other.offsets is not None:
            joined["offsets"] = np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]])
        if self.ids is not None and other.ids is not None:
            joined["ids"] = self.ids + other.ids
        for name in ("digests", "moduli", "positions"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours is not None and theirs is not None:
                joined[name] = np.concatenate([ours, theirs])
        return type(self)(np.concatenate([self.values, other.values]), self.recipe, **joined)

    def union(self, *of: int | Sketches) -> Sketches:
        """Sketch the union of the shingle sets of several documents; Sketches of length 1.

        Parameters
        ----------
        *of : int or Sketches
            Positions of documents here; or other Sketches: all of their documents and all here. None: all documents here.

        Returns
        -------
        Sketches
            Equal to the sketch of the united sets. Adaptive mod samples are united at the larger modulus.

        Raises
        ------
        TypeError, IndexError
            Positions and Sketches are mixed, or a position is not one.
        RecipeMismatch
            Sketches were made by another recipe.
        ValueError
            Signatures by method="fast", whose coordinates do not tell the round that filled them, or weighted signatures,
            whose samples do not tell their scores.

        Notes
        -----
        O(values) for signatures, O(values · log(values)) for samples.

        Examples
        --------
        >>> from ndcore import BottomSketcher
        >>> sketcher = BottomSketcher()
        >>> day, night = sketcher.sketch("a b c d e f"), sketcher.sketch("c d e f g h")
        >>> day.resemblance(night), day.union(night).resemblance(day)
        (0.0, 0.5)
        """
        positions = [each for each in of if not isinstance(each, Sketches)]
        others = [each for each in of if isinstance(each, Sketches)]
        if positions and others:
            raise TypeError("union takes positions of documents here, or other Sketches; "
                            f"{positions[0]!r:.80} is among Sketches")
        for other in others:
            self.recipe.check(other.recipe)
        if self.recipe["kind"] == "weighted":
            raise ValueError("the union of weighted signatures is not known: their samples do not tell their scores; sketch "
                             "the united documents")
        if self.offsets is None and self.recipe["method"] == "fast":
            raise ValueError("the union of signatures by method='fast' is not known; use method='permutations' for unions")
        if positions:
            rows = [self._position(checked_int("a position", position)) for position in positions]
            return self._unite([(self, np.array(rows))])
        return self._unite([(part, np.arange(len(part))) for part in (self, *others)])

    def _unite(self, parts: Sequence[tuple[Sketches, Ints]]) -> Sketches:
        """Sketch the union of documents, given as sketches of this recipe and rows of them."""
        valid = np.array([any(bool(part.valid[rows].any()) for part, rows in parts)])
        if self.offsets is None:
            highest = np.iinfo(self.values.dtype).max
            least = [part.values[rows].min(axis=0, initial=highest) for part, rows in parts]
            values = np.minimum.reduce(least)[None, :]
            return Sketches(values, self.recipe, sizes=signature_sizes(values, valid), sizes_exact=~valid, valid=valid)
        values = np.unique(np.concatenate([self.values[:0], *(part._row(i) for part, rows in parts for i in rows.tolist())]))
        moduli = None
        if self.moduli is not None:
            largest = [int(part.moduli[rows].max(initial=1)) for part, rows in parts if part.moduli is not None]
            moduli = np.array([max(largest)], np.uint64)
            values = values[values % moduli == 0]
        known = np.array([all(bool(part._whole(rows).all()) for part, rows in parts)])
        kept = values[: self.recipe["size"]]
        offsets = np.array([0, len(kept)], np.int64)
        sizes = np.array([float(len(values))]) if known else sample_sizes(kept, offsets, self.recipe, moduli)
        return Sketches(
            kept, self.recipe, offsets=offsets, sizes=np.where(valid, sizes, 0.0), sizes_exact=known, valid=valid,
            moduli=moduli,
        )

    def save(self, path: AnyPath, *, durable: bool = True) -> None:
        """Write everything to one checksummed file, atomically. durable: wait until it is on disk.

        ValueError where the recipe has an unnamed callable.
        """
        refuse_unnamed("unit", self.recipe["shingling"]["unit"])
        arrays = pack_arrays(self.recipe, {name: getattr(self, name) for name in FIELDS})
        container.write(path, KIND, recipe_header(self.recipe), arrays, durable=durable, revision=revision_of(self.recipe))

    def to_arrow(self) -> Any:
        """Return a pyarrow Table: id (where there are), sketch, size, size_exact, valid, modulus (of adaptive mod sketches).

        The metadata has the recipe. ImportError without pyarrow.
        """
        return arrow_table(self)


class UnestimatedSketches(Sketches):
    """Sketches of which neither resemblance nor containment can be estimated; `_advice` says what they have instead."""

    _advice: str

    def _refuse(self, what: str) -> NoReturn:
        raise TypeError(f"{self.recipe['kind']} sketches have no {what}: {self._advice}; for sets use MinHasher, "
                        "BottomSketcher, or nd.resemblance of two texts")

    def compare(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("comparison of sets")

    def resemblance(self, *_: Any) -> NoReturn:
        self._refuse("resemblance")

    def containment(self, *_: Any) -> NoReturn:
        self._refuse("containment")

    def interval(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("interval of the resemblance")

    def union(self, *_: Any) -> NoReturn:
        self._refuse("union")
