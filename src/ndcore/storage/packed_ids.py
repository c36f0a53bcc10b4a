"""Many str, or many bytes, end to end in one array, each as long as it is."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Ints
from ndcore.storage.container import CorruptFile

__all__ = ["PackedStrings"]


AT_ONCE = 1 << 16


class PackedStrings:
    """Strings 0, 1, …, which never change; more come at the end.

    Attributes
    ----------
    text : bool
        str, which lie as UTF-8 (with surrogatepass), or bytes.
    data : uint8
        One after another; there may be room at the end.
    ends : int64
        String i is data[ends[i]:ends[i + 1]]; there may be room at the end.
    count : int
    """

    def __init__(self, text: bool, data: NDArray[np.uint8], ends: Ints, count: int, place: str = "strings") -> None:
        self.text, self.data, self.ends, self.count, self._place = text, data, ends, count, place

    @classmethod
    def of(cls, given: Iterable[str] | Iterable[bytes], text: bool) -> PackedStrings:
        """These, one copied after another."""
        listed = [x.encode("utf-8", "surrogatepass") if isinstance(x, str) else x for x in given]
        ends = np.cumsum([0, *map(len, listed)], dtype=np.int64)
        return cls(text, np.frombuffer(b"".join(listed), np.uint8), ends, len(listed))

    @classmethod
    def restored(
        cls, text: bool, data: NDArray[Any], ends: NDArray[Any], count: int, place: str = "strings",
    ) -> PackedStrings:
        """Those of a file, which `place` names; ValueError where they do not fit each other. What is between the ends is not
        looked at: `check` does that."""
        sound = data.dtype == np.uint8 and data.ndim == 1 and ends.dtype == np.int64 and ends.shape == (count + 1,)
        if not (sound and ends[0] == 0 and ends[-1] == len(data)):
            raise ValueError(f"{count} ids do not lie in {data.dtype} {data.shape} as {ends.dtype} {ends.shape} says")
        return cls(text, data, ends, count, place)

    def __len__(self) -> int:
        return self.count

    def check(self) -> None:
        """ValueError where a string ends before it begins, or str are not in UTF-8. O(bytes)."""
        ends = self.ends[:self.count + 1]
        if (np.diff(ends) < 0).any():
            raise ValueError("it has ids that end before they begin")
        for at in range(0, self.count if self.text else 0, AT_ONCE):
            some = ends[at:at + AT_ONCE + 1]
            str(memoryview(self.data)[some[0]:some[-1]], "utf-8", "surrogatepass")
            begins = some[:-1][some[1:] > some[:-1]]
            if (self.data[begins] & 0xC0 == 0x80).any():
                raise ValueError("it has ids that begin inside of a character")

    @property
    def kind(self) -> str:
        """Of the arrays that come out of this, as of dtypes: U or S."""
        return "U" if self.text else "S"

    def __getitem__(self, rows: Ints) -> NDArray[Any]:
        """An array of these strings, as wide as the longest."""
        view, ends = memoryview(self.data), zip(self.ends[rows].tolist(), self.ends[rows + 1].tolist(), strict=True)
        if self.text:
            try:
                return np.array([str(view[a:b], "utf-8", "surrogatepass") for a, b in ends], np.str_)
            except UnicodeDecodeError as error:
                raise CorruptFile(f"{self._place}: an id is no text: {error}") from error
        return np.array([bytes(view[a:b]) for a, b in ends], np.bytes_)

    def encoded(self, begin: int = 0) -> Iterator[bytes]:
        """The bytes of the strings from one on."""
        view = memoryview(self.data)
        return (bytes(view[a:b]) for a, b in itertools.pairwise(self.ends[begin:self.count + 1].tolist()))

    def at(self, row: int) -> bytes:
        """The bytes of one string."""
        return self.data[self.ends[row]:self.ends[row + 1]].tobytes()

    def shown(self, encoded: bytes) -> str | bytes:
        """A string of its bytes."""
        return encoded.decode("utf-8", "surrogatepass") if self.text else encoded

    def hashes(self) -> Ints:
        """Return a hash of each, as `hashes_of` does."""
        return hashes_of(self.encoded(), self.count)

    def trimmed(self) -> PackedStrings:
        """The same without room."""
        return PackedStrings(self.text, self.data[:self.ends[self.count]], self.ends[:self.count + 1], self.count)

    def extended(self, more: PackedStrings) -> PackedStrings:
        """These and more; into the room of this one where there is enough."""
        if not len(more):
            return self
        used, added = int(self.ends[self.count]), int(more.ends[more.count])
        data, ends = _with_room(self.data, used, added), _with_room(self.ends, self.count + 1, more.count)
        data[used:used + added] = more.data[:added]
        ends[self.count + 1:self.count + 1 + more.count] = more.ends[1:more.count + 1] + used
        return PackedStrings(self.text, data, ends, self.count + more.count)

    def taken(self, rows: Ints) -> PackedStrings:
        """Those of these rows, in their order."""
        sizes = self.ends[rows + 1] - self.ends[rows]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        data = np.empty(int(ends[-1]), np.uint8)
        for at in range(0, len(rows), AT_ONCE):
            some = rows[at:at + AT_ONCE]
            last = min(at + AT_ONCE, len(rows))
            inside = np.arange(ends[at], ends[last]) + np.repeat(self.ends[some] - ends[at:last], sizes[at:last])
            data[ends[at]:ends[last]] = self.data[inside]
        return PackedStrings(self.text, data, ends, len(rows))


def hashes_of(names: Iterable[bytes], n: int) -> Ints:
    """Hash n names by Python's keyed hash: names that share one cannot be made on purpose. It differs between processes."""
    return np.fromiter(map(hash, names), np.int64, n)


def _with_room(array: NDArray[Any], used: int, more: int) -> NDArray[Any]:
    """The array itself, or a copy of what is used of it, with room for more."""
    if used + more <= len(array) and array.flags.writeable:
        return array
    grown = np.empty(max(2 * used, used + more), array.dtype)
    grown[:used] = array[:used]
    return grown
