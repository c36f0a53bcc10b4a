"""Search of fingerprints of 256 bits within 31: size and speed of the index, checked by brute force, beside faiss.

Random fingerprints, and three kinds that are not: around 1,000 centres; each bit 1 with probability 0.85; half of the bits
constant. Queries are fingerprints of the collection with up to 30 bits turned; half of those for random fingerprints are
random. All on one core. faiss (`pip install faiss-cpu`) is measured if it is installed: its scan, and its multi-index
hashing with 16 substrings of 16 bits, of which one bit is turned, which finds all.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import Report, Table, interleaved, options, pinned
from numpy.typing import NDArray

import ndcore as nd

K, BITS, WORDS = 31, 256, 4
SIZES = (10**6, 10**7)
QUERIES = 1000
SCANNED = 20  # queries of a scan
CENTRES = 1000

Fingerprints = NDArray[np.uint64]


def turned(values: Fingerprints, least: int, most: int, rng: np.random.Generator) -> Fingerprints:
    """The fingerprints with `least` to `most` bits turned (a bit drawn twice is turned back)."""
    made, counts = values.copy(), rng.integers(least, most + 1, len(values))
    for i in range(most):
        bit = rng.integers(0, BITS, len(made)).astype(np.uint64)
        mask = np.where(counts > i, np.uint64(1) << bit % np.uint64(64), np.uint64(0))
        made[np.arange(len(made)), bit // np.uint64(64)] ^= mask
    return made


def random_ones(n: int, rng: np.random.Generator) -> Fingerprints:
    return rng.integers(0, 2**64, (n, WORDS), np.uint64)


def clustered(n: int, rng: np.random.Generator) -> Fingerprints:
    return turned(random_ones(CENTRES, rng)[rng.integers(0, CENTRES, n)], 20, 60, rng)


def biased(n: int, rng: np.random.Generator) -> Fingerprints:
    pieces = [np.packbits(rng.random((min(100_000, n - at), BITS), np.float32) < 0.85, axis=1)
              for at in range(0, n, 100_000)]
    return np.concatenate(pieces).view(np.uint64)


def half_constant(n: int, rng: np.random.Generator) -> Fingerprints:
    made = random_ones(n, rng)
    made[:, WORDS // 2:] = 0
    return made


KINDS = {"random": random_ones, "around centres": clustered, "biased bits": biased, "half constant": half_constant}


def faiss_ways(values: Fingerprints, queries: Fingerprints, kind: str) -> dict[str, tuple[Callable[[], int], int, float]]:
    """The ways of faiss: a search that returns its number of matches, of how many queries, and seconds to build it."""
    try:
        import faiss  # type: ignore[import-not-found]
    except ImportError:
        return {}
    faiss.omp_set_num_threads(1)
    made = {f"faiss {faiss.__version__}, scan": faiss.IndexBinaryFlat(BITS)}
    if kind == "random":  # of others it compares nearly all, one by one
        made[f"faiss {faiss.__version__}, MultiHash 16×16, 1 flip"] = faiss.IndexBinaryMultiHash(BITS, 16, 16)
    ways = {}
    for name, index in made.items():
        start = time.perf_counter()
        index.add(values.view(np.uint8).reshape(len(values), -1))
        index.nflip = 1
        count = SCANNED if "scan" in name else QUERIES // 5
        asked = queries[:count].copy().view(np.uint8).reshape(count, -1)
        ways[name] = (lambda index=index, asked=asked: int(index.range_search(asked, K + 1)[0][-1]), count,
                      time.perf_counter() - start)
    return ways


def measure(report: Report, table: Table, n: int, kind: str, arguments: argparse.Namespace) -> None:
    """Add the rows of one collection."""
    rng = np.random.default_rng(1)
    values = KINDS[kind](n, rng)
    queries = turned(values[rng.integers(0, n, QUERIES)], 0, K - 1, rng)
    if kind == "random":
        queries[::2] = random_ones(len(queries[::2]), rng)
    start = time.perf_counter()
    index = nd.HammingIndex(values, max_distance=K, threads=1)
    seconds = time.perf_counter() - start
    ways: dict[str, tuple[Callable[[], int], int, float]] = {
        "ndcore": (lambda: len(index.query_many(queries, threads=1).query), QUERIES, seconds),
        **faiss_ways(values, queries, kind)}
    found = index.query_many(queries, threads=1)
    for i in range(SCANNED):
        distances = sum(nd.hamming_distances(values[:, w], queries[i, w]) for w in range(WORDS))
        near = np.flatnonzero(np.asarray(distances) <= K)
        report.require(sorted(found.id[found.query == i].tolist()) == near.tolist(), f"{n} {kind}: query {i} finds others")
    for name, (way, count, _) in ways.items():
        there = int(np.count_nonzero(found.query < count))
        report.require(way() == there, f"{n} {kind}: {name} does not find {there} matches")
    times = interleaved({name: way for name, (way, _, _) in ways.items()}, arguments.repeats, 0)
    substrings: Any = getattr(index.tables, "substrings", 0)
    for name, (_, count, built) in ways.items():
        ours = name == "ndcore"
        table.add(n, kind, name, substrings if ours else "–", index.nbytes / n if ours else "–", built,
                  1e6 * times[name].median / count, 100 * times[name].spread)


def main() -> int:
    parser = options(__doc__, repeats=3)
    arguments = parser.parse_args()
    report = Report("wide", arguments)
    table = report.table("wide", f"Fingerprints of {BITS} bits within {K}, one core", [
        "fingerprints", "kind", "who", "substrings", "bytes each", "build s", "query µs", "IQR %"])
    with pinned():
        for n in (20_000,) if arguments.quick else SIZES:
            for kind in KINDS:
                print(f"{n} fingerprints, {kind}", file=sys.stderr, flush=True)
                measure(report, table, n, kind, arguments)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
