# cython: embedsignature=True, overflowcheck=True
"""Keys: fingerprints with their bits permuted, for sorted tables. Arrays are checked here, at linear cost."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

import numpy as np

from ndcore cimport _bounds
from ndcore._signals cimport STRIDE, check_signals, stride


cdef extern from "sort.h" nogil:
    ctypedef struct nd_sorting:
        pass
    void nd_sort_open(nd_sorting *s)


cdef extern from "keys.h" nogil:
    uint64_t nd_keys_sum(const nd_keys_order *o, const uint64_t *keys, size_t n, uint64_t seed)
    void nd_keys_permute(const nd_keys_order *o, const uint64_t *from_, size_t n, uint64_t *to)
    void nd_keys_histogram(
        const nd_keys_order *o, const uint64_t *from_, size_t n, unsigned shift, uint64_t *counts)
    size_t nd_keys_gather(
        const nd_keys_order *o, const uint64_t *from_, size_t n, uint64_t low, uint64_t high, uint64_t *to, size_t room)
    int nd_keys_sort_next(nd_sorting *s, uint64_t *keys, uint64_t *scratch, size_t n, int lowest, size_t limit)
    void nd_keys_directory(const uint64_t *keys, size_t n, unsigned bits, unsigned directory_bits, uint32_t *directory)
    void nd_keys_presence(const uint64_t *keys, size_t n, unsigned bits, unsigned presence_bits, uint8_t *presence)


def sort(uint64_t[::1] keys not None, unsigned loose=0, uint64_t[::1] scratch=None):
    """Sort keys in place; the order of their lowest `loose` bits does not matter.

    scratch: as large as keys, or larger; made if not given. O(n) for each byte that varies.
    """
    cdef size_t n = keys.shape[0]
    if scratch is None:
        scratch = np.empty(n, np.uint64)
    if <size_t> scratch.shape[0] < n:
        raise ValueError(f"{n} keys are sorted with room for {scratch.shape[0]}")
    cdef nd_sorting s
    if n:
        nd_sort_open(&s)
        with nogil:
            while not nd_keys_sort_next(&s, &keys[0], &scratch[0], n, <int> (loose // 8), STRIDE):
                check_signals()


cdef unsigned set_order(nd_keys_order *order, const uint8_t[:, ::1] runs) except? 255:
    """Check the runs of an order, (2, r): lows and widths, and refer to them; return the number of their bits."""
    if runs.shape[0] != 2 or not 1 <= runs.shape[1] <= 64:
        raise ValueError(f"runs are lows and widths, (2, 1 to 64), got {runs.shape[0], runs.shape[1]}")
    total = 0
    for low, width in np.asarray(runs).T.tolist():
        total += width
        if not 1 <= width <= 64 - low or total > 64:
            raise ValueError(f"a run of {width} bits from bit {low} up, of {total} so far, is not among 64")
    order.low, order.width, order.runs = &runs[0, 0], &runs[1, 0], <unsigned> runs.shape[1]
    return total


cdef _check_leading(const uint64_t[::1] keys, unsigned bits, unsigned leading):
    """Raise ValueError unless keys have `bits` bits, of which `leading` can be numbered."""
    if not 1 <= bits <= 64 or leading > min(bits, 32u):
        raise ValueError(f"{leading} leading bits of keys of {bits} cannot be numbered")
    if not _bounds.keys_below(keys, bits):
        raise ValueError(f"a key, {np.max(keys)}, has more than {bits} bits")


def permuted(const uint8_t[:, ::1] runs not None, const uint64_t[::1] fingerprints not None):
    """Permute the bits of fingerprints; runs has lows and widths, from the highest bits on. Returns uint64 (n,)."""
    cdef size_t at = 0, n = fingerprints.shape[0]
    cdef uint64_t[::1] out = np.empty(n, np.uint64)
    cdef nd_keys_order order
    set_order(&order, runs)
    with nogil:
        while at < n:
            check_signals()
            nd_keys_permute(&order, &fingerprints[at], stride(at, n, STRIDE), &out[at])
            at += STRIDE
    return np.asarray(out)


def histogram(
    const uint8_t[:, ::1] runs not None, const uint64_t[::1] fingerprints not None, unsigned shift,
    uint64_t[::1] counts not None,
):
    """Count the keys of fingerprints by their bits above the lowest `shift`; counts has a word for each value."""
    cdef size_t at = 0, n = fingerprints.shape[0]
    cdef nd_keys_order order
    cdef unsigned bits = set_order(&order, runs)
    if shift > bits or bits - shift > 32 or <uint64_t> counts.shape[0] < <uint64_t> 1 << (bits - shift):
        raise ValueError(f"{counts.shape[0]} words do not count keys of {bits} bits shifted by {shift}")
    with nogil:
        while at < n:
            check_signals()
            nd_keys_histogram(&order, &fingerprints[at], stride(at, n, STRIDE), shift, &counts[0])
            at += STRIDE


def gather(
    const uint8_t[:, ::1] runs not None, const uint64_t[::1] fingerprints not None, uint64_t low, uint64_t high,
    uint64_t[::1] to not None, size_t at,
):
    """Write the keys from low to high of fingerprints to `to`, from position `at` on; return where they end.

    `to` has room for one key more than the caller expects, so that an end at its last word is an error that can be seen.
    """
    cdef size_t done = 0, n = fingerprints.shape[0], room = to.shape[0]
    cdef nd_keys_order order
    set_order(&order, runs)
    if at >= room:
        raise ValueError(f"there is no room from position {at} on, but for {room} keys")
    with nogil:
        while done < n and at < room:
            check_signals()
            at += nd_keys_gather(&order, &fingerprints[done], stride(done, n, STRIDE), low, high, &to[at], room - at)
            done += STRIDE
    return at


def directory(const uint64_t[::1] keys not None, unsigned bits, unsigned directory_bits):
    """Find where each value of the leading bits begins in ascending keys; uint32 (2^directory_bits + 1,).

    ValueError if a key has more bits.
    """
    _check_leading(keys, bits, directory_bits)
    cdef uint32_t[::1] out = np.empty((<size_t> 1 << directory_bits) + 1, np.uint32)
    cdef size_t n = keys.shape[0]
    with nogil:
        nd_keys_directory(&keys[0] if n else NULL, n, bits, directory_bits, &out[0])
    return np.asarray(out)


def presence(const uint64_t[::1] keys not None, unsigned bits, unsigned presence_bits):
    """Note for each value of the leading bits whether a key has it; uint8, eight values a byte, bit 0 first.

    presence_bits >= 3. ValueError if a key has more bits.
    """
    _check_leading(keys, bits, presence_bits)
    if presence_bits < 3:
        raise ValueError(f"presence of {presence_bits} bits is no byte; give 3 or more")
    cdef uint8_t[::1] out = np.empty((<size_t> 1 << presence_bits) // 8, np.uint8)
    cdef size_t n = keys.shape[0]
    with nogil:
        nd_keys_presence(&keys[0] if n else NULL, n, bits, presence_bits, &out[0])
    return np.asarray(out)


def ascend(const uint64_t[::1] keys not None, unsigned loose):
    """Return whether keys ascend without their lowest `loose` bits; if loose is 0, whether they strictly ascend."""
    return _bounds.keys_ascend(keys, loose)


def checksum(const uint8_t[:, ::1] runs not None, const uint64_t[::1] keys not None, uint64_t seed):
    """Sum up the fingerprints of keys, in any order: see nd_keys_sum in keys.h."""
    cdef size_t n = keys.shape[0]
    cdef uint64_t sum
    cdef nd_keys_order order
    set_order(&order, runs)
    with nogil:
        sum = nd_keys_sum(&order, &keys[0] if n else NULL, n, seed)
    return sum
