"""Arrays in memory up to a limit, then in unnamed temporary files."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import threading
import weakref
from array import array
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from ndcore._types import AnyArray, Ints
from ndcore.storage.disk_space import TEMPORARY, naming


def temporary_file(owner: object) -> IO[bytes]:
    """Open an unnamed temporary file that is closed with its owner. Write to it within `writing_temporary`."""
    with writing_temporary():
        file = tempfile.TemporaryFile(prefix="ndcore-")
    weakref.finalize(owner, _close, file)
    return file


def _close(file: IO[bytes]) -> None:
    with contextlib.suppress(OSError):  # flushing may fail again
        file.close()


def writing_temporary() -> contextlib.AbstractContextManager[None]:
    """Name the directory of temporary files in any OSError of the block, with advice."""
    return naming(tempfile.gettempdir(), hint=TEMPORARY)


COLUMN = 1 << 20  # bytes of a column that stay in memory if memory is limited
BLOCK = 48 << 20  # most bytes of a block: malloc returns memory of this size to the system once it is freed


def column_limit(memory_limit: int | None) -> int | None:
    """Return the bytes of a per-document column that stay in memory; the rest of the limit is for larger data."""
    return None if memory_limit is None else min(COLUMN, memory_limit)


class SpooledArray:
    """An array of rows that are appended in chunks.

    Parameters
    ----------
    dtype : dtype
    limit : int, optional
        Bytes to keep in memory; None keeps everything.
    shape : tuple of int
        The shape of a row.
    """

    dtype: np.dtype[Any]
    nbytes: int

    def __init__(self, dtype: DTypeLike, limit: int | None = None, shape: tuple[int, ...] = ()) -> None:
        self.dtype = np.dtype(dtype)
        self.limit = limit
        self.nbytes = 0
        self._shape = shape
        self._rows = 0
        self._blocks: list[AnyArray] = []
        self._free: AnyArray | None = None  # the unused rows of the last block
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return self._rows

    def append(self, chunk: AnyArray) -> None:
        """Append rows, which are not changed afterwards; all chunks have the same shape beyond the first dimension."""
        chunk = np.ascontiguousarray(chunk, self.dtype)
        self._shape = chunk.shape[1:]
        self._rows += len(chunk)
        self.nbytes += chunk.nbytes
        if self._file is not None or (self.limit is not None and self.nbytes > self.limit):
            self._spill(chunk)
        elif chunk.nbytes >= BLOCK or not self._blocks:  # the only chunk of few rows is not copied
            self._end_block()
            self._blocks.append(chunk)
        elif chunk.size:
            self._copy(chunk)

    def _copy(self, chunk: AnyArray) -> None:
        """Copy rows into blocks, so that the memory of the chunk can be used again at once."""
        while len(chunk):
            if self._free is None or not len(self._free):
                self._end_block()
                rows = max(1, min(BLOCK, max(chunk.nbytes, self.nbytes - chunk.nbytes)) // chunk[:1].nbytes)
                self._blocks.append(np.empty((rows, *self._shape), self.dtype))
                self._free = self._blocks[-1]
            count = min(len(chunk), len(self._free))
            self._free[:count] = chunk[:count]
            chunk, self._free = chunk[count:], self._free[count:]

    def _end_block(self) -> None:
        """Cut the unused rows off the last block."""
        if self._free is not None:
            self._blocks[-1] = self._blocks[-1][: len(self._blocks[-1]) - len(self._free)]
            self._free = None

    @property
    def spilled(self) -> bool:
        """Whether rows are in a temporary file."""
        return self._file is not None and self.nbytes > 0

    def _spill(self, chunk: AnyArray) -> None:
        if self._file is None:
            self._file = temporary_file(self)
        self._end_block()
        with writing_temporary():
            for rows in (*self._blocks, chunk):
                self._file.write(rows.data.cast("B") if rows.size else b"")
        self._blocks.clear()

    def array(self, mode: Literal["r", "r+"] = "r") -> AnyArray:
        """Return all rows as one array, a memory map of this mode if they were spilled.

        Nothing can be appended afterwards to rows in memory.
        """
        shape = (self._rows, *self._shape)
        if self._file is not None and self.nbytes:
            with writing_temporary():  # rows that are still buffered
                self._file.flush()
            return np.memmap(self._file, self.dtype, mode, shape=shape)
        self._end_block()
        if len(self._blocks) == 1:
            return self._blocks.pop()
        whole = np.empty(shape, self.dtype)
        at = 0
        self._blocks.reverse()
        while self._blocks:  # each is freed once it is copied
            rows = self._blocks.pop()
            whole[at : at + len(rows)] = rows
            at += len(rows)
        return whole

    def take(self) -> AnyArray:
        """Return all rows as one array in memory, which the caller may change. Nothing can be appended afterwards."""
        if not self.spilled or self._file is None:
            return self.array()
        with writing_temporary():
            self._file.flush()
        self._file.seek(0)
        return np.fromfile(self._file, self.dtype, self.nbytes // self.dtype.itemsize).reshape(self._rows, *self._shape)


class ScratchArrays:
    """Arrays that are made to be written, in memory up to a limit in all, then as maps of unnamed temporary files.

    Parameters
    ----------
    limit : int, optional
        Bytes to keep in memory at a time; None keeps everything.
    """

    def __init__(self, limit: int | None) -> None:
        self._left = limit

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> AnyArray:
        """Make an array of any values, as `numpy.empty` does."""
        shape, dtype = (shape,) if isinstance(shape, int) else shape, np.dtype(dtype)
        nbytes = math.prod(shape) * dtype.itemsize
        if self._left is None:
            return np.empty(shape, dtype)
        if nbytes <= self._left:
            array = np.empty(shape, dtype)
            self._left -= nbytes
            weakref.finalize(array, self._give_back, nbytes)
            return array
        with writing_temporary(), tempfile.TemporaryFile(prefix="ndcore-") as file:
            _reserve(file, nbytes)
            return np.asarray(np.memmap(file, dtype, "r+", shape=shape))

    def _give_back(self, nbytes: int) -> None:
        """Count the bytes of an array that is gone."""
        assert self._left is not None
        self._left += nbytes


def _reserve(file: IO[bytes], nbytes: int) -> None:
    """Take room on the disk, because a full disk ends the process when a map is written. Raises OSError."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, nbytes)
    else:
        for at in range(0, nbytes, BLOCK):
            file.write(bytes(min(BLOCK, nbytes - at)))
    file.flush()


class SpooledColumn:
    """Numbers, appended one by one or in blocks and read in place; on disk once they exceed the limit (bytes).

    Parameters
    ----------
    typecode : str
        A type code of the `array` module.
    limit : int, optional
        Bytes to keep in memory; None keeps everything.
    """

    def __init__(self, typecode: str, limit: int | None = None) -> None:
        self._tail = array(typecode)
        self._limit = limit
        self._spooled = SpooledArray(np.dtype(typecode), 0)
        self._read: AnyArray | None = None
        self._reading = threading.Lock()

    def __len__(self) -> int:
        return len(self._spooled) + len(self._tail)

    def append(self, value: int) -> None:
        """Append a number."""
        self._read = None
        self._tail.append(value)
        if self._limit is not None:
            self._spill()

    def extend(self, values: bytes | AnyArray) -> None:
        """Append numbers: an array of the same type, or its bytes."""
        self._read = None
        self._tail.frombytes(values if isinstance(values, bytes) else values.tobytes())
        self._spill()

    def _spill(self, limit: int | None = None) -> None:
        """Write the numbers in memory to the file if they exceed the limit."""
        limit = self._limit if limit is None else limit
        if limit is not None and len(self._tail) * self._tail.itemsize > limit:
            self._spooled.append(np.frombuffer(self._tail, self._spooled.dtype))
            self._tail = array(self._tail.typecode)

    def values(self) -> AnyArray:
        """Return all numbers, to be read before the next one is appended. Several threads may call it."""
        if not len(self._spooled):
            return np.frombuffer(self._tail, self._spooled.dtype)
        with self._reading:
            if self._read is None:
                self._spill(0)
                self._read = np.asarray(self._spooled.array())
            return self._read


class SpooledSets:
    """Ascending sets of uint64, appended and read in place by number; on disk once they exceed the limit (bytes).

    dtype: of another type, values that belong to the members of such sets.
    """

    def __init__(self, limit: int, dtype: DTypeLike = np.uint64) -> None:
        self._values = SpooledArray(dtype, limit)
        self._ends = SpooledArray(np.int64)
        self._total = 0
        self._joined: AnyArray | None = None
        self._offsets: Ints | None = None

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def spilled(self) -> bool:
        """Whether the sets are in a temporary file."""
        return self._values.spilled

    def append(self, values: AnyArray, offsets: Ints) -> None:
        """Append the sets values[offsets[i] : offsets[i + 1]]; offsets[0] is 0."""
        self._ends.append(offsets[1:] + self._total)
        self._total += int(offsets[-1])
        self._values.append(values[: int(offsets[-1])])

    @property
    def offsets(self) -> Ints:
        """The bounds of the sets in `values`, int64 (n + 1,). Nothing can be appended afterwards."""
        if self._offsets is None:
            self._offsets = np.concatenate([np.zeros(1, np.int64), self._ends.array()])
        return self._offsets

    def values(self) -> AnyArray:
        """Return the members of all sets end to end, read-only. Nothing can be appended afterwards.

        Each call maps spilled sets anew, so that dropping the array frees the pages that were read.
        """
        if self.spilled:
            return np.asarray(self._values.array())
        if self._joined is None:
            self._joined = self._values.array()
            self._joined.flags.writeable = False
        return self._joined

    def __reduce__(self) -> tuple[object, ...]:
        return _restore_sets, (np.asarray(self.values()), self.offsets)

    def sizes(self, numbers: Ints) -> Ints:
        """Return the sizes of the sets with these numbers. O(len(numbers)) after the first call."""
        return self.offsets[numbers + 1] - self.offsets[numbers]


def _restore_sets(values: AnyArray, offsets: Ints) -> SpooledSets:
    """Restore pickled sets, in memory."""
    sets = SpooledSets(values.nbytes, values.dtype)
    sets.append(values, offsets)
    return sets
