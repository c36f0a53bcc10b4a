"""Polynomials over GF(2) as Python ints: bit i is the coefficient of x^i, the leading term included.

The zero polynomial is 0 and has degree -1.  Sources: Rabin 1981, "Fingerprinting by random polynomials";
DESIGN.md, section 3, for the constants and the random candidates.
"""

from __future__ import annotations

from collections.abc import Iterator

MASK64 = 2**64 - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15
X = 0b10


def degree(a: int) -> int:
    """Return the degree of ``a``; -1 for the zero polynomial.

    >>> degree(0b1011)
    3
    """
    _check(a)
    return a.bit_length() - 1


def add(a: int, b: int) -> int:
    """Sum of ``a`` and ``b``, which is also their difference."""
    _check(a)
    _check(b)
    return a ^ b


def mul(a: int, b: int) -> int:
    """Multiply ``a`` and ``b`` without carries, one shifted copy of ``a`` per term of ``b``.

    >>> bin(mul(0b11, 0b11))
    '0b101'
    """
    _check(a)
    _check(b)
    product = 0
    for i in range(b.bit_length()):
        if (b >> i) & 1:
            product ^= a << i
    return product


def divmod_(a: int, b: int) -> tuple[int, int]:
    """Divide: return quotient q and remainder r, a = q·b + r with degree(r) < degree(b).

    Raises
    ------
    ZeroDivisionError
        If ``b`` is the zero polynomial.
    """
    _check(a)
    _check(b)
    if b == 0:
        raise ZeroDivisionError("cannot divide by the zero polynomial; give a divisor of degree 0 or more")
    quotient = 0
    remainder = a
    while remainder.bit_length() >= b.bit_length():
        shift = remainder.bit_length() - b.bit_length()
        quotient ^= 1 << shift
        remainder ^= b << shift
    return quotient, remainder


def mod(a: int, b: int) -> int:
    """Return the remainder of ``a`` divided by ``b``; raises ZeroDivisionError if ``b`` is 0."""
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
    """Raise ``a`` to the power ``exponent`` >= 0 modulo ``p``, by squaring.

    Raises
    ------
    ValueError
        If ``exponent`` is negative.
    """
    if exponent < 0:
        raise ValueError(f"exponent is {exponent}; give an integer >= 0")
    result = mod(1, p)
    base = mod(a, p)
    while exponent:
        if exponent & 1:
            result = mulmod(result, base, p)
        base = mulmod(base, base, p)
        exponent >>= 1
    return result


def prime_divisors(n: int) -> list[int]:
    """List the distinct prime divisors of ``n`` >= 1, ascending, by trial division."""
    primes = []
    candidate = 2
    while n > 1:
        if n % candidate == 0:
            primes.append(candidate)
            while n % candidate == 0:
                n //= candidate
        candidate += 1
    return primes


def is_irreducible(f: int) -> bool:
    """Test whether ``f`` is irreducible over GF(2): Rabin's test.

    f of degree n >= 1 is irreducible if and only if x^(2^n) = x mod f, and gcd(x^(2^(n/q)) - x, f) = 1
    for every prime q that divides n.  Constants (0 and 1) are not irreducible.

    >>> is_irreducible(0x11B), is_irreducible(0x101)
    (True, False)
    """
    n = degree(f)
    if n < 1:
        return False
    for q in prime_divisors(n):
        if gcd(f, add(_frobenius(n // q, f), X)) != 1:
            return False
    return _frobenius(n, f) == mod(X, f)


def _frobenius(times: int, f: int) -> int:
    """Compute x^(2^times) mod f: x squared ``times`` times."""
    power = mod(X, f)
    for _ in range(times):
        power = mulmod(power, power, f)
    return power


def splitmix64(seed: int) -> Iterator[int]:
    """Yield the endless outputs of SplitMix64, integers in [0, 2^64).

    The state is first the seed; the gamma is added before each output.

    Raises
    ------
    ValueError
        If ``seed`` is not in [0, 2^64).

    References
    ----------
    Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators", figure 17.
    """
    if not 0 <= seed <= MASK64:
        raise ValueError(f"seed is {seed}; give an integer in [0, 2**64)")
    return _splitmix64(seed)


def _splitmix64(state: int) -> Iterator[int]:
    """Yield the outputs that follow a state."""
    while True:
        state = (state + GOLDEN_GAMMA) & MASK64
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
        yield z ^ (z >> 31)


def random_irreducible(d: int, seed: int) -> int:
    """Find the first irreducible x^d + v, v from successive outputs of SplitMix64(seed).

    v is the low d bits of the next ceil(d/64) outputs, the first output highest, with the constant term set.

    >>> hex(random_irreducible(64, 1))
    '0x1fd845ef300ce2d0b'

    Raises
    ------
    ValueError
        If ``d`` < 1 or ``seed`` is not in [0, 2^64).
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


def _check(a: int) -> None:
    """Raise ValueError for a negative number."""
    if a < 0:
        raise ValueError(f"polynomial is {a}; give an integer >= 0 whose bit i is the coefficient of x^i")


# random_irreducible(64, seed) for seeds 1 to 4, as the contract prints them; a test searches for them again.
POLYNOMIAL = 0x1FD845EF300CE2D0B
"""P: fingerprints of shingles."""

TOKEN_POLYNOMIAL = 0x102FC1EFE0FCCD72D
"""Q: symbols of tokens longer than 8 bytes."""

FEATURE_POLYNOMIAL = 0x15F9968BB90FD8193
"""R: features and super-shingles."""

SUPER_FEATURE_POLYNOMIAL = 0x1DBEF19FC8E7B845F
"""S: super-features."""
