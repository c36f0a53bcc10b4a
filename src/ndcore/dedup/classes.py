"""The classes of documents: their names, their meaning, and the class of a pair of documents that were joined."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Bools, Floats, Ints
from ndcore.dedup.documents import Documents
from ndcore.dedup.rules import Rules

CLASSES = ("kept", "identical", "lexical", "shingle", "near", "contained", "chained", "version")
PAIRS = 1 << 16  # pairs whose digests are compared at a time
RARE = CLASSES[5:]  # left out of counts if there are none


def classify(
    documents: Documents, rules: Rules, i: Ints, j: Ints, resemblance: Floats, score: Floats, exact: Bools
) -> NDArray[np.uint8]:
    """Return the strongest class for each pair (i, j) of documents that were joined, as its position in `CLASSES`."""
    identical, lexical = np.zeros((2, len(i)), np.bool_)
    for start in range(0, len(i), PAIRS):  # few documents have known digests
        x, y = i[start : start + PAIRS], j[start : start + PAIRS]
        known = np.flatnonzero((x != y) & documents.known[x] & documents.known[y])
        x, y = x[known], y[known]
        same = documents.digests[x] == documents.digests[y]
        identical[start + known] = same[:, :16].all(axis=1) & (documents.valid[x] == documents.valid[y])
        lexical[start + known] = same[:, 16:].all(axis=1) & documents.valid[x] & documents.valid[y]
    shingle = exact & (resemblance == 1.0)
    chained = ~(score >= rules.threshold)
    contained = rules.contained & ~(resemblance >= rules.threshold)
    number = np.full(len(i), CLASSES.index("near"), np.uint8)
    for name, those in (("contained", contained), ("chained", chained), ("shingle", shingle), ("lexical", lexical),
                        ("identical", identical), ("kept", i == j)):  # the strongest class last
        number[those] = CLASSES.index(name)
    return number


def class_names(numbers: NDArray[np.uint8]) -> NDArray[np.str_]:
    """Return the names of classes that are given as positions in `CLASSES`."""
    return np.array(CLASSES)[numbers]


def exact_copies(documents: Documents, leader: Ints) -> Bools:
    """Find byte-for-byte copies, bool (n,): all but one of the documents with the same bytes.

    No threshold changes them. `leader` has, for each document, the first identical or lexically equivalent one.
    """
    n = documents.n
    rows = np.flatnonzero((np.bincount(leader, minlength=len(leader))[leader] > 1) & documents.known)
    digests = np.ascontiguousarray(documents.digests[rows, :16]).view(np.uint64)
    order = np.lexsort((rows, rows < n, leader[rows] != rows, *digests.T, leader[rows]))
    rows, digests = rows[order], digests[order]
    again = (leader[rows[1:]] == leader[rows[:-1]]) & (digests[1:] == digests[:-1]).all(axis=1)
    copies = np.zeros(len(leader), np.bool_)
    copies[rows[1:][again]] = True
    return copies[:n]


def describe_classes(*, contained: bool = False, common: bool = False, weighted: bool = False) -> dict[str, str]:
    """Describe the meaning of the classes that depends on the rules.

    `contained`: the rule drop="contained" holds; `common`: scores leave common shingles out, as with `drop_common`;
    `weighted`: scores are shares of weight, as with `weights`.
    """
    scored, whole = (", without common shingles", " of all shingles") if common else ("", "")
    if weighted:
        scored, whole = f", by weights{scored}", " of all shingles"
    return {
        "near": f"resemblance{whole} at or above the threshold" if contained
        else f"resemblance at or above the threshold{scored}",
        "contained": f"contained in its representative at or above the threshold{scored}; the resemblance{whole} is below",
        "chained": f"below the threshold{scored}; other documents link it to its representative",
    }
