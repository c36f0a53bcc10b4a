"""Search of fingerprints within 3 bits: size and speed of the index, plain and compressed, checked by brute force first.

Random fingerprints, a hundredth of them followed by one that differs in 1 to 3 bits. Queries: half are fingerprints of the
collection with 0 to 3 bits turned, half random. All on one core. With --peers, other libraries answer the same in the same
run, each in the environment that peers_setup.py made for it; what they find is compared with what ndcore finds, and a line
says so.

The last table begins with documents, since gaoya's index takes no fingerprints: which planted copies are found by simhashes,
each library's own. Required of ndcore: all exact copies, and of the others those within 3 bits.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measure import Report, Table, interleaved, options, pinned
from numpy.typing import NDArray
from peers_setup import FINDERS, LISTED, SEARCHERS, interpreter
from processes import told

import ndcore as nd
from ndcore import _hamming

K = 3
SIZES = (10**6, 10**7)
LARGE = 64 * 10**6
DESIGNS = {(5,): 62, (4,): 24}  # splits, and most bytes of a fingerprint in 10^6 compressed
SAMPLE = 20  # queries that are answered by looking at all

DOCUMENTS, WORDS, VOCABULARY = 100_000, 40, 30**3
NEAR, EXACT = 10, 5  # per cent of the documents that are copies
NOTE = (
    f"Documents of {WORDS} words out of {VOCABULARY:,} made-up ones, all as likely, so that fingerprints are even and the "
    f"shares of different libraries differ by chance alone. {NEAR} % are copies of others with one word changed, {EXACT} % "
    "exact copies; the copies are the queries. Features are the words, as often as they occur. The last column is of the "
    "library's own fingerprints of copy and original: as much should be found. gaoya: `SimHashStringIndex`, 64 bits, one "
    "thread of rayon, filled by `par_bulk_insert_docs` of the index inside, because the class inserts one by one only, "
    "which takes longer. It finds what differs in fewer bits than `hamming_distance`, where its documentation says as many "
    f"or fewer: with {K + 1} it finds all within {K}. simhash (Python): `Simhash(words)`, one query at a time. "
    "simhash-pybind has no queries, and faiss no simhashes."
)

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


def others(folder: Path, values: Fingerprints, queries: Fingerprints, repeats: int, table: Table) -> None:
    """Rows of the other libraries, with what they find beside what ndcore finds, and of ndcore by its own plan."""
    listed = json.loads((folder / LISTED).read_text())
    build, index = _seconds(lambda: nd.HammingIndex(values, threads=1))
    asking, many = _seconds(lambda index=index: index.query_many(queries, threads=1), repeats)
    one = online(index, queries[:2000].tolist())
    del index  # a large one, whose memory others need
    joining, pairs = _seconds(lambda: nd.hamming_pairs(values, threads=1), min(3, repeats))
    found = sorted(zip(many.query.tolist(), many.id.tolist(), strict=True))
    near = {tuple(sorted(pair)) for pair in zip(values[pairs.a].tolist(), values[pairs.b].tolist(), strict=True)}
    several = {(a, b) for a, b in near if a != b}  # of equal fingerprints other libraries see one
    table.add(len(values), "ndcore", nd.__version__, build, 1e6 * one, len(queries) / asking / 1e3, joining, "all")
    with tempfile.TemporaryDirectory() as work:
        for name, array in (("fingerprints", values), ("queries", queries)):
            array.tofile(Path(work) / f"{name}.u64")
        for name in SEARCHERS:
            if "versions" not in listed.get(name, {}):
                table.add(len(values), name, "not installed", None, None, None, None, "–")
                continue
            answer = told(interpreter(folder / name), "searching.py", name, work, K, repeats)
            if "failed" in answer:
                table.add(len(values), name, answer["failed"], None, None, None, None, "failed")
                continue
            for row in answer["rows"]:
                wanted = {pair for pair in found if pair[0] < 2000} if "asking" not in row else set(found)
                right = {tuple(pair) for pair in row.get("found", wanted)} == wanted
                right &= {(a, b) for a, b in row.get("pairs", several) if a != b} == several
                table.add(len(values), row["who"], " ".join(answer["versions"].values()), row.get("build"),
                          1e6 * row["one"] if "one" in row else None,
                          len(queries) / row["asking"] / 1e3 if "asking" in row else None, row.get("joining"),
                          "all" if right else "others or not all")


def planted(n: int, seed: int) -> tuple[list[str], int, int]:
    """n documents; how many of the last are copies of the first, in their order; how many of these differ in a word.

    The copies that differ come before the exact ones.
    """
    rng = np.random.default_rng(seed)
    syllables = [a + b for a in "bdgklmnrst" for b in "aio"]
    words = np.array(["".join(parts) for parts in itertools.product(syllables, repeat=3)], np.object_)
    near, copies = n * NEAR // 100, n * (NEAR + EXACT) // 100
    numbers = rng.integers(0, VOCABULARY, (n - copies, WORDS))
    copied = numbers[:copies].copy()
    copied[np.arange(near), rng.integers(0, WORDS, near)] += rng.integers(1, VOCABULARY, near)
    documents = words[np.concatenate([numbers, copied]) % VOCABULARY]
    return [" ".join(document) for document in documents.tolist()], copies, near


def compared(fingerprints: list[int], found: list[list[int]], copies: int) -> tuple[list[bool], list[bool]]:
    """Of every copy: whether its original is found, and whether their fingerprints are within K bits."""
    pairs = {tuple(pair) for pair in found}
    return ([(i, i) in pairs for i in range(copies)],
            [(a ^ b).bit_count() <= K for a, b in zip(fingerprints[:copies], fingerprints[-copies:], strict=True)])


def documented(report: Report, folder: Path | None, n: int, repeats: int, table: Table) -> None:
    """Rows of the search of documents: ndcore, and the other libraries where there are any."""
    documents, copies, near = planted(n, seed=3)
    listed = json.loads((folder / LISTED).read_text()) if folder else {}
    pythons = {"ndcore": Path(sys.executable)} | {name: interpreter(folder / name) for name in FINDERS if folder}
    with tempfile.TemporaryDirectory() as work:
        file = Path(work) / "documents.txt"
        file.write_text("\n".join(documents))
        for name, python in pythons.items():
            if name != "ndcore" and "versions" not in listed.get(name, {}):
                table.add(n, name, "not installed", *[None] * 6)
                continue
            answer = told(python, "finding.py", name, file, copies, K, repeats)
            if "failed" in answer:
                report.require(name != "ndcore", f"{n} documents: {answer['failed']}")
                table.add(n, name, answer["failed"], *[None] * 6)
                continue
            for row in answer["rows"]:
                found, within = compared(answer["fingerprints"], row["found"], copies)
                if name == "ndcore":
                    report.require(all(found[near:]), f"{n} documents: exact copies are not found")
                    report.require(found == within, f"{n} documents: the copies found are not those within {K} bits")
                table.add(n, row["who"], " ".join(answer["versions"].values()), row["build"], 1e6 * row["one"],
                          copies / row["asking"] / 1e3 if "asking" in row else None,
                          *(100 * sum(part) / len(part) for part in (found[near:], found[:near], within[:near])))


def _seconds(run: Any, repeats: int = 1) -> tuple[float, Any]:
    """Least seconds of a call, and its result."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def main() -> int:
    parser = options(__doc__, repeats=5)
    parser.add_argument("--large", action="store_true", help=f"{LARGE} fingerprints too, 10 tables: 20 GB of memory")
    parser.add_argument("--peers", metavar="FOLDER", type=Path, help="environments that peers_setup.py made")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.repeats = min(arguments.repeats, 2)
    report = Report("hamming", arguments)
    table = report.table("hamming", f"Fingerprints of 64 bits within {K} bits, one core", [
        "fingerprints", "tables", "form", "bytes each", "build s", "query µs", "1000 queries/s", "IQR %", "pairs s",
        "pairs"])
    scans = report.table("scan", "A look at all fingerprints for one query, one core", ["fingerprints", "who", "G/s"])
    against = report.table("hamming-peers", f"Other libraries, fingerprints within {K} bits, one core", [
        "fingerprints", "who", "version", "build s", "query µs", "1000 queries/s", "pairs s, sorting included", "finds",
    ]) if arguments.peers else None
    copied = report.table("hamming-documents", f"From documents: simhashes within {K} bits, sketching included, one core", [
        "documents", "who", "version", "sketch and index s", "query µs", "1000 queries/s", "exact copies found %",
        "near-copies found %", f"near-copies within {K} bits %"], NOTE)
    with pinned():
        for n in (20_000,) if arguments.quick else (*SIZES, *([LARGE] if arguments.large else [])):
            for splits in DESIGNS if n < LARGE else list(DESIGNS)[:1]:
                print(f"{n} fingerprints, {math.comb(splits[0], K)} tables", file=sys.stderr, flush=True)
                for row in measured(report, n, splits, arguments):
                    table.add(*row)
            values = collection(n, seed=1)
            queries = asked(values, 2000 if arguments.quick else 100_000, seed=2)
            scanning(report, values, queries, arguments.repeats, scans)
            if against:
                others(arguments.peers, values, queries, arguments.repeats if n < SIZES[-1] else 1, against)
        documented(report, arguments.peers, DOCUMENTS // 20 if arguments.quick else DOCUMENTS, arguments.repeats, copied)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
