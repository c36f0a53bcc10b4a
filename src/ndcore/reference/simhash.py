"""Simhash (Charikar 2002; Manku, Jain, Das Sarma 2007, section 2): the signs of weighted sums of ±1, one for each bit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from .minhash import permute

BITS = 64
UNIT = 1 << 16  # weights are multiples of 1 / UNIT
LIMIT = 1 << 15  # and smaller than this, before and after rounding

Weight = int | float | Fraction
Weights = Mapping[int, Weight] | Sequence[Weight] | str | None


def units(weight: Weight) -> int:
    """Convert a weight to multiples of 2^-16, rounded half to even.

    >>> [units(w) for w in (1, 0.5 / 65536, 1.5 / 65536, -0.25)]
    [65536, 0, 2, -16384]

    Raises
    ------
    ValueError
        If the weight is not finite, or is not smaller than 2^15 in magnitude, before or after rounding.
    """
    if not math.isfinite(weight):
        raise ValueError(f"weight is {weight}; weights are finite")
    rounded = round(Fraction(weight) * UNIT)
    if abs(rounded) >= LIMIT * UNIT:
        raise ValueError(f"weight is {weight}; weights are smaller than {LIMIT} in magnitude")
    return rounded


def weighted(fingerprints: Sequence[int], weights: Weights = None) -> list[tuple[int, int]]:
    """List (fingerprint, weight in units) of every feature.

    Parameters
    ----------
    fingerprints : sequence of int
        Of the shingles of a document, in order with repeats.
    weights : None, "distinct", mapping or sequence
        None: every occurrence counts 1. "distinct": every fingerprint once. A mapping is asked for each occurrence's
        fingerprint, missing = 0. A sequence has one weight for each occurrence.

    Raises
    ------
    ValueError
        If ``weights`` is none of these, has another length, or holds a weight that :func:`units` refuses.
    """
    if weights is None:
        return [(f, UNIT) for f in fingerprints]
    if isinstance(weights, str):
        if weights != "distinct":
            raise ValueError(f"weights is {weights!r}; give None, 'distinct', a mapping or a sequence")
        return [(f, UNIT) for f in dict.fromkeys(fingerprints)]
    if isinstance(weights, Mapping):
        return [(f, units(weights.get(f, 0))) for f in fingerprints]
    if len(weights) != len(fingerprints):
        raise ValueError(f"there are {len(weights)} weights for {len(fingerprints)} fingerprints; give one for each")
    return [(f, units(w)) for f, w in zip(fingerprints, weights, strict=True)]


def sums(fingerprints: Sequence[int], weights: Weights = None, seed: int = 1) -> list[int]:
    """Compute V_b in units, b = 0 … 63: the sum of +weight if bit b of z = π(f) is set, else of -weight."""
    found = weighted(fingerprints, weights)
    zs = permute([f for f, _ in found], seed)
    return [sum(w if z >> b & 1 else -w for z, (_, w) in zip(zs, found, strict=True)) for b in range(BITS)]


def simhash(fingerprints: Sequence[int], weights: Weights = None, seed: int = 1) -> int:
    """Compute the fingerprint: bit b is 1 if V_b > 0. 0 for a document without features."""
    return sum(1 << b for b, v in enumerate(sums(fingerprints, weights, seed)) if v > 0)


def document_frequencies(documents: Iterable[Iterable[int]]) -> Counter[int]:
    """Count for each feature the documents in which it occurs."""
    return Counter(f for document in documents for f in set(document))


def idf(documents: int, frequency: int) -> int:
    """Compute log((1 + documents) / (1 + frequency)) + 1, the weight of a feature of `frequency` documents.

    The logarithm is computed to 50 digits, then rounded to units.
    """
    exact = Context(prec=50)
    log = exact.ln(exact.divide(Decimal(1 + documents), Decimal(1 + frequency)))
    return int(exact.multiply(exact.add(log, Decimal(1)), Decimal(UNIT)).to_integral_value(ROUND_HALF_EVEN))
