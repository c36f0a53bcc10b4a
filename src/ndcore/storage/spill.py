"""Arrays that grow in memory up to a limit, then in an unnamed temporary file."""

from __future__ import annotations

import contextlib
import tempfile
import weakref
from typing import IO

import numpy as np
from numpy.typing import DTypeLike

from ndcore._types import AnyArray, Ints, UInts
from ndcore.storage.disk_space import TEMPORARY, naming

__all__ = ["SpooledArray", "SpooledSets", "temporary_file", "writing_temporary"]


def temporary_file(owner: object) -> IO[bytes]:
    """Open an unnamed temporary file that is closed with its owner. Write to it within `writing_temporary`."""
    with writing_temporary():
        file = tempfile.TemporaryFile(prefix="ndcore-")
    weakref.finalize(owner, _close, file)
    return file


def _close(file: IO[bytes]) -> None:
    with contextlib.suppress(OSError):  # of what could not be written
        file.close()


def writing_temporary() -> contextlib.AbstractContextManager[None]:
    """Name the directory of temporary files in any OSError of the block, with advice."""
    return naming(tempfile.gettempdir(), hint=TEMPORARY)


class SpooledArray:
    """An array of rows that are appended in chunks.

    Parameters
    ----------
    dtype : dtype
    limit : int, optional
        Bytes to keep in memory; None keeps everything.
    """

    def __init__(self, dtype: DTypeLike, limit: int | None = None) -> None:
        self.dtype = np.dtype(dtype)
        self.limit = limit
        self.nbytes = 0
        self._shape: tuple[int, ...] = ()
        self._rows = 0
        self._chunks: list[AnyArray] = []
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return self._rows

    def append(self, chunk: AnyArray) -> None:
        """Append rows; all chunks have the same shape beyond the first dimension."""
        self._shape = chunk.shape[1:]
        self._rows += len(chunk)
        self.nbytes += chunk.nbytes
        self._chunks.append(np.ascontiguousarray(chunk, self.dtype))
        if self._file is not None or (self.limit is not None and self.nbytes > self.limit):
            self._spill()

    def _spill(self) -> None:
        if self._file is None:
            self._file = temporary_file(self)
        with writing_temporary():
            for chunk in self._chunks:
                self._file.write(memoryview(chunk).cast("B") if chunk.size else b"")
        self._chunks.clear()

    def array(self) -> AnyArray:
        """Return all rows as one array, a memory map if they were spilled. Nothing can be appended afterwards."""
        shape = (self._rows, *self._shape)
        if self._file is not None and self.nbytes:
            with writing_temporary():
                self._file.flush()
            return np.memmap(self._file, self.dtype, "r", shape=shape)
        whole = np.empty(shape, self.dtype)
        at = 0
        for chunk in reversed([self._chunks.pop() for _ in range(len(self._chunks))]):
            whole[at : at + len(chunk)] = chunk
            at += len(chunk)
        return whole


class SpooledSets:
    """Ascending sets of uint64, appended in order and read back by number in any order."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._ends = [0]
        self._chunks: list[UInts] = []
        self._joined: UInts | None = None
        self._file: IO[bytes] | None = None

    def append(self, values: UInts, offsets: Ints) -> None:
        """Append the sets values[offsets[i] : offsets[i + 1]]."""
        self._ends.extend((offsets[1:] + self._ends[-1]).tolist())
        if self._file is None and 8 * self._ends[-1] > self.limit:
            self._file = temporary_file(self)
            with writing_temporary():
                for chunk in self._chunks:
                    self._file.write(memoryview(chunk).cast("B"))
            self._chunks.clear()
        if self._file is None:
            self._chunks.append(values)
        elif len(values):
            with writing_temporary():
                self._file.write(memoryview(values).cast("B"))

    def sizes(self, numbers: Ints) -> Ints:
        """Return the number of elements of each of these sets."""
        ends = np.asarray(self._ends, np.int64)
        return ends[numbers + 1] - ends[numbers]

    def gather(self, numbers: Ints) -> tuple[UInts, Ints]:
        """Read these sets end to end, as (values, offsets)."""
        offsets = np.concatenate([[0], np.cumsum(self.sizes(numbers))]).astype(np.int64)
        values = np.empty(int(offsets[-1]), np.uint64)
        if self._file is None and self._joined is None:
            self._joined = np.concatenate([np.empty(0, np.uint64), *self._chunks])
            self._chunks.clear()
        for i, number in enumerate(numbers.tolist()):
            self._read(self._ends[number], values[offsets[i] : offsets[i + 1]])
        return values, offsets

    def _read(self, start: int, into: UInts) -> None:
        if self._file is None:
            assert self._joined is not None
            into[:] = self._joined[start : start + len(into)]
        elif len(into):
            with writing_temporary():  # of what is still in memory
                self._file.seek(8 * start)
            self._file.readinto(memoryview(into).cast("B"))  # type: ignore[attr-defined]
