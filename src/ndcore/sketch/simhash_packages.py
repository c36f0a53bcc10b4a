"""Simhashes of two packages, 1e0ng/simhash and seomoz/simhash: old tables are searched, and new values fit in them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ndcore._minhash import Permutations, Sink
from ndcore._signals import stoppable
from ndcore._simhash import EqualSums
from ndcore._types import AnyArray, Text
from ndcore.checks import check_choice
from ndcore.hamming.fingerprints import checked_fingerprints
from ndcore.progress import Progress
from ndcore.recipe import Recipe
from ndcore.sketch.other_tools import ToolSketcher, sets_of
from ndcore.sketch.simhash import Simhashes, gather_simhashes, skip_sizes, sum_weighted_sets

Package: TypeAlias = Literal["1e0ng", "seomoz"]
NO_COEFFICIENTS = np.empty(0, np.uint64)
WIDTH = 4  # characters of a feature of 1e0ng/simhash
LETTERS = re.compile(r"[\w\u4e00-\u9fcc]+")  # its default


class PackageSimHasher(ToolSketcher):
    """Sketcher of the 64-bit simhashes of the packages 1e0ng/simhash and seomoz/simhash, simhash-py.

    Parameters
    ----------
    package : "1e0ng" or "seomoz"
        Which one: ``Simhash`` of the package simhash on PyPI, or ``compute`` of simhash-py. They differ in the hash of a
        feature: the last or the first 8 bytes of MD5.

    Raises
    ------
    ValueError
        Another package.

    Notes
    -----
    With "1e0ng", `sketch` and `sketch_many` read texts as ``Simhash(text)`` does: in lower case, what is neither letter nor
    digit nor underscore left out, 4 characters to a feature, every occurrence counted. What a letter is, Python's ``re``
    says, there and here. A text is str, or bytes of UTF-8.

    References
    ----------
    https://github.com/1e0ng/simhash (2.1.2), https://github.com/seomoz/simhash-py (0.4.0). Charikar (2002), Similarity
    estimation techniques from rounding algorithms, DOI 10.1145/509907.509965.

    Examples
    --------
    >>> hasher = PackageSimHasher("1e0ng")
    >>> sk = hasher.sketch_many(["How are you? I am fine. Thanks.", "How are you? I am fine. Thank you."])
    >>> sk.distance(0, 1)
    7.0
    """

    seed = 0  # which these values do not have
    package: Package

    def __init__(self, package: Package) -> None:
        check_choice("package", package, ("1e0ng", "seomoz"))
        self.package = package
        self._permutations = Permutations(0, 0, NO_COEFFICIENTS, NO_COEFFICIENTS)
        self._digest, self._digest_dtype = _last_of_md5 if package == "1e0ng" else _first_of_md5, ">u8"

    def _parameters(self) -> dict[str, Any]:
        return {
            "kind": "simhash", "version": 1, "bits": 64, "seed": self.seed, "weights": None,
            "method": f"simhash-{self.package}",
        }  # fmt: skip

    @classmethod
    def from_recipe(cls, recipe: Recipe) -> PackageSimHasher:
        """Make the sketcher of a recipe. ValueError where the recipe is of another kind of sketch."""
        known = "method" in recipe and recipe["kind"] == "simhash"
        sketcher = cls(str(recipe["method"]).removeprefix("simhash-") if known else "")  # type: ignore[arg-type]  # checked
        if recipe["weights"] is None:  # else they were given with the hashes
            recipe.check(sketcher.recipe)
        return sketcher

    def _sink(self, n: int, rows: AnyArray | None = None) -> Sink:
        return EqualSums(n, 1, self._permutations)

    def _gather(self, done: Sequence[Any]) -> Simhashes:
        return gather_simhashes(done, self.recipe)

    def sketch_piece(self, piece: tuple[int, Sequence[Text]], rows: Any = None) -> Any:
        if self.package != "1e0ng":
            self._refuse_texts()
        first, texts = piece
        hashes, ends = sets_of(self._hash_text(text, first + i) for i, text in enumerate(stoppable(texts)))
        sink = self._sink(len(texts))
        sink.take_sets(hashes, ends)
        return sink

    sketch_piece.__doc__ = ToolSketcher.sketch_piece.__doc__

    def _hash_text(self, text: Text, document: int) -> Any:
        """Hash every occurrence of the features of a text."""
        try:
            content = text.decode() if isinstance(text, bytes) else str(text)
        except UnicodeError as error:
            raise ValueError(f"text {document} is not UTF-8, which 1e0ng/simhash needs: {error}") from error
        kept = "".join(LETTERS.findall(content.lower()))
        counted = Counter(kept[i : i + WIDTH] for i in range(max(1, len(kept) - WIDTH + 1)))
        return np.repeat(self.hash_tokens(counted), list(counted.values()))

    if TYPE_CHECKING:  # what `_gather` makes of the sinks

        def sketch(self, text: Text) -> Simhashes: ...

        def sketch_many(
            self, texts: Iterable[Text], threads: int | None = None, progress: bool | Progress | None = None
        ) -> Simhashes: ...

        def sketch_tokens(self, documents: Iterable[Iterable[Text]]) -> Simhashes: ...

    def sketch_hashes(self, values: ArrayLike, offsets: ArrayLike, weights: ArrayLike | None = None) -> Simhashes:
        """Sketch given multisets of hashes, as ``compute`` of simhash-py does, or ``Simhash`` with a hashfunc.

        Parameters
        ----------
        values : array of uint64
            64-bit hashes of features, such as of `hash_tokens`.
        offsets : array of int, shape (n + 1,)
            Multiset i is values[offsets[i] : offsets[i + 1]]; [0, len(values)] for one.
        weights : array of numbers, shape (len(values),), optional
            None: every occurrence counts 1. Smaller than 2^15 in magnitude, and rounded half to even to multiples of 2^-16;
            others may give another bit than the package where a sum is close to a tie.

        Returns
        -------
        Simhashes

        Raises
        ------
        TypeError, ValueError
            As in `SimHasher.sketch_hashes`.
        """
        if weights is not None:
            sums = sum_weighted_sets(values, offsets, weights, self._permutations, 64)
            return gather_simhashes([sums], self._recipe_of_given_weights)
        made = super().sketch_hashes(values, offsets)
        assert isinstance(made, Simhashes)
        return made

    def read_values(self, values: ArrayLike, ids: Sequence[str] | Sequence[int] | None = None) -> Simhashes:
        """Take values that the package computed.

        Parameters
        ----------
        values : array of uint64, shape (n,)
            ``[simhash.value for simhash in …]``. Of signed columns of a database, ``array.view(np.uint64)``.
        ids : sequence of str or of int, optional

        Returns
        -------
        Simhashes
            A value of 0 is taken as a document without features, and not valid.

        Raises
        ------
        TypeError, ValueError
            A value is not an unsigned 64-bit integer.

        Examples
        --------
        >>> from ndcore import HammingIndex
        >>> old = PackageSimHasher("1e0ng").read_values([0x1234, 0x1235, 0xFFFF_0000])
        >>> ids, distances = HammingIndex(old.values, max_distance=3).query(0x1234)
        >>> ids.tolist(), distances.tolist()
        ([0, 1], [0, 1])
        """
        checked = checked_fingerprints(values, 64)
        valid = checked != 0
        return Simhashes(np.array(checked), self.recipe, sizes=skip_sizes(valid), sizes_exact=~valid, valid=valid, ids=ids)


def _last_of_md5(feature: bytes) -> bytes:
    return hashlib.md5(feature, usedforsecurity=False).digest()[-8:]


def _first_of_md5(feature: bytes) -> bytes:
    return hashlib.md5(feature, usedforsecurity=False).digest()[:8]
