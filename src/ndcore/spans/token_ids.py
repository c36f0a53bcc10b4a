"""Token ids that a caller gives for texts: how they are told from texts, and their check."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import AnyArray, Ints

__all__ = ["Ids", "all_ids", "checked_ids", "refuse_shingling"]

Ids: TypeAlias = tuple[AnyArray, ArrayLike]


def all_ids(**given: Any) -> bool:
    """Tell whether all arguments, by their names, are token ids; None is either.

    Raises
    ------
    TypeError
        Some are token ids, and others are texts.
    """
    named = {name: _is_ids(value) for name, value in given.items() if value is not None}
    if len(set(named.values())) > 1:
        ids, texts = (next(name for name, found in named.items() if found is kind) for kind in (True, False))
        raise TypeError(f"{ids} are token ids, and {texts} is of type {type(given[texts]).__name__}; give a pair "
                        "(ids, offsets) for both, or texts for both")
    return any(named.values())


def _is_ids(given: Any) -> bool:
    """Tell whether an argument is a pair of arrays of numbers."""
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], np.ndarray) and given[0].dtype.kind in "uif"


def checked_ids(name: str, given: Any) -> tuple[AnyArray, Ints]:
    """Return token ids and their offsets, int64; none for None. Raises TypeError or ValueError for others."""
    if given is None:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)  # the narrowest type: others keep theirs
    ids, offsets = given[0], _as_array(name, given[1])
    if ids.dtype.kind != "u" or ids.ndim != 1:
        raise TypeError(f"{name}: token ids are an array of uint8, 16, 32 or 64 in one dimension, got {ids.dtype} of shape "
                        f"{ids.shape}; convert them by astype")
    if offsets.ndim != 1 or offsets.dtype.kind not in "ui" or not len(offsets):
        raise ValueError(f"{name}: offsets are integers, one more than documents; got {offsets.dtype} of shape "
                         f"{offsets.shape}")
    if offsets[0] != 0 or offsets[-1] != len(ids):
        raise ValueError(f"{name}: offsets ascend from 0 to {len(ids)}, the number of ids; these go from {offsets[0]} to "
                         f"{offsets[-1]}")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(falls):
        at = int(falls[0])
        raise ValueError(f"{name}: offsets ascend from 0 to {len(ids)}; offsets[{at + 1}] is {offsets[at + 1]}, below "
                         f"offsets[{at}], which is {offsets[at]}")
    return ids, offsets.astype(np.int64)


def _as_array(name: str, offsets: ArrayLike) -> AnyArray:
    """Return offsets as an array. Raises ValueError where they are sequences of different lengths."""
    try:
        return np.asarray(offsets)
    except ValueError as error:
        raise ValueError(f"{name}: offsets are integers, one more than documents; got {offsets!r:.80}") from error


def refuse_shingling(shingling: object) -> None:
    """Raise ValueError where a shingling is given with token ids."""
    if shingling is not None:
        raise ValueError("shingling=… is for texts; token ids are tokens already")
