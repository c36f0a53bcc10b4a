"""The base of sketchers that compute the values of other tools, so that what was computed there can be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ndcore._types import Ints, Text, UInts
from ndcore.recipe import Recipe, Value
from ndcore.sketch.sketcher import Sketcher
from ndcore.sketch.sketches import Sketches
from ndcore.text.inputs import as_bytes

GIVEN: Value = {"kind": "set of given hashes", "version": 1, "unit": "hash"}  # in recipes, in place of a shingling


class ToolSketcher(Sketcher):
    """Base of sketchers of another tool's values: hashes that this tool makes of features take the place of shingles.

    The recipe has the tool as its `method`, so these sketches compare with each other and with no others. It does not say
    how features were made of texts, which the values of other tools do not tell.
    """

    exact_sizes = False
    _digest: Callable[[bytes], bytes]  # of a feature, and how its bytes are read
    _digest_dtype: str

    def _recipe(self, **other: Any) -> Recipe:
        return Recipe({**self._parameters(), **other, "shingling": GIVEN})

    if not TYPE_CHECKING:  # an attribute of other sketchers

        @property
        def shingling(self) -> NoReturn:
            """Raise TypeError: features were made of texts by another tool."""
            self._refuse_texts()

    def _refuse_texts(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} has no rule by which texts become features: give features to sketch_tokens, "
                        "or their hashes to sketch_hashes")

    def sketch_piece(self, piece: tuple[int, Sequence[Text]], rows: Any = None) -> Any:
        self._refuse_texts()

    sketch_piece.__doc__ = Sketcher.sketch_piece.__doc__

    def hash_tokens(self, tokens: Iterable[Text]) -> UInts:
        """Hash features as the tool does by default.

        Parameters
        ----------
        tokens : iterable of str or bytes
            str are hashed as UTF-8.

        Returns
        -------
        ndarray of uint64
            One for each, in their order.

        Raises
        ------
        TypeError
            A feature is neither str nor bytes, or `tokens` is a single text.
        """
        return self._hash(tokens, "tokens")

    def _hash(self, tokens: Iterable[Text], what: str) -> UInts:
        if isinstance(tokens, (str, bytes)):
            raise TypeError(f"{what} is a {type(tokens).__name__}, a single text; give its tokens, for example text.split()")
        digests = []
        for i, token in enumerate(tokens):
            if not isinstance(token, (str, bytes)):
                raise TypeError(f"{what}[{i}] is a {type(token).__name__}; features are str or bytes")
            digests.append(self._digest(as_bytes(token)))
        return np.frombuffer(b"".join(digests), self._digest_dtype).astype(np.uint64)

    def sketch_tokens(self, documents: Iterable[Iterable[Text]]) -> Sketches:
        """Sketch documents that are given by their features, hashed as the tool does by default.

        Parameters
        ----------
        documents : iterable of iterables of str or bytes
            What was given to the other tool: words, shingles as strings.

        Returns
        -------
        Sketches

        Raises
        ------
        TypeError
            As in `hash_tokens`.

        Notes
        -----
        Most of the time goes into the hash, some 0.5 µs a feature.
        """
        return self.sketch_hashes(*sets_of(self._hash(tokens, f"documents[{i}]") for i, tokens in enumerate(documents)))


def sets_of(hashed: Iterable[UInts]) -> tuple[UInts, Ints]:
    """Join arrays of hashes to values and offsets, as `sketch_hashes` takes them."""
    arrays = [np.empty(0, np.uint64), *hashed]
    return np.concatenate(arrays), np.cumsum([len(array) for array in arrays]).astype(np.int64)
