"""Values of other tools: minima of datasketch, simhashes of two packages, fingerprints of SCANOSS (DESIGN.md, section 3).

Written from their definitions, without their code: the generator from Matsumoto and Nishimura 1998, CRC-32C from RFC 3720,
appendix B.4.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

from .sketches import fmix64

PRIME = (1 << 61) - 1
SCHEMES = {"legacy": 32, "affine32": 32, "affine64": 64}  # of datasketch, with the bits of a minimum
GRAM, WINDOW = 30, 64  # of SCANOSS

# ---------------------------------------------------------------------------------------------- datasketch


def mersenne_twister(seed: int) -> Iterator[int]:
    """Yield the 32-bit outputs of MT19937, seeded by a number below 2^32 (Matsumoto, Nishimura 1998; code of 2002).

    >>> next(mersenne_twister(5489))
    3499211612
    """
    if not 0 <= seed < 1 << 32:
        raise ValueError(f"seed is {seed}; give an integer in [0, 2**32)")
    state = [seed]
    for i in range(1, 624):
        state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + i) % (1 << 32))
    while True:
        for i in range(624):
            y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7FFFFFFF)
            state[i] = state[(i + 397) % 624] ^ (y >> 1) ^ (0x9908B0DF if y % 2 else 0)
        for y in state:
            y ^= y >> 11
            y ^= (y << 7) & 0x9D2C5680
            y ^= (y << 15) & 0xEFC60000
            yield y ^ (y >> 18)


def draw_below(outputs: Iterator[int], count: int, bits: int) -> int:
    """Draw a number below `count`: as many low bits as count − 1 has, of a word of `bits`, again where they are too large.

    A word of 64 bits is two outputs, the first one highest. This is how NumPy's ``RandomState.randint`` draws.
    """
    mask = (1 << (count - 1).bit_length()) - 1
    while True:
        word = next(outputs) if bits == 32 else next(outputs) << 32 | next(outputs)
        if word & mask < count:
            return word & mask


def datasketch_permutations(scheme: str, num_perm: int, seed: int) -> tuple[list[int], list[int]]:
    """Draw the coefficients a and b of datasketch's permutations."""
    outputs = mersenne_twister(seed)
    if scheme == "legacy":
        pairs = [(1 + draw_below(outputs, PRIME - 1, 64), draw_below(outputs, PRIME, 64)) for _ in range(num_perm)]
        return [a for a, _ in pairs], [b for _, b in pairs]
    bits = SCHEMES[scheme]
    a = [2 * draw_below(outputs, 1 << (bits - 1), bits) + 1 for _ in range(num_perm)]
    return a, [draw_below(outputs, 1 << bits, bits) for _ in range(num_perm)]


def fmix32(z: int) -> int:
    """Apply the 32-bit finaliser of MurmurHash3 (Appleby).

    >>> [fmix32(z) for z in (0, 1)]
    [0, 1364076727]
    """
    z = ((z ^ (z >> 16)) * 0x85EBCA6B) % (1 << 32)
    z = ((z ^ (z >> 13)) * 0xC2B2AE35) % (1 << 32)
    return z ^ (z >> 16)


def datasketch_signature(hashes: Iterable[int], scheme: str, num_perm: int = 128, seed: int = 1) -> list[int]:
    """Compute the minima of ready hashes, as datasketch 2.0 does; ``legacy`` is the only scheme of earlier versions.

    legacy: (a·h + b mod 2^64) mod (2^61 − 1), of which the low 32 bits stay: a and b are 64-bit integers, which overflow.
    affine32 and affine64: a·fmix(h) + b mod 2^32 or 2^64. Hashes of affine32 have 32 bits. All ones without hashes.
    """
    bits = SCHEMES[scheme]
    a, b = datasketch_permutations(scheme, num_perm, seed)
    given = list(hashes)
    if scheme == "legacy":
        rows = [[(x * h + y) % (1 << 64) % PRIME % (1 << 32) for h in given] for x, y in zip(a, b, strict=True)]
    else:
        mixed = [fmix32(h) if bits == 32 else fmix64(h) for h in given]
        rows = [[(x * z + y) % (1 << bits) for z in mixed] for x, y in zip(a, b, strict=True)]
    return [min(row, default=(1 << bits) - 1) for row in rows]


def datasketch_hash(token: bytes, scheme: str) -> int:
    """Hash a token as datasketch does unless told otherwise: the first 4 or 8 bytes of SHA-1, the first one lowest."""
    return int.from_bytes(hashlib.sha1(token).digest()[: SCHEMES[scheme] // 8], "little")


# ---------------------------------------------------------------------------------------------- simhash packages


def package_hash(token: bytes, package: str) -> int:
    """Hash a feature: the last (1e0ng/simhash) or first (seomoz/simhash) 8 bytes of MD5, the first one highest."""
    digest = hashlib.md5(token).digest()
    return int.from_bytes(digest[-8:] if package == "1e0ng" else digest[:8], "big")


def package_features(text: str) -> list[str]:
    """List the features of a text in 1e0ng/simhash: 4 consecutive characters, in lower case, of what its pattern keeps.

    A text with fewer characters is one feature.

    >>> package_features("To be!")
    ['tobe']
    """
    letters = "".join(re.findall(r"[\w\u4e00-\u9fcc]+", text.lower()))
    return [letters[i : i + 4] for i in range(max(1, len(letters) - 3))]


def package_simhash(hashes: Sequence[int], weights: Sequence[float] | None = None) -> int:
    """Compute the simhash of ready hashes: bit b is 1 where hashes with bit b weigh more than all others; 0 in a tie."""
    given = weights or [1] * len(hashes)
    sums = [sum(w if h >> b & 1 else -w for h, w in zip(hashes, given, strict=True)) for b in range(64)]
    return sum(1 << b for b in range(64) if sums[b] > 0)


# ---------------------------------------------------------------------------------------------- SCANOSS


def crc32c(data: bytes) -> int:
    """Compute CRC-32C (Castagnoli), bit by bit.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc % 2 else 0)
    return crc ^ 0xFFFFFFFF


def scanoss_fingerprints(source: bytes) -> list[tuple[int, int]]:
    """List (line, fingerprint) of a source as SCANOSS does, lines counted from 1.

    ASCII letters, in lower case, and digits stay. A gram is CRC-32C of 30 of them; of 64 consecutive grams the least is
    selected if it differs from the one selected last. Its fingerprint is CRC-32C of its 4 bytes, the lowest first, and its
    line is where the window ends. Without 64 grams there is none.
    """
    letters: list[int] = []
    lines: list[int] = []
    line = 1
    for byte in source:
        line += byte == 0x0A
        if bytes([byte]).isalnum():
            letters.append(bytes([byte]).lower()[0])
            lines.append(line)
    grams = [crc32c(bytes(letters[i : i + GRAM])) for i in range(len(letters) - GRAM + 1)]
    fingerprints: list[tuple[int, int]] = []
    last = -1
    for end in range(WINDOW, len(grams) + 1):
        least = min(grams[end - WINDOW : end])
        if least != last:
            fingerprints.append((lines[end + GRAM - 2], crc32c(least.to_bytes(4, "little"))))
        last = least
    return fingerprints
