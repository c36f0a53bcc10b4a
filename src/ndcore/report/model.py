"""The content of a report, for any kind of result."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ndcore._types import Floats, Ints, Text
from ndcore._version import __version__
from ndcore.collection.ids import Names
from ndcore.dedup.classes import describe_classes
from ndcore.plots import histogram
from ndcore.recipe import Recipe
from ndcore.text.corpus import Corpus, indexed_texts
from ndcore.text.shingling import Shingling

MEMBERS = 20  # listed of a cluster, the least similar to the representative
ROWS = 20  # of any other table
EXCERPT = 20_000  # code points of a str, bytes of bytes: the most that is kept of a text

MEANING = {  # of the classes of documents
    "kept": "stands for itself, and for its duplicates",
    "identical": "the same text as its representative, character for character",
    "lexical": "the same tokens in the same order",
    "shingle": "the same set of shingles",
    **describe_classes(),
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
    """A document that another represents; `resemblance` is to the representative, nan where undefined.

    `score` was compared with the threshold; None where the resemblance was.
    """

    name: str
    verdict: str
    resemblance: float
    estimated: bool
    score: float | None = None


@dataclass(frozen=True)
class ShownCluster:
    """A representative and the documents that it represents, as the report shows them.

    `documents` counts both, `verdicts` the members by class; `lowest` is the lowest resemblance, or score, of a member.
    `members` are the least similar ones. `note` says what is special about the representative. `excerpt` is of its text;
    `view` is the excerpt of the first member, to be shown beside it.
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


class Loss(NamedTuple):
    """A dropped document: no kept document has `lost` of its `shingles`. `view` shows it beside its representative."""

    member: Member
    representative: str
    lost: int
    shingles: int
    view: View | None


class Losses(NamedTuple):
    """The cost of the drops: shingles that no kept document has, in how many documents, and the largest losses."""

    shingles: int
    documents: int
    largest: tuple[Loss, ...]


class ChosenClusters(NamedTuple):
    """The clusters that a report shows, the largest, and the pairs whose resemblance is nearest the threshold."""

    clusters: tuple[ShownCluster, ...]
    nearest: tuple[View, ...]


class ReportTable(NamedTuple):
    """Some of `total` rows, under a heading, with a sentence about them; ints and floats are aligned to the right."""

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
    score : str or None
        The name of the scores of members; None where these are resemblances.
    losses : Losses or None
        The review list. None: losses were not counted.
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
    score: str | None = None
    losses: Losses | None = None


def count_hundredths(values: Floats) -> Ints:
    """Count the resemblances in [i / 100, (i + 1) / 100), the last interval closed; int64 (100,)."""
    counts = np.zeros(100, np.int64)
    if len(values):
        occupied = histogram(values, 1 / 100).counts
        counts[len(counts) - len(occupied) :] = occupied
    return counts


def document_name(ids: Sequence[Any] | Names | None, position: int) -> str:
    """Name a document by its id, or by its position where documents have no ids."""
    return str(position if ids is None else ids[position])


def describe_shingling(shingling: Shingling | None) -> str:
    """Describe shingles in words, as ``shingles of 5 words``."""
    if shingling is None:
        return "shingles"
    return f"shingles of {shingling.width} {'tokens' if callable(shingling.unit) else f'{shingling.unit}s'}"


def never_refusing(shingling: Shingling) -> Shingling:
    """Return the shingling with a rule that refuses no short text, as excerpts may be."""
    if shingling.short != "error":
        return shingling
    return Shingling.from_recipe(Recipe({**shingling.recipe.parameters, "short": "whole"}))


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
        kept: dict[int, Excerpt] = {}
        if wanted.any():
            for where, texts in indexed_texts(corpora, starts, wanted):
                for position, text in zip(where.tolist(), texts, strict=True):
                    if position in asked:
                        kept[position] = Excerpt(truncate(text, EXCERPT), len(text))
                    if position in visits:
                        visits[position](text)
        return kept

    return excerpts


def cluster_sizes(labels: Ints) -> Ints:
    """Count the documents of every cluster of more than one, the representative included, by label."""
    return np.unique(labels[labels != np.arange(len(labels))], return_counts=True)[1] + 1


def versions() -> tuple[tuple[str, str], ...]:
    """List the programs that computed the result, with their versions."""
    return ("ndcore", __version__), ("Python", platform.python_version()), ("NumPy", np.__version__)
