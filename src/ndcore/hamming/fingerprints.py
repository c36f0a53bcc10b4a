"""Arrays of fingerprints of up to 64, of 128 or of 256 bits: checks, files mapped into memory, and Hamming distances."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import ndcore._hamming as _hamming
from ndcore._types import Ints, UInts
from ndcore.checks import is_int
from ndcore.storage.container import MAGIC

WIDE = (128, 256)  # bits of fingerprints of several words, the most significant word first
NUMPY = b"\x93NUMPY"
OTHER_FILES = {b"PAR1": "Parquet", b"\x1f\x8b": "a compressed file", b"\x28\xb5\x2f\xfd": "a compressed file",
               MAGIC: "a file of ndcore"}


def hamming_distances(a: ArrayLike, b: ArrayLike) -> Ints:
    """Count the bits in which fingerprints differ, element by element.

    Parameters
    ----------
    a, b : array of uint64
        Broadcast against each other. Of fingerprints of several words, take the sum along the last axis.

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


def bits_of(fingerprints: ArrayLike | str | os.PathLike[str], bits: int | None) -> int:
    """Return the bits of fingerprints: `bits` where they are given, else 64 for each word."""
    if bits is not None:
        return bits
    if isinstance(fingerprints, (str, os.PathLike)):
        fingerprints = mapped_fingerprints(fingerprints) if Path(fingerprints).suffix.lower() == ".npy" else ()
    shape = np.shape(fingerprints)
    return 64 * shape[1] if len(shape) == 2 and 64 * shape[1] in WIDE else 64


def word_shape(bits: int) -> tuple[int, ...]:
    """Return the shape of one fingerprint: () of one word, else (words,)."""
    return (bits // 64,) if bits in WIDE else ()


def checked_fingerprints(values: ArrayLike, bits: int) -> UInts:
    """Return fingerprints of `bits` bits, contiguous, or raise TypeError or ValueError.

    The shape is (n,), or (n, bits / 64) of 128 and 256 bits. These are given as such an array, as big-endian bytes, uint8
    (n, bits / 8), or as a list of ints.
    """
    if bits in WIDE:
        return _check_wide(values, bits)
    array = as_fingerprints(values)
    if array.ndim != 1:
        raise TypeError(f"fingerprints are in one dimension, got {array.shape}")
    if bits < 64 and array.size and int(array.max()) >> bits:
        raise ValueError(f"{array.max()} is not a fingerprint of {bits} bits")
    return np.ascontiguousarray(array)


def _check_wide(values: ArrayLike, bits: int) -> UInts:
    """Return fingerprints of 128 or 256 bits as uint64 (n, words)."""
    words, size = bits // 64, bits // 8
    if not isinstance(values, np.ndarray):
        values = np.asarray(values, object)
    if values.dtype == np.uint8 and values.ndim == 2 and values.shape[1] == size:
        return np.ascontiguousarray(values).view(">u8").astype(np.uint64)
    if values.ndim == 1 and not values.size:
        return np.empty((0, words), np.uint64)
    if values.ndim == 1 and values.dtype.kind == "O":
        joined = b"".join(_int_bytes(value, bits) for value in values)
        return np.frombuffer(joined, ">u8").astype(np.uint64).reshape(-1, words)
    if values.ndim != 2 or values.shape[1] != words:
        raise TypeError(f"fingerprints of {bits} bits are uint64 (n, {words}), the most significant word first, uint8 "
                        f"(n, {size}), or a list of ints, got {values.dtype} {values.shape}")
    return np.ascontiguousarray(as_fingerprints(values))


def _int_bytes(value: Any, bits: int) -> bytes:
    """Return one fingerprint, an int, as big-endian bytes. TypeError or ValueError where it is not one."""
    if not is_int(value):
        raise TypeError(f"fingerprints of {bits} bits are unsigned integers, or {bits // 64} words each, got {value!r:.80}")
    if not 0 <= value < 1 << bits:
        raise ValueError(f"{value:#x} is not a fingerprint of {bits} bits")
    return int(value).to_bytes(bits // 8, "big")


def checked_query(value: object, bits: int) -> UInts:
    """Return one fingerprint of 128 or 256 bits, an int, its words or its bytes, as uint64 (1, words)."""
    row = value if isinstance(value, np.ndarray) else np.asarray(value, object)
    return checked_fingerprints(row[None] if row.ndim else [value], bits)  # type: ignore[arg-type]


def mapped_fingerprints(path: str | os.PathLike[str], bits: int = 64) -> UInts:
    """Map the fingerprints of a file into memory.

    A file that begins like a NumPy array, or has the suffix .npy, is one; any other is little-endian uint64 without a
    header, of which bits / 64 make one fingerprint of 128 or 256 bits. Raises ValueError if the file is damaged, begins like
    a file of another kind, or ends within a fingerprint.
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
    return mapped_raw(file, bits)


def mapped_array(path: str | os.PathLike[str]) -> UInts:
    """Map an array of uint64 saved by NumPy. Raises ValueError for any other file."""
    with Path(path).open("rb") as file:
        if file.read(len(NUMPY)) != NUMPY:
            raise ValueError(f"{os.fspath(path)}: no array of NumPy, which begins with {NUMPY!r}")
    try:
        array: UInts = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{os.fspath(path)}: no sound array of NumPy: {error}") from error
    wide = array.ndim == 2 and 64 * array.shape[1] in WIDE
    if not (wide or array.ndim == 1) or array.dtype.kind != "u" or array.dtype.itemsize != 8:
        raise ValueError(f"{os.fspath(path)}: fingerprints are uint64, (n,), (n, 2) or (n, 4), this is {array.dtype} "
                         f"{array.shape}")
    return array


def mapped_raw(path: str | os.PathLike[str], bits: int = 64) -> UInts:
    """Map a file of little-endian uint64 without a header. Raises ValueError if it ends within a fingerprint."""
    size, each = Path(path).stat().st_size, max(64, bits) // 8
    if size % each:
        raise ValueError(f"{os.fspath(path)}: {size} bytes are not a whole number of fingerprints of {each} bytes")
    return np.memmap(path, "<u8", "r", shape=(size // each, *word_shape(bits))) if size else \
        np.empty((0, *word_shape(bits)), np.uint64)
