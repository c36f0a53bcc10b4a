"""Search of fingerprints within 3 bits: size and speed of the index, plain and compressed, checked by brute force first.

Random fingerprints, a hundredth of them followed by one that differs in 1 to 3 bits. Queries: half are fingerprints of the
collection with 0 to 3 bits turned, half random. All on one core.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from measure import Report, Table, interleaved, options, pinned
from numpy.typing import NDArray

import ndcore as nd
from ndcore import _hamming

K = 3
SIZES = (10**6, 10**7)
LARGE = 64 * 10**6
DESIGNS = {(5,): 62, (4,): 24}  # splits, and most bytes of a fingerprint in 10^6 compressed
SAMPLE = 20  # queries that are answered by looking at all

Fingerprints = NDArray[np.uint64]


class Built(NamedTuple):
    """An index, and how long it took."""

    index: nd.HammingIndex
    seconds: float


def turned(values: Fingerprints, most: int, rng: np.random.Generator) -> Fingerprints:
    """The fingerprints with 0 to `most` bits turned (a bit drawn twice is turned back)."""
    made = values.copy()
    for _ in range(most):
        drawn = rng.integers(0, 65, len(made)).astype(np.uint64)
        made ^= np.where(drawn < 64, np.uint64(1) << (drawn % np.uint64(64)), np.uint64(0))
    return made


def collection(n: int, seed: int) -> Fingerprints:
    """n fingerprints."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**64, n, np.uint64)
    near = n // 100
    values[-near:] = turned(values[:near], K, rng)
    return values


def asked(values: Fingerprints, count: int, seed: int) -> Fingerprints:
    """Queries."""
    rng = np.random.default_rng(seed)
    queries = rng.integers(0, 2**64, count, np.uint64)
    queries[::2] = turned(rng.choice(values, len(queries[::2])), K, rng)
    return queries


def built(values: Fingerprints, splits: tuple[int, ...], compress: bool) -> Built:
    """Build an index."""
    plan = nd.plan_tables(max_distance=K, log2_count=math.log2(len(values)), splits=splits)
    start = time.perf_counter()
    index = nd.HammingIndex(values, plan=plan, compress=compress, threads=1)
    index.query(0)
    return Built(index, time.perf_counter() - start)


def check(report: Report, values: Fingerprints, queries: Fingerprints, indexes: dict[str, nd.HammingIndex]) -> int:
    """Every index says what a look at all fingerprints says, and all say the same; the number of pairs."""
    truth = {}
    for i in range(SAMPLE):
        distances = nd.hamming_distances(values, int(queries[i]))
        near = np.flatnonzero(distances <= K)
        truth[i] = sorted(zip(near.tolist(), distances[near].tolist(), strict=True))
    several, pairs = [], []
    for name, index in indexes.items():
        for i, expected in truth.items():
            ids, distance = index.query(int(queries[i]))
            found = sorted(zip(ids.tolist(), distance.tolist(), strict=True))
            report.require(found == expected, f"{len(values)} fingerprints, {name}: query {i} finds {found}, not {expected}")
        several.append(index.query_many(queries, threads=1))
        pairs.append(index.pairs(threads=1))
    for name, found in (("queries", several), ("pairs", pairs)):
        same = all((x == y).all() if len(x) == len(y) else False
                   for other in found[1:] for x, y in zip(found[0], other, strict=True))
        report.require(same, f"{len(values)} fingerprints: {name} differ between {', '.join(indexes)}")
    near = len(values) // 100
    planted = nd.hamming_distances(values[:near], values[-near:]) <= K
    report.require(len(pairs[0].a) >= int(planted.sum()), f"{len(values)} fingerprints: planted pairs are missing")
    return len(pairs[0].a)


def online(index: nd.HammingIndex, queries: list[int]) -> float:
    """Seconds of one query, the median over all."""
    seconds = []
    for query in queries:
        start = time.perf_counter()
        index.query(query)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def measured(report: Report, n: int, splits: tuple[int, ...], arguments: argparse.Namespace) -> Iterator[list[Any]]:
    """Rows of a collection and a design: plain and compressed in turns."""
    values = collection(n, seed=1)
    queries = asked(values, 2000 if arguments.quick else 100_000, seed=2)
    made = {name: built(values, splits, name == "compressed") for name in ("plain", "compressed")}
    indexes = {name: each.index for name, each in made.items()}
    if n == 10**6:
        least = indexes["compressed"].nbytes / n
        report.require(least <= DESIGNS[splits], f"{least:.2f} bytes a fingerprint, more than {DESIGNS[splits]}")
    pairs = check(report, values, queries, indexes)
    batch = interleaved({name: lambda index=index: index.query_many(queries, threads=1) for name, index in indexes.items()},
                        arguments.repeats, arguments.warm_up)
    joins = interleaved({name: lambda index=index: index.pairs(threads=1) for name, index in indexes.items()},
                        min(3, arguments.repeats), 0)
    one = queries[:2000].tolist()
    for name, index in indexes.items():
        each = min(online(index, one) for _ in range(arguments.repeats))
        tables = math.comb(splits[0], K)
        yield [n, tables, name, index.nbytes / n, made[name].seconds, 1e6 * each,
               len(queries) / batch[name].median / 1e3, 100 * batch[name].spread, joins[name].median, pairs]


def scanning(report: Report, values: Fingerprints, queries: Fingerprints, repeats: int, table: Table) -> None:
    """Rows of a look at all fingerprints for one query: by the kernel, and by NumPy where it can count bits."""
    query = int(queries[0])
    ways: dict[str, Any] = {"ndcore, scan": lambda: _hamming.scan(values, query, K)}
    if hasattr(np, "bitwise_count"):
        ways["NumPy, bitwise_count(x ^ q) <= 3"] = lambda: np.flatnonzero(np.bitwise_count(values ^ np.uint64(query)) <= K)
    expected, *rest = [way().tolist() for way in ways.values()]
    report.require(all(found == expected for found in rest), f"{len(values)} fingerprints: the scan finds others than NumPy")
    for name, times in interleaved(ways, repeats, 1).items():
        table.add(len(values), name, len(values) / times.least / 1e9)


def main() -> int:
    parser = options(__doc__, repeats=5)
    parser.add_argument("--large", action="store_true", help=f"{LARGE} fingerprints too, 10 tables: 20 GB of memory")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.repeats = min(arguments.repeats, 2)
    report = Report("hamming", arguments)
    table = report.table("hamming", f"Fingerprints of 64 bits within {K} bits, one core", [
        "fingerprints", "tables", "form", "bytes each", "build s", "query µs", "1000 queries/s", "IQR %", "pairs s",
        "pairs"])
    scans = report.table("scan", "A look at all fingerprints for one query, one core", ["fingerprints", "who", "G/s"])
    with pinned():
        for n in (20_000,) if arguments.quick else (*SIZES, *([LARGE] if arguments.large else [])):
            for splits in DESIGNS if n < LARGE else list(DESIGNS)[:1]:
                print(f"{n} fingerprints, {math.comb(splits[0], K)} tables", file=sys.stderr, flush=True)
                for row in measured(report, n, splits, arguments):
                    table.add(*row)
            values = collection(n, seed=1)
            queries = asked(values, 2000 if arguments.quick else 100_000, seed=2)
            scanning(report, values, queries, arguments.repeats, scans)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
