"""Comparison of results of `near_duplicates` with each other and with the reference, and settings for it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from generated import corpus

import ndcore as nd
from ndcore.reference import dedup as reference

BANDS = nd.FilterDesign.of(100, 1, 1, threshold=0.5)
EVERY_PAIR: dict[str, Any] = {"filter": BANDS, "num_perm": 100}
TEN = "one two three four five six seven eight nine ten"
WORDS = nd.Shingling(width=1)
CORPUS = corpus(random.Random(20), 120)


def listed(pairs):
    """Return pairs as tuples that compare equal, with None for nan."""
    rows = zip(*(column.tolist() for column in pairs), strict=True) if isinstance(pairs, tuple) else pairs
    return [(a, b, None if np.isnan(r) else r) for a, b, r in rows]


def numbers(values: Any) -> list[float | None]:
    """Return numbers that compare equal, with None for nan."""
    return [None if np.isnan(value) else float(value) for value in values]


def agrees(ours: nd.NearDuplicates, theirs: reference.Result) -> None:
    """Compare all that both say of the documents; and the pairs, or the pairs that labels need if runs were set aside."""
    assert ours.labels.tolist() == theirs.labels
    assert ours.classes.tolist() == theirs.classes
    np.testing.assert_array_equal(ours.resemblance, np.array(theirs.resemblance, np.float64))
    np.testing.assert_array_equal(ours.score, np.array(theirs.score, np.float64))
    assert (None if ours.lost is None else ours.lost.tolist()) == theirs.lost
    assert ours.valid.tolist() == theirs.valid
    assert ours.kept.tolist() == theirs.kept
    assert ours.duplicates.tolist() == theirs.duplicates
    assert ours.representatives.tolist() == theirs.representatives
    assert ours.common_shingles == len(theirs.common)
    our_pairs = list(zip(listed(ours.pairs), numbers(ours.pair_scores), strict=True))
    their_pairs = list(zip(listed(theirs.pairs), numbers(theirs.pair_scores), strict=True))
    assert not ours.estimated.any() and len(ours.estimated) == len(our_pairs)
    if ours.common == []:
        assert our_pairs == their_pairs
        return
    found = set(our_pairs)
    assert our_pairs == [pair for pair in their_pairs if pair in found]
    leader = ours.leaders.leader.tolist()
    needed = {(i, leader[i] if leader[i] != i else label) for i, label in enumerate(theirs.labels)
              if theirs.classes[i] not in ("kept", "version", "chained")}  # fmt: skip
    assert {(min(pair), max(pair)) for pair in needed} <= {(a, b) for (a, b, _), _ in found}


def equal(a: nd.NearDuplicates, b: nd.NearDuplicates) -> None:
    for name in ("labels", "classes", "resemblance", "score", "kept", "duplicates", "representatives", "estimated", "valid"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for ours, theirs in zip(a.pairs, b.pairs, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(a.sketches.values, b.sketches.values)
    assert (a.filter, a.common, a.threshold, a.invalid_bytes) == (b.filter, b.common, b.threshold, b.invalid_bytes)


def with_digests(documents, sketcher) -> nd.Sketches:
    return nd.near_duplicates(documents, num_perm=sketcher.num_perm, shingling=sketcher.shingling, filter=nd.FilterDesign.of(
        1, 1, 1, threshold=0.8)).sketches  # fmt: skip


class Whole:
    """A corpus of which nothing can be left out."""

    def __init__(self, documents: list[Any]) -> None:
        self.documents = documents

    def batches(self):
        return iter([self.documents[:7], self.documents[7:]])
