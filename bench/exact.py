"""Exact resemblances, twice: the similarity join by shingle sets, and any pair by plain Python tokens.

The join finds every pair of documents at or above a threshold by a prefix filter (Chaudhuri, Ganti and Kaushik 2006;
Bayardo, Ma and Srikant 2007). Order all shingles from the rarest to the most frequent. If |A∩B| / |A∪B| >= t, then
|A∩B| >= t·|A|, so A and B share a shingle among the |A| − ⌈t·|A|⌉ + 1 rarest of A and the same number of B: only documents
that meet there are compared, and then exactly. What a result says of the documents that it drops is computed a second time,
from tokens and without fingerprints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore import NearDuplicates, Shingling
from ndcore._sets import common, distinct
from ndcore.reference import text as reference_text

Ints = NDArray[np.int64]

MEETINGS = 1 << 22  # pairs formed at a time
SLACK = 1e-9  # t·|A| may be a hair above a whole number
WIDTH = 5  # words of a shingle of tokens


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


# ---- by tokens


class Dropped(NamedTuple):
    """What is wrong with the documents that a result drops; all counts should be 0."""

    below: int  # resemble their representative less than the threshold
    wrong_resemblance: int  # the result says another number
    wrong_class: int  # the result says identical, lexical or shingle, and it is not so
    not_kept: int  # the representative is itself dropped


class TokenSets:
    """Sets of shingles of documents as runs of WIDTH token numbers, made when asked for.

    Tokens are those of `ndcore.reference`; equal tokens get equal numbers from a dictionary, so that nothing can
    collide and nothing of the compiled kernels is used.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._numbers: dict[bytes, int] = {}
        self._lines: dict[str, list[int]] = {}
        self._tokens: dict[int, NDArray[np.int32]] = {}
        self._sets: dict[int, NDArray[np.void]] = {}

    def tokens(self, i: int) -> NDArray[np.int32]:
        """The canonical words of document i, each as its number; no word goes on past a line, and lines repeat."""
        if i not in self._tokens:
            words = [word for line in self.texts[i].split("\n") for word in self._line(line)]
            self._tokens[i] = np.array(words, np.int32)
        return self._tokens[i]

    def _line(self, line: str) -> list[int]:
        if line not in self._lines:
            known = self._numbers
            self._lines[line] = [known.setdefault(word, len(known)) for word in reference_text.tokens(line)]
        return self._lines[line]

    def members(self, i: int) -> NDArray[np.void]:
        """The distinct shingles of document i, sorted; a short document is one shingle, filled up with -1."""
        if i not in self._sets:
            tokens = self.tokens(i)
            if 0 < len(tokens) < WIDTH:
                tokens = np.append(tokens, np.full(WIDTH - len(tokens), -1, np.int32))
            rows = np.lib.stride_tricks.sliding_window_view(tokens, WIDTH) if len(tokens) else np.empty((0, WIDTH), np.int32)
            self._sets[i] = np.unique(np.ascontiguousarray(rows).view(f"V{4 * WIDTH}").ravel())
        return self._sets[i]

    def resemblance(self, i: int, j: int) -> float:
        """|A∩B| / |A∪B|; nan where either is empty."""
        a, b = self.members(i), self.members(j)
        if not (len(a) and len(b)):
            return float("nan")
        shared = len(np.intersect1d(a, b, assume_unique=True))
        return float(np.float64(shared) / np.float64(len(a) + len(b) - shared))

    def holds(self, verdict: str, i: int, j: int) -> bool:
        """Whether the verdict on documents i and j is true; "near" is for the threshold to say."""
        if verdict == "identical":
            return self.texts[i] == self.texts[j]
        if verdict == "lexical":
            return self.texts[i] != self.texts[j] and np.array_equal(self.tokens(i), self.tokens(j))
        return (self.resemblance(i, j) == 1.0) == (verdict == "shingle")


def judge_dropped(result: NearDuplicates, sets: TokenSets) -> Dropped:
    """Recompute everything that the result says of the documents it drops."""
    below = wrong_resemblance = wrong_class = not_kept = 0
    for i in result.duplicates.tolist():
        label, verdict = int(result.labels[i]), str(result.classes[i])
        exact = sets.resemblance(i, label)
        empty = verdict == "identical" and np.isnan(exact)
        below += not (empty or exact >= result.threshold)
        wrong_resemblance += not (exact == result.resemblance[i] or (empty and np.isnan(result.resemblance[i])))
        wrong_class += not sets.holds(verdict, i, label)
        not_kept += int(result.labels[label]) != label
    return Dropped(below, wrong_resemblance, wrong_class, not_kept)
