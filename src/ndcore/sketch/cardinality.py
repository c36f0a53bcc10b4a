"""Estimate the number of distinct shingles of documents from their sketches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore.recipe import Recipe

__all__ = ["bottom_sizes", "fast_sizes", "sample_sizes", "signature_sizes", "sizes_of_rows"]


def signature_sizes(values: NDArray[Any], valid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Numbers of distinct shingles, estimated: of the minimum u of n uniform numbers, −log(1 − u) is exponential with rate
    n, and the rate of k exponentials is estimated without bias by (k − 1) / their sum. Relative error about 1 / √k."""
    k = values.shape[1]
    scale = float(1 << 8 * values.dtype.itemsize)
    with np.errstate(divide="ignore"):  # a signature of all ones has no size
        sums = -np.log1p((values.astype(np.float64) + 0.5) / -scale).sum(axis=1)
    sizes = np.maximum(1.0, max(1, k - 1) / sums)
    return np.where(valid, sizes, 0.0)


def sizes_of_rows(values: NDArray[Any], valid: NDArray[np.bool_], recipe: Recipe) -> NDArray[np.float64]:
    """`signature_sizes`; nan for method="fast", where rows alone do not tell how many rounds filled them."""
    if recipe["method"] == "fast":
        return np.where(valid, np.nan, 0.0)
    return signature_sizes(values, valid)


def fast_sizes(
    values: NDArray[Any], counted: NDArray[np.int64], valid: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Numbers of distinct shingles from fast sketches: as counted, where they were (0: they were not), else estimated.

    Where one round fills all t coordinates, a coordinate's value is the first point of a Poisson process of rate λ = n / t
    in [0, 1], given that there is one: of mean 1/λ − 1/(e^λ − 1), solved by Newton's method. Relative error about 1 / √t.
    """
    t = values.shape[1]
    sizes = counted.astype(np.float64)
    large = valid & (counted == 0)
    if not large.any():
        return sizes
    mean = (values[large].sum(axis=1, dtype=np.uint64) + 0.5 * t) / (max(1, t - 1) * 2.0**32)
    rate = 1.0 / mean
    with np.errstate(over="ignore"):  # where e^λ is infinite
        for _ in range(5):
            inverse, beyond = 1.0 / rate, 1.0 / np.expm1(rate)
            rate = rate - (inverse - beyond - mean) / (beyond * (1.0 + beyond) - inverse * inverse)
    sizes[large] = np.maximum(1.0, rate * t)
    return sizes


def bottom_sizes(
    values: NDArray[np.uint64], offsets: NDArray[np.int64], size: int, bits: int = 64
) -> NDArray[np.float64]:
    """Return numbers of distinct shingles: exact where a sketch is not full, else max(s, (s − 1)·2^bits / (largest + 1)).

    (s − 1)·2^bits / (largest + 1) is unbiased; the bound s, the number of members there are, adds a bias where sets have
    few more than s elements.
    """
    counts = np.diff(offsets)
    full = counts == size
    sizes = counts.astype(np.float64)
    largest = (values[offsets[1:][full] - 1].astype(np.float64) + 1.0) / 2.0**bits
    sizes[full] = np.maximum(size, (size - 1) / largest)
    return sizes


def sample_sizes(
    values: NDArray[np.uint64], offsets: NDArray[np.int64], recipe: Recipe, moduli: NDArray[np.uint64] | None = None
) -> NDArray[np.float64]:
    """Numbers of distinct shingles from bottom or mod sketches of valid documents; `moduli` of adaptive ones.

    A set has m times as many elements as multiples of m among their permuted values, on the average; at least 1.
    """
    size = recipe["size"]
    if recipe["kind"] == "bottom":
        return bottom_sizes(values, offsets, size, recipe["bits"])
    multiples = np.diff(offsets) if size is None else bottom_sizes(values, offsets, size)
    modulus = float(recipe["modulus"]) if moduli is None else moduli.astype(np.float64)
    return np.maximum(1.0, multiples * modulus)
