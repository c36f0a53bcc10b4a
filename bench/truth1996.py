"""What is true of a collection of collection1996.py, and how far a clustering of it is right."""

from __future__ import annotations

import functools
from itertools import combinations
from typing import NamedTuple

import numpy as np
from collection1996 import SINGLE, Collection, Figures
from numpy.typing import NDArray
from phrases import phrases_of

TOGETHER, APART = 0.7, 0.3  # at a threshold of 0.5, pairs at or above one must be in a cluster, at or below the other not
MEMBERS = 5  # of a family are compared, all with all
CHUNK = 1 << 20  # documents

Ints = NDArray[np.int64]


class Judgement(NamedTuple):
    """Pairs of a sample of families, and documents of the whole collection."""

    required: int  # pairs that must be together
    leaked: int  # of these, those that are not
    forbidden: int  # pairs of a family that must not be together
    merged: int  # of these, those that are
    foreign: int  # documents whose representative is of another family: no two families have a pair above APART


@functools.lru_cache(maxsize=2 * MEMBERS)
def shingles(collection: Collection, document: int, width: int = 10) -> frozenset[tuple[str, ...]]:
    """The shingles of a document, from the phrases it is made of. `width` is at most 40, the words of the shortest."""
    words = [word for phrase in phrases_of(collection.recipes(np.array([document]))[0])
             for word in collection.bank.words(phrase)]
    return frozenset(zip(*(words[i:] for i in range(width)), strict=False))


def true_resemblance(collection: Collection, a: int, b: int, width: int = 10) -> float:
    """|A ∩ B| / |A ∪ B| of the sets of shingles of two documents."""
    of_a, of_b = shingles(collection, a, width), shingles(collection, b, width)
    return len(of_a & of_b) / len(of_a | of_b)


def sampled_pairs(collection: Collection, families: int, seed: int) -> Ints:
    """Pairs of documents, (n, 2): of MEMBERS of each of so many families of two or more, or of all these families."""
    rng = np.random.default_rng(seed)
    first = int(collection.count[collection.kind == SINGLE].sum())  # families of one come first
    chosen = rng.choice(np.arange(first, collection.families), min(families, collection.families - first), replace=False)
    members = [rng.permutation(collection.documents_of(family))[:MEMBERS] for family in chosen.tolist()]
    return np.array([pair for some in members for pair in combinations(some.tolist(), 2)], np.int64).reshape(-1, 2)


def judged(collection: Collection, labels: Ints, families: int = 1000, seed: int = 1, width: int = 10) -> Judgement:
    """How far a clustering at 0.5 is right.

    labels[i] is the document that stands for the cluster of document i, i itself if it is alone. About 10 ms for each
    family of the sample, and a second for 10^6 documents.
    """
    if len(labels) != len(collection):
        raise ValueError(f"there are {len(labels)} labels for {len(collection)} documents; give one for each")
    pairs = sampled_pairs(collection, families, seed)
    resemblance = np.array([true_resemblance(collection, a, b, width) for a, b in pairs.tolist()])
    together = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    required, forbidden = resemblance >= TOGETHER, resemblance <= APART
    foreign = 0
    for begin in range(0, len(labels), CHUNK):
        part = labels[begin : begin + CHUNK]
        own = collection.members(np.arange(begin, begin + len(part))).family
        foreign += int((own != collection.members(part).family).sum())
    return Judgement(int(required.sum()), int((required & ~together).sum()), int(forbidden.sum()),
                     int((forbidden & together).sum()), foreign)


def figures(labels: Ints, texts: Ints) -> Figures:
    """The paper's figures of a clustering: labels as above, and numbers that are equal for identical documents."""
    _, cluster, size = np.unique(labels, return_inverse=True, return_counts=True)
    first = np.zeros(len(size), np.int64)
    first[cluster] = texts
    mixed = np.zeros(len(size), np.bool_)
    mixed[cluster[texts != first[cluster]]] = True
    several = size > 1
    identical = several & ~mixed
    return Figures(int(several.sum()), int(size[several].sum()), int(identical.sum()), int(size[identical].sum()))
