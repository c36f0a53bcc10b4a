"""What a verdict on a corpus should be, by brute force: all pairs, and the labels that follow from them."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from corpus import Corpus, load
from joining import Sets, shingle_sets
from labelled import SOURCES, Ints, canonical, load_labelled
from numpy.typing import NDArray
from overlaps import Overlaps, overlaps

import ndcore as nd
from ndcore.reference.clustering import components

LOWEST, LOWEST_CONTAINMENT = 0.5, 0.8  # of the pairs that cases know


@dataclass(frozen=True)
class Case:
    """A corpus with the shingle sets (5 words) and all pairs of its leaders; `codes` has a label per document, or -1."""

    corpus: Corpus
    codes: Ints

    @property
    def name(self) -> str:
        """The name of the corpus."""
        return self.corpus.name

    @property
    def texts(self) -> list[str]:
        """The documents."""
        return self.corpus.texts

    @cached_property
    def sets(self) -> Sets:
        """The shingle sets of all documents."""
        return shingle_sets(self.texts)

    @cached_property
    def leaders(self) -> Ints:
        """The first document with the same words, of each; with the same bytes, where there are no words."""
        keys = [words or text.encode("utf-8", "surrogatepass") + b"\0" for words, text in
                zip(canonical(self.texts), self.texts, strict=True)]
        first: dict[bytes, int] = {}
        return np.array([first.setdefault(key, i) for i, key in enumerate(keys)], np.int64)

    @cached_property
    def pairs(self) -> Overlaps:
        """All pairs of leaders with a resemblance of LOWEST or a containment of LOWEST_CONTAINMENT."""
        found = overlaps(self.sets, LOWEST, LOWEST_CONTAINMENT)
        leads = self.leaders == np.arange(len(self.leaders))
        return found.where(leads[found.a] & leads[found.b])

    def resembling(self, threshold: float) -> Overlaps:
        """Return the pairs of leaders at or above a threshold of resemblance."""
        return self.pairs.where(self.pairs.resemblance >= threshold)

    def labels(self, threshold: float, cluster: str) -> Ints:
        """Return the representative of each document in a verdict that misses nothing."""
        pairs = self.resembling(threshold)
        near: dict[int, dict[int, float]] = defaultdict(dict)
        rows = list(zip(pairs.a.tolist(), pairs.b.tolist(), pairs.resemblance.tolist(), strict=True))
        if cluster == "components":
            return np.array(components(len(self.texts), rows), np.int64)[self.leaders]
        for a, b, resemblance in rows:
            near[b][a] = resemblance
        heads = np.arange(len(self.texts))
        for i in sorted(near):
            able = [(-resemblance, j) for j, resemblance in near[i].items() if heads[j] == j]
            heads[i] = min(able)[1] if able else i
        found: Ints = heads[self.leaders]
        return found

    def containment(self, a: Ints, b: Ints) -> NDArray[np.float64]:
        """Return the containment of documents a in documents b, one by one; nan for a document without shingles."""
        values, offsets = self.sets
        shares = []
        for i, j in zip(a.tolist(), b.tolist(), strict=True):
            mine, other = (values[offsets[k] : offsets[k + 1]] for k in (i, j))
            shares.append(len(np.intersect1d(mine, other, assume_unique=True)) / len(mine) if len(mine) else float("nan"))
        return np.array(shares, np.float64)


@dataclass(frozen=True)
class Verdict:
    """A result, the candidate pairs that were compared exactly, and seconds."""

    result: nd.NearDuplicates
    candidates: int
    seconds: float

    @property
    def moved(self) -> NDArray[np.bool_]:
        """The documents that are dropped although their words are nobody else's."""
        chosen: NDArray[np.bool_] = ~np.isin(self.result.classes, ("kept", "identical", "lexical", "version"))
        return chosen


def judge(texts: list[str], threshold: float, **options: Any) -> Verdict:
    """Run near_duplicates with these options."""
    candidates = 0

    def progress(stage: str, done: int, total: int | None) -> None:
        nonlocal candidates
        candidates = max(candidates, total or 0) if stage == "verifying" else candidates

    start = time.perf_counter()
    result = nd.near_duplicates(texts, threshold=threshold, progress=progress, **options)
    return Verdict(result, candidates, time.perf_counter() - start)


def load_case(name: str, folder: Path | None, limit: int | None = None) -> Case:
    """Load a corpus, with labels where it has some; made-up versions without a folder."""
    if folder is None or name in SOURCES:
        return Case(*load_labelled(name, folder, limit))
    corpus = load(name, folder, limit)
    return Case(corpus, np.full(len(corpus), -1, np.int64))
