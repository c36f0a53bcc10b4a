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

MEMBERS = 20  # members of a cluster that are listed, the least similar to the representative
ROWS = 20  # rows of any other table
EXCERPT = 20_000  # code points of a str, or bytes of bytes, that are kept of a text

MEANING = {  # the meaning of the classes of documents
    "kept": "stands for itself, and for its duplicates",
    "identical": "the same text as its representative, character for character",
    "lexical": "the same tokens in the same order",
    "shingle": "the same set of shingles",
    **describe_classes(),
    "version": "another document of the same label comes first; the texts were not compared",
    "rejected": "could not be read",
}


class Part(NamedTuple):
    """The documents of one class. The parts of a report add up to all documents, and are drawn as a stacked bar."""

    name: str
    documents: int
    meaning: str


class Figure(NamedTuple):
    """A number at the top of the page, and what it counts."""

    number: int
    label: str


class Excerpt(NamedTuple):
    """The beginning of a text, and the length of the whole text, in code points of a str or in bytes."""

    text: Text
    length: int


Excerpts = Callable[[Ints], dict[int, Excerpt]]
"""Maps positions of documents to their excerpts, without documents whose texts are not available."""


class Member(NamedTuple):
    """A document that another represents; `resemblance` is to the representative, nan if undefined.

    `score` was compared with the threshold; None if the resemblance was.
    """

    name: str
    verdict: str
    resemblance: float
    estimated: bool
    score: float | None = None


@dataclass(frozen=True)
class ShownCluster:
    """A representative and the documents that it represents, as shown by the report.

    `documents`: number of documents, the representative included. `verdicts`: number of members by class. `lowest`: the
    lowest resemblance, or score, of a member. `members`: the least similar members. `note`: a remark on the representative.
    `excerpt`: the beginning of its text. `view`: the excerpt of the first member, to be shown beside it.
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
    """A member and the representative of its cluster, to be shown side by side; `excerpt` is the representative's."""

    name: str
    excerpt: Excerpt
    member: Member
    view: Excerpt


class Loss(NamedTuple):
    """A dropped document, of whose `shingles` no kept document has `lost`. `view` shows it beside its representative."""

    member: Member
    representative: str
    lost: int
    shingles: int
    view: View | None


class Losses(NamedTuple):
    """The cost of the drops: how many shingles no kept document has, in how many documents, and the largest losses."""

    shingles: int
    documents: int
    largest: tuple[Loss, ...]


class ChosenClusters(NamedTuple):
    """The largest clusters, which a report shows, and the pairs whose resemblance is nearest the threshold."""

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
    """The content of a report, for any kind of result.

    Attributes
    ----------
    title, subtitle : str
    figures : tuple of Figure
    parts : tuple of Part
        The classes of documents, which add up to all of them.
    notes : tuple of str
        Whole sentences that a reader should know before trusting the figures.
    sizes : ndarray of int64
        Number of documents in every cluster, representatives included.
    resemblances : ndarray of int64 (100,)
        Accepted pairs by their resemblance, as counted by `count_hundredths`.
    pairs : str
        A sentence about these pairs.
    threshold : float
    clusters : tuple of ShownCluster
        The largest clusters.
    nearest : tuple of View
        Members whose resemblance to their representative is just above the threshold, nearest first.
    shingling : Shingling or None
        The shingling for texts side by side. None: they are not shown.
    tables : tuple of ReportTable
        Tables of common shingles, chains or inputs, depending on the kind of result.
    parameters : tuple of (str, str)
    recipe : (str, str)
        Its id and its JSON.
    command : str or None
        The command line.
    made : str or None
        A date, if the caller wants one. Without it, equal results give equal pages.
    measure : str
        The name of the quantity in `resemblances` and `threshold`.
    score : str or None
        The name of the scores of members; None if these are resemblances.
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
    """Name a document by its id, or by its position if documents have no ids."""
    return str(position if ids is None else ids[position])


def describe_shingling(shingling: Shingling | None) -> str:
    """Describe shingles in words, as ``shingles of 5 words``."""
    if shingling is None:
        return "shingles"
    return f"shingles of {shingling.width} {'tokens' if callable(shingling.unit) else f'{shingling.unit}s'}"


def never_refusing(shingling: Shingling) -> Shingling:
    """Return the shingling with a rule that refuses no short text, because excerpts may be short."""
    if shingling.short != "error":
        return shingling
    return Shingling.from_recipe(Recipe({**shingling.recipe.parameters, "short": "whole"}))


def truncate(text: Text, limit: int) -> Text:
    """Cut a text to at most `limit` code points or bytes, but not within a UTF-8 character."""
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
    """Make a function that reads excerpts of documents of `corpora`, in one pass for each call.

    Corpus i begins at position starts[i]; documents are below `total`. A text is cut as soon as it is read, so memory is a
    batch of texts and `EXCERPT` for each document. `visits` maps positions to functions that are called with the whole text
    in the same pass.
    """
    visits = visits or {}

    def excerpts(positions: Ints) -> dict[int, Excerpt]:
        listed, wanted = set(positions.tolist()), np.zeros(total, np.bool_)
        wanted[[*listed, *visits]] = True
        excerpts: dict[int, Excerpt] = {}
        if wanted.any():
            for where, texts in indexed_texts(corpora, starts, wanted):
                for position, text in zip(where.tolist(), texts, strict=True):
                    if position in listed:
                        excerpts[position] = Excerpt(truncate(text, EXCERPT), len(text))
                    if position in visits:
                        visits[position](text)
        return excerpts

    return excerpts


def cluster_sizes(labels: Ints) -> Ints:
    """Count the documents of every cluster of several, the representative included, by label."""
    return np.unique(labels[labels != np.arange(len(labels))], return_counts=True)[1] + 1


def versions() -> tuple[tuple[str, str], ...]:
    """List the programs that computed the result, with their versions."""
    return ("ndcore", __version__), ("Python", platform.python_version()), ("NumPy", np.__version__)
