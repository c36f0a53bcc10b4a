"""How much of a shorter version is in a longer one: estimates of sketches against exact containments, on real corpora.

Every pair of documents of one group (versions of a page, answers to a question) is estimated: the shorter in the longer,
by their numbers of distinct shingles. Required, else the exit code is 1:
- sketches of modulus 1 give the exact containments;
- at modulus 8, the mean absolute error is under 0.05 where the shorter document has at least 500 shingles.

Reported besides: the error of the other sketches, for longer and shorter documents, and how often the 95 % intervals hold
the exact value. Nothing is timed.
"""

from __future__ import annotations

import sys
from itertools import combinations
from typing import Any

import numpy as np
from corpus import Corpus, add_options, data_folder, load, natural
from joining import Sets, shingle_sets
from measure import Report, Table, options
from numpy.typing import NDArray

import ndcore as nd
from ndcore._sets import common

CORPORA = ("peps", "short_answers")
LONG = 500  # shingles from which a document is long
LIMIT = 0.05
SKETCHERS: dict[str, Any] = {
    "mod 1": nd.ModSketcher(1), "mod 8": nd.ModSketcher(8), "mod 25": nd.ModSketcher(25),
    "adaptive": nd.ModSketcher("adaptive"), "bottom 200": nd.BottomSketcher(200), "84 minima": nd.MinHasher(84),
}


def pairs_of(corpus: Corpus, sets: Sets) -> NDArray[np.int64]:
    """(shorter, longer) of every pair of one group, (pairs, 2); of neighbours where there are no groups."""
    groups: dict[str, list[int]] = {}
    for i, size in enumerate(sets.sizes):
        label = corpus.groups[i] if corpus.groups else str(i // 6)
        if size and label is not None:
            groups.setdefault(label, []).append(i)
    found = [pair for members in groups.values() for pair in combinations(members, 2)]
    pairs = np.array(found, np.int64).reshape(-1, 2)
    backwards = sets.sizes[pairs[:, 0]] > sets.sizes[pairs[:, 1]]
    pairs[backwards] = pairs[backwards][:, ::-1]
    return pairs


def judge(report: Report, table: Table, corpus: Corpus) -> None:
    """All sketches on one corpus."""
    sets = shingle_sets(corpus.texts)
    pairs = pairs_of(corpus, sets)
    a, b = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    exact = common(sets.values, sets.offsets, a, b) / sets.sizes[a]
    for name, sketcher in SKETCHERS.items():
        compared = sketcher.sketch_many(corpus.texts).compare(a, b)
        estimates = compared.containment
        low, high = compared.interval(0.95, "midp", "containment")
        holds = (low - 1e-12 <= exact) & (exact <= high + 1e-12)
        if name == "mod 1":
            report.require(np.array_equal(estimates, exact), f"{corpus.name}: modulus 1 is not exact")
        for which, chosen in {f"at least {LONG}": sets.sizes[a] >= LONG, f"fewer than {LONG}": sets.sizes[a] < LONG}.items():
            known = chosen & ~np.isnan(estimates)
            errors = np.abs(estimates[known] - exact[known])
            if not chosen.any():
                continue
            mean = float(errors.mean()) if known.any() else None
            table.add(corpus.name, name, which, int(chosen.sum()), int((chosen & ~known).sum()), mean,
                      float(np.quantile(errors, 0.95)) if known.any() else None, 100 * float(holds[chosen].mean()))
            if name == "mod 8" and which.startswith("at least"):
                report.require(mean is not None and mean < LIMIT, f"{corpus.name}, modulus 8: mean error {mean}")


def main() -> int:
    parser = options(__doc__, repeats=1)
    add_options(parser)
    arguments = parser.parse_args()
    report = Report("containment", arguments)
    table = report.table("containment", "Containment of the shorter document of a pair in the longer, against exact", [
        "corpus", "sketch", "shingles of the shorter", "pairs", "no estimate", "mean error", "95 % quantile",
        "interval holds %"])
    folder = data_folder(arguments.data)
    limit = 300 if arguments.quick else None
    corpora = [load(name, folder, limit) for name in CORPORA] if folder else [natural(1, 600, 4_000_000)]
    for corpus in corpora:
        report.inputs.append(corpus.facts())
        print(f"{corpus.name}: {len(corpus)} documents", file=sys.stderr, flush=True)
        judge(report, table, corpus)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
