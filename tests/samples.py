"""Collections of mod samples, as the reference of the four phases has them and as Sketches. No test is here."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import ndcore as nd
from ndcore.collection.segments import Segments
from ndcore.reference import clustering
from ndcore.reference import collection as reference
from ndcore.reference.collection import Sketch

TOP = 2**64


def as_sketches(samples: Sequence[Sketch], adaptive: bool = True, **more: Any) -> nd.Sketches:
    """Make sketches of these samples; not adaptive: they have one modulus."""
    n, counts = len(samples), [len(sample.members) for sample in samples]
    moduli = np.array([sample.modulus for sample in samples], np.uint64)
    modulus: Any = "adaptive" if adaptive else (samples[0].modulus if samples else 25)
    return nd.Sketches(
        np.array([z for sample in samples for z in sample.members], np.uint64), nd.ModSketcher(modulus).recipe,
        offsets=np.cumsum([0, *counts]), sizes=np.array(counts, np.float64), sizes_exact=np.ones(n, np.bool_),
        valid=np.ones(n, np.bool_), moduli=moduli if adaptive else None, **more,
    )  # fmt: skip


def collection(rng: random.Random, size: int, modulus: int | None, pool: int = 400) -> list[Sketch]:
    """Make copies, edits, parts and strangers; `modulus` of all, or None: powers of two of their own."""
    universe = sorted({rng.randrange(TOP // 64) * 64 >> rng.randrange(7) for _ in range(pool)} | {0, TOP - 64})
    sets: list[set[int]] = []
    for _ in range(size):
        kind = rng.random()
        if sets and kind < 0.2:
            made = set(rng.choice(sets))
        elif sets and kind < 0.6:
            made = rng.choice(sets) ^ set(rng.sample(universe, rng.randrange(5)))
        elif sets and kind < 0.7:
            made = {z for z in rng.choice(sets) if rng.random() < 0.5}
        elif kind < 0.75:
            made = set()
        else:
            made = set(rng.sample(universe, rng.choice([1, 5, 20, 40])))
        sets.append(made | {universe[7]} if rng.random() < 0.5 else made)
    if modulus is not None:
        return [Sketch(modulus, sorted({z - z % modulus for z in made})) for made in sets]
    moduli = [1 << rng.choice([0, 0, 0, 1, 2, 4]) for _ in sets]
    return [Sketch(m, sorted(z for z in made if z % m == 0)) for m, made in zip(moduli, sets, strict=True)]


class Expected(NamedTuple):
    """What the reference makes of a collection."""

    leaders: list[int]
    common: list[reference.Common]
    pairs: list[reference.Estimated]
    labels: list[int]


@functools.lru_cache(4)
def _pairs(samples: tuple[Sketch, ...], max_holders: int, floor: float, run: int | None) -> tuple[Any, Any, Any]:
    """Run three phases: the leaders, the common shingles and the pairs. Tests ask for many clusters of the same."""
    leaders = reference.collapse(samples)
    entries = reference.entries(samples, leaders)
    common = reference.common_shingles(entries, max_holders)
    shared = reference.counts(entries, common)
    if run is not None:
        shared = reference.super_shingle_candidates(samples, leaders, run, max_holders, reference.counts(entries))
    return leaders, common, reference.estimates(samples, shared, floor)


def expected(
    samples: Sequence[Sketch], threshold: float, *, max_holders: int = 1000, policy: reference.Policy = "resemblance",
    cluster: str = "star", floor: float | None = None, run: int | None = None,
) -> Expected:
    """Run the four phases of the reference; `run`: pairs are proposed by super-shingles, then whole samples are compared."""
    plain = tuple(Sketch(sketch.modulus, tuple(sketch.members)) for sketch in samples)
    leaders, common, pairs = map(list, _pairs(plain, max_holders, min(0.5, threshold) if floor is None else floor, run))
    links = reference.links(pairs, threshold, policy)
    if cluster == "popular":
        labels = reference.greedy(samples, leaders, common, threshold, "popular")
    else:
        labels = getattr(clustering, cluster)(len(samples), links)
    return Expected(leaders, common, pairs, reference.restore(labels, leaders))


def parted(sketches, cuts):
    """Cut sketches into several parts, empty ones too."""
    ends = [0, *cuts, len(sketches)]
    return Segments([sketches[a:b] for a, b in itertools.pairwise(ends)])
