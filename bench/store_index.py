"""The index of a store: adding, bytes a document, opening, and searches warm and cold.

Values are made up from document numbers, so that any document's can be made again: one document in four has a third of the
values of an earlier one. Answers are compared with what was made before anything is timed; the exit code is 1 where they
differ. Cold means that the system was asked to drop all files of the index from its page cache before each search.

With --work FOLDER the index is kept there, and a later run with as many documents only opens and searches it.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from measure import Report, options, pinned
from numpy.typing import NDArray

from ndcore.parallel import map_pieces
from ndcore.store.index import Index

GROUPS, NEED, AT_ONCE, SHARED, SEARCHES, PIECE = 19, 2, 1 << 16, 6, 200_000, 1 << 12


def mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64."""
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def twin(documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """The earlier document that a document has values of; itself where it has none."""
    return np.where(documents % 4 == 3, documents // 2 // 4 * 4, documents)


def values_of(documents: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Make the values of documents."""
    of = np.repeat(documents[:, None], GROUPS, axis=1)
    of[:, :SHARED] = twin(documents)[:, None]
    return mixed(of.astype(np.uint64) * np.uint64(32) + np.arange(GROUPS, dtype=np.uint64))


def grow(index: Index, documents: int) -> float:
    """Add documents; return the seconds that it took, without the making of values."""
    seconds = 0.0
    for start in range(0, documents, AT_ONCE):
        numbers = np.arange(start, min(documents, start + AT_ONCE))
        values = values_of(numbers)
        begin = time.perf_counter()
        index.add(numbers, values)
        seconds += time.perf_counter() - begin
    begin = time.perf_counter()
    index.flush()
    index._levels.wait()
    return seconds + time.perf_counter() - begin


def check(report: Report, index: Index, documents: int, rng: np.random.Generator) -> None:
    """Compare answers with the definition of the values."""
    numbers = rng.integers(0, documents, 500)
    offsets, found = index.search_many(values_of(numbers), NEED)
    for i, number in enumerate(numbers.tolist()):
        first = int(twin(np.array([number]))[0])
        near = np.arange(2 * first, min(documents, 2 * first + 8))
        same = {first, number, *near[twin(near) == first].tolist()}
        report.require(set(found[offsets[i] : offsets[i + 1]].tolist()) == same, f"document {number}")


def searches(index: Index, rows: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Microseconds of each search."""
    seconds = np.empty(len(rows))
    for i, row in enumerate(rows):
        begin = time.perf_counter()
        index.search(row, NEED)
        seconds[i] = time.perf_counter() - begin
    return seconds * 1e6


def cold_searches(folder: Path, rows: NDArray[np.uint64]) -> tuple[NDArray[np.float64], float]:
    """Microseconds of each search by an index that was just opened, with no page of its lists in memory; pages of one."""
    taken, pages = np.empty(len(rows)), 0
    for i, row in enumerate(rows):
        index = Index.open(folder, read_only=True)
        for file in folder.glob("*.postings"):
            descriptor = os.open(file, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_inblock
        taken[i] = searches(index, row[None])[0]
        pages += (resource.getrusage(resource.RUSAGE_SELF).ru_inblock - before) // 8
        index.close()
        del index  # pages that are mapped are not dropped
    return taken, pages / len(rows)


def resident() -> float:
    """Megabytes of anonymous memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(report: Report, folder: Path, documents: int, cold: int) -> None:
    rng = np.random.default_rng(1)
    title = f"{documents} documents of {GROUPS} values, need {NEED}"
    table = report.table(f"{documents} documents", title, ["what", "value"])
    if not (folder / "index.index").exists():
        with Index.create(folder, GROUPS, need=NEED) as index:
            seconds = grow(index, documents)
        table.add("added a second", round(documents / seconds))
    before, begin = resident(), time.perf_counter()
    index = Index.open(folder, read_only=True)
    table.add("ms to open", 1e3 * (time.perf_counter() - begin))
    stats = index.stats()
    report.require(stats["documents"] == documents, f"{stats['documents']} documents in the folder")
    table.add("segments", len(stats["segments"]))
    table.add("bytes a document", stats["bytes"] / documents)
    index.search(values_of(np.arange(1))[0], NEED)
    table.add("MB of memory, not of files", resident() - before)
    check(report, index, documents, rng)
    many = mixed(rng.integers(0, 2**63, (SEARCHES, GROUPS), dtype=np.uint64))  # half of them unknown
    many[::2] = values_of(rng.integers(0, documents, SEARCHES // 2))
    pieces = np.split(many, range(PIECE, len(many), PIECE))
    index.search_many(many, NEED)
    for threads in (1, 2):
        with pinned(threads):
            begin = time.perf_counter()
            list(map_pieces(partial(index.search_many, need=NEED), pieces, threads))
            table.add(f"searches a second, {threads} threads", round(len(many) / (time.perf_counter() - begin)))
    rows = many[rng.permutation(SEARCHES)[:20_000]]  # their pages are in memory, and in no cache of the processor
    taken = searches(index, rows)
    for share in (50, 99, 99.9):
        table.add(f"µs a search warm, p{share}", float(np.percentile(taken, share)))
    index.close()
    del index
    taken, pages = cold_searches(folder, rows[:cold])
    for share in (50, 90):
        table.add(f"µs a search cold, p{share}", float(np.percentile(taken, share)))
    table.add("pages read by it", pages)


def main() -> int:
    parser = options(__doc__, repeats=1)
    parser.add_argument("--documents", type=int, default=1_000_000, help="documents (default: 1 million)")
    parser.add_argument("--work", metavar="FOLDER", help="where the index is kept (default: a temporary folder)")
    arguments = parser.parse_args()
    documents = 200_000 if arguments.quick else arguments.documents
    report = Report("store_index", arguments)
    if arguments.work:
        Path(arguments.work).mkdir(parents=True, exist_ok=True)
        measure(report, Path(arguments.work), documents, 50)
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(report, Path(folder), documents, 50)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
