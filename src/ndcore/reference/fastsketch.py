"""Fast similarity sketching (Dahlgaard, Knudsen, Thorup, FOCS 2017), for ``method="fast"``.

A sketch of t coordinates is filled in rounds. In round i < t every element of the set goes to a random coordinate with a
random value; in round t + j to coordinate j. A coordinate keeps the smallest value of the first round that reaches it.
Rounds end when all coordinates are filled, so that a large set is read once.
"""

from __future__ import annotations

from collections.abc import Iterable

from ndcore.reference.gf2 import GOLDEN_GAMMA, MASK64
from ndcore.reference.minhash import fmix64, permute


def round_value(z: int, i: int, t: int) -> tuple[int, int]:
    """Return the coordinate and the 32-bit value of an element, given by its z = π(f), in round i."""
    r = z if i == 0 else fmix64((z + i * GOLDEN_GAMMA) & MASK64)
    coordinate = ((r >> 32) * t) >> 32 if i < t else i - t
    return coordinate, r & 0xFFFFFFFF


def fast_signature(fingerprints: Iterable[int], num_perm: int = 84, seed: int = 1) -> list[int]:
    """Compute the sketch of a set; all ones for the empty set."""
    t = num_perm
    members = sorted(set(permute(fingerprints, seed)))
    filled: dict[int, int] = {}
    for i in range(2 * t):
        if len(filled) == t or not members:
            break
        this_round: dict[int, int] = {}
        for z in members:
            coordinate, value = round_value(z, i, t)
            if coordinate not in filled:
                this_round[coordinate] = min(value, this_round.get(coordinate, value))
        filled.update(this_round)
    return [filled.get(j, 0xFFFFFFFF) for j in range(t)]
