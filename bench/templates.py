"""Pages of one template: thousands of pages that share a frame, and an edited copy of each, through `near_duplicates`; with
`--store` through a store, page by page.

Two pages resemble each other below the threshold of 0.8, a page and its copy above it. Required, else the exit code is 1:
- no page is dropped, and no copy goes to another page than its own;
- with the complete filter, and where filter="auto" takes it, no copy is kept; with LSH no more than its miss allows, at a
  probability of 0.001, also over many seeds and for any max_holders;
- a store keeps every page, and every copy goes to its own page.

CPU seconds of the whole call, the least of the repeats: threads share the work, and other programs the machine. Of a store,
CPU time of `decide_many` on one thread for the last pages of each size, and the wall time of `decide` for each copy.
"""

from __future__ import annotations

import random
import time
from argparse import Namespace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure import Option, Report, Table, program, say
from store import percentiles

import ndcore as nd
from ndcore.stats.binomial import upper_tail


class Shape(NamedTuple):
    """Words of the frame, words of a page beside it, and how many of these its copy has too."""

    frame: int
    own: int
    copied: int


SHAPES = (Shape(60, 12, 5), Shape(150, 20, 8), Shape(300, 100, 60), Shape(340, 60, 25))
SIZES = (3_000, 9_000)
LARGE = 30_000  # of the first shape alone
SEEDS = 20
UNLIKELY = 0.001
STORED = (500, 3_000, 30_000)  # pages in a store
LAST = 500  # of these, pages whose time is taken, before each size
COPIES = 300


def pages(shape: Shape, n: int, seed: int) -> list[str]:
    """N pages, then the copy of each."""
    rng = random.Random(seed)
    frame = [f"frame{i}" for i in range(shape.frame)]
    own = [[f"w{rng.randrange(10**9)}" for _ in range(shape.own)] for _ in range(n)]
    new = [[f"w{rng.randrange(10**9)}" for _ in range(shape.own - shape.copied)] for _ in range(n)]
    copies = [[*words[: shape.copied], *others] for words, others in zip(own, new, strict=True)]
    return [" ".join([*frame, *words]) for words in own + copies]


def judge(report: Report, table: Table, shape: Shape, n: int, filter: str, repeats: int) -> None:
    """One shape and one filter."""
    texts = pages(shape, n, seed=n)
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = nd.near_duplicates(texts, filter=filter)
        seconds.append(time.process_time() - start)
    what = f"{n:,} pages of {shape}, filter={filter!r}"
    kept = int(np.count_nonzero(result.labels[n:] == np.arange(n, 2 * n)))
    wrong = np.count_nonzero((result.labels[n:] != np.arange(n)) & (result.labels[n:] != np.arange(n, 2 * n)))
    report.require(bool((result.labels[:n] == np.arange(n)).all()) and not wrong, f"{what}: a wrong drop")
    report.require(kept == 0 or upper_tail(kept, n, result.filter.miss) > UNLIKELY, f"{what}: {kept} copies are kept")
    alike = nd.resemblance(texts[0], texts[1]), nd.resemblance(texts[0], texts[n])
    table.add(2 * n, shape.frame + shape.own, *alike, filter, kept, min(seconds))
    say(f"{what}: {min(seconds):.2f} s")


def seeds(report: Report, number: int, n: int) -> None:
    """Many seeds of each shape with LSH; each has another max_holders."""
    table = report.table("seeds", f"{n:,} pages and their copies with LSH, {number} seeds, max_holders from 2 to {n:,}", [
        "words", "copies", "copies kept", "expected at most"])
    for shape in SHAPES:
        kept, miss = 0, 0.0
        for seed in range(number):
            most = int(2 * (n / 2) ** (seed / max(1, number - 1)))
            result = nd.near_duplicates(pages(shape, n, seed), filter="lsh", max_holders=most, seed=seed + 1)
            kept, miss = kept + int(np.count_nonzero(result.labels[n:] == np.arange(n, 2 * n))), result.filter.miss
        what = f"{number} seeds of {shape}"
        report.require(kept == 0 or upper_tail(kept, number * n, miss) > UNLIKELY, f"{what}: {kept} copies are kept")
        table.add(shape.frame + shape.own, number * n, kept, number * n * miss)
        say(f"{what}: {kept} kept")


def judge_store(report: Report, table: Table, shape: Shape, sizes: tuple[int, ...], folder: Path) -> None:
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
            table.add(end, shape.frame + shape.own, *alike, 1e3 * seconds, *percentiles(waited))
            say(f"{what}: {1e3 * seconds:.3f} ms a page")


def ask_store(report: Report, given: Namespace) -> None:
    """Measure pages in a store."""
    table = report.table("store-templates", "Pages of one template in a store", [
        "pages", "words", "resemblance of two pages", "of a page and its copy", "decide_many CPU ms a page",
        "decide ms, median", "decide ms, 99 %"])
    for i, shape in enumerate(SHAPES[2:]):
        judge_store(report, table, shape, (LAST, 2 * LAST) if given.quick else STORED, given.folder / f"store-{i}")


def ask(report: Report, given: Namespace) -> None:
    """Measure lists of pages, or pages in a store."""
    if given.store:
        report.name = "store_templates"
        return ask_store(report, given)
    table = report.table("templates", "Pages of one template, and a copy of each", [
        "documents", "words", "resemblance of two pages", "of a page and its copy", "filter", "copies kept", "CPU s"])
    for filter in ("auto", "lsh", "complete"):
        for shape in SHAPES:
            for n in (500,) if given.quick else (*SIZES, LARGE) if shape == SHAPES[0] else SIZES:
                judge(report, table, shape, n, filter, given.repeats)
    seeds(report, 2 if given.quick else SEEDS, 500 if given.quick else SIZES[0])


if __name__ == "__main__":
    program("templates", ask, __doc__, repeats=3, store=Option(False, "through a store"))
