"""Collisions of fingerprints: how many to expect, and how long fingerprints must be."""

from __future__ import annotations

import math

from ndcore.checks import checked_int, checked_shape
from ndcore.stats.binomial import upper_tail


def expected_distinct(shingles: int, bits: int = 64) -> float:
    """Estimate the number of distinct fingerprints of `shingles` distinct shingles: E|f(S)|.

    2^l (1 − (1 − 2^−l)^n) = n − C(n, 2) / 2^l + … for a random function f into l bits.

    Parameters
    ----------
    shingles : int
        n, at least 0.
    bits : int
        l, at least 1.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        A parameter is outside its range.

    References
    ----------
    Broder, "On the resemblance and containment of documents", 1997, §4.1. DOI 10.1109/SEQUEN.1997.666900.

    >>> round(expected_distinct(1000, 10), 2)
    638.54
    """
    n, length = checked_int("shingles", shingles, 0), checked_int("bits", bits, 1)
    return math.ldexp(-math.expm1(n * math.log1p(-math.ldexp(1.0, -length))), length)


def fingerprint_error(shingles: int, bits: int = 64) -> float:
    """Bound the error |r_{w,f} − r_w| of a resemblance that is taken of fingerprints instead of shingles.

    The resemblances differ by less than |A ∪ B| / 2^(l − 11), with a probability above 99.9 % over random functions f into
    l bits.

    Parameters
    ----------
    shingles : int
        |A ∪ B|, at least 0.
    bits : int
        l, at least 1.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        A parameter is outside its range.

    References
    ----------
    Broder, "On the resemblance and containment of documents", 1997, §4.1. DOI 10.1109/SEQUEN.1997.666900.
    """
    return math.ldexp(checked_int("shingles", shingles, 0), 11 - checked_int("bits", bits, 1))


def expected_spurious(documents: int, bits: int = 64, groups: int = 1, need: int = 1) -> float:
    """Estimate the number of pairs of a collection that share features only because fingerprints collide.

    Each of documents·(documents − 1) / 2 pairs does with probability P(Binomial(groups, 2^-bits) >= need), if fingerprints
    are uniform. Functions that never verify pairs report it.

    Parameters
    ----------
    documents : int
        At least 0.
    bits : int
        Length of a fingerprint.
    groups, need : int
        Features per document, and how many must be equal.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        A parameter is outside its range.

    References
    ----------
    Broder, "Identifying and filtering near-duplicate documents", 2000, §2. DOI 10.1007/3-540-45123-4_1.
    """
    documents = checked_int("documents", documents, 0)
    groups, _, need = checked_shape(groups, 1, need)
    pairs = documents * (documents - 1) // 2
    return pairs * upper_tail(need, groups, math.ldexp(1.0, -checked_int("bits", bits, 1)))


def fingerprint_bits(documents: int) -> int:
    """Return the bits of a fingerprint that make spurious matches rare: 2 log2(documents) + 20, rounded up.

    Fewer than 2^-21 spurious matches are then expected per feature.

    Parameters
    ----------
    documents : int
        Size of the collection, at least 1.

    Returns
    -------
    int

    Raises
    ------
    TypeError, ValueError
        A parameter is outside its range.

    References
    ----------
    Broder, "Identifying and filtering near-duplicate documents", 2000, §2. DOI 10.1007/3-540-45123-4_1.
    """
    return math.ceil(2.0 * math.log2(checked_int("documents", documents, 1))) + 20
