"""Sketches: the numbers that stand for documents, with the recipe that made them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ndcore import container
from ndcore.estimating import bottom_counts, ratio, signature_counts
from ndcore.intervals import interval
from ndcore.recipe import Recipe

__all__ = ["Sketches", "load"]

KIND = "sketches"


class Sketches:
    """Sketches of n documents, made by one recipe.

    Attributes
    ----------
    values : ndarray
        Signatures: uint32 or uint64 (n, num_perm), all ones where a document has no shingles. Bottom sketches: uint64,
        end to end; document i has values[offsets[i] : offsets[i + 1]], ascending.
    offsets : ndarray of int64 (n + 1,), or None for signatures
    sizes : ndarray of float64 (n,)
        Numbers of distinct shingles: exact where `sizes_exact`, else estimated from the sketch.
    sizes_exact, valid : ndarray of bool (n,)
        A document that is not valid has no shingles: it resembles nothing.
    recipe : Recipe
    ids : list of str or of int, or None
    digests : ndarray of uint8 (n, 32), or None
        BLAKE2b-128 of the document's bytes, then of its canonical tokens.

    ``len``, iteration and ``sk[i]`` give values of documents; slices, masks and index arrays give Sketches.
    """

    def __init__(
        self,
        values: NDArray[Any],
        recipe: Recipe,
        *,
        offsets: NDArray[np.int64] | None = None,
        sizes: NDArray[np.float64],
        sizes_exact: NDArray[np.bool_],
        valid: NDArray[np.bool_],
        ids: Sequence[str] | Sequence[int] | None = None,
        digests: NDArray[np.uint8] | None = None,
    ) -> None:
        self.values, self.recipe, self.offsets = values, recipe, offsets
        self.sizes, self.sizes_exact, self.valid = sizes, sizes_exact, valid
        self.ids: list[Any] | None = None if ids is None else list(ids)
        self.digests = digests
        n = len(self)
        for name in ("sizes", "sizes_exact", "valid", "ids", "digests"):
            given = getattr(self, name)
            if given is not None and len(given) != n:
                raise ValueError(f"{name} has {len(given)} elements; there are {n} sketches")

    def __len__(self) -> int:
        return len(self.values) if self.offsets is None else len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"<{len(self)} {self.recipe['kind']} sketches, recipe {self.recipe.id}>"

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self._row(i) for i in range(len(self)))

    def _row(self, i: int) -> NDArray[Any]:
        if not -len(self) <= i < len(self):
            raise IndexError(f"document {i} of {len(self)} sketches")
        i %= len(self)
        return self.values[i] if self.offsets is None else self.values[self.offsets[i] : self.offsets[i + 1]]

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, (int, np.integer)):
            return self._row(int(which))
        rows = np.arange(len(self))[which]
        values, offsets = self.values, self.offsets
        if offsets is None:
            values = values[rows]
        else:
            values = np.concatenate([values[:0], *(self._row(int(i)) for i in rows)])
            offsets = np.concatenate([[0], np.cumsum(np.diff(offsets)[rows])]).astype(np.int64)
        return Sketches(
            values, self.recipe, offsets=offsets,
            sizes=self.sizes[rows], sizes_exact=self.sizes_exact[rows], valid=self.valid[rows],
            ids=None if self.ids is None else [self.ids[i] for i in rows],
            digests=None if self.digests is None else self.digests[rows],
        )

    def resemblance(self, i: int, j: int) -> float:
        """Estimated resemblance of documents i and j; nan where either has no shingles (Broder 1997, Theorem 1)."""
        return ratio(*self._counts(i, j)) if self._both_valid(i, j) else float("nan")

    def interval(
        self, i: int, j: int, confidence: float = 0.95, method: Literal["midp", "exact"] = "midp"
    ) -> tuple[float, float]:
        """Binomial confidence interval of `resemblance`: mid-P, or Clopper–Pearson ("exact").

        Of width 0 where two bottom sketches hold the whole sets; (nan, nan) where either document has no shingles.
        """
        if not self._both_valid(i, j):
            return float("nan"), float("nan")
        equal, trials = self._counts(i, j)
        if self._holds_whole_set(i) and self._holds_whole_set(j):
            return (ratio(equal, trials),) * 2
        return interval(equal, trials, confidence, method)

    def containment(self, i: int, j: int) -> float:
        """Estimated containment of document i in document j; nan where either has no shingles.

        Bottom sketches: |T∩A∩B| / |T∩A|, T the s smallest of the union. Signatures: from the resemblance r and the
        sizes, min(1, r·(|A| + |B|) / ((1 + r)·|A|)).
        """
        if not self._both_valid(i, j):
            return float("nan")
        if self.offsets is not None:
            shared, _, in_a = bottom_counts(self._row(i), self._row(j), self.recipe["size"])
            return ratio(shared, in_a)
        r, a, b = self.resemblance(i, j), float(self.sizes[i]), float(self.sizes[j])
        return min(1.0, r * (a + b) / ((1.0 + r) * a))

    def _both_valid(self, i: int, j: int) -> bool:
        self._row(i), self._row(j)  # IndexError names the document
        return bool(self.valid[i] and self.valid[j])

    def _holds_whole_set(self, i: int) -> bool:
        return self.offsets is not None and bool(self.sizes_exact[i]) and len(self._row(i)) == self.sizes[i]

    def _counts(self, i: int, j: int) -> tuple[int, int]:
        if self.offsets is None:
            return signature_counts(self._row(i), self._row(j))
        return bottom_counts(self._row(i), self._row(j), self.recipe["size"])[:2]

    def concat(self, other: Sketches) -> Sketches:
        """The documents of both, these first. RecipeMismatch where the recipes differ."""
        self.recipe.check(other.recipe)
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in ("sizes", "sizes_exact", "valid")
        }
        if self.offsets is not None and other.offsets is not None:
            joined["offsets"] = np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]])
        if self.ids is not None and other.ids is not None:
            joined["ids"] = self.ids + other.ids
        if self.digests is not None and other.digests is not None:
            joined["digests"] = np.concatenate([self.digests, other.digests])
        return Sketches(np.concatenate([self.values, other.values]), self.recipe, **joined)

    def union(self, i: int, j: int) -> Sketches:
        """The sketch of the union of the shingle sets of documents i and j, as Sketches of length 1.

        ValueError for signatures by method="fast": a coordinate does not tell the round that filled it.
        """
        a, b = self._row(i), self._row(j)
        if self.offsets is None and self.recipe["method"] == "fast":
            raise ValueError("the union of signatures by method='fast' is not known; use method='permutations' for unions")
        valid = np.array([bool(self.valid[i] or self.valid[j])])
        if self.offsets is None:
            values = np.minimum(a, b)[None, :]
            return Sketches(values, self.recipe, sizes=signature_sizes(values, valid), sizes_exact=~valid, valid=valid)
        size = self.recipe["size"]
        values = np.union1d(a, b)
        offsets = np.array([0, min(len(values), size)], np.int64)
        known = np.array([bool(self.sizes_exact[i] and self.sizes_exact[j])])
        sizes = np.array([float(len(values))]) if known else bottom_sizes(values[:size], offsets, self.recipe)
        return Sketches(values[:size], self.recipe, offsets=offsets, sizes=sizes, sizes_exact=known, valid=valid)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one checksummed file, atomically. ValueError where the recipe has an unnamed callable."""
        if str(self.recipe["shingling"]["unit"]).startswith("unnamed callable"):
            raise ValueError(
                "sketches by an unnamed callable cannot be saved, for nobody could tell later what made them; "
                "use a function of a module as unit"
            )
        arrays: dict[str, NDArray[Any]] = {
            "values": self.values, "sizes": self.sizes, "sizes_exact": self.sizes_exact, "valid": self.valid,
        }
        if self.offsets is not None:
            arrays["offsets"] = self.offsets
        if self.digests is not None:
            arrays["digests"] = self.digests
        if self.ids is not None:
            arrays.update(_packed_ids(self.ids))
        container.write(path, KIND, {"recipe": self.recipe.to_json(), "recipe_id": self.recipe.id}, arrays)

    def to_arrow(self) -> Any:
        """A pyarrow Table: id (where there are), sketch, size, size_exact, valid; the recipe is in its metadata."""
        import pyarrow as pa

        if self.offsets is None:
            flat = pa.array(np.ascontiguousarray(self.values).reshape(-1))
            column = pa.FixedSizeListArray.from_arrays(flat, self.values.shape[1])
        else:
            column = pa.LargeListArray.from_arrays(pa.array(self.offsets), pa.array(self.values))
        columns = {"sketch": column, "size": self.sizes, "size_exact": self.sizes_exact, "valid": self.valid}
        if self.ids is not None:
            columns = {"id": pa.array(self.ids), **columns}
        metadata = {"ndcore.recipe": self.recipe.to_json(), "ndcore.recipe_id": self.recipe.id}
        return pa.table(columns).replace_schema_metadata(metadata)


def load(path: str | os.PathLike[str], mmap: bool = False) -> Sketches:
    """Sketches that `Sketches.save` wrote.

    Parameters
    ----------
    path : str or path
    mmap : bool
        Map the arrays instead of reading them; they are read-only then.

    Raises
    ------
    CorruptFile
        The file is damaged, or is none of ours; the message names it and the reason.
    """
    header, arrays = container.read(path, KIND, mmap)
    try:
        recipe = Recipe.from_json(header["recipe"])
        if recipe.id != header["recipe_id"]:
            raise ValueError(f"the recipe has the id {recipe.id}, the header says {header['recipe_id']}")
        loaded = Sketches(
            arrays["values"], recipe, offsets=arrays.get("offsets"), sizes=arrays["sizes"],
            sizes_exact=arrays["sizes_exact"], valid=arrays["valid"], ids=_unpacked_ids(arrays),
            digests=arrays.get("digests"),
        )
        _check_shapes(loaded)
    except (KeyError, ValueError, TypeError, IndexError, UnicodeDecodeError) as error:
        raise container.CorruptFile(f"{os.fspath(path)}: the sketches in it do not fit together: {error}") from error
    return loaded


def _check_shapes(sketches: Sketches) -> None:
    """ValueError where the arrays of a file are not what its recipe says."""
    recipe, values, offsets = sketches.recipe, sketches.values, sketches.offsets
    for name in ("num_perm", "size", "bits", "seed"):
        if name in recipe and (isinstance(recipe[name], bool) or not isinstance(recipe[name], int) or recipe[name] < 0):
            raise ValueError(f"the recipe's {name} is {recipe[name]!r}")
    if not isinstance(recipe["shingling"], dict):
        raise ValueError("the recipe has no shingling")
    n = len(values) if offsets is None else len(offsets) - 1
    wanted_columns = {
        "sizes": ("float64", (n,)), "sizes_exact": ("bool", (n,)), "valid": ("bool", (n,)), "digests": ("uint8", (n, 32)),
    }
    for name, wanted_column in wanted_columns.items():
        column = getattr(sketches, name)
        if column is not None and (column.dtype.name, column.shape) != wanted_column:
            raise ValueError(f"{name} is {column.dtype.name} {column.shape}, not {wanted_column[0]} {wanted_column[1]}")
    if recipe["kind"] == "minhash":
        wanted = ((len(values), recipe["num_perm"]), f"uint{recipe['bits']}")
        if (values.shape, values.dtype.name) != wanted or offsets is not None:
            raise ValueError(f"values are {values.dtype.name} {values.shape}, not {wanted[1]} {wanted[0]}")
    elif recipe["kind"] == "bottom":
        if offsets is None or offsets.dtype != np.int64 or offsets.ndim != 1 or len(offsets) == 0:
            raise ValueError("a bottom sketch needs int64 offsets")
        if values.dtype != np.uint64 or values.ndim != 1:
            raise ValueError("a bottom sketch needs uint64 values")
        counts = np.diff(offsets)
        if offsets[0] != 0 or offsets[-1] != len(values) or (counts < 0).any() or (counts > recipe["size"]).any():
            raise ValueError("offsets do not cut the values into sketches of at most the recipe's size")
    else:
        raise ValueError(f"no sketches are called {recipe['kind']!r}")


def _packed_ids(ids: Sequence[str] | Sequence[int]) -> dict[str, NDArray[Any]]:
    if all(isinstance(i, (int, np.integer)) and -(2**63) <= i < 2**63 for i in ids):
        return {"ids": np.array(ids, np.int64)}
    if not all(isinstance(i, str) for i in ids):
        raise TypeError("ids that can be saved are all str or all integers of 64 bits")
    encoded = [str(i).encode("utf-8", "surrogatepass") for i in ids]
    ends = np.cumsum([0, *map(len, encoded)])
    return {"id_bytes": np.frombuffer(b"".join(encoded), np.uint8), "id_offsets": ends.astype(np.int64)}


def _unpacked_ids(arrays: dict[str, NDArray[Any]]) -> list[str] | list[int] | None:
    if "ids" in arrays:
        return [int(i) for i in arrays["ids"]]
    if "id_bytes" not in arrays:
        return None
    data, ends = arrays["id_bytes"].tobytes(), arrays["id_offsets"].tolist()
    if not ends or ends[0] != 0 or ends[-1] != len(data) or sorted(ends) != ends:
        raise ValueError("the offsets of the ids do not fit")
    return [data[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(ends)]


def signature_sizes(values: NDArray[Any], valid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Numbers of distinct shingles, estimated: of the minimum u of n uniform numbers, −log(1 − u) is exponential with rate
    n, and the rate of k exponentials is estimated without bias by (k − 1) / their sum. Relative error about 1 / √k."""
    k = values.shape[1]
    scale = float(1 << 8 * values.dtype.itemsize)
    with np.errstate(divide="ignore"):  # a signature of all ones has no size
        sums = -np.log1p((values.astype(np.float64) + 0.5) / -scale).sum(axis=1)
    sizes = np.maximum(1.0, max(1, k - 1) / sums)
    return np.where(valid, sizes, 0.0)


def sizes_of_rows(values: NDArray[Any], valid: NDArray[np.bool_], recipe: Recipe) -> NDArray[np.float64]:
    """`signature_sizes`; nan for method="fast", where rows alone do not tell how many rounds filled them."""
    if recipe["method"] == "fast":
        return np.where(valid, np.nan, 0.0)
    return signature_sizes(values, valid)


def fast_sizes(
    values: NDArray[Any], counted: NDArray[np.int64], valid: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Numbers of distinct shingles from fast sketches: as counted, where they were (0: they were not), else estimated.

    Where one round fills all t coordinates, a coordinate's value is the first point of a Poisson process of rate λ = n / t
    in [0, 1], given that there is one: of mean 1/λ − 1/(e^λ − 1), solved by Newton's method. Relative error about 1 / √t.
    """
    t = values.shape[1]
    sizes = counted.astype(np.float64)
    large = valid & (counted == 0)
    if not large.any():
        return sizes
    mean = (values[large].sum(axis=1, dtype=np.uint64) + 0.5 * t) / (max(1, t - 1) * 2.0**32)
    rate = 1.0 / mean
    with np.errstate(over="ignore"):  # where e^λ is infinite
        for _ in range(5):
            inverse, beyond = 1.0 / rate, 1.0 / np.expm1(rate)
            rate = rate - (inverse - beyond - mean) / (beyond * (1.0 + beyond) - inverse * inverse)
    sizes[large] = np.maximum(1.0, rate * t)
    return sizes


def bottom_sizes(values: NDArray[np.uint64], offsets: NDArray[np.int64], recipe: Recipe) -> NDArray[np.float64]:
    """Numbers of distinct shingles: exact where a sketch is not full, else (s − 1) / its largest member, unbiased."""
    counts, size = np.diff(offsets), recipe["size"]
    full = counts == size
    sizes = counts.astype(np.float64)
    largest = (values[offsets[1:][full] - 1].astype(np.float64) + 1.0) / 2.0 ** recipe["bits"]
    sizes[full] = np.maximum(size, (size - 1) / largest)
    return sizes
