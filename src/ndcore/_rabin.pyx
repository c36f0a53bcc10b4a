# cython: embedsignature=True, overflowcheck=True, annotation_typing=False
"""Polynomials over GF(2) and Rabin fingerprints."""

from cpython.buffer cimport PyBUF_SIMPLE, PyObject_GetBuffer, PyBuffer_Release
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free

from operator import index

import numpy as np

from ndcore cimport _cpu
from ndcore._cpu cimport nd_choice
from ndcore._signals cimport check_signals, stride


cdef extern from "gf2.h" nogil:
    ctypedef struct nd_gf2_test:
        int answer
    void nd_gf2_test_open(nd_gf2_test *t, const uint64_t *p, size_t n, uint64_t *scratch)
    int nd_gf2_test_next(nd_gf2_test *t, long steps)
    void nd_gf2_candidate(uint64_t *state, size_t degree, uint64_t *p)


cdef extern from "rabin.h" nogil:
    void nd_rabin_init(nd_rabin *r, uint64_t low, unsigned degree)
    uint64_t nd_rabin_value(const nd_rabin *r, uint64_t state)
    uint64_t nd_rabin_bytes(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n)
    uint64_t nd_rabin_words(const nd_rabin *r, const uint64_t *words, size_t n)
    uint64_t nd_rabin_shift(const nd_rabin *r, uint64_t value, uint64_t n)
    void nd_rabin_byte_window_init(nd_rabin_byte_window *w, const nd_rabin *r, size_t window)
    void nd_rabin_sliding(
        const nd_rabin *r, const nd_rabin_byte_window *w, size_t window, const uint8_t *b, size_t n, uint64_t *out)
    void nd_rabin_symbol_window_init(nd_rabin_symbol_window *w, const nd_rabin *r, size_t window)
    void nd_rabin_symbols(
        const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window, const uint64_t *s, size_t n, uint64_t *out)
    const nd_choice nd_rabin_choice


cdef void rabin_init(nd_rabin *r, uint64_t low, unsigned degree) noexcept nogil:
    """Export nd_rabin_init to other extensions."""
    nd_rabin_init(r, low, degree)

cdef void rabin_byte_window_init(nd_rabin_byte_window *w, const nd_rabin *r, size_t window) noexcept nogil:
    """Export nd_rabin_byte_window_init to other extensions."""
    nd_rabin_byte_window_init(w, r, window)

cdef void rabin_symbol_window_init(nd_rabin_symbol_window *w, const nd_rabin *r, size_t window) noexcept nogil:
    """Export nd_rabin_symbol_window_init to other extensions."""
    nd_rabin_symbol_window_init(w, r, window)

cdef uint64_t rabin_bytes(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n) noexcept nogil:
    """Export nd_rabin_bytes to other extensions."""
    return nd_rabin_bytes(r, state, b, n)

cdef uint64_t rabin_shift(const nd_rabin *r, uint64_t value, uint64_t n) noexcept nogil:
    """Export nd_rabin_shift to other extensions."""
    return nd_rabin_shift(r, value, n)

cdef uint64_t rabin_words(const nd_rabin *r, const uint64_t *words, size_t n) noexcept nogil:
    """Export nd_rabin_words to other extensions."""
    return nd_rabin_words(r, words, n)

cdef void rabin_sliding(
    const nd_rabin *r, const nd_rabin_byte_window *w, size_t window, const uint8_t *b, size_t n, uint64_t *out
) noexcept nogil:
    """Export nd_rabin_sliding to other extensions."""
    nd_rabin_sliding(r, w, window, b, n, out)

cdef void rabin_symbols(
    const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window, const uint64_t *s, size_t n, uint64_t *out
) noexcept nogil:
    """Export nd_rabin_symbols to other extensions."""
    nd_rabin_symbols(r, w, window, s, n, out)


kernel = _cpu.kernel_of(&nd_rabin_choice)


MAX_DEGREE = 1 << 16


def _integer(name: str, value) -> int:
    """Convert a value to int; TypeError for bools, floats and other types."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an int, got {value!r} of type {type(value).__name__}")
    return index(value)


def _words(polynomial: int) -> bytes:
    """Split a polynomial, an int with its leading term, into little-endian u64 words."""
    polynomial = _integer("a polynomial (bit i the coefficient of x^i)", polynomial)
    if polynomial < 0:
        raise ValueError(f"a polynomial is a non-negative int, its leading term included; got {polynomial}")
    if polynomial.bit_length() > MAX_DEGREE + 1:
        raise ValueError(f"the polynomial has degree {polynomial.bit_length() - 1}; at most {MAX_DEGREE} is accepted")
    return polynomial.to_bytes(8 * max(1, (polynomial.bit_length() + 63) // 64), "little")


cdef enum:
    SQUARED = 4194304  # words that squarings change between two checks of signals, about
    PUSHED = 16777216  # bytes between two checks of signals


cdef bint _irreducible(const uint64_t *p, size_t n) except -1:
    """Return whether a polynomial of n words is irreducible."""
    cdef uint64_t *scratch = <uint64_t *> calloc(4 * n, sizeof(uint64_t))
    cdef nd_gf2_test test
    cdef long steps = <long> (1 + SQUARED // (64 * n * n))
    if scratch == NULL:
        raise MemoryError()
    try:
        nd_gf2_test_open(&test, p, n, scratch)
        with nogil:
            while nd_gf2_test_next(&test, steps) < 0:
                check_signals()
    finally:
        free(scratch)
    return test.answer


def is_irreducible(polynomial: int) -> bool:
    """Return whether a polynomial over GF(2) is irreducible.

    Parameters
    ----------
    polynomial : int
        Bit i is the coefficient of x^i, the leading term included. Degree at most 65536.

    Returns
    -------
    bool
        Constants (0 and 1) are not irreducible; x and x + 1 are.

    Raises
    ------
    TypeError, ValueError
        If the polynomial is not a non-negative int, or has a higher degree.

    Notes
    -----
    Rabin's test, O(d^3 / 64) word operations at degree d.

    References
    ----------
    Michael O. Rabin, "Probabilistic algorithms in finite fields", SIAM Journal on Computing 9(2), 1980,
    doi:10.1137/0209024.

    >>> is_irreducible(0b111), is_irreducible(0b101)
    (True, False)
    """
    cdef bytes words = _words(polynomial)
    return _irreducible(<const uint64_t *> <const uint8_t *> words, <size_t> len(words) // 8)


def random_irreducible(degree: int, seed: int) -> int:
    """Find the first irreducible polynomial of a degree among the candidates that a seed gives.

    Parameters
    ----------
    degree : int
        1 to 65536.
    seed : int
        0 to 2^64 − 1. Stable: a degree and a seed always give the same polynomial.

    Returns
    -------
    int
        x^degree + v, where v is the low `degree` bits of the next ⌈degree / 64⌉ outputs of SplitMix64(seed), the first
        output highest, with the constant term set.

    Raises
    ------
    ValueError
        If degree or seed is out of range.

    Notes
    -----
    One candidate in about degree / 2 is irreducible, so the expected cost is O(d^4 / 128) word operations.

    >>> hex(random_irreducible(64, 1))
    '0x1fd845ef300ce2d0b'
    """
    degree, seed = _integer("degree", degree), _integer("seed", seed)
    if not 1 <= degree <= MAX_DEGREE:
        raise ValueError(f"degree must be 1 to {MAX_DEGREE}, got {degree}")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed must be 0 to 2^64 - 1, got {seed}")
    cdef size_t n = <size_t> degree // 64 + 1
    cdef uint64_t state = seed
    cdef uint64_t[::1] p = np.zeros(n, np.uint64)
    while True:
        nd_gf2_candidate(&state, degree, &p[0])
        if _irreducible(&p[0], n):
            return int.from_bytes(np.asarray(p).astype("<u8").tobytes(), "little")


cdef class Rabin:
    """Rabin fingerprints of byte strings modulo an irreducible polynomial.

    The fingerprint of b is b(x)·x^d mod P, where d is the degree of P: the first byte and bit 7 are the highest powers, and
    d zero bits are appended. Of n strings of at most m bits, chosen without knowledge of a random P, two share a
    fingerprint with probability below n^2·m / 2^d. Strings that differ only in leading zero bytes have the same
    fingerprint. Stable: a polynomial and a string always give the same value.

    Parameters
    ----------
    polynomial : int
        Irreducible, of degree 1 to 64, the leading term included; `random_irreducible` makes one.

    Raises
    ------
    ValueError
        If the polynomial is reducible or its degree is out of range.

    References
    ----------
    Andrei Z. Broder, "On the resemblance and containment of documents", 1997, section 4.1,
    doi:10.1109/SEQUEN.1997.666900.

    >>> r = Rabin()
    >>> a, b = b"near", b"-duplicate"
    >>> r.concat(r.fingerprint(a), r.fingerprint(b), len(b)) == r.fingerprint(a + b)
    True
    """
    cdef nd_rabin tables
    cdef uint64_t state
    cdef readonly object polynomial

    def __cinit__(self, *_, **__):
        self.polynomial, self.state = 0x1FD845EF300CE2D0B, 0  # so that an object without __init__ is sound
        nd_rabin_init(&self.tables, 0xFD845EF300CE2D0B, 64)

    def __init__(self, polynomial: int = 0x1FD845EF300CE2D0B):
        polynomial = _integer("a polynomial (bit i the coefficient of x^i)", polynomial)
        _words(polynomial)
        cdef int degree = polynomial.bit_length() - 1
        if not 1 <= degree <= 64:
            raise ValueError(f"the polynomial has degree {degree}; fingerprints need 1 to 64")
        if not is_irreducible(polynomial):
            raise ValueError(f"{polynomial:#x} is not irreducible; random_irreducible({degree}, seed) makes one that is")
        self.polynomial = polynomial
        self.state = 0
        nd_rabin_init(&self.tables, <uint64_t> (polynomial ^ (<object> 1 << degree)), degree)

    def __reduce__(self):
        return _restore, (self.polynomial, self.state)

    def __repr__(self):
        return f"Rabin({self.polynomial:#x})"

    @property
    def degree(self) -> int:
        """Degree of the polynomial: the bits of a fingerprint."""
        return self.polynomial.bit_length() - 1

    cdef uint64_t _push(self, uint64_t state, data) except? 0:
        """Return the state after the bytes of a bytes-like object."""
        cdef Py_buffer view
        cdef size_t at = 0, n
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            n = view.len
            with nogil:
                while at < n:
                    check_signals()
                    state = nd_rabin_bytes(&self.tables, state, <const uint8_t *> view.buf + at, stride(at, n, PUSHED))
                    at += PUSHED
        finally:
            PyBuffer_Release(&view)
        return state

    def fingerprint(self, data) -> int:
        """Compute the fingerprint of a bytes-like object, an int of `degree` bits. O(len)."""
        return nd_rabin_value(&self.tables, self._push(0, data))

    def sliding(self, data, window: int):
        """Compute the fingerprints of all windows of a bytes-like object.

        Parameters
        ----------
        data : bytes-like, n bytes
        window : int
            Bytes, at least 1.

        Returns
        -------
        ndarray of uint64, shape (max(0, n − window + 1),)
            [i] is the fingerprint of data[i : i + window]. O(n) for every window (Broder 1997, section 4.3).
        """
        window = _integer("window", window)
        if window < 1:
            raise ValueError(f"window must be at least 1 byte, got {window}")
        cdef const uint8_t[::1] text = memoryview(data).cast("B")
        cdef size_t n = text.shape[0], w, windows, at = 0
        if window > n:
            return np.empty(0, np.uint64)
        w = window
        windows = n - w + 1
        cdef uint64_t[::1] out = np.empty(windows, np.uint64)
        cdef nd_rabin_byte_window tables
        with nogil:
            nd_rabin_byte_window_init(&tables, &self.tables, w)
            while at < windows:
                check_signals()
                nd_rabin_sliding(&self.tables, &tables, w, &text[at], stride(at, windows, PUSHED) + w - 1, &out[at])
                at += PUSHED
        return np.asarray(out)

    def concat(self, fa: int, fb: int, len_b: int) -> int:
        """Compute the fingerprint of a + b from the fingerprints of a and b and the bytes of b, len_b. O(log len_b)."""
        fa, fb, len_b = _integer("fa", fa), _integer("fb", fb), _integer("len_b", len_b)
        for name, value in (("fa", fa), ("fb", fb)):
            if not 0 <= value < 1 << self.degree:
                raise ValueError(f"{name} = {value} is no fingerprint of {self.degree} bits")
        if not 0 <= len_b < 1 << 64:
            raise ValueError(f"len_b is a number of bytes, got {len_b}")
        return nd_rabin_shift(&self.tables, fa, len_b) ^ fb

    def update(self, data) -> "Rabin":
        """Append bytes to the running string that `digest` fingerprints; return self."""
        self.state = self._push(self.state, data)
        return self

    def digest(self) -> int:
        """Return the fingerprint of all bytes that `update` has appended."""
        return nd_rabin_value(&self.tables, self.state)

    def copy(self) -> "Rabin":
        """Return an independent object with the same polynomial and the same running string."""
        return _restore(self.polynomial, self.state)


def _restore(polynomial: int, state: int) -> Rabin:
    """Make a Rabin with a running string."""
    cdef Rabin rabin = Rabin(polynomial)
    rabin.state = state
    return rabin
