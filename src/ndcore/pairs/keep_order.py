"""The order in which documents are decided, and those to which equal ones are collapsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import Bools, Ints
from ndcore.checks import is_missing

Labels = ArrayLike | Callable[[], ArrayLike]


class KeepOrder(NamedTuple):
    """The order in which documents are decided.

    Attributes
    ----------
    order : int64 (documents,)
        Positions in keep order.
    rank : int64 (documents,)
        The place of each document in keep order.
    fixed : bool (documents,)
        Documents that are representatives in any case; they are first in order.
    """

    order: Ints
    rank: Ints
    fixed: Bools

    @classmethod
    def of(cls, keep: Any, n: int, fixed: int, lengths: Ints | None) -> KeepOrder:
        """Order n documents by `keep`: "first", "longest", or priorities, ties by position; after them `fixed` others."""
        if not isinstance(keep, str):
            priorities = np.asarray(keep() if callable(keep) else keep)
        elif keep == "first":
            priorities = np.arange(n)
        elif keep != "longest":
            raise ValueError(f"keep must be 'first', 'longest' or priorities, got {keep!r}")
        elif lengths is None:
            raise ValueError("keep='longest' needs the texts; sketches do not know how long they were")
        else:
            priorities = -lengths
        if priorities.shape != (n,):
            raise ValueError(f"keep has shape {priorities.shape}; there are {n} documents")
        missing: Bools = priorities != priorities  # NaN, NaT
        if priorities.dtype.kind == "O":
            missing = np.fromiter(map(is_missing, priorities), np.bool_, n)
        if missing.any():
            first = int(np.argmax(missing))
            raise ValueError(f"the priority of document {first} is {priorities[first]}, a missing value; give it one")
        try:
            ascending = np.argsort(priorities, kind="stable")
        except TypeError as error:
            raise TypeError(f"the priorities of keep cannot be compared: {error}") from None
        order = np.concatenate([np.arange(n, n + fixed), ascending])
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(rank))
        return cls(order, rank, np.arange(len(order)) >= n)


@dataclass(frozen=True)
class Leaders:
    """The keep order, and the document to which each one is collapsed.

    Attributes
    ----------
    keep : KeepOrder
        The documents of `against` come first, and are never dropped.
    version : int64 (documents,)
        The first document in keep order with the same label of ``one_per``. Only documents that are their own version
        are compared with others.
    leader : int64 (documents,)
        The first of the compared documents that is identical or lexically equivalent.
    by : int64 (documents,) or None
        The label of ``by`` of each document, as a number.
    group : int64 (documents,) or None
        The same for ``by`` and ``must_agree`` together: only documents of the same group are compared.
    """

    keep: KeepOrder
    version: Ints
    leader: Ints
    by: Ints | None
    group: Ints | None

    @property
    def compared(self) -> Bools:
        """bool (documents,): documents that are their own version and their own leader."""
        own = np.arange(len(self.version))
        compared: Bools = (self.version == own) & (self.leader == own)
        return compared


def number_labels(name: str, labels: Labels | None, n: int) -> Ints | None:
    """Number the labels of n documents, with the same number for equal labels; None for None."""
    if labels is None:
        return None
    values = labels() if callable(labels) else labels
    array = np.asarray(values, object if isinstance(values, (list, tuple)) else None)  # 1 and "1", "a" and "a\0" stay apart
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}; there are {n} documents")
    for i, label in enumerate(array.tolist() if array.dtype.kind in "Of" else ()):
        if is_missing(label):
            raise ValueError(f"{name}: the label of document {i} is {label!r}, a missing value; give it one of its own")
    if array.dtype.kind != "O":
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    codes: dict[Any, int] = {}
    return np.fromiter((codes.setdefault(label, len(codes)) for label in array.tolist()), np.int64, n)
