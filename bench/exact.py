"""Exact resemblances, twice: the similarity join by shingle sets, and any pair by plain Python tokens.

The join counts the shared shingles of all pairs of documents as a product of sparse matrices. What a result says of the
documents that it drops is computed a second time, from tokens and without fingerprints. Sketches come from the reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array  # type: ignore[import-untyped]

import ndcore as nd
from ndcore._sets import distinct
from ndcore.reference import shingling, sketches
from ndcore.reference import text as reference_text

Ints = NDArray[np.int64]

ROWS = 500  # documents that are compared with all at a time
WIDTH = 5  # words of a shingle of tokens


class Join(NamedTuple):
    """Pairs a < b in order, and their exact resemblances."""

    a: Ints
    b: Ints
    resemblance: NDArray[np.float64]


def exact_join(texts: Sequence[str], threshold: float) -> Join:
    """Find every pair of documents with shingles whose exact resemblance is at least the threshold."""
    values, offsets = distinct(*nd.Shingling().fingerprints_many(texts))
    sizes, (_, shingle) = np.diff(offsets), np.unique(values, return_inverse=True)
    has = csr_array((np.ones(len(shingle), np.int64), shingle, offsets), (len(texts), shingle.max(initial=0) + 1))
    others, found = has.T.tocsr(), [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for start in range(0, len(texts), ROWS):
        shared = (has[start : start + ROWS] @ others).sorted_indices().tocoo()
        a, b = shared.row.astype(np.int64) + start, shared.col.astype(np.int64)
        resemblance = shared.data / (sizes[a] + sizes[b] - shared.data)
        near = (a < b) & (resemblance >= threshold)
        found.append((a[near], b[near], resemblance[near]))
    return Join(*map(np.concatenate, zip(*found, strict=True)))


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
        self._sets: dict[int, set[bytes]] = {}

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

    def members(self, i: int) -> set[bytes]:
        """The shingles of document i; a short document is one shingle, filled up with -1."""
        if i not in self._sets:
            tokens = self.tokens(i)
            if 0 < len(tokens) < WIDTH:
                tokens = np.append(tokens, np.full(WIDTH - len(tokens), -1, np.int32))
            rows = np.lib.stride_tricks.sliding_window_view(tokens, WIDTH) if len(tokens) else np.empty((0, WIDTH), np.int32)
            self._sets[i] = {row.tobytes() for row in rows}
        return self._sets[i]

    def resemblance(self, i: int, j: int) -> float:
        """|A∩B| / |A∪B|; nan where either is empty."""
        a, b = self.members(i), self.members(j)
        return len(a & b) / len(a | b) if a and b else float("nan")

    def holds(self, verdict: str, i: int, j: int) -> bool:
        """Whether the verdict on documents i and j is true; "near" is for the threshold to say."""
        if verdict == "identical":
            return self.texts[i] == self.texts[j]
        if verdict == "lexical":
            return self.texts[i] != self.texts[j] and np.array_equal(self.tokens(i), self.tokens(j))
        return (self.resemblance(i, j) == 1.0) == (verdict == "shingle")


def judge_dropped(result: nd.NearDuplicates, sets: TokenSets) -> Dropped:
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


# ---- sketches


def reference_sketch(sketcher: Any, text: str) -> list[int]:
    """Sketch a text by plain Python, as any kind of sketcher with shingles of words does."""
    members = shingling.fingerprints(text, width=sketcher.shingling.width)
    match sketcher:
        case nd.SimHasher():
            return [sketches.simhash(members, sketcher.weights)]
        case nd.BottomSketcher():
            return sketches.bottom(members, sketcher.size)
        case nd.ModSketcher(modulus="adaptive"):
            return sketches.adaptive(members)[1]
        case nd.ModSketcher():
            return sketches.mod(members, sketcher.modulus)
        case nd.Winnower():
            return [z for z, _ in sketches.winnow(members, sketcher.window)]
        case nd.WeightedMinHasher():
            return sketches.weighted_signature(members, sketcher.num_perm)
        case nd.BucketSketcher():
            return sketches.bucket_signatures(members, sketcher.lists, sketcher.least)
        case nd.MinHasher(method="fast"):
            return sketches.fast_signature(members, sketcher.num_perm)
    return sketches.signature(members, sketcher.num_perm)
