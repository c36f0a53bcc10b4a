"""A crawler's store: deciding, asking, opening, disk and memory.

Pages are made up, about 5 KB each, three in ten of them edited copies of earlier ones. First the labels of some thousand
pages are compared with those of near_duplicates; the exit code is 1 where they differ. Warm means that the derived files
were read before, as by a crawl that has been running. Cold means the first page after opening, when the system was asked to
drop all files of the store from its page cache before, which needs a disk. One fdatasync is measured in the same folder, in
turns with the flush of a page.

Memory is what is not in mapped files (RssAnon), of a process that does nothing else, over the same process before it opens
the store: pages of mapped files are page cache, which the system takes back when it needs it.

With --work FOLDER the store is kept there, and a later run with as many documents only opens it.
"""

from __future__ import annotations

import functools
import gc
import mmap
import os
import pickle
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from generating import base_words, lengths_of, plant, typeset, walk
from measure import WORK, Option, Report, in_own_process, own_memory, program, say
from numpy.typing import NDArray

import ndcore as nd

Page = tuple[str, str]
Pages = Callable[[int, int], list[Page]]
CHECKED, COLD, LATER = 3000, 40, 10**6
DURABILITIES: tuple[Literal["batch", "each"], ...] = ("batch", "each")
Decide = Callable[[Page], object]
Durability = Literal["batch", "each"]
SIZE, AT_ONCE, SEED = 5000, 20_000, 11
WORDS, CHAINS, LENGTH = 12, 2000, 300  # words of a phrase, chains, and phrases of a chain
TYPESET = 5  # one page in so many is not ASCII


# ---- pages of an endless crawl: phrases of twelve words, drawn from 600,000 of a Markov chain over real words.
# That is ten times as fast as a chain for each page. Unrelated pages share one phrase in 10,000.


@functools.cache
def phrases() -> NDArray[np.object_]:
    """Phrases with the white space behind them."""
    rng = np.random.default_rng(SEED)
    base = base_words(rng)
    chains = walk(rng, base, np.full(CHAINS, WORDS * LENGTH))
    return np.array(["".join(base.words[chain[i : i + WORDS]].tolist()) for chain in chains
                     for i in range(0, len(chain), WORDS)], np.object_)


def pages(start: int, count: int) -> list[Page]:
    """Pages `start` … of the crawl: keys and texts. Copies are of pages of the same 20,000."""
    made: list[Page] = []
    for block in range(start // AT_ONCE, (start + count - 1) // AT_ONCE + 1):
        made += _block(block)
    first = start % AT_ONCE
    return made[first : first + count]


def _block(block: int) -> list[Page]:
    """20,000 pages."""
    rng, pool = np.random.default_rng([SEED, block]), phrases()
    mean = sum(map(len, pool[:10_000])) / 10_000
    lengths = lengths_of(rng, AT_ONCE, int(AT_ONCE * SIZE / mean))
    documents = np.split(rng.integers(0, len(pool), int(lengths.sum())), np.cumsum(lengths)[:-1])
    plant(rng, documents, len(pool))
    texts = ["".join(pool[document].tolist()) for document in documents]
    return [(f"https://site{i % 997}.example/{block}/{i}", typeset(text) if i % TYPESET == 0 else text)
            for i, text in enumerate(texts)]


# ---- measuring


def in_turns(runs: Sequence[Decide], some: Sequence[Page]) -> list[tuple[float, float]]:
    """Milliseconds of the median page, and of the slowest but one in a hundred, of functions that each get each page."""
    seconds = np.empty((len(runs), len(some)))
    for i, page in enumerate(some):
        for j, run in enumerate(runs):
            begin = time.perf_counter()
            run(page)
            seconds[j, i] = time.perf_counter() - begin
    return [percentiles(row) for row in seconds]


def percentiles(seconds: NDArray[np.float64]) -> tuple[float, float]:
    """Milliseconds of the median, and of the slowest but one in a hundred."""
    return float(np.median(seconds)) * 1e3, float(np.quantile(seconds, 0.99)) * 1e3


def drop_pages(folder: Path) -> None:
    """Ask the system to forget the files of a store: what is mapped first, then what is cached."""
    for held in gc.get_objects():
        if isinstance(held, mmap.mmap) and not held.closed:
            held.madvise(mmap.MADV_DONTNEED)
    for file in folder.rglob("*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def cold_percentiles(place: Path, run: Callable[[nd.Store, Page], object], some: Sequence[Page], durability: Durability
                     ) -> tuple[float, float]:
    """Milliseconds of the first page after opening, with no file of the store in memory."""
    seconds = []
    for page in some:
        drop_pages(place)
        with nd.Store.open(place, durability=durability) as store:
            begin = time.perf_counter()
            run(store, page)
            seconds.append(time.perf_counter() - begin)
    return percentiles(np.array(seconds))


def read_pages(folder: Path) -> None:
    """Let the system read the files of a folder, so that they are in its page cache."""
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb") as content:
                while content.read(1 << 24):
                    pass


class Syncs:
    """A file of its own, to which a page's worth of bytes is written and put on disk."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / "syncs", os.O_RDWR | os.O_CREAT)

    def __call__(self, page: Page) -> None:
        os.write(self._file, page[1].encode()[:2000])
        os.fdatasync(self._file)


def check(report: Report, folder: Path, some: list[Page]) -> None:
    """Compare the labels of the store with those of near_duplicates."""
    expected = [some[label][0] for label in nd.near_duplicates([text for _, text in some]).labels.tolist()]
    with nd.Store.open(folder / "checked") as store:
        found = [verdict.cluster for verdict in store.decide_many(some)]
        report.require(found == expected, "labels of decide_many and near_duplicates differ")


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
        say(f"{at:,} documents, {len(some) / (time.perf_counter() - begin):,.0f} pages/s")
    return documents / seconds if seconds else 0.0, size


def spool(folder: Path, make: Pages, start: int, count: int, most: int) -> list[Path]:
    """Make pages, and write them to files of `most` pages each: to make a page takes as long as to decide on it."""
    files = []
    for at in range(start, start + count, most):
        files.append(folder / f"pages-{at}")
        files[-1].write_bytes(pickle.dumps(make(at, min(most, start + count - at))))
    return files


def held(place: Path, later: list[Path]) -> tuple[int, int]:
    """Open a store and decide on files of pages; return the bytes of our own memory once it is open, and the most later."""
    before = own_memory()
    with nd.Store.open(place) as store:
        opened = most = own_memory() - before
        for file in later:
            for _ in store.decide_many(pickle.loads(file.read_bytes())):
                pass
            most = max(most, own_memory() - before)
    return opened, most


def measure(report: Report, given: Namespace, count: int, cold: int, grown: int) -> None:
    """Fill a store, open it again, ask it and add to it."""
    folder, documents = given.folder, given.documents
    place = Path(given.work or folder) / f"store-{documents}"
    with nd.Store.open(place) as store:
        speed, size = filled(store, documents)
    begin = time.perf_counter()
    store = nd.Store.open(place)
    opened = time.perf_counter() - begin
    store.close()
    drop_pages(place)
    begin = time.perf_counter()
    store = nd.Store.open(place)
    opened_cold = time.perf_counter() - begin
    table = report.table("store", f"A store of {documents:,} pages of about 5 KB", ["what", "figure"])
    if size:
        table.add("decide_many, pages/s", round(speed))
    stats = store.stats()
    table.add("bytes of the log a page", stats["log_bytes"] / len(store))
    table.add("bytes of derived files a page", stats["derived_bytes"] / len(store))
    table.add("opening, ms", opened * 1e3)
    table.add("opening, no file in memory, ms", opened_cold * 1e3)
    read_pages(place / "derived-0")
    later = AT_ONCE * (LATER + len(store))  # pages that no earlier run has given to the store
    fresh = iter(pages(later, AT_ONCE))
    times = report.table("store-calls", "One page of about 5 KB, sketching included; ms",
                         ["call", "durability", "cache", "p50", "p99"])
    times.add("peek", "", "warm", *in_turns([lambda page: store.peek(page[1])], taken(fresh, count))[0])
    times.add("decide", "batch", "warm", *in_turns([lambda page: store.decide(*page)], taken(fresh, count))[0])
    store.close()
    with nd.Store.open(place) as store:
        _, flushing, synced = in_turns(
            [lambda page: store.decide(*page), lambda _: store.flush(), Syncs(folder)], taken(fresh, count))
    times.add("flush after each page", "batch", "warm", *flushing)
    times.add("one write and one fdatasync, in turns with it", "", "", *synced)
    with nd.Store.open(place, durability="each") as each:
        times.add("decide", "each", "warm", *in_turns([lambda page: each.decide(*page)], taken(fresh, count))[0])
    times.add("peek", "", "cold", *cold_percentiles(place, lambda s, page: s.peek(page[1]), taken(fresh, cold), "batch"))
    for durability in DURABILITIES:
        times.add("decide", durability, "cold",
                  *cold_percentiles(place, lambda s, page: s.decide(*page), taken(fresh, cold), durability))
    memory = in_own_process(held, place, spool(folder, pages, later + AT_ONCE, grown, 1000))
    table.add("memory of our own after opening, bytes a page", memory[0] / documents)
    table.add(f"memory of our own after {grown:,} more pages, at most, MB", memory[1] / 1e6)
    table.add("memory of our own after these, at most, bytes a page", memory[1] / (documents + grown))


def taken(source: Iterator[Page], count: int) -> list[Page]:
    """Return the next pages."""
    return [next(source) for _ in range(count)]


def ask(report: Report, given: Namespace) -> None:
    """Check the store, then measure one."""
    check(report, given.folder, pages(0, 300 if given.quick else CHECKED))
    measure(report, given, *((50, 5, 500) if given.quick else (2000, COLD, AT_ONCE)))


if __name__ == "__main__":
    program("store", ask, __doc__, documents=Option(200_000, "pages of the store", 3000), work=WORK)
