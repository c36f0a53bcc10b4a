"""Ids of documents on a shelf, mapped: looked up by position, and positions by id."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ndcore._types import AnyArray, Ints, UInts
from ndcore.storage.container import CorruptFile
from ndcore.storage.packed_ids import MIXED, ROWS_AT_ONCE, PackedStrings, pack_ids
from ndcore.text.shingling import Shingling

LONGEST = 1 << 16  # bytes of an id


class Names:
    """The ids of documents 0 … n − 1: all 64-bit integers, or all str, or none: then positions serve as ids.

    Parameters
    ----------
    arrays : dict of arrays
        From `packed`.
    n : int
        Documents.
    place : str
        Their file, for messages.
    """

    n: int

    def __init__(self, arrays: dict[str, AnyArray], n: int, place: str = "ids") -> None:
        self.n, self._place = n, place
        self._numbers, self._order = arrays.get("ids"), arrays.get("order")
        self._keys, self._strings = arrays.get("keys"), None
        lengths = [len(x) for x in (self._numbers, self._keys, self._order) if x is not None]
        if "id_bytes" in arrays and "id_offsets" in arrays:
            ends = arrays["id_offsets"]
            self._strings = PackedStrings(True, arrays["id_bytes"], ends, len(ends) - 1)
            lengths.append(len(self._strings))
        if any(length != n for length in lengths):
            raise CorruptFile(f"{place}: there are {n} documents, and ids for {', '.join(map(str, lengths))}")

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(self.n))

    @property
    def given(self) -> bool:
        """Whether there are ids; else positions serve as ids."""
        return self._numbers is not None or self._strings is not None

    @staticmethod
    def packed(ids: Sequence[Any] | Iterable[Any]) -> dict[str, AnyArray]:
        """Pack ids into the arrays of their slot, with an order for looking them up.

        TypeError for ids that are neither all integers nor all str. Raises ValueError for one of more than 65,535 bytes.
        """
        parts = [_pack_block(some) for some in _blocks(ids)] or [_pack_block([])]
        if len({tuple(part) for part in parts}) > 1:
            raise TypeError(MIXED)
        arrays = {name: np.concatenate([part.pop(name) for part in parts]) for name in [*parts[0]]}
        if "ids" in arrays:
            return {**arrays, "order": np.argsort(arrays["ids"], kind="stable").astype(np.uint32)}
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(arrays["sizes"])])
        order = np.argsort(arrays["keys"], kind="stable")
        return {"id_bytes": arrays["id_bytes"], "id_offsets": ends, "keys": arrays["keys"][order],
                "order": order.astype(np.uint32)}

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, position: int) -> Any:
        if not 0 <= position < self.n:
            raise IndexError(f"there is no document {position}; positions are 0 to {self.n - 1}")
        if self._numbers is not None:
            return int(self._numbers[position])
        if self._strings is None:
            return position
        try:
            return self._strings.decode(self._strings.bytes_at(position))
        except UnicodeDecodeError as error:
            raise self._corrupt(f"the id of document {position} is not text: {error}") from error
        except ValueError as error:
            raise self._corrupt(f"the id of document {position} {error}") from error

    def take(self, positions: Ints) -> list[Any]:
        """Return the ids of some documents, which exist."""
        if self._strings is None:
            ids: list[Any] = (positions if self._numbers is None else self._numbers[positions]).tolist()
            return ids
        try:
            return [self._strings.decode(encoded) for encoded in self._strings.bytes_of(positions)]
        except ValueError as error:
            raise self._corrupt(f"an id is not text, or {error}") from error

    def _corrupt(self, fault: str) -> CorruptFile:
        """Make the error for damaged ids."""
        return CorruptFile(f"{self._place}: {fault}; build the collection again")

    def positions(self, ident: Any) -> Ints:
        """Find the documents with this id, ascending. Raises KeyError for an unknown id, TypeError for another type."""
        self._check_type(ident)
        positions = self._positions(ident)
        if not len(positions):
            raise KeyError(f"no document has the id {ident!r}")
        return positions

    def first_positions(self, idents: Sequence[Any]) -> Ints:
        """Find the first document with each of many ids, int64 (n,); -1 for an unknown id. Raises TypeError for other types.

        O(log n) for each id; the order is not copied.
        """
        for ident in idents:
            self._check_type(ident)
        first: dict[Any, int]
        if self._strings is not None:
            first = self._first_of_strings([*dict.fromkeys(idents)])
        elif self._numbers is not None:
            first = self._first_of_numbers([ident for ident in dict.fromkeys(map(int, idents)) if -(2**63) <= ident < 2**63])
        else:
            first = {ident: ident for ident in map(int, idents) if 0 <= ident < self.n}
        return np.fromiter((first.get(ident, -1) for ident in idents), np.int64, len(idents))

    def _first_of_strings(self, idents: list[str]) -> dict[Any, int]:
        """Find the first document with each id that some document has, by id."""
        assert self._keys is not None
        short = [ident for ident in idents if len(ident.encode("utf-8", "surrogatepass")) < LONGEST]
        keys = _keys(short)
        begins, ends = (np.searchsorted(self._keys, keys, side) for side in ("left", "right"))
        alone = np.flatnonzero(ends - begins == 1)
        documents = self._documents_at(begins[alone])
        stored = zip(self.take(documents), documents.tolist(), alone.tolist(), strict=True)
        first = {ident: document for ident, document, i in stored if ident == short[i]}
        for i in np.flatnonzero(ends - begins > 1).tolist():
            same = (position for position in self._among([begins[i], ends[i]]).tolist() if self[position] == short[i])
            first.update((short[i], position) for position in itertools.islice(same, 1))
        return first

    def _first_of_numbers(self, idents: list[int]) -> dict[Any, int]:
        """Find the first document with each id that some document has, by id: a binary search for all ids together."""
        assert self._numbers is not None
        wanted = np.array(idents, np.int64)
        low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), self.n, np.int64)
        while (unfinished := np.flatnonzero(low < high)).size:
            middle = (low[unfinished] + high[unfinished]) // 2
            less = self._numbers[self._documents_at(middle)] < wanted[unfinished]
            low[unfinished[less]] = middle[less] + 1
            high[unfinished[~less]] = middle[~less]
        inside = np.flatnonzero(low < self.n)
        documents = self._documents_at(low[inside])
        same = self._numbers[documents] == wanted[inside]
        return dict(zip(wanted[inside][same].tolist(), documents[same].tolist(), strict=True))

    def _documents_at(self, places: Ints | slice) -> Ints:
        """Return the documents at places of the order. Raises CorruptFile if one does not exist."""
        assert self._order is not None
        documents: Ints = self._order[places].astype(np.int64)
        if len(documents) and documents.max() >= self.n:
            raise self._corrupt(f"the order of the ids names document {documents.max()} of {self.n}")
        return documents

    def _check_type(self, ident: Any) -> None:
        """Raise TypeError for an id of another type than these."""
        kind = str if self._strings is not None else int
        if not isinstance(ident, (str, int, np.integer)) or isinstance(ident, str) != (kind is str):
            raise TypeError(f"ids are {kind.__name__} here, got {ident!r:.200}")

    def _positions(self, ident: Any) -> Ints:
        """Find the documents with this id of the right type, ascending; none for an unknown id."""
        if self._numbers is None and self._strings is None:
            return np.array([ident] if 0 <= ident < self.n else [], np.int64)
        assert self._order is not None
        if self._numbers is not None:
            if not -(2**63) <= int(ident) < 2**63:
                return np.empty(0, np.int64)
            numbers, order = self._numbers, self._order  # NumPy would copy the order to search by it
            try:
                span = [bisect(range(self.n), int(ident), key=lambda place: numbers[order[place]])
                        for bisect in (bisect_left, bisect_right)]
            except IndexError as error:  # a position beyond the last
                raise self._corrupt(f"the order of the ids is none: {error}") from error
            return self._among(span)
        assert self._keys is not None
        if len(ident.encode("utf-8", "surrogatepass")) >= LONGEST:
            return np.empty(0, np.int64)
        key = _keys([ident])[0]
        span = [int(np.searchsorted(self._keys, key, side)) for side in ("left", "right")]
        return np.array([position for position in self._among(span).tolist() if self[position] == ident], np.int64)

    def _among(self, span: list[int]) -> Ints:
        """List the documents in a span of the order, ascending."""
        return np.sort(self._documents_at(slice(*span)))


def _blocks(ids: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield ids in lists of bounded length."""
    rest = iter(ids)
    while some := list(itertools.islice(rest, ROWS_AT_ONCE)):
        yield some


def _pack_block(ids: list[Any]) -> dict[str, AnyArray]:
    """Pack some ids: "ids", or of strings "id_bytes", "sizes" and "keys"."""
    arrays = pack_ids(ids)
    if "ids" in arrays:
        return arrays
    sizes = np.diff(arrays["id_offsets"])
    if sizes.max() >= LONGEST:
        raise ValueError(f"an id has {sizes.max()} bytes; at most {LONGEST - 1} are accepted")
    return {"id_bytes": arrays["id_bytes"], "sizes": sizes, "keys": _keys(ids)}


def _keys(ids: list[str]) -> UInts:
    """Fingerprint each id as one shingle: ids are shorter than its width, so the shingle is the whole id."""
    keys = np.zeros(len(ids), np.uint64)
    some = np.fromiter((bool(ident) for ident in ids), np.bool_, len(ids))
    texts = [ident.encode("utf-8", "surrogatepass") for ident in ids if ident]
    keys[some] = Shingling(unit="byte", width=LONGEST).fingerprints_many(texts)[0]
    return keys
