"""Ids in memory and in files: integers in one array, or concatenated strings in an array of bytes.

In an array as wide as the longest string, one URL of 2,000 characters would cost 8 KB in every row.

Every store of ids in the package keeps its strings in a `PackedStrings`: rows of an index (`hamming.ids`), documents of a
collection (`collection.ids`), and files of sketches, by `pack_ids` and `unpack_ids`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._types import AnyArray, Ints
from ndcore.storage.container import CorruptFile

ROWS_AT_ONCE = 1 << 16
MIXED = "ids that can be saved are all str or all integers of 64 bits"


class PackedStrings:
    """Immutable concatenated strings 0, 1, …; `extended` makes a longer object that shares the memory.

    Attributes
    ----------
    text : bool
        str, stored as UTF-8 (with surrogatepass); otherwise bytes.
    data : uint8
        The bytes of all strings, one after another. Spare room may follow.
    ends : int64
        String i is data[ends[i]:ends[i + 1]]. Spare room may follow.
    count : int
    """

    text: bool
    data: NDArray[np.uint8]
    ends: Ints
    count: int

    def __init__(self, text: bool, data: NDArray[np.uint8], ends: Ints, count: int, place: str = "strings") -> None:
        self.text, self.data, self.ends, self.count, self._place = text, data, ends, count, place

    @classmethod
    def of(cls, strings: Iterable[str] | Iterable[bytes], text: bool) -> PackedStrings:
        """Copy and concatenate strings."""
        encoded = [x.encode("utf-8", "surrogatepass") if isinstance(x, str) else x for x in strings]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return cls(text, np.frombuffer(b"".join(encoded), np.uint8), ends, len(encoded))

    @classmethod
    def restored(cls, text: bool, data: AnyArray, ends: AnyArray, count: int, place: str = "strings") -> PackedStrings:
        """Wrap the arrays of a file, named by `place`. Raises ValueError if they do not fit each other.

        Reads only the first and the last end; `check` reads all.
        """
        fits = data.dtype == np.uint8 and data.ndim == 1 and ends.dtype == np.int64 and ends.shape == (count + 1,)
        if not (fits and ends[0] == 0 and ends[-1] == len(data)):
            raise ValueError(f"{count} ids do not lie in {data.dtype} {data.shape} as {ends.dtype} {ends.shape} says")
        return cls(text, data, ends, count, place)

    def __len__(self) -> int:
        return self.count

    def check(self) -> None:
        """Raise ValueError if a string ends before it begins, or a str is not UTF-8. O(bytes)."""
        ends = self.ends[:self.count + 1]
        if (np.diff(ends) < 0).any():
            raise ValueError("it has ids that end before they begin")
        for at in range(0, self.count if self.text else 0, ROWS_AT_ONCE):
            some = ends[at:at + ROWS_AT_ONCE + 1]
            str(self.data.data[some[0]:some[-1]], "utf-8", "surrogatepass")
            begins = some[:-1][some[1:] > some[:-1]]
            if (self.data[begins] & 0xC0 == 0x80).any():
                raise ValueError("it has ids that begin inside of a character")

    @property
    def kind(self) -> str:
        """NumPy's letter for the dtype of arrays of these strings: U or S."""
        return "U" if self.text else "S"

    def __getitem__(self, rows: Ints) -> AnyArray:
        """Return an array of the strings in these rows, as wide as the longest."""
        view, ends = self.data.data, zip(self.ends[rows].tolist(), self.ends[rows + 1].tolist(), strict=True)
        if self.text:
            try:
                return np.array([str(view[a:b], "utf-8", "surrogatepass") for a, b in ends], np.str_)
            except UnicodeDecodeError as error:
                raise CorruptFile(f"{self._place}: an id is not text: {error}") from error
        return np.array([bytes(view[a:b]) for a, b in ends], np.bytes_)

    def encoded(self, begin: int = 0) -> Iterator[bytes]:
        """Iterate over the bytes of the strings from row `begin` on."""
        view = self.data.data
        return (bytes(view[a:b]) for a, b in itertools.pairwise(self.ends[begin:self.count + 1].tolist()))

    def bytes_at(self, row: int) -> bytes:
        """Return the bytes of one string. Raises ValueError if its ends lie outside the data."""
        begin, end = int(self.ends[row]), int(self.ends[row + 1])
        if not 0 <= begin <= end <= len(self.data):
            raise ValueError("lies outside the ids")
        return self.data[begin:end].tobytes()

    def bytes_of(self, rows: Ints) -> list[bytes]:
        """Return the bytes of some strings. Raises ValueError like `bytes_at`."""
        begins, ends, view = self.ends[rows], self.ends[rows + 1], self.data.data
        if not ((begins >= 0) & (begins <= ends) & (ends <= len(self.data))).all():
            raise ValueError("lies outside the ids")
        return [bytes(view[a:b]) for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]

    def decode(self, encoded: bytes) -> str | bytes:
        """Decode the bytes of one string."""
        return encoded.decode("utf-8", "surrogatepass") if self.text else encoded

    def tolist(self) -> list[Any]:
        """Return all strings as Python objects."""
        ends = self.ends[:self.count + 1].tolist()
        data = self.data[:ends[-1]].tobytes()
        if self.text:
            if data.isascii():
                whole = data.decode()
                return [whole[a:b] for a, b in itertools.pairwise(ends)]
            return [data[a:b].decode("utf-8", "surrogatepass") for a, b in itertools.pairwise(ends)]
        return [data[a:b] for a, b in itertools.pairwise(ends)]

    def hashes(self) -> Ints:
        """Hash each string like `hashes_of`."""
        return hashes_of(self.encoded(), self.count)

    def trimmed(self) -> PackedStrings:
        """Return the same strings without spare room."""
        return PackedStrings(self.text, self.data[:self.ends[self.count]], self.ends[:self.count + 1], self.count)

    def extended(self, more: PackedStrings) -> PackedStrings:
        """Return these strings and more, using the spare room of this object if it is large enough."""
        if not len(more):
            return self
        used, added = int(self.ends[self.count]), int(more.ends[more.count])
        data, ends = _with_room(self.data, used, added), _with_room(self.ends, self.count + 1, more.count)
        data[used:used + added] = more.data[:added]
        ends[self.count + 1:self.count + 1 + more.count] = more.ends[1:more.count + 1] + used
        return PackedStrings(self.text, data, ends, self.count + more.count)

    def take(self, rows: Ints) -> PackedStrings:
        """Copy the strings of these rows, in their order."""
        return PackedStrings.between(self.text, self.data, self.ends[rows], self.ends[rows + 1])

    @classmethod
    def between(cls, text: bool, data: NDArray[np.uint8], starts: Ints, stops: Ints) -> PackedStrings:
        """Copy the strings data[starts[i] : stops[i]]."""
        sizes = stops - starts
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        copied = np.empty(int(ends[-1]), np.uint8)
        for at in range(0, len(starts), ROWS_AT_ONCE):
            last = min(at + ROWS_AT_ONCE, len(starts))
            inside = np.arange(ends[at], ends[last]) + np.repeat(starts[at:last] - ends[at:last], sizes[at:last])
            copied[ends[at]:ends[last]] = data[inside]
        return cls(text, copied, ends, len(starts))


def pack_ids(ids: Sequence[str] | Sequence[int]) -> dict[str, AnyArray]:
    """Pack ids into the arrays of a file: "ids", or "id_bytes" and "id_offsets".

    TypeError for ids that are neither all str nor all int64.
    """
    if all(isinstance(i, (int, np.integer)) and -(2**63) <= i < 2**63 for i in ids):
        return {"ids": np.array(ids, np.int64)}
    if not all(isinstance(i, str) for i in ids):
        raise TypeError(MIXED)
    packed = PackedStrings.of(map(str, ids), text=True)
    return {"id_bytes": packed.data, "id_offsets": packed.ends}


def unpack_ids(arrays: Mapping[str, AnyArray]) -> list[str] | list[int] | None:
    """Return the ids that `pack_ids` packed; None if a file has none. Raises ValueError if the arrays do not fit."""
    if "ids" in arrays:
        numbers = arrays["ids"]
        if (numbers.dtype.name, numbers.ndim) != ("int64", 1):
            raise ValueError(f"ids are {numbers.dtype.name} of {numbers.ndim} dimensions, not int64 of one")
        ids: list[int] = numbers.tolist()
        return ids
    if "id_bytes" not in arrays:
        return None
    data, ends = arrays["id_bytes"], arrays["id_offsets"]
    packed = PackedStrings.restored(True, data, ends, len(ends) - 1)
    if (np.diff(ends) < 0).any():
        raise ValueError("the offsets of the ids do not ascend")
    return packed.tolist()


def hashes_of(names: Iterable[bytes], n: int) -> Ints:
    """Hash n names by Python's keyed hash, for which nobody can construct collisions. It differs between processes."""
    return np.fromiter(map(hash, names), np.int64, n)


def _with_room(array: AnyArray, used: int, more: int) -> AnyArray:
    """Return the array, or a larger copy of its used part, with room for more."""
    if used + more <= len(array) and array.flags.writeable:
        return array
    grown = np.empty(max(2 * used, used + more), array.dtype)
    grown[:used] = array[:used]
    return grown
