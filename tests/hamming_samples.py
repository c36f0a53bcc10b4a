"""Inputs of the tests of Hamming searches. No test is here."""

from __future__ import annotations

import functools
import random

from ndcore.reference import hamming as reference


def near_ones(n: int, bits: int = 64, seed: int = 1) -> list[int]:
    """Generate random fingerprints; half are followed by one that differs in 0 to 6 bits."""
    rng = random.Random(seed)
    made: list[int] = []
    while len(made) < n:
        made.append(rng.getrandbits(bits))
        if rng.random() < 0.5:
            made.append(made[-1] ^ sum(1 << b for b in rng.sample(range(bits), min(bits, rng.randrange(7)))))
    return made[:n]


@functools.cache
def near_pairs(values: tuple[int, ...], most: int) -> list[tuple[int, int, int]]:
    """List (i, j, distance) of all pairs i < j within a distance, in order; tests of several plans ask for the same ones."""
    return [(i, j, distance) for i, a in enumerate(values) for j, b in enumerate(values[i + 1 :], i + 1)
            if (distance := (a ^ b).bit_count()) <= most]


@functools.cache
def near_ids(values: tuple[int, ...], query: int, most: int) -> list[tuple[int, int]]:
    """Return `reference.within`; tests of several plans ask for the same queries."""
    return reference.within(values, query, most)


def found(answer) -> list[tuple[int, int]]:
    """Sort the answer of a query by id."""
    ids, distance = answer
    return sorted(zip(ids.tolist(), distance.tolist(), strict=True))
