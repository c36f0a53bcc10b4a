"""What must hold before the effect of an option is measured: complete verdicts are complete, and no drop is unjust."""

from __future__ import annotations

from typing import Any

import numpy as np
from measure import Report, Table
from verdict_cases import Case, Verdict, judge

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
CUT, FEW = (0.5, 0.8), 20  # thresholds at which runs of more than FEW documents are not expanded, for once
CONTAINED = 0.8
COMPLETE = ["corpus", "threshold", "pairs", "missed by auto", "missed by complete", "documents dropped", "auto drops",
            "labels that differ, auto", "labels that differ, complete",
            "compared by auto", "compared by complete"]
CONTAINMENTS = ["corpus", "documents", "dropped, resembling", "dropped, contained", "of class contained", "unjust",
                "contained pairs", "both kept"]


def pairs_of(verdict: Verdict, case: Case) -> dict[tuple[int, int], float]:
    """Return the pairs of leaders of a result with their resemblances."""
    pairs = verdict.result.pairs
    leads = case.leaders == np.arange(len(case.leaders))
    chosen = leads[pairs.a] & leads[pairs.b]
    columns = (pairs.a[chosen].tolist(), pairs.b[chosen].tolist(), pairs.resemblance[chosen].tolist())
    return {(a, b): resemblance for a, b, resemblance in zip(*columns, strict=True)}


def check_complete(report: Report, table: Table, case: Case, thresholds: tuple[float, ...]) -> None:
    """Compare complete verdicts with brute force, pairs and labels, and count what "auto" misses."""
    holders = max(1000, len(case.texts))  # so that every pair is listed
    for threshold in thresholds:
        where = f"{case.name} at {threshold}"
        truth = case.resembling(threshold)
        expected = dict(zip(zip(truth.a.tolist(), truth.b.tolist(), strict=True), truth.resemblance.tolist(), strict=True))
        stars, components = case.labels(threshold, "star"), case.labels(threshold, "components")
        auto = judge(case.texts, threshold, max_holders=holders)
        complete = judge(case.texts, threshold, max_holders=holders, filter="complete")
        found = pairs_of(complete, case)
        report.require(found == expected, f"{where}: complete lists {len(found)} pairs, brute force {len(expected)}, "
                       f"{len(expected.items() ^ found.items())} differ")
        report.require(pairs_of(auto, case).items() <= expected.items(), f"{where}: auto lists a pair that is none")
        wrong = int(np.count_nonzero(complete.result.labels != stars))
        report.require(wrong == 0, f"{where}: {wrong} labels of complete differ from brute force")
        for options, labels in (({"cluster": "components"}, components), ({"max_holders": FEW}, stars),
                                ({"cluster": "components", "max_holders": FEW}, components)):
            if "max_holders" in options and threshold not in CUT:
                continue
            other = judge(case.texts, threshold, filter="complete", **options).result.labels
            differ = int(np.count_nonzero(other != labels))
            report.require(differ == 0, f"{where}: {differ} labels of complete with {options} differ from brute force")
        table.add(case.name, threshold, len(expected), len(expected) - len(pairs_of(auto, case)), len(expected) - len(found),
                  int(np.count_nonzero(stars != np.arange(len(stars)))), len(auto.result.duplicates),
                  int(np.count_nonzero(auto.result.labels != stars)), wrong, auto.candidates, complete.candidates)


def check_contained(report: Report, table: Table, case: Case) -> None:
    """Require that drop="contained" drops nothing unjustly and leaves no contained document beside its container."""
    texts, where = case.texts, f"{case.name}, drop=contained"
    plain = judge(texts, CONTAINED, keep="longest").result
    verdict = judge(texts, CONTAINED, keep="longest", drop="contained")
    result, (a, b) = verdict.result, contained_pairs(case)
    unjust = unjust_drops(case, verdict)
    report.require(unjust == 0, f"{where}: {unjust} documents are not contained in what represents them")
    kept = np.zeros(len(texts), np.bool_)
    kept[result.kept] = True
    left = int(np.count_nonzero(kept[a] & kept[b]))
    report.require(left == 0, f"{where}: {left} of {len(a)} contained pairs are kept both")
    table.add(case.name, len(texts), len(plain.duplicates), len(result.duplicates),
              int(np.count_nonzero(result.classes == "contained")), unjust, len(a), left)


def contained_pairs(case: Case) -> tuple[Any, Any]:
    """Return the pairs (a, b) where a is contained in b and comes after it in the order of `keep="longest"`.

    Of documents with equal words, the one that comes first in this order stands for all.
    """
    sizes = np.array([len(text.encode("utf-8", "surrogatepass")) for text in case.texts], np.int64)
    order = np.lexsort((np.arange(len(sizes)), -sizes))
    rank = np.empty(len(sizes), np.int64)
    rank[order] = np.arange(len(sizes))
    best = rank.copy()
    np.minimum.at(best, case.leaders, rank)  # of a leader: the first rank of its class
    pairs = case.pairs
    first, second = [], []
    for a, b, share in ((pairs.a, pairs.b, pairs.a_in_b), (pairs.b, pairs.a, pairs.b_in_a)):
        chosen = (share >= CONTAINED) & (best[a] > best[b])
        first.append(order[best[a[chosen]]])
        second.append(order[best[b[chosen]]])
    return np.concatenate(first), np.concatenate(second)


def unjust_drops(case: Case, verdict: Verdict) -> int:
    """Count the dropped documents that are contained below the threshold in their representative."""
    dropped = verdict.result.duplicates
    shares = case.containment(dropped, verdict.result.labels[dropped])
    return int(np.count_nonzero(shares < CONTAINED))
