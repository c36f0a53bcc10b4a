"""Sets, and what the definition says of pairs of them. No test is here."""

from __future__ import annotations

import random

from ndcore.phases.verification import Judgement

THRESHOLD = 0.5


def collection(rng: random.Random, n: int) -> list[set[int]]:
    """Sets of which many are edits of others."""
    sets: list[set[int]] = []
    for _ in range(n):
        made = set(rng.choice(sets)) if sets and rng.random() < 0.7 else {rng.getrandbits(64) for _ in range(12)}
        made ^= {rng.getrandbits(64) for _ in range(rng.choice([0, 0, 1, 3]))}
        sets.append({value for value in made if rng.random() < 0.97} or {7})
    return sets


class Judged:
    """What the definition says of pairs, by signatures made one by one."""

    def __init__(self, sets: list[set[int]], how: Judgement) -> None:
        self.sets, self.how = sets, how
        self.rows = [how.sketcher.sketch_hashes(sorted(members), [0, len(members)]).values[0].tolist() for members in sets]

    def groups(self, a: int, b: int) -> set[int]:
        size = self.how.design.group_size
        return {g for g in range(self.how.design.groups)
                if self.rows[a][g * size : g * size + size] == self.rows[b][g * size : g * size + size]}

    def resemblance(self, a: int, b: int) -> float:
        return len(self.sets[a] & self.sets[b]) / len(self.sets[a] | self.sets[b])

    def accepted(self, a: int, b: int) -> bool:
        equal = sum(x == y for x, y in zip(self.rows[a], self.rows[b], strict=True))
        return (equal >= self.how.equal_minima and len(self.groups(a, b)) >= self.how.design.need
                and self.resemblance(a, b) >= THRESHOLD
                and min(len(self.sets[a]), len(self.sets[b])) >= self.how.min_shingles)
