"""Estimate the number of distinct shingles of documents from their sketches."""

from __future__ import annotations

import numpy as np

from ndcore._types import AnyArray, Bools, Floats, Ints, UInts
from ndcore.recipe import Recipe

BLOCK = 1 << 15  # minima that are converted at a time: they stay in the cache of a core


def signature_sizes(values: AnyArray, valid: Bools) -> Floats:
    """Estimate numbers of distinct shingles from signatures. Relative error about 1 / √k for k minima.

    Of n uniform numbers with minimum u, −log(1 − u) is exponential with rate n. The rate of k such exponentials is estimated
    without bias by (k − 1) / their sum.
    """
    k = values.shape[1]
    scale = -float(1 << 8 * values.dtype.itemsize)
    sums, rows = np.empty(len(values)), max(1, BLOCK // k)
    room = np.empty((min(rows, len(values)), k))
    with np.errstate(divide="ignore"):  # a signature of all ones has no size
        for start in range(0, len(values), rows):
            part = values[start : start + rows]
            minima = np.add(part, 0.5, out=room[: len(part)])
            minima /= scale
            np.negative(np.log1p(minima, out=minima).sum(axis=1), out=sums[start : start + rows])
    sizes = np.maximum(1.0, max(1, k - 1) / sums)
    return np.where(valid, sizes, 0.0)


def sizes_of_rows(values: AnyArray, valid: Bools, recipe: Recipe) -> Floats:
    """Estimate as `signature_sizes` does; nan for method="fast", whose rows do not tell how many rounds filled them."""
    if recipe["method"] == "fast":
        return np.where(valid, np.nan, 0.0)
    return signature_sizes(values, valid)


def fast_sizes(values: AnyArray, counted: Ints, valid: Bools) -> Floats:
    """Estimate numbers of distinct shingles from fast sketches; exact where they were counted (0: not counted).

    Where one round fills all t coordinates, the value of a coordinate is the first point of a Poisson process with rate
    λ = n / t in [0, 1], given that there is one. Its mean is 1/λ − 1/(e^λ − 1), solved by Newton's method. Relative error
    about 1 / √t.
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


def bottom_sizes(values: UInts, offsets: Ints, size: int, bits: int = 64) -> Floats:
    """Estimate numbers of distinct shingles: exact where a sketch is not full, else max(s, (s − 1)·2^bits / (largest + 1)).

    (s − 1)·2^bits / (largest + 1) is unbiased. The lower bound s, the number of members, adds a bias where sets have few
    more than s elements.
    """
    counts = np.diff(offsets)
    full = counts == size
    sizes = counts.astype(np.float64)
    largest = (values[offsets[1:][full] - 1].astype(np.float64) + 1.0) / 2.0**bits
    sizes[full] = np.maximum(size, (size - 1) / largest)
    return sizes


def sample_sizes(values: UInts, offsets: Ints, recipe: Recipe, moduli: UInts | None = None) -> Floats:
    """Estimate numbers of distinct shingles from bottom or mod sketches of valid documents; `moduli` of adaptive ones.

    A set has on average m times as many elements as multiples of m among their permuted values; at least 1.
    """
    size = recipe["size"]
    if recipe["kind"] == "bottom":
        return bottom_sizes(values, offsets, size, recipe["bits"])
    multiples = np.diff(offsets) if size is None else bottom_sizes(values, offsets, size)
    modulus = float(recipe["modulus"]) if moduli is None else moduli.astype(np.float64)
    return np.maximum(1.0, multiples * modulus)
