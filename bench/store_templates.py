"""A store that gets thousands of pages of one template: what a page costs as they become more.

The pages share a frame of words and resemble each other below the threshold of 0.8; then come copies of some of them, which
resemble their pages above it. Required, else the exit code is 1: every page is kept, and every copy goes to its own page.

CPU time of `decide_many` on one thread: of the last pages, so with all others before them. Then the wall time of `decide`
for each copy: the median, and the slowest but one in a hundred.
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from measure import Report, Table, options
from templates import SHAPES, Shape, pages

import ndcore as nd

SIZES = (500, 3_000, 30_000)
LAST = 500  # pages whose time is taken, before each size
COPIES = 300


def judge(report: Report, table: Table, shape: Shape, sizes: tuple[int, ...], folder: Path) -> None:
    """Fill a store with pages of one shape, and measure at each size."""
    n = sizes[-1]
    texts = pages(shape, n, seed=n)
    with nd.Store.open(folder, durability="batch", threads=1) as store:
        for start, end in pairwise((0, *sizes)):
            kept = all(verdict.kept for verdict in store.decide_many(enumerate(texts[start : end - LAST], start)))
            begin = time.process_time()
            kept &= all(verdict.kept for verdict in store.decide_many(enumerate(texts[end - LAST : end], end - LAST)))
            seconds = (time.process_time() - begin) / LAST
            what = f"{end:,} pages of {shape}"
            report.require(kept, f"{what}: a page is not kept")
            waited = np.empty(COPIES)
            for i, of in enumerate(np.linspace(0, end - 1, COPIES).astype(int).tolist()):
                key = f"copy {end} {i}"
                before = time.perf_counter()
                verdict = store.decide(key, texts[n + of])
                waited[i] = time.perf_counter() - before
                report.require(verdict.of == of, f"{what}: the copy of page {of} goes to {verdict.of}")
                store.remove(key)
            alike = nd.resemblance(texts[0], texts[1]), nd.resemblance(texts[0], texts[n])
            table.add(end, shape.frame + shape.own, *alike, 1e3 * seconds, 1e3 * float(np.median(waited)),
                      1e3 * float(np.quantile(waited, 0.99)))
            print(f"{what}: {1e3 * seconds:.3f} ms a page", file=sys.stderr, flush=True)


def main() -> int:
    arguments = options(__doc__, repeats=1).parse_args()
    report = Report("store_templates", arguments)
    table = report.table("templates", "Pages of one template in a store", [
        "pages", "words", "resemblance of two pages", "of a page and its copy", "decide_many CPU ms a page",
        "decide ms, median", "decide ms, 99 %"])
    for shape in SHAPES[2:]:
        with tempfile.TemporaryDirectory() as work:
            judge(report, table, shape, (LAST, 2 * LAST) if arguments.quick else SIZES, Path(work) / "store")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
