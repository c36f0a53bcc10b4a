"""Arrays of 64-bit fingerprints: checked, mapped from files, compared bit by bit."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcore import _hamming
from ndcore.checks import is_int
from ndcore.storage.container import MAGIC

__all__ = [
    "as_fingerprints", "checked_fingerprints", "hamming_distances", "mapped_array", "mapped_fingerprints", "mapped_raw",
]

NUMPY = b"\x93NUMPY"
OTHERS = {b"PAR1": "Parquet", b"\x1f\x8b": "a compressed file", b"\x28\xb5\x2f\xfd": "a compressed file",
          MAGIC: "a file of ndcore"}


def hamming_distances(a: ArrayLike, b: ArrayLike) -> NDArray[np.int64]:
    """Numbers of bits in which fingerprints differ, element by element, broadcast against each other; int64.

    >>> hamming_distances([0b1010, 0b1111], 0b1011)
    array([1, 1])
    """
    x, y = np.broadcast_arrays(as_fingerprints(a), as_fingerprints(b))
    return np.asarray(_hamming.distances(np.ascontiguousarray(x).ravel(), np.ascontiguousarray(y).ravel())).reshape(x.shape)


def as_fingerprints(values: ArrayLike) -> NDArray[np.uint64]:
    """Unsigned 64-bit integers, or TypeError or ValueError."""
    if np.ma.is_masked(values):
        raise TypeError("fingerprints are masked; leave out those that are")
    array = values if isinstance(values, np.ndarray) else np.asarray(values, object)  # else [1, 2^63] would be floats
    if array.size == 0:
        return np.empty(array.shape, np.uint64)
    if array.dtype.kind == "O":
        for x in array.flat:
            if not is_int(x):
                raise TypeError(f"fingerprints are unsigned 64-bit integers, got {x!r}")
        low, high = min(array.flat), max(array.flat)
    elif array.dtype.kind == "u":
        return array.astype(np.uint64, copy=False)
    elif array.dtype.kind == "i":
        low, high = array.min(), array.max()
    else:
        raise TypeError(f"fingerprints are unsigned 64-bit integers, got {array.dtype}")
    if low < 0 or int(high) >> 64:
        raise ValueError(f"fingerprints are unsigned 64-bit integers, got {low if low < 0 else high}")
    return array.astype(np.uint64, copy=False)


def checked_fingerprints(values: ArrayLike, bits: int) -> NDArray[np.uint64]:
    """Fingerprints of so many bits in one contiguous dimension, or TypeError or ValueError."""
    array = as_fingerprints(values)
    if array.ndim != 1:
        raise TypeError(f"fingerprints are in one dimension, got {array.shape}")
    if bits < 64 and array.size and int(array.max()) >> bits:
        raise ValueError(f"{array.max()} is no fingerprint of {bits} bits")
    return np.ascontiguousarray(array)


def mapped_fingerprints(path: str | os.PathLike[str]) -> NDArray[np.uint64]:
    """The fingerprints of a file, mapped: an array saved by NumPy, by what it begins with or its suffix, else little-endian
    uint64 without a header.

    ValueError where the file is no sound array, begins like a file of another kind, or is no whole number of fingerprints.
    """
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"{file} is no regular file; fingerprints are mapped") if file.exists() else FileNotFoundError(
            errno.ENOENT, os.strerror(errno.ENOENT), str(file))
    with file.open("rb") as opened:
        begin = opened.read(max(map(len, OTHERS)))
    if begin.startswith(NUMPY) or file.suffix.lower() == ".npy":
        return mapped_array(file)
    for magic, what in OTHERS.items():
        if begin.startswith(magic):
            raise ValueError(f"{file} begins like {what}, not like 8 bytes a fingerprint")
    return mapped_raw(file)


def mapped_array(path: str | os.PathLike[str]) -> NDArray[np.uint64]:
    """An array of uint64 saved by NumPy, mapped; ValueError for anything else."""
    with Path(path).open("rb") as file:
        if file.read(len(NUMPY)) != NUMPY:
            raise ValueError(f"{os.fspath(path)}: no array of NumPy, which begins with {NUMPY!r}")
    try:
        array: NDArray[np.uint64] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{os.fspath(path)}: no sound array of NumPy: {error}") from error
    if array.ndim != 1 or array.dtype.kind != "u" or array.dtype.itemsize != 8:
        raise ValueError(f"{os.fspath(path)}: fingerprints are uint64 in one dimension, this is {array.dtype} {array.shape}")
    return array


def mapped_raw(path: str | os.PathLike[str]) -> NDArray[np.uint64]:
    """Little-endian uint64, whatever the file begins with, mapped; ValueError where it is no whole number of them."""
    size = Path(path).stat().st_size
    if size % 8:
        raise ValueError(f"{os.fspath(path)}: {size} bytes are no whole number of fingerprints of 8 bytes")
    return np.memmap(path, "<u8", "r") if size else np.empty(0, np.uint64)
