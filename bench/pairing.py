"""All pairs of fingerprints within 3 bits in a file, by `hamming_pairs`: seconds, and the memory that it takes of its own.

The file is made first, in the temporary folder: random fingerprints, in every thousand of them one that differs from another
in 0 to 4 bits. Required, else the exit code is 1: of the planted pairs exactly those within 3 bits are found, and all other
pairs are right; on the first fingerprints the pairs are those of a look at all; and up to 10 million those of an index.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure import Report, Watched, options, own_memory, pinned, usable_cpus
from numpy.typing import NDArray

import ndcore as nd
from ndcore.hamming.table_plan import plan_pairs

K = 3
COUNTS = (10**6, 10**7, 64 * 10**6)
APART = 1000  # fingerprints to a planted pair
CHUNK = 4000 * APART
FARTHEST = 4
LOOKED_AT, ROWS = 20_000, 500  # fingerprints compared all with all, so many at a time
INDEXED = 10**7  # most that an index is made of

Fingerprints = NDArray[np.uint64]
Ints = NDArray[np.int64]


class Planted(NamedTuple):
    """Pairs that are there, by position, and their distances."""

    a: Ints
    b: Ints
    distance: Ints


def differences(distance: Ints, rng: np.random.Generator) -> Fingerprints:
    """So many bits each, at most FARTHEST: one in each quarter at most, so that none is drawn twice."""
    made = np.zeros(len(distance), np.uint64)
    for step in range(FARTHEST):
        bit = np.uint64(16 * step) + rng.integers(0, 16, len(made)).astype(np.uint64)
        made ^= np.where(step < distance, np.uint64(1) << bit, np.uint64(0))
    return made


def write(path: Path, count: int, rng: np.random.Generator) -> Planted:
    """Write the file, and say what is planted."""
    a = np.arange(APART // 4, count - APART // 2, APART)
    b = a + APART // 2
    distance = rng.integers(0, FARTHEST + 1, len(a))
    difference = differences(distance, rng)
    with path.open("wb") as file:
        for begin in range(0, count, CHUNK):
            chunk = rng.integers(0, 2**64, min(CHUNK, count - begin), np.uint64)
            inside = (begin <= a) & (a < begin + len(chunk))
            chunk[b[inside] - begin] = chunk[a[inside] - begin] ^ difference[inside]
            file.write(chunk.astype("<u8").tobytes())
    return Planted(a, b, distance)


def looked_at(values: Fingerprints) -> Ints:
    """All pairs within K bits, as first * number + second, ascending, by a look at all."""
    found = []
    for begin in range(0, len(values), ROWS):
        near = nd.hamming_distances(values[begin:begin + ROWS, None], values[None, :]) <= K
        first, second = np.nonzero(near)
        later = second > first + begin
        found.append((first[later] + begin) * len(values) + second[later])
    return np.concatenate(found)


def check(report: Report, found: nd.Pairs, planted: Planted, path: Path) -> None:
    """What was found is right, and nothing that is known of is missing."""
    values = np.memmap(path, "<u8", "r")
    n = len(values)
    true = nd.hamming_distances(np.ascontiguousarray(values[found.a]), np.ascontiguousarray(values[found.b]))
    report.require(np.array_equal(true, found.distance) and bool((true <= K).all()), f"{n} fingerprints: a pair is wrong")
    keys = found.a * n + found.b
    report.require(bool((np.diff(keys) > 0).all() and (found.a < found.b).all()), f"{n} fingerprints: pairs out of order")
    listed = np.isin(planted.a * n + planted.b, keys)
    report.require(np.array_equal(listed, planted.distance <= K), f"{n} fingerprints: what is planted is not what is found")
    some = np.ascontiguousarray(values[:LOOKED_AT])
    inside = found.b < len(some)
    report.require(np.array_equal(found.a[inside] * len(some) + found.b[inside], looked_at(some)),
                   f"{n} fingerprints: a look at all pairs finds others")
    if n <= INDEXED:
        indexed = nd.HammingIndex(values).pairs()
        report.require(all(np.array_equal(x, y) for x, y in zip(found, indexed, strict=True)),
                       f"{n} fingerprints: an index finds other pairs")


def main() -> int:
    parser = options(__doc__, repeats=3)
    parser.add_argument("--count", type=int, action="append", help=f"fingerprints (default {', '.join(map(str, COUNTS))})")
    arguments = parser.parse_args()
    report = Report("pairing", arguments)
    table = report.table("pairing", f"All pairs within {K} bits in a file of fingerprints", [
        "fingerprints", "threads", "tables", "seconds", "CPU seconds", "ns of a core per fingerprint", "pairs",
        "memory of its own MB"])
    rng = np.random.default_rng(1)
    for count in (10**5,) if arguments.quick else arguments.count or COUNTS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "fingerprints.u64"
            planted = write(path, count, rng)
            tables = len(plan_pairs(64, K, float(np.log2(count))).tables)
            for threads in dict.fromkeys((1, len(usable_cpus()))):
                if threads == 1 and count > COUNTS[-1]:
                    continue  # minutes
                runs = []
                for _ in range(arguments.repeats if count <= INDEXED else 1):
                    before = own_memory()
                    with pinned() if threads == 1 else contextlib.nullcontext(), Watched() as watched:
                        wall, cpu = time.perf_counter(), time.process_time()
                        found = nd.hamming_pairs(path, max_distance=K, threads=threads)
                        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                    runs.append((wall, cpu, watched.peak - before))
                wall, cpu, memory = sorted(runs)[len(runs) // 2]
                table.add(count, threads, tables, wall, cpu, cpu / count * 1e9, len(found.a), memory / 1e6)
                check(report, found, planted, path)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
