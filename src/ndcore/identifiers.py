"""Ids of rows: counted positions, integers, str or bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Identifiers", "as_ids"]

Ints = NDArray[np.int64]

KINDS = {"i": "integers", "u": "integers", "U": "str", "S": "bytes"}
TAIL = 4096  # rows past the sorted ones that a look-up reads through


def as_ids(ids: ArrayLike) -> NDArray[Any]:
    """Ids in one dimension, as an array of integers, str or bytes; TypeError for what is none of them, or mixed."""
    array = np.atleast_1d(np.asarray(ids))
    if array.size == 0 and array.ndim == 1:
        return array.astype(np.int64) if array.dtype.kind not in KINDS else array
    if array.dtype.kind == "O":  # what pandas makes of str
        array = np.atleast_1d(np.asarray(array.tolist()))
    if array.ndim != 1 or array.dtype.kind not in KINDS:
        raise TypeError(f"ids are integers, str or bytes in one dimension, got {array.dtype} {array.shape}")
    if not isinstance(ids, np.ndarray) and array.tolist() != (list(ids) if isinstance(ids, (list, tuple)) else [ids]):
        raise TypeError("ids are all integers, all str or all bytes, and none ends with a NUL character")
    return array.astype(np.int64) if array.dtype.kind == "i" else array


class Identifiers:
    """The ids of rows 0, 1, …, to which more are added at the end.

    Until ids are given or rows dropped, the id of a row is its number.
    """

    def __init__(self, counted: bool) -> None:
        self.counted = counted  # ids are given out by counting
        self.count = 0  # rows
        self._next = 0  # the next id to give out
        self._ids: NDArray[Any] | None = None  # with room at the end; None: row i has id i
        self._order = np.empty(0, np.int64)  # the first rows by ascending id

    @classmethod
    def of(cls, ids: NDArray[Any] | None, count: int, following: int | None) -> Identifiers:
        """Those of a file: the ids (None: counted from 0), how many, the next one where they are counted."""
        made = cls(following is not None)
        made._ids, made.count, made._next = ids, count, following or 0
        return made

    @property
    def array(self) -> NDArray[Any]:
        """The ids of all rows."""
        return np.arange(self.count) if self._ids is None else self._ids[:self.count]

    @property
    def stored(self) -> NDArray[Any] | None:
        """The ids of all rows, or None where they are 0, 1, …"""
        return None if self._ids is None else self.array

    @property
    def following(self) -> int | None:
        """The next id by counting; None where ids are given."""
        return self._next if self.counted else None

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        return np.asarray(rows) if self._ids is None else np.asarray(self._ids[:self.count][rows])

    def extend(self, ids: ArrayLike | None, n: int) -> None:
        """Add n rows. TypeError or ValueError, and nothing is added, where the ids are not n or of another kind."""
        if ids is None:
            if not self.counted:
                raise TypeError(f"ids are needed: this index has ids, {KINDS[self.array.dtype.kind]}")
            if self._ids is not None:
                self._append(np.arange(self._next, self._next + n))
            self.count, self._next = self.count + n, self._next + n
            return
        given = as_ids(ids)
        if len(given) != n:
            raise ValueError(f"{len(given)} ids for {n} fingerprints; give one for each")
        if self.counted:
            raise TypeError("this index counts its ids; leave ids out, or give ids from the beginning")
        if self.count and n and KINDS[given.dtype.kind] != KINDS[self.array.dtype.kind]:
            raise TypeError(f"this index has {KINDS[self.array.dtype.kind]} as ids, got {KINDS[given.dtype.kind]}")
        self._append(given)
        self.count += n

    def _append(self, given: NDArray[Any]) -> None:
        if self._ids is None or not self.count:
            self._ids = given.copy()
            return
        if not len(given):
            return  # there is nothing to write into what may be a mapped file
        dtype = np.promote_types(self._ids.dtype, given.dtype)
        if dtype.kind == "f":
            raise TypeError(f"ids of {self._ids.dtype} and of {given.dtype} have no common integers: use one of them")
        if self.count + len(given) > len(self._ids) or dtype != self._ids.dtype:
            grown = np.empty(max(2 * self.count, self.count + len(given)), dtype)
            grown[:self.count] = self._ids[:self.count]
            self._ids = grown
        self._ids[self.count:self.count + len(given)] = given

    def keep(self, rows: Ints) -> None:
        """Only these rows, ascending, numbered anew."""
        self._ids, self.count, self._order = self[rows].copy(), len(rows), np.empty(0, np.int64)

    def rows_of(self, ids: ArrayLike, removed: NDArray[np.bool_] | None) -> Ints:
        """Rows that have these ids, but removed ones; KeyError names the first id without any."""
        wanted = np.unique(as_ids(ids))
        if self.count and len(wanted) and KINDS[wanted.dtype.kind] != KINDS[self.array.dtype.kind]:
            raise TypeError(f"this index has {KINDS[self.array.dtype.kind]} as ids, got {KINDS[wanted.dtype.kind]}")
        if self.count - len(self._order) > TAIL:
            self._order = np.argsort(self.array, kind="stable")
        array, known = self.array, len(self._order)
        first, last = (np.searchsorted(array[:known], wanted, side, sorter=self._order) for side in ("left", "right"))
        tail = np.arange(known, self.count)
        rows = np.concatenate([*(self._order[a:b] for a, b in zip(first, last, strict=True)),
                               tail[np.isin(array[tail], wanted)]]).astype(np.int64)
        if removed is not None:
            rows = rows[~removed[rows]]
        missing = wanted[~np.isin(wanted, array[rows])]
        if len(missing):
            raise KeyError(f"no fingerprint has the id {missing[0].item()!r}")
        return rows
