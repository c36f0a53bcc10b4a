"""Polynomials over GF(2) and Rabin fingerprints (Rabin 1981; Broder 1997, sections 4.1 and 4.3; DESIGN.md, section 3).

A polynomial is an int: bit i is the coefficient of x^i, the leading term included. The zero polynomial is 0, of degree -1.
A byte string is a polynomial b(x): its first byte, and bit 7 of each byte, have the highest powers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MASK64 = 2**64 - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15
X = 0b10

# random_irreducible(64, seed) for the seeds 1 to 4; a test searches for them again.
POLYNOMIAL = 0x1FD845EF300CE2D0B
"""P: fingerprints of shingles."""
TOKEN_POLYNOMIAL = 0x102FC1EFE0FCCD72D
"""Q: symbols of tokens longer than 8 bytes."""
FEATURE_POLYNOMIAL = 0x15F9968BB90FD8193
"""R: features and super-shingles."""
SUPER_FEATURE_POLYNOMIAL = 0x1DBEF19FC8E7B845F
"""S: super-features."""

# ---------------------------------------------------------------------------------------------- polynomials


def degree(a: int) -> int:
    """Return the degree of ``a``.

    >>> degree(0b1011)
    3
    """
    if a < 0:
        raise ValueError(f"polynomial is {a}; give an integer >= 0 whose bit i is the coefficient of x^i")
    return a.bit_length() - 1


def mul(a: int, b: int) -> int:
    """Multiply without carries: XOR one shifted copy of ``a`` for each term of ``b``.

    >>> bin(mul(0b11, 0b11))
    '0b101'
    """
    product = 0
    for i in range(degree(b) + 1):
        if (b >> i) & 1:
            product ^= a << i
    return product


def divmod_(a: int, b: int) -> tuple[int, int]:
    """Divide: return the quotient q and the remainder r, with a = q·b + r and degree(r) < degree(b)."""
    if b == 0:
        raise ZeroDivisionError("cannot divide by the zero polynomial; give a divisor of degree 0 or more")
    if degree(a) < degree(b):
        return 0, a
    quotient, remainder, terms = 0, a, degree(b) + 1
    while (shift := remainder.bit_length() - terms) >= 0:
        quotient ^= 1 << shift
        remainder ^= b << shift
    return quotient, remainder


def mod(a: int, b: int) -> int:
    """Return the remainder of ``a`` divided by ``b``."""
    return divmod_(a, b)[1]


def gcd(a: int, b: int) -> int:
    """Compute the greatest common divisor by Euclid's algorithm; gcd(0, 0) is 0."""
    while b:
        a, b = b, mod(a, b)
    return a


def mulmod(a: int, b: int, p: int) -> int:
    """Multiply ``a`` and ``b`` modulo ``p``."""
    return mod(mul(a, b), p)


def powmod(a: int, exponent: int, p: int) -> int:
    """Raise ``a`` to the power ``exponent`` >= 0 modulo ``p``, by squaring."""
    if exponent < 0:
        raise ValueError(f"exponent is {exponent}; give an integer >= 0")
    result, base = mod(1, p), mod(a, p)
    while exponent:
        if exponent & 1:
            result = mulmod(result, base, p)
        base = mulmod(base, base, p)
        exponent >>= 1
    return result


def prime_divisors(n: int) -> list[int]:
    """List the distinct prime divisors of ``n`` >= 1, ascending, by trial division."""
    primes = []
    for candidate in range(2, n + 1):
        if n % candidate == 0:
            primes.append(candidate)
            while n % candidate == 0:
                n //= candidate
    return primes


def is_irreducible(f: int) -> bool:
    """Test whether ``f`` is irreducible over GF(2), by Rabin's test.

    f of degree n >= 1 is irreducible if and only if x^(2^n) = x mod f, and gcd(x^(2^(n/q)) - x, f) = 1 for every prime q
    that divides n. The constants 0 and 1 are not irreducible.

    >>> is_irreducible(0x11B), is_irreducible(0x101)
    (True, False)
    """
    n = degree(f)
    if n < 1 or any(gcd(f, powmod(X, 2 ** (n // q), f) ^ X) != 1 for q in prime_divisors(n)):
        return False
    return powmod(X, 2**n, f) == mod(X, f)


def splitmix64(seed: int) -> Iterator[int]:
    """Return the endless outputs of SplitMix64, integers in [0, 2^64).

    Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators", figure 17. The state is first the seed; the
    gamma is added before each output.
    """
    if not 0 <= seed <= MASK64:
        raise ValueError(f"seed is {seed}; give an integer in [0, 2**64)")
    return _splitmix64(seed)


def _splitmix64(state: int) -> Iterator[int]:
    """Yield the outputs that follow a state."""
    while True:
        state = (state + GOLDEN_GAMMA) & MASK64
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
        yield z ^ (z >> 31)


def random_irreducible(d: int, seed: int) -> int:
    """Find the first irreducible x^d + v, with v from successive outputs of SplitMix64(seed).

    v is the low d bits of the next ceil(d/64) outputs, the first output highest, with the constant term set.

    >>> hex(random_irreducible(64, 1))
    '0x1fd845ef300ce2d0b'
    """
    if d < 1:
        raise ValueError(f"degree is {d}; give an integer >= 1")
    outputs = splitmix64(seed)
    while True:
        v = 0
        for _ in range((d + 63) // 64):
            v = (v << 64) | next(outputs)
        candidate = (1 << d) | (v & ((1 << d) - 1)) | 1
        if is_irreducible(candidate):
            return candidate


# ---------------------------------------------------------------------------------------------- fingerprints


def fingerprint(b: bytes, p: int) -> int:
    """Compute the fingerprint of a byte string: b(x)·x^d mod p, with d >= 1 the degree of p, an integer in [0, 2^d).

    d zero bits are thus appended to the string. Strings that differ only in leading zero bytes have the same fingerprint,
    and the empty string has 0. ``p`` is not checked to be irreducible.
    """
    d = degree(p)
    if d < 1:
        raise ValueError(f"polynomial is {p:#x}; give one of degree >= 1, leading term included")
    return mod(int.from_bytes(b, "big") << d, p)


def sliding(b: bytes, window: int, p: int) -> list[int]:
    """Compute the fingerprints of ``b[i : i + window]`` for every i, in order; none if ``b`` is shorter than the window."""
    if window < 1:
        raise ValueError(f"window is {window}; give a number of bytes >= 1")
    return [fingerprint(b[i : i + window], p) for i in range(len(b) - window + 1)]


def concat(fa: int, fb: int, len_b: int, p: int) -> int:
    """Compute the fingerprint of a ‖ b from the two fingerprints and the length of b in bytes: fa·x^(8·len_b) + fb mod p."""
    if len_b < 0:
        raise ValueError(f"len_b is {len_b}; give a number of bytes >= 0")
    for f in (fa, fb):
        if not 0 <= f < 1 << degree(p):
            raise ValueError(f"fingerprint is {f:#x}; give one in [0, 2**{degree(p)})")
    return mulmod(fa, powmod(X, 8 * len_b, p), p) ^ fb


def words(values: Sequence[int], p: int) -> int:
    """Compute the fingerprint of the string of the given 64-bit values, each as 8 bytes, big-endian."""
    for value in values:
        if not 0 <= value <= MASK64:
            raise ValueError(f"word is {value}; give integers in [0, 2**64)")
    return fingerprint(b"".join(value.to_bytes(8, "big") for value in values), p)
