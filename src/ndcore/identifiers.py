"""Ids of rows: counted positions, integers, str or bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Identifiers", "as_ids"]

Ints = NDArray[np.int64]

KINDS = {"i": "integers", "u": "integers", "U": "str", "S": "bytes"}
TAIL = 4096  # rows past the sorted ones that a look-up reads through


def as_ids(ids: ArrayLike) -> NDArray[Any]:
    """Ids in one dimension, as an array of int64, of unsigned integers, of str or of bytes; TypeError for what is none of
    them, or mixed."""
    given = [ids] if isinstance(ids, (int, str, bytes)) else ids
    if not isinstance(given, (list, tuple)):
        array = np.atleast_1d(np.asarray(given))
        if array.ndim != 1 or (array.dtype.kind not in KINDS and array.dtype.kind not in "OT" and array.size):
            raise TypeError(f"ids are integers, str or bytes in one dimension, got {array.dtype} {array.shape}")
        if array.dtype.kind in KINDS:
            return array.astype(np.int64 if array.dtype.kind == "i" else array.dtype.newbyteorder("="), copy=False)
        given = array.tolist()  # what pandas, pyarrow and others make of str
    return _listed(given)


def _listed(given: Sequence[Any]) -> NDArray[Any]:
    """Ids of a list. NumPy by itself would make floats of [1, 2^63], str of ["a", 1], and drop NUL characters at the end."""
    kind = next((kind for kind in (str, bytes) if len(given) and isinstance(given[0], kind)), (int, np.integer))
    for id in given:
        if isinstance(id, bool) or not isinstance(id, (int, np.integer, str, bytes)):
            raise TypeError(f"ids are integers, str or bytes in one dimension, got {id!r:.80}")
        if not isinstance(id, kind):
            raise TypeError(f"ids are all integers, all str or all bytes, got {given[0]!r:.80} and {id!r:.80}")
    if kind in (str, bytes):
        for id in given:
            if id[-1:] in ("\0", b"\0"):
                raise TypeError(f"ids do not end with a NUL character, which arrays drop, got {id!r:.80}")
        return np.asarray(given, kind)
    low, high = int(min(given, default=0)), int(max(given, default=0))
    if low < -1 << 63 or high >= 1 << 64 or (low < 0 and high >= 1 << 63):
        raise TypeError("ids that are integers are all int64 or all uint64, got "
                        + " and ".join(map(str, sorted({low, high}))))
    return np.array(given, np.int64 if high < 1 << 63 else np.uint64)


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
        """These ids (None: counted from 0), how many, the next one where they are counted."""
        made = cls(following is not None)
        made._ids, made.count, made._next = ids, count, following or 0
        return made

    @classmethod
    def restored(cls, ids: NDArray[Any] | None, count: int, following: int | None) -> Identifiers:
        """Those of a file; ValueError where they do not fit each other."""
        if ids is not None and (ids.dtype.kind not in KINDS or ids.shape != (count,)):
            raise ValueError(f"it has {count} fingerprints and ids of {ids.dtype} {ids.shape}")
        counted = count if following is None else following
        if (ids is None and following is None and count) or not 0 <= count <= counted < 1 << 62:
            raise ValueError(f"it has {count} fingerprints, and the next id is {following}")
        return cls.of(ids, count, following)

    @property
    def kind(self) -> str:
        """What the ids are, in words."""
        return KINDS["i" if self._ids is None else self._ids.dtype.kind]

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

    def extended(self, ids: ArrayLike | None, n: int) -> Identifiers:
        """These and n rows more; these stay as they are. TypeError or ValueError where the ids are not n or of another
        kind."""
        if ids is None:
            if not self.counted:
                raise TypeError(f"ids are needed: this index has ids, {self.kind}")
            given = None if self._ids is None else np.arange(self._next, self._next + n)
        else:
            given = as_ids(ids)
            if len(given) != n:
                raise ValueError(f"{len(given)} ids for {n} fingerprints; give one for each")
            if self.counted:
                raise TypeError("this index counts its ids; leave ids out, or give ids from the beginning")
            if self.count and n and KINDS[given.dtype.kind] != self.kind:
                raise TypeError(f"this index has {self.kind} as ids, got {KINDS[given.dtype.kind]}")
        made = Identifiers.of(None if given is None else self._with(given), self.count + n,
                              self._next + n if self.counted else None)
        made._order = self._order
        return made

    def _with(self, given: NDArray[Any]) -> NDArray[Any]:
        """An array of these ids and the given ones, with room at the end: the same array where it has had room."""
        if self._ids is None or not self.count:
            return given.copy()
        if not len(given):
            return self._ids  # there is nothing to write into what may be a mapped file
        held, dtype = self._ids, _common(self.array, given)
        if self.count + len(given) > len(held) or dtype != held.dtype:
            held = np.empty(max(2 * self.count, self.count + len(given)), dtype)
            held[:self.count] = self.array
        held[self.count:self.count + len(given)] = given
        return held

    def kept(self, rows: Ints) -> Identifiers:
        """Those of these rows only, ascending, numbered anew."""
        return Identifiers.of(self[rows].copy(), len(rows), self.following)

    def rows_of(self, ids: ArrayLike, removed: NDArray[np.bool_] | None) -> Ints:
        """Rows that have these ids, but removed ones; KeyError names the first id without any."""
        asked = np.unique(as_ids(ids))
        rows, there = np.empty(0, np.int64), np.zeros(len(asked), np.bool_)
        if self.count and len(asked):
            if KINDS[asked.dtype.kind] != self.kind:
                raise TypeError(f"this index has {self.kind} as ids, got {KINDS[asked.dtype.kind]}")
            wanted = asked.astype(np.int64 if self._ids is None else self._ids.dtype)  # else searched for as floats
            fit = wanted.astype(asked.dtype) == asked  # old NumPy compares int64 with uint64 as floats, too
            if self.kind == "integers":
                fit &= (wanted < 0) == (asked < 0)
            rows = self._found(wanted[fit])
            if removed is not None:
                rows = rows[~removed[rows]]
            there[fit] = np.isin(wanted[fit], self[rows])
        if not there.all():
            raise KeyError(f"no fingerprint has the id {asked[~there][0].item()!r}")
        return rows

    def _found(self, wanted: NDArray[Any]) -> Ints:
        """Rows that have these ids, of the dtype of those here."""
        if self._ids is None:
            return wanted[(wanted >= 0) & (wanted < self.count)]
        array = self.array
        if self.count - len(self._order) > TAIL:
            self._order = np.argsort(array, kind="stable")
        known = len(self._order)
        first, last = (np.searchsorted(array[:known], wanted, side, sorter=self._order) for side in ("left", "right"))
        tail = np.arange(known, self.count)
        return np.concatenate([*(self._order[a:b] for a, b in zip(first, last, strict=True)),
                               tail[np.isin(array[tail], wanted)]]).astype(np.int64)


def _common(held: NDArray[Any], given: NDArray[Any]) -> np.dtype[Any]:
    """A dtype that has the ids of both; where one is signed and one is not, integers that both are."""
    dtype = np.promote_types(held.dtype, given.dtype)
    if dtype.kind != "f":
        return dtype
    for a, b in ((held, given), (given, held)):
        if b.min() >= 0 if a.dtype.kind == "u" else b.max() < 1 << 63:
            return np.dtype(np.uint64 if a.dtype.kind == "u" else np.int64)
    wrong = given.min() if given.min() < 0 else given.max()
    raise TypeError(f"ids that are integers are all int64 or all uint64, got {wrong} where this index has {held.dtype}")
