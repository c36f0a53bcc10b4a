"""The exact similarity join by shingle sets: every pair of documents at or above a threshold, none missed.

Prefix filter (Chaudhuri, Ganti and Kaushik 2006; Bayardo, Ma and Srikant 2007). Order all shingles from the rarest to
the most frequent. If |A∩B| / |A∪B| >= t, then |A∩B| >= t·|A|, so A and B share a shingle among the |A| − ⌈t·|A|⌉ + 1
rarest of A and the same number of B: only documents that meet there are compared, and then exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore import Shingling
from ndcore._sets import common, distinct

Ints = NDArray[np.int64]

MEETINGS = 1 << 22  # pairs formed at a time
SLACK = 1e-9  # t·|A| may be a hair above a whole number


class Sets(NamedTuple):
    """Document i has the distinct shingles values[offsets[i] : offsets[i + 1]], ascending."""

    values: NDArray[np.uint64]
    offsets: Ints

    @property
    def sizes(self) -> Ints:
        return np.diff(self.offsets)


class Join(NamedTuple):
    """Pairs a < b in order, their exact resemblances, and how many pairs were compared to find them."""

    a: Ints
    b: Ints
    resemblance: NDArray[np.float64]
    compared: int


def shingle_sets(texts: Sequence[str], shingling: Shingling | None = None) -> Sets:
    """The sets of shingle fingerprints of all documents."""
    return Sets(*distinct(*(shingling or Shingling()).fingerprints_many(texts)))


def exact_join(sets: Sets, threshold: float) -> Join:
    """Every pair of documents with shingles whose exact resemblance is at least the threshold."""
    n = len(sets.offsets) - 1
    found = [np.empty(0, np.int64)]
    for a, b in _meetings(*_prefixes(sets, threshold)):
        large = np.maximum(sets.sizes[a], sets.sizes[b])
        fits = np.minimum(sets.sizes[a], sets.sizes[b]) >= threshold * large - SLACK
        found.append(np.unique(a[fits] * n + b[fits]))
    keys = np.unique(np.concatenate(found))
    a, b = keys // max(1, n), keys % max(1, n)
    resemblance = resemblances(sets, a, b)
    enough = resemblance >= threshold
    return Join(a[enough], b[enough], resemblance[enough], len(keys))


def resemblances(sets: Sets, a: Ints, b: Ints) -> NDArray[np.float64]:
    """Exact resemblances of pairs of documents that have shingles."""
    shared = common(sets.values, sets.offsets, a, b)
    return shared.astype(np.float64) / (sets.sizes[a] + sets.sizes[b] - shared).astype(np.float64)


def _prefixes(sets: Sets, threshold: float) -> tuple[Ints, Ints]:
    """(shingle, document) of the rarest shingles of all documents, by shingle, then document."""
    _, number, count = np.unique(sets.values, return_inverse=True, return_counts=True)
    rank = np.empty(len(count), np.int64)
    rank[np.argsort(count, kind="stable")] = np.arange(len(count))
    document = np.repeat(np.arange(len(sets.sizes)), sets.sizes)
    shingle = rank[number]
    order = np.lexsort((shingle, document))
    within = np.arange(len(order)) - sets.offsets[document]  # documents keep their places
    needed = np.ceil(threshold * sets.sizes - SLACK).astype(np.int64)
    chosen = within <= (sets.sizes - needed)[document]
    shingle, document = shingle[order][chosen], document[chosen]
    by_shingle = np.lexsort((document, shingle))
    return shingle[by_shingle], document[by_shingle]


def _meetings(shingle: Ints, document: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Pairs a < b of documents that have a shingle in common, with repeats, in parts."""
    begins = np.flatnonzero(np.concatenate([[True], shingle[1:] != shingle[:-1]])) if len(shingle) else shingle
    run = np.repeat(begins, np.diff(np.append(begins, len(shingle))))  # where the run of an entry begins
    before = np.arange(len(shingle)) - run  # entries of the run before it: each is a pair
    ends = np.cumsum(before)
    start = 0
    while start < len(shingle):
        limit = (int(ends[start - 1]) if start else 0) + MEETINGS
        end = max(start + 1, int(np.searchsorted(ends, limit, "right")))
        counts = before[start:end]
        later = np.repeat(np.arange(start, end), counts)
        earlier = run[later] + np.arange(len(later)) - np.repeat(np.cumsum(counts) - counts, counts)
        yield document[earlier], document[later]
        start = end


def brute_force(texts: Sequence[str], threshold: float, shingling: Shingling | None = None) -> dict[tuple[int, int], float]:
    """The same join by Python's sets of token tuples, every pair compared."""
    shingling = shingling or Shingling()
    members = [set(shingling.shingles(text)) for text in texts]
    found = {}
    for i, j in combinations(range(len(texts)), 2):
        if members[i] and members[j]:
            shared = len(members[i] & members[j])
            resemblance = shared / (len(members[i]) + len(members[j]) - shared)
            if resemblance >= threshold:
                found[i, j] = resemblance
    return found
