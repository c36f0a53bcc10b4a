"""The main job by brute force (DESIGN.md, section 5): the oracle that the engine is tested against.

Every pair of class representatives is compared exactly: no sketch, no filter, O(n^2) set intersections.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from . import gf2, shingling, text
from .clustering import Pair, components, greedy, star
from .resemblance import resemblance

CLUSTERINGS = {"star": star, "components": components, "greedy": greedy}

Keep = Literal["first", "longest"] | Sequence[float]


@dataclass(frozen=True)
class Read:
    """One document as deduplication reads it: its bytes, its canonical tokens and its set of shingles.

    ``original``: the bytes that the text was extracted from; for plain text, its own.
    """

    data: bytes
    original: bytes
    canonical: bytes
    shingles: frozenset[Hashable]
    group: Hashable

    @property
    def whole(self) -> tuple[bool, bytes]:
        """The bytes that identical documents share: of the text, or of the original if the text has no shingles."""
        return bool(self.shingles), self.data if self.shingles else self.original


@dataclass(frozen=True)
class Result:
    """Verdicts on n documents; positions from n on stand for the documents of ``against``.

    Attributes
    ----------
    labels : list of int
        The representative of each document: its own position, if it is kept.
    classes : list of str
        The strongest verdict for i and labels[i]: kept, identical, lexical, shingle or near. "version": another document
        with the same label of ``one_per`` comes first.
    resemblance : list of float
        Exact resemblance of i to labels[i]; 1.0 where kept, nan for a version or a duplicate without shingles.
    pairs : list of (int, int, float)
        Pairs a < b, ascending: identical and lexically equivalent documents with the first of their class, with 1.0, or nan
        without shingles; and pairs of first ones at or above the threshold. None within ``against``.
    valid : list of bool
        Whether the document has shingles.
    """

    labels: list[int]
    classes: list[str]
    resemblance: list[float]
    pairs: list[Pair]
    valid: list[bool]

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
) -> Result:
    """Deduplicate ``texts``, by exact comparison of all pairs.

    Parameters
    ----------
    texts : sequence of str or bytes, length n
    threshold : float
        Resemblance in (0, 1] from which two documents are near-duplicates.
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

    Raises
    ------
    ValueError
        If a parameter is not one of these, or a document is short and ``short`` is "error".
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold is {threshold}; give a resemblance in (0, 1]")
    if cluster not in CLUSTERINGS:
        raise ValueError(f"cluster is {cluster!r}; give one of {', '.join(CLUSTERINGS)}")
    n = len(texts)
    documents = [*texts, *against]
    groups = _groups(by, len(documents))
    find = _shingle_finder(
        verify, unit=unit, width=width, labelled=labelled, short=short, normalize=normalize, polynomial=polynomial
    )
    reads = [
        Read(text.to_bytes(d), text.to_bytes(o), text.canonical(shingling.tokens(d, unit, normalize)), find(d), g)
        for d, o, g in zip(documents, documents if originals is None else originals, groups, strict=True)
    ]
    order = [*range(n, len(documents)), *_keep_order(reads[:n], keep)]
    versions = _versions(one_per, order, n)
    live = [i for i in order if versions[i] == i]
    leaders = _leaders(reads, live)
    pairs = _pairs(reads, leaders, sorted(live), n, threshold)
    heads = CLUSTERINGS[cluster](len(documents), pairs, order)
    labels = [heads[leaders[versions[i]]] for i in range(n)]
    verdicts = [_verdict(reads, i, labels[i]) if versions[i] == i else ("version", math.nan) for i in range(n)]
    equals = [
        (min(i, leaders[i]), max(i, leaders[i]), 1.0 if reads[i].shingles else math.nan) for i in range(n) if leaders[i] != i
    ]
    return Result(
        labels,
        [verdict for verdict, _ in verdicts],
        [measured for _, measured in verdicts],
        sorted(pairs + equals),
        [bool(read.shingles) for read in reads[:n]],
    )


def _groups(by: Sequence[Hashable] | None, n: int) -> Sequence[Hashable]:
    """Return the label of each document; None for all without ``by``."""
    if by is None:
        return [None] * n
    if len(by) != n:
        raise ValueError(f"by has {len(by)} labels; give {n}: one for each of the texts, then of against")
    return by


def _shingle_finder(
    verify: str, *, unit: shingling.Unit, width: int, labelled: bool, short: str, normalize: str | None, polynomial: int
) -> Callable[[str | bytes], frozenset[Hashable]]:
    """Return the function that finds the set of shingles of a document."""
    def fingerprints(document: str | bytes) -> frozenset[Hashable]:
        return frozenset(shingling.fingerprints(document, unit, width, labelled, short, normalize, polynomial))

    def tuples(document: str | bytes) -> frozenset[Hashable]:
        found = shingling.shingles(shingling.tokens(document, unit, normalize), width, short)
        return frozenset(zip(found, shingling.occurrences(found), strict=True)) if labelled else frozenset(found)

    finders = {"fingerprints": fingerprints, "tokens": tuples}
    if verify not in finders:
        raise ValueError(f"verify is {verify!r}; give one of {', '.join(finders)}")
    return finders[verify]


def _keep_order(reads: Sequence[Read], keep: Keep) -> list[int]:
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


def _versions(one_per: Sequence[Hashable] | None, order: Sequence[int], n: int) -> list[int]:
    """Find the first document in keep order with each one's label; documents of ``against`` are their own."""
    versions, first = list(range(len(order))), dict[Hashable, int]()
    if one_per is None:
        return versions
    if len(one_per) != n:
        raise ValueError(f"one_per has {len(one_per)} labels; give one for each of the {n} texts")
    for i in order:
        if i < n:
            versions[i] = first.setdefault(one_per[i], i)
    return versions


def _leaders(reads: Sequence[Read], order: Sequence[int]) -> list[int]:
    """Find the first document in keep order of each identical, then of each lexically equivalent class.

    Documents without shingles are only ever identical to each other.
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
            leaders[i] = lexical.setdefault((read.group, read.canonical), i)
    return leaders


def _pairs(reads: Sequence[Read], leaders: Sequence[int], live: Sequence[int], n: int, threshold: float) -> list[Pair]:
    """List the pairs of class representatives at or above the threshold, ascending."""
    heads = [i for i in live if leaders[i] == i and reads[i].shingles]
    pairs = []
    for a in heads:
        for b in heads:
            if a < b and a < n and reads[a].group == reads[b].group:
                measured = resemblance(reads[a].shingles, reads[b].shingles)
                if measured >= threshold:
                    pairs.append((a, b, measured))
    return pairs


def _verdict(reads: Sequence[Read], i: int, label: int) -> tuple[str, float]:
    """Return the strongest verdict between ``i`` and ``label``, and their resemblance."""
    if label == i:
        return "kept", 1.0
    a, b = reads[i], reads[label]
    measured = resemblance(a.shingles, b.shingles)
    if a.whole == b.whole:
        return "identical", measured
    if a.canonical == b.canonical:
        return "lexical", measured
    return ("shingle" if measured == 1.0 else "near"), measured
