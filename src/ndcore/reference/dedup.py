"""The main job by brute force (DESIGN.md, section 5): the oracle that the engine is tested against.

Every pair of leaders is compared exactly: no sketch, no filter, O(n^2) set intersections.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from . import gf2, shingling, text
from .clustering import Pair, components, greedy, stars
from .leaders import Keep, Read, find_leaders, find_versions, keep_order, read_documents, shingle_finder
from .resemblance import resemblance
from .scores import DROPS, Accepted, CountedShingles, accepted_pairs, count_shingles, score

CLUSTERINGS = ("star", "components", "greedy")


@dataclass(frozen=True)
class Result:
    """Verdicts on n documents; positions from n on stand for the documents of ``against``.

    Attributes
    ----------
    labels : list of int
        The representative of each document: its own position, if it is kept.
    classes : list of str
        The strongest verdict for i and labels[i]: kept, identical, lexical, shingle or near. "contained": of
        ``drop="contained"``, with a resemblance below the threshold. "chained": a member of a component whose score is below
        the threshold. "version": another document with the same label of ``one_per`` comes first.
    resemblance : list of float
        Exact resemblance, of all shingles, of i to labels[i]; 1.0 where kept, nan for a version or a duplicate without
        shingles.
    score : list of float
        What was compared with the threshold, of i in labels[i]; 1.0 where kept, and for identical and lexically equivalent
        documents with shingles; nan for a version or a duplicate without shingles.
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
    texts: Sequence[str | bytes],
    *,
    threshold: float = 0.8,
    unit: shingling.Unit = "word",
    width: int = 5,
    labelled: bool = False,
    short: str = "whole",
    normalize: str | None = None,
    polynomial: int = gf2.POLYNOMIAL,
    keep: Keep = "first",
    cluster: str = "star",
    against: Sequence[str | bytes] = (),
    by: Sequence[Hashable] | None = None,
    verify: str = "fingerprints",
    one_per: Sequence[Hashable] | None = None,
    originals: Sequence[str | bytes] | None = None,
    drop: str = "resembling",
    must_agree: Sequence[Hashable] | None = None,
    min_shingles: int = 0,
    drop_common: float | None = None,
    lost: bool = False,
    reassign: bool = False,
) -> Result:
    """Deduplicate ``texts``, by exact comparison of all pairs.

    Parameters
    ----------
    texts : sequence of str or bytes, length n
    threshold : float
        Score in (0, 1] from which two documents are near-duplicates.
    unit, width, labelled, short, normalize, polynomial
        As in :func:`.shingling.fingerprints`.
    keep : "first", "longest" or sequence of n priorities
        Keep order: input order; longest in bytes first; smallest priority first.  Ties by input order.
    cluster : "star", "components" or "greedy"
    against : sequence of str or bytes
        An existing collection: all are kept, before all of ``texts``, and not compared with one another.
    by : None or sequence of labels, one for each of ``texts`` and then of ``against``
        Documents with different labels are never compared.
    verify : "fingerprints" or "tokens"
        Measure resemblance on sets of fingerprints, or of token tuples.
    one_per : None or sequence of labels, one for each of ``texts``
        Only the first document with a label, in keep order, is compared; the others are its versions.
    originals : None or sequence of str or bytes, one for each of ``texts`` and then of ``against``
        The originals they were extracted from, such as pages of HTML. None: the documents.
    drop : "resembling" or "contained"
        The score of a pair is its resemblance, or the containment of a document in the one that it joins (stars only).
    must_agree : None or sequence of keys, one for each of ``texts`` and then of ``against``
        Documents with different keys (see :mod:`.agreement`) are neither lexically equivalent nor a pair.
    min_shingles : int
        Documents with fewer shingles are in no pair; equal documents collapse all the same.
    drop_common : None or float
        Leave shingles that more than this share of the documents have out of scores.
    lost : bool
        Count the shingles of each dropped document that no kept one has.
    reassign : bool
        At the end, join each dropped document to the kept one with the highest score.

    Raises
    ------
    ValueError
        If a parameter is not one of these, or a document is short and ``short`` is "error".
    """
    _check(threshold, cluster, drop, min_shingles)
    n, documents = len(texts), [*texts, *against]
    find = shingle_finder(
        verify, unit=unit, width=width, labelled=labelled, short=short, normalize=normalize, polynomial=polynomial
    )
    canonical = [text.canonical(shingling.tokens(document, unit, normalize)) for document in documents]
    reads = read_documents(documents, documents if originals is None else originals, canonical, find, by, must_agree)
    order = [*range(n, len(documents)), *keep_order(reads[:n], keep)]
    versions = find_versions(one_per, order, n)
    live = [i for i in order if versions[i] == i]
    leaders = find_leaders(reads, live)
    counted = count_shingles(reads, leaders, live, drop_common)
    own = [i for i in live if leaders[i] == i]
    accepted = accepted_pairs(reads, counted, own, n, threshold, drop, min_shingles)
    heads = _representatives(accepted, order, cluster, threshold)
    heads[n:] = range(n, len(documents))  # each of `against` represents itself, also where a component has several
    heads = _reassigned(heads, accepted, order, n, threshold) if reassign else heads
    labels = [heads[leaders[versions[i]]] for i in range(n)]
    verdicts = _verdicts(reads, counted, labels, versions, threshold, drop)
    pairs = [(p.a, p.b, p.resemblance, p.score) for p in accepted] + _equals(reads[:n], leaders)
    return _result(reads, labels, verdicts, sorted(pairs), _lost(reads, labels) if lost else None, counted)


def _result(
    reads: Sequence[Read], labels: list[int], verdicts: Sequence[tuple[str, float, float]],
    pairs: Sequence[tuple[int, int, float, float]], lost: list[int] | None, counted: CountedShingles,
) -> Result:
    """Make a result of the rows of documents and pairs."""
    return Result(
        labels,
        [name for name, _, _ in verdicts],
        [measured for _, measured, _ in verdicts],
        [scored for _, _, scored in verdicts],
        [(a, b, measured) for a, b, measured, _ in pairs],
        [scored for *_, scored in pairs],
        [bool(read.shingles) for read in reads[: len(labels)]],
        lost,
        counted.common,
    )


def _check(threshold: float, cluster: str, drop: str, min_shingles: int) -> None:
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


def _near(accepted: Iterable[Accepted], n: int, threshold: float) -> list[dict[int, float]]:
    """Return, for each document, the documents that it may join, with its score in each."""
    near: list[dict[int, float]] = [{} for _ in range(n)]
    for pair in accepted:
        if pair.of_a >= threshold:
            near[pair.a][pair.b] = pair.of_a
        if pair.of_b >= threshold:
            near[pair.b][pair.a] = pair.of_b
    return near


def _representatives(accepted: Sequence[Accepted], order: Sequence[int], cluster: str, threshold: float) -> list[int]:
    """Choose the representative of each leader; a score of containment has a direction, so only stars take it."""
    if cluster == "star":
        return stars(order, _near(accepted, len(order), threshold))
    choose = {"components": components, "greedy": greedy}[cluster]
    return choose(len(order), [(pair.a, pair.b, pair.score) for pair in accepted], order)


def _reassigned(
    heads: Sequence[int], accepted: Sequence[Accepted], order: Sequence[int], n: int, threshold: float
) -> list[int]:
    """Join each leader that is dropped to the kept document with the highest score, the first in keep order of several.

    All documents of ``against`` are kept, also where a component has several.  A member of a component without an accepted
    pair with a kept document stays where it is.
    """
    rank = {i: at for at, i in enumerate(order)}
    near = _near(accepted, len(order), threshold)
    labels = list(heads)
    for i, head in enumerate(heads):
        kept = [k for k in near[i] if k >= n or heads[k] == k]
        if head != i and kept:
            labels[i] = min(kept, key=lambda k: (-near[i][k], rank[k]))
    return labels


def _equals(reads: Sequence[Read], leaders: Sequence[int]) -> list[tuple[int, int, float, float]]:
    """List the pairs of each document that is identical or lexically equivalent to its leader, with the leader."""
    found = []
    for i, read in enumerate(reads):
        measured = 1.0 if read.shingles else math.nan
        if leaders[i] != i:
            found.append((min(i, leaders[i]), max(i, leaders[i]), measured, measured))
    return found


def _verdicts(
    reads: Sequence[Read], counted: CountedShingles, labels: Sequence[int], versions: Sequence[int], threshold: float,
    drop: str,
) -> list[tuple[str, float, float]]:
    """Return the class of each document, its resemblance to its label, and its score in it."""
    verdicts = []
    for i, label in enumerate(labels):
        if versions[i] != i:
            verdicts.append(("version", math.nan, math.nan))
            continue
        measured = resemblance(reads[i].shingles, reads[label].shingles)
        scored = score(counted.shingles[i], counted.shingles[label], drop)
        name = _strongest(reads[i], reads[label], measured, scored, threshold, drop) if label != i else "kept"
        if name == "kept":
            measured = 1.0
        verdicts.append((name, measured, measured if name in ("kept", "identical", "lexical") else scored))
    return verdicts


def _strongest(a: Read, b: Read, measured: float, scored: float, threshold: float, drop: str) -> str:
    """Return the strongest verdict of two documents, with their resemblance and score."""
    if a.whole == b.whole:
        return "identical"
    if a.canonical == b.canonical:
        return "lexical"
    if measured == 1.0:
        return "shingle"
    if not scored >= threshold:
        return "chained"
    return "contained" if drop == "contained" and measured < threshold else "near"


def _lost(reads: Sequence[Read], labels: Sequence[int]) -> list[int]:
    """Count the shingles of each document that no kept document has; documents of ``against`` are kept."""
    kept = [i for i in range(len(reads)) if i >= len(labels) or labels[i] == i]
    held = frozenset().union(*(reads[i].shingles for i in kept))
    return [len(reads[i].shingles - held) for i in range(len(labels))]
