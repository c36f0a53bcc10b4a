"""What a report for people shows of a result, of whatever kind, and how its clusters are chosen."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Text
from ndcore._version import __version__
from ndcore.collection.ids import Names
from ndcore.plots import histogram
from ndcore.text.corpus import Corpus, indexed_texts
from ndcore.text.shingling import Shingling

__all__ = [
    "Cluster", "Excerpt", "Excerpts", "Figure", "Member", "Part", "Report", "Shown", "Table", "View", "beginning",
    "hundredths", "in_words", "named", "read_excerpts", "shown", "versions",
]

CLUSTERS = 50  # shown, the largest
VIEWS = 10  # of them with two documents side by side; and as many pairs nearest the threshold
MEMBERS = 20  # shown of a cluster, those least like the representative
ROWS = 20  # shown of any other table
STRONGEST = ("identical", "lexical", "shingle")  # of equal resemblance
EXCERPT = 20_000  # code points of a str, bytes of bytes: what is kept of a text

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
    """Documents that shared one fate; parts are drawn beside each other and add up to all documents."""

    name: str
    documents: int
    meaning: str


class Figure(NamedTuple):
    """A number worth a large type, and what it counts."""

    number: int
    label: str


class Excerpt(NamedTuple):
    """The beginning of a text, and the length of all of it in code points of a str or bytes of bytes."""

    text: Text
    length: int


Excerpts = Callable[[NDArray[np.int64]], dict[int, Excerpt]]
"""Positions of documents to their excerpts, without those whose texts are gone."""


class Member(NamedTuple):
    """A document that is not the representative of its cluster; `resemblance` is to that one, nan where it has none."""

    name: str
    verdict: str
    resemblance: float
    estimated: bool


@dataclass(frozen=True)
class Cluster:
    """A representative and those it stands for.

    `documents` counts both, `verdicts` the members by class, `lowest` is the least of their resemblances. `members` are the
    least resembling ones. `note` says what is special about the representative. `excerpt` is of its text; `view` is the
    excerpt of the first of the members, to be shown beside it.
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


class Shown(NamedTuple):
    """What is shown of the clusters: the largest of them, and the pairs whose resemblance is nearest the threshold."""

    clusters: tuple[Cluster, ...]
    nearest: tuple[View, ...]


class Table(NamedTuple):
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
        Together all documents. The members of clusters are of these classes.
    notes : tuple of str
        Whole sentences on what a reader should know before trusting the numbers.
    sizes : ndarray of int64
        Documents in every cluster, representatives included.
    resemblances : ndarray of int64 (100,)
        Accepted pairs by their resemblance in `hundredths`.
    pairs : str
        What these pairs are.
    threshold : float
    clusters : tuple of Cluster
        The largest of them.
    nearest : tuple of View
        Members that the threshold nearly kept apart from their representative, nearest first.
    shingling : Shingling or None
        By which texts are shown side by side. None: they are not.
    tables : tuple of Table
        Common shingles, chains, inputs: what the kind of result has.
    parameters : tuple of (str, str)
    recipe : (str, str)
        Its id and its JSON.
    command : str or None
        The command line.
    made : str or None
        A date, where the caller wants one: without, equal results give equal pages.
    measure : str
        What pairs are accepted by, if not resemblance: `resemblances` and `threshold` are of it.
    """

    title: str
    subtitle: str
    figures: tuple[Figure, ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...]
    sizes: NDArray[np.int64]
    resemblances: NDArray[np.int64]
    pairs: str
    threshold: float
    clusters: tuple[Cluster, ...]
    nearest: tuple[View, ...]
    shingling: Shingling | None
    tables: tuple[Table, ...]
    parameters: tuple[tuple[str, str], ...]
    recipe: tuple[str, str]
    command: str | None = None
    made: str | None = None
    measure: str = "resemblance"


def hundredths(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many resemblances are in [i / 100, (i + 1) / 100), the last interval closed; int64 (100,)."""
    counts = np.zeros(100, np.int64)
    if len(values):
        found = histogram(values, 1 / 100).counts
        counts[len(counts) - len(found) :] = found
    return counts


def named(ids: Sequence[Any] | Names | None, position: int) -> str:
    """The name of a document: its id, where there are any, else its position."""
    return str(position if ids is None else ids[position])


def in_words(shingling: Shingling | None) -> str:
    """What shingles are, as ``shingles of 5 words``."""
    if shingling is None:
        return "shingles"
    return f"shingles of {shingling.width} {'tokens' if callable(shingling.unit) else f'{shingling.unit}s'}"


def beginning(text: Text, limit: int) -> Text:
    """At most `limit` code points or bytes of a text; no character of UTF-8 is cut."""
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
    """Excerpts of documents of `corpora`, of which corpus i begins at position starts[i]; read in one pass a call.

    A text is cut as soon as it is read, so memory is a batch of texts and `EXCERPT` for each document asked for. `visits`
    are of documents to be read whole in the same pass: each is called with the text.
    """
    visits = visits or {}

    def excerpts(positions: NDArray[np.int64]) -> dict[int, Excerpt]:
        shown, wanted = set(positions.tolist()), np.zeros(total, np.bool_)
        wanted[[*shown, *visits]] = True
        found: dict[int, Excerpt] = {}
        if wanted.any():
            for where, texts in indexed_texts(corpora, starts, wanted):
                for position, text in zip(where.tolist(), texts, strict=True):
                    if position in shown:
                        found[position] = Excerpt(beginning(text, EXCERPT), len(text))
                    if position in visits:
                        visits[position](text)
        return found

    return excerpts


def versions() -> tuple[tuple[str, str], ...]:
    """Of what has computed the result."""
    return ("ndcore", __version__), ("Python", platform.python_version()), ("NumPy", np.__version__)


# ---- clusters


class _Chosen(NamedTuple):
    label: int
    members: NDArray[np.int64]  # the least alike first
    verdicts: NDArray[np.str_]


def shown(
    labels: NDArray[np.int64],
    classes: Callable[[NDArray[np.int64]], NDArray[np.str_]],
    resemblance: NDArray[np.float64],
    *,
    threshold: float | None,
    name: Callable[[int], str],
    note: Callable[[int], str],
    estimated: Callable[[int, int], bool],
    excerpts: Excerpts,
    limit: int = CLUSTERS,
    views: int = VIEWS,
) -> Shown:
    """Choose the `limit` clusters of most documents, of equals the first, and the pairs nearest the threshold.

    Parameters
    ----------
    labels, resemblance : arrays (n,)
        As of `NearDuplicates`: document i is represented by labels[i], itself or a position of n or more included.
    classes : callable
        Of an array of positions: their classes.
    threshold : float or None
        Of resemblance. None: no pairs nearest it are chosen.
    name, note : callable
        Of a position: the document's name, and what is special about it as a representative.
    estimated : callable
        Of two positions: whether their resemblance is known by sketches alone.
    excerpts : callable
        Called once.
    views : int
        So many clusters get the excerpt of their least resembling member; those of identical documents are passed over.
        Of the other members, so many are nearest the threshold, one of a cluster.

    Notes
    -----
    O(n log n).
    """
    dropped = np.flatnonzero(labels != np.arange(len(labels)))
    chosen = _largest(labels, classes, resemblance, dropped, limit)
    viewed = {one.label: int(one.members[0]) for one in [one for one in chosen if one.verdicts[0] != "identical"][:views]}
    nearest = [] if threshold is None else _nearest(labels, resemblance, dropped, threshold, viewed, views)
    near_labels = labels[nearest].tolist()
    wanted = [*(one.label for one in chosen), *viewed.values(), *nearest, *near_labels]
    texts = excerpts(np.array(sorted(set(wanted)), np.int64))

    def member(position: int, verdict: str) -> Member:
        by_sketch = verdict not in ("identical", "lexical") and estimated(position, int(labels[position]))
        return Member(name(position), verdict, float(resemblance[position]), by_sketch)

    clusters = tuple(
        Cluster(
            name(label), note(label), 1 + len(members), _counted(verdicts), float(resemblance[members[0]]),
            tuple(map(member, members[:MEMBERS].tolist(), verdicts[:MEMBERS].tolist())), texts.get(label),
            texts.get(viewed[label]) if label in viewed and label in texts else None,
        )
        for label, members, verdicts in chosen
    )
    verdicts = classes(np.array(nearest, np.int64)).tolist()
    return Shown(clusters, tuple(
        View(name(label), texts[label], member(position, verdict), texts[position])
        for position, label, verdict in zip(nearest, near_labels, verdicts, strict=True)
        if position in texts and label in texts
    ))


def _largest(
    labels: NDArray[np.int64], classes: Callable[[NDArray[np.int64]], NDArray[np.str_]], resemblance: NDArray[np.float64],
    dropped: NDArray[np.int64], limit: int,
) -> list[_Chosen]:
    by_label = dropped[np.argsort(labels[dropped], kind="stable")]
    found, starts, counts = np.unique(labels[by_label], return_index=True, return_counts=True)
    chosen = []
    for i in np.lexsort((found, -counts))[:limit].tolist():
        members = by_label[starts[i] : starts[i] + counts[i]]
        verdicts = classes(members)
        strength = np.select([verdicts == each for each in STRONGEST], range(len(STRONGEST), 0, -1))
        known = np.nan_to_num(resemblance[members], nan=1.0)  # without shingles they are identical
        order = np.lexsort((members, strength, known))
        chosen.append(_Chosen(int(found[i]), members[order], verdicts[order]))
    return chosen


def _nearest(
    labels: NDArray[np.int64], resemblance: NDArray[np.float64], dropped: NDArray[np.int64], threshold: float,
    viewed: dict[int, int], limit: int,
) -> list[int]:
    """Positions of members at the threshold or above, nearest first, one of a cluster, without those viewed already."""
    passed = resemblance[dropped] >= threshold  # False for nan
    above = dropped[passed & (resemblance[dropped] < 1.0) & ~np.isin(dropped, list(viewed.values()))]
    order = above[np.lexsort((above, resemblance[above]))]
    return order[np.sort(np.unique(labels[order], return_index=True)[1])][:limit].tolist()  # type: ignore[no-any-return]


def _counted(verdicts: NDArray[np.str_]) -> dict[str, int]:
    names, counts = np.unique(verdicts, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))
