"""Collisions of fingerprints: how many to expect, and how long fingerprints must be (Broder 1997, §4.1; Broder 2000, §2)."""

from __future__ import annotations

import math

from ndcore.checks import checked_int, checked_shape
from ndcore.stats.binomial import upper_tail

__all__ = ["expected_distinct", "expected_spurious", "fingerprint_bits", "fingerprint_error"]


def expected_distinct(shingles: int, bits: int = 64) -> float:
    """Expected number of different fingerprints of `shingles` different shingles: E|f(S)| (Broder 1997, §4.1).

    2^l (1 − (1 − 2^−l)^n) = n − C(n, 2) / 2^l + … for a random function f into l bits.

    Parameters
    ----------
    shingles : int
        n, at least 0.
    bits : int
        l, at least 1.

    >>> round(expected_distinct(1000, 10), 2)
    638.54
    """
    n, length = checked_int("shingles", shingles, 0), checked_int("bits", bits, 1)
    return math.ldexp(-math.expm1(n * math.log1p(-math.ldexp(1.0, -length))), length)


def fingerprint_error(shingles: int, bits: int = 64) -> float:
    """Bound on what fingerprints of so many bits do to a resemblance: |r_{w,f} − r_w| (Broder 1997, §4.1).

    |A ∪ B| / 2^(l − 11): the resemblance of the sets of fingerprints differs from that of the sets of shingles by less, with
    a probability above 99.9 % over random functions f into l bits.

    Parameters
    ----------
    shingles : int
        |A ∪ B|, at least 0.
    bits : int
        l, at least 1.
    """
    return math.ldexp(checked_int("shingles", shingles, 0), 11 - checked_int("bits", bits, 1))


def expected_spurious(documents: int, bits: int = 64, groups: int = 1, need: int = 1) -> float:
    """Expected number of pairs of a collection that share features only because fingerprints collide.

    documents (documents - 1) / 2 pairs, each with probability P(Binomial(groups, 2^-bits) >= need), the fingerprints
    being taken as uniform. Functions that never verify report it.

    Parameters
    ----------
    documents : int
        At least 0.
    bits : int
        Length of a fingerprint.
    groups, need : int
        Features per document, and how many must be equal.
    """
    documents = checked_int("documents", documents, 0)
    groups, _, need = checked_shape(groups, 1, need)
    pairs = documents * (documents - 1) // 2
    return pairs * upper_tail(need, groups, math.ldexp(1.0, -checked_int("bits", bits, 1)))


def fingerprint_bits(documents: int) -> int:
    """Bits of a fingerprint that make spurious matches rare in a collection: 2 log2(documents) + 20, rounded up.

    Broder 2000, §2. Then fewer than 2^-21 of such matches are expected per feature.
    """
    return math.ceil(2.0 * math.log2(checked_int("documents", documents, 1))) + 20
