"""The main job by brute force: documents without their near-duplicates (DESIGN.md, section 5).

Every pair of documents is compared exactly: no sketch, no filter, O(n^2) set intersections.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

from . import shingling, text
from .clustering import Pair, components, greedy, stars
from .rabin import POLYNOMIAL
from .resemblance import ratio, resemblance

Keep = Literal["first", "longest"] | Sequence[float]
Text = str | bytes
Score = Callable[[AbstractSet[int], AbstractSet[int]], float]
Weigh = Callable[[Hashable], int]
"""The weight of a shingle, a whole number above 0."""

CLUSTERINGS = ("star", "components", "greedy")
DROPS = ("resembling", "contained")
MIN_LEADERS = 20
"""Leaders that have a common shingle, at least."""



@dataclass(frozen=True)
class Read:
    """One document: its bytes, its canonical tokens, its set of shingles, its label of ``by`` and its key.

    ``original``: the bytes that the text was extracted from; for plain text, its own.
    """

    data: bytes
    original: bytes
    canonical: bytes
    shingles: frozenset[Hashable]
    group: Hashable
    key: Hashable

    @property
    def whole(self) -> tuple[bool, bytes]:
        """The bytes that identical documents share: of the text, or of the original if the text has no shingles."""
        return bool(self.shingles), self.data if self.shingles else self.original


def read_documents(
    documents: Sequence[Text], originals: Sequence[Text], canonical: Sequence[bytes],
    shingle_set: Callable[[Text], frozenset[Hashable]], by: Sequence[Hashable] | None, keys: Sequence[Hashable] | None,
) -> list[Read]:
    """Read the documents, with their canonical tokens, labels of ``by`` and keys; None: one for all of them."""
    n = len(documents)
    for name, labels in (("by", by), ("must_agree", keys)):
        if labels is not None and len(labels) != n:
            raise ValueError(f"{name} has {len(labels)} labels; give {n}: one for each of the texts, then of against")
    same = [None] * n
    rows = zip(documents, originals, canonical, same if by is None else by, same if keys is None else keys, strict=True)
    return [Read(text.to_bytes(document), text.to_bytes(original), tokens, shingle_set(document), group, key)
            for document, original, tokens, group, key in rows]


def shingle_finder(
    verify: str, *, unit: shingling.Unit, width: int, labelled: bool, short: str, normalize: str | None, polynomial: int
) -> Callable[[Text], frozenset[Hashable]]:
    """Return the function that forms the set of shingles of a document: of fingerprints, or of tuples of tokens."""
    def form_fingerprints(document: Text) -> frozenset[Hashable]:
        return frozenset(shingling.fingerprints(document, unit, width, labelled, short, normalize, polynomial))

    def form_tuples(document: Text) -> frozenset[Hashable]:
        shingles = shingling.shingles(shingling.tokens(document, unit, normalize), width, short)
        return frozenset(zip(shingles, shingling.occurrences(shingles), strict=True) if labelled else shingles)

    forms = {"fingerprints": form_fingerprints, "tokens": form_tuples}
    if verify not in forms:
        raise ValueError(f"verify is {verify!r}; give one of {', '.join(forms)}")
    return forms[verify]


def keep_order(reads: Sequence[Read], keep: Keep) -> list[int]:
    """List the positions of the texts in keep order."""
    positions = range(len(reads))
    if isinstance(keep, str):
        if keep == "first":
            return list(positions)
        if keep == "longest":
            return sorted(positions, key=lambda i: -len(reads[i].data))
        raise ValueError(f"keep is {keep!r}; give 'first', 'longest' or a priority for each document")
    if len(keep) != len(reads):
        raise ValueError(f"keep has {len(keep)} priorities; give one for each of the {len(reads)} texts")
    return sorted(positions, key=lambda i: keep[i])


def find_versions(one_per: Sequence[Hashable] | None, order: Sequence[int], n: int) -> list[int]:
    """Find, for each document, the first one in keep order with its label; documents of ``against`` are their own."""
    versions, first = list(range(len(order))), dict[Hashable, int]()
    if one_per is None:
        return versions
    if len(one_per) != n:
        raise ValueError(f"one_per has {len(one_per)} labels; give one for each of the {n} texts")
    for i in order:
        if i < n:
            versions[i] = first.setdefault(one_per[i], i)
    return versions


def find_leaders(reads: Sequence[Read], order: Sequence[int]) -> list[int]:
    """Find the leader of each document: the first, in keep order, that is identical, or else lexically equivalent.

    Documents without shingles are only ever identical to each other. The key of the first identical document counts for all
    of them: lexically equivalent documents have the same canonical tokens and the same key.
    """
    leaders = list(range(len(reads)))
    identical: dict[Hashable, int] = {}
    lexical: dict[Hashable, int] = {}
    for i in order:
        read = reads[i]
        first = identical.setdefault((read.group, read.whole), i)
        if first != i or not read.shingles:
            leaders[i] = leaders[first]
        else:
            leaders[i] = lexical.setdefault((read.group, read.canonical, read.key), i)
    return leaders


# ---------------------------------------------------------------------------------------------- scores


class Accepted(NamedTuple):
    """A pair of leaders that is accepted: resemblance of all their shingles, score of a in b, and score of b in a."""

    a: int
    b: int
    resemblance: float
    of_a: float
    of_b: float

    @property
    def score(self) -> float:
        """The larger of the two scores."""
        return max(self.of_a, self.of_b)


class CountedShingles(NamedTuple):
    """The shingles of each document that count, and the common ones, as (label of ``by``, shingle)."""

    shingles: list[frozenset[Hashable]]
    common: frozenset[tuple[Hashable, Hashable]]


def count_shingles(
    reads: Sequence[Read], leaders: Sequence[int], live: Sequence[int], share: float | None
) -> CountedShingles:
    """Leave the common shingles of its group out of every document.

    Parameters
    ----------
    reads : sequence of Read
    leaders : sequence of int
        The leader of each document.
    live : sequence of int
        The documents that are not versions of others, on both sides.
    share : float or None
        A shingle is common if more than this share of the live documents with shingles of its group have it, and at
        least 20 leaders do. None: no shingle is common.
    """
    if share is None:
        return CountedShingles([read.shingles for read in reads], frozenset())
    if not 0 < share < 1:
        raise ValueError(f"drop_common is {share}; give a share of the documents in (0, 1)")
    documents: Counter[Hashable] = Counter(reads[i].group for i in live if reads[i].shingles)
    holders = Counter((reads[i].group, shingle) for i in live for shingle in reads[i].shingles)
    led = Counter((reads[i].group, shingle) for i in live if leaders[i] == i for shingle in reads[i].shingles)
    common = frozenset(
        held for held, count in holders.items() if count > share * documents[held[0]] and led[held] >= MIN_LEADERS
    )
    return CountedShingles([frozenset(s for s in read.shingles if (read.group, s) not in common) for read in reads], common)


def weigh_set(members: AbstractSet[Hashable], weigh: Weigh | None) -> int:
    """Sum the weights of shingles; None: each weighs 1."""
    return len(members) if weigh is None else sum(map(weigh, members))


def score(a: AbstractSet[Hashable], b: AbstractSet[Hashable], drop: str, weigh: Weigh | None = None) -> float:
    """Return the score of a in b: w(A ∩ B) over w(A ∪ B), or over w(A) for "contained"; nan for 0/0.

    w is the sum of weights, without weights the number of shingles.
    """
    return ratio(weigh_set(a & b, weigh), weigh_set(a | b if drop == "resembling" else a, weigh))


def accepted_pairs(
    reads: Sequence[Read], counted: CountedShingles, heads: Sequence[int], n: int, threshold: float, drop: str,
    min_shingles: int, weigh: Weigh | None = None,
) -> list[Accepted]:
    """List the accepted pairs of leaders, ascending.

    Both have shingles, ``min_shingles`` or more, the same label of ``by`` and the same key; one of them is of the n texts;
    and the score of one in the other reaches the threshold.
    """
    able = [i for i in sorted(heads) if reads[i].shingles and len(reads[i].shingles) >= min_shingles]
    accepted = []
    for a, b in combinations(able, 2):
        if a < n and (reads[a].group, reads[a].key) == (reads[b].group, reads[b].key):
            of_a, of_b = (score(counted.shingles[x], counted.shingles[y], drop, weigh) for x, y in ((a, b), (b, a)))
            if of_a >= threshold or of_b >= threshold:
                accepted.append(Accepted(a, b, resemblance(reads[a].shingles, reads[b].shingles), of_a, of_b))
    return accepted


# ---------------------------------------------------------------------------------------------- the main job


@dataclass(frozen=True)
class Result:
    """Verdicts on n documents; positions from n on are documents of ``against``.

    Attributes
    ----------
    labels : list of int
        The representative of each document: its own position, if it is kept.
    classes : list of str
        The strongest verdict for i and labels[i]: kept, identical, lexical, shingle or near. "contained": of
        ``drop="contained"``, with a resemblance below the threshold. "chained": a member of a component whose score is below
        the threshold. "version": another document with the same label of ``one_per`` comes first.
    resemblance : list of float
        Exact resemblance, of all shingles, of i to labels[i]; 1.0 if kept, nan for a version or a duplicate without
        shingles.
    score : list of float
        The score of i in labels[i], which was compared with the threshold; 1.0 if kept, and for identical and lexically
        equivalent documents with shingles; nan for a version or a duplicate without shingles.
    pairs : list of (int, int, float)
        Pairs a < b, ascending, with their resemblance: identical and lexically equivalent documents with the first of their
        class, with 1.0, or nan without shingles; and accepted pairs of first ones. None within ``against``.
    pair_scores : list of float
        The score of each pair; with ``drop="contained"`` the larger of two; as the resemblance for equal documents.
    valid : list of bool
        Whether the document has shingles.
    lost : list of int or None
        Shingles of i that no kept document has, 0 for kept ones; None if not asked for.
    common : frozenset of (label of ``by``, shingle)
        Common shingles, which count for nothing in scores.
    """

    labels: list[int]
    classes: list[str]
    resemblance: list[float]
    score: list[float]
    pairs: list[Pair]
    pair_scores: list[float]
    valid: list[bool]
    lost: list[int] | None
    common: frozenset[tuple[Hashable, Hashable]]

    @property
    def kept(self) -> list[int]:
        """Positions kept, in input order."""
        return [i for i, label in enumerate(self.labels) if label == i]

    @property
    def duplicates(self) -> list[int]:
        """The other positions, in input order."""
        return [i for i, label in enumerate(self.labels) if label != i]

    @property
    def representatives(self) -> list[int]:
        """Positions, ascending, that represent other documents; some may be of ``against``."""
        return sorted({label for i, label in enumerate(self.labels) if label != i})


def near_duplicates(
    texts: Sequence[Text],
    *,
    threshold: float = 0.8,
    unit: shingling.Unit = "word",
    width: int = 5,
    labelled: bool = False,
    short: str = "whole",
    normalize: str | None = None,
    polynomial: int = POLYNOMIAL,
    keep: Keep = "first",
    cluster: str = "star",
    against: Sequence[Text] = (),
    by: Sequence[Hashable] | None = None,
    verify: str = "fingerprints",
    one_per: Sequence[Hashable] | None = None,
    originals: Sequence[Text] | None = None,
    drop: str = "resembling",
    must_agree: Sequence[Hashable] | None = None,
    min_shingles: int = 0,
    drop_common: float | None = None,
    lost: bool = False,
    reassign: bool = False,
    weigh: Weigh | None = None,
) -> Result:
    """Deduplicate ``texts``, by exact comparison of all pairs.

    The parameters mean what they do for `ndcore.near_duplicates` (DESIGN.md, section 5). ``by``, ``originals`` and
    ``must_agree`` have one value for each of ``texts``, then for each of ``against``; keys are read by :mod:`.text`.
    ``verify`` is "fingerprints" or "tokens": sets of fingerprints, or of tuples of tokens. ``lost``: count the shingles of
    each dropped document that no kept one has. ``weigh``: the weights of shingles in scores, such as `idf` in
    :mod:`.sketches` gives.
    """
    _check_parameters(threshold, cluster, drop, min_shingles)
    n, documents = len(texts), [*texts, *against]
    shingle_set = shingle_finder(
        verify, unit=unit, width=width, labelled=labelled, short=short, normalize=normalize, polynomial=polynomial)
    canonical = [text.canonical(shingling.tokens(document, unit, normalize)) for document in documents]
    reads = read_documents(documents, documents if originals is None else originals, canonical, shingle_set, by, must_agree)
    order = [*range(n, len(documents)), *keep_order(reads[:n], keep)]
    versions = find_versions(one_per, order, n)
    live = [i for i in order if versions[i] == i]
    leaders = find_leaders(reads, live)
    counted = count_shingles(reads, leaders, live, drop_common)
    own = [i for i in live if leaders[i] == i]
    accepted = accepted_pairs(reads, counted, own, n, threshold, drop, min_shingles, weigh)
    heads = _choose_representatives(accepted, order, cluster, threshold)
    heads[n:] = range(n, len(documents))  # each of `against` represents itself, also where a component has several
    heads = _reassign(heads, accepted, order, n, threshold) if reassign else heads
    labels = [heads[leaders[versions[i]]] for i in range(n)]
    version = ("version", math.nan, math.nan)
    verdicts = [_judge(i, labels[i], reads, counted, threshold, drop, weigh) if versions[i] == i else version
                for i in range(n)]
    pairs = sorted([(p.a, p.b, p.resemblance, p.score) for p in accepted] + _pair_with_leaders(reads[:n], leaders))
    return Result(
        labels, [name for name, _, _ in verdicts], [measured for _, measured, _ in verdicts],
        [scored for *_, scored in verdicts], [(a, b, measured) for a, b, measured, _ in pairs],
        [scored for *_, scored in pairs], [bool(read.shingles) for read in reads[:n]],
        _count_lost(reads, labels) if lost else None, counted.common)


def _check_parameters(threshold: float, cluster: str, drop: str, min_shingles: int) -> None:
    """Refuse parameters that are unknown or cannot be combined."""
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold is {threshold}; give a score in (0, 1]")
    if cluster not in CLUSTERINGS:
        raise ValueError(f"cluster is {cluster!r}; give one of {', '.join(CLUSTERINGS)}")
    if drop not in DROPS:
        raise ValueError(f"drop is {drop!r}; give one of {', '.join(DROPS)}")
    if drop == "contained" and cluster != "star":
        raise ValueError(f"drop is 'contained' and cluster is {cluster!r}; give cluster 'star'")
    if min_shingles < 0:
        raise ValueError(f"min_shingles is {min_shingles}; give 0 or more")


def _list_joinable(accepted: Iterable[Accepted], n: int, threshold: float) -> list[dict[int, float]]:
    """Return, for each document, the documents that it may join, with its score in each."""
    near: list[dict[int, float]] = [{} for _ in range(n)]
    for pair in accepted:
        if pair.of_a >= threshold:
            near[pair.a][pair.b] = pair.of_a
        if pair.of_b >= threshold:
            near[pair.b][pair.a] = pair.of_b
    return near


def _choose_representatives(
    accepted: Sequence[Accepted], order: Sequence[int], cluster: str, threshold: float
) -> list[int]:
    """Choose the representative of each leader; a score of containment has a direction, so only stars take it."""
    if cluster == "star":
        return stars(order, _list_joinable(accepted, len(order), threshold))
    choose = {"components": components, "greedy": greedy}[cluster]
    return choose(len(order), [(pair.a, pair.b, pair.score) for pair in accepted], order)


def _reassign(
    heads: Sequence[int], accepted: Sequence[Accepted], order: Sequence[int], n: int, threshold: float
) -> list[int]:
    """Join each leader that is dropped to the kept document with the highest score, the first in keep order of several.

    All documents of ``against`` are kept, also where a component has several. A member of a component without an accepted
    pair with a kept document stays where it is.
    """
    rank = {i: at for at, i in enumerate(order)}
    near = _list_joinable(accepted, len(order), threshold)
    labels = list(heads)
    for i, head in enumerate(heads):
        heads_near = [k for k in near[i] if k >= n or heads[k] == k]
        if head != i and heads_near:
            labels[i] = min(heads_near, key=lambda k: (-near[i][k], rank[k]))
    return labels


def _pair_with_leaders(reads: Sequence[Read], leaders: Sequence[int]) -> list[tuple[int, int, float, float]]:
    """List the pairs of each document that is identical or lexically equivalent to its leader, with the leader."""
    pairs = []
    for i, read in enumerate(reads):
        if leaders[i] != i:
            measured = 1.0 if read.shingles else math.nan
            pairs.append((min(i, leaders[i]), max(i, leaders[i]), measured, measured))
    return pairs


def _judge(
    i: int, label: int, reads: Sequence[Read], counted: CountedShingles, threshold: float, drop: str, weigh: Weigh | None
) -> tuple[str, float, float]:
    """Return the class of a document, its resemblance to its representative, and its score in it."""
    if label == i:
        return "kept", 1.0, 1.0
    measured = resemblance(reads[i].shingles, reads[label].shingles)
    scored = score(counted.shingles[i], counted.shingles[label], drop, weigh)
    name = _name_class(reads[i], reads[label], measured, scored, threshold, drop)
    return name, measured, measured if name in ("identical", "lexical") else scored


def _name_class(a: Read, b: Read, measured: float, scored: float, threshold: float, drop: str) -> str:
    """Return the strongest class of two documents, given their resemblance and score."""
    if a.whole == b.whole:
        return "identical"
    if a.canonical == b.canonical:
        return "lexical"
    if measured == 1.0:
        return "shingle"
    if not scored >= threshold:
        return "chained"
    return "contained" if drop == "contained" and measured < threshold else "near"


def _count_lost(reads: Sequence[Read], labels: Sequence[int]) -> list[int]:
    """Count the shingles of each document that no kept document has; documents of ``against`` are kept."""
    kept_readings = [i for i in range(len(reads)) if i >= len(labels) or labels[i] == i]
    held = frozenset().union(*(reads[i].shingles for i in kept_readings))
    return [len(reads[i].shingles - held) for i in range(len(labels))]


# ---------------------------------------------------------------------------------------------- the complete filter

# Its definition is in DESIGN.md, section 5, "The complete filter".


def least_common(n: int, threshold: float) -> int:
    """Return the least c with float64(c) / float64(n) >= threshold; 0 for n = 0."""
    return next((c for c in range(1, n + 1) if float(c) / float(n) >= threshold), 0)


def count_holders(sets: Iterable[AbstractSet[int]]) -> dict[int, int]:
    """Count the sets that have each shingle."""
    count: dict[int, int] = {}
    for members in sets:
        for shingle in members:
            count[shingle] = count.get(shingle, 0) + 1
    return count


def rare_first(members: AbstractSet[int], count: dict[int, int]) -> list[int]:
    """Order shingles by the number of their holders, then by value."""
    return sorted(members, key=lambda shingle: (count[shingle], shingle))


def probe_prefix(members: AbstractSet[int], count: dict[int, int], threshold: float) -> list[int]:
    """List the rarest n - c(n) + 1 shingles of a set: a set whose score with it reaches the threshold has one of them."""
    return rare_first(members, count)[: len(members) - least_common(len(members), threshold) + 1]


def index_prefix(members: AbstractSet[int], count: dict[int, int], threshold: float) -> list[int]:
    """List the rarest n - c'(n) + 1 shingles of a set: a set that is not smaller and reaches the threshold has one of them.

    c'(n) is the least number of shingles that sets of n members have in common at the threshold.
    """
    n = len(members)
    least = next((c for c in range(1, n + 1) if float(c) / float(2 * n - c) >= threshold), 0)
    return rare_first(members, count)[: n - least + 1]


def weighted_prefix_lengths(
    members: AbstractSet[int], count: dict[int, int], weigh: Weigh, threshold: float
) -> tuple[int, int]:
    """Count the rarest shingles of a set that are probed, and those that are indexed, if shingles have weights.

    A set has one of the first in common with any that reaches the threshold, and one of the second if that set weighs no
    less. Let r be the weight of a shingle and all after it. The shingle is probed if r / w(members) reaches the threshold,
    and indexed if r / (2 w(members) - r) does.
    """
    order = rare_first(members, count)
    whole, rest = weigh_set(members, weigh), [weigh_set(frozenset(order[at:]), weigh) for at in range(len(order))]
    return (sum(float(r) / float(whole) >= threshold for r in rest),
            sum(float(r) / float(2 * whole - r) >= threshold for r in rest))


def resembling_candidates(sets: Sequence[AbstractSet[int]], threshold: float) -> set[tuple[int, int]]:
    """Find the candidate pairs of the complete filter by resemblance: prefix, size and positional filter.

    The first shingle that two sets share must be in the probed prefix of both, and in the indexed prefix of one.
    """
    count = count_holders(sets)
    order = [rare_first(members, count) for members in sets]
    pairs = set()
    for a, b in combinations(range(len(sets)), 2):
        shared = set(probe_prefix(sets[a], count, threshold)) & set(probe_prefix(sets[b], count, threshold))
        if not shared & {*index_prefix(sets[a], count, threshold), *index_prefix(sets[b], count, threshold)}:
            continue
        first = min(shared, key=lambda shingle: (count[shingle], shingle))
        after = min(len(order[x]) - order[x].index(first) - 1 for x in (a, b))
        most = 1 + after
        if most / (len(sets[a]) + len(sets[b]) - most) >= threshold:
            pairs.add((a, b))
    return pairs


def contained_candidates(sets: Sequence[AbstractSet[int]], threshold: float) -> set[tuple[int, int]]:
    """Find the candidate pairs of the complete filter by containment: a probed prefix meets the whole other set."""
    count = count_holders(sets)
    pairs = set()
    for a, members in enumerate(sets):
        wanted = set(probe_prefix(members, count, threshold))
        for b, others in enumerate(sets):
            if a != b and wanted & others and min(len(others), len(members)) / len(members) >= threshold:
                pairs.add((min(a, b), max(a, b)))
    return pairs


def passing_pairs(sets: Sequence[AbstractSet[int]], threshold: float, score: Score) -> set[tuple[int, int]]:
    """Find the pairs of sets that are not empty whose score, one way or the other, reaches the threshold."""
    return {(a, b) for a, b in combinations(range(len(sets)), 2) if sets[a] and sets[b]
            and max(score(sets[a], sets[b]), score(sets[b], sets[a])) >= threshold}
