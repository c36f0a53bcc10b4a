"""The clustering of a whole collection, from mod sketches (Broder et al. 1997, sections 4 and 5; DESIGN.md, section 5).

A document is its sketch: a modulus and the members of its sample, ascending. Of two moduli in a collection one divides the
other: they are all the same, or powers of two. Documents are the positions 0 … n - 1; ``order`` lists every position once,
first kept first (None: 0 … n - 1). The phases hand each other plain lists::

    leaders = collapse(sketches)                              # equal sketches: one goes on (section 5.2)
    shingles = entries(sketches, leaders)                     # phase 2
    common = common_shingles(shingles, 1000)                  # section 5.1
    shared = counts(shingles, common)                         # phase 3
    pairs = estimates(sketches, shared, floor=0.5)
    labels = restore(cluster_pairs(len(sketches), pairs, 0.5, "star"), leaders)    # phase 4
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

from . import clustering
from .resemblance import ratio
from .sketches import Selected, super_shingles

Entry = tuple[int, int]
"""(shingle, document that holds it)."""
Shared = dict[tuple[int, int], int]
"""How many shingles documents a < b both hold."""
Policy = Literal["resemblance", "containment"]
POLICIES: tuple[Policy, ...] = ("resemblance", "containment")
Representative = Literal["first", "popular"]
REPRESENTATIVES: tuple[Representative, ...] = ("first", "popular")
CLUSTERINGS = {"star": clustering.star, "components": clustering.components}


class Sketch(NamedTuple):
    """A mod sketch: the members of MOD_m of a document, ascending, and m."""

    modulus: int
    members: Sequence[int]


class Common(NamedTuple):
    """A shingle that too many documents hold: how many, and the first of them."""

    shingle: int
    holders: int
    example: int


class Estimated(NamedTuple):
    """What two documents a < b have in common, as estimated from their samples."""

    a: int
    b: int
    common: int
    resemblance: float
    containment_ab: float
    containment_ba: float


def collapse(sketches: Sequence[Sketch], order: Sequence[int] | None = None) -> list[int]:
    """Find for each document the first in keep order with the same sketch: the same members and modulus.

    Empty samples say nothing, and their documents lead themselves.
    """
    first: dict[tuple[int, tuple[int, ...]], int] = {}
    leaders = list(range(len(sketches)))
    for i in range(len(sketches)) if order is None else order:
        if sketches[i].members:
            leaders[i] = first.setdefault((sketches[i].modulus, tuple(sketches[i].members)), i)
    return leaders


def entries(sketches: Sequence[Sketch], leaders: Sequence[int]) -> list[Entry]:
    """List for phase 2 every shingle of the sketches of leaders with its document, by shingle, then document."""
    for i, (modulus, members) in enumerate(sketches):
        if any(first >= second for first, second in pairwise(members)) or any(z % modulus for z in members):
            raise ValueError(f"the members of sketch {i} are not ascending multiples of its modulus {modulus}")
    return sorted((z, i) for i, sketch in enumerate(sketches) if leaders[i] == i for z in sketch.members)


def common_shingles(shingles: Sequence[Entry], max_holders: int) -> list[Common]:
    """Find the shingles that more than ``max_holders`` documents have, ascending; the example has the first position."""
    return [Common(z, len(held), held[0]) for z, held in _group_holders(shingles).items() if len(held) > max_holders]


def counts(shingles: Sequence[Entry], common: Iterable[Common] = ()) -> Shared:
    """Count for phase 3 the shingles that documents a < b share, for each pair that shares one that is not common.

    Common shingles propose no pair, and count in the pairs that others propose.
    """
    ignored = {z for z, _, _ in common}
    shared: Counter[tuple[int, int]] = Counter()
    proposed: set[tuple[int, int]] = set()
    for z, held in _group_holders(shingles).items():
        shared.update(combinations(held, 2))
        if z not in ignored:
            proposed.update(combinations(held, 2))
    return {pair: shared[pair] for pair in sorted(proposed)}


def super_shingle_candidates(
    sketches: Sequence[Sketch], leaders: Sequence[int], run: int, max_holders: int, shared: Mapping[tuple[int, int], int]
) -> Shared:
    """Select from ``shared`` the pairs that share a super-shingle (section 5.3), with the same counts.

    Super-shingles are taken of each sketch as it is. One that more than ``max_holders`` leaders have proposes nothing.
    """
    meta = sorted(
        (z, i) for i, sketch in enumerate(sketches) if leaders[i] == i
        for z in super_shingles(sketch.members, run)
    )
    proposed = counts(meta, common_shingles(meta, max_holders))
    return {pair: common for pair, common in shared.items() if pair in proposed}


def sizes(a: Sketch, b: Sketch) -> tuple[int, int]:
    """Count the members of both samples at the larger modulus."""
    modulus = max(a.modulus, b.modulus)
    if modulus % min(a.modulus, b.modulus):
        raise ValueError(f"moduli are {a.modulus} and {b.modulus}; give one that divides the other")
    return tuple(sum(z % modulus == 0 for z in sketch.members) for sketch in (a, b))  # type: ignore[return-value]


def estimates(sketches: Sequence[Sketch], shared: Mapping[tuple[int, int], int], floor: float) -> list[Estimated]:
    """Estimate pairs; keep those with a containment of at least ``floor``, by a, then b (Broder 1997, Theorem 1).

    Resemblance common / (|A| + |B| - common), containment of A in B common / |A|, |A| and |B| the numbers of members at the
    larger modulus, common shingles included.
    """
    estimated = []
    for (a, b), common in sorted(shared.items()):
        size_a, size_b = sizes(sketches[a], sketches[b])
        pair = Estimated(a, b, common, ratio(common, size_a + size_b - common), ratio(common, size_a), ratio(common, size_b))
        if max(pair.containment_ab, pair.containment_ba) >= floor:
            estimated.append(pair)
    return estimated


def contained(pairs: Iterable[Estimated], threshold: float) -> list[tuple[int, int, float]]:
    """List (a, b, containment of A in B) of at least ``threshold``, by a, then b; a pair may come both ways."""
    ways = [way for p in pairs for way in ((p.a, p.b, p.containment_ab), (p.b, p.a, p.containment_ba))]
    return sorted(way for way in ways if way[2] >= threshold)


def links(pairs: Iterable[Estimated], threshold: float, policy: Policy = "resemblance") -> list[clustering.Pair]:
    """List (a, b, weight) of the pairs whose weight is at least ``threshold``.

    The weight is the resemblance, or with ``policy`` "containment" the larger of both containments.
    """
    weighed = [
        (p.a, p.b, p.resemblance if policy == "resemblance" else max(p.containment_ab, p.containment_ba)) for p in pairs
    ]
    return [link for link in weighed if link[2] >= threshold]


def cluster_pairs(
    n: int, pairs: Iterable[Estimated], threshold: float, kind: Literal["star", "components"],
    policy: Policy = "resemblance", order: Sequence[int] | None = None,
) -> list[int]:
    """Cluster, phase 4: return for each of n documents the position of its representative."""
    return CLUSTERINGS[kind](n, links(pairs, threshold, policy), order)


def restore(labels: Sequence[int], leaders: Sequence[int]) -> list[int]:
    """Label all documents by the labels of their leaders."""
    return [labels[leader] for leader in leaders]


def greedy(
    sketches: Sequence[Sketch], leaders: Sequence[int], common: Iterable[Common], threshold: float,
    representative: Representative = "first", order: Sequence[int] | None = None,
) -> list[int]:
    """Cluster greedily (Broder 1997, section 4.4): for each leader the position of its cluster's first member.

    In keep order a document joins the cluster whose representative sketch it resembles most, of equals the first created,
    if that is at least ``threshold``, or starts one. The representative is the sketch of the first member, or the most
    popular fingerprints of the members, of equals the smaller ones, as many as the first member has. A cluster has the
    modulus of its first member, and only the multiples of it count. Estimates are as in :func:`estimates`.
    """
    ignored = {z for z, _, _ in common}
    labels = list(range(len(sketches)))
    clusters: list[list[int]] = []
    for i in range(len(sketches)) if order is None else order:
        if leaders[i] != i:
            continue
        best, most = [i], 0.0
        for members in clusters:
            similar = _estimate_resemblance(sketches[i], _represent(sketches, members, representative), ignored)
            if similar >= threshold and similar > most:
                best, most = members, similar
        if best[0] == i:
            clusters.append(best)
        else:
            best.append(i)
        labels[i] = best[0]
    return labels


def _represent(sketches: Sequence[Sketch], members: Sequence[int], kind: Representative) -> Sketch:
    """Return the sketch that represents a cluster."""
    first = sketches[members[0]]
    if kind == "first":
        return first
    popularity = Counter(z for i in members for z in sketches[i].members if z % first.modulus == 0)
    ranked = sorted(popularity, key=lambda z: (-popularity[z], z))
    return Sketch(first.modulus, sorted(ranked[: len(first.members)]))


def _estimate_resemblance(a: Sketch, b: Sketch, ignored: set[int]) -> float:
    """Estimate resemblance without the ignored shingles in common."""
    common = len((set(a.members) & set(b.members)) - ignored)
    return ratio(common, sum(sizes(a, b)) - common) if common else 0.0


def _group_holders(shingles: Iterable[Entry]) -> dict[int, list[int]]:
    """Group the documents by shingle."""
    holders: dict[int, list[int]] = {}
    for z, i in shingles:
        holders.setdefault(z, []).append(i)
    return holders


# -------------------------------------------------------------------------------- pairs ranked by winnowed fingerprints


class CommonFingerprints(NamedTuple):
    """Two documents, a before b: distinct fingerprints in common, of a, and of b."""

    a: int
    b: int
    common: int
    in_a: int
    in_b: int


    @property
    def shares(self) -> tuple[float, float]:
        """Return the shares of the fingerprints of a, and of b, that both have."""
        return self.common / self.in_a, self.common / self.in_b


ORDERS = {  # how far up a pair is ranked, before the number in common, a and b decide
    "common": lambda pair: pair.common,
    "larger": lambda pair: max(pair.shares),
    "mean": lambda pair: sum(pair.shares) / 2,
}


def group_nearly_equal(own: Sequence[Collection[int]], threshold: float) -> list[int]:
    """Group documents by the sets of their fingerprints: a star at each first document, as `clustering.star` has it.

    A document without fingerprints is alone. Return the first document of the group of each.
    """
    sets = [set(values) for values in own]
    near = [(a, b, ratio(len(sets[a] & sets[b]), len(sets[a] | sets[b]))) for a, b in combinations(range(len(sets)), 2)
            if sets[a] & sets[b]]
    return clustering.star(len(sets), [pair for pair in near if pair[2] >= threshold])


def rank_pairs(
    documents: Sequence[Selected], max_holders: int, exceptions: Collection[Selected] = (),
    group_threshold: float | None = None, by: Literal["common", "larger", "mean"] = "common",
) -> list[CommonFingerprints]:
    """List the pairs that have a fingerprint in common, the most in common first; equal ones by a, then b.

    Fingerprints of the exceptions, and those that more than ``max_holders`` groups have, do not count. Of each group the
    first document that has a fingerprint stands for it, and only documents that stand for it are a pair. Without
    ``group_threshold`` every document is a group.
    """
    excepted = {z for selected in exceptions for z, _ in selected}
    own = [{z for z, _ in selected} - excepted for selected in documents]
    labels = range(len(own)) if group_threshold is None else group_nearly_equal(own, group_threshold)
    stand: dict[int, dict[int, int]] = {}  # fingerprint -> group -> the first document of the group that has it
    for i, values in enumerate(own):
        for z in values:
            stand.setdefault(z, {}).setdefault(labels[i], i)
    own = [{z for z in values if len(stand[z]) <= max_holders} for values in own]
    met = {tuple(sorted(pair)) for at in stand.values() if len(at) <= max_holders for pair in combinations(at.values(), 2)}
    pairs = [CommonFingerprints(a, b, len(own[a] & own[b]), len(own[a]), len(own[b])) for a, b in met]
    return sorted(pairs, key=lambda pair: (-ORDERS[by](pair), -pair.common, pair.a, pair.b))
