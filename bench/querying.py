"""Queries of a collection: warm, and with no page of its files in memory; milliseconds and pages.

The collection is made of random samples, half of them edited copies. Answers are compared with the samples first. Cold
means that the system was asked to drop all files of the collection from its page cache before each query, which needs a
disk (not tmpfs); "pages read" is what the system read then, by its own count. Required, else the exit code is 1: the
answers are right, and a value asks for at most two pages, and one more where its run crosses a page.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import Report, options
from numpy.typing import NDArray

import ndcore as nd

SIZE, MODULUS, THRESHOLD = 16, 25, 0.5


def samples(n: int, seed: int) -> NDArray[np.uint64]:
    """Ascending samples of SIZE values, (n, SIZE); those of the second half have four values of their own."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2**64 // MODULUS, (n, SIZE), dtype=np.uint64) * np.uint64(MODULUS)
    half = n // 2
    rows[n - half :, :-4] = rows[:half, :-4]
    rows.sort(axis=1)
    return rows


def sketches_of(rows: NDArray[np.uint64]) -> nd.Sketches:
    """Sketches that have these samples."""
    n, recipe = len(rows), nd.ModSketcher(MODULUS).recipe
    return nd.Sketches(
        rows.reshape(-1), recipe, offsets=np.arange(n + 1) * SIZE, sizes=np.full(n, float(SIZE * MODULUS)),
        sizes_exact=np.zeros(n, np.bool_), valid=np.ones(n, np.bool_),
    )


def drop_pages(folder: Path) -> None:
    """Ask the system to forget the files of a collection, as far as no process has mapped their pages."""
    for file in folder.rglob("*.ndc"):
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def timed(made: nd.Collection, queries: list[nd.Sketches], cold: bool) -> tuple[float, float, float]:
    """Median milliseconds of a query, and the pages that the system read for one: faults and input, on average."""
    seconds, faults, pages = [], 0, 0
    for sketch in queries:
        if cold:
            drop_pages(made.path)
        before, begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        made._find(sketch, THRESHOLD, "resemblance", None)
        seconds.append(time.perf_counter() - begin)
        after = resource.getrusage(resource.RUSAGE_SELF)
        faults += after.ru_majflt - before.ru_majflt
        pages += (after.ru_inblock - before.ru_inblock) // 8
    return float(np.median(seconds)) * 1e3, faults / len(queries), pages / len(queries)


def check(report: Report, made: nd.Collection, rows: NDArray[np.uint64], queries: dict[str, list[nd.Sketches]]) -> Any:
    """Compare answers with the samples; return the pages asked for of keys and of documents, for a value, by kind."""
    half, asked = len(rows) // 2, {}
    for kind, some in queries.items():
        keys = documents = 0
        for i, sketch in enumerate(some):
            found = {match.id for match in made._find(sketch, THRESHOLD, "resemblance", None)}
            twin = 31 * i
            report.require(found == ({twin, len(rows) - half + twin} if kind == "found" else set()), f"{kind} {i}: {found}")
            _, _, of_keys, of_documents = made._stored.entries.holders(sketch.values, 1000)
            keys, documents = keys + of_keys, documents + of_documents
        values = SIZE * len(some)
        report.require(keys + documents <= 2.1 * values, f"{kind}: {keys} and {documents} pages for {values} values")
        asked[kind] = keys / values, documents / values
    return asked


def main() -> int:
    parser = options(__doc__, repeats=1)
    parser.add_argument("--documents", type=int, default=3_000_000, help="documents (default: 3 million)")
    parser.add_argument("--work", metavar="FOLDER", help="where to put the collection (default: the temporary folder)")
    arguments = parser.parse_args()
    documents, count = (20_000, 20) if arguments.quick else (arguments.documents, 60)
    report = Report("querying", arguments)
    table = report.table("querying", f"{documents} documents of {SIZE} values", [
        "query", "ms warm", "ms cold", "major faults, cold", "pages read, cold", "pages of keys a value",
        "pages of documents a value"])
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        rows = samples(documents, 1)
        nd.Collection.build(Path(folder) / "c", sketches_of(rows), threshold=THRESHOLD)
        made = nd.Collection.open(Path(folder) / "c")
        strange = samples(count, 2)
        queries = {"found": [sketches_of(rows[31 * i : 31 * i + 1]) for i in range(count)],
                   "not found": [sketches_of(strange[i : i + 1]) for i in range(count)]}
        cold = {kind: timed(made, some, cold=True) for kind, some in queries.items()}
        asked = check(report, made, rows, queries)
        for kind, some in queries.items():
            table.add(kind, timed(made, some, cold=False)[0], *cold[kind], *asked[kind])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
