"""The four phases: the reference by hand and by an oracle that compares all pairs of sets; the kernels by the reference."""

from __future__ import annotations

import random
from collections import defaultdict
from math import isnan

import numpy as np
import pytest

from ndcore.collection.cluster import cluster
from ndcore.reference import collection as reference
from ndcore.reference.collection import Common, Estimated, Sketch
from ndcore.reference.resemblance import adaptive_containment, adaptive_resemblance
from ndcore.reference.sketches import adaptive, adaptive_level, super_shingles
from ndcore.sketch.mod import ModSketcher

SEEDS = range(60)


def collection(rng: random.Random) -> list[Sketch]:
    """Copies, edits, parts and strangers of small samples; in half of the collections with different moduli."""
    universe = range(1, rng.choice([30, 200]))
    mixed = rng.random() < 0.5
    step = rng.choice([1, 3, 25])
    sets: list[set[int]] = []
    for _ in range(rng.randrange(25)):
        kind = rng.random()
        if sets and kind < 0.25:
            made = set(rng.choice(sets))
        elif sets and kind < 0.6:
            made = rng.choice(sets) ^ set(rng.sample(universe, rng.randrange(4)))
        elif sets and kind < 0.7:
            made = {z for z in rng.choice(sets) if rng.random() < 0.5}
        elif kind < 0.75:
            made = set()
        else:
            made = set(rng.sample(universe, rng.randrange(1, 20)))
        sets.append(made | {16} if rng.random() < 0.6 else made)
    moduli = [1 << rng.randrange(4) if mixed else step for _ in sets]
    return [
        Sketch(m, sorted(z for z in made if z % m == 0) if mixed else sorted(z * step for z in made))
        for m, made in zip(moduli, sets, strict=True)
    ]


def shuffled(rng: random.Random, n: int) -> list[int]:
    return rng.sample(range(n), n)


# ---------------------------------------------------------------------------------------------- the oracle


class Oracle:
    """The same definitions from all pairs of sets, without lists of entries."""

    def __init__(self, sketches: list[Sketch], max_holders: int, order: list[int]) -> None:
        self.n, self.order = len(sketches), order
        self.sets = [frozenset(sketch.members) for sketch in sketches]
        self.moduli = [sketch.modulus for sketch in sketches]
        self.rank = {i: at for at, i in enumerate(order)}
        self.leaders = [min(self._twins(i), key=self.rank.__getitem__) for i in range(self.n)]
        self.led = [i for i in range(self.n) if self.leaders[i] == i]
        self.held = {z: [i for i in self.led if z in self.sets[i]] for i in self.led for z in self.sets[i]}
        self.common = {z for z, held in self.held.items() if len(held) > max_holders}

    def _twins(self, i: int) -> list[int]:
        alike = [j for j in range(self.n) if (self.sets[j], self.moduli[j]) == (self.sets[i], self.moduli[i])]
        return alike if self.sets[i] else [i]

    def shared(self) -> dict[tuple[int, int], int]:
        met = {(a, b): self.sets[a] & self.sets[b] for a in self.led for b in self.led if a < b}
        return {pair: len(both) for pair, both in met.items() if both - self.common}

    def part(self, i: int, modulus: int) -> frozenset[int]:
        return frozenset(z for z in self.sets[i] if z % modulus == 0)

    def measured(self, a: int, b: int, common: int) -> tuple[float, float, float]:
        left, right = (self.part(i, max(self.moduli[a], self.moduli[b])) for i in (a, b))
        return common / (len(left) + len(right) - common), common / len(left), common / len(right)

    def components(self, weights: dict[tuple[int, int], float]) -> list[int]:
        reach = {i: {i} for i in range(self.n)}
        for _ in range(self.n):
            for a, b in weights:
                reach[a] |= reach[b]
                reach[b] |= reach[a]
        return [min(reach[i], key=self.rank.__getitem__) for i in range(self.n)]

    def star(self, weights: dict[tuple[int, int], float]) -> list[int]:
        labels: dict[int, int] = {}
        for i in self.order:
            near = {j: weights.get((min(i, j), max(i, j)), -1.0) for j in labels if labels[j] == j}
            best = max(near, key=lambda j: (near[j], -self.rank[j]), default=i)
            labels[i] = best if near.get(best, -1.0) >= 0 else i
        return [labels[i] for i in range(self.n)]

    def greedy(self, threshold: float, popular: bool) -> list[int]:
        """Popularity is recounted for every comparison."""
        clusters: list[list[int]] = []
        for i in sorted(self.led, key=self.rank.__getitem__):
            scored = []
            for at, members in enumerate(clusters):
                modulus = max(self.moduli[i], self.moduli[members[0]])
                mine = self.part(i, modulus)
                whole = self._popular(members) if popular else self.sets[members[0]]
                theirs = {z for z in whole if z % modulus == 0}
                common = len((mine & theirs) - self.common)
                union = len(mine) + len(theirs) - common
                if common and common / union >= threshold:
                    scored.append((-common / union, at))
            if scored:
                clusters[min(scored)[1]].append(i)
            else:
                clusters.append([i])
        return [next((members[0] for members in clusters if i in members), i) for i in range(self.n)]

    def _popular(self, members: list[int]) -> set[int]:
        seen: defaultdict[int, int] = defaultdict(int)
        for i in members:
            for z in self.part(i, self.moduli[members[0]]):
                seen[z] += 1
        chosen: set[int] = set()
        while len(chosen) < len(self.sets[members[0]]):
            most = max(count for z, count in seen.items() if z not in chosen)
            chosen.add(min(z for z, count in seen.items() if count == most and z not in chosen))
        return chosen


@pytest.mark.parametrize("seed", SEEDS)
def test_every_phase_as_the_oracle(seed):
    rng = random.Random(seed)
    sketches = collection(rng)
    order = shuffled(rng, len(sketches))
    max_holders, threshold = rng.choice([1, 3, 6, 1000]), rng.choice([0.3, 0.5, 0.8])
    floor = min(0.5, threshold)
    oracle = Oracle(sketches, max_holders, order)

    leaders = reference.collapse(sketches, order)
    shingles = reference.entries(sketches, leaders)
    common = reference.common_shingles(shingles, max_holders)
    shared = reference.counts(shingles, common)
    pairs = reference.estimates(sketches, shared, floor)

    assert leaders == oracle.leaders
    assert shingles == sorted((z, i) for z, held in oracle.held.items() for i in held)
    assert common == [Common(z, len(oracle.held[z]), min(oracle.held[z])) for z in sorted(oracle.common)]
    assert shared == oracle.shared()
    measured = {pair: oracle.measured(*pair, count) for pair, count in oracle.shared().items()}
    kept = {pair: found for pair, found in measured.items() if max(found[1:]) >= floor}
    assert {(p.a, p.b): p[3:] for p in pairs} == kept

    for policy, weight in (("resemblance", lambda found: found[0]), ("containment", lambda found: max(found[1:]))):
        weights = {pair: weight(found) for pair, found in kept.items() if weight(found) >= threshold}
        for kind, expected in (("star", oracle.star(weights)), ("components", oracle.components(weights))):
            found = reference.cluster_pairs(len(sketches), pairs, threshold, kind, policy, order)
            assert found == expected
            assert reference.restore(found, leaders) == [expected[leader] for leader in oracle.leaders]

    assert reference.greedy(sketches, leaders, common, threshold, "first", order) == oracle.greedy(threshold, False)
    assert reference.greedy(sketches, leaders, common, threshold, "popular", order) == oracle.greedy(threshold, True)

    expected = [(a, b, found[1]) for (a, b), found in kept.items()] + [(b, a, found[2]) for (a, b), found in kept.items()]
    assert reference.contained(pairs, 0.5) == sorted(way for way in expected if way[2] >= 0.5)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_member_as_representative_gives_stars(seed):
    """Joining the best cluster is what star does, given every pair with a shingle in common."""
    rng = random.Random(seed)
    sketches = collection(rng)
    leaders = list(range(len(sketches)))
    order = shuffled(rng, len(sketches))
    pairs = reference.estimates(sketches, reference.counts(reference.entries(sketches, leaders)), 0.0)
    assert reference.greedy(sketches, leaders, [], 0.4, "first", order) == reference.cluster_pairs(
        len(sketches), pairs, 0.4, "star", order=order
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_super_shingles_propose_pairs_with_a_run_in_common(seed):
    rng = random.Random(seed)
    sketches = collection(rng)
    leaders = reference.collapse(sketches)
    shared = reference.counts(reference.entries(sketches, leaders))
    run = rng.choice([1, 2, 3])
    runs = [{tuple(s.members[i : i + run]) for i in range(len(s.members) - run + 1)} for s in sketches]
    found = reference.super_shingle_candidates(sketches, leaders, run, 10**9, shared)
    assert found == {(a, b): common for (a, b), common in shared.items() if runs[a] & runs[b]}
    few = reference.super_shingle_candidates(sketches, leaders, run, 2, shared)
    held = [r for i, own in enumerate(runs) if leaders[i] == i for r in own]
    rare = {r for r in set(held) if held.count(r) <= 2}
    assert few == {(a, b): common for (a, b), common in shared.items() if runs[a] & runs[b] & rare}


# ---------------------------------------------------------------------------------------------- the kernels


def hashed(rng: random.Random) -> list[list[int]]:
    """Sets of hashes of several sizes, copies and edits of one another."""
    universe = [rng.getrandbits(64) for _ in range(600)]
    sets: list[list[int]] = []
    for _ in range(rng.randrange(1, 30)):
        made = list(rng.choice(sets)) if sets and rng.random() < 0.7 else rng.sample(universe, rng.choice([3, 20, 90, 260]))
        for _ in range(rng.randrange(1 + len(made) // 3) if rng.random() < 0.7 else 0):
            made[rng.randrange(len(made))] = rng.choice(universe)
        sets.append(made)
    return sets


@pytest.mark.parametrize("seed", SEEDS)
def test_clusters_of_sketches_as_the_reference(seed):
    rng = random.Random(seed)
    sets = hashed(rng)
    values = np.array([z for made in sets for z in made], np.uint64)
    sk = ModSketcher(rng.choice([1, 3, "adaptive"])).sketch_hashes(values, np.cumsum([0, *map(len, sets)]))
    moduli = [1] * len(sets) if sk.moduli is None else sk.moduli.tolist()
    members = [part.tolist() for part in np.split(sk.values, sk.offsets[1:-1])]
    sketches = [Sketch(*pair) for pair in zip(moduli, members, strict=True)]
    threshold, max_holders = rng.choice([0.3, 0.5, 0.8]), rng.choice([2, 4, 1000])

    leaders = reference.collapse(sketches)
    shingles = reference.entries(sketches, leaders)
    common = reference.common_shingles(shingles, max_holders)
    pairs = reference.estimates(sketches, reference.counts(shingles, common), min(0.5, threshold))
    for policy in reference.POLICIES:
        for kind in reference.CLUSTERINGS:
            how = {"policy": policy, "cluster": kind, "max_holders": max_holders, "least": 1}
            found = cluster(sk, threshold=threshold, threads=1, **how)
            labels = reference.cluster_pairs(len(sketches), pairs, threshold, kind, policy)
            assert found.labels.tolist() == reference.restore(labels, leaders)
    assert found.pairs.a.tolist() == [p.a for p in pairs]
    assert found.pairs.b.tolist() == [p.b for p in pairs]
    assert found.pairs.overlaps.common.tolist() == [p.common for p in pairs]
    assert sorted(zip(*(column.tolist() for column in found.common), strict=True)) == common
    ways = found.contained(0.8)[:3]
    assert list(zip(*(column.tolist() for column in ways), strict=True)) == reference.contained(pairs, 0.8)


# ---------------------------------------------------------------------------------------------- by hand


def test_estimates_at_the_larger_modulus_and_common_shingles():
    fine, coarse, third = Sketch(1, [1, 2, 3, 4, 6, 8]), Sketch(2, [2, 4, 6, 10]), Sketch(1, [2, 5])
    sketches = [fine, coarse, third]
    shingles = reference.entries(sketches, [0, 1, 2])
    common = reference.common_shingles(shingles, 2)
    assert common == [Common(2, 3, 0)]
    shared = reference.counts(shingles, common)
    assert shared == {(0, 1): 3}  # 4 and 6, and with them 2, which alone the third document has too
    assert reference.estimates(sketches, shared, 0.75) == [Estimated(0, 1, 3, 3 / 5, 0.75, 0.75)]
    assert reference.estimates(sketches, shared, 0.76) == []


@pytest.mark.parametrize("seed", range(20))
def test_without_common_shingles_they_are_the_estimates_of_sketches(seed):
    rng = random.Random(seed)
    texts = [[rng.randrange(2**64) for _ in range(n)] for n in (90, 150)]
    texts[1][:60] = texts[0][:60]
    samples = [adaptive(text) for text in texts]
    assert [level for level, _ in samples] == [adaptive_level(90), adaptive_level(150)] == [0, 1]
    sketches = [Sketch(1 << level, members) for level, members in samples]
    (pair,) = reference.estimates(sketches, reference.counts(reference.entries(sketches, [0, 1])), 0.0)
    assert pair.resemblance == adaptive_resemblance(*samples)
    assert (pair.containment_ab, pair.containment_ba) == (
        adaptive_containment(*samples), adaptive_containment(*samples[::-1]),
    )
    assert not isnan(pair.resemblance)


def test_a_shingle_of_a_thousand_documents_is_not_common_and_one_of_a_thousand_and_one_is():
    """Broder et al. 1997, §5.1: very common are shingles shared by more than 1000 documents."""
    for n, expected in ((1000, []), (1001, [Common(0, 1001, 0)])):
        assert reference.common_shingles([(0, i) for i in range(n)], 1000) == expected


def test_the_paper_s_policies_need_no_new_counts():
    """Broder et al. 1997, §6.1: thresholds and containment policies repeat the final phase only."""
    sketches = [Sketch(1, range(1, 11)), Sketch(1, range(1, 6)), Sketch(1, range(4, 14))]
    pairs = reference.estimates(sketches, reference.counts(reference.entries(sketches, [0, 1, 2])), 0.5)
    assert [(p.a, p.b, p.resemblance) for p in pairs] == [(0, 1, 0.5), (0, 2, 7 / 13)]
    assert reference.cluster_pairs(3, pairs, 0.5, "components") == [0, 0, 0]
    assert reference.cluster_pairs(3, pairs, 0.51, "components") == [0, 1, 0]
    assert reference.cluster_pairs(3, pairs, 0.8, "components", "containment") == [0, 0, 2]
    assert reference.contained(pairs, 0.6) == [(0, 2, 0.7), (1, 0, 1.0), (2, 0, 0.7)]


def test_super_shingles_do_not_see_containment():
    """Broder et al. 1997, §5.3: the shingles of a larger document are interspersed with those of the smaller."""
    sketches = [Sketch(2, range(2, 42, 2)), Sketch(2, range(2, 42, 4))]
    shared = reference.counts(reference.entries(sketches, [0, 1]))
    assert reference.estimates(sketches, shared, 0.5)[0].containment_ba == 1.0
    assert set(super_shingles(sketches[0].members, 3)).isdisjoint(super_shingles(sketches[1].members, 3))
    assert reference.super_shingle_candidates(sketches, [0, 1], 3, 1000, shared) == {}


def greedy(sketches: list[Sketch], threshold: float, representative: str) -> list[int]:
    return reference.greedy(sketches, range(len(sketches)), [], threshold, representative)


def test_the_popular_representative_follows_its_members():
    """{1 2 3 4} is joined by {2 3 4 5} twice; then 2 3 4 5 are popular, and {3 4 5 7} joins at 3/5."""
    sketches = [Sketch(1, list(range(at, at + 4))) for at in (1, 2, 3)] + [Sketch(1, [3, 4, 5, 7])]
    assert greedy(sketches, 0.6, "popular") == [0, 0, 2, 2]
    assert greedy(sketches, 0.33, "popular") == [0, 0, 0, 0]
    assert greedy(sketches, 0.33, "first") == [0, 0, 0, 0]
    assert greedy([*sketches[:2], *sketches[1::2]], 0.6, "popular") == [0] * 4
    assert greedy([*sketches[:2], *sketches[1::2]], 0.6, "first") == [0, 0, 0, 3]


def test_of_equally_popular_fingerprints_the_smaller_represent():
    """Of {1 2 3 4} and {2 3 4 5} remain 1 2 3 4: 1 is as popular as 5."""
    sketches = [Sketch(1, [1, 2, 3, 4]), Sketch(1, [2, 3, 4, 5]), Sketch(1, [1, 2, 6]), Sketch(1, [4, 5, 6])]
    assert greedy(sketches, 0.4, "popular") == [0, 0, 0, 3]


def test_empty_samples_meet_nobody():
    sketches = [Sketch(4, []), Sketch(4, []), Sketch(1, [1]), Sketch(1, [1])]
    leaders = reference.collapse(sketches)
    assert leaders == [0, 1, 2, 2]
    assert reference.entries(sketches, leaders) == [(1, 2)]
    assert greedy(sketches, 0.5, "first") == greedy(sketches, 0.5, "popular") == [0, 1, 2, 2]


def test_equal_members_of_different_moduli_are_different_sketches():
    sketches = [Sketch(1, [4, 8]), Sketch(4, [4, 8])]
    assert reference.collapse(sketches) == [0, 1]
    assert reference.collapse([*sketches, sketches[0]], [2, 1, 0]) == [2, 1, 2]


def test_errors():
    with pytest.raises(ValueError, match="sketch 1 are not ascending multiples of its modulus 2"):
        reference.entries([Sketch(1, [1]), Sketch(2, [2, 3])], [0, 1])
    with pytest.raises(ValueError, match="not ascending multiples"):
        reference.entries([Sketch(1, [1, 1])], [0])
    with pytest.raises(ValueError, match="moduli are 2 and 3"):
        reference.sizes(Sketch(2, []), Sketch(3, []))
