"""Ids of the rows of an index: positions, integers, str or bytes, looked up both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import AnyArray, Bools, Ints
from ndcore.storage.packed_ids import PackedStrings, hashes_of

KINDS = {"i": "integers", "u": "integers", "U": "str", "S": "bytes"}
NO_ROWS = np.empty(0, np.int64)
NO_ROWS.setflags(write=False)
TAIL = 4096  # unsorted rows at the end that a look-up scans


def as_ids(ids: ArrayLike) -> AnyArray | PackedStrings:
    """Convert ids in one dimension to an array of int64 or unsigned integers, or to packed str or bytes.

    TypeError for other types, and where types are mixed.
    """
    given = [ids] if isinstance(ids, (int, str, bytes)) else ids
    if not isinstance(given, (list, tuple)):
        array = np.atleast_1d(np.asarray(given))
        if array.ndim != 1 or (array.dtype.kind not in KINDS and array.dtype.kind not in "OT" and array.size):
            raise TypeError(f"ids are integers, str or bytes in one dimension, got {array.dtype} {array.shape}")
        if array.dtype.kind in "iu":
            return array.astype(np.int64 if array.dtype.kind == "i" else array.dtype.newbyteorder("="), copy=False)
        if array.dtype.kind in "US" and not array.size:
            return PackedStrings.of([], array.dtype.kind == "U")
        given = array.tolist()  # str from pandas, pyarrow and others
    return _convert_list(given)


def _convert_list(given: Sequence[Any]) -> AnyArray | PackedStrings:
    """Convert a list of ids. NumPy would make floats of [1, 2^63], and str of ["a", 1]."""
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
        return PackedStrings.of(given, kind is str)
    low, high = int(min(given, default=0)), int(max(given, default=0))
    if low < -1 << 63 or high >= 1 << 64 or (low < 0 and high >= 1 << 63):
        raise TypeError("ids that are integers are all int64 or all uint64, got "
                        + " and ".join(map(str, sorted({low, high}))))
    return np.array(given, np.int64 if high < 1 << 63 else np.uint64)


def _kind(ids: AnyArray | PackedStrings) -> str:
    """Name the kind of ids, for messages."""
    return KINDS[ids.kind if isinstance(ids, PackedStrings) else ids.dtype.kind]


class RowIds:
    """Ids of rows 0, 1, …; `extended` adds rows at the end.

    Until ids are given or rows are dropped, the id of a row is its number.
    """

    def __init__(self, counted: bool) -> None:
        self.counted = counted  # ids are assigned by counting
        self.count = 0  # rows
        self._next = 0  # the next id to assign
        self._ids: AnyArray | PackedStrings | None = None  # with spare room at the end; None: row i has id i
        self._order = NO_ROWS  # the first rows, by ascending id or by the hashes of strings
        self._hashes = NO_ROWS  # hashes of these rows, ascending

    @classmethod
    def of(cls, ids: AnyArray | PackedStrings | None, count: int, following: int | None) -> RowIds:
        """Wrap the ids of `count` rows; None: 0, 1, …. `following` is the next id where ids are counted."""
        row_ids = cls(following is not None)
        row_ids._ids, row_ids.count, row_ids._next = ids, count, following or 0
        return row_ids

    @classmethod
    def restored(cls, ids: AnyArray | PackedStrings | None, count: int, following: int | None) -> RowIds:
        """Wrap the ids of a file. Raises ValueError if they do not fit each other."""
        if ids is not None and not isinstance(ids, PackedStrings) and (ids.dtype.kind not in "iu" or ids.shape != (count,)):
            raise ValueError(f"it has {count} fingerprints and ids of {ids.dtype} {ids.shape}")
        counted = count if following is None else following
        if (ids is None and following is None and count) or not 0 <= count <= counted < 1 << 62:
            raise ValueError(f"it has {count} fingerprints, and the next id is {following}")
        return cls.of(ids, count, following)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the order and the hashes, which differ between processes; a look-up rebuilds them."""
        return {**self.__dict__, "_order": NO_ROWS, "_hashes": NO_ROWS}

    @property
    def kind(self) -> str:
        """Kind of the ids, in words."""
        return KINDS["i"] if self._ids is None else _kind(self._ids)

    @property
    def stored(self) -> AnyArray | PackedStrings | None:
        """Ids of all rows, without spare room; None if they are 0, 1, …"""
        if self._ids is None:
            return None
        return self._ids.trimmed() if isinstance(self._ids, PackedStrings) else self._ids[:self.count]

    @property
    def following(self) -> int | None:
        """The next id where ids are counted; else None."""
        return self._next if self.counted else None

    def __getitem__(self, rows: Any) -> AnyArray:
        if self._ids is None or isinstance(self._ids, PackedStrings):
            return np.asarray(rows) if self._ids is None else self._ids[rows]
        return np.asarray(self._ids[:self.count][rows])

    def extended(self, ids: ArrayLike | None, n: int) -> RowIds:
        """Return these ids and n more; this object does not change.

        TypeError or ValueError where the given ids are not n, or are of another kind.
        """
        given: AnyArray | PackedStrings | None
        if ids is None:
            if not self.counted:
                raise TypeError(f"ids are needed: this index has ids, {self.kind}")
            given = None if self._ids is None else np.arange(self._next, self._next + n)
        else:
            given = self._check_more(as_ids(ids), n)
        row_ids = RowIds.of(None if given is None else self._append(given), self.count + n,
                            self._next + n if self.counted else None)
        row_ids._order, row_ids._hashes = self._order, self._hashes
        return row_ids

    def _check_more(self, given: AnyArray | PackedStrings, n: int) -> AnyArray | PackedStrings:
        """Check the ids given for n more rows."""
        if len(given) != n:
            raise ValueError(f"{len(given)} ids for {n} fingerprints; give one for each")
        if self.counted:
            raise TypeError("this index counts its ids; leave ids out, or give ids from the beginning")
        if self.count and n and _kind(given) != self.kind:
            raise TypeError(f"this index has {self.kind} as ids, got {_kind(given)}")
        return given

    def _append(self, given: AnyArray | PackedStrings) -> AnyArray | PackedStrings:
        """Append the given ids, in the spare room of the array where it is large enough."""
        if self._ids is None or not self.count:
            return given if isinstance(given, PackedStrings) else given.copy()
        if not len(given):
            return self._ids  # which may be a mapped file: never write to it
        if isinstance(given, PackedStrings):
            assert isinstance(self._ids, PackedStrings)  # they are of the same kind
            return self._ids.extended(given)
        assert not isinstance(self._ids, PackedStrings)
        array, dtype = self._ids, _common_dtype(self._ids[:self.count], given)
        if self.count + len(given) > len(array) or dtype != array.dtype:
            array = np.empty(max(2 * self.count, self.count + len(given)), dtype)
            array[:self.count] = self._ids[:self.count]
        array[self.count:self.count + len(given)] = given
        return array

    def kept(self, rows: Ints) -> RowIds:
        """Keep only the ids of these rows, which ascend; they get the row numbers 0, 1, …."""
        ids = self._ids.take(rows) if isinstance(self._ids, PackedStrings) else self[rows].copy()
        return RowIds.of(ids, len(rows), self.following)

    def rows_of(self, ids: ArrayLike, removed: Bools | None) -> Ints:
        """Find the rows that have these ids, without removed ones. KeyError names the first id that has none."""
        asked = as_ids(ids)
        if self.count and len(asked) and _kind(asked) != self.kind:
            raise TypeError(f"this index has {self.kind} as ids, got {_kind(asked)}")
        if isinstance(asked, PackedStrings):
            return self._rows_of_strings(asked, removed)
        asked = np.unique(asked)
        rows, there = np.empty(0, np.int64), np.zeros(len(asked), np.bool_)
        if self.count and len(asked):
            assert not isinstance(self._ids, PackedStrings)  # they are of the same kind
            wanted = asked.astype(np.int64 if self._ids is None else self._ids.dtype)  # else searched for as floats
            fit = wanted.astype(asked.dtype) == asked  # old NumPy compares int64 with uint64 as floats, too
            fit &= (wanted < 0) == (asked < 0)
            rows = self._rows_of_integers(wanted[fit])
            if removed is not None:
                rows = rows[~removed[rows]]
            there[fit] = np.isin(wanted[fit], self[rows])
        if not there.all():
            raise KeyError(f"no fingerprint has the id {asked[~there][0].item()!r}")
        return rows

    def _rows_of_strings(self, asked: PackedStrings, removed: Bools | None) -> Ints:
        """Find rows by ids that are strings: by their hashes, then by comparison."""
        names = list(dict.fromkeys(asked.encoded()))
        stored = self._ids if isinstance(self._ids, PackedStrings) and self.count else PackedStrings.of([], asked.text)
        if len(stored) - len(self._order) > TAIL:
            hashes = stored.hashes()
            self._order = np.argsort(hashes, kind="stable")
            self._hashes = hashes[self._order]
        tail: dict[bytes, list[int]] = {}
        for row, name in enumerate(stored.encoded(len(self._order)), len(self._order)):
            tail.setdefault(name, []).append(row)
        hashes = hashes_of(names, len(names))
        first, last = (np.searchsorted(self._hashes, hashes, side).tolist() for side in ("left", "right"))
        rows: list[int] = []
        for name, a, b in zip(names, first, last, strict=True):
            holders = [row for row in self._order[a:b].tolist() if stored.bytes_at(row) == name] + tail.get(name, [])
            if removed is not None:
                holders = [row for row in holders if not removed[row]]
            if not holders:
                raise KeyError(f"no fingerprint has the id {asked.decode(name)!r}")
            rows += holders
        return np.array(rows, np.int64)

    def _rows_of_integers(self, wanted: AnyArray) -> Ints:
        """Find the rows whose ids are these integers, given in the dtype of the ids."""
        if self._ids is None or isinstance(self._ids, PackedStrings):
            return wanted[(wanted >= 0) & (wanted < self.count)]
        array = self._ids[:self.count]
        if self.count - len(self._order) > TAIL:
            self._order = np.argsort(array, kind="stable")
        known = len(self._order)
        first, last = (np.searchsorted(array[:known], wanted, side, sorter=self._order) for side in ("left", "right"))
        tail = np.arange(known, self.count)
        return np.concatenate([*(self._order[a:b] for a, b in zip(first, last, strict=True)),
                               tail[np.isin(array[tail], wanted)]]).astype(np.int64)


def _common_dtype(stored: AnyArray, given: AnyArray) -> np.dtype[Any]:
    """Choose a dtype that holds both. Raises TypeError if it would need both negative numbers and numbers above 2^63."""
    dtype = np.promote_types(stored.dtype, given.dtype)
    if dtype.kind != "f":
        return dtype
    for a, b in ((stored, given), (given, stored)):
        if b.min() >= 0 if a.dtype.kind == "u" else b.max() < 1 << 63:
            return np.dtype(np.uint64 if a.dtype.kind == "u" else np.int64)
    wrong = given.min() if given.min() < 0 else given.max()
    raise TypeError(f"ids that are integers are all int64 or all uint64, got {wrong} where this index has {stored.dtype}")
