"""Rabin fingerprints (Broder 1997, sections 4.1 and 4.3; DESIGN.md, section 3).

A byte string is a polynomial b(x) over GF(2): the first byte and bit 7 are the highest powers.  Its
fingerprint is b(x)·x^d mod p, with d the degree of p, so d zero bits are appended to the string.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import gf2


def fingerprint(b: bytes, p: int) -> int:
    """Compute the fingerprint of the byte string ``b`` modulo ``p``, an integer in [0, 2^d).

    Strings that differ only in leading zero bytes have the same fingerprint.

    Parameters
    ----------
    b : bytes
        Any length; the empty string has fingerprint 0.
    p : int
        Polynomial of degree d >= 1, leading term included.  It is not checked to be irreducible.

    Raises
    ------
    ValueError
        If the degree of ``p`` is less than 1.
    """
    _check_polynomial(p)
    return gf2.mod(int.from_bytes(b, "big") << gf2.degree(p), p)


def sliding(b: bytes, window: int, p: int) -> list[int]:
    """Compute fingerprints of ``b[i:i+window]`` for every i, in order; none if ``b`` is shorter than the window.

    Raises
    ------
    ValueError
        If ``window`` < 1 or the degree of ``p`` is less than 1.
    """
    _check_polynomial(p)
    if window < 1:
        raise ValueError(f"window is {window}; give a number of bytes >= 1")
    return [fingerprint(b[i : i + window], p) for i in range(len(b) - window + 1)]


def concat(fa: int, fb: int, len_b: int, p: int) -> int:
    """Compute the fingerprint of a ‖ b from their fingerprints: fa·x^(8·len_b) + fb mod p.

    Parameters
    ----------
    fa, fb : int
        Fingerprints modulo ``p``.
    len_b : int
        Length of b in bytes, >= 0.
    p : int
        Polynomial of degree >= 1.

    Raises
    ------
    ValueError
        If ``len_b`` < 0, the degree of ``p`` is less than 1, or a fingerprint is not reduced modulo ``p``.
    """
    _check_polynomial(p)
    if len_b < 0:
        raise ValueError(f"len_b is {len_b}; give a number of bytes >= 0")
    for f in (fa, fb):
        if not 0 <= f < 1 << gf2.degree(p):
            raise ValueError(f"fingerprint is {f:#x}; give one in [0, 2**{gf2.degree(p)})")
    return gf2.add(gf2.mulmod(fa, gf2.powmod(gf2.X, 8 * len_b, p), p), fb)


def words(values: Sequence[int], p: int) -> int:
    """Compute the fingerprint of the string of the given 64-bit values, each 8 bytes, big-endian.

    Raises
    ------
    ValueError
        If a value is not in [0, 2^64) or the degree of ``p`` is less than 1.
    """
    for value in values:
        if not 0 <= value <= gf2.MASK64:
            raise ValueError(f"word is {value}; give integers in [0, 2**64)")
    return fingerprint(b"".join(value.to_bytes(8, "big") for value in values), p)


def _check_polynomial(p: int) -> None:
    """Check that the degree of ``p`` is at least 1."""
    if gf2.degree(p) < 1:
        raise ValueError(f"polynomial is {p:#x}; give one of degree >= 1, leading term included")
