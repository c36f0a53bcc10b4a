"""The classes of documents, and which of them a pair of documents that were joined has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Bools, Floats, Ints
from ndcore.dedup.documents import Documents
from ndcore.dedup.rules import Rules

__all__ = ["CLASSES", "RARE", "classify"]

CLASSES = ("kept", "identical", "lexical", "shingle", "near", "contained", "chained", "version")
RARE = CLASSES[5:]  # left out of counts where there are none


def classify(
    documents: Documents, rules: Rules, i: Ints, j: Ints, resemblance: Floats, score: Floats, exact: Bools
) -> NDArray[np.str_]:
    """Return the strongest class for each pair (i, j) of documents that were joined."""
    known = documents.known[i] & documents.known[j]
    same = documents.digests[i] == documents.digests[j]
    identical = known & same[:, :16].all(axis=1) & (documents.valid[i] == documents.valid[j])
    lexical = known & same[:, 16:].all(axis=1) & documents.valid[i] & documents.valid[j]
    shingle = exact & (resemblance == 1.0)
    chained = ~(score >= rules.threshold)
    contained = rules.contained & ~(resemblance >= rules.threshold)
    return np.select([i == j, identical, lexical, shingle, chained, contained],
                     ["kept", "identical", "lexical", "shingle", "chained", "contained"], "near")
