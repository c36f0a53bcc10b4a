"""Are the clusters of `cluster` right? Against brute force on real corpora, and against exact resemblances.

Required, else the exit code is 1, at every threshold:
- from adaptive sketches and those of modulus 25, in memory and spilled, pairs, estimates and stars are those of brute
  force over the same sketches with the same exclusion of common values (a sparse matrix product, and plain Python);
- at modulus 1 without exclusion they are those of the exact join of the shingle sets (joining.py), and no document is in
  a star whose representative it does not resemble enough.

Reported: the leak (pairs of documents whose exact resemblance is at or above the threshold, and that are in different
clusters), by stars and by connected components, and unjust merges (members whose exact resemblance to their
representative is below the threshold), by the settings of SETTINGS. Stars part some pairs of documents that resemble each
other, whatever is known of them: the leak at modulus 1 is that alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from corpus import Corpus, add_options
from joining import Join, Sets, exact_join, resemblances, shingle_sets
from measure import Report, Table, options
from numpy.typing import NDArray
from quality import corpora

import ndcore as nd
from ndcore.collection.cluster import cluster
from ndcore.collection.clustering import Clustering

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MAX_HOLDERS = 1000
SETTINGS = ("modulus 1", "adaptive", "modulus 25", "super-shingles", "features")


class Links(NamedTuple):
    """Pairs a < b of leaders, ascending, and their resemblances."""

    a: Ints
    b: Ints
    resemblance: NDArray[np.float64]

    def from_on(self, threshold: float) -> Links:
        """Those at or above a threshold."""
        enough = self.resemblance >= threshold
        return Links(self.a[enough], self.b[enough], self.resemblance[enough])


# ---- brute force


def leaders_of(sets: nd.Sketches | Sets, moduli: NDArray[np.uint64] | None = None) -> Ints:
    """The first document with the same members and the same modulus; one without members leads itself."""
    assert sets.offsets is not None
    first: dict[tuple[int, bytes], int] = {}
    leaders = np.arange(len(sets.offsets) - 1)
    for i in range(len(leaders)):
        members = sets.values[sets.offsets[i] : sets.offsets[i + 1]]
        if len(members):
            leaders[i] = first.setdefault((0 if moduli is None else int(moduli[i]), members.tobytes()), i)
    return leaders


def brute_force(sketches: nd.Sketches, leaders: Ints, max_holders: int) -> Links:
    """All pairs of leaders with values in common, at least one of them of max_holders or fewer, from the product of the
    matrix documents × values and its transpose."""
    from scipy.sparse import coo_array, triu

    assert sketches.offsets is not None
    n = len(sketches)
    document = np.repeat(np.arange(n), np.diff(sketches.offsets))
    leading = leaders[document] == document
    _, number, holders = np.unique(sketches.values[leading], return_inverse=True, return_counts=True)
    rare = holders[number] <= max_holders

    def met(which: Bools) -> Any:
        rows, columns = document[leading][which], number[which]
        held = coo_array((np.ones(len(rows), np.int32), (rows, columns)), shape=(n, len(holders))).tocsr()
        return triu(held @ held.T, k=1).tocsr()

    proposed, of_all = met(rare), met(np.ones(len(number), np.bool_))
    both = (of_all * (proposed != 0)).tocoo()
    order = np.lexsort((both.col, both.row))
    a, b, common = (column[order].astype(np.int64) for column in (both.row, both.col, both.data))
    sizes = _sizes(sketches, document, a, b)
    return Links(a, b, common / (sizes[0] + sizes[1] - common))


def _sizes(sketches: nd.Sketches, document: Ints, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """Members of both samples at the larger of their moduli."""
    assert sketches.offsets is not None
    if sketches.moduli is None:
        whole = np.diff(sketches.offsets)
        return whole[a], whole[b]
    larger = np.maximum(sketches.moduli[a], sketches.moduli[b])
    sizes = np.zeros((2, len(a)), np.int64)
    for modulus in np.unique(larger):
        multiples = np.bincount(document[sketches.values % modulus == 0], minlength=len(sketches))
        here = larger == modulus
        sizes[0, here], sizes[1, here] = multiples[a[here]], multiples[b[here]]
    return sizes[0], sizes[1]


def stars(n: int, links: Links) -> Ints:
    """A document joins the representative before it that it resembles most, of equals the first, or becomes one."""
    near: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for a, b, resemblance in zip(*(column.tolist() for column in links), strict=True):
        near[b].append((a, resemblance))
    labels = list(range(n))
    for i in range(n):
        best = 0.0
        for j, resemblance in near[i]:
            if labels[j] == j and resemblance > best:
                labels[i], best = j, resemblance
    return np.array(labels, np.int64)


# ---- agreement


def disagreements(found: Clustering, brute: Links, leaders: Ints) -> Iterator[str]:
    """What of a clustering is not as brute force has it, at every threshold."""
    if not np.array_equal(found.leaders, leaders):
        yield f"{np.count_nonzero(found.leaders != leaders)} leaders"
    ours = Links(found.pairs.a, found.pairs.b, found.pairs.overlaps.resemblance)
    for threshold in THRESHOLDS:
        wanted = brute.from_on(threshold)
        if not all(np.array_equal(x, y) for x, y in zip(ours.from_on(threshold), wanted, strict=True)):
            yield f"the pairs at {threshold}"
        labels = stars(len(leaders), wanted)[leaders]
        wrong = np.count_nonzero(found.rethreshold(threshold, cluster="star").labels != labels)
        if wrong:
            yield f"{wrong} labels at {threshold}"


def agree(report: Report, table: Table, corpus: Corpus, name: str, brute: Links, leaders: Ints, sketches: nd.Sketches,
          max_holders: int) -> None:
    """One kind of sketches of one corpus, in memory and spilled."""
    for limit in (None, max(1 << 16, sketches.values.nbytes // 8)):
        start = time.perf_counter()
        found = cluster(sketches, threshold=min(THRESHOLDS), max_holders=max_holders, memory_limit=limit)
        seconds = time.perf_counter() - start
        where = "in memory" if limit is None else "spilled"
        wrong = list(disagreements(found, brute, leaders))
        message = f"{corpus.name}, {name}, {where}: not as brute force: {', '.join(wrong)}"
        report.require(not wrong, message)
        small = sketches.values.nbytes < 1 << 19
        report.require(small or found.shelf.spilled == (limit is not None),  # type: ignore[attr-defined]
                       f"{corpus.name}, {name}: {where} it should be")
        table.add(corpus.name, len(corpus), name, where, len(brute.from_on(min(THRESHOLDS)).a), len(found.common.value),
                  len(THRESHOLDS), len(wrong))
        report.details.setdefault("agreement", []).append({"corpus": corpus.name, "sketches": name, "where": where,
                                                           "seconds": seconds})


# ---- leak and unjust merges


class Judged(NamedTuple):
    """What a clustering gets wrong, by exact resemblances."""

    leak: int
    leak_components: int
    members: int  # documents besides the representatives
    unjust: int


def judge(found: Clustering, join: Join, sets: Sets) -> Judged:
    """By the exact pairs at the threshold of the clustering, and the exact resemblances to representatives."""
    enough = join.resemblance >= found.threshold
    a, b = join.a[enough], join.b[enough]
    joined = found.rethreshold(cluster="components")
    members = found.duplicates[sets.sizes[found.duplicates] > 0]  # documents without shingles are identical
    below = resemblances(sets, members, found.labels[members]) < found.threshold
    return Judged(
        int(np.count_nonzero(found.labels[a] != found.labels[b])),
        int(np.count_nonzero(joined.labels[a] != joined.labels[b])), len(found.duplicates), int(np.count_nonzero(below)),
    )


def settings(corpus: Corpus) -> Iterator[tuple[str, float, Clustering]]:
    """(name, threshold, clustering) of every one of SETTINGS, as its defaults are."""
    lowest = min(THRESHOLDS)
    once = {
        "modulus 1": {"sketcher": nd.ModSketcher(1), "max_holders": max(1, len(corpus))}, "adaptive": {},
        "modulus 25": {"sketcher": nd.ModSketcher(25)}, "super-shingles": {"method": "super-shingles"},
    }
    for name, how in once.items():
        found = cluster(corpus.texts, threshold=lowest, **how)  # type: ignore[arg-type]
        for threshold in THRESHOLDS:
            yield name, threshold, found.rethreshold(threshold)
    for threshold in THRESHOLDS:
        yield "features", threshold, cluster(corpus.texts, threshold=threshold, method="features")


def share(part: int, whole: int) -> str:
    """A count, and what share of the whole it is."""
    return f"{part:,} ({100 * part / whole if whole else 0.0:.2g} %)"


def judge_corpus(report: Report, corpus: Corpus, join: Join, sets: Sets, tables: dict[str, Table]) -> None:
    """All settings at all thresholds."""
    judged: dict[tuple[str, float], Judged] = {}
    for name, threshold, found in settings(corpus):
        judged[name, threshold] = judge(found, join, sets)
        report.details.setdefault("judged", []).append({
            "corpus": corpus.name, "setting": name, "threshold": threshold, **judged[name, threshold]._asdict(),
            "without sample": found.without_sample, "common values": len(found.common.value),
        })
    for threshold in THRESHOLDS:
        pairs = int(np.count_nonzero(join.resemblance >= threshold))
        row = [judged[name, threshold] for name in SETTINGS]
        exact = row[0]
        report.require(exact.unjust == exact.leak_components == 0,
                       f"{corpus.name} at {threshold}, modulus 1: {exact.unjust} unjust, {exact.leak_components} leak")
        tables["leak"].add(corpus.name, threshold, pairs, *(share(one.leak, pairs) for one in row))
        tables["components"].add(corpus.name, threshold, pairs, *(share(one.leak_components, pairs) for one in row))
        tables["unjust"].add(corpus.name, threshold, *(share(one.unjust, one.members) for one in row))


# ---- all of it


def run(report: Report, corpus: Corpus, agreement: Table, tables: dict[str, Table]) -> None:
    """One corpus."""
    sets = shingle_sets(corpus.texts)
    join = exact_join(sets, min(THRESHOLDS))
    leaders = leaders_of(sets)
    leading = (leaders[join.a] == join.a) & (leaders[join.b] == join.b)
    exact = Links(join.a[leading], join.b[leading], join.resemblance[leading])
    sketches = nd.ModSketcher(1).sketch_many(corpus.texts)
    agree(report, agreement, corpus, "modulus 1", exact, leaders, sketches, max(1, len(corpus)))
    for name, modulus in (("adaptive", "adaptive"), ("modulus 25", 25)):
        sketches = nd.ModSketcher(modulus).sketch_many(corpus.texts)  # type: ignore[arg-type]
        leaders = leaders_of(sketches, sketches.moduli)
        agree(report, agreement, corpus, name, brute_force(sketches, leaders, MAX_HOLDERS), leaders, sketches, MAX_HOLDERS)
    judge_corpus(report, corpus, join, sets, tables)


def main() -> int:
    parser = options(__doc__, repeats=1)
    add_options(parser)
    parser.add_argument("--corpora", nargs="+", metavar="NAME", help="these only")
    parser.add_argument("--all", action="store_true", help="all corpora of the folder")
    arguments: argparse.Namespace = parser.parse_args()
    report = Report("clustering", arguments)
    agreement = report.table(
        "clustering-agreement", "cluster against brute force over the same sketches, at six thresholds from 0.5 to 0.95",
        ["corpus", "documents", "sketches", "where", "pairs at 0.5", "common values", "thresholds", "differences"],
    )
    at = ["corpus", "threshold"]
    tables = {
        "leak": report.table("clustering", "Leak: exact pairs in different stars", [*at, "exact pairs", *SETTINGS]),
        "components": report.table(
            "clustering-components", "Leak of connected components: exact pairs in different ones",
            [*at, "exact pairs", *SETTINGS]),
        "unjust": report.table(
            "clustering-unjust", "Unjust merges: members that resemble their representative, exactly, below the threshold",
            [*at, *SETTINGS]),
    }  # fmt: skip
    for make in corpora(arguments):
        corpus = make()
        report.inputs.append(corpus.facts())
        print(f"{corpus.name}: {len(corpus)} documents", file=sys.stderr, flush=True)
        run(report, corpus, agreement, tables)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
