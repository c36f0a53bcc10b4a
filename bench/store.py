"""A crawler's store: deciding, asking, opening, disk and memory, and beside it what a crawler would write itself.

Pages are generated, about 5 KB each, three in ten of them edited copies of earlier ones. First the labels of some thousand
pages are compared with those of near_duplicates; the exit code is 1 where they differ. Cold means that the system was asked
to drop all files of the store from its page cache before each page, which needs a disk. One fdatasync is measured in the
same folder, between the pages.

Beside it: signatures by ndcore, LSH bands in a table of SQLite, texts by zlib, resemblances by ndcore. It does the same
comparisons, without clusters, versions, removal or a second process.

With --work FOLDER the store is kept there, and a later run with as many documents only opens it.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from generating import base_words, generated
from measure import Report, memory_now, options, own_memory

import ndcore as nd

SIZE, AT_ONCE, CHECKED, SEED = 5000, 20_000, 3000, 11
Page = tuple[str, str]


def pages(start: int, count: int) -> list[Page]:
    """Pages `start` … of an endless crawl. Copies are of pages of the same 20,000."""
    made: list[Page] = []
    base = base_words(np.random.default_rng(SEED))
    for block in range(start // AT_ONCE, (start + count - 1) // AT_ONCE + 1):
        texts = generated(SEED + block, AT_ONCE, SIZE * AT_ONCE, base)
        made += [(f"https://site{i % 997}.example/{block}/{i}", text) for i, text in enumerate(texts)]
    first = start % AT_ONCE
    return made[first : first + count]


def percentiles(
    run: Callable[[Page], object], some: Sequence[Page], before: Callable[[], object] | None = None
) -> tuple[float, float]:
    """Milliseconds of the median page, and of the slowest but one in a hundred."""
    seconds = []
    for page in some:
        if before is not None:
            before()
        begin = time.perf_counter()
        run(page)
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds)) * 1e3, float(np.quantile(seconds, 0.99)) * 1e3


def drop_pages(folder: Path) -> None:
    """Ask the system to forget the files of a store, as far as nobody has mapped their pages."""
    for file in folder.rglob("*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


class Syncs:
    """A file of its own, to which a page's worth of bytes is written and put on disk."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / "syncs", os.O_RDWR | os.O_CREAT)

    def __call__(self, page: Page) -> None:
        os.write(self._file, page[1].encode()[:2000])
        os.fdatasync(self._file)


class OwnStore:
    """What a crawler would write: bands of signatures in SQLite, candidates verified by their texts."""

    def __init__(self, path: Path, durable: bool) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
        self._db.execute("CREATE TABLE pages (n INTEGER PRIMARY KEY, key TEXT UNIQUE, kept INTEGER, text BLOB)")
        self._db.execute("CREATE TABLE bands (value INTEGER, n INTEGER, PRIMARY KEY (value, n)) WITHOUT ROWID")
        self._design = nd.design_filter(0.8, num_perm=84)
        self._sketcher = nd.MinHasher(84)

    def decide(self, page: Page) -> int:
        """Return the page's representative."""
        key, text = page
        design = self._design
        row = self._sketcher.sketch(text).values[0]
        bands = [hash((i, *row[i * design.group_size : (i + 1) * design.group_size].tolist())) for i in range(design.groups)]
        marks = ",".join("?" * len(bands))
        self._db.execute("BEGIN IMMEDIATE")
        found = self._db.execute(
            f"SELECT pages.n, text FROM (SELECT n FROM bands WHERE value IN ({marks}) GROUP BY n HAVING count(*) >= ?) AS f "
            "JOIN pages ON pages.n = f.n WHERE kept = 1 ORDER BY pages.n", (*bands, design.need)).fetchall()
        best, label = 0.8, None
        for number, packed in found:
            score = nd.resemblance(text, zlib.decompress(packed).decode())
            if score > best or (score == best and label is None):
                best, label = score, number
        number = self._db.execute("INSERT INTO pages (key, kept, text) VALUES (?, ?, ?)",
                                  (key, label is None, zlib.compress(text.encode(), 1))).lastrowid
        self._db.executemany("INSERT INTO bands VALUES (?, ?)", [(band, number) for band in bands])
        self._db.execute("COMMIT")
        assert number is not None
        return (number if label is None else label) - 1


def check(report: Report, folder: Path, some: list[Page]) -> None:
    """Compare the labels of the store, and of what stands beside it, with those of near_duplicates."""
    labels = nd.near_duplicates([text for _, text in some]).labels.tolist()
    expected = [some[label][0] for label in labels]
    with nd.Store.open(folder / "checked") as store:
        found = [verdict.cluster for verdict in store.decide_many(some)]
        report.require(found == expected, "labels of decide_many and near_duplicates differ")
    own = OwnStore(folder / "checked.db", durable=False)
    report.require([own.decide(page) for page in some] == labels, "labels of the store in SQLite differ")


def filled(store: nd.Store, documents: int) -> tuple[float, int]:
    """Fill a store by decide_many; return the pages a second, and the bytes of text."""
    seconds, size, at = 0.0, 0, len(store)
    while at < documents:
        some = pages(at, min(AT_ONCE, documents - at))
        size += sum(len(text.encode()) for _, text in some)
        begin = time.perf_counter()
        for _ in store.decide_many(some):
            pass
        seconds += time.perf_counter() - begin
        at += len(some)
        print(f"{at:,} documents, {len(some) / (time.perf_counter() - begin):,.0f} pages/s", file=sys.stderr, flush=True)
    return documents / seconds if seconds else 0.0, size


def measure(report: Report, folder: Path, documents: int, count: int) -> None:
    """Fill a store, open it again, ask it and add to it."""
    place = folder / f"store-{documents}"
    resident = own_memory()
    with nd.Store.open(place) as store:
        speed, size = filled(store, documents)
        if size:
            store.flush()
    begin = time.perf_counter()
    store = nd.Store.open(place)
    opened = time.perf_counter() - begin
    held = own_memory() - resident
    stats = store.stats()
    table = report.table("store", f"A store of {documents:,} pages of about 5 KB", ["what", "figure"])
    if size:
        table.add("decide_many, pages/s", round(speed))
        table.add("log (evidence, digests, keys), bytes / bytes of text", stats["log_bytes"] / size)
    table.add("derived files, bytes a document", stats["derived_bytes"] / documents)
    table.add("opening, ms", opened * 1e3)
    table.add("memory of our own after opening, bytes a document", held / documents)
    fresh = iter(pages(documents // AT_ONCE * AT_ONCE + AT_ONCE, 6 * count))
    times = report.table("store-calls", "One page of about 5 KB, sketching included; ms",
                         ["call", "durability", "cache", "p50", "p99"])
    times.add("peek", "", "warm", *percentiles(lambda page: store.peek(page[1]), taken(fresh, count)))
    times.add("decide", "batch", "warm", *percentiles(lambda page: store.decide(*page), taken(fresh, count)))
    times.add("peek", "", "cold", *percentiles(lambda page: store.peek(page[1]), taken(fresh, count // 5),
                                              lambda: drop_pages(place)))
    store.close()
    with nd.Store.open(place, durability="each") as each:
        times.add("decide", "each", "warm", *percentiles(lambda page: each.decide(*page), taken(fresh, count)))
        report.details["memory"] = memory_now()
    times.add("one write and one fdatasync", "", "", *percentiles(Syncs(folder), taken(fresh, count)))


def beside(report: Report, folder: Path, documents: int, count: int) -> None:
    """Fill and ask what a crawler would write itself, and a store of as many pages."""
    table = report.table("store-beside", f"The first {documents:,} pages one by one", [
        "store", "durability", "pages/s", "decide p50, ms", "decide p99, ms", "MB on disk"])
    some, later = pages(0, documents), pages(documents // AT_ONCE * AT_ONCE + AT_ONCE, count)
    for durable in (False, True):
        own = OwnStore(folder / f"own-{durable}.db", durable)
        store = nd.Store.open(folder / f"ours-{durable}", durability="each" if durable else "batch")
        cases: dict[str, tuple[Callable[[Page], object], Path]] = {
            "nd.Store": (lambda page, store=store: store.decide(*page), folder / f"ours-{durable}"),
            "bands in SQLite": (own.decide, folder / f"own-{durable}.db"),
        }
        for name, (decide, path) in cases.items():
            begin = time.perf_counter()
            for page in some:
                decide(page)
            seconds = time.perf_counter() - begin
            p50, p99 = percentiles(decide, later)
            files = [path, *path.parent.glob(path.name + "-*")] if path.is_file() else [*path.rglob("*")]
            table.add(name, "each" if durable else "batch", round(documents / seconds), p50, p99,
                      sum(file.stat().st_size for file in files if file.is_file()) / 1e6)
        store.close()


def taken(source: Iterator[Page], count: int) -> list[Page]:
    """Return the next pages."""
    return [next(source) for _ in range(count)]


def main() -> int:
    parser = options(__doc__, repeats=1)
    parser.add_argument("--documents", type=int, default=200_000, help="pages of the large store (default 200,000)")
    parser.add_argument("--beside", type=int, default=20_000, help="pages of the comparison (default 20,000)")
    parser.add_argument("--work", metavar="FOLDER", help="where to put the stores (default: the temporary folder)")
    arguments = parser.parse_args()
    documents, others, count = (3000, 500, 50) if arguments.quick else (arguments.documents, arguments.beside, 2000)
    report = Report("store", arguments)
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        kept = Path(arguments.work or folder)
        check(report, Path(folder), pages(0, 300 if arguments.quick else CHECKED))
        measure(report, kept, documents, count)
        beside(report, Path(folder), others, count)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
