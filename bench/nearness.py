"""How well simhashes find near-duplicates: the experiments of Manku, Jain and Das Sarma (2007, §4), on real corpora.

A pair of documents is a near-duplicate where the exact resemblance of its words, 5 to a shingle, is at least 0.8; the
paper judged pairs by hand. Reported:
- precision and recall for distances up to k = 1 … 10 (Figure 1), for several features and weights (§6 E);
- where successive fingerprints first differ, and how even fingerprints are (Figure 2);
- simhash beside features of minima (Broder 2000) at equal bytes a document.

Required, else the exit code is 1: the index finds the pairs that all distances of a sample say. Nothing is timed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from corpus import Corpus, add_options, data_folder, load, natural
from joining import Join, exact_join, shingle_sets
from measure import Report, options
from numpy.typing import NDArray

import ndcore as nd

CORPORA = ("peps", "reuters21578", "rust_book", "etcd_docs")
THRESHOLD = 0.8
FARTHEST = 10
SAMPLE = 1500
BUCKETS = 128  # of Figure 2(b)
BYTES = (8, 16, 24, 48)

Ints = NDArray[np.int64]


class Found(NamedTuple):
    """How good a set of pairs is: of those found, and of those that there are."""

    pairs: int
    precision: float | None
    recall: float | None

    @property
    def f1(self) -> float:
        """Harmonic mean of both; 0 where nothing is right."""
        if not self.precision or not self.recall:
            return 0.0
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def hashers() -> dict[str, Any]:
    """Simhashes by their features and weights; a callable needs the texts to learn from."""
    def of(width: int, weights: Any) -> Any:
        return lambda texts: nd.SimHasher(shingling=nd.Shingling(width=width), weights=weights).sketch_many(texts)

    def learned(width: int) -> Any:
        def sketch(texts: list[str]) -> nd.Simhashes:
            words = nd.Shingling(width=width)
            return nd.SimHasher(shingling=words, weights=nd.Idf.learn(texts, words)).sketch_many(texts)
        return sketch

    return {
        "words": of(1, None), "words, once": of(1, "distinct"), "words, idf": learned(1), "2 words": of(2, None),
        "3 words": of(3, None), "5 words": of(5, None), "5 words, once": of(5, "distinct"), "5 words, idf": learned(5),
    }


def judged(keys: Ints, truth: Ints) -> Found:
    """Pairs as numbers a·n + b, against those of the exact join."""
    right = int(np.count_nonzero(np.isin(keys, truth)))
    return Found(len(keys), right / len(keys) if len(keys) else None, right / len(truth) if len(truth) else None)


def near_pairs(report: Report, name: str, sketches: nd.Simhashes) -> tuple[Ints, Ints]:
    """(a·n + b, distance) of all pairs up to the farthest distance."""
    values, n = sketches.values, len(sketches)
    which = np.flatnonzero(sketches.valid)
    pairs = nd.HammingIndex(values[which], which, max_distance=FARTHEST).pairs()
    some = which[:: max(1, len(which) // SAMPLE)]
    all_distances = nd.hamming_distances(values[some][:, None], values[some][None, :])
    a, b = np.nonzero(np.triu(all_distances <= FARTHEST, 1))
    inside = np.isin(pairs.a, some) & np.isin(pairs.b, some)
    expected = np.sort(some[a] * n + some[b])
    report.require(np.array_equal(np.sort(pairs.a[inside] * n + pairs.b[inside]), expected), f"{name}: other pairs by index")
    return pairs.a * n + pairs.b, pairs.distance


def first_differences(values: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Share of neighbours among the sorted fingerprints whose highest differing bit is bit 0 … 63 (Figure 2(a))."""
    ordered = np.unique(values)
    differing = ordered[1:] ^ ordered[:-1]
    bits = np.zeros(len(differing), np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        high = differing >> np.uint64(step) > 0
        bits[high] += step
        differing = np.where(high, differing >> np.uint64(step), differing)
    return np.bincount(bits, minlength=64) / max(1, len(bits))


def sharing(features: NDArray[np.uint64], need: int) -> Ints:
    """a·n + b of the pairs of rows that are equal in at least `need` columns."""
    n = len(features)
    met = [np.empty(0, np.int64)]
    for column in features.T:
        order = np.argsort(column, kind="stable")
        begins = np.flatnonzero(np.concatenate([[True], column[order][1:] != column[order][:-1]]))
        for begin, end in zip(begins, np.append(begins[1:], n), strict=True):
            if end - begin > 1:
                a, b = np.triu_indices(end - begin, 1)
                met.append(order[begin:end][a] * n + order[begin:end][b])
    keys, counts = np.unique(np.concatenate(met), return_counts=True)
    return keys[counts >= need]


def filters(size: int) -> Iterator[tuple[int, int, int]]:
    """(groups, group_size, need) whose features take so many bytes."""
    groups = size // 8
    for need in sorted({1, min(2, groups), max(1, groups // 2)}):
        for group_size in (1, 2, 3, 4, 5, 6, 8, 10, 14):
            if groups * group_size <= 200:
                yield groups, group_size, need


def experiment(report: Report, corpus: Corpus, tables: dict[str, Any]) -> None:
    """Everything on one corpus."""
    sets = shingle_sets(corpus.texts)
    join: Join = exact_join(sets, THRESHOLD)
    n = len(corpus)
    truth = join.a * n + join.b
    best: tuple[float, str, int, Found] | None = None
    for features, sketch in hashers().items():
        sketches = sketch(corpus.texts)
        keys, distance = near_pairs(report, f"{corpus.name}, {features}", sketches)
        curve = [judged(keys[distance <= k], truth) for k in range(1, FARTHEST + 1)]
        for quantity in ("precision", "recall"):
            tables["curves"].add(corpus.name, features, quantity, *(getattr(found, quantity) for found in curve))
        for k, found in enumerate(curve, 1):
            if best is None or found.f1 > best[0]:
                best = found.f1, features, k, found
        values = sketches.values[sketches.valid]
        counts = np.bincount((values >> np.uint64(57)).astype(np.int64), minlength=BUCKETS) / max(1, len(values))
        leading = first_differences(values)
        report.details[f"{corpus.name}, {features}"] = {"leading": leading.tolist(), "buckets": counts.tolist()}
        tables["evenness"].add(corpus.name, features, len(values), len(np.unique(values)), int(leading.argmax()),
                               float(leading[:40].sum()), float(counts.max() * BUCKETS))
    assert best is not None
    tables["bytes"].add(corpus.name, 8, f"simhash, {best[1]}, k = {best[2]}", *best[3])
    signatures = nd.MinHasher(200).sketch_many(corpus.texts)
    which = np.flatnonzero(signatures.valid)
    for size in BYTES:
        chosen: tuple[float, str, Found] | None = None
        for groups, group_size, need in filters(size):
            keys = sharing(nd.features(signatures, groups, group_size)[which], need)
            found = judged(which[keys // len(which)] * n + which[keys % len(which)], truth)
            if chosen is None or found.f1 > chosen[0]:
                chosen = found.f1, f"{groups} × {group_size}, need {need}", found
        assert chosen is not None
        tables["bytes"].add(corpus.name, size, f"features, {chosen[1]}", *chosen[2])


def main() -> int:
    parser = options(__doc__, repeats=1)
    add_options(parser)
    arguments = parser.parse_args()
    report = Report("nearness", arguments)
    tables = {
        "bytes": report.table("nearness-bytes", "The best setting of each kind by bytes a document: pairs of resemblance "
                              f"{THRESHOLD} and more", ["corpus", "bytes", "setting", "pairs", "precision", "recall"]),
        "curves": report.table("nearness-curves", "Simhash: pairs within k bits, by features and weights",
                               ["corpus", "features", "of pairs within k", *map(str, range(1, FARTHEST + 1))]),
        "evenness": report.table("nearness-evenness", "How even simhashes are", [
            "corpus", "features", "documents", "different", "usual leading bit", "leading bit below 40",
            "fullest of 128 buckets × even"]),
    }
    folder = data_folder(arguments.data)
    limit = 400 if arguments.quick else None
    for corpus in [load(name, folder, limit) for name in CORPORA] if folder else [natural(1, 600, 4_000_000)]:
        report.inputs.append(corpus.facts())
        print(f"{corpus.name}: {len(corpus)} documents", file=sys.stderr, flush=True)
        experiment(report, corpus, tables)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
