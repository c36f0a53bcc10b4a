"""Another library's search of fingerprints within k bits, in a process of its own, in the environment of that library.

Arguments: the environment, a folder with fingerprints.u64 and queries.u64 (uint64, of this machine's byte order), k, and how
often to repeat. Writes one line of JSON: the versions, and a list of methods, each with `who`, the seconds of building, of
one query (median over 2000), of all queries and of all pairs (absent: it has no such thing), the least of the repeats, and
what it found: `found`, [query, position] ascending, and `pairs`, [fingerprint, fingerprint] ascending.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import versions_of

ONLINE = 2000
MOST_IN_PYTHON = 10**6  # fingerprints: an index of Python objects takes minutes
MOST_OF_PAIRS = 10**7  # fingerprints: simhash-pybind's time grows with their square


def timed(run: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Least seconds, and the result."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def each(ask: Callable[[Any], Any], queries: Any) -> float:
    """Median seconds of one query."""
    return statistics.median(timed(lambda query=query: ask(query))[0] for query in queries)


def faiss(fingerprints: array[int], queries: array[int], k: int, repeats: int) -> list[dict[str, Any]]:
    """Exact settings: `hashes` of `bits`, of which `flips` may differ, where hashes · (flips + 1) > k."""
    import faiss as library
    import numpy as np

    library.omp_set_num_threads(1)
    x, q = (np.frombuffer(values, np.uint8).reshape(-1, 8) for values in (fingerprints, queries))
    rows = []
    for hashes, bits, flips in ((2, 32, k // 2), (4, 16, k // 4)):
        index = library.IndexBinaryMultiHash(64, hashes, bits)
        build, _ = timed(lambda index=index: index.add(x))
        index.nflip = flips
        singly = [q[i:i + 1] for i in range(min(ONLINE, len(q)))]
        one = each(lambda query, index=index: index.range_search(query, k + 1), singly)
        asking, (limits, _, position) = timed(lambda index=index: index.range_search(q, k + 1), repeats)
        query = np.repeat(np.arange(len(q)), np.diff(limits.astype(np.int64)))
        found = sorted(set(zip(query.tolist(), position.tolist(), strict=True)))
        rows.append({"who": f"faiss MultiHash {hashes}×{bits}, {flips} flips", "build": build, "one": one, "asking": asking,
                     "found": found})
    return rows


def simhash_pybind(fingerprints: array[int], queries: array[int], k: int, repeats: int) -> list[dict[str, Any]]:
    """All pairs only, by the numbers of blocks that suit some millions."""
    from simhash import find_all

    if len(fingerprints) > MOST_OF_PAIRS:
        return []
    values = fingerprints.tolist()
    rows = []
    for blocks in (k + 2, k + 3):
        seconds, pairs = timed(lambda blocks=blocks: find_all(values, blocks, k), repeats)
        rows.append({"who": f"simhash-pybind, {blocks} blocks", "joining": seconds,
                     "pairs": sorted({(min(pair), max(pair)) for pair in pairs})})
    return rows


def leonsim(fingerprints: array[int], queries: array[int], k: int, repeats: int) -> list[dict[str, Any]]:
    """Single queries only."""
    from simhash import Simhash, SimhashIndex

    if len(fingerprints) > MOST_IN_PYTHON:
        return []
    build, index = timed(lambda: SimhashIndex([(str(i), Simhash(value)) for i, value in enumerate(fingerprints)], k=k))
    asked = [Simhash(value) for value in queries[:ONLINE]]
    one = each(index.get_near_dups, asked)
    found = sorted((i, int(position)) for i, query in enumerate(asked) for position in index.get_near_dups(query))
    return [{"who": "simhash (Python), SimhashIndex", "build": build, "one": one, "found": found}]


PEERS = {"faiss": (faiss, "faiss-cpu"), "simhash_pybind": (simhash_pybind, "simhash-pybind"),
         "leonsim": (leonsim, "simhash")}


def main() -> int:
    name, folder, k, repeats = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    search, package = PEERS[name]
    read = [array("Q", (folder / f"{what}.u64").read_bytes()) for what in ("fingerprints", "queries")]
    print(json.dumps({"versions": versions_of(package), "rows": search(*read, k, repeats)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
