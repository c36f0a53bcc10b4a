"""The content of a report, for any kind of result, and the choice of the clusters and pairs that it shows."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Floats, Ints, Text
from ndcore._version import __version__
from ndcore.clusters.assignments import largest_clusters
from ndcore.collection.ids import Names
from ndcore.plots import histogram
from ndcore.text.corpus import Corpus, indexed_texts
from ndcore.text.shingling import Shingling

__all__ = [
    "ChosenClusters", "Excerpt", "Excerpts", "Figure", "Member", "Part", "Report", "ReportTable", "ShownCluster", "View",
    "choose_clusters", "cluster_sizes", "count_hundredths", "describe_shingling", "document_name", "read_excerpts",
    "truncate", "versions",
]

CLUSTERS = 50  # listed, the largest
VIEWS = 10  # clusters with two documents side by side; and as many pairs nearest the threshold
MEMBERS = 20  # listed of a cluster, the least similar to the representative
ROWS = 20  # of any other table
STRONGEST = ("identical", "lexical", "shingle")  # classes of resemblance 1, the strongest first
EXCERPT = 20_000  # code points of a str, bytes of bytes: the most that is kept of a text

MEANING = {  # of the classes of documents
    "kept": "stands for itself, and for its duplicates",
    "identical": "byte for byte equal to its representative",
    "lexical": "the same tokens in the same order",
    "shingle": "the same set of shingles",
    "near": "resemblance at or above the threshold",
    "version": "another document of the same label comes first; the texts were not compared",
    "rejected": "could not be read",
}


class Part(NamedTuple):
    """Documents of one class; the parts of a report are drawn side by side and add up to all documents."""

    name: str
    documents: int
    meaning: str


class Figure(NamedTuple):
    """A number at the top of the page, and what it counts."""

    number: int
    label: str


class Excerpt(NamedTuple):
    """The beginning of a text, and the length of the whole text in code points of a str or bytes of bytes."""

    text: Text
    length: int


Excerpts = Callable[[Ints], dict[int, Excerpt]]
"""From positions of documents to their excerpts; documents whose texts are gone are left out."""


class Member(NamedTuple):
    """A document that another represents; `resemblance` is to the representative, nan where undefined."""

    name: str
    verdict: str
    resemblance: float
    estimated: bool


@dataclass(frozen=True)
class ShownCluster:
    """A representative and the documents that it stands for, as the report shows them.

    `documents` counts both, `verdicts` the members by class; `lowest` is the lowest resemblance of a member. `members` are
    the least similar ones. `note` says what is special about the representative. `excerpt` is of its text; `view` is the
    excerpt of the first member, to be shown beside it.
    """

    name: str
    note: str
    documents: int
    verdicts: dict[str, int]
    lowest: float
    members: tuple[Member, ...]
    excerpt: Excerpt | None
    view: Excerpt | None


class View(NamedTuple):
    """A member and the representative of its cluster, to be shown side by side; `excerpt` is of the representative."""

    name: str
    excerpt: Excerpt
    member: Member
    view: Excerpt


class ChosenClusters(NamedTuple):
    """The clusters that a report shows, the largest, and the pairs whose resemblance is nearest the threshold."""

    clusters: tuple[ShownCluster, ...]
    nearest: tuple[View, ...]


class ReportTable(NamedTuple):
    """Some of `total` rows, under a heading, with a sentence about them; ints and floats stand to the right."""

    title: str
    text: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]
    total: int


@dataclass(frozen=True)
class Report:
    """Everything that a report shows, of whatever kind of result.

    Attributes
    ----------
    title, subtitle : str
    figures : tuple of Figure
    parts : tuple of Part
        The classes of documents, which add up to all of them.
    notes : tuple of str
        Whole sentences that a reader should know before trusting the numbers.
    sizes : ndarray of int64
        Documents in every cluster, representatives included.
    resemblances : ndarray of int64 (100,)
        Accepted pairs by their resemblance, as `count_hundredths` counts them.
    pairs : str
        A sentence on these pairs.
    threshold : float
    clusters : tuple of ShownCluster
        The largest ones.
    nearest : tuple of View
        Members whose resemblance to their representative is just above the threshold, nearest first.
    shingling : Shingling or None
        The shingling for texts side by side. None: they are not shown.
    tables : tuple of ReportTable
        Common shingles, chains, inputs, as the kind of result has them.
    parameters : tuple of (str, str)
    recipe : (str, str)
        Its id and its JSON.
    command : str or None
        The command line.
    made : str or None
        A date, where the caller wants one. Without it, equal results give equal pages.
    measure : str
        The quantity that `resemblances` and `threshold` are of.
    """

    title: str
    subtitle: str
    figures: tuple[Figure, ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...]
    sizes: Ints
    resemblances: Ints
    pairs: str
    threshold: float
    clusters: tuple[ShownCluster, ...]
    nearest: tuple[View, ...]
    shingling: Shingling | None
    tables: tuple[ReportTable, ...]
    parameters: tuple[tuple[str, str], ...]
    recipe: tuple[str, str]
    command: str | None = None
    made: str | None = None
    measure: str = "resemblance"


def count_hundredths(values: Floats) -> Ints:
    """Count the resemblances in [i / 100, (i + 1) / 100), the last interval closed; int64 (100,)."""
    counts = np.zeros(100, np.int64)
    if len(values):
        found = histogram(values, 1 / 100).counts
        counts[len(counts) - len(found) :] = found
    return counts


def document_name(ids: Sequence[Any] | Names | None, position: int) -> str:
    """Name a document by its id, or by its position where documents have no ids."""
    return str(position if ids is None else ids[position])


def describe_shingling(shingling: Shingling | None) -> str:
    """Describe shingles in words, as ``shingles of 5 words``."""
    if shingling is None:
        return "shingles"
    return f"shingles of {shingling.width} {'tokens' if callable(shingling.unit) else f'{shingling.unit}s'}"


def truncate(text: Text, limit: int) -> Text:
    """Cut a text to at most `limit` code points or bytes, but not within a character of UTF-8."""
    if isinstance(text, str) or len(text) <= limit:
        return text[:limit]
    end = limit
    while end > max(0, limit - 3) and text[end] & 0xC0 == 0x80:
        end -= 1
    return text[:end]


def read_excerpts(
    corpora: Iterable[Corpus | None], starts: Iterable[int], total: int,
    visits: Mapping[int, Callable[[Text], None]] | None = None,
) -> Excerpts:
    """Return a function that reads excerpts of documents of `corpora`, in one pass a call.

    Corpus i begins at position starts[i]; documents are below `total`. A text is cut as soon as it is read, so memory is a
    batch of texts, and `EXCERPT` for each document. `visits` maps positions to functions that are called with the whole text
    in the same pass.
    """
    visits = visits or {}

    def excerpts(positions: Ints) -> dict[int, Excerpt]:
        asked, wanted = set(positions.tolist()), np.zeros(total, np.bool_)
        wanted[[*asked, *visits]] = True
        found: dict[int, Excerpt] = {}
        if wanted.any():
            for where, texts in indexed_texts(corpora, starts, wanted):
                for position, text in zip(where.tolist(), texts, strict=True):
                    if position in asked:
                        found[position] = Excerpt(truncate(text, EXCERPT), len(text))
                    if position in visits:
                        visits[position](text)
        return found

    return excerpts


def cluster_sizes(labels: Ints) -> Ints:
    """Count the documents of every cluster of more than one, the representative included, by label."""
    return np.unique(labels[labels != np.arange(len(labels))], return_counts=True)[1] + 1


def versions() -> tuple[tuple[str, str], ...]:
    """List the programs that computed the result, with their versions."""
    return ("ndcore", __version__), ("Python", platform.python_version()), ("NumPy", np.__version__)


# ---- clusters


class _Chosen(NamedTuple):
    """A cluster to show, its members sorted, the least similar first."""

    label: int
    members: Ints
    verdicts: NDArray[np.str_]


def choose_clusters(
    labels: Ints,
    classes: Callable[[Ints], NDArray[np.str_]],
    resemblance: Floats,
    *,
    threshold: float | None,
    name: Callable[[int], str],
    note: Callable[[int], str],
    estimated: Callable[[int, int], bool],
    excerpts: Excerpts,
    limit: int = CLUSTERS,
    views: int = VIEWS,
) -> ChosenClusters:
    """Choose the `limit` largest clusters, the first ones at the same size, and the pairs nearest the threshold.

    Parameters
    ----------
    labels, resemblance : arrays (n,)
        As in `NearDuplicates`: document i is represented by labels[i], which may be i, or n or more.
    classes : callable
        From an array of positions to their classes.
    threshold : float or None
        A resemblance. None: no pairs nearest it are chosen.
    name, note : callable
        From a position to the document's name, and to what is special about it as a representative.
    estimated : callable
        From two positions to whether their resemblance is estimated from sketches.
    excerpts : callable
        Called once.
    views : int
        Number of clusters with an excerpt of their least similar member, where clusters of identical documents are passed
        over; and most pairs nearest the threshold, at most one of a cluster.

    Notes
    -----
    O(n log n).
    """
    dropped = np.flatnonzero(labels != np.arange(len(labels)))
    chosen = [_ordered(label, members, classes, resemblance) for label, members in largest_clusters(labels, limit)]
    viewed = {one.label: int(one.members[0]) for one in [one for one in chosen if one.verdicts[0] != "identical"][:views]}
    nearest = [] if threshold is None else _nearest(labels, resemblance, dropped, threshold, viewed, views)
    near_labels = labels[nearest].tolist()
    wanted = [*(one.label for one in chosen), *viewed.values(), *nearest, *near_labels]
    texts = excerpts(np.array(sorted(set(wanted)), np.int64))

    def member(position: int, verdict: str) -> Member:
        by_sketch = verdict not in ("identical", "lexical") and estimated(position, int(labels[position]))
        return Member(name(position), verdict, float(resemblance[position]), by_sketch)

    clusters = tuple(
        ShownCluster(
            name(label), note(label), 1 + len(members), _counted(verdicts), float(resemblance[members[0]]),
            tuple(map(member, members[:MEMBERS].tolist(), verdicts[:MEMBERS].tolist())), texts.get(label),
            texts.get(viewed[label]) if label in viewed and label in texts else None,
        )
        for label, members, verdicts in chosen
    )
    verdicts = classes(np.array(nearest, np.int64)).tolist()
    return ChosenClusters(clusters, tuple(
        View(name(label), texts[label], member(position, verdict), texts[position])
        for position, label, verdict in zip(nearest, near_labels, verdicts, strict=True)
        if position in texts and label in texts
    ))


def _ordered(label: int, members: Ints, classes: Callable[[Ints], NDArray[np.str_]], resemblance: Floats) -> _Chosen:
    """Sort the members of a cluster, the least similar first; at the same resemblance, the weakest class first."""
    verdicts = classes(members)
    strength = np.select([verdicts == each for each in STRONGEST], range(len(STRONGEST), 0, -1))
    known = np.nan_to_num(resemblance[members], nan=1.0)  # without shingles they are identical
    order = np.lexsort((members, strength, known))
    return _Chosen(label, members[order], verdicts[order])


def _nearest(
    labels: Ints, resemblance: Floats, dropped: Ints, threshold: float, viewed: dict[int, int], limit: int
) -> list[int]:
    """Return positions of members at or just above the threshold, nearest first, one of a cluster, not viewed already."""
    passed = resemblance[dropped] >= threshold  # False for nan
    above = dropped[passed & (resemblance[dropped] < 1.0) & ~np.isin(dropped, list(viewed.values()))]
    order = above[np.lexsort((above, resemblance[above]))]
    return order[np.sort(np.unique(labels[order], return_index=True)[1])][:limit].tolist()  # type: ignore[no-any-return]


def _counted(verdicts: NDArray[np.str_]) -> dict[str, int]:
    """Count verdicts by name."""
    names, counts = np.unique(verdicts, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))
