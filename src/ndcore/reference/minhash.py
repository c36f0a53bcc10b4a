"""Permuted fingerprints and their samples.

Sources: Broder 1997, sections 3 and 4; Broder 2000, section 2; DESIGN.md, section 3.

Fingerprints are integers in [0, 2^64); order and repeats do not change any sketch, except that the adaptive
sample counts repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .gf2 import MASK64, splitmix64

BOTTOM_BITS = (32, 40, 64)
SIGNATURE_BITS = (32, 64)


def fmix64(z: int) -> int:
    """Apply the 64-bit finaliser of MurmurHash3 (Appleby): a bijection of [0, 2^64) with full avalanche."""
    z = ((z ^ (z >> 33)) * 0xFF51AFD7ED558CCD) & MASK64
    z = ((z ^ (z >> 33)) * 0xC4CEB9FE1A85EC53) & MASK64
    return z ^ (z >> 33)


def key_and_coefficients(seed: int, num_perm: int) -> tuple[int, list[int], list[int]]:
    """Draw the key of π and the coefficients a_i, b_i, i < num_perm, as 64-bit outputs of SplitMix64(seed).

    The key is the first output; then come a_0, b_0, a_1, b_1, …  They are raw: neither reduced nor made odd.

    Raises
    ------
    ValueError
        If ``seed`` is not in [0, 2^64) or ``num_perm`` < 0.
    """
    if num_perm < 0:
        raise ValueError(f"num_perm is {num_perm}; give an integer >= 0")
    outputs = splitmix64(seed)
    key = next(outputs)
    a = []
    b = []
    for _ in range(num_perm):
        a.append(next(outputs))
        b.append(next(outputs))
    return key, a, b


def permute(fingerprints: Iterable[int], seed: int = 1) -> list[int]:
    """Apply π: z = fmix64(f XOR key) of every fingerprint, in the order given, with repeats."""
    key, _, _ = key_and_coefficients(seed, 0)
    return [fmix64(f ^ key) for f in fingerprints]


def signature(fingerprints: Iterable[int], num_perm: int = 84, bits: int = 32, seed: int = 1) -> list[int]:
    """Compute minima of h_i = a_i·x + b_i mod 2^bits over the fingerprints, for each of ``num_perm`` permutations.

    x is the high half of z for 32 bits, and z for 64; a_i and b_i are reduced mod 2^bits and a_i made odd.
    Without fingerprints every value is 2^bits - 1.

    Raises
    ------
    ValueError
        If ``num_perm`` < 1, ``bits`` is not 32 or 64, or ``seed`` is not in [0, 2^64).
    """
    if num_perm < 1:
        raise ValueError(f"num_perm is {num_perm}; give an integer >= 1")
    if bits not in SIGNATURE_BITS:
        raise ValueError(f"bits is {bits}; a signature has 32 or 64 bits")
    modulus = 1 << bits
    _, a, b = key_and_coefficients(seed, num_perm)
    xs = [z >> (64 - bits) for z in permute(fingerprints, seed)]
    minima = []
    for a_i, b_i in zip(a, b, strict=True):
        odd = (a_i % modulus) | 1
        minima.append(min(((odd * x + b_i) % modulus for x in xs), default=modulus - 1))
    return minima


def bottom(fingerprints: Iterable[int], size: int = 200, bits: int = 64, seed: int = 1) -> list[int]:
    """Compute MIN_s: the ``size`` smallest distinct values z >> (64 - bits), ascending; all of them, if fewer.

    The definition itself.  :func:`bottom_heap` is the algorithm of the paper.

    Raises
    ------
    ValueError
        If ``size`` < 1, ``bits`` is not 32, 40 or 64, or ``seed`` is not in [0, 2^64).
    """
    return sorted(set(_shifted(fingerprints, size, bits, seed)))[:size]


def bottom_heap(fingerprints: Iterable[int], size: int = 200, bits: int = 64, seed: int = 1) -> list[int]:
    """Compute MIN_s with a bounded heap, maximum at the root, and a table that suppresses duplicates.

    Same result and errors as :func:`bottom`; O(n + s log s log n) expected time in place of O(n log n)
    (Broder 1997, section 4.1: the last possibility for option B).
    """
    heap: list[int] = []
    present: set[int] = set()
    for value in _shifted(fingerprints, size, bits, seed):
        if value in present:
            continue
        if len(heap) < size:
            present.add(value)
            heap.append(value)
            _sift_up(heap, len(heap) - 1)
        elif value < heap[0]:
            present.remove(heap[0])
            present.add(value)
            heap[0] = value
            _sift_down(heap, 0)
    return sorted(heap)


def mod(fingerprints: Iterable[int], modulus: int = 25, seed: int = 1) -> list[int]:
    """Compute MOD_m: the distinct z that are 0 mod ``modulus``, ascending.

    Raises
    ------
    ValueError
        If ``modulus`` is not in [1, 2^64) or ``seed`` is not in [0, 2^64).
    """
    if not 1 <= modulus <= MASK64:
        raise ValueError(f"modulus is {modulus}; give an integer in [1, 2**64)")
    return sorted({z for z in permute(fingerprints, seed) if z % modulus == 0})


def adaptive_level(n: int) -> int:
    """Return i of L_i for a document of ``n`` fingerprints, repeats included; the modulus is 2^i.

    >>> [adaptive_level(n) for n in (0, 99, 100, 199, 200)]
    [0, 0, 1, 1, 2]
    """
    if n < 0:
        raise ValueError(f"the number of fingerprints is {n}; give an integer >= 0")
    return max(0, (n // 50).bit_length() - 1)


def adaptive(fingerprints: Sequence[int], seed: int = 1) -> tuple[int, list[int]]:
    """Compute L_i: the level i, and MOD_m with m = 2^i."""
    level = adaptive_level(len(fingerprints))
    return level, mod(fingerprints, 1 << level, seed)


def _shifted(fingerprints: Iterable[int], size: int, bits: int, seed: int) -> list[int]:
    """Permute fingerprints and keep the upper ``bits``."""
    if size < 1:
        raise ValueError(f"size is {size}; give an integer >= 1")
    if bits not in BOTTOM_BITS:
        raise ValueError(f"bits is {bits}; a bottom sketch has 32, 40 or 64 bits")
    return [z >> (64 - bits) for z in permute(fingerprints, seed)]


def _sift_up(heap: list[int], i: int) -> None:
    """Restore the heap upwards from a place."""
    while i > 0 and heap[i] > heap[(i - 1) // 2]:
        parent = (i - 1) // 2
        heap[i], heap[parent] = heap[parent], heap[i]
        i = parent


def _sift_down(heap: list[int], i: int) -> None:
    """Restore the heap downwards from a place."""
    while True:
        largest = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < len(heap) and heap[child] > heap[largest]:
                largest = child
        if largest == i:
            return
        heap[i], heap[largest] = heap[largest], heap[i]
        i = largest
