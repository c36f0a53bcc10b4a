"""Are the results of near_duplicates right? Judged on real corpora, at several thresholds, against the exact join.

Required, else the exit code is 1:
- no document is dropped whose exact resemblance to its representative is below the threshold, and every resemblance
  and class that the result states is true: recomputed from plain Python tokens, without fingerprints (exact.py);
- fewer than 0.5 % of the pairs of the exact join survive as two kept documents, and none that the filter proposes;
- every pair of the result is in the exact join, with the same resemblance;
- with filter="complete", the pairs of the result are all pairs of the exact join between documents of different words;
- the exact join itself (exact.py) equals brute force on a sample of each corpus.

Reported besides: what the filter proposed and missed.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from corpus import DATA, QUALITY, Corpus, data_folder, load, names, natural
from exact import Dropped, Join, TokenSets, exact_join, judge_dropped
from measure import Option, Report, Table, program, say
from numpy.typing import NDArray

import ndcore as nd

SURVIVORS = 0.005
COLUMNS = [
    "corpus", "threshold", "documents", "kept", "dropped", "dropped below", "exact pairs", "survive", "survive %",
    "of distinct", "distinct survive", "candidates", "found", "miss", "filter",
]


class Case(NamedTuple):
    """A corpus, and the sets of its tokens."""

    corpus: Corpus
    tokens: TokenSets


class Survival(NamedTuple):
    """Pairs of the exact join, and those of them whose two documents are kept."""

    pairs: int
    survive: int
    distinct: int  # pairs of documents that are the first with their canonical text
    distinct_survive: int
    found: int  # distinct pairs that the result lists

    @property
    def share(self) -> float:
        return self.survive / self.pairs if self.pairs else 0.0


def run_engine(case: Case, threshold: float, max_holders: int) -> tuple[nd.NearDuplicates, int, float]:
    """(result, candidates compared exactly, seconds)."""
    candidates = 0

    def progress(stage: str, done: int, total: int | None) -> None:
        nonlocal candidates
        candidates = max(candidates, total or 0) if stage == "verifying" else candidates

    start = time.perf_counter()
    result = nd.near_duplicates(case.corpus.texts, threshold=threshold, max_holders=max_holders, progress=progress)
    return result, candidates, time.perf_counter() - start


def survival(result: nd.NearDuplicates, join: Join) -> Survival:
    """Which pairs of the exact join survive."""
    n = len(result)
    kept = np.zeros(n, np.bool_)
    kept[result.kept] = True
    both = kept[join.a] & kept[join.b]
    first = first_of_equals(result)
    distinct = first[join.a] & first[join.b]
    listed = np.isin(join.a * n + join.b, result.pairs.a * n + result.pairs.b)
    counts = (np.ones(len(both), np.bool_), both, distinct, distinct & both, distinct & listed)
    return Survival(*(int(np.count_nonzero(which)) for which in counts))


def survivors(result: nd.NearDuplicates, join: Join) -> list[tuple[int, int, float, int]]:
    """(a, b, resemblance, shared features) of the pairs of the exact join whose two documents are kept."""
    kept = np.isin(join.a, result.kept) & np.isin(join.b, result.kept)
    a, b = join.a[kept], join.b[kept]
    features = nd.features(result.sketches, result.filter.groups, result.filter.group_size)
    shared = np.count_nonzero(features[a] == features[b], axis=1)
    return list(zip(a.tolist(), b.tolist(), join.resemblance[kept].tolist(), shared.tolist(), strict=True))


def first_of_equals(result: nd.NearDuplicates) -> NDArray[np.bool_]:
    """Which documents are the first with their canonical text."""
    assert result.sketches.digests is not None
    canonical = np.ascontiguousarray(result.sketches.digests[:, 16:]).view("V16").ravel()
    first = np.zeros(len(result), np.bool_)
    first[np.unique(canonical, return_index=True)[1]] = True
    return first


def check_join(report: Report, case: Case, join: Join, threshold: float, count: int) -> None:
    """Compare the join with all pairs, by tokens, of documents of its pairs and evenly spaced others."""
    n = len(case.corpus)
    paired = np.unique(np.concatenate([join.a, join.b]))
    some = paired[:: max(1, 2 * len(paired) // count)]
    chosen = np.unique(np.concatenate([some, np.arange(0, n, max(1, 2 * n // count))]))
    inside = np.isin(join.a, chosen) & np.isin(join.b, chosen)
    a, b, resemblance = (column[inside].tolist() for column in join)
    ours = dict(zip(zip(a, b, strict=True), resemblance, strict=True))
    brute = {pair: r for pair in combinations(chosen.tolist(), 2) if (r := case.tokens.resemblance(*pair)) >= threshold}
    message = f"{case.corpus.name} at {threshold}: the join has {len(ours)} pairs in a sample, brute force {len(brute)}"
    report.require(ours == brute, message)
    report.details.setdefault("brute force", []).append([case.corpus.name, threshold, len(chosen), len(brute)])


def check(
    report: Report, name: str, result: nd.NearDuplicates, dropped: Dropped, join: Join, survived: Survival
) -> None:
    """What is required of one result."""
    where = f"{name} at {result.threshold}"
    for what, count in dropped._asdict().items():
        report.require(count == 0, f"{where}: {count} dropped documents: {what.replace('_', ' ')}")
    share = f"{where}: {survived.survive} of {survived.pairs} exact pairs survive"
    report.require(survived.survive == 0 or survived.share < SURVIVORS, share)
    exact = dict(zip(zip(join.a.tolist(), join.b.tolist(), strict=True), join.resemblance.tolist(), strict=True))
    compared = result.pairs.where(result.verified)
    wrong = sum(exact.get((a, b)) != r for a, b, r in zip(*(column.tolist() for column in compared), strict=True))
    report.require(wrong == 0, f"{where}: {wrong} pairs are not in the exact join, or with another resemblance")
    if not any(run["cut"] for run in result.common):
        proposed = [pair for pair in survivors(result, join) if pair[3] >= result.filter.need]
        report.require(not proposed, f"{where}: pairs survive that the filter proposes: {proposed[:5]}")
    report.require(len(result.kept) + len(result.duplicates) == len(result), f"{where}: kept and dropped do not add up")


def check_complete(report: Report, case: Case, join: Join, threshold: float) -> None:
    """With the complete filter no pair is missing: between the first documents of each canonical text all are listed."""
    n = len(case.corpus)
    result = nd.near_duplicates(case.corpus.texts, threshold=threshold, max_holders=max(1000, n), filter="complete")
    first = first_of_equals(result)
    ours = result.pairs.where(first[result.pairs.a] & first[result.pairs.b])
    exact = first[join.a] & first[join.b]
    same = all(np.array_equal(x, y) for x, y in zip(
        ours, (join.a[exact], join.b[exact], join.resemblance[exact]), strict=True))
    report.require(same, f"{case.corpus.name} at {threshold}, complete: {len(ours.a)} pairs, not {exact.sum()}")


def judge(report: Report, case: Case, join: Join, threshold: float, main: Table, given: Namespace) -> None:
    """One corpus at one threshold."""
    result, candidates, seconds = run_engine(case, threshold, given.max_holders)
    dropped, survived = judge_dropped(result, case.tokens), survival(result, join)
    check(report, case.corpus.name, result, dropped, join, survived)
    check_join(report, case, join, threshold, given.sample)
    check_complete(report, case, join, threshold)
    design = result.filter
    main.add(
        case.corpus.name, threshold, len(result), len(result.kept), len(result.duplicates), dropped.below,
        survived.pairs, survived.survive, 100 * survived.share, survived.distinct, survived.distinct_survive,
        candidates, survived.found, design.miss, f"{design.groups}×{design.group_size}, need {design.need}",
    )
    report.details.setdefault("runs", []).append({
        "corpus": case.corpus.name, "threshold": threshold, "seconds": seconds, "repr": repr(result),
        "common": result.common, "num_perm": design.num_perm, "dropped": dropped._asdict(),
        "survivors": survivors(result, join)[:20],
    })


def corpora(given: Namespace) -> list[Callable[[], Corpus]]:
    """List functions that load the corpora asked for; generated text where there is no folder."""
    folder = data_folder(given.data)
    if folder is None:
        size = (400, 2_000_000) if given.quick else (3_000, 20_000_000)
        return [lambda: natural(1, *size)]
    chosen = given.corpora or (names(folder) if given.all else QUALITY)
    limit = 300 if given.quick else None
    return [lambda name=name: load(name, folder, limit) for name in chosen]


def ask(report: Report, given: Namespace) -> None:
    """Judge all corpora at all thresholds."""
    table = report.table("quality", "near_duplicates against the exact join of word 5-shingles", COLUMNS)
    for make in corpora(given):
        corpus = make()
        report.inputs.append(corpus.facts())
        say(f"{corpus.name}: {len(corpus)} documents")
        case = Case(corpus, TokenSets(corpus.texts))
        lowest = exact_join(corpus.texts, min(given.thresholds))
        for threshold in given.thresholds:
            near = lowest.resemblance >= threshold
            judge(report, case, Join(*(column[near] for column in lowest)), threshold, table, given)


if __name__ == "__main__":
    program("quality", ask, __doc__, data=DATA, corpora=Option([], "of the folder, these only"),
        all=Option(False, "all corpora of the folder"), thresholds=Option([0.5, 0.8, 0.9], "of resemblance"),
        max_holders=Option(1000, "of near_duplicates"), sample=Option(250, "documents joined by brute force too"))
