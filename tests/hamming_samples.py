"""Inputs of the tests of Hamming searches. No test is here."""

from __future__ import annotations

import random


def near_ones(n: int, bits: int = 64, seed: int = 1) -> list[int]:
    """Generate random fingerprints; half are followed by one that differs in 0 to 6 bits."""
    rng = random.Random(seed)
    made: list[int] = []
    while len(made) < n:
        made.append(rng.getrandbits(bits))
        if rng.random() < 0.5:
            made.append(made[-1] ^ sum(1 << b for b in rng.sample(range(bits), min(bits, rng.randrange(7)))))
    return made[:n]


def found(answer) -> list[tuple[int, int]]:
    """Sort the answer of a query by id."""
    ids, distance = answer
    return sorted(zip(ids.tolist(), distance.tolist(), strict=True))
