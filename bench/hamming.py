"""Search of fingerprints: size and speed of the index on one core, checked by brute force first.

64 bits within 3, plain and compressed. Random fingerprints, a hundredth of them followed by one that differs in 1 to 3 bits.
Queries: half are fingerprints of the collection with 0 to 3 bits turned, half random.

`--wide`: 256 bits within 31. Random fingerprints, and three kinds that are not: around 1,000 centres; each bit 1 with
probability 0.85; half of the bits constant. Queries are fingerprints of the collection with up to 30 bits turned; half of
those for random fingerprints are random. faiss (`pip install faiss-cpu`) is measured if it is installed: its scan, and its
multi-index hashing with 16 substrings of 16 bits, of which one bit is turned, which finds all.
"""

from __future__ import annotations

import math
import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from measure import Option, Report, Table, interleaved, pinned, program, say
from numpy.typing import NDArray

import ndcore as nd
from ndcore import _hamming

K, WIDE_K = 3, 31
SIZES = (10**6, 10**7)
LARGE = 64 * 10**6
DESIGNS = {(5,): 62, (4,): 24}  # splits, and most bytes of a fingerprint in 10^6 compressed
SCANNED = 20  # queries that are answered by looking at all
WIDE, WORDS, CENTRES, QUERIES = 256, 4, 1000, 1000

Fingerprints = NDArray[np.uint64]


def turned(values: Fingerprints, least: int, most: int, rng: np.random.Generator) -> Fingerprints:
    """The fingerprints (n, words) with `least` to `most` bits turned (a bit drawn twice is turned back)."""
    made, counts = values.copy(), rng.integers(least, most + 1, len(values))
    for i in range(most):
        bit = rng.integers(0, 64 * made.shape[1], len(made)).astype(np.uint64)
        mask = np.where(counts > i, np.uint64(1) << bit % np.uint64(64), np.uint64(0))
        made[np.arange(len(made)), bit // np.uint64(64)] ^= mask
    return made


def within(values: Fingerprints, query: Fingerprints, most: int) -> list[tuple[int, int]]:
    """(row, distance) of the fingerprints (n, words) within so many bits of a query, by a look at all."""
    distances = np.asarray(sum(nd.hamming_distances(values[:, w], query[w]) for w in range(values.shape[1])))
    near = np.flatnonzero(distances <= most)
    return list(zip(near.tolist(), distances[near].tolist(), strict=True))


# ---- 64 bits


class Built(NamedTuple):
    """An index, and how long it took."""

    index: nd.HammingIndex
    seconds: float


def collection(n: int, seed: int) -> Fingerprints:
    """n fingerprints."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**64, n, np.uint64)
    near = n // 100
    values[-near:] = turned(values[:near, None], 1, K, rng)[:, 0]
    return values


def asked(values: Fingerprints, count: int, seed: int) -> Fingerprints:
    """Queries."""
    rng = np.random.default_rng(seed)
    queries = rng.integers(0, 2**64, count, np.uint64)
    queries[::2] = turned(rng.choice(values, len(queries[::2]))[:, None], 0, K, rng)[:, 0]
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
    truth = {i: within(values[:, None], queries[i : i + 1], K) for i in range(SCANNED)}
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


def measured(report: Report, values: Fingerprints, queries: Fingerprints, splits: tuple[int, ...],
             given: Namespace) -> Iterator[list[Any]]:
    """Rows of a collection and a design: plain and compressed in turns."""
    n = len(values)
    made = {name: built(values, splits, name == "compressed") for name in ("plain", "compressed")}
    indexes = {name: each.index for name, each in made.items()}
    if n == 10**6:
        least = indexes["compressed"].nbytes / n
        report.require(least <= DESIGNS[splits], f"{least:.2f} bytes a fingerprint, more than {DESIGNS[splits]}")
    pairs = check(report, values, queries, indexes)
    batch = interleaved({name: lambda index=index: index.query_many(queries, threads=1) for name, index in indexes.items()},
                        given.repeats, given.warm_up)
    joins = interleaved({name: lambda index=index: index.pairs(threads=1) for name, index in indexes.items()},
                        min(3, given.repeats), 0)
    one = queries[:2000].tolist()
    for name, index in indexes.items():
        each = min(online(index, one) for _ in range(given.repeats))
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


def narrow(report: Report, given: Namespace) -> None:
    """Measure fingerprints of 64 bits."""
    table = report.table("hamming", f"Fingerprints of 64 bits within {K} bits, one core", [
        "fingerprints", "tables", "form", "bytes each", "build s", "query µs", "1000 queries/s", "IQR %", "pairs s",
        "pairs"])
    scans = report.table("scan", "A look at all fingerprints for one query, one core", ["fingerprints", "who", "G/s"])
    for n in (20_000,) if given.quick else (*SIZES, *([LARGE] if given.large else [])):
        values = collection(n, seed=1)
        queries = asked(values, 2000 if given.quick else 100_000, seed=2)
        for splits in DESIGNS if n < LARGE else list(DESIGNS)[:1]:
            say(f"{n} fingerprints, {math.comb(splits[0], K)} tables")
            for row in measured(report, values, queries, splits, given):
                table.add(*row)
        scanning(report, values, queries, given.repeats, scans)


# ---- 256 bits


def random_ones(n: int, rng: np.random.Generator) -> Fingerprints:
    return rng.integers(0, 2**64, (n, WORDS), np.uint64)


def clustered(n: int, rng: np.random.Generator) -> Fingerprints:
    return turned(random_ones(CENTRES, rng)[rng.integers(0, CENTRES, n)], 20, 60, rng)


def biased(n: int, rng: np.random.Generator) -> Fingerprints:
    pieces = [np.packbits(rng.random((min(100_000, n - at), WIDE), np.float32) < 0.85, axis=1)
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
    made = {f"faiss {faiss.__version__}, scan": faiss.IndexBinaryFlat(WIDE)}
    if kind == "random":  # of others it compares nearly all, one by one
        made[f"faiss {faiss.__version__}, MultiHash 16×16, 1 flip"] = faiss.IndexBinaryMultiHash(WIDE, 16, 16)
    ways = {}
    for name, index in made.items():
        start = time.perf_counter()
        index.add(values.view(np.uint8).reshape(len(values), -1))
        index.nflip = 1
        count = SCANNED if "scan" in name else QUERIES // 5
        some = queries[:count].copy().view(np.uint8).reshape(count, -1)
        ways[name] = (lambda index=index, some=some: int(index.range_search(some, WIDE_K + 1)[0][-1]), count,
                      time.perf_counter() - start)
    return ways


def measure_wide(report: Report, table: Table, n: int, kind: str, repeats: int) -> None:
    """Add the rows of one collection."""
    rng = np.random.default_rng(1)
    values = KINDS[kind](n, rng)
    queries = turned(values[rng.integers(0, n, QUERIES)], 0, WIDE_K - 1, rng)
    if kind == "random":
        queries[::2] = random_ones(len(queries[::2]), rng)
    start = time.perf_counter()
    index = nd.HammingIndex(values, max_distance=WIDE_K, threads=1)
    seconds = time.perf_counter() - start
    ways: dict[str, tuple[Callable[[], int], int, float]] = {
        "ndcore": (lambda: len(index.query_many(queries, threads=1).query), QUERIES, seconds),
        **faiss_ways(values, queries, kind)}
    found = index.query_many(queries, threads=1)
    for i in range(SCANNED):
        rows = [row for row, _ in within(values, queries[i], WIDE_K)]
        report.require(sorted(found.id[found.query == i].tolist()) == rows, f"{n} {kind}: query {i} finds others")
    for name, (way, count, _) in ways.items():
        there = int(np.count_nonzero(found.query < count))
        report.require(way() == there, f"{n} {kind}: {name} does not find {there} matches")
    times = interleaved({name: way for name, (way, _, _) in ways.items()}, repeats, 0)
    substrings: Any = getattr(index.tables, "substrings", 0)
    for name, (_, count, built_in) in ways.items():
        ours = name == "ndcore"
        table.add(n, kind, name, substrings if ours else "–", index.nbytes / n if ours else "–", built_in,
                  1e6 * times[name].median / count, 100 * times[name].spread)


def wide(report: Report, given: Namespace) -> None:
    """Measure fingerprints of 256 bits."""
    report.name = "wide"
    table = report.table("wide", f"Fingerprints of {WIDE} bits within {WIDE_K}, one core", [
        "fingerprints", "kind", "who", "substrings", "bytes each", "build s", "query µs", "IQR %"])
    for n in (20_000,) if given.quick else SIZES:
        for kind in KINDS:
            say(f"{n} fingerprints, {kind}")
            measure_wide(report, table, n, kind, min(3, given.repeats))


def ask(report: Report, given: Namespace) -> None:
    """Measure fingerprints of 64 bits, or of 256."""
    with pinned():
        (wide if given.wide else narrow)(report, given)


if __name__ == "__main__":
    program("hamming", ask, __doc__, repeats=5, wide=Option(False, "fingerprints of 256 bits"),
        large=Option(False, f"{LARGE} fingerprints too, 10 tables: 20 GB of memory"))
