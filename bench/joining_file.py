"""A million queries against a file of fingerprints, within 3 bits, by `hamming_join` (Manku et al. 2007, §3.3).

The file is made first, in the temporary folder: random fingerprints, with those planted that differ from a query in 0 to
4 bits. Required, else the exit code is 1: of the planted ones exactly those within 3 bits are found, and all other matches
are right; and on the first fingerprints the matches are those of a look at all pairs. --count 1000000000 is the size of the
paper's example for an eighth of its 8 billion: 8 GB of disk.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import Report, options, peak_memory, usable_cpus
from numpy.typing import NDArray
from pairing import FARTHEST, differences

import ndcore as nd
from ndcore.hamming.table_plan import plan_join

K = 3
COUNT, QUERIES = 10**8, 10**6
PAPER = (8 * 10**9, 200, 100)  # fingerprints, mappers and seconds of Manku et al. 2007, §3.3
CHUNK = 1 << 22
PLANTED = 1000  # fingerprints apart
LOOKED_AT = (300, 20_000)  # queries and fingerprints that are compared all with all

Fingerprints = NDArray[np.uint64]


def write(path: Path, queries: Fingerprints, count: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], ...]:
    """Write the file; (positions, queries, distances) of what is planted."""
    positions = np.arange(PLANTED // 2, count, PLANTED)
    which = rng.integers(0, len(queries), len(positions))
    distance = rng.integers(0, FARTHEST + 1, len(positions))
    values = queries[which] ^ differences(distance, rng)
    with path.open("wb") as file:
        for begin in range(0, count, CHUNK):
            chunk = rng.integers(0, 2**64, min(CHUNK, count - begin), np.uint64)
            inside = (begin <= positions) & (positions < begin + len(chunk))
            chunk[positions[inside] - begin] = values[inside]
            file.write(chunk.astype("<u8").tobytes())
    return positions, which, distance


def check(
    report: Report, found: nd.Matches, planted: tuple[NDArray[np.int64], ...], queries: Fingerprints, path: Path
) -> None:
    """What was found is right, and nothing planted is missing."""
    collection = np.memmap(path, "<u8", "r")
    true = nd.hamming_distances(queries[found.query], np.ascontiguousarray(collection[found.id]))
    report.require(np.array_equal(true, found.distance) and bool((true <= K).all()), "a match is wrong")
    positions, which, distance = planted
    keys = found.query * len(collection) + found.id
    listed = np.isin(which * len(collection) + positions, keys)
    report.require(np.array_equal(listed, distance <= K), "what is planted is not what is found")
    some, first = queries[: LOOKED_AT[0]], np.ascontiguousarray(collection[: LOOKED_AT[1]])
    query, position = np.nonzero(nd.hamming_distances(some[:, None], first[None, :]) <= K)
    inside = (found.query < len(some)) & (found.id < len(first))
    expected = np.sort(query * len(collection) + position)
    report.require(np.array_equal(expected, np.sort(keys[inside])), "a look at all pairs finds others")


def main() -> int:
    parser = options(__doc__, repeats=1)
    parser.add_argument("--count", type=int, default=COUNT, help=f"fingerprints in the file (default {COUNT})")
    arguments = parser.parse_args()
    count = 10**6 if arguments.quick else arguments.count
    asked = 10**4 if arguments.quick else QUERIES
    report = Report("joining_file", arguments)
    table = report.table("joining-file", f"{asked:,} queries against a file, within {K} bits", [
        "fingerprints", "threads", "tables", "seconds", "CPU seconds", "ns of a core per fingerprint", "matches", "peak MB",
        "file"])
    scaled = report.table("joining-paper", f"At this pace: the paper's {PAPER[0]:,} fingerprints on {PAPER[1]} cores", [
        "seconds", "in the paper", "core-seconds per billion", "in the paper, of mappers",
    ]) if asked == QUERIES else None  # as many as in the paper
    rng = np.random.default_rng(1)
    queries = rng.integers(0, 2**64, asked, np.uint64)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fingerprints.u64"
        planted = write(path, queries, count, rng)
        tables = len(plan_join(64, K, float(np.log2(asked))).tables)
        for number in range(arguments.repeats):
            wall, cpu = time.perf_counter(), time.process_time()
            found = nd.hamming_join(queries, path, K)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            state = "read again" if number else "just written, as much of it cached as memory holds"
            table.add(count, len(usable_cpus()), tables, wall, cpu, cpu / count * 1e9, len(found.query), peak_memory() / 1e6,
                      state)
            if scaled:
                each = cpu / count
                scaled.add(each * PAPER[0] / PAPER[1], PAPER[2], each * 1e9, 1e9 * PAPER[1] * PAPER[2] / PAPER[0])
            check(report, found, planted, queries, path)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
