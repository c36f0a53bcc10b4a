"""Items of benchmarks looked for in a corpus, by `nd.contamination`, beside a sketch of the same texts, in turns.

Words are drawn by Zipf's law, one by one, and some documents end with an item; or texts and items are Markov chains over the
texts of the machine (generating.py), which share many windows. A search numbers the windows of the items first, whatever the
corpus; the time of a search begins when it asks for the first document.
Required, else the exit code is 1: the items that stand in documents are found whole, and a plain search for their windows
finds the same tokens of the first items that do not.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from generating import Words, base_words, generated, lengths_of, walk, zipf_words
from measure import Report, Times, options
from numpy.typing import NDArray

import ndcore as nd

SIZES = {False: (100_000, 40_000, 250_000_000), True: (1_000, 400, 2_000_000)}  # quick: items, documents, bytes
WORDS = 200  # of an item
WINDOW = 13
CHECKED = 300  # items that are looked for by a plain search
SKETCHER = nd.ModSketcher(1 << 40)
COLUMNS = ["texts", "documents with an item", "tokens found", "threads", "seconds for the items", "search MB/s",
           "sketch MB/s", "search / sketch"]


def written(base: Words, numbers: Sequence[NDArray[np.int64]]) -> list[str]:
    """Write the words of these numbers."""
    return ["".join(base.words[some].tolist()) for some in numbers]


def words_at_random(rng: np.random.Generator, count: int, documents: int, size: int) -> tuple[list[str], list[str]]:
    """Return items and documents of words that do not depend on each other."""
    base = zipf_words(rng)
    mean = np.array([len(word) for word in base.words])[base.numbers].mean()

    def texts(lengths: NDArray[np.int64]) -> list[str]:
        return written(base, [rng.choice(base.numbers, length) for length in lengths.tolist()])

    return texts(np.full(count, WORDS)), texts(lengths_of(rng, documents, int(size / mean)))


def short_items(rng: np.random.Generator, count: int, documents: int, size: int) -> tuple[list[str], list[str]]:
    """Return the same, but every tenth item has 3 to WINDOW − 1 words."""
    items, texts = words_at_random(rng, count, documents, size)
    items[::10] = [" ".join(item.split()[: 3 + i % (WINDOW - 3)]) for i, item in enumerate(items[::10])]
    return items, texts


def chains(rng: np.random.Generator, count: int, documents: int, size: int) -> tuple[list[str], list[str]]:
    """Return items and documents of chains."""
    base = base_words(rng)
    return written(base, walk(rng, base, np.full(count, WORDS))), generated(1, documents, size, base)


CASES = (  # texts, and shares of documents that end with an item
    ("words at random", words_at_random, (0.0, 0.001, 0.01)),
    ("words at random, every tenth item short", short_items, (0.0,)),
    ("chains", chains, (0.0,)),
)


def planted(texts: Sequence[str], items: Sequence[str], share: float) -> tuple[list[str], list[int]]:
    """Put items at the end of documents, evenly; return the documents, and which items."""
    step = round(1 / share) if share else len(texts)
    chosen = range(step - 1, len(texts) if share else 0, step)
    out = list(texts)
    for number, at in enumerate(chosen):
        out[at] += "\n\n" + items[number]
    return out, list(range(len(chosen)))


def expected(items: Sequence[str], texts: Sequence[str]) -> NDArray[np.int64]:
    """Count the tokens of items that lie in windows that occur, by a plain search."""
    windows = [list(windows_of(nd.Shingling().tokens(item))) for item in items]
    wanted = {window for some in windows for window in some}
    begins, lengths = {window[:2] for window in wanted}, {len(window) for window in wanted}
    seen = set()
    for text in texts:
        words = nd.Shingling().tokens(text)
        for i, pair in enumerate(pairwise(words)):
            if pair in begins:
                seen |= wanted & {tuple(words[i : i + length]) for length in lengths}
    covered = np.zeros(len(items), np.int64)
    for item, some in enumerate(windows):
        covered[item] = len({at for i, window in enumerate(some) if window in seen for at in range(i, i + len(window))})
    return covered


def windows_of(words: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the windows of an item."""
    length = min(WINDOW, len(words))
    yield from (tuple(words[i : i + length]) for i in range(len(words) - length + 1))


def check(report: Report, items: Sequence[str], texts: Sequence[str], chosen: Sequence[int]) -> nd.Contamination:
    """Require that a search finds what is there; return what it found."""
    found = nd.contamination(items, texts, WINDOW)
    whole = [len(nd.Shingling().tokens(items[item])) for item in chosen]
    report.require(found.covered[list(chosen)].tolist() == whole, f"{len(chosen)} planted items are not found whole")
    some, part = slice(len(chosen), len(chosen) + CHECKED), texts[: len(texts) // 20]
    report.require(np.array_equal(nd.contamination(items[some], part, WINDOW).covered, expected(items[some], part)),
                   f"{len(chosen)} planted items: a plain search finds other tokens of the others")
    return found


class Clocked:
    """Documents as a corpus. Notes when a search asks for the first, and when it says that it has looked through all."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.begun = self.ended = 0.0

    def batches(self) -> Iterator[Sequence[str]]:
        """Yield the documents."""
        self.begun = time.perf_counter()
        yield self.texts

    def report(self, stage: str, done: int, total: int | None) -> None:
        """Hear of progress."""
        if total is not None:
            self.ended = time.perf_counter()


def rates(items: Sequence[str], texts: Sequence[str], threads: int, arguments: argparse.Namespace) -> tuple[float, ...]:
    """Return seconds for the items, MB/s of the search and of the sketch, and the ratio of the two."""
    corpus, others, searches, sketches = Clocked(texts), list[float](), list[float](), list[float]()
    for _ in range(arguments.warm_up + (1 if arguments.quick else arguments.repeats)):
        start = time.perf_counter()
        nd.contamination(items, corpus, WINDOW, threads=threads, progress=corpus.report)
        searches.append(corpus.ended - corpus.begun)
        others.append(time.perf_counter() - start - searches[-1])
        start = time.perf_counter()
        SKETCHER.sketch_many(texts, threads=threads)
        sketches.append(time.perf_counter() - start)
    search, sketch = Times(searches[arguments.warm_up :]), Times(sketches[arguments.warm_up :])
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    return statistics.median(others), megabytes / search.median, megabytes / sketch.median, search.ratio_to(sketch)


def main() -> int:
    arguments = options(__doc__, repeats=5).parse_args()
    report = Report("contamination", arguments)
    count, documents, size = SIZES[arguments.quick]
    table = report.table("contamination", f"{count:,} items of {WORDS} words in {documents:,} documents, "
                         f"windows of {WINDOW} words", COLUMNS)
    for name, make, shares in CASES:
        items, texts = make(np.random.default_rng(3), count, documents, size)
        for share in shares:
            corpus, chosen = planted(texts, items, share)
            found = check(report, items, corpus, chosen)
            spans = int((found.spans.end - found.spans.start).sum())
            for threads in (1, 2):
                table.add(name, share, spans / found.corpus_tokens, threads, *rates(items, corpus, threads, arguments))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
