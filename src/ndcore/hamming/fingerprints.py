"""Arrays of 64-bit fingerprints: checks, files mapped into memory, and Hamming distances."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

import ndcore._hamming as _hamming
from ndcore._types import Ints, UInts
from ndcore.checks import is_int
from ndcore.storage.container import MAGIC

NUMPY = b"\x93NUMPY"
OTHER_FILES = {b"PAR1": "Parquet", b"\x1f\x8b": "a compressed file", b"\x28\xb5\x2f\xfd": "a compressed file",
               MAGIC: "a file of ndcore"}


def hamming_distances(a: ArrayLike, b: ArrayLike) -> Ints:
    """Count the bits in which fingerprints differ, element by element.

    Parameters
    ----------
    a, b : array of uint64
        Broadcast against each other.

    Returns
    -------
    ndarray of int64

    Raises
    ------
    TypeError, ValueError
        A fingerprint is not an unsigned 64-bit integer.

    Examples
    --------
    >>> hamming_distances([0b1010, 0b1111], 0b1011)
    array([1, 1])
    """
    x, y = np.broadcast_arrays(as_fingerprints(a), as_fingerprints(b))
    return np.asarray(_hamming.distances(np.ascontiguousarray(x).ravel(), np.ascontiguousarray(y).ravel())).reshape(x.shape)


def as_fingerprints(values: ArrayLike) -> UInts:
    """Convert values to uint64. Raises TypeError or ValueError if one is not an unsigned 64-bit integer."""
    if isinstance(values, list) and values and set(map(type, values)) == {int}:
        low, high = min(values), max(values)
        if low >= 0 and not high >> 64:
            return np.array(values, np.uint64)
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


def checked_fingerprints(values: ArrayLike, bits: int) -> UInts:
    """Return fingerprints of `bits` bits in one contiguous dimension, or raise TypeError or ValueError."""
    array = as_fingerprints(values)
    if array.ndim != 1:
        raise TypeError(f"fingerprints are in one dimension, got {array.shape}")
    if bits < 64 and array.size and int(array.max()) >> bits:
        raise ValueError(f"{array.max()} is not a fingerprint of {bits} bits")
    return np.ascontiguousarray(array)


def mapped_fingerprints(path: str | os.PathLike[str]) -> UInts:
    """Map the fingerprints of a file into memory.

    A file that begins like a NumPy array, or has the suffix .npy, is one; any other is little-endian uint64 without a
    header. Raises ValueError if the file is damaged, begins like a file of another kind, or ends within a fingerprint.
    """
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"{file} is not a regular file; fingerprints are mapped") if file.exists() else FileNotFoundError(
            errno.ENOENT, os.strerror(errno.ENOENT), str(file))
    with file.open("rb") as opened:
        begin = opened.read(max(map(len, OTHER_FILES)))
    if begin.startswith(NUMPY) or file.suffix.lower() == ".npy":
        return mapped_array(file)
    for magic, what in OTHER_FILES.items():
        if begin.startswith(magic):
            raise ValueError(f"{file} begins like {what}, not like 8 bytes a fingerprint")
    return mapped_raw(file)


def mapped_array(path: str | os.PathLike[str]) -> UInts:
    """Map an array of uint64 saved by NumPy. Raises ValueError for any other file."""
    with Path(path).open("rb") as file:
        if file.read(len(NUMPY)) != NUMPY:
            raise ValueError(f"{os.fspath(path)}: no array of NumPy, which begins with {NUMPY!r}")
    try:
        array: UInts = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{os.fspath(path)}: no sound array of NumPy: {error}") from error
    if array.ndim != 1 or array.dtype.kind != "u" or array.dtype.itemsize != 8:
        raise ValueError(f"{os.fspath(path)}: fingerprints are uint64 in one dimension, this is {array.dtype} {array.shape}")
    return array


def mapped_raw(path: str | os.PathLike[str]) -> UInts:
    """Map a file of little-endian uint64 without a header. Raises ValueError if it ends inside of a fingerprint."""
    size = Path(path).stat().st_size
    if size % 8:
        raise ValueError(f"{os.fspath(path)}: {size} bytes are not a whole number of fingerprints of 8 bytes")
    return np.memmap(path, "<u8", "r") if size else np.empty(0, np.uint64)
